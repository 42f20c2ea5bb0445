/* SPDX-License-Identifier: Apache-2.0 */
#include "replica/follow/verdict.h"

#include <assert.h>
#include <stdio.h>

void lag_window_add(struct lag_window *window, int64_t now_ms, int64_t lag, int64_t next_command)
{
    uint32_t last = (window->count + LAG_SAMPLES - 1) % LAG_SAMPLES;
    /* While the brokers do not answer, it is not known whether anything is decided. */
    if (window->count > 0 && now_ms - window->measured_ms > LAG_GAP_MS)
        window->advanced_ms += now_ms - window->measured_ms;
    window->measured_ms = now_ms;
    if (window->count == 0 || lag == 0 || next_command != window->next_command)
        window->advanced_ms = now_ms;
    window->lag = lag;
    window->next_command = next_command;
    if (window->count > 0 && now_ms - window->samples[last].at_ms < LAG_SAMPLE_MS)
        return;
    uint32_t place = window->count++ % LAG_SAMPLES;
    window->samples[place].at_ms = now_ms;
    window->samples[place].lag = lag;
}

/* The oldest sample that is kept. */
static uint32_t oldest(const struct lag_window *window)
{
    return window->count > LAG_SAMPLES ? window->count % LAG_SAMPLES : 0;
}

int64_t lag_window_waited_ms(const struct lag_window *window, int64_t now_ms)
{
    return window->count > 0 && window->lag > 0 ? now_ms - window->advanced_ms : 0;
}

bool lag_window_is_stalled(const struct lag_window *window, int64_t now_ms,
                           char ret_reason[VERDICT_REASON_SIZE])
{
    int64_t waited_ms = lag_window_waited_ms(window, now_ms);
    if (waited_ms < LAG_STALLED_MS)
        return false;
    snprintf(ret_reason, VERDICT_REASON_SIZE,
             "%lld command%s, and none was decided for %lld s: is a scheduler running?",
             (long long)window->lag, window->lag == 1 ? " waits" : "s wait",
             (long long)(waited_ms / 1000));
    return true;
}

static enum verdict assess(const struct lag_window *window, int64_t now_ms,
                           char ret_reason[VERDICT_REASON_SIZE])
{
    if (window->count == 0 || window->lag == 0)
        return VERDICT_OK;
    if (lag_window_is_stalled(window, now_ms, ret_reason))
        return VERDICT_STALLED;
    int64_t before = window->samples[oldest(window)].lag;
    int64_t span_ms = now_ms - window->samples[oldest(window)].at_ms;
    int64_t noise = before / 10 > LAG_NOISE ? before / 10 : LAG_NOISE;
    if (span_ms < LAG_GROWING_MS || window->lag - before <= noise)
        return VERDICT_OK;
    snprintf(
        ret_reason, VERDICT_REASON_SIZE,
        "%lld commands wait, %lld more than %lld s ago: they arrive faster than they are decided",
        (long long)window->lag, (long long)(window->lag - before), (long long)(span_ms / 1000));
    return VERDICT_GROWING;
}

enum verdict verdict_of(const struct verdict_input *input, char ret_reason[VERDICT_REASON_SIZE])
{
    ret_reason[0] = '\0';
    if (input->stopped != NULL) {
        snprintf(ret_reason, VERDICT_REASON_SIZE, "%s", input->stopped);
        return VERDICT_STOPPED;
    }
    if (input->away_ms > 0) {
        snprintf(ret_reason, VERDICT_REASON_SIZE, "the brokers have not answered for %lld s",
                 (long long)(input->away_ms / 1000));
        return VERDICT_STALLED;
    }
    if (!input->claimed) {
        snprintf(ret_reason, VERDICT_REASON_SIZE,
                 "no scheduler has claimed it yet: is one running?");
        return VERDICT_STOPPED;
    }
    return assess(input->window, input->now_ms, ret_reason);
}

const char *verdict_name(enum verdict verdict)
{
    static const char *const names[] = {"ok", "growing", "stalled", "stopped"};
    _Static_assert(sizeof(names) / sizeof(names[0]) == VERDICT_COUNT, "each verdict has a name");
    assert((unsigned)verdict < VERDICT_COUNT);
    return names[verdict];
}
