/* SPDX-License-Identifier: Apache-2.0 */
/* Orders by HTTP, for applications without a Kafka client:
 *
 *     POST /orders               {"order_id": ..., ...}  (submission_json.h)
 *     POST /orders/{id}/cancel   {"reason": ..., "by": ..., "reply_to": ...}, or no body
 *     POST /orders/{id}/signals/{step}   {"id": ..., "payload": ...}  (signal_json.h)
 *
 * 202 {"order_id", "workflow_version", "partition", "offset"} once the command is acknowledged
 * on that position of the commands topic; 400 {"error", "message"} when it is refused. 503:
 * it may have been accepted or not; sending the same order again is safe. */
#include "platform/http/json_answer.h"
#include "platform/http/pending.h"
#include "platform/logger.h"
#include "replica/service/order_traces.h"
#include "schemas/details.h"
#include "schemas/json/json_codec.h"
#include "schemas/json/submission_json.h"
#include "services/submission/order_lookup.h"
#include "services/submission/signals.h"
#include "services/submission/submission.h"

#include <assert.h>
#include <stdlib.h>
#include <utlist.h>

enum {
    ANSWER_MS = 15000,
    BLOCK_SIZE = 4096,
    DETAIL_SIZE = 1024,
    CANCEL_BYTES_MAX = 64 * 1024,
    SIGNAL_BODY_MAX = 16 * 1024 + 2 * SIGNAL_BYTES_MAX /* with blanks */
};

enum request_kind { REQUEST_ORDER, REQUEST_CANCEL, REQUEST_SIGNAL };

struct http_submission {
    struct http_pending pending; /* to come: the acknowledgement of its command */
    struct http_api *api;
    enum request_kind kind;
    bool waits;                     /* for a refresh (ticket) */
    bool looked_up;                 /* whether the console knows the order */
    struct order_lookup_call *call; /* while it is asked */
    unsigned fresh;
    uint64_t ticket;
    struct refresh *refresh; /* that it waits for */
    union {
        struct order_details details;
        struct cancel_order cancel;
        struct signal_order signal;
    };
    struct text order_id;
    uint32_t workflow_version;
    size_t size; /* counted in the submission's in_flight_bytes */
    struct heap_arena heap;
};

struct http_api {
    struct submission *submission;
    struct http_pendings pendings;
};

static struct http_submission *request_of(struct http_pending *pending)
{
    return (struct http_submission *)pending; /* its first member */
}

static void request_free(struct http_pending *pending)
{
    struct http_submission *request = request_of(pending);
    struct submission *submission = request->api->submission;
    assert(submission->in_flight_bytes >= request->size);
    submission->in_flight_bytes -= request->size;
    order_lookup_cancel(request->call);
    heap_arena_deinit(&request->heap);
    free(request);
}

/* ---- answers ---- */

static void answer_error(struct http_submission *request, const struct error *error)
{
    struct http_exchange *exchange = http_pending_take(&request->pending);
    if (exchange != NULL)
        http_respond_failure(exchange, error);
}

static void refuse(struct http_submission *request, const struct error *error)
{
    metrics_add(request->api->submission->metrics.refused_http, 1);
    answer_error(request, error);
}

static void answer_accepted(struct http_submission *request, int64_t offset)
{
    struct http_exchange *exchange = http_pending_take(&request->pending);
    int32_t partition =
        broker_partition_of(request->order_id, request->api->submission->cluster->partition_count);
    if (exchange == NULL)
        return;
    json_t *body = json_pack("{s:s%, s:i, s:I}", "order_id", request->order_id.data,
                             (size_t)request->order_id.size, "partition", partition, "offset",
                             (json_int_t)offset);
    assert(body != NULL);
    if (request->kind == REQUEST_ORDER)
        json_object_set_new(body, "workflow_version", json_integer(request->workflow_version));
    http_respond_json(exchange, 202, body);
}

static void on_appended(void *ctx, uint64_t token, int64_t offset, const struct error *error)
{
    struct http_submission *request = ctx;
    (void)token;
    request->pending.to_come--;
    if (error != NULL && error->class != ERROR_OK) {
        struct error unknown;
        error_set(&unknown, CODE_UNKNOWN,
                  "it may or may not have been accepted; send it again: %.200s", error->message);
        answer_error(request, &unknown);
    } else {
        answer_accepted(request, offset);
        metrics_add(request->api->submission->metrics.accepted_http, 1);
    }
    http_pending_settle(&request->pending);
}

