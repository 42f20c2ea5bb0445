/* SPDX-License-Identifier: Apache-2.0 */
/* In random histories there are never two leaders, tokens rise, and a leader emerges in the end. */
#include "tests/lib/seed.h"
#include "tests/property/election_world.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>

/* Two slices, because Criterion runs tests in parallel. */
enum { CASES = 3000, SLICES = 2 };

static struct election_sometimes sometimes;

static void met(void)
{
    cr_assert_gt(sometimes.crashes, 0);
    cr_assert_gt(sometimes.pauses, 0);
    cr_assert_gt(sometimes.cuts, 0);
    cr_assert_gt(sometimes.lapsed, 0);
    cr_assert_gt(sometimes.hung, 0);
    cr_assert_gt(sometimes.outranked, 0);
    cr_assert_gt(sometimes.ended, 0);
    cr_assert_gt(sometimes.stale_claims, 0);
    cr_assert_gt(sometimes.early_claims, 0);
    cr_assert_gt(sometimes.stale_renewals, 0);
    cr_assert_gt(sometimes.acts_refused, 0);
    cr_assert_gt(sometimes.clashes, 0);
    cr_assert_gt(sometimes.truncated, 0);
}

static void expect_right(uint64_t seed)
{
    const char *failed = election_world_run(seed, &sometimes);
    cr_assert_null(failed, "%s", failed);
}

static void run_slice(uint32_t slice)
{
    struct seed_range range = seed_slice(CASES, slice, SLICES);
    seed_run(range, expect_right);
    fprintf(stderr,
            "%" PRIu64 " cases from seed %" PRIu64 ": %" PRIu64 " terms, %" PRIu64
            " crashes, %" PRIu64 " pauses, %" PRIu64 " cuts, %" PRIu64 " lapsed, %" PRIu64
            " superseded, %" PRIu64 " hung, %" PRIu64 " outranked, %" PRIu64 " ended, %" PRIu64
            " stale and %" PRIu64 " early claims, %" PRIu64 " stale renewals, %" PRIu64
            " of %" PRIu64 " acts refused, %" PRIu64 " clashes, %" PRIu64 " truncated\n",
            range.count, range.first, sometimes.terms, sometimes.crashes, sometimes.pauses,
            sometimes.cuts, sometimes.lapsed, sometimes.superseded, sometimes.hung,
            sometimes.outranked, sometimes.ended, sometimes.stale_claims, sometimes.early_claims,
            sometimes.stale_renewals, sometimes.acts_refused, sometimes.acts, sometimes.clashes,
            sometimes.truncated);
    if (range.count >= 500)
        met();
}

Test(election, never_has_two_leaders_slice_1)
{
    run_slice(0);
}

Test(election, never_has_two_leaders_slice_2)
{
    run_slice(1);
}
