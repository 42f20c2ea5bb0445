/* SPDX-License-Identifier: Apache-2.0 */
/* GET /api/orders/{id}/at/{offset}: the order as it was, folded again from its history, in slices
 * between which the loop turns: folding all of a long history takes a few tenths of a second. */
#include "services/console/api/order_at.h"

#include "schemas/json/json_codec.h"
#include "schemas/json/order_json.h"
#include "services/console/api/api.h"

#include "base/numbers.h"

#include <assert.h>
#include <stdlib.h>

/* The first two of one answer. */
enum {
    REPLAY_DECISIONS_MAX = 50000,
    REPLAY_BYTES_MAX = 64 << 20,
    SLICE_BYTES_MAX = 1 << 20,
    REPLAYS_MAX = 8 /* at a time */
};

struct order_replay {
    struct http_pending pending; /* of api->replays */
    struct api *api;
    struct text order_id;          /* borrowed from the exchange */
    struct loop_deferred deferred; /* the next slice */
    int64_t from;                  /* where that begins */
    uint32_t slice_end;            /* how many Decisions, and bytes, were visited by its end */
    size_t slice_bytes_end;
    bool is_slice_over;
    int64_t through;        /* offset of the last Decision that counts */
    struct heap_arena heap; /* the order's */
    struct order order;     /* version 0: there is none */
    int64_t at;             /* the latest Decision that was folded; -1: none */
    uint32_t decisions;
    size_t bytes;
    bool too_long;
    bool is_incomplete; /* its first Decisions are not kept */
    struct error error;
};

static bool visit(void *ctx, int64_t offset, struct text value)
{
    struct order_replay *replay = ctx;
    struct heap_arena *scratch = &replay->api->scratch;
    struct record record;
    if (offset > replay->through)
        return false;
    replay->is_slice_over =
        replay->decisions >= replay->slice_end || replay->bytes >= replay->slice_bytes_end;
    if (replay->is_slice_over)
        return false;
    replay->from = offset + 1;
    replay->bytes += value.size;
    replay->too_long =
        ++replay->decisions > REPLAY_DECISIONS_MAX || replay->bytes > REPLAY_BYTES_MAX;
    if (replay->too_long)
        return false;
    heap_arena_reset(scratch);
    if (codec_decode(replay->api->cluster->codec, value, true, &scratch->arena, &record,
                     &replay->error) != ERROR_OK)
        return false;
    if (record.kind == RECORD_STATEMENT)
        return true; /* what was decided before it is not kept */
    replay->at = offset;
    if (record.kind != RECORD_DECISION || !decision_changes_order(&record.decision))
        return true;
    record.decision.offset = offset;
    const char *problem = order_apply_problem(replay->order.version > 0 ? &replay->order : NULL,
                                              &record.decision, &scratch->arena);
    if (problem == NULL) {
        order_apply_decision(&replay->order, &record.decision, &replay->heap.arena);
        return true;
    }
    replay->is_incomplete = true;
    error_set(&replay->error, CODE_INCOMPLETE_HISTORY,
              "the history that is kept of this order does not begin with its acceptance: %s",
              problem);
    return false;
}

static void respond(struct http_exchange *exchange, const struct order_replay *replay,
                    struct console_partition *partition)
{
    struct text order_id = replay->order_id;
    if (replay->too_long)
        http_respond_error(exchange, 409, CODE_TOO_LONG,
                           "order %.*s has more than %d Decisions before offset %lld: the console "
                           "does not fold that many for one answer",
                           TEXT_ARG(order_id), REPLAY_DECISIONS_MAX, (long long)replay->through);
    else if (error_is(&replay->error) && replay->is_incomplete)
        http_respond_error(exchange, 409, CODE_INCOMPLETE_HISTORY, "%s", replay->error.message);
    else if (error_is(&replay->error)) /* its checksum is right: a schema is missing */
        http_respond_error(exchange, 500, CODE_UNDECODABLE_HISTORY, "%s", replay->error.message);
    else if (replay->order.version == 0)
        http_respond_error(exchange, 404, CODE_UNKNOWN_ORDER,
                           "order %.*s did not exist after offset %lld", TEXT_ARG(order_id),
                           (long long)replay->through);
    else {
        json_t *body = order_json(&replay->order, console_partition_number(partition));
        json_codec_put(body, "at_offset", json_integer(replay->at));
        owners_respond(replay->api->owners, exchange, body);
    }
}

