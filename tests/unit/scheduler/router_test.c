/* SPDX-License-Identifier: Apache-2.0 */
/* Capacities, queues and picks over real stores, without brokers: two partitions of one process,
 * agents that come and go, random histories. Always, the counts are those of the orders, no start
 * exceeds the limit, no step is overtaken, and in the end every step is served. */
#include "replica/view.h"
#include "services/scheduler/router_internal.h"
#include "tests/unit/statestore/kit.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

TestSuite(router);

enum { PARTITIONS = 2, ORDERS_MAX = 400, LOG_MAX = 8000, COMMANDS_MAX = 512, NOW = 1000000 };

static const char *const definition =
    "{\"Name\": \"test\", \"Version\": 1, \"Steps\": [{\"Name\": \"A\", \"Agents\": [\"x\", "
    "\"y\"]}, {\"Name\": \"B\", \"Agent\": \"y\", \"After\": []}]}";
static const char *const agents[] = {"x", "y"};

struct site;

struct partition {
    struct site *site;
    const char *path;
    struct view *view;
    struct route_partition source;
    struct buffer log[LOG_MAX];
    int64_t count;     /* of the log */
    int64_t committed; /* of it */
    struct backlog *backlog;
    int64_t commands_decided;
    struct command commands[COMMANDS_MAX]; /* StartSteps on their way */
    char ids[COMMANDS_MAX][24];
    uint32_t command_count;
    char orders[ORDERS_MAX][24];
    uint32_t order_count;
};

struct site {
    struct store_env *env;
    struct codec *codec;
    struct heap_arena heap;
    struct workflow_registry *registry;
    struct router *router;
    int64_t now;
    uint64_t seed;
    uint64_t starts; /* in all */
    struct partition partitions[PARTITIONS];
};

static uint32_t roll(struct site *site, uint32_t sides)
{
    site->seed = site->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(site->seed >> 33) % sides;
}

static const struct order *order_of(const struct partition *partition, const char *id)
{
    const struct order *order = NULL;
    struct error error = {0};
    cr_assert(view_order(partition->view, text_of(id), &order, &error) == ERROR_OK, "%s",
              error.message);
    return order;
}

/* ---- the partition's owner ---- */

static enum route_answer ask(void *ctx, const struct route_pick *pick)
{
    struct partition *partition = ctx;
    char id[24];
    snprintf(id, sizeof(id), "%.*s", TEXT_ARG(pick->order_id));
    const struct order *order = order_of(partition, id);
    if (order == NULL || !order_step_queued(order, &order->steps[pick->step]))
        return ROUTE_GONE;
    if (partition->command_count == COMMANDS_MAX)
        return ROUTE_LATER;
    const struct step *step = &order->steps[pick->step];
    uint32_t at = partition->command_count++;
    snprintf(partition->ids[at], sizeof(partition->ids[at]), "%s", id);
    struct text copy = text_of(partition->ids[at]);
    partition->commands[at] = (struct command){
        .kind = COMMAND_START_STEP,
        .order_id = copy,
        .start_step = {copy, pick->step == 0 ? TEXT("A") : TEXT("B"), step->direction,
                       step->attempt, step->retry_at, TEXT("s-1")}};
    return ROUTE_SENT;
}

static void join(struct partition *partition)
{
    partition->source = (struct route_partition){
        .start = ask, .ctx = partition, .view = partition->view, .backlog = partition->backlog};
    router_join(partition->site->router, &partition->source);
}

static void open_view(struct partition *partition)
{
    struct site *site = partition->site;
    struct view_options options = {.env = site->env,
                                   .codec = site->codec,
                                   .path = partition->path,
                                   .cache_orders = 4,
                                   .index = &backlog_index,
                                   .index_ctx = backlog_new(site->router, true)};
    struct error error = {0};
    bool dropped = false;
    partition->backlog = options.index_ctx;
    cr_assert(view_open(&options, &partition->view, &dropped, &error) == ERROR_OK, "%s",
              error.message);
    cr_assert_not(dropped);
    view_set_cluster_id(partition->view, "kit");
}