static void on_late(struct http_pending *pending)
{
    http_pending_fail(pending, 503, CODE_NOT_ACKNOWLEDGED, "%s",
                      pending->to_come > 0
                          ? "not acknowledged in time: it may still be accepted; send it again"
                          : "not validated in time; send it again");
}

static const struct http_pending_kind request_kind = {
    .draining = "this instance is shutting down; send it again",
    .late = on_late,
    .free = request_free};

/* ---- validation: the caller settles the request ---- */

static void validate_request(struct http_submission *request);

static void answer_differs(struct http_submission *request, const char *field)
{
    char detail[DETAIL_SIZE];
    snprintf(detail, sizeof(detail), "order %.*s was submitted before with a different %s",
             TEXT_ARG(request->order_id), field);
    json_t *problem = http_problem_new(409, error_code_text(CODE_CONTENT_DIFFERS), text_of(detail));
    json_object_set_new(problem, "field", json_string(field));
    http_respond_problem(http_pending_take(&request->pending), problem);
}

static void on_submitted_before(struct http_submission *request, const json_t *order)
{
    struct order_details details = request->details;
    char field[ORDER_DIFFERENCE_SIZE] = "";
    details.content_hash = details_content_hash(&details);
    if (order_lookup_is_of(order, request->pending.exchange))
        order_difference(&details, order, field);
    if (field[0] == '\0') {
        validate_request(request);
    } else {
        metrics_add(request->api->submission->metrics.refused_http, 1);
        answer_differs(request, field);
    }
}

/* `order` NULL: there is none. */
static void on_signalled(struct http_submission *request, const json_t *order)
{
    struct error error;
    int status = 404;
    if (order != NULL)
        status = signal_status_by(order, &request->signal, request->pending.exchange, &error);
    else
        error_set(&error, CODE_UNKNOWN_ORDER, "order %.*s does not exist",
                  TEXT_ARG(request->order_id));
    if (status == 0) {
        validate_request(request);
    } else {
        metrics_add(request->api->submission->metrics.refused_http, 1);
        http_pending_fail(&request->pending, status, error.code, "%s", error.message);
    }
}

/* If it cannot be found out now, the scheduler decides, as without a console. */
static void on_known(void *ctx, int status, const json_t *body, const char *why)
{
    struct http_submission *request = ctx;
    (void)why;
    request->call = NULL;
    if (request->kind == REQUEST_SIGNAL && (status == 200 || status == 404))
        on_signalled(request, status == 200 ? body : NULL);
    else if (request->kind == REQUEST_ORDER && status == 200)
        on_submitted_before(request, body);
    else
        validate_request(request);
    http_pending_settle(&request->pending);
}

/* True: the answer of the console has to come first. */
static bool look_up(struct http_submission *request)
{
    struct order_lookup *lookup = request->api->submission->lookup;
    if (lookup == NULL || request->kind == REQUEST_CANCEL || request->looked_up)
        return false;
    request->looked_up = true;
    request->call = order_lookup_get(lookup, request->order_id, 0, on_known, request);
    return true;
}

static void accept(struct http_submission *request, struct validation *validation)
{
    struct submission *submission = request->api->submission;
    assert(request->pending.to_come == 0 && !request->waits);
    if (look_up(request))
        return;
    if (request->kind == REQUEST_ORDER)
        request->workflow_version = validation->command.submit_order.workflow_version;
    if (submission_append(submission, &validation->command, on_appended, request, 0,
                          &validation->error) == ERROR_OK)
        request->pending.to_come++;
    else
        answer_error(request, &validation->error);
}

static void wait_for(struct http_submission *request, struct refresh *refresh)
{
    assert(request->pending.to_come == 0 && !request->waits);
    request->waits = true;
    request->refresh = refresh;
    request->ticket = refresh_ticket(refresh);
}

static void validate_content(struct http_submission *request, struct validation *ret_validation)
{
    const struct validator *validator = &request->api->submission->validator;
    struct arena *arena = &request->heap.arena;
    switch (request->kind) {
    case REQUEST_ORDER:
        validate_order(validator, &request->details, request->fresh, arena, ret_validation);
        break;
    case REQUEST_CANCEL:
        validate_cancel(validator, &request->cancel, request->fresh, arena, ret_validation);
        break;
    case REQUEST_SIGNAL:
        validate_signal(validator, &request->signal, request->fresh, arena, ret_validation);
        break;
    }
}

