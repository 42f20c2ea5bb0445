/* SPDX-License-Identifier: Apache-2.0 */
/* Owners that restate orders and delete the beginning of their log. */
#include "platform/failpoint.h"
#include "services/scheduler/owner/internal.h"
#include "tests/unit/scheduler/owner_kit.h"

#include "platform/logger.h"

#include <criterion/criterion.h>

enum { ORDERS = 100, KEEP_MS = 64000, EVERY_MS = KEEP_MS / 16 };

static struct owner_kit kit;
static struct owner_kit_process *process;
static struct owner *owner;

static const char *id(uint32_t number)
{
    return owner_kit_id(&kit, 0, number);
}

static void submit(uint32_t from, uint32_t to)
{
    for (uint32_t i = from; i < to; i++)
        owner_kit_submit(&kit, id(i));
    owner_kit_run(&kit, 100);
}

/* ORDERS open orders. */
static void begin(int64_t keep_ms)
{
    log_set_level(LOG_LEVEL_ERROR);
    owner_kit_begin(&kit, 1);
    kit.keep_ms = keep_ms;
    process = owner_kit_boot(&kit, "s-1", 0);
    owner = owner_kit_own(process, 0);
    owner_kit_run_until(&kit, owner, OWNER_RUNNING, 1000);
    submit(0, ORDERS);
}

/* The same, and one more after a Continuation: the log may begin there, as the effects of a later
 * Decision are sent. */
static void begin_to_trim(void)
{
    begin(KEEP_MS);
    owner_kit_run(&kit, 2 * EVERY_MS);
    submit(ORDERS, ORDERS + 1);
}

TestSuite(owner_trims);

static int64_t log_start(void)
{
    int64_t low;
    int64_t high;
    broker_memory_bounds(kit.kafka, "p.events", 0, &low, &high);
    return low;
}

static void run_until_trimmed(int64_t ms_max)
{
    int64_t before = log_start();
    for (int64_t at = 0; at < ms_max && log_start() == before; at += 100)
        owner_kit_run(&kit, 100);
    cr_assert_gt(log_start(), before);
    owner_kit_run(&kit, 100);
}

static const struct order *order_of(const struct owner *of, uint32_t number)
{
    struct error error;
    const struct order *order = NULL;
    cr_assert_eq(view_order(owner_view(of), text_of(id(number)), &order, &error), ERROR_OK);
    cr_assert_not_null(order, "%s", id(number));
    return order;
}

static uint32_t count(enum record_kind kind)
{
    return owner_kit_count(&kit, "p.events", 0, kind);
}

/* The newest Continuation that says where the log begins. */
static int64_t announced_at(int64_t *ret_trimmed)
{
    struct record record;
    heap_arena_reset(&kit.heap);
    for (int64_t at = owner_kit_end(&kit, "p.events", 0) - 1; at >= log_start(); at--)
        if (owner_kit_read(&kit, "p.events", 0, at, &record) &&
            record.kind == RECORD_CONTINUATION && record.continuation.trimmed >= 0) {
            *ret_trimmed = record.continuation.trimmed;
            return at;
        }
    return -1;
}

Test(owner_trims, deletes_the_beginning_once_every_order_is_restated)
{
    int64_t trimmed = -1;
    begin_to_trim();
    run_until_trimmed(3 * KEEP_MS);
    cr_assert_eq(count(RECORD_STATEMENT), ORDERS);
    int64_t at = announced_at(&trimmed);
    cr_assert_eq(trimmed, log_start());
    struct record record;
    cr_assert(owner_kit_read(&kit, "p.events", 0, log_start(), &record));
    cr_assert_eq(record.kind, RECORD_CONTINUATION);
    cr_assert(owner_kit_read(&kit, "p.events", 0, at + 1, &record));
    cr_assert_eq(record.kind, RECORD_CONTINUATION, "another one follows");
    for (uint32_t i = 0; i < ORDERS; i++)
        cr_assert_geq(order_of(owner, i)->stated_offset, log_start());
    cr_assert_eq(process->metrics->statements->value, ORDERS);
    cr_assert_eq(process->metrics->trimmed->value, (uint64_t)log_start());
    cr_assert_eq(owner_kit_requests(&kit, id(7)), 1);
}

