/* SPDX-License-Identifier: Apache-2.0 */
/* What stops a partition, decided from facts. reading.c collects them. */
#include "cli/partition/state.h"

#include <assert.h>
#include <inttypes.h>

enum { AHEAD_MARGINS = 10 }; /* as the scheduler's ClockAhead */

static int64_t ahead_ms(const struct partition_state *state)
{
    return state->checkpoint.newest_decided_at - state->now;
}

enum partition_trouble partition_trouble_of(const struct partition_state *state)
{
    const struct checkpoint *checkpoint = &state->checkpoint;
    int64_t next = checkpoint->next_command_offset;
    if (error_is(&state->stop))
        return PARTITION_UNREADABLE;
    if (next < state->commands_low || next > state->commands_high)
        return PARTITION_COMMANDS_OUT_OF_RANGE;
    if (state->last_command_differs)
        return PARTITION_COMMANDS_DIFFER;
    if (ahead_ms(state) > AHEAD_MARGINS * state->margin_ms)
        return PARTITION_CLOCK_AHEAD;
    return checkpoint->has_claim ? PARTITION_WORKS : PARTITION_UNCLAIMED;
}

void partition_trouble_text(const struct partition_state *state, char *ret_text, size_t size)
{
    const struct checkpoint *checkpoint = &state->checkpoint;
    switch (partition_trouble_of(state)) {
    case PARTITION_WORKS:
        snprintf(ret_text, size, "nothing in the log stops it");
        return;
    case PARTITION_UNREADABLE:
        snprintf(ret_text, size, "it is stopped at offset %" PRId64 ": %s", state->stopped_at,
                 state->stop.message);
        return;
    case PARTITION_COMMANDS_OUT_OF_RANGE:
        snprintf(ret_text, size,
                 "its next command is %" PRId64 ", but commands holds %" PRId64 " to %" PRId64,
                 checkpoint->next_command_offset, state->commands_low, state->commands_high - 1);
        return;
    case PARTITION_COMMANDS_DIFFER:
        snprintf(ret_text, size, "command %" PRId64 " is not the one that the log consumed there",
                 checkpoint->last_command_offset);
        return;
    case PARTITION_CLOCK_AHEAD:
        snprintf(ret_text, size, "its newest Decision is %" PRId64 " ms ahead of this clock",
                 ahead_ms(state));
        return;
    case PARTITION_UNCLAIMED:
    case PARTITION_TROUBLE_COUNT:
        break;
    }
    snprintf(ret_text, size, "no scheduler has claimed this log");
}

static enum error_class check_next(const struct partition_state *state, int64_t next,
                                   struct error *ret_error)
{
    if (next < 0 || (next >= state->commands_low && next <= state->commands_high))
        return ERROR_OK;
    return error_set(ret_error, CODE_OUT_OF_RANGE,
                     "commands holds the offsets %" PRId64 " to %" PRId64
                     ": --next-command must be one of them, or %" PRId64
                     " to continue with new commands",
                     state->commands_low, state->commands_high - 1, state->commands_high);
}

static bool helps(const struct partition_state *state, const struct partition_reset *reset)
{
    int64_t at = state->stopped_at;
    switch (partition_trouble_of(state)) {
    case PARTITION_UNREADABLE:
        return reset->has_skip && reset->skip.from <= at && at < reset->skip.to;
    case PARTITION_COMMANDS_OUT_OF_RANGE:
    case PARTITION_COMMANDS_DIFFER:
        return reset->next_command_offset >= 0;
    case PARTITION_CLOCK_AHEAD:
        return reset->newest_decided_at > 0 &&
               reset->newest_decided_at <= state->now + AHEAD_MARGINS * state->margin_ms;
    case PARTITION_WORKS:
    case PARTITION_UNCLAIMED:
    case PARTITION_TROUBLE_COUNT:
        break;
    }
    return true;
}

/* Records are missing, and nothing that is skipped brings them back; or a newer version has to read
 * what is left. */
static bool is_beyond_help(const struct partition_state *state)
{
    return error_is(&state->stop) &&
           (state->stop.code == CODE_LOG_INCOMPLETE || state->stop.code == CODE_LOG_TRUNCATED ||
            state->stop.code == CODE_UNKNOWN_FORMAT);
}

enum error_class partition_reset_check(const struct partition_state *state,
                                       const struct partition_reset *reset, struct error *ret_error)
{
    static const char *const needs[] = {
        [PARTITION_UNREADABLE] = "--skip with a range that holds this offset",
        [PARTITION_COMMANDS_OUT_OF_RANGE] = "--next-command",
        [PARTITION_COMMANDS_DIFFER] = "--next-command",
        [PARTITION_CLOCK_AHEAD] = "--newest-decision with an earlier time, such as now",
    };
    char text[ERROR_MESSAGE_SIZE];
    enum partition_trouble trouble = partition_trouble_of(state);
    partition_trouble_text(state, text, sizeof(text));
    if (trouble == PARTITION_WORKS)
        return error_set(ret_error, CODE_PARTITION_WORKS,
                         "the partition works: %s, so it is not reset", text);
    if (is_beyond_help(state))
        return error_set(ret_error, CODE_RESET_IN_VAIN, "no reset would help: %.400s", text);
    if (reset->has_skip && reset->skip.to > state->events_end)
        return error_set(ret_error, CODE_OUT_OF_RANGE,
                         "events ends at %" PRId64 ": --skip must not go beyond that",
                         state->events_end);
    if (!helps(state, reset))
        return error_set(ret_error, CODE_RESET_IN_VAIN,
                         "this reset would not help: %.300s. It needs %s", text, needs[trouble]);
    return check_next(state, reset->next_command_offset, ret_error);
}
