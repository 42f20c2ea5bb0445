/* SPDX-License-Identifier: Apache-2.0 */
/* The API's routes and parameters. docs/reference/console-api.md is the users' reference. */
#include "services/console/api/api.h"
#include "services/console/api/search_api.h"
#include "services/console/render/render.h"
#include "services/console/web/web.h"

#include "base/numbers.h"
#include "base/rfc3339.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

enum { REASON_SIZE = ERROR_MESSAGE_SIZE + 64 };

static const char index_text[] =
    "reeve console\n"
    "\n"
    "GET  /api/orders                        orders, page by page\n"
    "       state= step= error= workflow= workflow_version= customer=\n"
    "       attribute=NAME=VALUE id_prefix= since= until= alert=open paused=1\n"
    "       limit= cursor=\n"
    "GET  /api/orders/count                  how many, with the same filters\n"
    "       by=state                          and how many in each state\n"
    "GET  /api/orders/{id}                   one order with all its fields\n"
    "       wait=30s                          when it has ended\n"
    "GET  /api/orders/{id}/history           what was decided about it, from the log\n"
    "       limit= after=\n"
    "GET  /api/orders/{id}/at/{offset}       the order as it was after that Decision\n"
    "POST /api/orders/{id}/cancel            {\"by\", \"reason\"}\n"
    "POST /api/orders/{id}/compensate        {\"by\", \"reason\"}\n"
    "POST /api/orders/{id}/resubmit          {\"by\", \"reason\", \"step\", \"timeout_ms\",\n"
    "                                         \"new_generation\"}\n"
    "POST /api/orders/{id}/complete          {\"by\", \"reason\", \"step\", \"output\"}\n"
    "POST /api/orders/{id}/skip              {\"by\", \"reason\", \"step\",\n"
    "                                         \"nothing_applied\"}\n"
    "POST /api/orders/{id}/fail              {\"by\", \"reason\", \"step\", \"error_name\"}\n"
    "POST /api/orders/{id}/pause             {\"by\", \"reason\"}\n"
    "POST /api/orders/{id}/resume            {\"by\", \"reason\"}\n"
    "GET  /api/orders/{id}/migrate           whether it would be accepted\n"
    "       version= workflow= from_version=\n"
    "POST /api/orders/{id}/migrate           {\"by\", \"reason\", \"version\", \"workflow\",\n"
    "                                         \"from_version\"}\n"
    "GET  /api/overview                      rates, durations, steps in flight, errors\n"
    "GET  /api/counts                        how many orders, by state, workflow, version\n"
    "GET  /api/alerts                        what needs an operator\n"
    "       open=1 limit= cursor=\n"
    "GET  /api/dead-letters                  records that could not be handled\n"
    "       topic= code= since= until= all=1 limit= cursor=\n"
    "GET  /api/dead-letters/{partition}/{offset}    one of them; bytes=1\n"
    "POST /api/dead-letters/{partition}/{offset}/discard    {\"by\", \"reason\"}\n"
    "POST /api/dead-letters/{partition}/{offset}/replay     and \"value\" or \"json\"\n"
    "GET  /api/owners                        the owner of each partition\n"
    "GET  /api/partitions                    the same with claims and stores\n"
    "GET  /api/health                        checks and configuration of this console\n"
    "GET  /api/agents                        running agents and their health\n"
    "       agent=\n"
    "POST /api/agents/{name}/pause           {\"by\", \"reason\"}\n"
    "POST /api/agents/{name}/resume          {\"by\", \"reason\"}\n"
    "GET  /api/workflows                     what is deployed, its orders and lint\n"
    "POST /api/workflows                     {\"by\", \"source\", \"format\", \"activate\"}\n"
    "GET  /api/workflows/{name}/{version}    one version\n"
    "GET  /api/workflows/{name}/diff         what differs between two versions\n"
    "       left= right=\n"
    "POST /api/workflows/{name}/{version}/activate    {\"by\", \"reason\"}\n"
    "POST /api/workflows/{name}/{version}/retire      {\"by\", \"reason\"}\n"
    "POST /api/workflows/{name}/rollback              {\"by\", \"reason\"}\n"
    "GET  /api/workflows/{name}/{version}/graph\n"
    "       format=json|dot|text              the steps, as data or as a picture\n"
    "GET  /api/watch                         changes as they happen (waits for up to 25 s)\n"
    "       after= order= state= workflow=\n"
    "GET  /api/events                        the same as Server-Sent Events\n"
    "       after= order= state= workflow=\n"
    "\n"
    "GET  /                                  the pages, for browsers\n"
    "GET  /livez /readyz /metrics /about /stores\n"
    "GET  /api/openapi.yaml                  this API as an OpenAPI description\n"
    "\n"
    "Order ids in paths are percent-encoded. Times are as in RFC 3339.\n";