Test(owner_trims, keeps_what_an_empty_store_needs)
{
    begin_to_trim();
    run_until_trimmed(3 * KEEP_MS);
    struct owner_kit_process *other = owner_kit_boot(&kit, "s-2", 0);
    struct owner *second = owner_kit_own(other, 0);
    owner_kit_run_until(&kit, second, OWNER_RUNNING, 5000);
    cr_assert_eq(view_checkpoint(owner_view(second))->start, log_start());
    for (uint32_t i = 0; i < ORDERS; i++)
        cr_assert_eq(order_of(second, i)->version, order_of(owner, i)->version);
    cr_assert_eq(owner_kit_alerts(&kit, "StatementDiffers", true), 0);
    owner_kit_report(&kit, id(3));
    owner_kit_run(&kit, 1000);
    cr_assert_eq(owner_kit_decision(&kit, 0, id(3))->order_state, ORDER_PROCESSED);
}

Test(owner_trims, restates_an_order_that_ended_and_has_not_expired)
{
    begin(KEEP_MS);
    owner_kit_run(&kit, KEEP_MS);
    owner_kit_report(&kit, id(1));
    run_until_trimmed(3 * KEEP_MS);
    owner_kit_release(process, 0);
    struct owner_kit_process *other = owner_kit_boot(&kit, "s-2", 0);
    struct owner *second = owner_kit_own(other, 0);
    owner_kit_run_until(&kit, second, OWNER_RUNNING, 5000);
    cr_assert_eq(order_of(second, 1)->state, ORDER_PROCESSED);
}

Test(owner_trims, goes_on_trimming_while_orders_flow)
{
    begin(KEEP_MS);
    int64_t size_max = 0;
    for (uint32_t round = 1; round <= 40; round++) {
        submit(ORDERS * round, ORDERS * round + 10);
        for (uint32_t i = 0; i < 10; i++)
            owner_kit_report(&kit, id(ORDERS * round + i));
        owner_kit_run(&kit, EVERY_MS);
        int64_t size = owner_kit_end(&kit, "p.events", 0) - log_start();
        size_max = round > 20 && size > size_max ? size : size_max;
    }
    cr_assert_gt(process->metrics->trimmed->value, 500U);
    cr_assert_lt(size_max, 3000);
}

Test(owner_trims, writes_nothing_of_it_unless_it_is_to_trim)
{
    begin(0);
    owner_kit_run(&kit, 3 * KEEP_MS);
    submit(ORDERS, ORDERS + 1);
    owner_kit_run(&kit, 3 * KEEP_MS);
    cr_assert_eq(log_start(), 0);
    cr_assert_eq(count(RECORD_CONTINUATION) + count(RECORD_STATEMENT), 0);
}

Test(owner_trims, adds_no_continuations_to_a_log_in_which_nothing_happens)
{
    begin(KEEP_MS);
    owner_kit_run(&kit, 6 * KEEP_MS);
    int64_t end = owner_kit_end(&kit, "p.events", 0);
    owner_kit_run(&kit, 6 * KEEP_MS);
    cr_assert_eq(owner_kit_end(&kit, "p.events", 0), end);
}

Test(owner_trims, keeps_what_is_younger_than_the_window)
{
    begin(KEEP_MS);
    owner_kit_run(&kit, KEEP_MS);
    cr_assert_eq(log_start(), 0);
    cr_assert_eq(count(RECORD_STATEMENT), 0);
    cr_assert_eq(process->metrics->trim_held[TRIM_HELD_BY_AGE]->value, 1);
}

/* ---- what holds it back ---- */

Test(owner_trims, keeps_decisions_whose_effects_are_not_sent)
{
    begin(KEEP_MS);
    owner_kit_run(&kit, EVERY_MS / 2);
    broker_memory_set_partition_fault(kit.kafka, "p.requests.agent", 0, PARTITION_NO_LEADER);
    submit(ORDERS, ORDERS + 1); /* its request is not sent */
    owner_kit_run(&kit, EVERY_MS / 4);
    int64_t waits = owner_kit_end(&kit, "p.events", 0) - 1;
    for (uint32_t i = 1; i < 20; i++) {
        owner_kit_report(&kit, id(i));
        owner_kit_run(&kit, EVERY_MS);
    }
    cr_assert_leq(log_start(), waits);
    cr_assert_eq(process->metrics->trim_held[TRIM_HELD_BY_EFFECTS]->value, 1);
    cr_assert_eq(owner_kit_requests(&kit, id(ORDERS)), 0);
    broker_memory_clear_partition_faults(kit.kafka);
    run_until_trimmed(3 * KEEP_MS);
    cr_assert_eq(owner_kit_requests(&kit, id(ORDERS)), 1);
}

