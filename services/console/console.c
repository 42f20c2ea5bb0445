/* SPDX-License-Identifier: Apache-2.0 */
/* The console service: its life. See console.h. */
#include "services/console/console.h"
#include "services/console/api/order_at.h"
#include "services/console/routes.h"
#include "services/console/web/web.h"

#include "platform/logger.h"
#include "replica/service/settings.h"
#include "replica/service/stores.h"
#include "replica/service/view_report.h"
#include "services/services.h"

#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

/* Folding needs only the orders in flight; lists decode as many again. */
enum { CACHE_BYTES = 8 * 1024 * 1024, CACHE_BYTES_MIN = 256 * 1024 };

/* ---- partitions ---- */

static void on_decided(void *ctx, struct console_partition *partition,
                       const struct broker_record *record, const struct view_folded *folded)
{
    struct console *console = ctx;
    const struct decision *decision = &folded->record->decision;
    awaited_commands_decided(console->awaited, record->partition, record->offset, decision);
    if (console_partition_is_live(partition) && !text_empty(decision->order_id))
        changes_add(console->changes, record->partition, record, decision, folded->order);
    if (folded->order != NULL && order_ended(folded->order))
        order_waits_ended(console->order_waits, decision->order_id);
}

static void on_renewed(void *ctx)
{
    struct console *console = ctx;
    changes_forget(console->changes);
}

static enum error_class open_partition(struct console *console, int32_t number,
                                       struct error *ret_error)
{
    char path[PATH_MAX];
    struct api *api = &console->api;
    size_t cache = CACHE_BYTES / (size_t)api->cluster->partition_count;
    snprintf(path, sizeof(path), "%s/partition-%d", console->service->data_dir, number);
    struct view_options options = {.env = console->stores,
                                   .codec = api->cluster->codec,
                                   .path = path,
                                   .cache_bytes = cache > CACHE_BYTES_MIN ? cache : CACHE_BYTES_MIN,
                                   .history = true};
    return console_partition_new(api->cluster, number, &options, on_decided, on_renewed, console,
                                 &api->partitions[number], ret_error);
}

static void answer_order(void *ctx, struct http_exchange *exchange)
{
    serve_order(ctx, exchange);
}

static void on_commands_settled(void *ctx)
{
    struct console *console = ctx;
    service_drained(console->service);
}

static void on_cluster_ready(void *ctx)
{
    struct console *console = ctx;
    struct api *api = &console->api;
    struct cluster *cluster = api->cluster;
    struct error error;
    api->partitions = calloc((size_t)cluster->partition_count, sizeof(struct console_partition *));
    assert(api->partitions != NULL);
    for (int32_t i = 0; i < cluster->partition_count; i++) {
        if (open_partition(console, i, &error) != ERROR_OK) {
            service_fail(console->service, &error);
            return;
        }
        api->partition_count++;
    }
    api->alerts = alerts_new(cluster);
    api->owners = owners_new(cluster, api->partitions, api->alerts);
    console->changes = changes_new(cluster, api->owners);
    console->events =
        events_new(cluster_loop(cluster), console->service->metrics, console->changes);
    console->order_waits = order_waits_new(cluster_loop(cluster), api->partitions,
                                           api->partition_count, answer_order, api);
    console->awaited = awaited_commands_new(cluster);
    console->trees = tree_commands_new(api, console->awaited);
    console->commands = operator_commands_new(cluster, console->awaited, console->trees,
                                              on_commands_settled, console);
    console->pauses = agent_pauses_new(cluster);
    api->agents = agent_pauses_table(console->pauses);
    console->workflow_changes = workflow_changes_new(cluster, api->agents);
    console->schedule_changes = schedule_changes_new(api);
    console->dead_letters = dead_letter_api_new(cluster, api->owners);
}

/* ---- life ---- */

static void report_stores(void *ctx, struct view_report *report)
{
    struct console *console = ctx;
    for (int32_t i = 0; i < console->api.partition_count; i++)
        view_report_add(report, i, console_partition_view(console->api.partitions[i]));
}

static enum error_class open_cluster(struct console *console, struct broker *broker,
                                     struct error *ret_error)
{
    static const unsigned flags =
        CLUSTER_FOLLOWS_WORKFLOWS | CLUSTER_CHECKS_LOG | CLUSTER_HAS_APPLICATIONS;
    if (broker == NULL)
        return cluster_open(console->service, flags, on_cluster_ready, console,
                            &console->api.cluster, ret_error);
    return cluster_open_on(console->service, broker, flags, on_cluster_ready, console,
                           &console->api.cluster, ret_error);
}

