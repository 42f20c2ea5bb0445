/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/supervisor/world.h"

#include "platform/files.h"
#include "platform/logger.h"
#include "tests/lib/engine_workflow.h"
#include "tests/lib/site.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { STEPS_MAX = 10000000, START_MS = 1700000000 };

/* ---- life ---- */

static void append(struct supervised_world *world, struct text key, enum record_kind kind,
                   const void *record)
{
    site_append(world->kafka, world->codec, "p.events", 0, key, kind, record);
}

void world_claim(struct supervised_world *world, int32_t partition_count)
{
    struct claim claim = {.instance = TEXT("scheduler"), .partition_count = partition_count};
    world->claim_id.bytes[0]++;
    world->sequence = 0;
    claim.claim_id = world->claim_id;
    append(world, claim.instance, RECORD_CLAIM, &claim);
}

void world_reset(struct supervised_world *world, int64_t newest_decided_at)
{
    struct partition_reset reset = {.expected_offset = site_end(world->kafka, "p.events", 0),
                                    .by = TEXT("ann"),
                                    .reason = TEXT("test"),
                                    .next_command_offset = -1,
                                    .newest_decided_at = newest_decided_at};
    append(world, reset.by, RECORD_RESET, &reset);
    world_claim(world, 1);
}

struct supervised_world *world_new(const char *workflow)
{
    return world_new_of(workflow, 1);
}

struct supervised_world *world_new_of(const char *workflow, int32_t partition_count)
{
    struct supervised_world *world = calloc(1, sizeof(*world));
    cr_assert(world != NULL);
    log_set_level(LOG_LEVEL_ERROR);
    world->orders = calloc(WORLD_ORDERS_MAX, sizeof(*world->orders));
    cr_assert(world->orders != NULL);
    clock_manual_init(&world->clock, START_MS);
    clock_manual_init(&world->right, START_MS);
    world->kafka = broker_memory_cluster_new(1, &world->right.clock);
    world->codec = codec_new();
    heap_arena_init(&world->heap, 1 << 20);
    heap_arena_init(&world->scratch, 64 * 1024);
    world->workflow = workflow_of(&world->heap.arena, workflow);
    snprintf(world->folder, sizeof(world->folder), "/tmp/supervisor-XXXXXX");
    cr_assert(mkdtemp(world->folder) != NULL);
    SITE_TOPICS(world->kafka, partition_count, "p.commands", "p.events", "p.submissions",
                "p.schemas", "p.alerts", "p.dead-letters", "p.agents", "p.leadership");
    world_claim(world, partition_count);
    return world;
}

void world_free(struct supervised_world *world)
{
    if (world->partition != NULL) {
        supervisor_partition_free(world->partition);
        cluster_close(world->cluster);
        simulated_service_close(&world->service);
        store_env_free(world->stores);
    }
    broker_memory_cluster_free(world->kafka);
    codec_free(world->codec);
    heap_arena_deinit(&world->heap);
    heap_arena_deinit(&world->scratch);
    cr_assert(files_remove_tree(world->folder, NULL) == ERROR_OK);
    free(world->orders);
    free(world);
}

static void open_cluster(struct supervised_world *world)
{
    world->service = (struct service_context){.name = "supervisor",
                                              .instance_id = "supervisor-1",
                                              .data_dir = world->folder,
                                              .clock = &world->clock.clock};
    simulated_service_open(&world->service, "p", NULL);
    world->cluster = site_open_cluster(
        &world->service, broker_memory_new(world->kafka, "supervisor-1"), 0, NULL, NULL);
    world_settle(world);
}

static void open_partition(struct supervised_world *world)
{
    struct error error;
    char path[64];
    snprintf(path, sizeof(path), "%s/0", world->folder);
    struct view_options options = {.env = world->stores,
                                   .codec = world->cluster->codec,
                                   .path = path,
                                   .cache_bytes = 256 * 1024,
                                   .deadlines = true};
    cr_assert(supervisor_partition_new(world->cluster, 0, &options, &world->metrics, NULL,
                                       &world->partition, &error) == ERROR_OK,
              "%s", error.message);
}

