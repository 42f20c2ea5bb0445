/* SPDX-License-Identifier: Apache-2.0 */
/* Orders by HTTP, for those who have no Kafka client:
 *
 *     POST /orders               {"order_id": ..., ...}  (order_json.h)
 *     POST /orders/{id}/cancel   {"reason": ..., "by": ..., "reply_to": ...}, or no body
 *
 * 202 {"order_id", "workflow_version", "partition", "offset"} once the command is acknowledged
 * on that position of the commands topic; 400 {"error", "message"} for what is refused. 503:
 * whether it was taken is not known; sending the same order again is safe. */
#include "platform/logger.h"
#include "schemas/json_codec.h"
#include "services/submission/order_json.h"
#include "services/submission/submission.h"

#include <assert.h>
#include <stdlib.h>
#include <utlist.h>

enum { ANSWER_MS = 15000, BLOCK_SIZE = 4096 };

/* One request that is not answered yet. */
struct request {
    struct request *prev;
    struct request *next;
    struct door *door;
    struct http_exchange *exchange; /* NULL: answered, but the command is under way */
    bool is_cancel;
    bool appended;
    bool waits; /* for a refresh (ticket) or a reply topic */
    unsigned fresh;
    uint64_t ticket;
    struct refresh *refresh; /* that it waits for, or NULL */
    union {
        struct order_details details;
        struct cancel_order cancel;
    };
    struct text order_id;
    uint32_t workflow_version;
    struct heap_arena heap;
    struct loop_timer deadline;
};

struct door {
    struct submission *submission;
    struct request *requests;
    uint32_t count;
};

static void request_free(struct request *request)
{
    struct door *door = request->door;
    DL_DELETE(door->requests, request);
    door->count--;
    loop_timer_cancel(door->submission->service->loop, &request->deadline);
    heap_arena_deinit(&request->heap);
    free(request);
}

/* ---- answers ---- */

static void answer_error(struct request *request, const struct error *error)
{
    struct http_exchange *exchange = request->exchange;
    request->exchange = NULL;
    if (exchange != NULL)
        http_respond_failure(exchange, error);
}

static void answer_accepted(struct request *request, int64_t offset)
{
    struct http_exchange *exchange = request->exchange;
    int32_t partition = submission_partition_of(request->door->submission, request->order_id);
    if (exchange == NULL)
        return;
    request->exchange = NULL;
    json_t *body = json_pack("{s:s%, s:i}", "order_id", request->order_id.data,
                             (size_t)request->order_id.size, "partition", partition);
    assert(body != NULL);
    /* A duplicate that the broker knew already has no offset to tell. */
    if (offset >= 0)
        json_object_set_new(body, "offset", json_integer(offset));
    if (!request->is_cancel)
        json_object_set_new(body, "workflow_version", json_integer(request->workflow_version));
    char *text = json_dumps(body, JSON_COMPACT);
    json_decref(body);
    http_respond(exchange, 202, "application/json", text_of(text));
    free(text);
}

static void on_appended(void *ctx, uint64_t token, int64_t offset, const struct error *error)
{
    struct request *request = ctx;
    (void)token;
    if (error != NULL && error->class != ERROR_OK) {
        struct error unknown;
        error_set(&unknown, ERROR_RETRY, "Unknown",
                  "whether it was taken is not known; send it again: %.200s", error->message);
        answer_error(request, &unknown);
    } else {
        answer_accepted(request, offset);
        metrics_add(request->door->submission->metrics.accepted_http, 1);
    }
    request_free(request);
}

static void on_deadline(struct loop *loop, struct loop_timer *timer, void *userdata)
{
    struct request *request = userdata;
    struct error error;
    (void)loop;
    (void)timer;
    error_set(&error, ERROR_RETRY, "NotAcknowledged", "%s",
              request->appended ? "not acknowledged in time: it may still be taken; send it again"
                                : "could not be checked in time; send it again");
    answer_error(request, &error);
    if (!request->appended)
        request_free(request);
}

/* ---- judging ---- */

static void accept(struct request *request, struct judgement *judgement)
{
    struct submission *submission = request->door->submission;
    if (!request->is_cancel)
        request->workflow_version = judgement->command.submit_order.workflow_version;
    if (submission_append(submission, &judgement->command, on_appended, request, 0,
                          &judgement->error) == ERROR_OK) {
        request->appended = true;
        return;
    }
    answer_error(request, &judgement->error);
    request_free(request);
}

static void wait_for(struct request *request, struct refresh *refresh)
{
    request->waits = true;
    request->refresh = refresh;
    request->ticket = refresh != NULL ? refresh_ticket(refresh) : 0;
}

