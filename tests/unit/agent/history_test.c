/* SPDX-License-Identifier: Apache-2.0 */
/* What an agent learns from the log: answers of other instances, whose folders it does not have. */
#include "tests/unit/agent/world.h"

#include "services/agent/answers/found.h"
#include "services/agent/answers/history.h"

#include <criterion/criterion.h>
#include <stdlib.h>

enum { SOON = 1000000 + 60000, STEPS = 60 };

/* Instances that are added from now on have a folder of their own. */
static void use_new_folder(struct world *world)
{
    static char folder[512];
    const char *tmp = getenv("TMPDIR");
    snprintf(folder, sizeof(folder), "%s/agent-history-XXXXXX", tmp != NULL ? tmp : "/tmp");
    cr_assert_not_null(mkdtemp(folder));
    world->data_dir = folder;
}

static struct world *world_with_folder(void)
{
    struct world *world = world_new(1);
    memset(&world->claim_id, 7, sizeof(world->claim_id));
    use_new_folder(world);
    return world;
}

static struct instance *alone(struct world *world)
{
    struct instance *instance = world_add(world, NULL);
    world_rebalance(world);
    return instance;
}

/* Dies with all that it remembers, and nothing committed since the clock was turned. */
static struct instance *replace(struct world *world, struct instance *instance)
{
    world_kill(instance);
    use_new_folder(world);
    return alone(world);
}

static uint64_t metric(const struct instance *instance, const char *name)
{
    char line[128];
    snprintf(line, sizeof(line), "\n%s{agent=\"pay\"} ", name);
    size_t size;
    char *page = metrics_render(instance->service.metrics, &size);
    const char *found = strstr(page, line);
    cr_assert_not_null(found, "%s", name);
    uint64_t value = strtoull(found + strlen(line), NULL, 10);
    free(page);
    return value;
}

static uint64_t looks(const struct instance *instance)
{
    return metric(instance, "reeve_agent_memory_looks_total");
}

static uint64_t found(const struct instance *instance)
{
    return metric(instance, "reeve_agent_memory_found_total");
}

/* "o0", "o1" ...: the next one of partition 0; `at` counts. */
static const char *order_of_partition_0(char name[16], int *at)
{
    do
        snprintf(name, 16, "o%d", (*at)++);
    while (world_partition(name) != 0);
    return name;
}

Test(agent_history, what_another_instance_answered_is_answered_so_again)
{
    struct world *world = world_with_folder();
    struct instance *instance = alone(world);
    world_request_of(world, "A", world_decide(world, "A"), SOON);
    world_succeed(instance, "{\"paid\":1}");
    world_request_of(world, "B", world_decide(world, "B"), SOON);
    world_fail(instance, EFFECT_NONE, false);
    cr_assert_eq(looks(instance), 0);
    instance = replace(world, instance);
    cr_assert_eq(world->calls_started, 2, "nothing was committed, and nothing is called again");
    cr_assert_eq(found(instance), 2);
    cr_assert_eq(world_count_reports(world, "A"), 2);
    cr_assert_eq(world_count_reports(world, "B"), 2);
    const char *again = strstr(world_reports(world), "A/Pay/do/1 ok {\"paid\":1}\n");
    cr_assert_not_null(again);
    cr_assert_not_null(strstr(again + 1, "A/Pay/do/1 ok {\"paid\":1}\n"));
    again = strstr(world_reports(world), "B/Pay/do/1 Oops none\n");
    cr_assert_not_null(again);
    cr_assert_not_null(strstr(again + 1, "B/Pay/do/1 Oops none\n"));
    world_kill(instance);
    instance = alone(world);
    cr_assert_eq(world->calls_started, 2);
    cr_assert_eq(looks(instance), 0, "its own memory has them now");
    cr_assert_eq(metric(instance, "reeve_agent_memory_recalled_total"), 2);
    cr_assert_eq(metric(instance, "reeve_agent_memory_written_total"), 0, "and once is enough");
    world_advance(world, 1000);
    cr_assert_eq(world_committed(instance, "A"),
                 1 + (world_partition("A") == world_partition("B")));
    world_free(world);
}

