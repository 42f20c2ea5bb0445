/* SPDX-License-Identifier: Apache-2.0 */
/* Orders by HTTP, for applications without a Kafka client:
 *
 *     POST /orders               {"order_id": ..., ...}  (order_json.h)
 *     POST /orders/{id}/cancel   {"reason": ..., "by": ..., "reply_to": ...}, or no body
 *
 * 202 {"order_id", "workflow_version", "partition", "offset"} once the command is acknowledged
 * on that position of the commands topic; 400 {"error", "message"} when it is refused. 503:
 * it may have been accepted or not; sending the same order again is safe. */
#include "platform/http/json_answer.h"
#include "platform/logger.h"
#include "schemas/json_codec.h"
#include "services/submission/order_json.h"
#include "services/submission/order_lookup.h"
#include "services/submission/submission.h"

#include <assert.h>
#include <stdlib.h>
#include <utlist.h>

enum { ANSWER_MS = 15000, BLOCK_SIZE = 4096, DETAIL_SIZE = 1024, CANCEL_BYTES_MAX = 64 * 1024 };

/* One request that has no answer yet. */
struct http_submission {
    struct http_submission *prev;
    struct http_submission *next;
    struct http_api *api;
    struct http_exchange *exchange; /* NULL: answered, but its append is outstanding */
    bool is_cancel;
    bool appended;
    bool waits;                     /* for a refresh (ticket) */
    bool looked_up;                 /* whether the console knows the order */
    struct order_lookup_call *call; /* while it is asked */
    unsigned fresh;
    uint64_t ticket;
    struct refresh *refresh; /* that it waits for */
    union {
        struct order_details details;
        struct cancel_order cancel;
    };
    struct text order_id;
    uint32_t workflow_version;
    size_t size; /* counted in the submission's in_flight_bytes */
    struct heap_arena heap;
    struct loop_timer deadline;
};

struct http_api {
    struct submission *submission;
    struct http_submission *requests;
    uint32_t count;
};

static void request_free(struct http_submission *request)
{
    struct http_api *api = request->api;
    assert(api->count > 0);
    assert(api->submission->in_flight_bytes >= request->size);
    api->submission->in_flight_bytes -= request->size;
    DL_DELETE(api->requests, request);
    api->count--;
    order_lookup_cancel(request->call);
    loop_timer_cancel(api->submission->service->loop, &request->deadline);
    heap_arena_deinit(&request->heap);
    free(request);
}

/* ---- answers ---- */

static void answer_error(struct http_submission *request, const struct error *error)
{
    struct http_exchange *exchange = request->exchange;
    request->exchange = NULL;
    if (exchange != NULL)
        http_respond_failure(exchange, error);
}

static void answer_accepted(struct http_submission *request, int64_t offset)
{
    struct http_exchange *exchange = request->exchange;
    int32_t partition =
        broker_partition_of(request->order_id, request->api->submission->cluster->partition_count);
    if (exchange == NULL)
        return;
    request->exchange = NULL;
    json_t *body = json_pack("{s:s%, s:i}", "order_id", request->order_id.data,
                             (size_t)request->order_id.size, "partition", partition);
    assert(body != NULL);
    /* The broker reports no offset for a duplicate. */
    if (offset >= 0)
        json_object_set_new(body, "offset", json_integer(offset));
    if (!request->is_cancel)
        json_object_set_new(body, "workflow_version", json_integer(request->workflow_version));
    http_respond_json(exchange, 202, body);
}

static void on_appended(void *ctx, uint64_t token, int64_t offset, const struct error *error)
{
    struct http_submission *request = ctx;
    (void)token;
    if (error != NULL && error->class != ERROR_OK) {
        struct error unknown;
        error_set(&unknown, CODE_UNKNOWN,
                  "it may or may not have been accepted; send it again: %.200s", error->message);
        answer_error(request, &unknown);
    } else {
        answer_accepted(request, offset);
        metrics_add(request->api->submission->metrics.accepted_http, 1);
    }
    request_free(request);
}

static void on_deadline(struct loop *loop, struct loop_timer *timer, void *userdata)
{
    struct http_submission *request = userdata;
    struct error error;
    (void)loop;
    (void)timer;
    error_set(&error, CODE_NOT_ACKNOWLEDGED, "%s",
              request->appended
                  ? "not acknowledged in time: it may still be accepted; send it again"
                  : "not validated in time; send it again");
    answer_error(request, &error);
    if (!request->appended)
        request_free(request);
}

/* ---- validation ---- */

static void validate_request(struct http_submission *request);

static void answer_differs(struct http_submission *request, const char *field)
{
    char detail[DETAIL_SIZE];
    snprintf(detail, sizeof(detail), "order %.*s was submitted before with a different %s",
             TEXT_ARG(request->order_id), field);
    json_t *problem = http_problem_new(409, error_code_text(CODE_CONTENT_DIFFERS), text_of(detail));
    json_object_set_new(problem, "field", json_string(field));
    http_respond_problem(request->exchange, problem);
    request->exchange = NULL;
}