/* Nothing was decided about it since the log begins, or at all. */
static void respond_without_history(struct http_exchange *exchange,
                                    const struct order_replay *replay,
                                    struct console_partition *partition)
{
    struct text order_id = replay->order_id;
    const struct order *order = NULL;
    struct error error;
    struct view *view = console_partition_view(partition);
    int64_t start = view_checkpoint(view)->start;
    if (view_order(view, order_id, &order, &error) == ERROR_OK && order != NULL &&
        order->accepted_offset < start)
        http_respond_error(exchange, 409, CODE_INCOMPLETE_HISTORY,
                           "the log was trimmed: what was decided about order %.*s before offset "
                           "%lld is not kept",
                           TEXT_ARG(order_id), (long long)start);
    else
        api_respond_missing(exchange, replay->api, order_id);
}

static void replay_free(struct http_pending *pending)
{
    struct order_replay *replay = (struct order_replay *)pending; /* its first member */
    loop_defer_cancel(pending->set->loop, &replay->deferred);
    heap_arena_deinit(&replay->heap);
    free(replay);
}

static const struct http_pending_kind replay_kind = {
    .max = REPLAYS_MAX,
    .shared = true,
    .busy = "too many orders are being folded as they were: try again",
    .draining = HTTP_SHUTTING_DOWN,
    .free = replay_free};

static void finish(struct order_replay *replay, struct console_partition *partition)
{
    struct http_exchange *exchange = http_pending_take(&replay->pending);
    if (replay->at < 0 && !error_is(&replay->error) && !replay->too_long)
        respond_without_history(exchange, replay, partition);
    else
        respond(exchange, replay, partition);
    http_pending_settle(&replay->pending);
}

static void run_slice(void *ctx)
{
    struct order_replay *replay = ctx;
    struct error error = {0};
    struct console_partition *partition = api_partition_of(replay->api, replay->order_id);
    bool settled = console_partition_settle(partition);
    replay->slice_end = replay->decisions + ORDER_AT_SLICE;
    replay->slice_bytes_end = replay->bytes + SLICE_BYTES_MAX;
    replay->is_slice_over = false;
    if (settled &&
        store_scan_history(view_store(console_partition_view(partition)), replay->order_id,
                           replay->from, visit, replay, &error) == ERROR_OK) {
        if (!replay->is_slice_over)
            finish(replay, partition);
        else
            loop_defer(cluster_loop(replay->api->cluster), &replay->deferred);
        return;
    }
    if (settled)
        console_partition_damaged(partition, &error);
    api_respond_damaged(http_pending_take(&replay->pending), partition);
    http_pending_settle(&replay->pending);
}

static void begin(struct api *api, struct http_exchange *exchange, struct text order_id,
                  int64_t through)
{
    if (!http_pendings_admit(&api->replays, exchange))
        return;
    struct order_replay *replay = calloc(1, sizeof(*replay));
    assert(replay != NULL);
    replay->api = api;
    replay->order_id = order_id;
    replay->through = through;
    replay->at = -1;
    heap_arena_init(&replay->heap, 4096);
    loop_deferred_init(&replay->deferred, run_slice, replay);
    http_pending_begin(&api->replays, &replay->pending, exchange, 0);
    run_slice(replay);
}

void order_at_init(struct api *api)
{
    http_pendings_init(&api->replays, &replay_kind, cluster_loop(api->cluster), NULL, NULL);
}

void serve_order_at(struct api *api, struct http_exchange *exchange)
{
    int64_t through = 0;
    struct text order_id;
    if (!api_read_order_id(exchange, &order_id))
        return;
    if (number_parse(text_of(http_param(exchange, "offset")), 0, INT64_MAX - 1, &through))
        begin(api, exchange, order_id, through);
    else
        http_respond_error(exchange, 400, CODE_BAD_REQUEST,
                           "offset: expected the offset of a Decision, from 0");
}
