/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/scheduler/router_kit.h"

#include "base/goods.h"
#include "tests/unit/replica/view_kit.h"
#include "tests/unit/statestore/kit.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const definition =
    "{\"Name\": \"test\", \"Version\": 1, \"Steps\": [{\"Name\": \"A\", \"Agents\": [\"x\", "
    "\"y\"]}, {\"Name\": \"B\", \"Agent\": \"y\", \"After\": []}]}";
const char *const router_kit_agents[2] = {"x", "y"};

uint32_t router_kit_roll(struct router_kit *kit, uint32_t sides)
{
    kit->seed = kit->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(kit->seed >> 33) % sides;
}

const struct order *router_kit_order(const struct router_kit_partition *partition, const char *id)
{
    return view_kit_order(partition->view, id);
}

const struct step *router_kit_first_step(const struct router_kit_partition *partition,
                                         const char *id)
{
    return &router_kit_order(partition, id)->steps[0];
}

/* ---- the partition's owner ---- */

static enum route_answer ask(void *ctx, const struct route_pick *pick)
{
    struct router_kit_partition *partition = ctx;
    char id[24];
    snprintf(id, sizeof(id), "%.*s", TEXT_ARG(pick->order_id));
    const struct order *order = router_kit_order(partition, id);
    if (order == NULL || !order_step_queued(order, &order->steps[pick->step]))
        return ROUTE_GONE;
    if (partition->command_count == ROUTER_KIT_COMMANDS_MAX)
        return ROUTE_LATER;
    const struct step *step = &order->steps[pick->step];
    uint32_t at = partition->command_count++;
    snprintf(partition->ids[at], sizeof(partition->ids[at]), "%s", id);
    struct text copy = text_of(partition->ids[at]);
    partition->commands[at] = (struct command){
        .kind = COMMAND_START_STEP,
        .order_id = copy,
        .start_step = {copy, pick->step == 0 ? TEXT("A") : TEXT("B"), step->direction,
                       step->attempt, step_wait(step).until, TEXT("s-1")}};
    return ROUTE_SENT;
}

static void join(struct router_kit_partition *partition)
{
    partition->routed = (struct route_partition){
        .start = ask, .ctx = partition, .view = partition->view, .backlog = partition->backlog};
    router_join(partition->kit->router, &partition->routed);
}

static void open_view(struct router_kit_partition *partition)
{
    struct router_kit *kit = partition->kit;
    struct view_options options = {.env = kit->env,
                                   .codec = kit->codec,
                                   .path = partition->path,
                                   .cache_bytes = 4 * 2048,
                                   .index = &backlog_index,
                                   .index_ctx = backlog_new(kit->router, true)};
    struct error error = {0};
    bool dropped = false;
    partition->backlog = options.index_ctx;
    cr_assert(view_open(&options, &partition->view, &dropped, &error) == ERROR_OK, "%s",
              error.message);
    cr_assert_not(dropped);
    view_set_cluster_id(partition->view, "kit");
}

static void close_view(struct router_kit_partition *partition)
{
    view_close(partition->view);
    backlog_free(partition->backlog);
}

void router_kit_fold(const struct router_kit_partition *partition, struct view *view,
                     int64_t offset)
{
    struct view_folded folded;
    const struct buffer *value = &partition->log[offset];
    view_kit_fold(view, offset, (struct text){(const char *)value->data, (uint32_t)value->size},
                  &folded);
    cr_assert_eq(folded.admission, ADMITTED);
}

void router_kit_commit(struct router_kit_partition *partition)
{
    struct error error = {0};
    cr_assert(view_commit(partition->view, &error) == ERROR_OK, "%s", error.message);
    cr_assert(view_flush(partition->view, &error) == ERROR_OK, "%s", error.message);
    view_tidy(partition->view);
    partition->committed = partition->count;
    router_acknowledged(partition->kit->router, &partition->routed);
}

void router_kit_lose(struct router_kit_partition *partition, bool reopen)
{
    struct error error = {0};
    router_leave(partition->kit->router, &partition->routed);
    partition->command_count = 0;
    if (reopen) {
        close_view(partition);
        open_view(partition);
    } else {
        cr_assert(view_rollback(partition->view, &error) == ERROR_OK, "%s", error.message);
        view_set_cluster_id(partition->view, "kit");
    }
    while (partition->count > partition->committed)
        buffer_deinit(&partition->log[--partition->count]);
    memset(&partition->log[partition->count], 0, sizeof(partition->log[0]));
    join(partition);
}

/* ---- deciding ---- */

static bool named_by(const struct router_kit *kit, const struct route_agent *agent, uint32_t step)
{
    return agent->name[0] == 'x' ? step == 0 : step == 1 || !kit->switched_off;
}

