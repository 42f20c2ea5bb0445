/* SPDX-License-Identifier: Apache-2.0 */
/* GET /api/orders/{id}/suborders: the items of a step, page by page, each with what its parent
 * knows of it and with the state of its own row, which is in another partition. */
#include "services/console/api/suborders.h"

#include "platform/http/query.h"
#include "schemas/json/json_codec.h"

/* A page ends after as much time, or as many bytes of outputs. */
enum {
    ITEMS_MAX = 100,
    OUTPUT_BYTES = 128 * 1024,
    BUDGET_US = 20000,
    TIME_EACH = 16,
    REASON_SIZE = ERROR_MESSAGE_SIZE + 64
};

/* ---- one of them ---- */

struct suborder_reader suborder_reader_of(struct api *api)
{
    int64_t now_us = clock_mono_us(api->cluster->service->clock);
    return (struct suborder_reader){
        .api = api, .arena = &api->scratch.arena, .until_us = now_us + BUDGET_US};
}

bool suborder_reader_is_spent(struct suborder_reader *reader)
{
    return ++reader->read % TIME_EACH == 0 &&
           clock_mono_us(reader->api->cluster->service->clock) >= reader->until_us;
}

static const struct order *read_order(struct suborder_reader *reader, struct text order_id)
{
    const struct order *order = NULL;
    struct console_partition *partition = api_partition_of(reader->api, order_id);
    if (reader->damaged == NULL &&
        view_read_order(console_partition_view(partition), order_id, reader->arena, &order,
                        &reader->error) != ERROR_OK)
        reader->damaged = partition;
    return reader->damaged == NULL ? order : NULL;
}

bool suborder_respond_damaged(struct suborder_reader *reader, struct http_exchange *exchange)
{
    if (reader->damaged == NULL)
        return false;
    console_partition_damaged(reader->damaged, &reader->error);
    api_respond_damaged(exchange, reader->damaged);
    return true;
}

struct text suborder_id(const struct order *parent, const struct step *step, uint32_t number,
                        struct arena *arena)
{
    const struct suborder_item *item = &step->suborders->items[number];
    int64_t shown = text_empty(step->suborders->list) ? -1 : (int64_t)number;
    if (item->submitted_at == 0 || item->state == ITEM_TO_DO)
        return (struct text){0};
    return order_suborder_id(parent->details.order_id, step->name, shown, item->generation, arena);
}

struct suborder suborder_find(struct suborder_reader *reader, const struct suborder_item *item,
                              struct text order_id)
{
    char reason[REASON_SIZE];
    struct suborder suborder = {.order = NULL};
    if (text_empty(order_id))
        return suborder;
    suborder.order = read_order(reader, order_id);
    suborder.expired = suborder.order == NULL &&
                       (item->state == ITEM_FINAL || item->state == ITEM_FAILED) &&
                       console_partition_is_current(api_partition_of(reader->api, order_id), reason,
                                                    sizeof(reason));
    return suborder;
}

void suborder_put_item(json_t *object, const struct step *step, uint32_t number,
                       struct text order_id)
{
    const struct suborders *suborders = step->suborders;
    const struct suborder_item *item = &suborders->items[number];
    json_codec_put(object, "item",
                   text_empty(suborders->list) ? json_null() : json_integer(number));
    json_codec_put(object, "order_id", json_codec_text_or_null(order_id));
    json_codec_put(object, "generation", json_integer(item->generation));
    json_codec_put(object, "outcome", json_string(enum_name(&item_state_names, item->state)));
}

void suborder_put_state(json_t *object, const struct suborder *suborder)
{
    static const struct order unknown;
    const struct order *order = suborder->order != NULL ? suborder->order : &unknown;
    json_codec_put(object, "state",
                   suborder->order != NULL ? json_string(order_state_name(order->state))
                                           : json_null());
    json_codec_put(object, "expired", json_boolean(suborder->expired));
    json_codec_put(object, "alert_open", json_boolean(order->alert_open));
    json_codec_put(object, "paused", json_boolean(order->paused_at != 0));
    json_codec_put(object, "reason_code", json_codec_text_or_null(order->reason_code));
    json_codec_put(object, "problem", json_codec_text_or_null(order->reason));
}

/* ---- a page of them ---- */

