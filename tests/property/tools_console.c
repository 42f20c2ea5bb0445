/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/property/tools_console.h"

#include "base/rfc3339.h"
#include "platform/files.h"
#include "platform/http/client.h"
#include "services/console/console.h"
#include "tests/simulation/simulated_service.h"

#include <assert.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_SIZE = 400, ROUNDS_MAX = 40000, ROUND_STEPS = 50, ROUND_MS = 5, ALERTS_KEPT_MAX = 64 };

struct tools_console {
    struct tools *tools;
    struct service_context service;
    struct console *console;
    struct http_client *client;
    struct tools_span span;
    /* of the request under way */
    bool answered;
    int status;
    json_t *json;
};

static struct tools_fold fold;

/* ---- life ---- */

void tools_console_open(struct tools *tools)
{
    char folder[PATH_SIZE];
    struct error error;
    struct http_server_options server = {.port = 0};
    struct http_client_options client = {.close_idle = true, .response_max = 16 << 20};
    struct tools_console *console = calloc(1, sizeof(*console));
    assert(console != NULL && tools->console == NULL);
    snprintf(folder, sizeof(folder), "%s/console", tools->world->run->folder);
    files_remove_tree(folder, NULL);
    enum error_class class = files_make_dirs(folder, &error);
    assert(class == ERROR_OK);
    console->tools = tools;
    console->service = (struct service_context){.name = "console",
                                                .instance_id = "console-1",
                                                .data_dir = strdup(folder),
                                                .clock = &tools->clock.clock};
    simulated_service_open(&console->service, "p", NULL);
    server.metrics = console->service.metrics;
    class = http_server_new(console->service.loop, &server, &console->service.http, &error);
    assert(class == ERROR_OK);
    class = http_client_new(console->service.loop, &client, &console->client, &error);
    assert(class == ERROR_OK);
    tools_span_begin(tools, &console->span);
    class = console_new(&console->service, broker_memory_new(tools->world->kafka, "console-1"),
                        &console->console, &error);
    assert(class == ERROR_OK);
    tools->console = console;
}

void tools_console_close(struct tools *tools)
{
    struct tools_console *console = tools->console;
    if (console == NULL)
        return;
    tools->console = NULL;
    console_free(console->console);
    http_client_free(console->client);
    http_server_free(console->service.http);
    simulated_service_close(&console->service);
    free((char *)(uintptr_t)console->service.data_dir);
    free(console);
}

void tools_console_follow(struct tools *tools)
{
    if (tools->console == NULL)
        return;
    tools_span_note(tools, &tools->console->span);
    clock_manual_advance(&tools->clock, 1);
    tools->clock.now_wall_ms = tools->world->clock.now_wall_ms;
    loop_once(tools->console->service.loop, 0);
}

/* Whatever is under way arrives; nothing new happens. */
static void let_arrive(struct tools_console *console)
{
    broker_memory_settle(console->tools->world->kafka, ROUND_STEPS);
    clock_manual_advance(&console->tools->clock, ROUND_MS);
    loop_once(console->service.loop, 0);
}

/* ---- requests ---- */

static void on_result(const struct http_result *result, void *userdata)
{
    struct tools_console *console = userdata;
    console->answered = true;
    console->status = result->outcome == HTTP_ANSWERED ? result->status : -1;
    console->json = json_loadb(result->body.data, result->body.size, JSON_ALLOW_NUL, NULL);
}

/* New; NULL: no such answer. */
static json_t *get(struct tools_console *console, const char *path)
{
    char url[1024];
    struct error error;
    snprintf(url, sizeof(url), "%s%s", http_server_url(console->service.http), path);
    struct http_request request = {
        .method = "GET", .url = url, .timeout_ms = INT64_C(10) * 60 * 1000};
    console->answered = false;
    enum error_class class =
        http_client_send(console->client, &request, on_result, console, &error);
    assert(class == ERROR_OK);
    while (!console->answered) {
        broker_memory_settle(console->tools->world->kafka, ROUND_STEPS);
        loop_once(console->service.loop, 0);
    }
    if (console->status == 200)
        return console->json;
    json_decref(console->json);
    return NULL;
}

static const char *text_at(const json_t *json, const char *name)
{
    const char *text = json_string_value(json_object_get(json, name));
    return text != NULL ? text : "";
}

static int64_t int_at(const json_t *json, const char *name)
{
    const json_t *value = json_object_get(json, name);
    return json_is_integer(value) ? json_integer_value(value) : -1;
}

static int64_t time_at(const json_t *json, const char *name)
{
    int64_t ms = 0;
    return rfc3339_parse(text_of(text_at(json, name)), &ms) ? ms : -1;
}

/* ---- owners ---- */