void world_open(struct supervised_world *world)
{
    struct store_options sizes = {.cache_bytes = 1 << 20, .write_buffer_bytes = 1 << 20};
    open_cluster(world);
    supervisor_metrics_init(&world->metrics, world->service.metrics);
    world->stores = store_env_new(&sizes);
    open_partition(world);
}

void world_reopen(struct supervised_world *world)
{
    supervisor_partition_free(world->partition);
    open_partition(world);
}

void world_settle(struct supervised_world *world)
{
    broker_memory_settle(world->kafka, STEPS_MAX);
}

void world_run(struct supervised_world *world, int64_t ms)
{
    for (int64_t passed = 0; passed < ms; passed += WORLD_STEP_MS) {
        world_settle(world);
        clock_manual_advance(&world->clock, WORLD_STEP_MS);
        clock_manual_advance(&world->right, WORLD_STEP_MS);
        while (loop_once(world->service.loop, 0) > 0)
            world_settle(world);
    }
    world_settle(world);
}

/* ---- the scheduler ---- */

static struct text name_of(struct supervised_world *world, uint32_t number)
{
    char *name = arena_bytes(&world->scratch.arena, 16);
    int size = snprintf(name, 16, "order-%u", number);
    return (struct text){name, (uint32_t)size};
}

static struct supervised_order *order_of(struct supervised_world *world, struct text order_id)
{
    unsigned long number = strtoul(order_id.data + strlen("order-"), NULL, 10);
    cr_assert(number < WORLD_ORDERS_MAX);
    return &world->orders[number];
}

/* `sent` is the command's append time. */
static void decide(struct supervised_world *world, const struct command *cmd, int64_t offset,
                   int64_t sent, int64_t at)
{
    struct supervised_order *place = order_of(world, cmd->order_id);
    struct order *order = place->order.version != 0 ? &place->order : NULL;
    struct decision decision;
    struct decide_input input = {.now = at,
                                 .margin_ms = WORLD_MARGIN_MS,
                                 .instance = TEXT("scheduler"),
                                 .workflow = world->rejects ? NULL : world->workflow,
                                 .command_offset = offset,
                                 .command_time = sent};
    engine_decide(order, cmd, &input, &world->scratch.arena, &decision);
    decision.claim_id = world->claim_id;
    decision.sequence = world->sequence++;
    decision.emitted_through = -1;
    append(world, cmd->order_id, RECORD_DECISION, &decision);
    if (decision_changes_order(&decision))
        order_apply_decision(&place->order, &decision, &world->heap.arena);
}

/* The test's own commands take part in <p>.commands as well, so that offsets stay true. */
static int64_t append_command(struct supervised_world *world, const struct command *cmd)
{
    world->next_command = 1 + site_append_command(world->kafka, world->codec, "p.commands", 1, cmd);
    return world->next_command - 1;
}

static void command(struct supervised_world *world, const struct command *cmd, int64_t at)
{
    decide(world, cmd, append_command(world, cmd), at, at);
}

void world_submit(struct supervised_world *world, uint32_t number, int64_t at)
{
    world_decide(world);
    heap_arena_reset(&world->scratch);
    struct command cmd =
        site_submission(name_of(world, number), world->workflow->name, world->workflow->version);
    command(world, &cmd, at);
    cr_assert(order_of(world, cmd.order_id)->order.version != 0);
    world->orders[number].due_ms = world_due(world, number);
}

void world_report(struct supervised_world *world, uint32_t number)
{
    const struct order *order = &world->orders[number].order;
    world_decide(world);
    heap_arena_reset(&world->scratch);
    const struct step *step = &order->steps[0];
    struct attempt_ref ref = {step->name, DIRECTION_DO, step->attempt};
    struct command cmd = site_success(name_of(world, number), &ref, step->agent);
    command(world, &cmd, world->right.now_wall_ms);
}

void world_recover(struct supervised_world *world, uint32_t number)
{
    const struct step *step = &world->orders[number].order.steps[0];
    world_decide(world);
    heap_arena_reset(&world->scratch);
    struct command cmd = {.kind = COMMAND_RECOVER_STEP, .order_id = name_of(world, number)};
    cmd.recover_step = (struct recover_step){.order_id = cmd.order_id,
                                             .step = step->name,
                                             .direction = DIRECTION_DO,
                                             .attempt = step->attempt,
                                             .complete_by = step->complete_by,
                                             .by = TEXT("supervisor-0")};
    command(world, &cmd, world->right.now_wall_ms);
}

