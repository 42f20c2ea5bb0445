/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/scheduler/owner_kit.h"

#include "services/scheduler/router/router.h"
#include "tests/lib/site.h"
#include "tests/unit/statestore/kit.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

enum { TICK_MS = 10, STEPS_PER_TICK = 2000 };

static const char *const workflow_source =
    "{\"Name\": \"test\", \"Version\": 1, \"Steps\": [{\"Name\": \"A\", \"Agent\": \"agent\"}]}";

/* ---- the world ---- */

void owner_kit_deploy(struct owner_kit *kit, const char *name, uint32_t version, const char *source)
{
    site_deploy(kit->kafka, kit->codec, "p.workflows", text_of(name), version, "json",
                text_of(source));
}

/* A test that begins again with the same struct leaves the earlier one reachable. */
static void keep(const struct owner_kit *kit)
{
    static struct owner_kit *kept[16];
    static uint32_t count;
    cr_assert_lt(count, sizeof(kept) / sizeof(kept[0]));
    kept[count] = malloc(sizeof(*kit));
    *kept[count++] = *kit;
}

void owner_kit_begin(struct owner_kit *kit, int32_t partitions)
{
    cr_assert_leq(partitions, OWNER_KIT_PARTITIONS_MAX);
    if (kit->kafka != NULL)
        keep(kit);
    *kit = (struct owner_kit){.partitions = partitions, .stores = kit_env(), .codec = codec_new()};
    clock_manual_init(&kit->clock, 1700000000000);
    heap_arena_init(&kit->heap, 64 * 1024);
    kit->kafka = broker_memory_cluster_new(1, &kit->clock.clock);
    SITE_TOPICS(kit->kafka, partitions, "p.commands", "p.events", "p.requests.agent",
                "p.replies.app", "p.dead-letters");
    SITE_TOPICS(kit->kafka, 1, "p.schemas", "p.workflows", "p.alerts", "p.agents");
    owner_kit_deploy(kit, "test", 1, workflow_source);
}

static void add_router(struct owner_kit_process *process, int64_t calls)
{
    struct router_options options = {.loop = process->service.loop,
                                     .workflows = process->cluster->workflows,
                                     .factor = 1,
                                     .retry_ms_min = 500,
                                     .retry_ms_max = 2000,
                                     .weights = {4, 2, 1}};
    struct agent_status status = {
        .healthy = true, .calls = calls, .latency_p95_ms = 3, .why = "no live instance"};
    process->router = router_new(&options);
    router_set_part(process->router, 1, 1);
    router_set_agent(process->router, TEXT("agent"), &status);
}

struct owner_kit_process *owner_kit_host(struct owner_kit *kit, const char *name,
                                         const char *standbys)
{
    const char *const settings[] = {"scheduler.standby", standbys, NULL};
    cr_assert_lt(kit->process_count, OWNER_KIT_PROCESSES_MAX);
    struct owner_kit_process *process = &kit->processes[kit->process_count++];
    *process = (struct owner_kit_process){.kit = kit, .name = name, .folder = kit_folder()};
    process->clock = kit->clock;
    process->clock.clock.ctx = &process->clock;
    process->service = (struct service_context){.name = "scheduler",
                                                .instance_id = name,
                                                .data_dir = process->folder,
                                                .clock = &process->clock.clock};
    simulated_service_open(&process->service, "p", settings);
    process->broker = broker_memory_new(kit->kafka, name);
    return process;
}

struct owner_kit_process *owner_kit_boot(struct owner_kit *kit, const char *name, int64_t calls)
{
    struct owner_kit_process *process = owner_kit_host(kit, name, "0");
    process->cluster = site_open_cluster(&process->service, process->broker,
                                         CLUSTER_FOLLOWS_WORKFLOWS, NULL, NULL);
    process->metrics = owner_metrics_new(process->service.metrics);
    if (calls > 0)
        add_router(process, calls);
    owner_kit_run(kit, 100);
    cr_assert(process->cluster->ready);
    return process;
}

static struct owner *open_owner(struct owner_kit_process *process, int32_t partition, bool standby)
{
    struct error error = {0};
    char name[16];
    snprintf(name, sizeof(name), "p-%d", partition);
    struct owner_options options = {.view = {.env = process->kit->stores,
                                             .codec = process->cluster->codec,
                                             .path = kit_path(process->folder, name),
                                             .cache_bytes = 256 * 1024},
                                    .router = process->router,
                                    .batch_max =
                                        process->kit->batch_max != 0 ? process->kit->batch_max : 10,
                                    .margin_ms = 1000,
                                    .retention_ms = OWNER_KIT_RETENTION_MS,
                                    .expiry_max = OWNER_EXPIRY_MAX,
                                    .keep_ms = process->kit->keep_ms,
                                    .trim_groups = process->kit->trim_groups,
                                    .trim_group_count = process->kit->trim_group_count,
                                    .standby = standby};
    cr_assert_null(process->owners[partition]);
    enum error_class class = owner_new(process->cluster, partition, &options, process->metrics,
                                       &process->owners[partition], &error);
    cr_assert_eq(class, ERROR_OK, "%s", error.message);
    return process->owners[partition];
}