static void close_view(struct partition *partition)
{
    view_close(partition->view);
    backlog_free(partition->backlog);
}

static void fold(const struct partition *partition, struct view *view, int64_t offset)
{
    struct error error = {0};
    struct view_folded folded;
    const struct buffer *value = &partition->log[offset];
    struct broker_record record = {.topic = "p.events",
                                   .offset = offset,
                                   .value = {(const char *)value->data, (uint32_t)value->size}};
    cr_assert(view_fold(view, &record, &folded, &error) == ERROR_OK, "%s", error.message);
    cr_assert_eq(folded.admission, ADMITTED);
}

static void commit(struct partition *partition)
{
    struct error error = {0};
    cr_assert(view_commit(partition->view, false, &error) == ERROR_OK, "%s", error.message);
    view_tidy(partition->view);
    partition->committed = partition->count;
    router_stored(partition->site->router, &partition->source);
}

/* What was not committed is lost, and with it what was asked for; or all is closed and opened. */
static void lose(struct partition *partition, bool reopen)
{
    struct error error = {0};
    router_leave(partition->site->router, &partition->source);
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

static bool named_by(const struct route_agent *agent, uint32_t step)
{
    return agent->name[0] == 'y' || step == 0;
}

/* No start exceeds the limit; a step that was not picked overtakes no other. */
static void check_starts(struct site *site, const struct decision *decision,
                         const struct route_agent *reserved, const int64_t waited[2])
{
    for (uint32_t i = 0; i < decision->event_count; i++) {
        const struct event *event = &decision->events[i];
        if (event->kind != EVENT_STEP_STARTED)
            continue;
        const struct route_agent *agent = router_agent(site->router, event->step_started.agent);
        site->starts++;
        cr_assert(agent->status.healthy);
        cr_assert_leq(agent->running + agent->starting, agent->limit);
        cr_assert(reserved != NULL || waited[agent->name[0] - 'x'] == 0, "overtaken");
    }
}

static void decide_one(struct partition *partition, const struct command *cmd)
{
    struct site *site = partition->site;
    struct error error = {0};
    char id[24];
    snprintf(id, sizeof(id), "%.*s", TEXT_ARG(cmd->order_id));
    const struct order *order = order_of(partition, id);
    const struct workflow *workflow = workflow_registry_find(site->registry, TEXT("test"), 1);
    const struct route_agent *reserved = NULL;
    int step = -1;
    int64_t waited[2];
    for (int i = 0; i < 2; i++)
        waited[i] = route_agent_waiting(router_agent(site->router, text_of(agents[i])));
    if (cmd->kind == COMMAND_START_STEP) {
        step = order_find_step(order, cmd->start_step.step);
        reserved = router_reserved(&partition->source, cmd->order_id, (uint32_t)step);
    }
    struct decide_input input = {.now = site->now,
                                 .margin_ms = 1,
                                 .instance = TEXT("s-1"),
                                 .workflow = workflow,
                                 .routing = router_routing(site->router, workflow, reserved),
                                 .command_offset = partition->commands_decided++,
                                 .command_time = site->now};
    struct decision decision;
    heap_arena_reset(&site->heap);
    engine_decide(order, cmd, &input, &site->heap.arena, &decision);
    const struct checkpoint *checkpoint = view_checkpoint(partition->view);
    decision.claim_id = checkpoint->claim_id;
    decision.sequence = checkpoint->next_sequence;
    cr_assert_lt(partition->count, LOG_MAX);
    struct buffer *value = &partition->log[partition->count];
    *value = (struct buffer){0};
    codec_encode(site->codec, RECORD_DECISION, &decision, value);
    cr_assert(view_decided(partition->view, &decision,
                           (struct text){(const char *)value->data, (uint32_t)value->size},
                           partition->count++, &error) == ERROR_OK,
              "%s", error.message);
    if (reserved != NULL) {
        order = order_of(partition, id);
        router_start_decided(site->router, &partition->source, cmd->order_id, (uint32_t)step,
                             order_step_queued(order, &order->steps[step]));
    }
    check_starts(site, &decision, reserved, waited);
}

static void decide_commands(struct partition *partition)
{
    struct command commands[COMMANDS_MAX];
    static char ids[COMMANDS_MAX][24];
    uint32_t count = partition->command_count;
    memcpy(commands, partition->commands, sizeof(commands[0]) * count);
    memcpy(ids, partition->ids, sizeof(ids[0]) * count);
    partition->command_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        commands[i].order_id = commands[i].start_step.order_id = text_of(ids[i]);
        const struct order *order = order_of(partition, ids[i]);
        if (order != NULL)
            decide_one(partition, &commands[i]);
    }
}

