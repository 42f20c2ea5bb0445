/* SPDX-License-Identifier: Apache-2.0 */
/* What `reeve verify` counts while its follower folds records again, and while the log is trimmed
 * under it. */
#include "cli/verify/fold.h"
#include "tests/unit/cli/log_kit.h"
#include "tests/unit/statestore/kit.h"

#include <criterion/criterion.h>

TestSuite(cli_verify_fold);

enum { STEPS = 1000 };

static struct session_kit kit;
static struct log_kit owner;
static struct verify_fold fold;

static struct store_env *stores;

static void begin(void)
{
    stores = kit_env();
    session_kit_init(&kit);
    log_kit_begin(&owner, &kit);
}

static enum error_class run(int64_t until, struct error *ret_error)
{
    if (kit.session.cluster == NULL)
        session_kit_open(&kit, 0);
    fold = (struct verify_fold){
        .session = &kit.session, .stores = stores, .rules = until == INT64_MAX, .until = until};
    return verify_fold_run(&fold, kit_path(kit_folder(), "fold"), ret_error);
}

static void assert_passes(uint64_t decisions, uint64_t orders)
{
    struct error error = {0};
    cr_assert_eq(run(INT64_MAX, &error), ERROR_OK, "%s", error.message);
    cr_expect_eq(fold.counts.findings, 0, "%s", fold.findings[0]);
    cr_expect_eq(fold.counts.decisions, decisions, "%lu", fold.counts.decisions);
    cr_expect_eq(fold.counts.orders, orders, "%lu", fold.counts.orders);
}

static void end(void)
{
    verify_fold_deinit(&fold);
    log_kit_end(&owner);
    session_kit_deinit(&kit);
    store_env_free(stores);
}

static void trim(int64_t start)
{
    broker_memory_trim(kit.kafka, "t.events", 0, start);
}

Test(cli_verify_fold, counts_a_log_that_was_not_trimmed)
{
    begin();
    log_kit_accept(&owner);
    log_kit_finish(&owner, 0);
    assert_passes(2, 1);
    cr_expect_eq(follower_checkpoint(fold.follower)->skipped, 0);
    end();
}

/* The claim of a former owner is gone with the beginning of the log; what it wrote late raises a
 * doubt, and what came before that is folded again. */
Test(cli_verify_fold, counts_once_what_a_doubt_folds_again)
{
    begin();
    log_kit_claim(&owner, 2);
    log_kit_accept(&owner);
    int64_t start = log_kit_state_all(&owner);
    log_kit_accept(&owner);
    log_kit_finish(&owner, 0);
    log_kit_zombie(&owner, 1);
    log_kit_finish(&owner, 1);
    trim(start);
    assert_passes(3, 2);
    cr_expect_eq(follower_checkpoint(fold.follower)->skipped, 1);
    cr_expect_eq(fold.counts.by_state[ORDER_PROCESSED], 2);
    end();
}

/* A live store stands where the log no longer gives all orders. */
Test(cli_verify_fold, is_overtaken_by_a_trim)
{
    struct error error = {0};
    begin();
    log_kit_accept(&owner);
    int64_t before = log_kit_finish(&owner, 0);
    int64_t start = log_kit_state_all(&owner);
    trim(start);
    cr_assert_eq(run(before, &error), ERROR_OK, "%s", error.message);
    cr_expect(fold.overtaken);
    verify_fold_deinit(&fold);
    cr_assert_eq(run(start + 1, &error), ERROR_OK, "%s", error.message);
    cr_expect(fold.overtaken);
    verify_fold_deinit(&fold);
    cr_assert_eq(run(start + 3, &error), ERROR_OK, "%s", error.message);
    cr_expect(!fold.overtaken);
    cr_expect_eq(fold.complete_from, start + 3);
    end();
}

static int64_t start_later;

static void trim_on_the_way(void *ctx)
{
    int64_t low = 0, high = 0;
    (void)ctx;
    broker_memory_bounds(kit.kafka, "t.events", 0, &low, &high);
    if (low == 0 && fold.next > 3)
        trim(start_later);
}

Test(cli_verify_fold, begins_again_where_the_log_is_trimmed_under_it)
{
    begin();
    log_kit_accept(&owner);
    log_kit_accept(&owner);
    log_kit_finish(&owner, 0);
    log_kit_accept(&owner);
    start_later = log_kit_state_all(&owner);
    log_kit_finish(&owner, 1);
    session_kit_open(&kit, 0);
    kit.turn = trim_on_the_way;
    kit.steps = 1;
    assert_passes(1, 3);
    cr_expect_eq(follower_checkpoint(fold.follower)->start, start_later);
    cr_expect_eq(fold.counts.by_state[ORDER_PROCESSED], 2);
    end();
}

/* In the turn in which the end of the log is met: more of it, and a Claim that raises a doubt. */
static void write_at_the_end(void *ctx)
{
    bool *written = ctx;
    broker_memory_settle(kit.kafka, STEPS);
    if (*written || !fold.done)
        return;
    *written = true;
    log_kit_accept(&owner);
    log_kit_claim(&owner, 2);
}

Test(cli_verify_fold, counts_nothing_beyond_the_end_that_it_has_met)
{
    bool written = false;
    begin();
    log_kit_accept(&owner);
    int64_t last = log_kit_finish(&owner, 0);
    session_kit_open(&kit, 0);
    kit.turn = write_at_the_end;
    kit.turn_ctx = &written;
    assert_passes(2, 1);
    cr_expect(written);
    cr_expect_eq(follower_checkpoint(fold.follower)->next_event_offset, last + 1);
    end();
}