Test(agent_history, what_was_decided_since_the_partition_came_is_nobody_elses)
{
    struct world *world = world_with_folder();
    struct instance *instance = alone(world);
    world_request_of(world, "A", world_decide(world, "A"), SOON);
    world_succeed(instance, "{}");
    world_rebalance(world);
    world_request_of(world, "A", 0, SOON);
    world_request_of(world, "B", world_decide(world, "B"), SOON);
    cr_assert_eq(world->calls_started, 2);
    cr_assert_eq(looks(instance), 0, "it had the partition all the time");
    world_free(world);
}

Test(agent_history, an_attempt_without_an_answer_is_called)
{
    struct world *world = world_with_folder();
    struct instance *instance = alone(world);
    world_request_of(world, "A", world_decide(world, "A"), SOON);
    instance = replace(world, instance);
    cr_assert_eq(instance->call_count, 1);
    cr_assert_eq(looks(instance), 1);
    world_succeed(instance, "{}");
    cr_assert_str_eq(world_reports(world), "A/Pay/do/1 ok {}\n");
    world_free(world);
}

Test(agent_history, older_requests_that_are_emitted_again_extend_the_window)
{
    struct world *world = world_with_folder();
    struct instance *instance = alone(world);
    char a[16], b[16], c[16];
    int at = 0;
    int64_t decided_a = world_decide(world, order_of_partition_0(a, &at));
    world_request_of(world, a, decided_a, SOON);
    world_succeed(instance, "{\"a\":1}");
    int64_t decided_b = world_decide(world, order_of_partition_0(b, &at));
    world_request_of(world, b, decided_b, SOON);
    world_succeed(instance, "{\"b\":1}");
    world_advance(world, 1000);
    world_request_of(world, c, world_decide(world, order_of_partition_0(c, &at)), SOON);
    cr_assert_eq(world_committed(instance, a), 2);
    instance = replace(world, instance);
    cr_assert_eq(instance->call_count, 1, "that of c, which had no answer");
    cr_assert_eq(looks(instance), 1);
    world_request_of(world, a, decided_a, SOON);
    cr_assert_eq(looks(instance), 2);
    world_request_of(world, b, decided_b, SOON);
    cr_assert_eq(looks(instance), 2, "covered by the one before");
    cr_assert_eq(found(instance), 2);
    cr_assert_eq(world->calls_started, 4);
    cr_assert_eq(world_count_reports(world, a), 2);
    cr_assert_eq(world_count_reports(world, b), 2);
    world_free(world);
}

Test(agent_history, a_request_of_another_log_is_a_deed_of_its_own)
{
    struct world *world = world_with_folder();
    struct instance *instance = alone(world);
    char a[16], b[16];
    int at = 0;
    int64_t decided = world_decide(world, order_of_partition_0(a, &at));
    memset(&world->claim_id, 8, sizeof(world->claim_id));
    world_request_of(world, a, decided, SOON);
    world_succeed(instance, "{}");
    instance = replace(world, instance);
    cr_assert_eq(looks(instance), 1);
    cr_assert_eq(instance->call_count, 1);
    world_request_of(world, order_of_partition_0(b, &at), decided, SOON);
    cr_assert_eq(instance->call_count, 2);
    cr_assert_eq(looks(instance), 1, "once for each claim");
    cr_assert_eq(found(instance), 0);
    world_free(world);
}