static void submit(struct partition *partition, enum priority priority)
{
    char *id = partition->orders[partition->order_count];
    snprintf(id, sizeof(partition->orders[0]), "o-%u", partition->order_count);
    struct command cmd = {.kind = COMMAND_SUBMIT_ORDER, .order_id = text_of(id)};
    cmd.submit_order = (struct order_details){.order_id = text_of(id),
                                              .currency = TEXT("EUR"),
                                              .priority = priority,
                                              .workflow = TEXT("test")};
    partition->order_count++;
    decide_one(partition, &cmd);
}

static void report(struct partition *partition, const char *id)
{
    const struct order *order = order_of(partition, id);
    for (uint32_t i = 0; order != NULL && i < order->step_count; i++) {
        if (order->steps[i].state != STEP_PROCESSING)
            continue;
        struct command cmd = {.kind = COMMAND_REPORT_STEP, .order_id = text_of(id)};
        cmd.report_step = (struct report_step){.order_id = text_of(id),
                                               .step = order->steps[i].name,
                                               .attempt = order->steps[i].attempt,
                                               .succeeded = true};
        decide_one(partition, &cmd);
        return;
    }
}

/* ---- what must hold ---- */

static void check_counts(struct site *site)
{
    for (int a = 0; a < 2; a++) {
        const struct route_agent *agent = router_agent(site->router, text_of(agents[a]));
        int64_t running = 0;
        int64_t waiting = 0;
        int64_t asked = 0;
        for (int p = 0; p < PARTITIONS; p++) {
            const struct partition *partition = &site->partitions[p];
            for (uint32_t i = 0; i < partition->order_count; i++) {
                const struct order *order = order_of(partition, partition->orders[i]);
                for (uint32_t s = 0; order != NULL && s < order->step_count; s++) {
                    const struct step *step = &order->steps[s];
                    running += step->state == STEP_PROCESSING &&
                               text_equal(step->agent, text_of(agent->name));
                    waiting += order_step_queued(order, step) && named_by(agent, s);
                }
            }
            asked += partition->command_count;
        }
        cr_assert_eq(agent->running, running);
        cr_assert_eq(route_agent_waiting(agent), waiting);
        cr_assert_leq(agent->starting, asked);
    }
}

static void set_agent(struct site *site, int number, bool well, int64_t calls)
{
    struct agent_status health = {
        .healthy = well, .calls = calls, .latency_p95_ms = 7, .why = "no live instance"};
    router_set_agent(site->router, text_of(agents[number]), &health);
}

static bool all_ended(const struct site *site)
{
    for (int p = 0; p < PARTITIONS; p++) {
        const struct partition *partition = &site->partitions[p];
        for (uint32_t i = 0; i < partition->order_count; i++) {
            const struct order *order = order_of(partition, partition->orders[i]);
            if (order != NULL && !order_ended(order))
                return false;
        }
    }
    return true;
}