/* No start exceeds the limit; a step that was not picked takes no other one's capacity. `waited`:
 * what was not picked before. */
static void check_starts(struct router_kit *kit, const struct decision *decision,
                         const struct route_agent *reserved, const int64_t waited[2])
{
    for (uint32_t i = 0; i < decision->event_count; i++) {
        const struct event *event = &decision->events[i];
        if (event->kind != EVENT_STEP_STARTED)
            continue;
        const struct route_agent *agent = router_agent(kit->router, event->step_started.agent);
        kit->starts++;
        cr_assert(agent->status.healthy);
        cr_assert_null(agent->pause, "an attempt started while the agent was paused");
        cr_assert(!kit->switched_off ||
                  event->step_started.agent.data[0] ==
                      (text_equal(event->step_started.ref.step, TEXT("A")) ? 'x' : 'y'));
        cr_assert_leq(agent->running + agent->starting, agent->limit);
        int64_t others = waited[agent->name[0] - 'x'];
        cr_assert(reserved != NULL || others <= 0 ||
                      agent->running + agent->starting + others <= agent->limit,
                  "overtaken");
    }
}

/* No supervisor need ask again for a step that waits for a paused agent. */
static void check_queued(struct router_kit *kit, const struct decision *decision)
{
    for (uint32_t i = 0; i < decision->event_count; i++) {
        const struct event *event = &decision->events[i];
        if (event->kind != EVENT_STEP_QUEUED)
            continue;
        char agent = text_equal(event->step_queued.ref.step, TEXT("A")) ? 'x' : 'y';
        if (router_agent(kit->router, (struct text){&agent, 1})->pause == NULL)
            continue;
        kit->queued_for_a_pause++;
        cr_assert_eq(event->step_queued.retry_at, 0);
    }
}

static void decide_one(struct router_kit_partition *partition, const struct command *cmd)
{
    struct router_kit *kit = partition->kit;
    struct error error = {0};
    char id[24];
    snprintf(id, sizeof(id), "%.*s", TEXT_ARG(cmd->order_id));
    const struct order *order = router_kit_order(partition, id);
    const struct workflow *workflow = workflow_registry_find(kit->registry, TEXT("test"), 1);
    const struct route_agent *reserved = NULL;
    int step = -1;
    int64_t waited[2];
    for (int i = 0; i < 2; i++) {
        const struct route_agent *agent = router_agent(kit->router, text_of(router_kit_agents[i]));
        waited[i] = route_agent_waiting(agent) - agent->starting;
    }
    if (cmd->kind == COMMAND_START_STEP) {
        step = order_find_step(order, cmd->start_step.step);
        reserved = router_reserved(&partition->routed, cmd->order_id, (uint32_t)step);
    }
    struct decide_input input = {.now = kit->now,
                                 .margin_ms = 1,
                                 .instance = TEXT("s-1"),
                                 .workflow = workflow,
                                 .routing = router_routing(kit->router, workflow, reserved),
                                 .command_offset = partition->commands_decided++,
                                 .command_time = kit->now};
    struct decision decision;
    heap_arena_reset(&kit->heap);
    engine_decide(order, cmd, &input, &kit->heap.arena, &decision);
    const struct checkpoint *checkpoint = view_checkpoint(partition->view);
    decision.claim_id = checkpoint->claim_id;
    decision.sequence = checkpoint->next_sequence;
    cr_assert_lt(partition->count, ROUTER_KIT_LOG_MAX);
    struct buffer *value = &partition->log[partition->count];
    *value = (struct buffer){0};
    decision.offset = partition->count++;
    codec_encode(kit->codec, RECORD_DECISION, &decision, value);
    cr_assert(view_decided(partition->view, &decision,
                           (struct text){(const char *)value->data, (uint32_t)value->size},
                           &error) == ERROR_OK,
              "%s", error.message);
    if (reserved != NULL) {
        order = router_kit_order(partition, id);
        router_start_decided(kit->router, &partition->routed, cmd->order_id, (uint32_t)step,
                             order_step_queued(order, &order->steps[step]));
    }
    check_starts(kit, &decision, reserved, waited);
    check_queued(kit, &decision);
}

void router_kit_decide(struct router_kit_partition *partition)
{
    struct command commands[ROUTER_KIT_COMMANDS_MAX];
    static char ids[ROUTER_KIT_COMMANDS_MAX][24];
    uint32_t count = partition->command_count;
    memcpy(commands, partition->commands, sizeof(commands[0]) * count);
    memcpy(ids, partition->ids, sizeof(ids[0]) * count);
    partition->command_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        commands[i].order_id = commands[i].start_step.order_id = text_of(ids[i]);
        const struct order *order = router_kit_order(partition, ids[i]);
        if (order != NULL)
            decide_one(partition, &commands[i]);
    }
}

