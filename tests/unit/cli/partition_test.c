/* SPDX-License-Identifier: Apache-2.0 */
/* What stops a partition, and which reset helps. */
#include "cli/partition/state.h"

#include <criterion/criterion.h>

TestSuite(cli_partition);

/* Claimed, at rest, with commands 3 to 9 of which 8 was the last one decided. */
static struct partition_state working(void)
{
    return (struct partition_state){.checkpoint = {.has_claim = true,
                                                   .next_event_offset = 20,
                                                   .next_command_offset = 9,
                                                   .last_command_offset = 8,
                                                   .newest_decided_at = 1000},
                                    .events_end = 20,
                                    .commands_low = 3,
                                    .commands_high = 10,
                                    .now = 2000,
                                    .margin_ms = 100};
}

static struct partition_reset reset_to(int64_t next_command_offset)
{
    return (struct partition_reset){.next_command_offset = next_command_offset};
}

static void assert_refused(const struct partition_state *state, struct partition_reset reset,
                           enum error_code code)
{
    struct error error = {0};
    cr_assert_eq(partition_reset_check(state, &reset, &error), ERROR_REJECT, "%s",
                 error_code_name(code));
    cr_assert_eq(error.code, code, "%s", error.message);
}

static void assert_accepted(const struct partition_state *state, struct partition_reset reset)
{
    struct error error = {0};
    cr_assert_eq(partition_reset_check(state, &reset, &error), ERROR_OK, "%s", error.message);
}

Test(cli_partition, refuses_to_reset_a_partition_that_works)
{
    struct partition_state state = working();
    struct partition_reset skip = reset_to(-1);
    skip.has_skip = true;
    skip.skip.to = 3;
    assert_refused(&state, reset_to(5), CODE_PARTITION_WORKS);
    assert_refused(&state, skip, CODE_PARTITION_WORKS);
    state.checkpoint.newest_decided_at = state.now + 1000; /* as far as the scheduler bears it */
    assert_refused(&state, reset_to(5), CODE_PARTITION_WORKS);
}

Test(cli_partition, skips_the_record_that_stops_it)
{
    struct partition_state state = working();
    struct partition_reset reset = reset_to(-1);
    error_set(&state.stop, CODE_UNDECODABLE_EVENT, "p.events[0]@15: cut off");
    state.stopped_at = 15;
    assert_refused(&state, reset_to(5), CODE_RESET_IN_VAIN);
    reset.has_skip = true;
    reset.skip.from = 14;
    reset.skip.to = 15;
    assert_refused(&state, reset, CODE_RESET_IN_VAIN);
    reset.skip.to = 21;
    assert_refused(&state, reset, CODE_OUT_OF_RANGE);
    reset.skip.to = 16;
    assert_accepted(&state, reset);
}

Test(cli_partition, offers_no_skip_where_records_are_missing)
{
    struct partition_state state = working();
    struct partition_reset reset = reset_to(-1);
    struct error error = {0};
    error_set(&state.stop, CODE_LOG_INCOMPLETE, "p.events[0] begins at offset 15: ...");
    state.stopped_at = 20;
    reset.has_skip = true;
    reset.skip.from = 14;
    reset.skip.to = 20;
    cr_assert_eq(partition_reset_check(&state, &reset, &error), ERROR_REJECT);
    cr_assert_eq(error.code, CODE_RESET_IN_VAIN);
    cr_assert_null(strstr(error.message, "--skip"), "%s", error.message);
    assert_refused(&state, reset_to(5), CODE_RESET_IN_VAIN);
}

Test(cli_partition, continues_at_a_command_that_exists)
{
    struct partition_state state = working();
    struct partition_reset clock = reset_to(-1);
    clock.newest_decided_at = state.now;
    state.last_command_differs = true;
    assert_refused(&state, clock, CODE_RESET_IN_VAIN);
    assert_refused(&state, reset_to(2), CODE_OUT_OF_RANGE);
    assert_refused(&state, reset_to(11), CODE_OUT_OF_RANGE);
    assert_accepted(&state, reset_to(3));
    assert_accepted(&state, reset_to(10));
    state = working();
    state.commands_low = 10;
    assert_refused(&state, reset_to(9), CODE_OUT_OF_RANGE);
    assert_accepted(&state, reset_to(10));
}

Test(cli_partition, lowers_a_newest_decision_that_is_ahead)
{
    struct partition_state state = working();
    struct partition_reset reset = reset_to(-1);
    state.checkpoint.newest_decided_at = 100000;
    assert_refused(&state, reset_to(5), CODE_RESET_IN_VAIN);
    reset.newest_decided_at = 90000;
    assert_refused(&state, reset, CODE_RESET_IN_VAIN);
    reset.newest_decided_at = state.now;
    assert_accepted(&state, reset);
}

Test(cli_partition, begins_a_log_without_claims)
{
    struct partition_state state = working();
    state.checkpoint.has_claim = false;
    assert_accepted(&state, reset_to(5));
}