Test(agent_history, where_the_log_cannot_be_read_the_call_is_made)
{
    struct world *world = world_with_folder();
    struct instance *instance = alone(world);
    char order[16];
    int at = 0;
    int64_t offset = broker_memory_append(world->kafka, "t.events", 0, TEXT("x"), TEXT("x"));
    world_request_of(world, order_of_partition_0(order, &at), offset, SOON);
    instance = replace(world, instance);
    cr_assert_eq(metric(instance, "reeve_agent_memory_looks_failed_total"), 1);
    cr_assert_eq(instance->call_count, 1);
    world_request_of(world, order_of_partition_0(order, &at), offset, SOON);
    cr_assert_eq(looks(instance), 1, "not all wait for that in vain");
    world_advance(world, HISTORY_AGAIN_MS);
    world_request_of(world, order_of_partition_0(order, &at), offset, SOON);
    cr_assert_eq(looks(instance), 2);
    cr_assert_eq(instance->call_count, 3);
    world_free(world);
}

Test(agent_history, it_does_not_wait_for_ever)
{
    struct world *world = world_with_folder();
    struct instance *instance = alone(world);
    world_request_of(world, "A", world_decide(world, "A"), SOON);
    instance = replace(world, instance);
    world_kill(instance);
    instance = world_add(world, NULL);
    broker_memory_rebalance(world->kafka, WORLD_GROUP);
    for (int step = 0; looks(instance) == 0; step++) {
        cr_assert_lt(step, 1000);
        (void)broker_memory_step(world->kafka);
        (void)loop_once(world->loop, 0);
    }
    clock_manual_advance(&world->clock, HISTORY_LOOK_MS + 1);
    while (loop_once(world->loop, 0) > 0)
        continue;
    cr_assert_eq(metric(instance, "reeve_agent_memory_looks_failed_total"), 1);
    cr_assert_eq(instance->call_count, 1);
    world_free(world);
}

Test(agent_history, it_begins_without_knowing_where_events_end)
{
    struct world *world = world_with_folder();
    struct instance *instance = alone(world);
    world_request_of(world, "A", world_decide(world, "A"), SOON);
    world_succeed(instance, "{}");
    world_kill(instance);
    use_new_folder(world);
    instance = world_add(world, NULL);
    broker_memory_rebalance(world->kafka, WORLD_GROUP);
    while (intake_partitions(instance->agent->intake) == 0)
        cr_assert(broker_memory_step(world->kafka));
    struct agent_history *history = instance->agent->history;
    cr_assert_not(history_is_open(history, world_partition("A")));
    clock_manual_advance(&world->clock, HISTORY_OPEN_MS);
    while (loop_once(world->loop, 0) > 0)
        continue;
    cr_assert(history_is_open(history, world_partition("A")));
    world_settle(world);
    cr_assert_eq(found(instance), 1);
    world_request_of(world, "B", world_decide(world, "B"), SOON);
    cr_assert_eq(looks(instance), 1, "it learned that later");
    world_free(world);
}

Test(agent_history, what_retention_took_is_not_there)
{
    struct world *world = world_with_folder();
    struct instance *instance = alone(world);
    char a[16], b[16];
    int at = 0;
    world_request_of(world, a, world_decide(world, order_of_partition_0(a, &at)), SOON);
    world_succeed(instance, "{}");
    world_request_of(world, b, world_decide(world, order_of_partition_0(b, &at)), SOON);
    world_succeed(instance, "{\"b\":1}");
    broker_memory_trim(world->kafka, "t.commands", 0, 1);
    instance = replace(world, instance);
    cr_assert_eq(looks(instance), 1);
    cr_assert_eq(instance->call_count, 1, "that of the first");
    cr_assert_eq(found(instance), 1);
    world_free(world);
}

/* In partition 0, as if by an instance of some agent. */
static void append_report(struct world *world, const char *order, const char *agent,
                          const char *output)
{
    struct command cmd = {.kind = COMMAND_REPORT_STEP, .order_id = text_of(order)};
    cmd.report_step = (struct report_step){.order_id = text_of(order),
                                           .step = TEXT("Pay"),
                                           .attempt = 1,
                                           .succeeded = true,
                                           .effect = EFFECT_APPLIED,
                                           .output = text_of(output),
                                           .agent = text_of(agent),
                                           .instance = TEXT("x")};
    struct buffer bytes = {.size = 0};
    codec_encode(world->codec, RECORD_REPORT_STEP, &cmd, &bytes);
    (void)broker_memory_append(world->kafka, "t.commands", 0, text_of(order),
                               (struct text){(const char *)bytes.data, (uint32_t)bytes.size});
    buffer_deinit(&bytes);
}

