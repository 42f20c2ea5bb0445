/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/agent/world.h"

#include "base/goods.h"
#include "platform/logger.h"
#include "tests/lib/site.h"

#include <criterion/criterion.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

enum { START_MS = 1000000, ROUNDS_MAX = 10000, STEPS_MAX = 100000 };

/* ---- the cluster ---- */

struct world *world_new(uint64_t seed)
{
    static struct world world;
    struct error error;
    world = (struct world){.instance_count = 0};
    clock_manual_init(&world.clock, START_MS);
    clock_manual_init(&world.broker_clock, START_MS);
    cr_assert(loop_new(&world.clock.clock, &world.loop, &error) == ERROR_OK);
    world.kafka = broker_memory_cluster_new(seed, &world.broker_clock.clock);
    world.codec = codec_new();
    SITE_TOPICS(world.kafka, WORLD_PARTITIONS, "t.commands", "t.events", "t.dead-letters",
                WORLD_REQUESTS);
    SITE_TOPICS(world.kafka, 1, "t.schemas", "t.agents");
    log_set_level(LOG_LEVEL_ERROR);
    return &world;
}

void world_free(struct world *world)
{
    for (uint32_t i = 0; i < world->instance_count; i++)
        if (world->instances[i].agent != NULL)
            world_stop(&world->instances[i]);
    codec_free(world->codec);
    broker_memory_cluster_free(world->kafka);
    loop_free(world->loop);
}

void world_settle(struct world *world)
{
    for (int round = 0; round < ROUNDS_MAX; round++) {
        uint64_t steps = broker_memory_settle(world->kafka, STEPS_MAX);
        int called = loop_once(world->loop, 0);
        if (steps == 0 && called == 0)
            return;
    }
    cr_assert_fail("it does not settle");
}

void world_advance(struct world *world, int64_t ms)
{
    clock_manual_advance(&world->clock, ms);
    clock_manual_advance(&world->broker_clock, ms);
    world_settle(world);
}

void world_rebalance(struct world *world)
{
    broker_memory_rebalance(world->kafka, WORLD_GROUP);
    world_settle(world);
}

/* ---- instances ---- */

static void execute(void *ctx, struct agent_call *call)
{
    struct instance *instance = ctx;
    struct world *world = instance->world;
    world->calls_started++;
    cr_assert_lt(clock_wall_ms(&world->clock.clock), call->request->complete_by);
    if (world->on_call != NULL) {
        world->on_call(instance, call);
        return;
    }
    cr_assert_lt(instance->call_count, WORLD_CALLS_MAX);
    instance->calls[instance->call_count++] = call;
}

static void extended(void *ctx, struct agent_call *call)
{
    struct instance *instance = ctx;
    instance->world->extended = call;
}

static void probe(void *ctx, struct agent_probe *probe)
{
    struct instance *instance = ctx;
    instance->probe = probe;
}

/* The instance that the service belongs to. */
static enum error_class start(struct service_context *service, void **ret_ctx,
                              struct error *ret_error)
{
    (void)ret_error;
    *ret_ctx = (char *)service - offsetof(struct instance, service);
    return ERROR_OK;
}

static const struct agent_ops ops = {
    .name = "pay", .start = start, .execute = execute, .compensate = execute, .extended = extended};
static const struct agent_ops probing_ops = {.name = "pay",
                                             .start = start,
                                             .execute = execute,
                                             .compensate = execute,
                                             .extended = extended,
                                             .probe = probe};

