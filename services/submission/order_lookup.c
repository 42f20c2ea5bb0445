/* SPDX-License-Identifier: Apache-2.0 */
#include "services/submission/order_lookup.h"

#include "base/heap_arena.h"
#include "base/percent.h"
#include "platform/http/client.h"
#include "platform/json_tree.h"
#include "replica/service/address.h"
#include "replica/service/credentials.h"
#include "schemas/json/json_codec.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

enum { URL_SIZE = 2048, ANSWER_MAX = 8 * 1024 * 1024 };

struct order_lookup {
    struct loop *loop;
    struct http_client *client;
    struct order_lookup_call *calls;
    const char *address;
    char authorization[SERVICE_AUTHORIZATION_SIZE]; /* "" = no token */
};

struct order_lookup_call {
    struct order_lookup_call *prev, *next;
    struct order_lookup *lookup;
    order_lookup_done done;
    void *ctx;
    struct loop_deferred unsent;
    struct error error; /* of a request that could not be sent */
};

/* ---- life ---- */

enum error_class order_lookup_new(struct loop *loop, const struct config *config,
                                  struct order_lookup **ret_lookup, struct error *ret_error)
{
    const char *address = config_string(config, "submission.console.url");
    struct service_credentials credentials;
    *ret_lookup = NULL;
    if (service_credentials_read(config, "submission.console", &credentials, ret_error) != ERROR_OK)
        return ERROR_REJECT;
    if (address[0] == '\0')
        return ERROR_OK;
    struct order_lookup *lookup = calloc(1, sizeof(*lookup));
    assert(lookup != NULL);
    lookup->loop = loop;
    lookup->address = address;
    service_credentials_header(&credentials, lookup->authorization);
    const struct http_client_options options = {.response_max = ANSWER_MAX,
                                                .ca_file = credentials.ca_file,
                                                .cert_file = credentials.cert_file,
                                                .key_file = credentials.key_file};
    enum error_class class = http_client_new(loop, &options, &lookup->client, ret_error);
    if (class != ERROR_OK) {
        free(lookup);
        return class;
    }
    *ret_lookup = lookup;
    return ERROR_OK;
}

struct loop *order_lookup_loop(const struct order_lookup *lookup)
{
    return lookup->loop;
}

static void call_free(struct order_lookup_call *call)
{
    loop_defer_cancel(call->lookup->loop, &call->unsent);
    DL_DELETE(call->lookup->calls, call);
    free(call);
}

void order_lookup_free(struct order_lookup *lookup)
{
    if (lookup == NULL)
        return;
    http_client_free(lookup->client);
    while (lookup->calls != NULL)
        call_free(lookup->calls);
    free(lookup);
}

void order_lookup_cancel(struct order_lookup_call *call)
{
    if (call == NULL)
        return;
    http_client_cancel(call->lookup->client, call);
    call_free(call);
}

/* ---- asking ---- */

static void finish(struct order_lookup_call *call, int status, const json_t *body, const char *why)
{
    order_lookup_done done = call->done;
    void *ctx = call->ctx;
    call_free(call);
    done(ctx, status, body, why);
}

static void on_unsent(void *ctx)
{
    struct order_lookup_call *call = ctx;
    char why[ERROR_MESSAGE_SIZE];
    snprintf(why, sizeof(why), "%s", call->error.message);
    finish(call, 0, NULL, why);
}

static void on_result(const struct http_result *result, void *userdata)
{
    if (result->outcome != HTTP_ANSWERED) {
        finish(userdata, 0, NULL, result->message);
        return;
    }
    json_t *body = json_tree_load(result->body, JSON_ALLOW_NUL, NULL);
    if (json_is_object(body) && !result->body_cut)
        finish(userdata, result->status, body, "");
    else
        finish(userdata, 0, NULL, "the answer is not that of a console");
    json_decref(body);
}

struct order_lookup_call *order_lookup_get(struct order_lookup *lookup, struct text order_id,
                                           int64_t wait_ms, order_lookup_done done, void *ctx)
{
    char base[SERVICE_URL_SIZE];
    char url[URL_SIZE];
    char id[3 * ORDER_ID_BYTES_MAX + 1];
    char wait[32] = "";
    const char *const headers[] = {lookup->authorization, NULL};
    struct order_lookup_call *call = calloc(1, sizeof(*call));
    assert(call != NULL && done != NULL);
    assert(wait_ms >= 0 && wait_ms <= ORDER_LOOKUP_WAIT_MAX);
    call->lookup = lookup;
    call->done = done;
    call->ctx = ctx;
    loop_deferred_init(&call->unsent, on_unsent, call);
    DL_APPEND(lookup->calls, call);
    percent_encode(order_id, PERCENT_KEEP_UNRESERVED, id, sizeof(id));
    if (wait_ms > 0)
        snprintf(wait, sizeof(wait), "?wait=%" PRId64 "ms", wait_ms);
    bool known = service_address_url(lookup->address, base, &call->error) == ERROR_OK;
    snprintf(url, sizeof(url), "%s/api/orders/%s%s", base, id, wait);
    const struct http_request request = {.method = "GET",
                                         .url = url,
                                         .headers =
                                             lookup->authorization[0] != '\0' ? headers : NULL,
                                         .timeout_ms = ORDER_LOOKUP_MS + wait_ms};
    if (!known ||
        http_client_send(lookup->client, &request, on_result, call, &call->error) != ERROR_OK)
        loop_defer(lookup->loop, &call->unsent);
    return call;
}