static void serve_index(struct http_exchange *exchange, void *userdata)
{
    (void)userdata;
    http_respond(exchange, 200, "text/plain; charset=utf-8", text_of(index_text));
}

/* ---- parameters: each function answers 400 and returns false if its value is wrong ---- */

bool api_read_state(struct http_exchange *exchange, bool *ret_given, enum order_state *ret_state)
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
    http_respond_error(exchange, 400, CODE_BAD_REQUEST, "state: expected %s", list);
    return false;
}

bool api_read_int(struct http_exchange *exchange, const char *name, int64_t fallback, int64_t min,
                  int64_t max, int64_t *ret_value)
{
    int64_t value = fallback;
    const char *text = http_query(exchange, name);
    if (text != NULL && !number_parse(text_of(text), min, max, &value)) {
        http_respond_error(exchange, 400, CODE_BAD_REQUEST,
                           "%s: expected an integer from %lld to %lld", name, (long long)min,
                           (long long)max);
        return false;
    }
    *ret_value = value;
    return true;
}

bool api_read_time(struct http_exchange *exchange, const char *name, bool *ret_given,
                   int64_t *ret_time)
{
    int64_t time = 0;
    struct text text = text_of(http_query(exchange, name));
    if (!text_empty(text) && (!rfc3339_parse(text, &time) || time < 0)) {
        http_respond_error(exchange, 400, CODE_BAD_REQUEST,
                           "%s: expected a time from 1970 on, as 2010-12-01T08:26:00Z", name);
        return false;
    }
    *ret_given = !text_empty(text);
    *ret_time = time;
    return true;
}

bool api_read_text(struct http_exchange *exchange, const char *name, uint32_t max,
                   struct text *ret_text)
{
    struct text text = text_of(http_query(exchange, name));
    if (text.size > max) {
        http_respond_error(exchange, 400, CODE_BAD_REQUEST, "%s is %u bytes; the limit is %u", name,
                           text.size, max);
        return false;
    }
    *ret_text = text;
    return true;
}

/* The {id} of the path. Borrowed from the exchange. */
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

void api_put_incomplete(struct console *console, json_t *body)
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

struct console_partition *api_partition_of(struct console *console, struct text order_id)
{
    return console->partitions[broker_partition_of(order_id, console->partition_count)];
}

void api_respond_damaged(struct http_exchange *exchange, struct console_partition *partition)
{
    http_respond_error(exchange, 503, CODE_NOT_READY,
                       "partition %d is being read again from the log; try again later",
                       console_partition_number(partition));
}