struct instance *world_add(struct world *world, const char *const settings[])
{
    static const char *const names[] = {"a1", "a2", "a3", "a4"};
    cr_assert_lt(world->instance_count, WORLD_INSTANCES_MAX);
    struct instance *instance = &world->instances[world->instance_count];
    struct error error;
    *instance = (struct instance){.world = world};
    instance->service = (struct service_context){
        .name = "agent",
        .instance_id = names[world->instance_count++],
        .data_dir = world->data_dir,
        .clock = &world->clock.clock,
        .loop = world->loop,
    };
    simulated_service_open(&instance->service, "t", settings);
    struct http_server_options http = {.port = 0};
    if (world->serves_http)
        cr_assert(http_server_new(world->loop, &http, &instance->service.http, &error) == ERROR_OK);
    instance->broker = broker_memory_new(world->kafka, instance->service.instance_id);
    const struct agent_ops *use = world->ops != NULL ? world->ops
                                  : world->probes    ? &probing_ops
                                                     : &ops;
    cr_assert(agent_new(&instance->service, use, instance->broker, &instance->agent, &error) ==
                  ERROR_OK,
              "%s", error.message);
    world_settle(world);
    return instance;
}

void world_stop(struct instance *instance)
{
    agent_free(instance->agent);
    http_server_free(instance->service.http);
    instance->service.loop = NULL; /* the world's */
    simulated_service_close(&instance->service);
    instance->agent = NULL;
    instance->call_count = 0;
}

void world_kill(struct instance *instance)
{
    broker_memory_kill(instance->broker);
    world_stop(instance);
}

static struct agent_call *take_call(struct instance *instance)
{
    cr_assert_gt(instance->call_count, 0);
    struct agent_call *call = instance->calls[0];
    memmove(instance->calls, instance->calls + 1,
            --instance->call_count * sizeof(instance->calls[0]));
    return call;
}

void world_succeed(struct instance *instance, const char *output)
{
    agent_call_succeed(take_call(instance), text_of(output));
    world_settle(instance->world);
}

void world_fail_unhealthy(struct instance *instance, enum effect effect)
{
    agent_call_fail(take_call(instance), &(struct agent_failure){.name = TEXT("Ill"),
                                                                 .message = TEXT("refused"),
                                                                 .effect = effect,
                                                                 .retriable = true,
                                                                 .service_unhealthy = true});
    world_settle(instance->world);
}

void world_fail(struct instance *instance, enum effect effect, bool retriable)
{
    agent_call_fail(take_call(instance), &(struct agent_failure){.name = TEXT("Oops"),
                                                                 .message = TEXT("why"),
                                                                 .effect = effect,
                                                                 .retriable = retriable});
    world_settle(instance->world);
}

/* ---- topics ---- */

int32_t world_partition(const char *order)
{
    return broker_partition_of(text_of(order), WORLD_PARTITIONS);
}

void world_request(struct world *world, const char *order, enum direction direction,
                   uint32_t attempt, int64_t complete_by)
{
    world_append_request(world, order, PRIORITY_NORMAL, direction, attempt, complete_by);
    world_settle(world);
}

void world_append_request(struct world *world, const char *order, enum priority priority,
                          enum direction direction, uint32_t attempt, int64_t complete_by)
{
    struct order_details details = {.order_id = text_of(order),
                                    .priority = priority,
                                    .customer = TEXT("c"),
                                    .goods = &(struct goods){.currency = TEXT("GBP")},
                                    .workflow = TEXT("w"),
                                    .workflow_version = 1};
    char key[IDEMPOTENCY_KEY_BYTES_MAX + 1], do_key[IDEMPOTENCY_KEY_BYTES_MAX + 1];
    snprintf(key, sizeof(key), "%s/Pay/%s/0", order, direction_name(direction));
    snprintf(do_key, sizeof(do_key), "%s/Pay/do/0", order);
    struct step_request request = {
        .order_id = text_of(order),
        .ref = {TEXT("Pay"), direction, attempt},
        .agent = TEXT("pay"),
        .action = TEXT("Pay"),
        .idempotency_key = text_of(key),
        .do_key = text_of(do_key),
        .complete_by = complete_by,
        .order = &details,
        .decision_offset =
            world->decision_offset + 100 + (int64_t)attempt + (direction == DIRECTION_UNDO) * 100,
        .order_version = 1 + world->order_version,
        .extension = world->extension,
        .input = world->input,
    };
    site_append(world->kafka, world->codec, WORLD_REQUESTS, world_partition(order), text_of(order),
                RECORD_STEP_REQUEST, &request);
}