void world_find_no_capacity(struct supervised_world *world, uint32_t number)
{
    enum { RETRY_MS = 100 };
    const struct order *order = &world->orders[number].order;
    int64_t now = world->right.now_wall_ms;
    world_decide(world);
    heap_arena_reset(&world->scratch);
    struct command cmd = {.kind = COMMAND_START_STEP, .order_id = name_of(world, number)};
    cmd.start_step = (struct start_step){
        .order_id = cmd.order_id, .step = order->steps[0].name, .by = TEXT("scheduler")};
    struct event rejected = {.kind = EVENT_COMMAND_REJECTED};
    rejected.command_rejected = (struct command_rejected){.command = COMMAND_START_STEP,
                                                          .code = TEXT("NotYetDue"),
                                                          .reason = TEXT("no capacity"),
                                                          .by = TEXT("scheduler"),
                                                          .due_at = now + RETRY_MS};
    struct decision decision = {.claim_id = world->claim_id,
                                .sequence = world->sequence++,
                                .command_offset = append_command(world, &cmd),
                                .command_time = now,
                                .order_id = cmd.order_id,
                                .order_version = order->version,
                                .decided_at = now,
                                .emitted_through = -1,
                                .events = &rejected,
                                .event_count = 1};
    append(world, cmd.order_id, RECORD_DECISION, &decision);
}

void world_lose_decision(struct supervised_world *world, uint32_t number,
                         const struct order *before)
{
    broker_memory_truncate(world->kafka, "p.events", 0, site_end(world->kafka, "p.events", 0) - 1);
    world->sequence--;
    world->orders[number].order = *before;
}

static bool next_command(struct supervised_world *world, int64_t offset, struct command *ret_cmd,
                         int64_t *ret_time)
{
    struct broker_record record;
    struct record decoded;
    if (!broker_memory_record(world->kafka, "p.commands", 0, offset, &record))
        return false;
    site_decode(world->codec, record.value, &world->scratch.arena, &decoded);
    *ret_cmd = decoded.command;
    *ret_time = record.timestamp;
    return true;
}

void world_decide_some(struct supervised_world *world, uint32_t most)
{
    struct command cmd;
    int64_t time;
    for (; most > 0 && next_command(world, world->next_command, &cmd, &time); most--) {
        decide(world, &cmd, world->next_command++, time, world->right.now_wall_ms);
        heap_arena_reset(&world->scratch);
    }
}

void world_decide(struct supervised_world *world)
{
    world_decide_some(world, UINT32_MAX);
}

int64_t world_waiting(struct supervised_world *world)
{
    return site_end(world->kafka, "p.commands", 0) - world->next_command;
}

void open_and_fold(struct supervised_world *world)
{
    world_open(world);
    world_run(world, 500);
    cr_assert(supervisor_partition_is_ready(world->partition));
}

void run_with_scheduler(struct supervised_world *world, int64_t ms)
{
    for (int64_t passed = 0; passed < ms; passed += WORLD_STEP_MS) {
        world_run(world, WORLD_STEP_MS);
        world_decide(world);
    }
    world_settle(world);
}

void world_count(struct supervised_world *world)
{
    struct command cmd;
    int64_t time;
    for (; next_command(world, world->looked_at, &cmd, &time); world->looked_at++) {
        if (cmd.kind != COMMAND_SUBMIT_ORDER && cmd.kind != COMMAND_REPORT_STEP) {
            struct supervised_order *order = order_of(world, cmd.order_id);
            order->commands++;
            order->asked_ms = time;
            world->commands++;
        }
        heap_arena_reset(&world->scratch);
    }
}

int64_t world_due(const struct supervised_world *world, uint32_t number)
{
    struct deadline deadlines[DEADLINES_MAX];
    uint32_t count = deadlines_of(&world->orders[number].order, deadlines);
    cr_assert(count >= 1);
    return deadlines[0].due_at;
}

uint32_t world_alerts(struct supervised_world *world, const char *code, bool raised)
{
    return site_alerts(world->kafka, world->codec, "p.alerts", 1, code, raised);
}