enum error_class console_new(struct service_context *service, struct broker *broker,
                             struct console **ret_console, struct error *ret_error)
{
    struct console *console = calloc(1, sizeof(*console));
    assert(console != NULL);
    console->service = service;
    enum error_class class = service_list_new(service->loop, service->clock, service->config,
                                              &console->services, ret_error);
    if (class == ERROR_OK)
        class = open_cluster(console, broker, ret_error);
    if (class != ERROR_OK) {
        service_list_free(console->services);
        free(console);
        return class;
    }
    console->stores = stores_new(service->config);
    console->api.history_max = (uint32_t)config_int(service->config, "console.history.max");
    order_at_init(&console->api);
    heap_arena_init(&console->api.scratch, 64 * 1024);
    console->metrics = console_metrics_new(console);
    http_server_routes(service->http, &console_api_routes, console);
    web_add_routes(service->http);
    console->report = view_report_route(service, false, report_stores, console);
    *ret_console = console;
    return ERROR_OK;
}

bool console_is_ready(struct console *console, char *ret_reason, size_t reason_size)
{
    return console_partitions_are_ready(console->api.partitions, console->api.partition_count,
                                        ret_reason, reason_size);
}

void console_free(struct console *console)
{
    struct api *api = &console->api;
    http_pendings_drain(&api->replays);
    tree_commands_drain(console->trees);
    order_waits_drain(console->order_waits);
    if (api->owners != NULL)
        owners_drain(api->owners);
    service_list_free(console->services);
    events_free(console->events);
    order_waits_free(console->order_waits);
    dead_letter_api_drain(console->dead_letters);
    changes_free(console->changes);
    alerts_free(api->alerts);
    agent_pauses_drain(console->pauses);
    workflow_changes_drain(console->workflow_changes);
    schedule_changes_drain(console->schedule_changes);
    for (int32_t i = 0; i < api->partition_count; i++)
        console_partition_free(api->partitions[i]);
    api->partition_count = 0;
    cluster_close(api->cluster);
    operator_commands_free(console->commands);
    tree_commands_free(console->trees);
    awaited_commands_free(console->awaited);
    dead_letter_api_free(console->dead_letters);
    owners_free(api->owners);
    agent_pauses_free(console->pauses);
    workflow_changes_free(console->workflow_changes);
    schedule_changes_free(console->schedule_changes);
    store_env_free(console->stores);
    view_report_free(console->report);
    heap_arena_deinit(&api->scratch);
    console_metrics_free(console->metrics);
    free(api->partitions);
    free(console);
}

/* ---- the service ---- */

static enum error_class start(struct service_context *service, void **ret_state,
                              struct error *ret_error)
{
    struct console *console = NULL;
    enum error_class class = console_new(service, NULL, &console, ret_error);
    if (class != ERROR_OK)
        return class;
    log_info("the console is open in browsers", LOG_STR("url", http_server_url(service->http)));
    *ret_state = console;
    return ERROR_OK;
}

static bool ready(void *state, char *ret_reason, size_t reason_size)
{
    return console_is_ready(state, ret_reason, reason_size);
}

/* The console works; the scheduler does not. */
static bool degraded(void *state, char *ret_reason, size_t reason_size)
{
    const struct console *console = state;
    char reason[VERDICT_REASON_SIZE];
    if (console->api.owners == NULL || owners_stalled(console->api.owners, reason, NULL) == 0)
        return false;
    snprintf(ret_reason, reason_size, "%s", reason);
    return true;
}

static void drain(void *state)
{
    struct console *console = state;
    if (console->api.owners == NULL) {
        service_drained(console->service);
        return;
    }
    events_drain(console->events);
    order_waits_drain(console->order_waits);
    http_pendings_drain(&console->api.replays);
    changes_drain(console->changes);
    tree_commands_drain(console->trees);
    operator_commands_drain(console->commands);
}

static void stop(void *state)
{
    console_free(state);
}

const struct http_routes *const console_routes[] = {&console_api_routes,
                                                    &web_routes,
                                                    &http_session_routes,
                                                    &view_report_routes,
                                                    &service_about_routes,
                                                    &http_built_in_routes,
                                                    NULL};

int console_main(int argc, char **argv)
{
    static const struct service service = {.name = "console",
                                           .bit = SETTINGS_CONSOLE,
                                           .has_stores = true,
                                           .routes = console_routes,
                                           .start = start,
                                           .ready = ready,
                                           .degraded = degraded,
                                           .drain = drain,
                                           .stop = stop};
    return service_main(&service, argc, argv);
}
