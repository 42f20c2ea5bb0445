/* SPDX-License-Identifier: Apache-2.0 */
/* Which fences of a static member mean that another process has its instance id. */
#include "kafka/fences.h"

#include <criterion/criterion.h>

enum { NOW_MS = 5000, SESSION_MS = 1000, LONG_SESSION_MS = 100000, WINDOW_MS = 60000 };

static bool joins_again(struct fences *fences, int64_t now_ms)
{
    return fences_joins_again(fences, now_ms, SESSION_MS);
}

Test(fences, the_third_within_a_minute_means_another_process)
{
    struct fences fences = {0};
    cr_assert(joins_again(&fences, NOW_MS));
    cr_assert(joins_again(&fences, NOW_MS + 1));
    cr_assert(!joins_again(&fences, NOW_MS + WINDOW_MS));
}

Test(fences, those_of_before_do_not_count)
{
    struct fences fences = {0};
    cr_assert(joins_again(&fences, NOW_MS));
    cr_assert(joins_again(&fences, NOW_MS + 1));
    cr_assert(joins_again(&fences, NOW_MS + WINDOW_MS + 1));
    cr_assert(joins_again(&fences, NOW_MS + WINDOW_MS + 2));
    cr_assert(!joins_again(&fences, NOW_MS + WINDOW_MS + 3));
}

Test(fences, count_for_two_sessions_if_those_are_longer)
{
    struct fences fences = {0};
    cr_assert(fences_joins_again(&fences, NOW_MS, LONG_SESSION_MS));
    cr_assert(fences_joins_again(&fences, NOW_MS + LONG_SESSION_MS, LONG_SESSION_MS));
    cr_assert(!fences_joins_again(&fences, NOW_MS + 2 * LONG_SESSION_MS, LONG_SESSION_MS));
}

Test(fences, outages_that_end_sessions_explain_any_number)
{
    enum { OUTAGES = 10 };
    struct fences fences = {0};
    for (int64_t i = 0; i < OUTAGES; i++) {
        fences_session_ended(&fences);
        cr_assert(joins_again(&fences, NOW_MS + i));
    }
}

Test(fences, an_outage_explains_one)
{
    struct fences fences = {0};
    fences_session_ended(&fences);
    fences_session_ended(&fences);
    cr_assert(joins_again(&fences, NOW_MS));
    cr_assert(joins_again(&fences, NOW_MS));
    cr_assert(joins_again(&fences, NOW_MS));
    cr_assert(!joins_again(&fences, NOW_MS));
}
