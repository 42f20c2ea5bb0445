/* SPDX-License-Identifier: Apache-2.0 */
/* The API's routes and parameters. docs/reference/console-api.md is the users' reference. */
#include "services/console/console.h"
#include "services/console/render.h"
#include "services/console/search.h"

#include "base/numbers.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

enum {
    LIST_LIMIT = 50,
    REASON_SIZE = ERROR_MESSAGE_SIZE + 64,
    HISTORY_LIMIT = 1000,
    HISTORY_BYTES_MAX = 8 << 20 /* of Decisions in one answer */
};

static const char index_text[] =
    "reeve console\n"
    "\n"
    "GET  /api/orders                        orders, the latest change first\n"
    "       state= step= error= workflow= alert=open limit= cursor=\n"
    "GET  /api/orders/{id}                   one order with all its fields\n"
    "GET  /api/orders/{id}/history           what was decided about it, from the log\n"
    "       limit= after=\n"
    "POST /api/orders/{id}/cancel            {\"by\", \"reason\"}\n"
    "POST /api/orders/{id}/compensate        {\"by\", \"reason\"}\n"
    "POST /api/orders/{id}/resubmit          {\"by\", \"reason\", \"step\"}\n"
    "GET  /api/counts                        how many orders, by state and workflow\n"
    "GET  /api/alerts                        what needs an operator\n"
    "       open=1 limit= cursor=\n"
    "GET  /api/owners                        the owner of each partition\n"
    "GET  /api/agents                        running agents and their health\n"
    "       agent=\n"
    "GET  /api/workflows                     what is deployed\n"
    "GET  /api/watch                         changes as they happen (waits for up to 25 s)\n"
    "       after= order= state= workflow=\n"
    "\n"
    "GET  /livez /readyz /metrics /stores\n"
    "\n"
    "Order ids in paths are percent-encoded. Times are milliseconds since the epoch.\n";

static void serve_index(struct http_exchange *exchange, void *userdata)
{
    (void)userdata;
    http_respond(exchange, 200, "text/plain; charset=utf-8", text_of(index_text));
}

/* ---- parameters: each function answers 400 and returns false if its value is wrong ---- */

/* The query's `state`, in any case; *ret_given: it is there and not empty. */
static bool read_state(struct http_exchange *exchange, bool *ret_given, enum order_state *ret_state)
{
    char list[128];
    const char *text = http_query(exchange, "state");
    if (text == NULL || text[0] == '\0') {
        *ret_given = false;
        return true;
    }
    for (int state = 0; state < ORDER_STATE_COUNT; state++) {
        if (strcasecmp(order_state_name((enum order_state)state), text) == 0) {
            *ret_given = true;
            *ret_state = (enum order_state)state;
            return true;
        }
    }
    enum_names_list(&order_state_names, list, sizeof(list));
    http_respond_error(exchange, 400, "BadRequest", "state: expected %s", list);
    return false;
}

/* The query's `name`, an integer; `fallback` if it is not given. */
static bool read_int(struct http_exchange *exchange, const char *name, int64_t fallback,
                     int64_t min, int64_t max, int64_t *ret_value)
{
    int64_t value = fallback;
    const char *text = http_query(exchange, name);
    if (text != NULL && !number_parse(text_of(text), min, max, &value)) {
        http_respond_error(exchange, 400, "BadRequest", "%s: expected an integer from %lld to %lld",
                           name, (long long)min, (long long)max);
        return false;
    }
    *ret_value = value;
    return true;
}

/* The query's `name`; empty if it is not given. Borrowed from the exchange. */
static bool read_text(struct http_exchange *exchange, const char *name, uint32_t max,
                      struct text *ret_text)
{
    struct text text = text_of(http_query(exchange, name));
    if (text.size > max) {
        http_respond_error(exchange, 400, "BadRequest", "%s is %u bytes; the limit is %u", name,
                           text.size, max);
        return false;
    }
    *ret_text = text;
    return true;
}

/* The {id} of the path. Borrowed from the exchange. */
static bool read_order_id(struct http_exchange *exchange, struct text *ret_order_id)
{
    struct error error;
    struct text order_id = text_of(http_param(exchange, "id"));
    if (order_id_validate(order_id, &error) != ERROR_OK) {
        http_respond_error(exchange, 400, "BadRequest", "%s", error.message);
        return false;
    }
    *ret_order_id = order_id;
    return true;
}

/* ---- incomplete answers ---- */