/* Its parent keeps the output only until the step is done; the order itself until it expires. */
static struct text output_of(const struct suborder_item *item, const struct suborder *suborder)
{
    if (text_empty(item->output) && suborder->order != NULL)
        return suborder->order->output;
    return item->output;
}

/* Adds the size of its output. */
static json_t *suborder_json(struct suborder_reader *reader, const struct order *order,
                             const struct step *step, uint32_t number, uint32_t *output_bytes)
{
    json_t *object = json_object();
    const struct suborder_item *item = &step->suborders->items[number];
    heap_arena_reset(&reader->api->scratch);
    struct text order_id = suborder_id(order, step, number, reader->arena);
    struct suborder suborder = suborder_find(reader, item, order_id);
    struct text output = output_of(item, &suborder);
    *output_bytes += output.size;
    suborder_put_item(object, step, number, order_id);
    suborder_put_state(object, &suborder);
    json_codec_put(object, "submitted_at", json_codec_time_or_null(item->submitted_at));
    json_codec_put(object, "output", json_codec_json(output));
    return object;
}

struct page {
    struct text step;
    bool has_state;
    uint32_t state;
    int64_t from;
    int64_t limit;
};

static bool read_page(struct http_exchange *exchange, struct page *ret_page)
{
    return http_query_text(exchange, "step", NAME_BYTES_MAX, &ret_page->step) &&
           http_query_enum(exchange, "state", &item_state_names, &ret_page->has_state,
                           &ret_page->state) &&
           http_query_int(exchange, "from", 0, 0, SUBORDERS_MAX, &ret_page->from) &&
           http_query_int(exchange, "limit", ITEMS_MAX, 1, ITEMS_MAX, &ret_page->limit);
}

/* NULL after the exchange was answered. */
static const struct step *find_step(struct http_exchange *exchange, const struct order *order,
                                    struct text name)
{
    int index = order_find_step(order, name);
    if (index >= 0 && order->steps[index].suborders != NULL)
        return &order->steps[index];
    if (text_empty(name))
        http_respond_error(exchange, 400, CODE_BAD_REQUEST,
                           "step: expected the name of a step with sub-orders");
    else
        http_respond_error(exchange, 404, CODE_UNKNOWN_STEP,
                           "step %.*s of order %.*s has started no sub-orders", TEXT_ARG(name),
                           TEXT_ARG(order->details.order_id));
    return NULL;
}

static void put_page(struct suborder_reader *reader, const struct order *order,
                     const struct step *step, const struct page *page, json_t *body)
{
    const struct suborders *suborders = step->suborders;
    json_t *list = json_array();
    uint32_t bytes = 0;
    uint32_t i = (uint32_t)page->from;
    bool ends = false;
    for (; i < suborders->item_count && !ends; i++) {
        if (page->has_state && suborders->items[i].state != page->state)
            continue;
        json_array_append_new(list, suborder_json(reader, order, step, i, &bytes));
        ends = json_array_size(list) == (size_t)page->limit || bytes >= OUTPUT_BYTES ||
               suborder_reader_is_spent(reader);
    }
    while (page->has_state && i < suborders->item_count && suborders->items[i].state != page->state)
        i++;
    json_codec_put(body, "step", json_codec_text(step->name));
    json_codec_put(body, "count", json_integer(suborders->item_count));
    json_codec_put(body, "suborders", list);
    json_codec_put(body, "next", i < suborders->item_count ? json_integer(i) : json_null());
    api_put_incomplete(reader->api, body);
}

void serve_suborders(struct api *api, struct http_exchange *exchange)
{
    struct text order_id;
    struct page page = {.limit = 0};
    struct suborder_reader reader = suborder_reader_of(api);
    if (!api_read_order_id(exchange, &order_id) || !read_page(exchange, &page))
        return;
    const struct order *order = api_find_order(exchange, api, order_id);
    const struct step *step = order != NULL ? find_step(exchange, order, page.step) : NULL;
    if (step == NULL)
        return;
    json_t *body = json_object();
    put_page(&reader, order, step, &page, body);
    if (suborder_respond_damaged(&reader, exchange)) {
        json_decref(body);
        return;
    }
    view_tidy(console_partition_view(api_partition_of(api, order_id)));
    owners_respond(api->owners, exchange, body);
}