/* Nothing is kept of an order that has expired. */
void api_respond_missing(struct http_exchange *exchange, struct console *console,
                         struct text order_id)
{
    char reason[REASON_SIZE];
    struct console_partition *partition = api_partition_of(console, order_id);
    int32_t number = console_partition_number(partition);
    int64_t waiting = owners_undecided(console->owners, number);
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

const struct order *api_find_order(struct http_exchange *exchange, struct console *console,
                                   struct text order_id)
{
    struct error error;
    const struct order *order = NULL;
    struct console_partition *partition = api_partition_of(console, order_id);
    if (view_order(console_partition_view(partition), order_id, &order, &error) != ERROR_OK) {
        console_partition_damaged(partition, &error);
        api_respond_damaged(exchange, partition);
        return NULL;
    }
    if (order == NULL)
        api_respond_missing(exchange, console, order_id);
    return order;
}

/* ---- lists ---- */

static void serve_alerts(struct http_exchange *exchange, void *userdata)
{
    struct console *console = userdata;
    struct search search = {.alert_open = true, .clock = console->service->clock};
    int64_t open = 0;
    if (!console_is_open(console, exchange) || !api_read_int(exchange, "open", 0, 0, 1, &open) ||
        !search_api_read_page(exchange, &search))
        return;
    json_t *body = json_object();
    search_api_put_page(console, &search, body, "orders", render_order_alert);
    render_put(body, "partitions", alerts_render(console->alerts, open == 1));
    owners_respond(console->owners, exchange, body);
}

/* ---- one order ---- */

void console_answer_order(void *ctx, struct http_exchange *exchange)
{
    struct console *console = ctx;
    struct text order_id = text_of(http_param(exchange, "id"));
    struct console_partition *partition = api_partition_of(console, order_id);
    const struct order *order = api_find_order(exchange, console, order_id);
    if (order == NULL)
        return;
    json_t *body = render_order(order, console_partition_number(partition));
    view_tidy(console_partition_view(partition));
    owners_respond(console->owners, exchange, body);
}

static bool has_ended(struct console *console, struct text order_id)
{
    struct view *view = console_partition_view(api_partition_of(console, order_id));
    const struct order *order = NULL;
    struct error error;
    bool ended = view_order(view, order_id, &order, &error) == ERROR_OK && order != NULL &&
                 order_ended(order);
    view_tidy(view);
    return ended;
}

static bool read_wait(struct http_exchange *exchange, int64_t *ret_wait_ms)
{
    const char *text = http_query(exchange, "wait");
    *ret_wait_ms = 0;
    if (text == NULL || (number_parse_duration(text_of(text), ret_wait_ms) && *ret_wait_ms >= 0 &&
                         *ret_wait_ms <= ORDER_WAIT_MS_MAX))
        return true;
    http_respond_error(exchange, 400, CODE_BAD_REQUEST,
                       "wait: expected a time of up to %ds, as in 30s", ORDER_WAIT_MS_MAX / 1000);
    return false;
}

static void serve_order(struct http_exchange *exchange, void *userdata)
{
    struct console *console = userdata;
    struct text order_id;
    int64_t wait_ms = 0;
    if (!console_is_open(console, exchange) || !api_read_order_id(exchange, &order_id) ||
        !read_wait(exchange, &wait_ms))
        return;
    if (wait_ms > 0 && !has_ended(console, order_id))
        order_waits_add(console->order_waits, exchange, order_id, wait_ms);
    else
        console_answer_order(console, exchange);
}

/* ---- the rest ---- */

static void serve_owners(struct http_exchange *exchange, void *userdata)
{
    struct console *console = userdata;
    if (console_is_open(console, exchange))
        owners_serve(console->owners, false, exchange);
}

static void serve_partitions(struct http_exchange *exchange, void *userdata)
{
    struct console *console = userdata;
    if (console_is_open(console, exchange))
        owners_serve(console->owners, true, exchange);
}

static void serve_agents(struct http_exchange *exchange, void *userdata)
{
    struct console *console = userdata;
    struct text agent;
    if (!console_is_open(console, exchange) ||
        !api_read_text(exchange, "agent", NAME_BYTES_MAX, &agent))
        return;
    json_t *body = json_object();
    render_put(body, "agents", render_agents(console->agents, agent));
    render_put(body, "pauses", render_agent_pauses(console->agents));
    /* An instance whose heartbeats cannot be heard may well be running. */
    render_put(body, "complete",
               json_boolean(agent_table_is_complete(console->agents) &&
                            owners_data_age_ms(console->owners) == 0));
    owners_respond(console->owners, exchange, body);
}

static void serve_agent_pause(struct http_exchange *exchange, void *userdata)
{
    struct console *console = userdata;
    if (console_is_open(console, exchange))
        agent_pauses_serve(console->pauses, true, exchange);
}

static void serve_services(struct http_exchange *exchange, void *userdata)
{
    struct console *console = userdata;
    service_list_serve(console->services, exchange);
}

static void serve_agent_resume(struct http_exchange *exchange, void *userdata)
{
    struct console *console = userdata;
    if (console_is_open(console, exchange))
        agent_pauses_serve(console->pauses, false, exchange);
}

static bool read_changes_filter(struct http_exchange *exchange, struct changes_filter *ret_filter)
{
    struct changes_filter filter = {.order_id = http_query(exchange, "order"),
                                    .workflow = http_query(exchange, "workflow")};
    struct text text;
    if (!api_read_text(exchange, "order", ORDER_ID_BYTES_MAX, &text) ||
        !api_read_text(exchange, "workflow", NAME_BYTES_MAX, &text) ||
        !api_read_state(exchange, &filter.has_state, &filter.state))
        return false;
    *ret_filter = filter;
    return true;
}

static void serve_watch(struct http_exchange *exchange, void *userdata)
{
    struct console *console = userdata;
    struct changes_filter filter;
    if (console_is_open(console, exchange) && read_changes_filter(exchange, &filter))
        changes_serve(console->changes, &filter, exchange);
}

static void serve_events(struct http_exchange *exchange, void *userdata)
{
    struct console *console = userdata;
    struct changes_filter filter;
    if (console_is_open(console, exchange) && read_changes_filter(exchange, &filter))
        events_serve(console->events, &filter, exchange);
}

static void serve_workflow_activate(struct http_exchange *exchange, void *userdata)
{
    struct console *console = userdata;
    if (console_is_open(console, exchange))
        workflow_changes_serve(console->workflow_changes, WORKFLOW_ACTIVATE, exchange);
}

static void serve_workflow_rollback(struct http_exchange *exchange, void *userdata)
{
    struct console *console = userdata;
    if (console_is_open(console, exchange))
        workflow_changes_serve(console->workflow_changes, WORKFLOW_ROLLBACK, exchange);
}

static void serve_workflow_retire(struct http_exchange *exchange, void *userdata)
{
    struct console *console = userdata;
    if (console_is_open(console, exchange))
        workflow_changes_serve(console->workflow_changes, WORKFLOW_RETIRE, exchange);
}

static void serve_workflow_deploy(struct http_exchange *exchange, void *userdata)
{
    struct console *console = userdata;
    if (console_is_open(console, exchange))
        workflow_changes_serve_deployment(console->workflow_changes, exchange);
}

/* The action is the path's last segment. */
static void serve_action(struct http_exchange *exchange, void *userdata)
{
    struct console *console = userdata;
    struct text order_id;
    if (console_is_open(console, exchange) && api_read_order_id(exchange, &order_id))
        operator_commands_serve(console->commands, strrchr(http_path(exchange), '/') + 1, order_id,
                                exchange);
}

#define FILTERS                                                                        \
    "state", "step", "error", "workflow", "workflow_version", "customer", "attribute", \
        "id_prefix", "since", "until", "alert", "paused"

static const struct api_route routes[] = {
    {"GET", "/api", serve_index, {NULL}, 0},
    {"GET", "/api/orders", search_api_serve_list, {FILTERS, "limit", "cursor", NULL}, 0},
    {"GET", "/api/orders/count", search_api_serve_count, {FILTERS, "by", NULL}, 0},
    {"GET", "/api/orders/{id}", serve_order, {"wait", NULL}, 0},
    {"GET", "/api/orders/{id}/history", serve_history, {"limit", "after", NULL}, 0},
    {"GET", "/api/orders/{id}/at/{offset}", serve_order_at, {NULL}, 0},
    {"POST", "/api/orders/{id}/cancel", serve_action, {NULL}, 0},
    {"POST", "/api/orders/{id}/compensate", serve_action, {NULL}, 0},
    {"POST", "/api/orders/{id}/resubmit", serve_action, {NULL}, 0},
    {"POST", "/api/orders/{id}/complete", serve_action, {NULL}, 0},
    {"POST", "/api/orders/{id}/skip", serve_action, {NULL}, 0},
    {"POST", "/api/orders/{id}/fail", serve_action, {NULL}, 0},
    {"POST", "/api/orders/{id}/pause", serve_action, {NULL}, 0},
    {"POST", "/api/orders/{id}/resume", serve_action, {NULL}, 0},
    {"POST", "/api/orders/{id}/migrate", serve_action, {NULL}, 0},
    {"GET",
     "/api/orders/{id}/migrate",
     serve_migration_check,
     {"version", "workflow", "from_version", NULL},
     0},
    {"GET", "/api/overview", serve_overview, {NULL}, 0},
    {"GET", "/api/counts", serve_counts, {NULL}, 0},
    {"GET", "/api/alerts", serve_alerts, {"open", "limit", "cursor", NULL}, 0},
    {"GET", "/api/owners", serve_owners, {NULL}, 0},
    {"GET", "/api/partitions", serve_partitions, {NULL}, 0},
    {"GET", "/api/health", serve_health, {NULL}, 0},
    {"GET", "/api/services", serve_services, {NULL}, 0},
    {"GET", "/api/agents", serve_agents, {"agent", NULL}, 0},
    {"POST", "/api/agents/{name}/pause", serve_agent_pause, {NULL}, 0},
    {"POST", "/api/agents/{name}/resume", serve_agent_resume, {NULL}, 0},
    {"GET", "/api/workflows", serve_workflows, {NULL}, 0},
    /* A workflow's text is larger than the bodies of the others. */
    {"POST", "/api/workflows", serve_workflow_deploy, {NULL}, HTTP_BODY_MAX},
    {"GET", "/api/workflows/{name}/diff", serve_workflow_diff, {"left", "right", NULL}, 0},
    {"GET", "/api/workflows/{name}/{version}", serve_workflow, {NULL}, 0},
    {"POST", "/api/workflows/{name}/{version}/activate", serve_workflow_activate, {NULL}, 0},
    {"POST", "/api/workflows/{name}/{version}/retire", serve_workflow_retire, {NULL}, 0},
    {"POST", "/api/workflows/{name}/rollback", serve_workflow_rollback, {NULL}, 0},
    {"GET", "/api/workflows/{name}/{version}/graph", serve_workflow_graph, {"format", NULL}, 0},
    {"GET", "/api/watch", serve_watch, {"after", "order", "state", "workflow", NULL}, 0},
    {"GET", "/api/events", serve_events, {"after", "order", "state", "workflow", NULL}, 0},
};

void console_add_routes(struct console *console)
{
    api_add_routes(console, routes, sizeof(routes) / sizeof(routes[0]));
    dead_letter_api_add_routes(console);
    web_add_routes(console->service->http);
}