Test(agent_history, what_another_agent_says_is_no_answer)
{
    struct world *world = world_with_folder();
    char order[16];
    int at = 0;
    int64_t decided = world_decide(world, order_of_partition_0(order, &at));
    (void)broker_memory_append(world->kafka, "t.commands", 0, TEXT("x"), TEXT("not a record"));
    append_report(world, order, "bank", "{}");
    world_request_of(world, order, decided, SOON);
    struct instance *instance = alone(world);
    cr_assert_eq(looks(instance), 1);
    cr_assert_eq(instance->call_count, 1);
    world_free(world);
}

Test(agent_history, what_is_beyond_its_bounds_is_called_again)
{
    struct world *world = world_with_folder();
    char a[16], b[16], other[16];
    int at = 0;
    static char output[8001];
    int64_t decided = world_decide(world, order_of_partition_0(a, &at));
    append_report(world, a, "pay", "{}");
    memset(output, ' ', sizeof(output) - 1);
    memcpy(output, "{}", 2);
    for (int i = 0; i < HISTORY_BYTES_MAX / 8000 + 1; i++)
        append_report(world, order_of_partition_0(other, &at), "pay", output);
    append_report(world, order_of_partition_0(b, &at), "pay", "{}");
    world_request_of(world, a, decided, SOON);
    world_request_of(world, b, decided, SOON);
    struct instance *instance = alone(world);
    cr_assert_eq(looks(instance), 1);
    cr_assert_eq(found(instance), 1);
    cr_assert_eq(instance->call_count, 1);
    cr_assert(text_equal(instance->calls[0]->request->order_id, text_of(b)));
    world_free(world);
}

Test(agent_history, what_begins_no_call_needs_no_look)
{
    struct world *world = world_with_folder();
    struct instance *instance = alone(world);
    world_request_of(world, "A", world_decide(world, "A"), SOON);
    world_succeed(instance, "{}");
    world_kill(instance);
    world_advance(world, SOON);
    use_new_folder(world);
    instance = alone(world);
    cr_assert_eq(looks(instance), 0, "it expired");
    cr_assert_eq(instance->call_count, 0);
    world_free(world);
}

Test(agent_history, without_a_memory_nothing_is_looked_up)
{
    static const char *const settings[] = {"agent.memory.mb", "0", NULL};
    struct world *world = world_with_folder();
    struct instance *instance = alone(world);
    world_request_of(world, "A", world_decide(world, "A"), SOON);
    world_succeed(instance, "{}");
    world_kill(instance);
    instance = world_add(world, settings);
    world_rebalance(world);
    cr_assert_null(instance->agent->history);
    cr_assert_eq(instance->call_count, 1);
    world_free(world);
}

/* ---- at any moment ---- */

static void step(struct world *world, int steps)
{
    for (int i = 0; i < steps; i++) {
        (void)broker_memory_step(world->kafka);
        (void)loop_once(world->loop, 0);
    }
}

static void on_drained(void *ctx)
{
    *(bool *)ctx = true;
}

/* An answer of a dead instance, and the next one, told to begin and gone some steps further. */
static struct instance *begun(struct world *world, int steps)
{
    struct instance *instance = alone(world);
    world_request_of(world, "A", world_decide(world, "A"), SOON);
    world_succeed(instance, "{}");
    world_kill(instance);
    use_new_folder(world);
    instance = world_add(world, NULL);
    broker_memory_rebalance(world->kafka, WORLD_GROUP);
    step(world, steps);
    return instance;
}