bool order_lookup_is_of(const json_t *order, const struct http_exchange *exchange)
{
    const char *by = json_string_value(json_object_get(order, "submitted_by"));
    return !http_authenticated(exchange) || (by != NULL && strcmp(by, http_user(exchange)) == 0);
}

/* ---- comparing ---- */

static bool same(const json_t *left, const json_t *right)
{
    bool no_left = left == NULL || json_is_null(left);
    bool no_right = right == NULL || json_is_null(right);
    return no_left || no_right ? no_left && no_right : json_equal(left, right);
}

static void compare_lines(const json_t *ours, const json_t *known,
                          char ret_field[ORDER_DIFFERENCE_SIZE])
{
    static const char *const fields[] = {"sku", "description", "quantity", "unit_price"};
    for (size_t i = 0; i < json_array_size(ours) && i < json_array_size(known); i++) {
        const json_t *left = json_array_get(ours, i);
        const json_t *right = json_array_get(known, i);
        for (size_t j = 0; j < sizeof(fields) / sizeof(fields[0]); j++) {
            if (same(json_object_get(left, fields[j]), json_object_get(right, fields[j])))
                continue;
            snprintf(ret_field, ORDER_DIFFERENCE_SIZE, "lines[%zu].%s", i, fields[j]);
            return;
        }
    }
    if (json_array_size(ours) != json_array_size(known))
        snprintf(ret_field, ORDER_DIFFERENCE_SIZE, "lines");
}

static void compare_attributes(const json_t *ours, const json_t *known,
                               char ret_field[ORDER_DIFFERENCE_SIZE])
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)ours, name, value) {
        if (same(value, json_object_get(known, name)))
            continue;
        snprintf(ret_field, ORDER_DIFFERENCE_SIZE, "attributes.%.128s", name);
        return;
    }
    json_object_foreach((json_t *)(uintptr_t)known, name, value) {
        if (json_object_get(ours, name) != NULL)
            continue;
        snprintf(ret_field, ORDER_DIFFERENCE_SIZE, "attributes.%.128s", name);
        return;
    }
}

/* `known` is none, null, or what the console sent. */
static bool same_input(struct text ours, const json_t *known)
{
    struct heap_arena heap;
    struct text canonical = {0};
    if (known == NULL || json_is_null(known))
        return text_empty(ours);
    char *text = json_tree_print(known, JSON_COMPACT);
    heap_arena_init(&heap, 4096);
    bool valid =
        text != NULL && json_canonical(text_of(text), UINT32_MAX, &heap.arena, &canonical, NULL);
    bool equal = valid && text_equal(canonical, ours);
    heap_arena_deinit(&heap);
    free(text);
    return equal;
}

static void compare(const json_t *ours, const json_t *known, char ret_field[ORDER_DIFFERENCE_SIZE])
{
    static const char *const fields[] = {"customer", "currency", "priority", "reply_to",
                                         "workflow"};
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        if (same(json_object_get(ours, fields[i]), json_object_get(known, fields[i])))
            continue;
        snprintf(ret_field, ORDER_DIFFERENCE_SIZE, "%s", fields[i]);
        return;
    }
    compare_lines(json_object_get(ours, "lines"), json_object_get(known, "lines"), ret_field);
    if (ret_field[0] == '\0')
        compare_attributes(json_object_get(ours, "attributes"),
                           json_object_get(known, "attributes"), ret_field);
}

void order_difference(const struct order_details *details, const json_t *known,
                      char ret_field[ORDER_DIFFERENCE_SIZE])
{
    static const char *const texts[] = {"customer", "currency",     "priority", "reply_to",
                                        "workflow", "content_hash", NULL};
    static const char *const lists[] = {"lines", "attributes", NULL};
    json_t *ours = json_object();
    const json_t *hash = json_object_get(known, "content_hash");
    json_codec_add(ours, &binding_order_details, details, texts, JSON_CODEC_NULLS);
    json_codec_add(ours, &binding_order_details, details, lists, 0);
    ret_field[0] = '\0';
    if (json_is_string(hash) && !json_equal(hash, json_object_get(ours, "content_hash"))) {
        compare(ours, known, ret_field);
        /* The version as submitted is not kept. */
        if (ret_field[0] == '\0')
            snprintf(ret_field, ORDER_DIFFERENCE_SIZE, "%s",
                     same_input(details->input, json_object_get(known, "input"))
                         ? "workflow_version"
                         : "input");
    }
    json_decref(ours);
}