/* body.incomplete: the partitions whose orders may be missing; left out if there are none. */
static void put_incomplete(struct console *console, json_t *body)
{
    char reason[REASON_SIZE];
    json_t *list = NULL;
    for (int32_t i = 0; i < console->partition_count; i++) {
        if (console_partition_is_current(console->partitions[i], reason, sizeof(reason)))
            continue;
        if (list == NULL)
            list = json_array();
        json_t *object = json_object();
        render_put(object, "partition", json_integer(i));
        render_put(object, "reason", json_codec_text(text_of(reason)));
        json_array_append_new(list, object);
    }
    if (list != NULL)
        render_put(body, "incomplete", list);
}

static struct console_partition *partition_of(struct console *console, struct text order_id)
{
    return console->partitions[broker_partition_of(order_id, console->partition_count)];
}

static void respond_damaged(struct http_exchange *exchange, struct console_partition *partition)
{
    http_respond_error(exchange, 503, "NotReady",
                       "partition %d is being read again from the log; try again later",
                       console_partition_number(partition));
}

/* 404, if that is certain. */
static void respond_missing(struct http_exchange *exchange, struct console_partition *partition,
                            struct text order_id)
{
    char reason[REASON_SIZE];
    if (console_partition_is_current(partition, reason, sizeof(reason)))
        http_respond_error(exchange, 404, "UnknownOrder", "order %.*s does not exist",
                           TEXT_ARG(order_id));
    else
        http_respond_error(exchange, 503, "NotReady", "%s", reason);
}

/* The order, or NULL after the exchange was answered. Borrowed until the next lookup. */
static const struct order *find_order(struct http_exchange *exchange,
                                      struct console_partition *partition, struct text order_id)
{
    struct error error;
    const struct order *order = NULL;
    if (view_order(console_partition_view(partition), order_id, &order, &error) != ERROR_OK) {
        console_partition_damaged(partition, &error);
        respond_damaged(exchange, partition);
        return NULL;
    }
    if (order == NULL)
        respond_missing(exchange, partition, order_id);
    return order;
}

/* ---- lists ---- */

static bool read_page(struct http_exchange *exchange, struct search *search)
{
    int64_t limit;
    const char *cursor = http_query(exchange, "cursor");
    if (!read_int(exchange, "limit", LIST_LIMIT, 1, SEARCH_PAGE_MAX, &limit))
        return false;
    search->limit = (uint32_t)limit;
    search->has_after = cursor != NULL && cursor[0] != '\0';
    if (!search->has_after || search_cursor_decode(text_of(cursor), &search->after))
        return true;
    http_respond_error(exchange, 400, "BadRequest",
                       "cursor: expected the cursor of an earlier answer");
    return false;
}

static bool read_search(struct http_exchange *exchange, struct search *search)
{
    struct text alert;
    if (!read_state(exchange, &search->has_state, &search->state) ||
        !read_text(exchange, "step", NAME_BYTES_MAX, &search->step) ||
        !read_text(exchange, "error", ERROR_NAME_BYTES_MAX, &search->error) ||
        !read_text(exchange, "workflow", NAME_BYTES_MAX, &search->workflow) ||
        !read_text(exchange, "alert", NAME_BYTES_MAX, &alert) || !read_page(exchange, search))
        return false;
    search->alert_open = text_equal(alert, TEXT("open"));
    if (text_empty(alert) || search->alert_open)
        return true;
    http_respond_error(exchange, 400, "BadRequest", "alert: expected \"open\"");
    return false;
}

/* One order of the list; an order that is no longer readable is left out: its partition is not
 * current. */
static void add_hit(json_t *list, const struct search_hit *hit,
                    json_t *(*render)(const struct order *order, int32_t partition))
{
    struct error error;
    const struct order *order = NULL;
    struct view *view = console_partition_view(hit->partition);
    enum error_class class = view_order(view, search_cursor_id(&hit->at), &order, &error);
    if (class != ERROR_OK)
        console_partition_damaged(hit->partition, &error);
    else if (order != NULL)
        json_array_append_new(list, render(order, console_partition_number(hit->partition)));
}

/* body[name] = the orders; body.next = the cursor, or null. */
static void put_page(struct console *console, const struct search *search, json_t *body,
                     const char *name,
                     json_t *(*render)(const struct order *order, int32_t partition))
{
    char cursor[SEARCH_CURSOR_SIZE];
    struct search_page page;
    json_t *list = json_array();
    search_run(console->partitions, console->partition_count, search, &page);
    for (uint32_t i = 0; i < page.count; i++)
        add_hit(list, &page.hits[i], render);
    for (int32_t i = 0; i < console->partition_count; i++)
        view_tidy(console_partition_view(console->partitions[i]));
    render_put(body, name, list);
    if (page.has_next)
        search_cursor_encode(&page.next, cursor);
    render_put(body, "next", page.has_next ? json_string(cursor) : json_null());
    put_incomplete(console, body);
    search_page_deinit(&page);
}