Test(agent_history, revoked_and_given_back_at_any_moment)
{
    for (int steps = 0; steps < STEPS; steps++) {
        struct world *world = world_with_folder();
        struct instance *instance = begun(world, steps);
        broker_memory_revoke(instance->broker, WORLD_GROUP, steps % 2 == 0);
        step(world, steps % 7);
        world_rebalance(world);
        world_rebalance(world);
        cr_assert_eq(world->calls_started, 1, "after %d steps", steps);
        cr_assert_eq(found(instance), 1, "after %d steps", steps);
        world_advance(world, 1000);
        cr_assert_eq(world_committed(instance, "A"), 1);
        world_free(world);
    }
}

Test(agent_history, drained_or_killed_at_any_moment)
{
    for (int steps = 0; steps < STEPS; steps++) {
        struct world *world = world_with_folder();
        struct instance *instance = begun(world, steps);
        bool drained = false;
        if (steps % 2 == 0)
            broker_memory_kill(instance->broker);
        else
            agent_drain(instance->agent, on_drained, &drained);
        world_settle(world);
        world_advance(world, 1000);
        cr_assert_eq(drained, steps % 2 == 1, "after %d steps", steps);
        world_stop(instance);
        instance = alone(world);
        cr_assert_eq(world->calls_started, 1, "after %d steps", steps);
        world_advance(world, 1000);
        cr_assert_eq(world_committed(instance, "A"), 1);
        world_free(world);
    }
}

/* ---- random histories ---- */

enum { CASES = 40, TURNS = 120 };

struct orders {
    struct world *world;
    char names[TURNS][16];
    int64_t decided[TURNS];
    int count;
    uint64_t found; /* by instances that are gone */
};

static int draw(const struct orders *orders, uint64_t below)
{
    return (int)broker_memory_random(orders->world->kafka, below);
}

/* The property: nothing is called that the log has an answer of. */
static void on_call(struct instance *instance, struct agent_call *call)
{
    char order[16];
    snprintf(order, sizeof(order), "%.*s", TEXT_ARG(call->request->order_id));
    cr_assert_eq(world_count_reports(instance->world, order), 0, "%s was answered", order);
    cr_assert_lt(instance->call_count, WORLD_CALLS_MAX);
    instance->calls[instance->call_count++] = call;
}

static void ask_for_one(struct orders *orders)
{
    int at = orders->count++;
    snprintf(orders->names[at], sizeof(orders->names[at]), "O%d", at);
    orders->decided[at] = world_decide(orders->world, orders->names[at]);
    world_request_of(orders->world, orders->names[at], orders->decided[at], SOON * 1000LL);
}

static void kill_one(struct orders *orders, struct instance *instance)
{
    orders->found += found(instance);
    world_kill(instance);
}

static void turn(struct orders *orders)
{
    struct world *world = orders->world;
    struct instance *instance = &world->instances[draw(orders, world->instance_count)];
    int kind = draw(orders, 20);
    if (kind < 6) {
        ask_for_one(orders);
    } else if (kind < 9 && orders->count > 0) {
        int at = draw(orders, (uint64_t)orders->count);
        world_request_of(world, orders->names[at], orders->decided[at], SOON * 1000LL);
    } else if (kind == 9) {
        broker_memory_rebalance(world->kafka, WORLD_GROUP);
        step(world, draw(orders, 40));
        world_rebalance(world);
    } else if (kind == 10 && world->instance_count < WORLD_INSTANCES_MAX) {
        use_new_folder(world);
        (void)alone(world);
    } else if (kind == 11) {
        world_advance(world, 200);
    } else if (instance->agent == NULL) {
        return;
    } else if (kind == 12 && draw(orders, 3) == 0) {
        kill_one(orders, instance);
    } else if (kind == 13) {
        broker_memory_revoke(instance->broker, WORLD_GROUP, true);
        step(world, draw(orders, 40));
    } else if (instance->call_count > 0 && draw(orders, 3) > 0) {
        world_succeed(instance, "{\"n\":1}");
    } else if (instance->call_count > 0) {
        world_fail(instance, EFFECT_UNKNOWN, false);
    }
}