static void validate_request(struct http_submission *request)
{
    struct submission *submission = request->api->submission;
    struct validation validation;
    request->waits = false;
    validate_content(request, &validation);
    switch (validation.outcome) {
    case VALIDATION_ACCEPT:
        accept(request, &validation);
        break;
    case VALIDATION_REFUSE:
        refuse(request, &validation.error);
        break;
    case VALIDATION_WAIT_WORKFLOWS:
        wait_for(request, &submission->workflows);
        break;
    case VALIDATION_WAIT_REPLY:
        wait_for(request, &submission->topics);
        break;
    case VALIDATION_WAIT_SCHEMAS: /* of records only */
    case VALIDATION_WAIT_REGISTRY:
    case VALIDATION_OUTCOME_COUNT:
        assert(false);
    }
}

void http_api_wake(struct http_api *api)
{
    struct http_pending *pending, *next;
    DL_FOREACH_SAFE(api->pendings.list, pending, next) {
        struct http_submission *request = request_of(pending);
        if (!request->waits || !refresh_is_done(request->refresh, request->ticket))
            continue;
        request->fresh |= request->refresh->bit;
        validate_request(request);
        http_pending_settle(pending);
    }
}

/* ---- requests ---- */

/* The brokers may hang: what waits for them, by HTTP and from the topic, has one bound in bytes. */
static bool is_full(const struct http_api *api, struct http_exchange *exchange)
{
    if (api->submission->in_flight_bytes < IN_FLIGHT_BYTES_MAX)
        return false;
    http_respond_error(exchange, 503, CODE_BUSY,
                       "too many bytes wait for the brokers to acknowledge them; try again later");
    return true;
}

/* NULL: answered. */
static struct http_submission *request_new(struct http_api *api, struct http_exchange *exchange,
                                           enum request_kind kind)
{
    if (!http_pendings_admit(&api->pendings, exchange) || is_full(api, exchange))
        return NULL;
    struct http_submission *request = calloc(1, sizeof(*request));
    assert(request != NULL);
    request->api = api;
    request->kind = kind;
    heap_arena_init(&request->heap, BLOCK_SIZE);
    http_pending_begin(&api->pendings, &request->pending, exchange, ANSWER_MS);
    return request;
}

/* What it holds until it is settled: the values that were read, and the bytes of its command. */
static void count_bytes(struct http_submission *request, struct text body)
{
    assert(request->size == 0);
    request->size = request->heap.allocated + body.size;
    request->api->submission->in_flight_bytes += request->size;
}

/* True: the token is for orders with other ids or for another reply topic, and that is the
 * answer. */
static bool is_outside(struct http_submission *request, struct text reply_to)
{
    const struct http_exchange *exchange = request->pending.exchange;
    if (!http_permits(exchange, HTTP_BOUND_ID_PREFIX, request->order_id))
        http_pending_fail(&request->pending, 403, CODE_OUTSIDE_BINDING,
                          "this token is for orders whose ids begin with %s",
                          http_bound_to(exchange, HTTP_BOUND_ID_PREFIX));
    else if (!http_permits(exchange, HTTP_BOUND_REPLY_TO, reply_to))
        http_pending_fail(&request->pending, 403, CODE_OUTSIDE_BINDING,
                          "this token is for the reply topic %s: leave reply_to out, or name it",
                          http_bound_to(exchange, HTTP_BOUND_REPLY_TO));
    else
        return false;
    metrics_add(request->api->submission->metrics.refused_http, 1);
    return true;
}

static void serve(struct http_api *api, struct http_exchange *exchange, enum request_kind kind,
                  void (*take)(struct http_submission *request))
{
    struct http_submission *request = request_new(api, exchange, kind);
    if (request == NULL)
        return;
    take(request);
    http_pending_settle(&request->pending);
}

static struct text trace_header(const struct http_exchange *exchange)
{
    const char *value = http_header(exchange, TRACEPARENT_HEADER);
    return value != NULL ? text_of(value) : TEXT("");
}

