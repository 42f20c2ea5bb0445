/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters that select orders, and the answers that list or count these. */
#include "services/console/api/search_api.h"

#include "base/names.h"
#include "platform/http/query.h"
#include "schemas/json/json_codec.h"
#include "schemas/json/order_json.h"
#include "services/console/api/api.h"

enum { LIST_LIMIT = 50 };

/* ---- parameters ---- */

bool search_api_read_page(struct http_exchange *exchange, struct search *search)
{
    int64_t limit;
    const char *cursor = http_query(exchange, "cursor");
    if (!http_query_int(exchange, "limit", LIST_LIMIT, 1, SEARCH_PAGE_MAX, &limit))
        return false;
    search->limit = (uint32_t)limit;
    search->has_after = cursor != NULL && cursor[0] != '\0';
    if (!search->has_after || search_cursor_decode(text_of(cursor), &search->after))
        return true;
    http_respond_error(exchange, 400, CODE_BAD_REQUEST,
                       "cursor: expected the cursor of an earlier answer");
    return false;
}

/* Each of the `attribute`s must match. */
static bool read_attributes(struct http_exchange *exchange, struct search *search)
{
    size_t index = 0;
    const char *given;
    while ((given = http_query_next(exchange, "attribute", &index)) != NULL) {
        struct text text = text_of(given);
        if (text.size == 0)
            continue;
        if (search->attribute_count == SEARCH_ATTRIBUTES_MAX) {
            http_respond_error(exchange, 400, CODE_BAD_REQUEST,
                               "attribute is given too often; the limit is %d",
                               SEARCH_ATTRIBUTES_MAX);
            return false;
        }
        if (text.size > SEARCH_ATTRIBUTE_BYTES_MAX) {
            http_respond_error(exchange, 400, CODE_BAD_REQUEST,
                               "attribute is %u bytes; the limit is %d", text.size,
                               SEARCH_ATTRIBUTE_BYTES_MAX);
            return false;
        }
        if (given[0] == '=' || memchr(given, '=', text.size) == NULL) {
            http_respond_error(exchange, 400, CODE_BAD_REQUEST, "attribute: expected NAME=VALUE");
            return false;
        }
        search->attributes[search->attribute_count++] = text;
    }
    return true;
}

static bool read_range(struct http_exchange *exchange, struct search *search)
{
    if (!http_query_time(exchange, "since", &search->has_since, &search->since) ||
        !http_query_time(exchange, "until", &search->has_until, &search->until))
        return false;
    if (!search->has_since || !search->has_until || search->since < search->until)
        return true;
    http_respond_error(exchange, 400, CODE_BAD_REQUEST, "since: expected a time before until");
    return false;
}

static bool read_workflow(struct http_exchange *exchange, struct search *search)
{
    int64_t version;
    if (!http_query_text(exchange, "workflow", BODY_NAME_BYTES_MAX, &search->workflow) ||
        !http_query_int(exchange, "workflow_version", 0, 1, INT32_MAX, &version))
        return false;
    search->workflow_version = (uint32_t)version;
    if (version == 0 || !text_empty(search->workflow))
        return true;
    http_respond_error(exchange, 400, CODE_BAD_REQUEST,
                       "workflow_version: expected with the workflow, which has versions of its "
                       "own");
    return false;
}

static bool read_alert(struct http_exchange *exchange, struct search *search)
{
    struct text alert;
    if (!http_query_text(exchange, "alert", NAME_BYTES_MAX, &alert))
        return false;
    search->alert_open = text_equal(alert, TEXT("open"));
    if (text_empty(alert) || search->alert_open)
        return true;
    http_respond_error(exchange, 400, CODE_BAD_REQUEST, "alert: expected \"open\"");
    return false;
}

static bool starts_with(struct text text, struct text start)
{
    return text.size >= start.size && memcmp(text.data, start.data, start.size) == 0;
}

/* Those of one tree, or of one parent. */
static bool is_tree(struct text attribute)
{
    return starts_with(attribute, TEXT("reeve.root=")) ||
           starts_with(attribute, TEXT("reeve.parent="));
}

/* Sub-orders are shown where a filter matches none but them, or `all` asks for them; and those that
 * wait, for a person who is to answer has to find them wherever the step stands. */
static bool read_kinds(struct http_exchange *exchange, struct search *search)
{
    int64_t all = 0;
    bool waits = !text_empty(search->waiting_for) || !text_empty(search->group);
    bool suborders = workflow_name_is_body(search->workflow);
    if (!http_query_int(exchange, "all", 0, 0, 1, &all))
        return false;
    for (uint32_t i = 0; i < search->attribute_count; i++)
        suborders = suborders || is_tree(search->attributes[i]);
    if (!text_empty(search->id_prefix))
        suborders =
            suborders || memchr(search->id_prefix.data, '~', search->id_prefix.size) != NULL;
    search->without[SEARCH_ROOTS] = suborders;
    search->without[SEARCH_SUBORDERS] = !suborders && !waits && all == 0;
    return true;
}

