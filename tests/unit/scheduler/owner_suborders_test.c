/* SPDX-License-Identifier: Apache-2.0 */
/* Orders in orders over two partitions: what one order tells another is emitted, decided, and
 * answered; a fan-out leaves room for others, and what is lost is asked again. */
#include "schemas/details.h"
#include "tests/unit/scheduler/owner_kit.h"

#include <criterion/criterion.h>
#include <stdio.h>

TestSuite(owner_suborders);

enum { HOUR_MS = 3600 * 1000 };

static struct owner_kit kit;

static const char tree[] =
    "{\"Name\": \"tree\", \"Version\": 1, \"Steps\": ["
    " {\"Name\": \"W\", \"ForEach\": {\"Items\": [1, 2, 3]}, \"Steps\": ["
    "   {\"Name\": \"A\", \"Agent\": \"agent\", \"Compensate\": {\"Action\": \"UndoA\"}}]},"
    " {\"Name\": \"B\", \"Agent\": \"agent\", \"After\": [\"W\"]}]}";
static const char wide[] = "{\"Name\": \"wide\", \"Version\": 1, \"Steps\": ["
                           " {\"Name\": \"W\", \"ForEach\": {\"Items\": \"input.l\"}, \"Steps\": ["
                           "   {\"Name\": \"A\", \"Agent\": \"agent\"}]}]}";

static struct owner_kit_process *begin(int32_t partitions)
{
    owner_kit_begin(&kit, partitions);
    owner_kit_deploy(&kit, "tree", 1, tree);
    owner_kit_deploy(&kit, "wide", 1, wide);
    struct owner_kit_process *process = owner_kit_boot(&kit, "s-1", 0);
    for (int32_t i = 0; i < partitions; i++)
        owner_kit_own(process, i);
    owner_kit_run(&kit, 1000);
    return process;
}

static void submit(const char *order_id, const char *workflow, struct text input)
{
    struct command cmd = owner_kit_submission(order_id);
    cmd.submit_order.workflow = text_of(workflow);
    cmd.submit_order.input = input;
    owner_kit_command(&kit, &cmd);
}

static void report(const char *order_id, const char *step, enum direction direction)
{
    struct command cmd = owner_kit_report_of(order_id);
    cmd.report_step.step = text_of(step);
    cmd.report_step.direction = direction;
    owner_kit_command(&kit, &cmd);
    owner_kit_run(&kit, 2000);
}

/* A supervisor's, of the deadline that the step has. */
static void recover(const char *order_id, int64_t complete_by)
{
    struct command cmd = {.kind = COMMAND_RECOVER_STEP,
                          .order_id = text_of(order_id),
                          .recover_step = {.order_id = text_of(order_id),
                                           .step = TEXT("W"),
                                           .attempt = 1,
                                           .complete_by = complete_by,
                                           .by = TEXT("supervisor-1")}};
    owner_kit_command(&kit, &cmd);
    owner_kit_run(&kit, 2000);
}

/* The newest Decision about the order, on whatever partition it is. */
static enum order_state state_of(const char *order_id)
{
    enum order_state state = ORDER_STATE_COUNT;
    struct record record;
    for (int32_t partition = 0; partition < kit.partitions; partition++)
        for (int64_t at = 0; at < owner_kit_end(&kit, "p.events", partition); at++)
            if (owner_kit_read(&kit, "p.events", partition, at, &record) &&
                record.kind == RECORD_DECISION &&
                text_equal(record.decision.order_id, text_of(order_id)))
                state = record.decision.order_state;
    return state;
}

static uint32_t commands(enum record_kind kind)
{
    uint32_t count = 0;
    for (int32_t partition = 0; partition < kit.partitions; partition++)
        count += owner_kit_count(&kit, "p.commands", partition, kind);
    return count;
}

