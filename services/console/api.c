/* SPDX-License-Identifier: Apache-2.0 */
/* The API's questions. docs/reference/console-api.md is the users' reference. */
#include "services/console/agents.h"
#include "services/console/console.h"
#include "services/console/params.h"
#include "services/console/render.h"
#include "services/console/search.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

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
    "GET  /api/orders/{id}                   one order, all of it\n"
    "GET  /api/orders/{id}/history           what was decided about it, from the log\n"
    "       limit= after=\n"
    "POST /api/orders/{id}/cancel            {\"by\", \"reason\"}\n"
    "POST /api/orders/{id}/compensate        {\"by\", \"reason\"}\n"
    "POST /api/orders/{id}/resubmit          {\"by\", \"reason\", \"step\"}\n"
    "GET  /api/counts                        how many orders, by state and workflow\n"
    "GET  /api/alerts                        what waits for an operator\n"
    "       open=1 limit= cursor=\n"
    "GET  /api/owners                        who owns each partition\n"
    "GET  /api/agents                        agents that live, and how they are doing\n"
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

/* ---- what is not known just now ---- */

/* Partitions whose orders an answer may lack, if there are any. */
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
                       "partition %d is being folded again: try again later",
                       console_partition_number(partition));
}

/* 404, if that is certain. */
static void respond_missing(struct http_exchange *exchange, struct console_partition *partition,
                            struct text order_id)
{
    char reason[REASON_SIZE];
    if (console_partition_is_current(partition, reason, sizeof(reason)))
        http_respond_error(exchange, 404, "UnknownOrder", "there is no order %.*s",
                           TEXT_ARG(order_id));
    else
        http_respond_error(exchange, 503, "NotReady", "%s", reason);
}

/* The order, or NULL after the exchange was answered. Borrowed until the next look-up. */
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
    if (!params_int(exchange, "limit", LIST_LIMIT, 1, SEARCH_PAGE_MAX, &limit))
        return false;
    search->limit = (uint32_t)limit;
    search->has_after = cursor != NULL && cursor[0] != '\0';
    if (!search->has_after || cursor_decode(text_of(cursor), &search->after))
        return true;
    http_respond_error(exchange, 400, "BadRequest", "cursor: expected one of an earlier answer");
    return false;
}

static bool read_search(struct http_exchange *exchange, struct search *search)
{
    struct text alert;
    const char *state = http_query(exchange, "state");
    search->has_state = state != NULL && state[0] != '\0';
    if ((search->has_state && !params_state(exchange, state, &search->state)) ||
        !params_text(exchange, "step", NAME_BYTES_MAX, &search->step) ||
        !params_text(exchange, "error", ERROR_NAME_BYTES_MAX, &search->error) ||
        !params_text(exchange, "workflow", NAME_BYTES_MAX, &search->workflow) ||
        !params_text(exchange, "alert", NAME_BYTES_MAX, &alert) || !read_page(exchange, search))
        return false;
    search->alert_open = text_equal(alert, TEXT("open"));
    if (text_empty(alert) || search->alert_open)
        return true;
    http_respond_error(exchange, 400, "BadRequest", "alert: only \"open\" is known");
    return false;
}

/* One order of the list; those that were found a moment ago and are not readable any more are left
 * out: their partition is not current. */
static void add_hit(json_t *list, const struct search_hit *hit,
                    json_t *(*render)(const struct order *order, int32_t partition))
{
    struct error error;
    const struct order *order = NULL;
    struct view *view = console_partition_view(hit->partition);
    enum error_class class = view_order(view, cursor_id(&hit->at), &order, &error);
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
    char cursor[CURSOR_TEXT_SIZE];
    struct search_page page;
    json_t *list = json_array();
    search_run(console->partitions, console->partition_count, search, &page);
    for (uint32_t i = 0; i < page.count; i++)
        add_hit(list, &page.hits[i], render);
    for (int32_t i = 0; i < console->partition_count; i++)
        view_tidy(console_partition_view(console->partitions[i]));
    render_put(body, name, list);
    if (page.has_next)
        cursor_encode(&page.next, cursor);
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
    if (!console_is_open(console, exchange) || !params_int(exchange, "open", 0, 0, 1, &open) ||
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
    if (!console_is_open(console, exchange) || !params_order_id(exchange, &order_id))
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
    if (error_is(&history->error)) { /* its hash is right: a schema that is gone */
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
    if (!console_is_open(console, exchange) || !params_order_id(exchange, &order_id) ||
        !params_int(exchange, "limit", limit_max < HISTORY_LIMIT ? limit_max : HISTORY_LIMIT, 1,
                    limit_max, &limit) ||
        !params_int(exchange, "after", -1, -1, INT64_MAX - 1, &after))
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
    const struct counts_row *row;
    if (!console_is_open(console, exchange))
        return;
    struct counts *sum = counts_new();
    uint64_t orders = 0;
    for (int32_t i = 0; i < console->partition_count; i++)
        counts_merge(sum, console_partition_counts(console->partitions[i]));
    json_t *body = json_object();
    json_t *workflows = json_object();
    for (uint32_t i = 0; (row = counts_at(sum, i)) != NULL; i++)
        render_put(workflows, row->workflow, render_by_state(row->by_state));
    for (int state = 0; state < ORDER_STATE_COUNT; state++)
        orders += counts_by_state(sum)[state];
    render_put(body, "orders", json_integer((json_int_t)orders));
    render_put(body, "by_state", render_by_state(counts_by_state(sum)));
    render_put(body, "by_workflow", workflows);
    put_incomplete(console, body);
    counts_free(sum);
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
        !params_text(exchange, "agent", NAME_BYTES_MAX, &agent))
        return;
    json_t *body = json_object();
    render_put(body, "agents", agents_render(console->agents, agent));
    render_put(body, "complete", json_boolean(agent_table_is_complete(console->agents)));
    respond_json(exchange, 200, body);
}

static void serve_watch(struct http_exchange *exchange, void *userdata)
{
    struct console *console = userdata;
    if (console_is_open(console, exchange))
        changes_serve(console->changes, exchange);
}

static void serve_cancel(struct http_exchange *exchange, void *userdata)
{
    struct console *console = userdata;
    if (console_is_open(console, exchange))
        operator_commands_serve(console->commands, COMMAND_CANCEL_ORDER, exchange);
}

static void serve_compensate(struct http_exchange *exchange, void *userdata)
{
    struct console *console = userdata;
    if (console_is_open(console, exchange))
        operator_commands_serve(console->commands, COMMAND_COMPENSATE_ORDER, exchange);
}

static void serve_resubmit(struct http_exchange *exchange, void *userdata)
{
    struct console *console = userdata;
    if (console_is_open(console, exchange))
        operator_commands_serve(console->commands, COMMAND_RESUBMIT_STEP, exchange);
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