Test(owner_trims, keeps_what_a_group_has_not_read)
{
    begin(KEEP_MS);
    owner_kit_release(process, 0);
    kit.trim_groups[0] = "archive";
    kit.trim_groups[1] = "lake";
    kit.trim_group_count = 2;
    broker_memory_commit(kit.kafka, "lake", "p.events", 0, 1 << 20);
    owner = owner_kit_own(process, 0);
    owner_kit_run(&kit, 2 * KEEP_MS);
    submit(ORDERS, 2 * ORDERS);
    owner_kit_run(&kit, 2 * KEEP_MS);
    cr_assert_eq(log_start(), 0);
    cr_assert_eq(owner_kit_alerts(&kit, "TrimGroupMissing", true), 1);
    cr_assert_eq(process->metrics->trim_held[TRIM_HELD_BY_GROUP]->value, 1);
    broker_memory_commit(kit.kafka, "archive", "p.events", 0, ORDERS / 2);
    broker_memory_commit(kit.kafka, "lake", "p.events", 0, 2 * ORDERS);
    owner_kit_run(&kit, KEEP_MS);
    cr_assert_eq(log_start(), 0, "no Continuation is that old");
    cr_assert_eq(owner_kit_alerts(&kit, "TrimGroupMissing", false), 1);
    cr_assert_eq(count(RECORD_STATEMENT), 0);
    broker_memory_commit(kit.kafka, "archive", "p.events", 0, ORDERS + 20);
    run_until_trimmed(KEEP_MS);
    cr_assert_leq(log_start(), ORDERS + 20);
}

/* The log may be trimmed up to a Continuation after its first ORDERS records, and it grows to 300
 * and more while the group `archive` has committed `before`, then `offset`. */
static void archive_and_grow(int64_t before, int64_t offset)
{
    begin(KEEP_MS);
    owner_kit_release(process, 0);
    kit.trim_groups[0] = "archive";
    kit.trim_group_count = 1;
    broker_memory_commit(kit.kafka, "archive", "p.events", 0, before);
    owner = owner_kit_own(process, 0);
    owner_kit_run(&kit, EVERY_MS);
    broker_memory_commit(kit.kafka, "archive", "p.events", 0, offset);
    owner_kit_run(&kit, EVERY_MS);
    submit(ORDERS, 4 * ORDERS);
    owner_kit_run(&kit, 1000);
    cr_assert_gt(owner_kit_end(&kit, "p.events", 0), 3 * ORDERS);
    cr_assert_eq(log_start(), 0);
}

/* The topic was deleted and created again, and the group was restored, or it is a copy. */
Test(owner_trims, counts_no_offset_of_an_earlier_log_once_the_log_has_grown_past_it)
{
    archive_and_grow(3 * ORDERS, 3 * ORDERS);
    owner_kit_run(&kit, 2 * KEEP_MS);
    owner_kit_claim(&kit, 0, 9); /* it claims again, and does not forget */
    owner_kit_run(&kit, 2 * KEEP_MS);
    cr_expect(owner_is_running(owner));
    cr_expect_eq(log_start(), 0);
    cr_expect_eq(process->metrics->trim_held[TRIM_HELD_BY_GROUP]->value, 1);
    cr_expect_eq(owner_kit_alerts(&kit, "TrimGroupMissing", true),
                 owner_kit_alerts(&kit, "TrimGroupMissing", false) + 1);
    /* Its reader begins at the beginning, and comes past that offset. */
    broker_memory_commit(kit.kafka, "archive", "p.events", 0, 3 * ORDERS - 1);
    run_until_trimmed(KEEP_MS);
    cr_expect_eq(owner_kit_alerts(&kit, "TrimGroupMissing", true),
                 owner_kit_alerts(&kit, "TrimGroupMissing", false));
    broker_memory_commit(kit.kafka, "archive", "p.events", 0, 3 * ORDERS);
    owner_kit_run(&kit, EVERY_MS);
    cr_expect_eq(owner_kit_alerts(&kit, "TrimGroupMissing", true),
                 owner_kit_alerts(&kit, "TrimGroupMissing", false));
}