struct owner *owner_kit_own(struct owner_kit_process *process, int32_t partition)
{
    if (process->owners[partition] == NULL)
        return open_owner(process, partition, false);
    owner_promote(process->owners[partition]);
    return process->owners[partition];
}

struct owner *owner_kit_stand_by(struct owner_kit_process *process, int32_t partition)
{
    return open_owner(process, partition, true);
}

void owner_kit_release(struct owner_kit_process *process, int32_t partition)
{
    owner_flush(process->owners[partition]);
    owner_kit_kill(process, partition);
}

void owner_kit_kill(struct owner_kit_process *process, int32_t partition)
{
    owner_release(process->owners[partition], NULL, NULL);
    process->owners[partition] = NULL;
}

static void run_loops(struct owner_kit *kit)
{
    for (uint32_t i = 0; i < kit->process_count; i++)
        loop_once(kit->processes[i].service.loop, 0);
}

void owner_kit_step(struct owner_kit *kit)
{
    broker_memory_step(kit->kafka);
    run_loops(kit);
}

void owner_kit_run(struct owner_kit *kit, int64_t ms)
{
    for (int64_t at = 0; at < ms; at += TICK_MS) {
        broker_memory_settle(kit->kafka, STEPS_PER_TICK);
        run_loops(kit);
        clock_manual_advance(&kit->clock, TICK_MS);
        for (uint32_t i = 0; i < kit->process_count; i++)
            clock_manual_advance(&kit->processes[i].clock, TICK_MS);
    }
}

void owner_kit_run_until(struct owner_kit *kit, const struct owner *owner, enum owner_state state,
                         int64_t ms_max)
{
    for (int64_t at = 0; at < ms_max && owner_state(owner) != state; at += TICK_MS)
        owner_kit_run(kit, TICK_MS);
    cr_assert_eq(owner_state(owner), state, "it is %s: %s", owner_state_name(owner_state(owner)),
                 owner_kit_trouble(owner));
}

struct owner_kit_process *owner_kit_begin_log(struct owner_kit *kit, uint32_t orders)
{
    owner_kit_begin(kit, 1);
    struct owner_kit_process *process = owner_kit_boot(kit, "s-1", 0);
    owner_kit_own(process, 0);
    for (uint32_t i = 0; i < orders; i++)
        owner_kit_submit(kit, owner_kit_id(kit, 0, i));
    owner_kit_run(kit, 1000);
    cr_assert_eq(owner_kit_end(kit, "p.events", 0), 1 + (int64_t)orders);
    owner_kit_release(process, 0);
    return process;
}

/* ---- records ---- */

int64_t owner_kit_send(struct owner_kit *kit, const char *topic, int32_t partition, struct text key,
                       enum record_kind kind, const void *record)
{
    return site_append(kit->kafka, kit->codec, topic, partition, key, kind, record);
}

static const char unknown_schema[] = "\xc3\x01\x01\x02\x03\x04\x05\x06\x07\x08 ";
const struct text owner_kit_unknown_schema = {unknown_schema, sizeof(unknown_schema) - 1};

void owner_kit_claim(struct owner_kit *kit, int32_t partition, uint8_t claim_id)
{
    struct claim claim = {.instance = TEXT("other"),
                          .claimed_at = kit->clock.now_wall_ms,
                          .partition_count = kit->partitions};
    claim.claim_id.bytes[0] = claim_id;
    owner_kit_send(kit, "p.events", partition, TEXT("other"), RECORD_CLAIM, &claim);
}

void owner_kit_decide(struct owner_kit *kit, uint8_t claim_id, uint32_t sequence,
                      int64_t command_offset)
{
    struct event event = {.kind = EVENT_COMMAND_REJECTED,
                          .command_rejected = {.command = COMMAND_CANCEL_ORDER,
                                               .code = TEXT("UnknownOrder"),
                                               .reason = TEXT("no such order")}};
    struct decision decision = {.sequence = sequence,
                                .command_offset = command_offset,
                                .decided_at = kit->clock.now_wall_ms,
                                .emitted_through = -1,
                                .order_id = TEXT("z"),
                                .events = &event,
                                .event_count = 1};
    decision.claim_id.bytes[0] = claim_id;
    owner_kit_send(kit, "p.events", 0, TEXT("z"), RECORD_DECISION, &decision);
}