Test(agent_history, nothing_is_called_that_the_log_has_an_answer_of)
{
    const char *text = getenv("REEVE_SEED");
    uint64_t seed = text != NULL ? strtoull(text, NULL, 10) : 1;
    uint64_t found_in_all = 0;
    for (uint64_t i = 0; i < CASES; i++) {
        static struct orders orders;
        fprintf(stderr, "REEVE_SEED=%llu\n", (unsigned long long)(seed + i));
        orders = (struct orders){.world = world_new(seed + i)};
        struct world *world = orders.world;
        struct broker_memory_faults faults = {.ack_without_offset = (uint32_t)draw(&orders, 100),
                                              .append_unknown = (uint32_t)draw(&orders, 200),
                                              .reply_failed = (uint32_t)draw(&orders, 100)};
        if (i % 2 == 1)
            broker_memory_set_faults(world->kafka, &faults);
        memset(&world->claim_id, 7, sizeof(world->claim_id));
        world->on_call = on_call;
        use_new_folder(world);
        (void)alone(world);
        for (int at = 0; at < TURNS; at++)
            turn(&orders);
        for (uint32_t at = 0; at < world->instance_count; at++)
            if (world->instances[at].agent != NULL)
                kill_one(&orders, &world->instances[at]);
        found_in_all += orders.found;
        world_free(world);
    }
    cr_assert_gt(found_in_all, CASES);
}

/* ---- what is kept ---- */

static struct report_step report_of(const char *order, const char *output)
{
    return (struct report_step){.order_id = text_of(order),
                                .step = TEXT("Pay"),
                                .attempt = 1,
                                .succeeded = true,
                                .output = text_of(output),
                                .agent = TEXT("pay")};
}

static const char *taken(struct found *answers, const char *order)
{
    static char output[64];
    struct agent_attempt attempt = {.state = ATTEMPT_BLANK};
    heap_arena_init(&attempt.memory, 1024);
    attempt.request.order_id = text_of(order);
    attempt.request.ref = (struct attempt_ref){TEXT("Pay"), DIRECTION_DO, 1};
    bool there = found_take(answers, &attempt);
    snprintf(output, sizeof(output), "%.*s", TEXT_ARG(attempt.output));
    heap_arena_deinit(&attempt.memory);
    return there ? output : "none";
}

Test(agent_found, the_first_report_of_an_attempt_counts)
{
    struct found answers;
    found_init(&answers, 1 << 20);
    struct report_step second = report_of("A", "2"), first = report_of("A", "1");
    cr_assert_gt(found_keep(&answers, 0, 20, &second), 0);
    cr_assert_gt(found_keep(&answers, 0, 10, &first), 0);
    cr_assert_eq(found_keep(&answers, 0, 20, &second), 0);
    cr_assert_str_eq(taken(&answers, "A"), "1");
    cr_assert_str_eq(taken(&answers, "A"), "none");
    found_deinit(&answers);
}

Test(agent_found, the_oldest_found_go_first)
{
    struct found answers;
    found_init(&answers, 1 << 20);
    struct report_step a = report_of("A", "a"), b = report_of("B", "b"), c = report_of("C", "c");
    size_t size = found_keep(&answers, 0, 1, &a);
    answers.bytes_max = 2 * size;
    (void)found_keep(&answers, 1, 1, &b);
    (void)found_keep(&answers, 1, 2, &c);
    cr_assert_eq(answers.forgotten, 1);
    cr_assert_str_eq(taken(&answers, "A"), "none");
    cr_assert_str_eq(taken(&answers, "B"), "b");
    found_forget(&answers, 1);
    cr_assert_eq(answers.bytes, 0);
    cr_assert_str_eq(taken(&answers, "C"), "none");
    found_deinit(&answers);
}