/* If it cannot be found out now, the scheduler decides, as without a console. */
static void on_known(void *ctx, int status, const json_t *body, const char *why)
{
    struct http_submission *request = ctx;
    struct order_details details = request->details;
    char field[ORDER_DIFFERENCE_SIZE] = "";
    (void)why;
    request->call = NULL;
    details.content_hash = details_content_hash(&details);
    if (status == 200 && order_lookup_is_of(body, request->exchange))
        order_difference(&details, body, field);
    if (field[0] == '\0') {
        validate_request(request);
        return;
    }
    metrics_add(request->api->submission->metrics.refused_http, 1);
    answer_differs(request, field);
    request_free(request);
}

/* True: the answer of the console has to come first. */
static bool look_up(struct http_submission *request)
{
    struct order_lookup *lookup = request->api->submission->lookup;
    if (lookup == NULL || request->is_cancel || request->looked_up)
        return false;
    request->looked_up = true;
    request->call = order_lookup_get(lookup, request->order_id, 0, on_known, request);
    return true;
}

static void accept(struct http_submission *request, struct validation *validation)
{
    struct submission *submission = request->api->submission;
    assert(!request->appended && !request->waits);
    if (look_up(request))
        return;
    if (!request->is_cancel)
        request->workflow_version = validation->command.submit_order.workflow_version;
    if (submission_append(submission, &validation->command, on_appended, request, 0,
                          &validation->error) == ERROR_OK) {
        request->appended = true;
        return;
    }
    answer_error(request, &validation->error);
    request_free(request);
}

static void wait_for(struct http_submission *request, struct refresh *refresh)
{
    assert(!request->appended && !request->waits);
    request->waits = true;
    request->refresh = refresh;
    request->ticket = refresh_ticket(refresh);
}

static void validate_request(struct http_submission *request)
{
    struct submission *submission = request->api->submission;
    struct validation validation;
    request->waits = false;
    if (request->is_cancel)
        validate_cancel(&submission->validator, &request->cancel, request->fresh,
                        &request->heap.arena, &validation);
    else
        validate_order(&submission->validator, &request->details, request->fresh, &validation);
    switch (validation.outcome) {
    case VALIDATION_ACCEPT:
        accept(request, &validation);
        break;
    case VALIDATION_REFUSE:
        metrics_add(submission->metrics.refused_http, 1);
        answer_error(request, &validation.error);
        request_free(request);
        break;
    case VALIDATION_WAIT_WORKFLOWS:
        wait_for(request, &submission->workflows);
        break;
    case VALIDATION_WAIT_REPLY:
        wait_for(request, &submission->topics);
        break;
    case VALIDATION_WAIT_SCHEMAS: /* of records only */
    case VALIDATION_OUTCOME_COUNT:
        assert(false);
    }
}

void http_api_wake(struct http_api *api)
{
    struct http_submission *request;
    struct http_submission *next;
    DL_FOREACH_SAFE(api->requests, request, next) {
        if (!request->waits || !refresh_is_done(request->refresh, request->ticket))
            continue;
        request->fresh |= request->refresh->bit;
        validate_request(request);
    }
}

/* ---- requests ---- */

static struct http_submission *request_new(struct http_api *api, struct http_exchange *exchange,
                                           bool is_cancel)
{
    struct http_submission *request = calloc(1, sizeof(*request));
    assert(request != NULL);
    request->api = api;
    request->exchange = exchange;
    request->is_cancel = is_cancel;
    heap_arena_init(&request->heap, BLOCK_SIZE);
    loop_timer_init(&request->deadline, on_deadline, request);
    loop_timer_after(api->submission->service->loop, &request->deadline, ANSWER_MS);
    DL_APPEND(api->requests, request);
    api->count++;
    return request;
}

static bool is_closed(const struct http_api *api, struct http_exchange *exchange)
{
    if (!api->submission->draining)
        return false;
    http_respond_error(exchange, 503, CODE_DRAINING,
                       "this instance is shutting down; use another one");
    return true;
}

/* The brokers may hang: what waits for them, by HTTP and from the topic, has one bound in bytes. */
static bool is_full(const struct http_api *api, struct http_exchange *exchange)
{
    if (api->submission->in_flight_bytes < IN_FLIGHT_BYTES_MAX)
        return false;
    http_respond_error(exchange, 503, CODE_BUSY,
                       "too many bytes wait for the brokers to acknowledge them; try again later");
    return true;
}

/* What it holds until it is settled: the values that were read, and the bytes of its command. */
static void count_bytes(struct http_submission *request, struct text body)
{
    assert(request->size == 0);
    request->size = request->heap.allocated + body.size;
    request->api->submission->in_flight_bytes += request->size;
}