static void serve_orders(struct http_exchange *exchange, void *userdata)
{
    struct console *console = userdata;
    struct search search = {.limit = LIST_LIMIT};
    if (!console_is_open(console, exchange) || !read_search(exchange, &search))
        return;
    json_t *body = json_object();
    put_page(console, &search, body, "orders", render_order_summary);
    respond_json(exchange, 200, body);
}

static void serve_alerts(struct http_exchange *exchange, void *userdata)
{
    struct console *console = userdata;
    struct search search = {.alert_open = true};
    int64_t open = 0;
    if (!console_is_open(console, exchange) || !read_int(exchange, "open", 0, 0, 1, &open) ||
        !read_page(exchange, &search))
        return;
    json_t *body = json_object();
    put_page(console, &search, body, "orders", render_order_alert);
    render_put(body, "partitions", alerts_render(console->alerts, open == 1));
    respond_json(exchange, 200, body);
}

/* ---- one order ---- */

static void serve_order(struct http_exchange *exchange, void *userdata)
{
    struct console *console = userdata;
    struct text order_id;
    if (!console_is_open(console, exchange) || !read_order_id(exchange, &order_id))
        return;
    struct console_partition *partition = partition_of(console, order_id);
    const struct order *order = find_order(exchange, partition, order_id);
    if (order == NULL)
        return;
    json_t *body = render_order(order, console_partition_number(partition));
    view_tidy(console_partition_view(partition));
    respond_json(exchange, 200, body);
}

struct history {
    struct console *console;
    struct console_partition *partition;
    json_t *entries;
    uint32_t limit;
    size_t bytes;
    bool more;
    int64_t last; /* offset of the last entry */
    struct error error;
};

static bool visit_decision(void *ctx, int64_t offset, struct text value)
{
    struct history *history = ctx;
    struct console *console = history->console;
    struct record record;
    history->more =
        json_array_size(history->entries) == history->limit || history->bytes >= HISTORY_BYTES_MAX;
    if (history->more)
        return false;
    heap_arena_reset(&console->scratch);
    if (codec_decode(console->cluster->codec, value, true, &console->scratch.arena, &record,
                     &history->error) != ERROR_OK)
        return false;
    assert(record.kind == RECORD_DECISION);
    json_array_append_new(history->entries,
                          render_decision(&record.decision,
                                          console_partition_number(history->partition), offset,
                                          &console->scratch.arena));
    history->bytes += value.size;
    history->last = offset;
    return true;
}

/* Empty histories are those of unknown orders: even a refused submission has an entry. */
static void respond_history(struct http_exchange *exchange, struct history *history,
                            struct text order_id, int64_t after)
{
    if (error_is(&history->error)) { /* its checksum is right: a schema is missing */
        http_respond_error(exchange, 500, "UndecodableHistory", "%s", history->error.message);
        json_decref(history->entries);
        return;
    }
    if (json_array_size(history->entries) == 0 && after < 0) {
        respond_missing(exchange, history->partition, order_id);
        json_decref(history->entries);
        return;
    }
    json_t *body = json_object();
    render_put(body, "order_id", json_codec_text(order_id));
    render_put(body, "partition", json_integer(console_partition_number(history->partition)));
    render_put(body, "entries", history->entries);
    render_put(body, "next", history->more ? json_integer(history->last) : json_null());
    respond_json(exchange, 200, body);
}

static void serve_history(struct http_exchange *exchange, void *userdata)
{
    struct console *console = userdata;
    struct text order_id;
    int64_t limit;
    int64_t after;
    struct error error = {0};
    int64_t limit_max = console->history_max;
    if (!console_is_open(console, exchange) || !read_order_id(exchange, &order_id) ||
        !read_int(exchange, "limit", limit_max < HISTORY_LIMIT ? limit_max : HISTORY_LIMIT, 1,
                  limit_max, &limit) ||
        !read_int(exchange, "after", -1, -1, INT64_MAX - 1, &after))
        return;
    struct console_partition *partition = partition_of(console, order_id);
    struct history history = {.console = console,
                              .partition = partition,
                              .limit = (uint32_t)limit,
                              .entries = json_array()};
    bool settled = console_partition_settle(partition);
    if (settled && store_scan_history(view_store(console_partition_view(partition)), order_id,
                                      after + 1, visit_decision, &history, &error) == ERROR_OK) {
        respond_history(exchange, &history, order_id, after);
        return;
    }
    if (settled)
        console_partition_damaged(partition, &error);
    json_decref(history.entries);
    respond_damaged(exchange, partition);
}