void router_kit_submit(struct router_kit_partition *partition, enum priority priority)
{
    char *id = partition->orders[partition->order_count];
    snprintf(id, sizeof(partition->orders[0]), "o-%u", partition->order_count);
    struct command cmd = {.kind = COMMAND_SUBMIT_ORDER, .order_id = text_of(id)};
    cmd.submit_order = (struct order_details){.order_id = text_of(id),
                                              .goods = &(struct goods){.currency = TEXT("EUR")},
                                              .priority = priority,
                                              .workflow = TEXT("test")};
    partition->order_count++;
    decide_one(partition, &cmd);
}

void router_kit_report(struct router_kit_partition *partition, const char *id)
{
    const struct order *order = router_kit_order(partition, id);
    for (uint32_t i = 0; order != NULL && i < order->step_count; i++) {
        if (order->steps[i].state != STEP_PROCESSING)
            continue;
        struct command cmd = {.kind = COMMAND_REPORT_STEP, .order_id = text_of(id)};
        cmd.report_step = (struct report_step){.order_id = text_of(id),
                                               .step = order->steps[i].name,
                                               .attempt = order->steps[i].attempt,
                                               .succeeded = true};
        router_completed(partition->kit->router, order->steps[i].agent, partition->kit->now);
        decide_one(partition, &cmd);
        return;
    }
}

/* ---- what must hold ---- */

static bool count_row(void *ctx, const struct waiting_row *row)
{
    (void)row;
    ++*(int64_t *)ctx;
    return true;
}

/* What a queue counts is what its view finds, in memory and in its store. */
static void check_rows(const struct router_kit_partition *partition)
{
    struct error error = {0};
    for (const struct backlog_queue *queue = partition->backlog->queues; queue != NULL;
         queue = queue->hh.next) {
        struct text key = {queue->queue->key, queue->queue->key_size};
        for (int priority = 0; priority < PRIORITY_COUNT; priority++) {
            int64_t rows = 0;
            cr_assert(view_scan_waiting(partition->view, key, (enum priority)priority, INT64_MIN,
                                        count_row, &rows, &error) == ERROR_OK,
                      "%s", error.message);
            cr_assert_eq(rows, queue->waiting[priority]);
        }
    }
}

void router_kit_check_counts(struct router_kit *kit)
{
    for (int p = 0; p < ROUTER_KIT_PARTITIONS; p++)
        check_rows(&kit->partitions[p]);
    for (int a = 0; a < 2; a++) {
        const struct route_agent *agent = router_agent(kit->router, text_of(router_kit_agents[a]));
        int64_t running = 0;
        int64_t waiting = 0;
        int64_t asked = 0;
        for (int p = 0; p < ROUTER_KIT_PARTITIONS; p++) {
            const struct router_kit_partition *partition = &kit->partitions[p];
            for (uint32_t i = 0; i < partition->order_count; i++) {
                const struct order *order = router_kit_order(partition, partition->orders[i]);
                for (uint32_t s = 0; order != NULL && s < order->step_count; s++) {
                    const struct step *step = &order->steps[s];
                    running += step->state == STEP_PROCESSING &&
                               text_equal(step->agent, text_of(agent->name));
                    waiting += order_step_queued(order, step) && named_by(kit, agent, s);
                }
            }
            asked += partition->command_count;
        }
        cr_assert_eq(agent->running, running);
        cr_assert_eq(route_agent_waiting(agent), waiting);
        cr_assert_leq(agent->starting, asked);
    }
}

void router_kit_set_agent(struct router_kit *kit, int number, bool well, int64_t calls)
{
    if (kit->switched_off)
        return;
    struct agent_status health = {
        .healthy = well, .calls = calls, .latency_p95_ms = 7, .why = "no live instance"};
    router_set_agent(kit->router, text_of(router_kit_agents[number]), &health);
}

bool router_kit_all_ended(const struct router_kit *kit)
{
    for (int p = 0; p < ROUTER_KIT_PARTITIONS; p++) {
        const struct router_kit_partition *partition = &kit->partitions[p];
        for (uint32_t i = 0; i < partition->order_count; i++) {
            const struct order *order = router_kit_order(partition, partition->orders[i]);
            if (order != NULL && !order_ended(order))
                return false;
        }
    }
    return true;
}

void router_kit_deploy(struct router_kit *kit)
{
    struct error error = {0};
    struct workflow_definition deployed = {
        .name = TEXT("test"), .version = 1, .text = text_of(definition), .format = TEXT("json")};
    cr_assert(workflow_registry_add(kit->registry, &deployed, &error) == ERROR_OK, "%s",
              error.message);
}