static void judge_request(struct request *request)
{
    struct submission *submission = request->door->submission;
    struct judgement judgement;
    request->waits = false;
    if (request->is_cancel)
        judge_cancel(&submission->judge, &request->cancel, &request->heap.arena, &judgement);
    else
        judge_order(&submission->judge, &request->details, request->fresh, &judgement);
    switch (judgement.verdict) {
    case VERDICT_ACCEPT:
        accept(request, &judgement);
        break;
    case VERDICT_REFUSE:
        metrics_add(submission->metrics.refused_http, 1);
        answer_error(request, &judgement.error);
        request_free(request);
        break;
    case VERDICT_WAIT_WORKFLOWS:
        wait_for(request, &submission->workflows);
        break;
    case VERDICT_WAIT_REPLY:
        wait_for(request, NULL);
        break;
    case VERDICT_WAIT_SCHEMAS: /* of records only */
    case VERDICT_COUNT:
        assert(false);
    }
}

void door_wake(struct door *door)
{
    struct request *request;
    struct request *next;
    DL_FOREACH_SAFE(door->requests, request, next) {
        if (!request->waits)
            continue;
        if (request->refresh != NULL && !refresh_is_done(request->refresh, request->ticket))
            continue;
        if (request->refresh != NULL)
            request->fresh |= FRESH_WORKFLOWS;
        judge_request(request);
    }
}

/* ---- requests ---- */

static struct request *request_new(struct door *door, struct http_exchange *exchange,
                                   bool is_cancel)
{
    struct request *request = calloc(1, sizeof(*request));
    assert(request != NULL);
    request->door = door;
    request->exchange = exchange;
    request->is_cancel = is_cancel;
    heap_arena_init(&request->heap, BLOCK_SIZE);
    loop_timer_init(&request->deadline, on_deadline, request);
    loop_timer_after(door->submission->service->loop, &request->deadline, ANSWER_MS);
    DL_APPEND(door->requests, request);
    door->count++;
    return request;
}

static bool is_closed(const struct door *door, struct http_exchange *exchange)
{
    if (!door->submission->draining)
        return false;
    http_respond_error(exchange, 503, "Draining", "this instance is going away; ask another one");
    return true;
}

static void refuse(struct request *request, const struct error *error)
{
    metrics_add(request->door->submission->metrics.refused_http, 1);
    answer_error(request, error);
    request_free(request);
}

static void on_order(struct http_exchange *exchange, void *userdata)
{
    struct door *door = userdata;
    struct error error = {0};
    if (is_closed(door, exchange))
        return;
    struct request *request = request_new(door, exchange, false);
    if (order_json_read(http_body(exchange), &request->heap.arena, &request->details, &error) !=
        ERROR_OK) {
        refuse(request, &error);
        return;
    }
    request->order_id = request->details.order_id;
    judge_request(request);
}

static enum error_class read_cancel(struct request *request, struct text body,
                                    struct error *ret_error)
{
    static const char *const fields[] = {"by", "reason", "reply_to", NULL};
    json_t *object = NULL;
    enum error_class class =
        json_codec_parse(text_empty(body) ? TEXT("{}") : body, &object, ret_error);
    if (class == ERROR_OK)
        class = json_codec_decode(record_kind_info(RECORD_CANCEL_ORDER)->binding, fields, object,
                                  &request->heap.arena, &request->cancel, ret_error);
    json_decref(object);
    request->cancel.order_id = request->order_id;
    return class;
}

static void on_cancel(struct http_exchange *exchange, void *userdata)
{
    struct door *door = userdata;
    struct error error = {0};
    if (is_closed(door, exchange))
        return;
    struct request *request = request_new(door, exchange, true);
    request->order_id = arena_text(&request->heap.arena, text_of(http_param(exchange, "id")));
    if (read_cancel(request, http_body(exchange), &error) != ERROR_OK)
        refuse(request, &error);
    else
        judge_request(request);
}

struct door *door_new(struct submission *submission)
{
    struct door *door = calloc(1, sizeof(*door));
    assert(door != NULL);
    door->submission = submission;
    struct http_server *http = submission->service->http;
    http_server_route(http, "POST", "/orders", INPUT_BYTES_MAX, on_order, door);
    http_server_route(http, "POST", "/orders/{id}/cancel", 64 * 1024, on_cancel, door);
    return door;
}

uint32_t door_in_flight(const struct door *door)
{
    return door->count;
}

void door_free(struct door *door)
{
    struct error error;
    if (door == NULL)
        return;
    error_set(&error, ERROR_RETRY, "Draining", "this instance is going away; send it again");
    while (door->requests != NULL) {
        answer_error(door->requests, &error);
        request_free(door->requests);
    }
    free(door);
}