static const char *check_owner(const struct tools_console *console, int32_t partition,
                               const json_t *answer)
{
    const json_t *claim = json_object_get(answer, "claim");
    const struct tools_span *span = &console->span;
    int64_t begins = int_at(answer, "log_start");
    if (!tools_fold_may_begin(&fold, begins) || begins < span->low_min[partition] ||
        begins > tools_fold_beginning(&fold, span->low_max[partition]))
        return wrong("the console begins at %lld: the log began at %lld to %lld", (long long)begins,
                     (long long)span->low_min[partition], (long long)span->low_max[partition]);
    if (strcmp(text_at(claim, "instance"), fold.instance) != 0 ||
        (fold.instance[0] != '\0' && time_at(claim, "claimed_at") != fold.claimed_at))
        return wrong("the console's owner is \"%s\", the log's is \"%s\"",
                     text_at(claim, "instance"), fold.instance);
    if (fold.instance[0] != '\0' && strcmp(text_at(answer, "verdict"), "stopped") == 0)
        return wrong("the console says \"stopped\": %s", text_at(answer, "verdict_reason"));
    return NULL;
}

/* ---- histories ---- */

/* Each Decision about the order from there on, and none else. */
static const char *check_entries(const struct tools_order *order, const json_t *entries)
{
    size_t at = 0;
    while (at < json_array_size(entries) &&
           int_at(json_array_get(entries, at), "offset") < order->known_at)
        at++;
    for (uint32_t i = 0; i < fold.decision_count; i++) {
        const struct tools_decision *decision = &fold.decisions[i];
        if (decision->offset < order->known_at || strcmp(decision->order_id, order->id) != 0)
            continue;
        int64_t offset = int_at(json_array_get(entries, at++), "offset");
        if (offset != decision->offset)
            return wrong("the history of %s has %lld where %lld was decided", order->id,
                         (long long)offset, (long long)decision->offset);
    }
    return at == json_array_size(entries)
               ? NULL
               : wrong("the history of %s has more than the log", order->id);
}

static const char *check_history(struct tools_console *console, const struct tools_order *order)
{
    char path[100];
    snprintf(path, sizeof(path), "/api/orders/%s/history?limit=1000", order->id);
    json_t *history = get(console, path);
    const char *failed = NULL;
    bool whole = order->accepted_at >= fold.from;
    if (history == NULL)
        return wrong("the console has no history of %s", order->id);
    if (int_at(history, "begins_at") != order->known_at)
        failed = wrong("the history of %s begins at %lld, it is known from %lld on", order->id,
                       (long long)int_at(history, "begins_at"), (long long)order->known_at);
    else if (json_is_true(json_object_get(history, "whole")) != whole)
        failed = wrong("the history of %s, accepted at %lld, is %swhole from %lld on", order->id,
                       (long long)order->accepted_at, whole ? "not " : "", (long long)fold.from);
    else
        failed = check_entries(order, json_object_get(history, "entries"));
    console->tools->met[TOOLS_BEGUN_LATER] += !whole;
    json_decref(history);
    return failed;
}

/* ---- orders ---- */

static const json_t *find_order(const json_t *list, const char *id)
{
    const json_t *found = NULL;
    for (size_t i = 0; i < json_array_size(list) && found == NULL; i++)
        if (strcmp(text_at(json_array_get(list, i), "order_id"), id) == 0)
            found = json_array_get(list, i);
    return found;
}

static uint32_t count_of(const json_t *list, int32_t partition)
{
    uint32_t count = 0;
    for (size_t i = 0; i < json_array_size(list); i++)
        count += int_at(json_array_get(list, i), "partition") == partition;
    return count;
}

static const char *check_orders(struct tools_console *console, int32_t partition,
                                const json_t *list)
{
    const char *failed = NULL;
    uint32_t count = 0;
    for (uint32_t i = 0; i < fold.order_count && failed == NULL; i++) {
        const struct tools_order *order = &fold.orders[i];
        if (order->gone_at >= 0)
            continue;
        const json_t *shown = find_order(list, order->id);
        count++;
        if (shown == NULL)
            return wrong("the console does not have %s", order->id);
        if (strcmp(text_at(shown, "state"), order_state_name(order->state)) != 0)
            return wrong("the console says that %s is %s, it is %s", order->id,
                         text_at(shown, "state"), order_state_name(order->state));
        if (json_is_true(json_object_get(shown, "alert_open")) != (order->state == ORDER_ERROR))
            return wrong("the console's alert of %s, which is %s", order->id,
                         order_state_name(order->state));
        failed = check_history(console, order);
    }
    if (failed == NULL && count != count_of(list, partition))
        return wrong("the console has %u orders of partition %d, there are %u",
                     count_of(list, partition), partition, count);
    return failed;
}

/* ---- alerts ---- */

struct kept_alert {
    char code[24];
    char by[24];
    bool open;
    int32_t at;     /* the topic's partition */
    bool is_in_two; /* of these, which have no common order */
};

static struct kept_alert *find_alert(struct kept_alert *kept, uint32_t *count, int32_t at,
                                     const struct operator_alert *alert)
{
    for (uint32_t i = 0; i < *count; i++)
        if (text_equal(text_of(kept[i].code), alert->code) &&
            text_equal(text_of(kept[i].by), alert->by))
            return &kept[i];
    assert(*count < ALERTS_KEPT_MAX);
    struct kept_alert *made = &kept[(*count)++];
    *made = (struct kept_alert){.at = at};
    snprintf(made->code, sizeof(made->code), "%.*s", TEXT_ARG(alert->code));
    snprintf(made->by, sizeof(made->by), "%.*s", TEXT_ARG(alert->by));
    return made;
}

