/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/pace.h"

#include "base/numbers.h"

#include <assert.h>

#define RATE_MAX 1e7

enum error_class pace_parse(const char *text, struct pace *ret_pace, struct error *ret_error)
{
    struct pace pace = {.began_us = -1};
    if (text == NULL) {
        *ret_pace = pace;
        return ERROR_OK;
    }
    struct text rest = text_of(text);
    double rate = 0;
    bool number = number_take_real(&rest, &rate);
    double seconds = text_equal(rest, TEXT("/m")) ? 60 : 1;
    bool unit = rest.size == 0 || text_equal(rest, TEXT("/s")) || seconds > 1;
    if (!number || !unit || !(rate > 0) || rate > RATE_MAX)
        return error_set(ret_error, CODE_USAGE,
                         "--rate %.40s: expected a rate such as 50/s, 0.5/s or 600/m", text);
    pace.per_second = rate / seconds;
    *ret_pace = pace;
    return ERROR_OK;
}

int64_t pace_wait_us(struct pace *pace, int64_t now_us)
{
    assert(pace->per_second >= 0 && pace->done >= 0);
    if (pace->per_second <= 0)
        return 0;
    if (pace->began_us < 0)
        pace->began_us = now_us;
    double allowed = (double)(now_us - pace->began_us) / 1e6 * pace->per_second;
    /* Far behind: restart with at most a second's worth at once. */
    if (allowed - pace->done > pace->per_second + 1) {
        pace->began_us = now_us - 1000000;
        pace->done = 0;
        return 0;
    }
    if (pace->done <= allowed)
        return 0;
    return (int64_t)((pace->done - allowed) / pace->per_second * 1e6) + 1;
}

void pace_pass(struct pace *pace)
{
    pace->done += 1;
}