/* A group that is mirrored gets the offset while nothing is old enough to go. */
Test(owner_trims, sees_an_offset_of_another_log_before_it_could_be_one_of_this)
{
    archive_and_grow(ORDERS / 2, 3 * ORDERS);
    owner_kit_run(&kit, 2 * KEEP_MS);
    cr_expect_eq(log_start(), 0);
    cr_expect_eq(owner_kit_alerts(&kit, "TrimGroupMissing", true), 1);
}

static bool take_archive_back(const char *name, void *ctx)
{
    (void)ctx;
    if (strcmp(name, "statement.acknowledged") == 0)
        broker_memory_commit(kit.kafka, "archive", "p.events", 0, 1);
    return false;
}

/* Its reader begins again while the orders are restated. */
Test(owner_trims, keeps_what_a_group_reads_again)
{
    begin(KEEP_MS);
    owner_kit_release(process, 0);
    kit.trim_groups[0] = "archive";
    kit.trim_group_count = 1;
    broker_memory_commit(kit.kafka, "archive", "p.events", 0, ORDERS);
    owner = owner_kit_own(process, 0);
    failpoint_on_pass(take_archive_back, NULL);
    owner_kit_run(&kit, 2 * KEEP_MS);
    submit(ORDERS, 2 * ORDERS);
    owner_kit_run(&kit, KEEP_MS);
    broker_memory_commit(kit.kafka, "archive", "p.events", 0, 2 * ORDERS);
    owner_kit_run(&kit, 2 * KEEP_MS);
    failpoint_on_pass(NULL, NULL);
    cr_assert_geq(count(RECORD_STATEMENT), ORDERS);
    cr_assert_eq(log_start(), 0);
    cr_assert_eq(process->metrics->trim_held[TRIM_HELD_BY_GROUP]->value, 1);
    broker_memory_commit(kit.kafka, "archive", "p.events", 0, 2 * ORDERS);
    run_until_trimmed(2 * KEEP_MS);
}

/* It commits some times a second, and here the window is shorter than that. */
Test(owner_trims, keeps_what_its_store_does_not_have_yet)
{
    enum { SHORT_MS = 100, STEP_MS = 10, STEPS = 400, SUBMIT_EVERY = 6 };
    uint32_t held = 0;
    begin(SHORT_MS);
    for (uint32_t i = 0; i < STEPS; i++) {
        int64_t flushed = 0;
        cr_assert_eq(view_flushed(owner_view(owner), &flushed, NULL), ERROR_OK);
        cr_assert_lt(log_start(), flushed);
        held += process->metrics->trim_held[TRIM_HELD_BY_STORE]->value > 0;
        if (i % SUBMIT_EVERY == 0)
            owner_kit_submit(&kit, id(ORDERS + i));
        owner_kit_run(&kit, STEP_MS);
    }
    cr_assert_gt(held, 0);
    cr_assert_gt(log_start(), 0);
}

Test(owner_trims, leaves_the_log_to_newer_versions)
{
    begin(KEEP_MS);
    struct claim claim = {.instance = TEXT("newer"),
                          .claimed_at = kit.clock.now_wall_ms,
                          .partition_count = 1,
                          .format = STATE_FORMAT + 1};
    claim.claim_id.bytes[0] = 7;
    owner_kit_send(&kit, "p.events", 0, TEXT("newer"), RECORD_CLAIM, &claim);
    submit(ORDERS, ORDERS + 1); /* it notices, and claims again */
    owner_kit_run(&kit, 4 * KEEP_MS);
    cr_assert(owner_is_running(owner));
    cr_assert_eq(count(RECORD_STATEMENT) + count(RECORD_CONTINUATION), 0);
    cr_assert_eq(log_start(), 0);
    cr_assert_eq(process->metrics->trim_held[TRIM_HELD_BY_FORMAT]->value, 1);
}

