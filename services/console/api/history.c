/* SPDX-License-Identifier: Apache-2.0 */
/* GET /api/orders/{id}/history: what was decided about an order, from the log. */
#include "platform/http/json_answer.h"
#include "platform/http/query.h"
#include "schemas/json/json_codec.h"
#include "services/console/api/api.h"
#include "services/console/render/render.h"

enum { HISTORY_LIMIT = 1000, HISTORY_BYTES_MAX = 8 << 20 /* of Decisions in one answer */ };

struct history {
    struct api *api;
    struct console_partition *partition;
    json_t *entries;
    uint32_t limit;
    size_t bytes;
    bool more;
    int64_t last;              /* offset of the last entry */
    int64_t begins_at;         /* -1: there is no order */
    const struct order *order; /* as it is now; NULL: there is none */
    struct error error;
};

/* Statuses are what the Decision makes the scheduler send, whether it has sent them yet or not. */
static json_t *render_entry(const struct history *history, const struct decision *decision)
{
    struct api *api = history->api;
    struct arena *arena = &api->scratch.arena;
    int32_t partition = console_partition_number(history->partition);
    json_t *entry = render_decision(decision, partition, decision->offset, arena);
    json_codec_put(entry, "updates",
                   render_updates(decision, partition, &api->cluster->topics, arena));
    return entry;
}

static bool visit_decision(void *ctx, int64_t offset, struct text value)
{
    struct history *history = ctx;
    struct api *api = history->api;
    struct record record;
    history->more =
        json_array_size(history->entries) == history->limit || history->bytes >= HISTORY_BYTES_MAX;
    if (history->more)
        return false;
    heap_arena_reset(&api->scratch);
    if (codec_decode(api->cluster->codec, value, true, &api->scratch.arena, &record,
                     &history->error) != ERROR_OK)
        return false;
    if (record.kind == RECORD_STATEMENT)
        return true; /* see find_statement() */
    if (record.kind != RECORD_DECISION) {
        error_set(&history->error, CODE_STORE_DAMAGED,
                  "the history of an order holds another record");
        return false;
    }
    record.decision.offset = offset;
    json_array_append_new(history->entries, render_entry(history, &record.decision));
    history->bytes += value.size;
    history->last = offset;
    return true;
}

/* The console began inside a log that was trimmed, and the order was accepted before. */
static bool is_whole(const struct history *history)
{
    int64_t start = view_checkpoint(console_partition_view(history->partition))->start;
    return history->order != NULL ? history->order->accepted_offset >= start : start == 0;
}

static bool find_statement(void *ctx, int64_t offset, struct text value)
{
    struct history *history = ctx;
    struct api *api = history->api;
    struct record record;
    heap_arena_reset(&api->scratch);
    if (codec_decode(api->cluster->codec, value, true, &api->scratch.arena, &record,
                     &history->error) != ERROR_OK)
        return false;
    if (record.kind == RECORD_STATEMENT)
        history->begins_at = offset;
    return record.kind != RECORD_STATEMENT;
}

/* From where on all that was decided about the order is here. What changed an order before the
 * Statement by which the console got to know it is not. */
static enum error_class find_beginning(struct history *history, struct text order_id,
                                       struct error *ret_error)
{
    struct view *view = console_partition_view(history->partition);
    history->begins_at = -1;
    if (history->order == NULL)
        return ERROR_OK;
    history->begins_at =
        is_whole(history) ? history->order->accepted_offset : history->order->stated_offset;
    if (is_whole(history))
        return ERROR_OK;
    return store_scan_history(view_store(view), order_id, 0, find_statement, history, ret_error);
}

/* Empty histories are those of unknown orders, as even a refused submission has an entry; or of
 * orders about which nothing was decided since a trimmed log begins. */
static void respond_history(struct http_exchange *exchange, struct history *history,
                            struct text order_id, int64_t after)
{
    if (error_is(&history->error)) { /* its checksum is right: a schema is missing */
        http_respond_error(exchange, 500, CODE_UNDECODABLE_HISTORY, "%s", history->error.message);
        json_decref(history->entries);
        return;
    }
    if (json_array_size(history->entries) == 0 && after < 0 && history->order == NULL) {
        api_respond_missing(exchange, history->api, order_id);
        json_decref(history->entries);
        return;
    }
    json_t *body = json_object();
    json_codec_put(body, "order_id", json_codec_text(order_id));
    json_codec_put(body, "partition", json_integer(console_partition_number(history->partition)));
    json_codec_put(body, "entries", history->entries);
    json_codec_put(body, "next", history->more ? json_integer(history->last) : json_null());
    const struct checkpoint *checkpoint =
        view_checkpoint(console_partition_view(history->partition));
    json_codec_put(body, "log_start", json_integer(checkpoint->start));
    json_codec_put(body, "begins_at",
                   history->begins_at >= 0 ? json_integer(history->begins_at) : json_null());
    json_codec_put(body, "whole", json_boolean(is_whole(history)));
    owners_respond(history->api->owners, exchange, body);
}

void serve_history(struct api *api, struct http_exchange *exchange)
{
    struct text order_id;
    int64_t limit;
    int64_t after;
    struct error error = {0};
    int64_t limit_max = api->history_max;
    if (!api_read_order_id(exchange, &order_id) ||
        !http_query_int(exchange, "limit", limit_max < HISTORY_LIMIT ? limit_max : HISTORY_LIMIT, 1,
                        limit_max, &limit) ||
        !http_query_int(exchange, "after", -1, -1, INT64_MAX - 1, &after))
        return;
    struct console_partition *partition = api_partition_of(api, order_id);
    struct history history = {
        .api = api, .partition = partition, .limit = (uint32_t)limit, .entries = json_array()};
    bool settled = console_partition_settle(partition);
    struct view *view = console_partition_view(partition);
    if (settled &&
        store_scan_history(view_store(view), order_id, after + 1, visit_decision, &history,
                           &error) == ERROR_OK &&
        view_order(view, order_id, &history.order, &error) == ERROR_OK &&
        find_beginning(&history, order_id, &error) == ERROR_OK) {
        respond_history(exchange, &history, order_id, after);
        return;
    }
    if (settled)
        console_partition_damaged(partition, &error);
    json_decref(history.entries);
    api_respond_damaged(exchange, partition);
}