/* ---- the rest ---- */

static void serve_counts(struct http_exchange *exchange, void *userdata)
{
    struct console *console = userdata;
    if (!console_is_open(console, exchange))
        return;
    struct order_counts sum = {0};
    uint64_t orders = 0;
    for (int32_t i = 0; i < console->partition_count; i++)
        order_counts_merge(&sum, console_partition_counts(console->partitions[i]));
    json_t *body = json_object();
    json_t *workflows = json_object();
    for (uint32_t i = 0; i < sum.row_count; i++)
        render_put(workflows, sum.rows[i].workflow, render_by_state(sum.rows[i].by_state));
    for (int state = 0; state < ORDER_STATE_COUNT; state++)
        orders += sum.by_state[state];
    render_put(body, "orders", json_integer((json_int_t)orders));
    render_put(body, "by_state", render_by_state(sum.by_state));
    render_put(body, "by_workflow", workflows);
    put_incomplete(console, body);
    order_counts_deinit(&sum);
    respond_json(exchange, 200, body);
}

static void serve_workflows(struct http_exchange *exchange, void *userdata)
{
    struct console *console = userdata;
    if (!console_is_open(console, exchange))
        return;
    json_t *body = json_object();
    json_t *list = json_array();
    const struct workflow_registry *registry = console->cluster->workflows;
    for (uint32_t i = 0; i < workflow_registry_count(registry); i++)
        json_array_append_new(list, render_workflow(workflow_registry_at(registry, i)));
    render_put(body, "workflows", list);
    respond_json(exchange, 200, body);
}

static void serve_owners(struct http_exchange *exchange, void *userdata)
{
    struct console *console = userdata;
    if (console_is_open(console, exchange))
        owners_serve(console->owners, exchange);
}

static void serve_agents(struct http_exchange *exchange, void *userdata)
{
    struct console *console = userdata;
    struct text agent;
    if (!console_is_open(console, exchange) ||
        !read_text(exchange, "agent", NAME_BYTES_MAX, &agent))
        return;
    json_t *body = json_object();
    render_put(body, "agents", render_agents(console->agents, agent));
    render_put(body, "complete", json_boolean(agent_table_is_complete(console->agents)));
    respond_json(exchange, 200, body);
}

static void serve_watch(struct http_exchange *exchange, void *userdata)
{
    struct console *console = userdata;
    struct changes_filter filter = {.order_id = http_query(exchange, "order"),
                                    .workflow = http_query(exchange, "workflow")};
    if (console_is_open(console, exchange) &&
        read_state(exchange, &filter.has_state, &filter.state))
        changes_serve(console->changes, &filter, exchange);
}

static void serve_command(struct console *console, enum command_kind kind,
                          struct http_exchange *exchange)
{
    struct text order_id;
    if (console_is_open(console, exchange) && read_order_id(exchange, &order_id))
        operator_commands_serve(console->commands, kind, order_id, exchange);
}

static void serve_cancel(struct http_exchange *exchange, void *userdata)
{
    serve_command(userdata, COMMAND_CANCEL_ORDER, exchange);
}

static void serve_compensate(struct http_exchange *exchange, void *userdata)
{
    serve_command(userdata, COMMAND_COMPENSATE_ORDER, exchange);
}

static void serve_resubmit(struct http_exchange *exchange, void *userdata)
{
    serve_command(userdata, COMMAND_RESUBMIT_STEP, exchange);
}

void console_add_routes(struct console *console)
{
    static const struct {
        const char *method;
        const char *pattern;
        http_handler handler;
    } routes[] = {
        {"GET", "/", serve_index},
        {"GET", "/api/orders", serve_orders},
        {"GET", "/api/orders/{id}", serve_order},
        {"GET", "/api/orders/{id}/history", serve_history},
        {"POST", "/api/orders/{id}/cancel", serve_cancel},
        {"POST", "/api/orders/{id}/compensate", serve_compensate},
        {"POST", "/api/orders/{id}/resubmit", serve_resubmit},
        {"GET", "/api/counts", serve_counts},
        {"GET", "/api/alerts", serve_alerts},
        {"GET", "/api/owners", serve_owners},
        {"GET", "/api/agents", serve_agents},
        {"GET", "/api/workflows", serve_workflows},
        {"GET", "/api/watch", serve_watch},
    };
    for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++)
        http_server_route(console->service->http, routes[i].method, routes[i].pattern,
                          OPERATOR_COMMAND_BODY_MAX, routes[i].handler, console);
}