static void begin(struct site *site, uint64_t seed)
{
    struct error error = {0};
    struct workflow_definition deployed = {
        .name = TEXT("test"), .version = 1, .source = text_of(definition), .format = TEXT("json")};
    *site = (struct site){.env = kit_env(), .codec = codec_new(), .now = NOW, .seed = seed};
    heap_arena_init(&site->heap, 4096);
    site->registry = workflow_registry_new();
    cr_assert(workflow_registry_add(site->registry, &deployed, &error) == ERROR_OK, "%s",
              error.message);
    struct router_options options = {.workflows = site->registry,
                                     .factor = 2,
                                     .retry_ms_min = 10,
                                     .retry_ms_max = 100,
                                     .weights = {16, 4, 1}};
    site->router = router_new(&options);
    const char *folder = kit_folder();
    for (int p = 0; p < PARTITIONS; p++) {
        struct partition *partition = &site->partitions[p];
        struct claim claim = {.instance = TEXT("s-1"), .claimed_at = NOW, .partition_count = 2};
        char name[16];
        claim.claim_id.bytes[0] = 7;
        snprintf(name, sizeof(name), "p%d", p);
        partition->site = site;
        partition->path = kit_path(folder, name);
        open_view(partition);
        codec_encode(site->codec, RECORD_CLAIM, &claim, &partition->log[partition->count++]);
        fold(partition, partition->view, 0);
        join(partition);
        commit(partition);
    }
}

/* A store without a router, folded from the log, has the same rows. */
static void check_digest(struct partition *partition)
{
    struct content_hash digests[2];
    struct error error = {0};
    struct view *view = NULL;
    uint64_t orders = 0;
    bool dropped = false;
    char path[KIT_PATH_SIZE];
    snprintf(path, sizeof(path), "%s-folded", partition->path);
    struct view_options options = {.env = partition->site->env,
                                   .codec = partition->site->codec,
                                   .path = path,
                                   .cache_orders = 4};
    cr_assert(view_open(&options, &view, &dropped, &error) == ERROR_OK);
    view_set_cluster_id(view, "kit");
    for (int64_t i = 0; i < partition->count; i++)
        fold(partition, view, i);
    cr_assert(view_commit(view, false, &error) == ERROR_OK);
    cr_assert(store_digest(view_store(view), &digests[0], &orders, &error) == ERROR_OK);
    cr_assert(store_digest(view_store(partition->view), &digests[1], &orders, &error) == ERROR_OK);
    cr_assert_arr_eq(digests[0].bytes, digests[1].bytes, sizeof(digests[0].bytes));
    view_close(view);
}

static void end(struct site *site)
{
    for (int p = 0; p < PARTITIONS; p++) {
        struct partition *partition = &site->partitions[p];
        commit(partition);
        check_digest(partition);
        router_leave(site->router, &partition->source);
        close_view(partition);
        for (int64_t i = 0; i < partition->count; i++)
            buffer_deinit(&partition->log[i]);
    }
    router_free(site->router);
    workflow_registry_free(site->registry);
    heap_arena_deinit(&site->heap);
    codec_free(site->codec);
    store_env_free(site->env);
}

static void act(struct site *site)
{
    struct partition *partition = &site->partitions[roll(site, PARTITIONS)];
    uint32_t dice = roll(site, 100);
    site->now += roll(site, 3);
    if (dice < 25 && partition->order_count < ORDERS_MAX)
        submit(partition, (enum priority)roll(site, PRIORITY_COUNT));
    else if (dice < 60 && partition->order_count > 0)
        report(partition, partition->orders[roll(site, partition->order_count)]);
    else if (dice < 75)
        decide_commands(partition);
    else if (dice < 88)
        commit(partition);
    else if (dice < 90)
        lose(partition, roll(site, 2) == 0);
    else if (dice < 93)
        set_agent(site, (int)roll(site, 2), roll(site, 3) > 0, roll(site, 6));
    else
        (void)router_pick(site->router, roll(site, 2) == 0);
}