int64_t owner_kit_command(struct owner_kit *kit, const struct command *cmd)
{
    return site_append_command(kit->kafka, kit->codec, "p.commands", kit->partitions, cmd);
}

struct command owner_kit_submission(const char *order_id)
{
    struct command cmd = site_submission(text_of(order_id), TEXT("test"), 1);
    cmd.submit_order.reply_to = TEXT("p.replies.app");
    cmd.submit_order.content_hash.bytes[0] = 1;
    return cmd;
}

int64_t owner_kit_submit_to(struct owner_kit *kit, int32_t partition, const char *order_id)
{
    struct command cmd = owner_kit_submission(order_id);
    return owner_kit_send(kit, "p.commands", partition, cmd.order_id, (enum record_kind)cmd.kind,
                          &cmd);
}

int64_t owner_kit_submit(struct owner_kit *kit, const char *order_id)
{
    struct command cmd = owner_kit_submission(order_id);
    return owner_kit_command(kit, &cmd);
}

struct command owner_kit_report_of(const char *order_id)
{
    struct attempt_ref ref = {TEXT("A"), DIRECTION_DO, 1};
    return site_success(text_of(order_id), &ref, TEXT("agent"));
}

void owner_kit_report(struct owner_kit *kit, const char *order_id)
{
    struct command cmd = owner_kit_report_of(order_id);
    owner_kit_command(kit, &cmd);
}

const char *owner_kit_id(const struct owner_kit *kit, int32_t partition, uint32_t number)
{
    char *id = kit_memory(16);
    for (uint32_t i = 0;; i++) {
        snprintf(id, 16, "order-%u-%u", number, i);
        if (broker_partition_of(text_of(id), kit->partitions) == partition)
            return id;
    }
}

int64_t owner_kit_end(const struct owner_kit *kit, const char *topic, int32_t partition)
{
    return site_end(kit->kafka, topic, partition);
}

bool owner_kit_read(struct owner_kit *kit, const char *topic, int32_t partition, int64_t offset,
                    struct record *ret_record)
{
    struct broker_record record;
    struct error error;
    return broker_memory_record(kit->kafka, topic, partition, offset, &record) &&
           codec_decode(kit->codec, record.value, true, &kit->heap.arena, ret_record, &error) ==
               ERROR_OK;
}

uint32_t owner_kit_count(struct owner_kit *kit, const char *topic, int32_t partition,
                         enum record_kind kind)
{
    uint32_t count = 0;
    struct record record;
    heap_arena_reset(&kit->heap);
    for (int64_t at = 0; at < owner_kit_end(kit, topic, partition); at++)
        count += owner_kit_read(kit, topic, partition, at, &record) && record.kind == kind;
    return count;
}

uint32_t owner_kit_decisions(struct owner_kit *kit, int32_t partition)
{
    return owner_kit_count(kit, "p.events", partition, RECORD_DECISION);
}

const struct decision *owner_kit_decision(struct owner_kit *kit, int32_t partition,
                                          const char *order_id)
{
    static struct record record;
    heap_arena_reset(&kit->heap);
    for (int64_t at = owner_kit_end(kit, "p.events", partition) - 1; at >= 0; at--)
        if (owner_kit_read(kit, "p.events", partition, at, &record) &&
            record.kind == RECORD_DECISION &&
            text_equal(record.decision.order_id, text_of(order_id)))
            return &record.decision;
    cr_assert(false, "no decision about %s", order_id);
    return NULL;
}

uint32_t owner_kit_requests(struct owner_kit *kit, const char *order_id)
{
    uint32_t count = 0;
    struct record record;
    heap_arena_reset(&kit->heap);
    for (int32_t p = 0; p < kit->partitions; p++)
        for (int64_t at = 0; at < owner_kit_end(kit, "p.requests.agent", p); at++)
            count += owner_kit_read(kit, "p.requests.agent", p, at, &record) &&
                     text_equal(record.step_request.order_id, text_of(order_id));
    return count;
}

uint32_t owner_kit_alerts(struct owner_kit *kit, const char *code, bool raised)
{
    return site_alerts(kit->kafka, kit->codec, "p.alerts", 1, code, raised);
}

const char *owner_kit_trouble(const struct owner *owner)
{
    static char text[ERROR_MESSAGE_SIZE + 64];
    text[0] = '\0';
    owner_trouble(owner, text, sizeof(text));
    return text;
}