/* "more@1005000 progress" in the place of an error's name. */
static struct report_step report_of(const struct extend_step *extension, struct arena *arena)
{
    char text[256];
    int size = snprintf(text, sizeof(text), "more@%lld %.*s", (long long)extension->complete_by,
                        TEXT_ARG(extension->progress));
    return (struct report_step){.order_id = extension->order_id,
                                .step = extension->step,
                                .direction = extension->direction,
                                .attempt = extension->attempt,
                                .error_name =
                                    arena_text(arena, (struct text){text, (uint32_t)size}),
                                .agent = extension->agent};
}

/* The report at an offset, or a request for more time; false: there is none. */
static bool read_report(struct world *world, int32_t partition, int64_t offset, struct arena *arena,
                        struct report_step *ret_report)
{
    struct broker_record record;
    struct record decoded;
    if (!broker_memory_record(world->kafka, "t.commands", partition, offset, &record))
        return false;
    site_decode(world->codec, record.value, arena, &decoded);
    *ret_report = decoded.command.report_step;
    if (decoded.kind == RECORD_EXTEND_STEP)
        *ret_report = report_of(&decoded.command.extend_step, arena);
    else
        cr_assert_eq(decoded.kind, RECORD_REPORT_STEP);
    cr_assert(text_equal(record.key, ret_report->order_id));
    cr_assert_eq(partition, broker_partition_of(record.key, WORLD_PARTITIONS));
    cr_assert(text_equal(ret_report->agent, TEXT("pay")));
    return true;
}

const char *world_reports(struct world *world)
{
    static char text[4 * REPORT_OUTPUT_BYTES_MAX];
    static uint8_t memory[4 * REPORT_OUTPUT_BYTES_MAX];
    size_t size = 0;
    text[0] = '\0';
    for (int32_t partition = 0; partition < WORLD_PARTITIONS; partition++) {
        struct report_step report;
        struct arena arena;
        arena_init(&arena, memory, sizeof(memory));
        for (int64_t offset = 0; read_report(world, partition, offset, &arena, &report); offset++) {
            size += (size_t)snprintf(text + size, sizeof(text) - size, "%.*s/%.*s/%s/%u ",
                                     TEXT_ARG(report.order_id), TEXT_ARG(report.step),
                                     direction_name(report.direction), report.attempt);
            if (report.succeeded)
                size += (size_t)snprintf(text + size, sizeof(text) - size, "ok %.*s\n",
                                         TEXT_ARG(report.output));
            else
                size += (size_t)snprintf(text + size, sizeof(text) - size, "%.*s %s\n",
                                         TEXT_ARG(report.error_name), effect_name(report.effect));
            cr_assert_lt(size, sizeof(text));
        }
    }
    return text;
}

uint32_t world_count_reports(struct world *world, const char *order)
{
    static uint8_t memory[2 * REPORT_OUTPUT_BYTES_MAX];
    int32_t partition = world_partition(order);
    struct report_step report;
    struct arena arena;
    uint32_t count = 0;
    arena_init(&arena, memory, sizeof(memory));
    for (int64_t offset = 0; read_report(world, partition, offset, &arena, &report); offset++) {
        count += text_equal(report.order_id, text_of(order));
        arena_init(&arena, memory, sizeof(memory));
    }
    return count;
}

static void on_committed(void *ctx, int32_t partition, int64_t offset, const char *note,
                         const struct error *error)
{
    (void)partition;
    (void)note;
    cr_assert(!error_is(error));
    *(int64_t *)ctx = offset;
}

int64_t world_committed(struct instance *instance, const char *order)
{
    int64_t offset = -2;
    broker_group_committed(agent_group(instance->agent), world_partition(order), on_committed,
                           &offset);
    world_settle(instance->world);
    cr_assert_neq(offset, -2);
    return offset;
}

int64_t world_count(struct world *world, const char *topic)
{
    int64_t count = 0;
    for (int32_t partition = 0; partition < WORLD_PARTITIONS; partition++) {
        int64_t low, high;
        broker_memory_bounds(world->kafka, topic, partition, &low, &high);
        count += high - low;
    }
    return count;
}