static void random_history(uint64_t seed)
{
    static struct site site;
    begin(&site, seed);
    for (int i = 0; i < 1200; i++) {
        act(&site);
        if (i % 16 == 0)
            check_counts(&site);
    }
    set_agent(&site, 0, true, 3);
    set_agent(&site, 1, true, 3);
    for (int round = 0; !all_ended(&site); round++) {
        cr_assert_lt(round, 2000, "seed %llu: a step waits for ever", (unsigned long long)seed);
        (void)router_pick(site.router, true);
        for (int p = 0; p < PARTITIONS; p++) {
            struct partition *partition = &site.partitions[p];
            decide_commands(partition);
            for (uint32_t i = 0; i < partition->order_count; i++)
                report(partition, partition->orders[i]);
            commit(partition);
        }
        check_counts(&site);
    }
    cr_assert_gt(site.starts, 100);
    end(&site);
}

Test(router, keeps_its_counts_right_and_serves_every_step)
{
    for (uint64_t seed = 1; seed <= 12; seed++)
        random_history(seed);
}

/* The ids of the steps that are picked, one after the other, while nothing ends. */
static void expect_picks(struct site *site, const char *const ids[], uint32_t count)
{
    const struct partition *partition = &site->partitions[0];
    (void)router_pick(site->router, true);
    cr_assert_eq(partition->command_count, count, "%u picks", partition->command_count);
    for (uint32_t i = 0; i < count; i++)
        cr_expect_str_eq(partition->ids[i], ids[i], "pick %u: %s", i, partition->ids[i]);
}

Test(router, picks_by_priority_then_by_waiting_time)
{
    static struct site site;
    begin(&site, 1);
    struct partition *partition = &site.partitions[0];
    for (int i = 0; i < 4; i++, site.now++)
        submit(partition, PRIORITY_LOW); /* o-0 .. o-3 */
    for (int i = 0; i < 2; i++, site.now++)
        submit(partition, PRIORITY_HIGH); /* o-4, o-5 */
    commit(partition);
    /* y only takes B: x is away, so A also waits for y. */
    set_agent(&site, 1, true, 2);
    cr_assert_eq(route_agent_waiting(router_agent(site.router, TEXT("y"))), 12);
    cr_assert_eq(router_agent(site.router, TEXT("y"))->limit, 4);
    expect_picks(&site, (const char *const[]){"o-4", "o-4", "o-5", "o-5"}, 4);
    /* Room for as many as were asked for: a new one has to wait. */
    submit(partition, PRIORITY_HIGH);
    cr_assert_eq(order_of(partition, "o-6")->steps[0].state, STEP_PENDING);
    decide_commands(partition);
    cr_assert_eq(router_agent(site.router, TEXT("y"))->running, 4);
    expect_picks(&site, NULL, 0);
    end(&site);
}

Test(router, folds_an_old_store_without_a_tally_again)
{
    static struct site site;
    struct error error = {0};
    bool dropped = false;
    begin(&site, 1);
    struct partition *partition = &site.partitions[0];
    struct view_options options = {.env = site.env,
                                   .codec = site.codec,
                                   .path = kit_path(kit_folder(), "old"),
                                   .cache_orders = 4};
    struct view *view = NULL;
    cr_assert(view_open(&options, &view, &dropped, &error) == ERROR_OK);
    view_set_cluster_id(view, "kit");
    fold(partition, view, 0);
    cr_assert(view_commit(view, false, &error) == ERROR_OK);
    view_close(view);
    struct backlog *backlog = backlog_new(site.router, true);
    options.index = &backlog_index;
    options.index_ctx = backlog;
    cr_assert(view_open(&options, &view, &dropped, &error) == ERROR_OK);
    cr_assert(dropped);
    cr_assert_eq(view_checkpoint(view)->next_event_offset, 0);
    view_close(view);
    backlog_free(backlog);
    end(&site);
}
