/* SPDX-License-Identifier: Apache-2.0 */
/* See http_message.h. */
#include "services/agent/kinds/http_message.h"

#include "base/names.h"
#include "base/rfc3339.h"
#include "engine/output.h"
#include "platform/json_tree.h"
#include "replica/service/order_traces.h"
#include "schemas/json/json_codec.h"
#include "services/agent/core/sanitize.h"

#include <assert.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- the request ---- */

enum error_class http_message_url(const char *base, struct text action,
                                  char ret_url[HTTP_MESSAGE_URL_SIZE], struct error *ret_error)
{
    if (name_is_path_step(action))
        return error_set(ret_error, CODE_BAD_URL,
                         "the action must not be \".\" or \"..\": it would lead out of %s", base);
    int size = snprintf(ret_url, HTTP_MESSAGE_URL_SIZE, "%s/%.*s", base, TEXT_ARG(action));
    assert(size > 0 && size < HTTP_MESSAGE_URL_SIZE);
    return ERROR_OK;
}

/* Empty or invalid ones as null. */
static json_t *outputs_json(const struct step_request *request)
{
    json_t *object = json_object();
    for (uint32_t i = 0; i < request->output_count; i++) {
        struct text step = request->outputs[i].step;
        json_t *value = json_codec_json(request->outputs[i].output);
        bool valid = json_tree_marked(value).data != NULL;
        json_object_setn_new(object, step.data, step.size,
                             valid ? json_incref(value) : json_null());
        json_decref(value);
    }
    return object;
}

struct text http_message_body(const struct step_request *request, struct arena *arena)
{
    static const char *const request_fields[] = {"order_id", "step",    "direction",
                                                 "action",   "attempt", NULL};
    static const char *const order_fields[] = {"customer",   "currency", "lines",
                                               "attributes", "priority", NULL};
    static const char *const mapped_fields[] = {"customer", "currency", "attributes", "priority",
                                                NULL};
    bool mapped = !text_empty(request->input); /* it has what the service needs of the order */
    struct text key = agent_header_text(request->idempotency_key, arena);
    struct text do_key = agent_header_text(request->do_key, arena);
    json_t *body = json_object();
    json_t *order = json_object();
    json_codec_add(body, record_kind_info(RECORD_STEP_REQUEST)->binding, request, request_fields,
                   0);
    json_codec_add(order, &binding_order_details, request->order,
                   mapped ? mapped_fields : order_fields, 0);
    if (!text_empty(request->order->input))
        json_object_set_new(order, "input", json_codec_json(request->order->input));
    json_object_set_new(body, "idempotency_key", json_codec_text(key));
    json_object_set_new(body, "do_key", json_codec_text(do_key));
    json_object_set_new(body, "complete_by", json_integer(request->complete_by));
    if (mapped)
        json_object_set_new(body, "input", json_codec_json(request->input));
    json_object_set_new(body, "order", order);
    if (!mapped || request->output_count > 0)
        json_object_set_new(body, "outputs", outputs_json(request));
    char *printed = json_tree_print(body, JSON_COMPACT);
    assert(printed != NULL);
    struct text text = arena_text(arena, text_of(printed));
    free(printed);
    json_decref(body);
    return text;
}

static __attribute__((format(printf, 2, 3))) const char *line(struct arena *arena,
                                                              const char *format, ...)
{
    char text[3072]; /* a key, percent-encoded, with its name, or a callback's URL */
    va_list args;
    va_start(args, format);
    int size = vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    assert(size > 0 && (size_t)size < sizeof(text));
    return arena_text(arena, (struct text){text, (uint32_t)size + 1}).data;
}

