/* SPDX-License-Identifier: Apache-2.0 */
/* What handlers share, and the handlers that are short. docs/reference/console-api.md is the users'
 * reference. */
#include "services/console/api/api.h"
#include "services/console/api/search_api.h"
#include "services/console/render/render.h"

#include "platform/http/json_answer.h"
#include "platform/http/query.h"
#include "schemas/details.h"
#include "schemas/json/json_codec.h"
#include "schemas/json/order_json.h"

enum { REASON_SIZE = ERROR_MESSAGE_SIZE + 64 };

bool api_read_order_id(struct http_exchange *exchange, struct text *ret_order_id)
{
    struct error error;
    struct text order_id = text_of(http_param(exchange, "id"));
    if (order_id_validate(order_id, &error) != ERROR_OK) {
        http_respond_error(exchange, 400, CODE_BAD_REQUEST, "%s", error.message);
        return false;
    }
    *ret_order_id = order_id;
    return true;
}

/* ---- incomplete answers ---- */

void api_put_incomplete(struct api *api, json_t *body)
{
    char reason[REASON_SIZE];
    json_t *list = NULL;
    for (int32_t i = 0; i < api->partition_count; i++) {
        if (console_partition_is_current(api->partitions[i], reason, sizeof(reason)))
            continue;
        if (list == NULL)
            list = json_array();
        json_t *object = json_object();
        json_codec_put(object, "partition", json_integer(i));
        json_codec_put(object, "reason", json_codec_text(text_of(reason)));
        json_array_append_new(list, object);
    }
    if (list != NULL)
        json_codec_put(body, "incomplete", list);
}

struct console_partition *api_partition_of(struct api *api, struct text order_id)
{
    return api->partitions[broker_partition_of(order_id, api->partition_count)];
}

void api_respond_damaged(struct http_exchange *exchange, struct console_partition *partition)
{
    http_respond_error(exchange, 503, CODE_NOT_READY,
                       "partition %d is being read again from the log; try again later",
                       console_partition_number(partition));
}

/* Nothing is kept of an order that has expired. */
void api_respond_missing(struct http_exchange *exchange, struct api *api, struct text order_id)
{
    char reason[REASON_SIZE];
    struct console_partition *partition = api_partition_of(api, order_id);
    int32_t number = console_partition_number(partition);
    int64_t waiting = owners_undecided(api->owners, number);
    if (!console_partition_is_current(partition, reason, sizeof(reason)))
        http_respond_error(exchange, 503, CODE_NOT_READY, "%s", reason);
    else if (waiting > 0)
        http_respond_error(exchange, 404, CODE_UNKNOWN_ORDER,
                           "order %.*s is not known, but %lld command%s undecided in its partition "
                           "%d and may submit it: `reeve partition waiting %d` lists them",
                           TEXT_ARG(order_id), (long long)waiting,
                           waiting == 1 ? " waits" : "s wait", (int)number, (int)number);
    else
        http_respond_error(exchange, 404, CODE_UNKNOWN_ORDER,
                           "order %.*s does not exist: it was never accepted, or it has ended and "
                           "expired",
                           TEXT_ARG(order_id));
}

const struct order *api_find_order(struct http_exchange *exchange, struct api *api,
                                   struct text order_id)
{
    struct error error;
    const struct order *order = NULL;
    struct console_partition *partition = api_partition_of(api, order_id);
    if (view_order(console_partition_view(partition), order_id, &order, &error) != ERROR_OK) {
        console_partition_damaged(partition, &error);
        api_respond_damaged(exchange, partition);
        return NULL;
    }
    if (order == NULL)
        api_respond_missing(exchange, api, order_id);
    return order;
}

/* ---- lists ---- */

/* The place of the alert of the same tree that the list has already; its size: there is none. */
static size_t find_of_tree(const json_t *alerts, const char *root)
{
    size_t i;
    const json_t *alert;
    json_array_foreach(alerts, i, alert) {
        const char *other = json_string_value(json_object_get(alert, "tree"));
        if (other != NULL && strcmp(other, root) == 0)
            break;
    }
    return i;
}

/* Of a tree with many alerts, one is shown, the root's or the latest on the page; it counts the
 * others, which are sub-orders: a list of those of the tree has all of them. */
static json_t *one_of_each_tree(const json_t *alerts)
{
    size_t i;
    json_t *alert;
    json_t *list = json_array();
    json_array_foreach(alerts, i, alert) {
        const json_t *root = json_object_get(alert, "root");
        bool is_root = json_is_null(root);
        const char *tree = json_string_value(is_root ? json_object_get(alert, "order_id") : root);
        size_t place = find_of_tree(list, tree);
        json_t *shown = json_array_get(list, place);
        json_int_t others = json_integer_value(json_object_get(shown, "others")) + (shown != NULL);
        if (shown == NULL || is_root) {
            json_codec_put(alert, "tree", json_string(tree));
            shown = alert;
        }
        json_codec_put(shown, "others", json_integer(others));
        if (place == json_array_size(list))
            json_array_append(list, shown);
        else
            json_array_set(list, place, shown);
    }
    json_array_foreach(list, i, alert)
        json_object_del(alert, "tree");
    return list;
}

void serve_alerts(struct api *api, struct http_exchange *exchange)
{
    struct search search = {.alert_open = true, .clock = api->cluster->service->clock};
    int64_t open = 0;
    if (!http_query_int(exchange, "open", 0, 0, 1, &open) ||
        !search_api_read_page(exchange, &search))
        return;
    json_t *body = json_object();
    search_api_put_page(api, &search, body, "orders", render_order_alert);
    json_codec_put(body, "orders", one_of_each_tree(json_object_get(body, "orders")));
    json_codec_put(body, "partitions", alerts_render(api->alerts, open == 1));
    owners_respond(api->owners, exchange, body);
}

/* ---- one order ---- */

void serve_order(struct api *api, struct http_exchange *exchange)
{
    struct text order_id;
    if (!api_read_order_id(exchange, &order_id))
        return;
    struct console_partition *partition = api_partition_of(api, order_id);
    const struct order *order = api_find_order(exchange, api, order_id);
    if (order == NULL)
        return;
    json_t *body = order_json(order, console_partition_number(partition));
    view_tidy(console_partition_view(partition));
    owners_respond(api->owners, exchange, body);
}

/* ---- the rest ---- */

void serve_agents(struct api *api, struct http_exchange *exchange)
{
    struct text agent;
    if (!http_query_text(exchange, "agent", NAME_BYTES_MAX, &agent))
        return;
    json_t *body = json_object();
    json_codec_put(body, "agents", render_agents(api->agents, agent));
    json_codec_put(body, "pauses", render_agent_pauses(api->agents));
    /* An instance whose heartbeats cannot be heard may well be running. */
    json_codec_put(
        body, "complete",
        json_boolean(agent_table_is_complete(api->agents) && owners_data_age_ms(api->owners) == 0));
    owners_respond(api->owners, exchange, body);
}