static void take_order(struct http_submission *request)
{
    struct error error = {0};
    struct http_exchange *exchange = request->pending.exchange;
    if (submission_json_read(http_body(exchange), &request->heap.arena, &request->details,
                             &error) != ERROR_OK) {
        refuse(request, &error);
        return;
    }
    request->order_id = request->details.order_id;
    if (is_outside(request, request->details.reply_to))
        return;
    request->details.traceparent = arena_text(
        &request->heap.arena, traceparent_or(request->details.traceparent, trace_header(exchange)));
    request->details.submitted_by = arena_text(&request->heap.arena, text_of(http_user(exchange)));
    count_bytes(request, http_body(exchange));
    validate_request(request);
}

static void on_order(struct http_exchange *exchange, void *userdata)
{
    serve(userdata, exchange, REQUEST_ORDER, take_order);
}

static const char *const cancel_fields[] = {"by", "reason", "reply_to", NULL};

static enum error_class read_cancel(struct http_submission *request, struct text body,
                                    struct error *ret_error)
{
    struct json_value object;
    enum error_class class = json_codec_parse(text_empty(body) ? TEXT("{}") : body, "body",
                                              &request->heap.arena, &object, ret_error);
    if (class == ERROR_OK)
        class = json_codec_decode(record_kind_info(RECORD_CANCEL_ORDER)->binding, cancel_fields,
                                  JSON_CODEC_ANY_SIZE, object, &request->heap.arena,
                                  &request->cancel, ret_error);
    request->cancel.order_id = request->order_id;
    const char *user = http_user(request->pending.exchange);
    if (class == ERROR_OK && user[0] != '\0')
        request->cancel.by = arena_text(&request->heap.arena, text_of(user));
    if (class == ERROR_OK && http_authenticated(request->pending.exchange))
        request->cancel.submitted_by = request->cancel.by;
    return class;
}

static void take_cancel(struct http_submission *request)
{
    struct error error = {0};
    struct http_exchange *exchange = request->pending.exchange;
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

static void on_cancel(struct http_exchange *exchange, void *userdata)
{
    serve(userdata, exchange, REQUEST_CANCEL, take_cancel);
}

static void take_signal(struct http_submission *request)
{
    struct error error = {0};
    struct http_exchange *exchange = request->pending.exchange;
    request->order_id = arena_text(&request->heap.arena, text_of(http_param(exchange, "id")));
    if (signal_read(exchange, request->order_id, &request->heap.arena, &request->signal, &error) !=
        ERROR_OK) {
        refuse(request, &error);
        return;
    }
    if (is_outside(request, request->signal.reply_to))
        return;
    count_bytes(request, http_body(exchange));
    validate_request(request);
}

static void on_signal(struct http_exchange *exchange, void *userdata)
{
    serve(userdata, exchange, REQUEST_SIGNAL, take_signal);
}

static const struct http_route rows[] = {
    {.method = "POST",
     .pattern = "/orders",
     .permission = HTTP_SUBMIT,
     .handler = on_order,
     .query = HTTP_NO_NAMES,
     .body_max = INPUT_BYTES_MAX,
     .summary = "submit an order"},
    {.method = "POST",
     .pattern = "/orders/{id}/cancel",
     .permission = HTTP_SUBMIT,
     .handler = on_cancel,
     .query = HTTP_NO_NAMES,
     .body = cancel_fields,
     .body_max = CANCEL_BYTES_MAX,
     .only = "of its own orders",
     .summary = "cancel an order"},
    {.method = "POST",
     .pattern = "/orders/{id}/signals/{step}",
     .permission = HTTP_SUBMIT,
     .handler = on_signal,
     .query = HTTP_NO_NAMES,
     .body = signal_fields,
     .body_max = SIGNAL_BODY_MAX,
     .only = "of its own orders, or for its groups",
     .summary = "send a step the signal that it waits for"},
};
const struct http_routes http_api_routes = HTTP_ROUTES(rows);

struct http_api *http_api_new(struct submission *submission)
{
    struct http_api *api = calloc(1, sizeof(*api));
    assert(api != NULL);
    api->submission = submission;
    http_pendings_init(&api->pendings, &request_kind, submission->service->loop, NULL, NULL);
    http_server_routes(submission->service->http, &http_api_routes, api);
    return api;
}

uint32_t http_api_in_flight(const struct http_api *api)
{
    return api->pendings.count;
}

void http_api_drain(struct http_api *api)
{
    if (api != NULL)
        http_pendings_close(&api->pendings);
}

void http_api_free(struct http_api *api)
{
    if (api == NULL)
        return;
    http_pendings_deinit(&api->pendings);
    free(api);
}
