/* SPDX-License-Identifier: Apache-2.0 */
/* GET /api/orders/{id}/migrate: whether the order could be moved to another version of its workflow
 * now. The engine decides, as the scheduler's would, and nothing is appended. */
#include "engine/engine.h"
#include "platform/http/json_answer.h"
#include "platform/http/query.h"
#include "schemas/json/json_codec.h"
#include "services/console/api/api.h"

static bool read_query(struct http_exchange *exchange, struct migrate_order *ret_cmd)
{
    int64_t from = 0;
    int64_t to = 0;
    struct migrate_order cmd = {.version = 0};
    if (!http_query_text(exchange, "workflow", BODY_NAME_BYTES_MAX, &cmd.workflow) ||
        !http_query_int(exchange, "from_version", 0, 0, INT32_MAX, &from) ||
        !http_query_int(exchange, "version", 0, 0, INT32_MAX, &to))
        return false;
    if (to == 0) {
        http_respond_error(exchange, 400, CODE_BAD_REQUEST, "version: expected 1 to %d", INT32_MAX);
        return false;
    }
    cmd.from_version = (uint32_t)from;
    cmd.version = (uint32_t)to;
    *ret_cmd = cmd;
    return true;
}

/* The Decision that the command would get now. */
static struct decision decide(struct api *api, const struct order *order,
                              const struct migrate_order *migrate)
{
    const struct workflow_registry *registry = api->cluster->workflows;
    const struct order_details *details = &order->details;
    const struct workflow_entry *target =
        workflow_registry_file(registry, details->workflow, migrate->version);
    struct decision decision;
    struct command cmd = {.kind = COMMAND_MIGRATE_ORDER, .order_id = migrate->order_id};
    struct decide_input input = {
        .now = clock_wall_ms(api->cluster->service->clock),
        .margin_ms = config_ms(api->cluster->service->config, "clock.skew.max.ms"),
        .instance = text_of(api->cluster->service->instance_id),
        .workflow = workflow_registry_find(registry, details->workflow, details->workflow_version),
        .target = workflow_registry_find(registry, details->workflow, migrate->version),
        .target_retired = target != NULL && target->retired,
        .no_expressions = true, /* whether it is accepted depends on none */
    };
    cmd.migrate_order = *migrate;
    engine_decide(order, &cmd, &input, &api->scratch.arena, &decision);
    return decision;
}

static void respond(struct http_exchange *exchange, const struct order *order,
                    const struct decision *decision)
{
    const struct event *event = &decision->events[0];
    if (event->kind == EVENT_COMMAND_REJECTED) {
        const struct command_rejected *rejected = &event->command_rejected;
        http_respond_problem(exchange, http_problem_new(409, rejected->code, rejected->reason));
        return;
    }
    json_t *body = json_object();
    json_codec_put(body, "order_id", json_codec_text(order->details.order_id));
    json_codec_put(body, "workflow", json_codec_text(order->details.workflow));
    json_codec_put(body, "from_version", json_integer(order->details.workflow_version));
    json_codec_put(body, "version", json_integer(event->order_migrated.workflow_version));
    http_respond_json(exchange, 200, body);
}

void serve_migration_check(struct api *api, struct http_exchange *exchange)
{
    struct migrate_order migrate;
    struct text order_id;
    const struct order *order = NULL;
    if (!api_read_order_id(exchange, &order_id) || !read_query(exchange, &migrate))
        return;
    struct console_partition *partition = api_partition_of(api, order_id);
    order = api_find_order(exchange, api, order_id);
    if (order == NULL)
        return;
    migrate.order_id = order_id;
    heap_arena_reset(&api->scratch);
    struct decision decision = decide(api, order, &migrate);
    respond(exchange, order, &decision);
    view_tidy(console_partition_view(partition));
}