static void refuse(struct http_submission *request, const struct error *error)
{
    metrics_add(request->api->submission->metrics.refused_http, 1);
    answer_error(request, error);
    request_free(request);
}

/* True: the token is for orders with other ids or for another reply topic, and that is the
 * answer. */
static bool is_outside(struct http_submission *request, struct text reply_to)
{
    struct http_exchange *exchange = request->exchange;
    if (!http_permits(exchange, HTTP_BOUND_ID_PREFIX, request->order_id))
        http_respond_error(exchange, 403, CODE_OUTSIDE_BINDING,
                           "this token is for orders whose ids begin with %s",
                           http_bound_to(exchange, HTTP_BOUND_ID_PREFIX));
    else if (!http_permits(exchange, HTTP_BOUND_REPLY_TO, reply_to))
        http_respond_error(exchange, 403, CODE_OUTSIDE_BINDING,
                           "this token is for the reply topic %s: leave reply_to out, or name it",
                           http_bound_to(exchange, HTTP_BOUND_REPLY_TO));
    else
        return false;
    request->exchange = NULL;
    metrics_add(request->api->submission->metrics.refused_http, 1);
    request_free(request);
    return true;
}

static void on_order(struct http_exchange *exchange, void *userdata)
{
    struct http_api *api = userdata;
    struct error error = {0};
    if (is_closed(api, exchange) || is_full(api, exchange))
        return;
    struct http_submission *request = request_new(api, exchange, false);
    if (order_json_read(http_body(exchange), &request->heap.arena, &request->details, &error) !=
        ERROR_OK) {
        refuse(request, &error);
        return;
    }
    request->order_id = request->details.order_id;
    if (is_outside(request, request->details.reply_to))
        return;
    request->details.submitted_by = arena_text(&request->heap.arena, text_of(http_user(exchange)));
    count_bytes(request, http_body(exchange));
    validate_request(request);
}

static const char *const cancel_fields[] = {"by", "reason", "reply_to", NULL};

static enum error_class read_cancel(struct http_submission *request, struct text body,
                                    struct error *ret_error)
{
    json_t *object = NULL;
    enum error_class class =
        json_codec_parse(text_empty(body) ? TEXT("{}") : body, &object, ret_error);
    if (class == ERROR_OK)
        class = json_codec_decode(record_kind_info(RECORD_CANCEL_ORDER)->binding, cancel_fields,
                                  JSON_CODEC_ANY_SIZE, object, &request->heap.arena,
                                  &request->cancel, ret_error);
    json_decref(object);
    request->cancel.order_id = request->order_id;
    const char *user = http_user(request->exchange);
    if (class == ERROR_OK && user[0] != '\0')
        request->cancel.by = arena_text(&request->heap.arena, text_of(user));
    if (class == ERROR_OK && http_authenticated(request->exchange))
        request->cancel.submitted_by = request->cancel.by;
    return class;
}

static void on_cancel(struct http_exchange *exchange, void *userdata)
{
    struct http_api *api = userdata;
    struct error error = {0};
    if (is_closed(api, exchange) || is_full(api, exchange))
        return;
    struct http_submission *request = request_new(api, exchange, true);
    request->order_id = arena_text(&request->heap.arena, text_of(http_param(exchange, "id")));
    if (read_cancel(request, http_body(exchange), &error) != ERROR_OK) {
        refuse(request, &error);
        return;
    }
    if (is_outside(request, request->cancel.reply_to))
        return;
    count_bytes(request, http_body(exchange));
    validate_request(request);
}

static const struct http_route rows[] = {
    {.method = "POST",
     .pattern = "/orders",
     .permission = HTTP_SUBMIT,
     .handler = on_order,
     .body_max = INPUT_BYTES_MAX,
     .summary = "submit an order"},
    {.method = "POST",
     .pattern = "/orders/{id}/cancel",
     .permission = HTTP_SUBMIT,
     .handler = on_cancel,
     .body = cancel_fields,
     .body_max = CANCEL_BYTES_MAX,
     .only = "of its own orders",
     .summary = "cancel an order"},
};
const struct http_routes http_api_routes = HTTP_ROUTES(rows);

struct http_api *http_api_new(struct submission *submission)
{
    struct http_api *api = calloc(1, sizeof(*api));
    assert(api != NULL);
    api->submission = submission;
    http_server_routes(submission->service->http, &http_api_routes, api);
    return api;
}

uint32_t http_api_in_flight(const struct http_api *api)
{
    return api->count;
}

void http_api_free(struct http_api *api)
{
    struct error error;
    if (api == NULL)
        return;
    error_set(&error, CODE_DRAINING, "this instance is shutting down; send it again");
    while (api->requests != NULL) {
        answer_error(api->requests, &error);
        request_free(api->requests);
    }
    free(api);
}