static bool is_kept(const struct operator_alert *alert, int32_t partition)
{
    return alert->partition == partition && alert->order_id.size == 0 &&
           (text_equal(alert->code, TEXT("Stalled")) ||
            text_equal(alert->code, TEXT("TrimRefused")));
}

/* Each is as its latest record says. */
static uint32_t read_alerts(struct world *world, int32_t partition,
                            struct kept_alert kept[ALERTS_KEPT_MAX])
{
    uint32_t count = 0;
    for (int32_t p = 0; p < world->partitions; p++)
        for (int64_t offset = 0; offset < log_end(world, "p.alerts", p); offset++) {
            struct record record;
            heap_arena_reset(&world->scratch);
            if (read_log(world, "p.alerts", p, offset, &record) != NULL ||
                record.kind != RECORD_OPERATOR_ALERT || !is_kept(&record.operator_alert, partition))
                continue;
            struct kept_alert *alert = find_alert(kept, &count, p, &record.operator_alert);
            alert->open = record.operator_alert.raised;
            alert->is_in_two |= alert->at != p;
        }
    return count;
}

static bool shows(const json_t *list, int32_t partition, const struct kept_alert *alert)
{
    bool found = false;
    for (size_t i = 0; i < json_array_size(list) && !found; i++) {
        const json_t *shown = json_array_get(list, i);
        found = int_at(shown, "partition") == partition &&
                strcmp(text_at(shown, "code"), alert->code) == 0 &&
                strcmp(text_at(shown, "by"), alert->by) == 0;
    }
    return found;
}

static const char *check_alerts(struct tools_console *console, int32_t partition,
                                const json_t *list)
{
    struct kept_alert kept[ALERTS_KEPT_MAX];
    uint32_t count = read_alerts(console->tools->world, partition, kept);
    for (uint32_t i = 0; i < count; i++)
        if (!kept[i].is_in_two && shows(list, partition, &kept[i]) != kept[i].open)
            return wrong("the console's alert %s by %s is %sopen", kept[i].code, kept[i].by,
                         kept[i].open ? "not " : "");
    for (uint32_t i = 0; i < count; i++)
        console->tools->met[kept[i].open ? TOOLS_ALERTS_OPEN : TOOLS_ALERTS_CLOSED]++;
    return NULL;
}

/* ---- all of it ---- */

static bool is_current(const struct tools_console *console, char *ret_reason, size_t size)
{
    const struct world *world = console->tools->world;
    bool current = console_is_ready(console->console, ret_reason, size);
    for (int32_t p = 0; p < world->partitions && current; p++) {
        struct console_partition *partition = console->console->api.partitions[p];
        current = console_partition_is_current(partition, ret_reason, size) &&
                  view_checkpoint(console_partition_view(partition))->next_event_offset ==
                      log_end(world, "p.events", p);
    }
    return current;
}

static const char *check_partition(struct tools_console *console, int32_t partition,
                                   const json_t *owners, const json_t *orders, const json_t *alerts)
{
    struct world *world = console->tools->world;
    int64_t begins = int_at(json_array_get(owners, (size_t)partition), "log_start");
    const char *failed =
        tools_fold(world, partition, begins, log_end(world, "p.events", partition), &fold);
    console->tools->met[TOOLS_CONSOLES]++;
    console->tools->met[TOOLS_CONSOLES_INSIDE] += begins > 0;
    if (failed == NULL)
        failed = check_owner(console, partition, json_array_get(owners, (size_t)partition));
    if (failed == NULL)
        failed = check_orders(console, partition, orders);
    if (failed == NULL)
        failed = check_alerts(console, partition, alerts);
    return failed;
}

const char *tools_console_check(struct tools *tools)
{
    struct tools_console *console = tools->console;
    char reason[ERROR_MESSAGE_SIZE] = "";
    const char *failed = NULL;
    if (console == NULL)
        return NULL;
    tools_span_begin(tools, &tools->span);
    if (tools->span.stopped || tools_are_outdated(tools))
        return NULL;
    for (uint32_t round = 0; !is_current(console, reason, sizeof(reason)); round++) {
        if (round == ROUNDS_MAX)
            return wrong("the console does not read the log to its end: %s", reason);
        let_arrive(console);
    }
    tools_span_note(tools, &console->span);
    for (uint32_t round = 0; round < ROUND_STEPS; round++)
        let_arrive(console); /* the alerts as well */
    json_t *owners = get(console, "/api/partitions");
    json_t *orders = get(console, "/api/orders?limit=200");
    json_t *alerts = get(console, "/api/alerts?open=1");
    if (owners == NULL || orders == NULL || alerts == NULL)
        failed = wrong("the console does not answer");
    for (int32_t p = 0; p < tools->world->partitions && failed == NULL; p++)
        failed = check_partition(console, p, json_object_get(owners, "partitions"),
                                 json_object_get(orders, "orders"),
                                 json_object_get(alerts, "partitions"));
    json_decref(owners);
    json_decref(orders);
    json_decref(alerts);
    return failed;
}