static void begin_process(struct router_kit *kit)
{
    kit->registry = workflow_registry_new();
    struct router_options options = {.switched_off = kit->switched_off,
                                     .workflows = kit->registry,
                                     .factor = 2,
                                     .wait_ms = ROUTER_KIT_WAIT_MS,
                                     .retry_ms_min = 10,
                                     .retry_ms_max = 100,
                                     .weights = {16, 4, 1}};
    kit->router = router_new(&options);
}

void router_kit_restart(struct router_kit *kit)
{
    for (int p = 0; p < ROUTER_KIT_PARTITIONS; p++) {
        router_leave(kit->router, &kit->partitions[p].routed);
        close_view(&kit->partitions[p]);
        kit->partitions[p].command_count = 0;
    }
    router_free(kit->router);
    workflow_registry_free(kit->registry);
    begin_process(kit);
    for (int p = 0; p < ROUTER_KIT_PARTITIONS; p++) {
        open_view(&kit->partitions[p]);
        join(&kit->partitions[p]);
    }
}

void router_kit_begin_with(struct router_kit *kit, uint64_t seed, bool switched_off)
{
    *kit = (struct router_kit){.env = kit_env(),
                               .codec = codec_new(),
                               .now = ROUTER_KIT_NOW,
                               .seed = seed,
                               .switched_off = switched_off};
    heap_arena_init(&kit->heap, 4096);
    begin_process(kit);
    router_kit_deploy(kit);
    const char *folder = kit_folder();
    for (int p = 0; p < ROUTER_KIT_PARTITIONS; p++) {
        struct router_kit_partition *partition = &kit->partitions[p];
        struct claim claim = {
            .instance = TEXT("s-1"), .claimed_at = ROUTER_KIT_NOW, .partition_count = 2};
        char name[16];
        claim.claim_id.bytes[0] = 7;
        snprintf(name, sizeof(name), "p%d", p);
        partition->kit = kit;
        partition->path = kit_path(folder, name);
        open_view(partition);
        codec_encode(kit->codec, RECORD_CLAIM, &claim, &partition->log[partition->count++]);
        router_kit_fold(partition, partition->view, 0);
        join(partition);
        router_kit_commit(partition);
    }
}

void router_kit_begin(struct router_kit *kit, uint64_t seed)
{
    router_kit_begin_with(kit, seed, false);
}

/* A store without a router, folded from the log, has the same rows. */
static void check_digest(struct router_kit_partition *partition)
{
    struct content_hash digests[2];
    struct error error = {0};
    uint64_t orders = 0;
    char path[KIT_PATH_SIZE];
    snprintf(path, sizeof(path), "%s-folded", partition->path);
    struct view_options options = {.env = partition->kit->env,
                                   .codec = partition->kit->codec,
                                   .path = path,
                                   .cache_bytes = 4 * 2048};
    struct view *view = view_kit_open(&options);
    for (int64_t i = 0; i < partition->count; i++)
        router_kit_fold(partition, view, i);
    cr_assert(view_commit(view, &error) == ERROR_OK);
    cr_assert(store_digest(view_store(view), &digests[0], &orders, &error) == ERROR_OK);
    cr_assert(store_digest(view_store(partition->view), &digests[1], &orders, &error) == ERROR_OK);
    cr_assert_arr_eq(digests[0].bytes, digests[1].bytes, sizeof(digests[0].bytes));
    view_close(view);
}

void router_kit_end(struct router_kit *kit)
{
    for (int p = 0; p < ROUTER_KIT_PARTITIONS; p++) {
        struct router_kit_partition *partition = &kit->partitions[p];
        router_kit_commit(partition);
        check_digest(partition);
        router_leave(kit->router, &partition->routed);
        close_view(partition);
        for (int64_t i = 0; i < partition->count; i++)
            buffer_deinit(&partition->log[i]);
    }
    router_free(kit->router);
    workflow_registry_free(kit->registry);
    heap_arena_deinit(&kit->heap);
    codec_free(kit->codec);
    store_env_free(kit->env);
}

void router_kit_expect_picks(struct router_kit *kit, const char *const ids[], uint32_t count)
{
    const struct router_kit_partition *partition = &kit->partitions[0];
    router_pick(kit->router, true);
    cr_assert_eq(partition->command_count, count, "%u picks", partition->command_count);
    for (uint32_t i = 0; i < count; i++)
        cr_expect_str_eq(partition->ids[i], ids[i], "pick %u: %s", i, partition->ids[i]);
}