void http_message_headers(const struct step_request *request, uint32_t try_number,
                          bool begins_trace, struct text callback, struct arena *arena,
                          const char *ret_headers[HTTP_MESSAGE_HEADERS + 1])
{
    char deadline[RFC3339_TEXT_SIZE];
    char traceparent[TRACEPARENT_SIZE];
    struct text key = agent_header_text(request->idempotency_key, arena);
    uint32_t count = 0;
    rfc3339_format(request->complete_by, deadline);
    ret_headers[count++] = "Content-Type: application/json";
    ret_headers[count++] = "Accept: application/json";
    ret_headers[count++] = line(arena, "Idempotency-Key: %.*s", TEXT_ARG(key));
    ret_headers[count++] = line(arena, "Reeve-Deadline: %s", deadline);
    ret_headers[count++] = line(arena, "Reeve-Attempt: %" PRIu32, request->ref.attempt);
    if (call_traceparent(request, try_number, begins_trace, traceparent))
        ret_headers[count++] = line(arena, "traceparent: %s", traceparent);
    if (callback.size > 0)
        ret_headers[count++] = line(arena, "Reeve-Callback: %.*s", TEXT_ARG(callback));
    assert(count <= HTTP_MESSAGE_HEADERS);
    ret_headers[count] = NULL;
}

/* ---- the answer ---- */

static struct text numbered(int status, struct arena *arena)
{
    char text[32];
    int size = snprintf(text, sizeof(text), "Http.%d", status);
    assert(size > 0 && (size_t)size < sizeof(text));
    return arena_text(arena, (struct text){text, (uint32_t)size});
}

static struct text member(const json_t *object, const char *name, struct arena *arena)
{
    const json_t *value = json_object_get(object, name);
    if (!json_is_string(value))
        return TEXT("");
    size_t size = json_string_length(value);
    if (size > MESSAGE_BYTES_MAX + 4)
        size = MESSAGE_BYTES_MAX + 4; /* agent_message() cuts it between characters */
    return arena_text(arena, (struct text){json_string_value(value), (uint32_t)size});
}

void http_message_error(struct text body, struct arena *arena, struct agent_failure *failure)
{
    json_t *json = body.size > 0 ? json_loadb(body.data, body.size, 0, NULL) : NULL;
    struct text code = member(json, "error", arena);
    struct text message = member(json, "message", arena);
    if (error_name_valid(code))
        failure->name = code;
    else if (message.size == 0)
        message = code;
    if (message.size > 0)
        failure->message = message;
    json_decref(json);
}

static bool is_retriable(int status)
{
    return status < 200 || status >= 500 || status == 408 || status == 409 || status == 425 ||
           status == 429;
}

static void read_status(const struct http_result *result, struct arena *arena,
                        struct http_message_outcome *outcome)
{
    struct agent_failure *failure = &outcome->failure;
    struct text name = numbered(result->status, arena);
    failure->name = name;
    failure->message = name;
    if (result->status >= 300 && result->status < 400) {
        /* A 303 may point to what was just made. The same call would get the same answer. */
        failure->message = TEXT("the service redirects, which is not followed");
        failure->effect = EFFECT_UNKNOWN;
        return;
    }
    http_message_error(result->body, arena, failure);
    if (!is_retriable(result->status))
        return;
    failure->name = name;
    failure->service_unhealthy = result->status < 200 || result->status >= 500;
    failure->effect = EFFECT_UNKNOWN;
    failure->retriable = true;
    failure->retry_after_ms = result->retry_after_ms > 0 ? result->retry_after_ms : 0;
}

void http_message_outcome(const struct http_result *result, struct arena *arena,
                          struct http_message_outcome *ret_outcome)
{
    struct http_message_outcome outcome = {.failure = {.effect = EFFECT_NONE}};
    switch (result->outcome) {
    case HTTP_ANSWERED:
        if (result->status >= 200 && result->status < 300) {
            outcome.succeeded = true;
            outcome.accepted = result->status == 202;
            outcome.output =
                result->body_cut ? output_truncated(result->body.size, arena) : result->body;
            break;
        }
        read_status(result, arena, &outcome);
        break;
    case HTTP_NOT_SENT:
        outcome.failure.name = TEXT("Http.NotConnected");
        outcome.failure.service_unhealthy = true;
        outcome.failure.message = text_of(result->message);
        outcome.failure.retriable = true;
        break;
    case HTTP_MAYBE_SENT:
        outcome.failure.name =
            result->timed_out ? TEXT("Http.Timeout") : TEXT("Http.ConnectionLost");
        outcome.failure.service_unhealthy = true;
        outcome.failure.message = text_of(result->message);
        outcome.failure.effect = EFFECT_UNKNOWN;
        outcome.failure.retriable = true;
        break;
    case HTTP_OUTCOME_COUNT:
        assert(false);
    }
    *ret_outcome = outcome;
}