/* Each that an order submitted has the identity of its content. */
static void expect_identities(uint32_t count)
{
    struct record record;
    uint32_t found = 0;
    for (int32_t partition = 0; partition < kit.partitions; partition++)
        for (int64_t at = 0; at < owner_kit_end(&kit, "p.commands", partition); at++) {
            if (!owner_kit_read(&kit, "p.commands", partition, at, &record) ||
                record.kind != RECORD_SUBMIT_ORDER || record.command.submit_order.parent == NULL)
                continue;
            struct content_hash hash = details_content_hash(&record.command.submit_order);
            cr_assert_eq(memcmp(&hash, &record.command.submit_order.content_hash, sizeof(hash)), 0);
            found++;
        }
    cr_assert_eq(found, count);
}

Test(owner_suborders, are_done_held_and_kept)
{
    begin(2);
    submit("o", "tree", TEXT(""));
    owner_kit_run(&kit, 2000);
    expect_identities(3);
    cr_assert_eq(owner_kit_requests(&kit, "o~W~0"), 1);
    cr_assert_eq(owner_kit_requests(&kit, "o~W~2"), 1);
    report("o~W~0", "A", DIRECTION_DO);
    cr_assert_eq(state_of("o~W~0"), ORDER_HELD);
    report("o~W~1", "A", DIRECTION_DO);
    cr_assert_eq(owner_kit_requests(&kit, "o"), 0);
    report("o~W~2", "A", DIRECTION_DO);
    cr_assert_eq(owner_kit_requests(&kit, "o"), 1, "B follows W");
    report("o", "B", DIRECTION_DO);
    cr_assert_eq(state_of("o"), ORDER_PROCESSED);
    cr_assert_eq(state_of("o~W~0"), ORDER_PROCESSED);
    cr_assert_eq(state_of("o~W~2"), ORDER_PROCESSED);
    cr_assert_eq(commands(RECORD_REPORT_SUBORDER), 3);
    cr_assert_eq(commands(RECORD_SETTLE_SUBORDER), 3);
}

Test(owner_suborders, are_undone_with_their_parent)
{
    begin(2);
    submit("o", "tree", TEXT(""));
    owner_kit_run(&kit, 2000);
    report("o~W~0", "A", DIRECTION_DO);
    struct command cancel = {.kind = COMMAND_CANCEL_ORDER,
                             .order_id = TEXT("o"),
                             .cancel_order = {.order_id = TEXT("o"), .by = TEXT("ann")}};
    owner_kit_command(&kit, &cancel);
    owner_kit_run(&kit, 2000);
    cr_assert_eq(state_of("o~W~0"), ORDER_COMPENSATING);
    cr_assert_eq(owner_kit_requests(&kit, "o~W~0"), 2);
    report("o~W~0", "A", DIRECTION_UNDO);
    report("o~W~1", "A", DIRECTION_DO);
    report("o~W~1", "A", DIRECTION_UNDO);
    cr_assert_eq(state_of("o"), ORDER_COMPENSATING);
    report("o~W~2", "A", DIRECTION_DO);
    report("o~W~2", "A", DIRECTION_UNDO);
    cr_assert_eq(state_of("o~W~2"), ORDER_COMPENSATED);
    cr_assert_eq(state_of("o"), ORDER_COMPENSATED);
}

/* An owner that takes over emits what it cannot know to have arrived once more: a repeated
 * submission changes nothing. */
Test(owner_suborders, survive_a_takeover_between_submission_and_end)
{
    struct owner_kit_process *first = begin(2);
    submit("o", "tree", TEXT(""));
    owner_kit_run(&kit, 30);
    owner_kit_kill(first, 0);
    owner_kit_kill(first, 1);
    struct owner_kit_process *second = owner_kit_boot(&kit, "s-2", 0);
    owner_kit_own(second, 0);
    owner_kit_own(second, 1);
    owner_kit_run(&kit, 60000);
    report("o~W~0", "A", DIRECTION_DO);
    report("o~W~1", "A", DIRECTION_DO);
    report("o~W~2", "A", DIRECTION_DO);
    report("o", "B", DIRECTION_DO);
    cr_assert_eq(state_of("o"), ORDER_PROCESSED);
    cr_assert_eq(state_of("o~W~1"), ORDER_PROCESSED);
}