/* Deciding goes on. */
Test(owner_trims, says_once_that_it_may_not_delete)
{
    begin_to_trim();
    int64_t trimmed = -1;
    for (int64_t ms = 0; ms < 3 * KEEP_MS && announced_at(&trimmed) < 0; ms += 10)
        owner_kit_run(&kit, 10);
    cr_assert_geq(announced_at(&trimmed), 0);
    broker_memory_refuse_deletions(kit.kafka, true);
    owner_kit_run(&kit, 3 * KEEP_MS);
    cr_assert_eq(log_start(), 0);
    cr_assert_eq(owner_kit_alerts(&kit, "TrimRefused", true), 1);
    cr_assert_eq(process->metrics->trim_held[TRIM_HELD_BY_BROKER]->value, 1);
    submit(ORDERS + 1, ORDERS + 2);
    cr_assert_eq(owner_kit_requests(&kit, id(ORDERS + 1)), 1);
    broker_memory_refuse_deletions(kit.kafka, false);
    run_until_trimmed(KEEP_MS);
    cr_assert_eq(owner_kit_alerts(&kit, "TrimRefused", false), 1);
}

/* ---- another claim ---- */

/* The store knows the Continuations: it need not wait for new ones to grow old. */
Test(owner_trims, goes_on_after_a_restart)
{
    begin(KEEP_MS);
    owner_kit_run(&kit, KEEP_MS);
    submit(ORDERS, ORDERS + 1);
    cr_assert_eq(log_start(), 0);
    owner_kit_release(process, 0);
    owner = owner_kit_own(process, 0);
    run_until_trimmed(KEEP_MS / 2);
}

/* A Statement, or what announces the new beginning, is not the owner's next record. */
Test(owner_trims, deletes_nothing_when_another_owner_comes_between)
{
    int64_t trimmed = -1;
    begin_to_trim();
    for (int64_t ms = 0; ms < 3 * KEEP_MS && announced_at(&trimmed) < 0; ms += 10)
        owner_kit_run(&kit, 10);
    int64_t at = announced_at(&trimmed);
    cr_assert_eq(log_start(), 0);
    cr_assert_eq(at, owner_kit_end(&kit, "p.events", 0) - 1);
    owner_kit_claim(&kit, 0, 9);
    owner_kit_run_until(&kit, owner, OWNER_CHECKING, 500);
    cr_assert_eq(log_start(), 0);
    run_until_trimmed(KEEP_MS);
}

/* ---- a broker that forgets a deletion ---- */

static int64_t trim_and_forget(void)
{
    begin_to_trim();
    broker_memory_keep_trimmed(kit.kafka);
    run_until_trimmed(3 * KEEP_MS);
    int64_t start = log_start();
    broker_memory_forget_trim(kit.kafka, "p.events", 0, start - 5);
    return start;
}

Test(owner_trims, deletes_again_what_a_broker_has_forgotten)
{
    int64_t start = trim_and_forget();
    owner_kit_run(&kit, 60000);
    cr_expect_geq(log_start(), start);
    cr_expect(owner_is_running(owner));
}

Test(owner_trims, deletes_again_what_a_broker_has_forgotten_in_another_process)
{
    int64_t start = trim_and_forget();
    owner_kit_release(process, 0);
    owner = owner_kit_own(owner_kit_boot(&kit, "s-2", 0), 0); /* its store is empty */
    owner_kit_run_until(&kit, owner, OWNER_RUNNING, 5000);
    owner_kit_run(&kit, 1000);
    cr_expect_eq(log_start(), start);
}

Test(owner_trims, deletes_again_only_what_the_archive_has)
{
    int64_t start = trim_and_forget();
    owner_kit_release(process, 0);
    kit.trim_groups[0] = "archive";
    kit.trim_group_count = 1;
    owner = owner_kit_own(process, 0);
    owner_kit_run_until(&kit, owner, OWNER_RUNNING, 5000);
    broker_memory_commit(kit.kafka, "archive", "p.events", 0, start - 1);
    owner_kit_run(&kit, 60000);
    cr_expect_eq(log_start(), start - 5);
    broker_memory_commit(kit.kafka, "archive", "p.events", 0, start);
    owner_kit_run(&kit, 60000);
    cr_expect_eq(log_start(), start);
}