/* All filters, which borrow from the exchange. False: it was answered with 400. */
static bool read_filters(struct http_exchange *exchange, struct search *search)
{
    int64_t paused = 0;
    uint32_t state = 0;
    if (!http_query_enum(exchange, "state", &order_state_names, &search->has_state, &state) ||
        !http_query_text(exchange, "step", NAME_BYTES_MAX, &search->step) ||
        !http_query_text(exchange, "waiting_for", NAME_BYTES_MAX, &search->waiting_for) ||
        !http_query_text(exchange, "group", NAME_BYTES_MAX, &search->group) ||
        !http_query_text(exchange, "error", ERROR_NAME_BYTES_MAX, &search->error) ||
        !read_workflow(exchange, search) ||
        !http_query_text(exchange, "customer", CUSTOMER_BYTES_MAX, &search->customer) ||
        !http_query_text(exchange, "id_prefix", ORDER_ID_BYTES_MAX, &search->id_prefix) ||
        !http_query_int(exchange, "paused", 0, 0, 1, &paused) ||
        !read_attributes(exchange, search) || !read_range(exchange, search) ||
        !read_kinds(exchange, search))
        return false;
    search->state = (enum order_state)state;
    search->paused = paused == 1;
    return read_alert(exchange, search);
}

/* ---- answers ---- */

/* One order of the list; an order that is no longer readable is left out: its partition is not
 * current. */
static void add_hit(struct api *api, json_t *list, const struct search_hit *hit,
                    json_t *(*render)(const struct order *order, int32_t partition))
{
    struct error error;
    const struct order *order = NULL;
    struct view *view = console_partition_view(hit->partition);
    heap_arena_reset(&api->scratch);
    enum error_class class =
        view_read_order(view, search_cursor_id(&hit->at), &api->scratch.arena, &order, &error);
    if (class != ERROR_OK)
        console_partition_damaged(hit->partition, &error);
    else if (order != NULL)
        json_array_append_new(list, render(order, console_partition_number(hit->partition)));
}

void search_api_put_page(struct api *api, const struct search *search, json_t *body,
                         const char *name,
                         json_t *(*render)(const struct order *order, int32_t partition))
{
    char cursor[SEARCH_CURSOR_SIZE];
    struct search_page page;
    json_t *list = json_array();
    search_run(api->partitions, api->partition_count, search, &page);
    for (uint32_t i = 0; i < page.count; i++)
        add_hit(api, list, &page.hits[i], render);
    json_codec_put(body, name, list);
    json_codec_put(body, "sorted_by", json_string(search_sort_name(page.sort)));
    if (page.has_next)
        search_cursor_encode(&page.next, cursor);
    json_codec_put(body, "next", page.has_next ? json_string(cursor) : json_null());
    api_put_incomplete(api, body);
    search_page_deinit(&page);
}

void search_api_serve_list(struct api *api, struct http_exchange *exchange)
{
    struct search search = {.clock = api->cluster->service->clock};
    if (!read_filters(exchange, &search) || !search_api_read_page(exchange, &search))
        return;
    json_t *body = json_object();
    search_api_put_page(api, &search, body, "orders", order_json_summary);
    owners_put_waiting(api->owners, body);
    owners_respond(api->owners, exchange, body);
}

static bool read_by(struct http_exchange *exchange, bool *ret_by_state)
{
    const char *text = http_query(exchange, "by");
    *ret_by_state = text != NULL && strcmp(text, "state") == 0;
    if (*ret_by_state || text == NULL || text[0] == '\0')
        return true;
    http_respond_error(exchange, 400, CODE_BAD_REQUEST, "by: expected \"state\"");
    return false;
}

static void put_number(json_t *object, struct search_number number)
{
    json_codec_put(object, "orders", json_integer((json_int_t)number.orders));
    json_codec_put(object, "exact", json_boolean(number.exact));
}

static void put_by_state(json_t *body, const struct search_numbers *numbers)
{
    json_t *by_state = json_object();
    for (int state = 0; state < ORDER_STATE_COUNT; state++) {
        json_t *object = json_object();
        put_number(object, numbers->by_state[state]);
        json_codec_put(by_state, order_state_name((enum order_state)state), object);
    }
    json_codec_put(body, "by_state", by_state);
}

void search_api_serve_count(struct api *api, struct http_exchange *exchange)
{
    bool by_state = false;
    struct search search = {.clock = api->cluster->service->clock};
    struct search_numbers numbers;
    if (!read_filters(exchange, &search) || !read_by(exchange, &by_state))
        return;
    json_t *body = json_object();
    if (by_state)
        search_count_states(api->partitions, api->partition_count, &search, &numbers);
    else
        numbers.all.orders =
            search_count(api->partitions, api->partition_count, &search, &numbers.all.exact);
    put_number(body, numbers.all);
    if (by_state)
        put_by_state(body, &numbers);
    api_put_incomplete(api, body);
    owners_respond(api->owners, exchange, body);
}
