/* SPDX-License-Identifier: Apache-2.0 */
#include "services/submission/order_api.h"

#include "base/utf8.h"
#include "platform/http/json_answer.h"
#include "platform/http/pending.h"
#include "platform/http/query.h"
#include "schemas/details.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Each of them waits at the console as well, with one token, whose share there is half. */
enum { WAITS_MAX = HTTP_WAITS_MAX / 2, DETAIL_BYTES_MAX = 200 };

struct order_query {
    struct http_pending pending;
    struct order_api *api;
    struct order_lookup_call *call; /* NULL: it has answered, but its answer is held */
    int64_t until_ms;               /* by loop_now_ms(): when the wait ends; 0: it does not wait */
};

struct order_api {
    struct order_lookup *lookup; /* NULL: there is no console */
    struct http_pendings queries;
};

static struct order_query *query_of(struct http_pending *pending)
{
    return (struct order_query *)pending; /* its first member */
}

static void query_free(struct http_pending *pending)
{
    struct order_query *query = query_of(pending);
    order_lookup_cancel(query->call);
    free(query);
}

static void answer_unknown(struct order_query *query)
{
    http_pending_fail(&query->pending, 404, CODE_UNKNOWN_ORDER, "order %s does not exist",
                      http_param(query->pending.exchange, "id"));
}

/* Another's order does not exist, also by the time that the answer takes: a wait for an order that
 * does not exist lasts to its end. */
static void on_anothers(struct order_query *query)
{
    struct loop *loop = order_lookup_loop(query->api->lookup);
    int64_t left_ms = query->until_ms - loop_now_ms(loop);
    if (left_ms > 0)
        http_pending_late_in(&query->pending, left_ms);
    else
        answer_unknown(query);
}

static void answer_with(struct http_exchange *exchange, int status, const json_t *body,
                        const char *why)
{
    const char *code = json_string_value(json_object_get(body, "code"));
    const char *detail = json_string_value(json_object_get(body, "detail"));
    if (status == 200)
        http_respond_json(exchange, 200, json_incref((json_t *)(uintptr_t)body));
    else if (status == 401 || status == 403)
        http_respond_error(exchange, 503, CODE_NO_CONSOLE,
                           "the console does not accept submission.console.token");
    else if (status == 0)
        http_respond_error(exchange, 503, CODE_NO_CONSOLE, "the console does not answer: %.200s",
                           why);
    else
        http_respond_problem(
            exchange,
            http_problem_new(503, code != NULL ? text_of(code) : error_code_text(CODE_NO_CONSOLE),
                             detail != NULL ? utf8_cut(text_of(detail), DETAIL_BYTES_MAX)
                                            : TEXT("the console gives no reason")));
}

static void on_order(void *ctx, int status, const json_t *body, const char *why)
{
    struct order_query *query = ctx;
    query->call = NULL;
    if (status == 200 && !order_lookup_is_of(body, query->pending.exchange))
        on_anothers(query);
    else if (status == 404)
        answer_unknown(query);
    else
        answer_with(http_pending_take(&query->pending), status, body, why);
    http_pending_settle(&query->pending);
}

/* The time of another's order is over, or the client has gone: it is answered with what there is,
 * and the console has one waiting request less. */
static void on_late(struct http_pending *pending)
{
    struct order_query *query = query_of(pending);
    query->until_ms = 0;
    if (query->call == NULL) {
        answer_unknown(query);
        return;
    }
    order_lookup_cancel(query->call);
    query->call = order_lookup_get(query->api->lookup, text_of(http_param(pending->exchange, "id")),
                                   0, on_order, query);
}

static const struct http_pending_kind query_kind = {
    .draining = HTTP_SHUTTING_DOWN, .late = on_late, .free = query_free};

static void begin_query(struct order_api *api, struct http_exchange *exchange, int64_t wait_ms)
{
    struct order_query *query = calloc(1, sizeof(*query));
    assert(query != NULL);
    query->api = api;
    query->until_ms = wait_ms > 0 ? loop_now_ms(order_lookup_loop(api->lookup)) + wait_ms : 0;
    if (wait_ms == 0) {
        http_pending_begin(&api->queries, &query->pending, exchange, 0);
    } else if (!http_pending_wait(&api->queries, &query->pending, exchange, 0)) {
        free(query);
        return;
    }
    query->call = order_lookup_get(api->lookup, text_of(http_param(exchange, "id")), wait_ms,
                                   on_order, query);
}

static void on_get(struct http_exchange *exchange, void *userdata)
{
    struct order_api *api = userdata;
    struct error error;
    struct text order_id = text_of(http_param(exchange, "id"));
    int64_t wait_ms = 0;
    if (!http_pendings_admit(&api->queries, exchange))
        return;
    if (api->lookup == NULL) {
        http_respond_error(exchange, 503, CODE_NO_CONSOLE,
                           "this server does not know what became of orders: "
                           "submission.console.url is not set");
    } else if (order_id_validate(order_id, &error) != ERROR_OK) {
        http_respond_error(exchange, 400, CODE_BAD_REQUEST, "%s", error.message);
    } else if (http_query_wait(exchange, ORDER_LOOKUP_WAIT_MAX, &wait_ms)) {
        begin_query(api, exchange, wait_ms);
    }
}

static const struct http_route rows[] = {
    {.method = "GET",
     .pattern = "/orders/{id}",
     .permission = HTTP_SUBMIT,
     .handler = on_get,
     .query = HTTP_NAMES("wait"),
     .only = "of its own orders",
     .summary = "what became of an order; wait=30s: once it has ended"},
};
const struct http_routes order_api_routes = HTTP_ROUTES(rows);

struct order_api *order_api_new(struct http_server *http, struct order_lookup *lookup)
{
    struct order_api *api = calloc(1, sizeof(*api));
    assert(api != NULL);
    api->lookup = lookup;
    http_pendings_init(&api->queries, &query_kind,
                       lookup != NULL ? order_lookup_loop(lookup) : NULL, NULL, NULL);
    http_server_limit_waits(http, WAITS_MAX);
    http_server_routes(http, &order_api_routes, api);
    return api;
}

void order_api_drain(struct order_api *api)
{
    if (api != NULL)
        http_pendings_drain(&api->queries);
}

void order_api_free(struct order_api *api)
{
    assert(api == NULL || api->queries.list == NULL);
    free(api);
}