/* ---- many ---- */

static struct text many_items(int count)
{
    static char text[8192];
    size_t size = (size_t)snprintf(text, sizeof(text), "{\"l\":[0");
    for (int i = 1; i < count; i++)
        size += (size_t)snprintf(text + size, sizeof(text) - size, ",%d", i);
    size += (size_t)snprintf(text + size, sizeof(text) - size, "]}");
    return (struct text){text, (uint32_t)size};
}

Test(owner_suborders, of_a_fan_out_arrive_64_each_10_ms)
{
    begin(1);
    submit("o", "wide", many_items(SUBORDERS_MAX));
    int64_t before = owner_kit_end(&kit, "p.commands", 0);
    int64_t submitted = before;
    for (int i = 0; i < 600 && submitted < before + SUBORDERS_MAX; i++) {
        owner_kit_run(&kit, 10);
        int64_t end = owner_kit_end(&kit, "p.commands", 0);
        cr_assert_leq(end - submitted, 2 * 64, "in a span of 10 ms that meets two");
        submitted = end;
    }
    owner_kit_run(&kit, 5000);
    cr_assert_eq(commands(RECORD_SUBMIT_ORDER), 1 + SUBORDERS_MAX);
    cr_assert_eq(owner_kit_count(&kit, "p.requests.agent", 0, RECORD_STEP_REQUEST), SUBORDERS_MAX);
    cr_assert_eq(state_of("o~W~999"), ORDER_PROCESSING);
}

Test(owner_suborders, of_a_small_fan_out_wait_without_the_log)
{
    enum { ITEMS = 400 };
    struct owner_kit_process *process = begin(1);
    submit("o", "wide", many_items(ITEMS));
    for (int i = 0; i < 1000 && commands(RECORD_SUBMIT_ORDER) < 1 + ITEMS; i++) {
        owner_kit_run(&kit, 1);
        cr_assert_not(broker_memory_reads(process->broker, "p.events", 0));
    }
    owner_kit_run(&kit, 5000);
    cr_assert_eq(commands(RECORD_SUBMIT_ORDER), 1 + ITEMS);
    cr_assert_eq(owner_kit_count(&kit, "p.requests.agent", 0, RECORD_STEP_REQUEST), ITEMS);
}

/* ---- a partition that takes nothing ---- */

Test(owner_suborders, that_cannot_be_told_for_15_minutes_are_asked_again)
{
    begin(2);
    const char *id = owner_kit_id(&kit, 0, 1);
    char child[64];
    int item = 0;
    for (; item < 3; item++) { /* one that is on the other partition */
        snprintf(child, sizeof(child), "%s~W~%d", id, item);
        if (broker_partition_of(text_of(child), 2) == 1)
            break;
    }
    cr_assert_lt(item, 3, "none of them is on the other partition");
    broker_memory_set_partition_fault(kit.kafka, "p.commands", 1, PARTITION_READ_ONLY);
    submit(id, "tree", TEXT(""));
    for (uint32_t i = 0; i < 180; i++) { /* meanwhile, others get theirs */
        owner_kit_submit(&kit, owner_kit_id(&kit, 0, 100 + i));
        owner_kit_run(&kit, 10000);
    }
    cr_assert_eq(owner_kit_requests(&kit, child), 0);
    cr_assert_eq(owner_kit_end(&kit, "p.dead-letters", 0), 0);
    broker_memory_set_partition_fault(kit.kafka, "p.commands", 1, PARTITION_WORKS);
    owner_kit_run(&kit, HOUR_MS);
    const struct decision *decision = owner_kit_decision(&kit, 0, id);
    cr_assert_eq(decision->events[3].kind, EVENT_SUBORDERS_SUBMITTED);
    recover(id, decision->events[3].suborders_submitted.complete_by);
    cr_assert_eq(owner_kit_requests(&kit, child), 1);
    cr_assert_eq(owner_kit_end(&kit, "p.dead-letters", 0), 0);
}
