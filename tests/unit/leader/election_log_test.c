/* SPDX-License-Identifier: Apache-2.0 */
/* Which records of an election count. Each case is a log: the records with candidate,
 * offset and append time, and whether each counts. */
#include "leader/election.h"

#include <criterion/criterion.h>

enum { DAY_MS = 86400000 };

struct line {
    char who;
    enum leadership_kind kind;
    int64_t term;
    int64_t offset;
    int64_t append_ms;
    enum election_outcome verdict;
};

#define SAYS(...)   \
    {               \
        __VA_ARGS__ \
    }
#define CLAIM LEADERSHIP_CLAIM
#define RENEW LEADERSHIP_RENEW
#define RELEASE LEADERSHIP_RELEASE
#define COUNTS ELECTION_COUNTS
#define STALE ELECTION_STALE
#define EARLY ELECTION_EARLY

/* Leases are of 1000 ms. */
static struct election_log fold(const struct line *lines, size_t count, bool live)
{
    struct election_log log;
    election_log_init(&log);
    log.live = live;
    for (size_t i = 0; i < count; i++) {
        struct leadership record = {.role = TEXT("role"),
                                    .kind = lines[i].kind,
                                    .instance = {&lines[i].who, 1},
                                    .term = lines[i].term,
                                    .lease_ms = 1000,
                                    .reason = TEXT("why")};
        record.candidate_id.bytes[0] = (uint8_t)lines[i].who;
        enum election_outcome verdict =
            election_log_fold(&log, &record, lines[i].offset, lines[i].append_ms);
        cr_expect_str_eq(election_outcome_name(verdict), election_outcome_name(lines[i].verdict),
                         "line %zu", i);
    }
    return log;
}

#define FOLD(lines) fold(lines, sizeof(lines) / sizeof((lines)[0]), false)

Test(election_log, counts_only_the_first_claim_of_a_race)
{
    static const struct line lines[] = {
        SAYS('a', CLAIM, -1, 0, 100, COUNTS), SAYS('b', CLAIM, -1, 1, 101, STALE),
        SAYS('c', CLAIM, -1, 2, 5000, STALE), SAYS('a', RENEW, 0, 3, 5001, COUNTS),
        SAYS('c', RENEW, 0, 4, 5002, STALE),
    };
    struct election_log log = FOLD(lines);
    cr_assert_eq(log.term, 0);
    cr_assert_eq(log.last, 3);
    cr_assert_str_eq(log.instance, "a");
    cr_assert_eq(log.since_ms, 100);
}

/* b read a log whose head was gone, and so could not know that a led. */
Test(election_log, follows_the_later_of_two_terms_that_are_renewed)
{
    static const struct line lines[] = {
        SAYS('a', CLAIM, -1, 0, 100, COUNTS), SAYS('b', CLAIM, -1, 1, 5000, STALE),
        SAYS('a', RENEW, 0, 2, 5001, COUNTS), SAYS('b', RENEW, 1, 3, 5002, COUNTS),
        SAYS('a', RENEW, 0, 4, 5003, STALE),  SAYS('b', RENEW, 1, 5, 5004, COUNTS),
        SAYS('c', RENEW, 99, 6, 5005, STALE), /* a term that cannot be */
    };
    struct election_log log = FOLD(lines);
    cr_assert_eq(log.term, 1);
    cr_assert_eq(log.last, 5);
    cr_assert_str_eq(log.instance, "b");
}

Test(election_log, counts_a_claim_only_behind_the_newest_record)
{
    static const struct line lines[] = {
        SAYS('a', CLAIM, -1, 0, 0, COUNTS),    SAYS('a', RENEW, 0, 1, 300, COUNTS),
        SAYS('b', CLAIM, 0, 2, 2000, STALE), /* it has not seen the renewal */
        SAYS('b', CLAIM, 1, 3, 2001, COUNTS),  SAYS('a', RENEW, 0, 4, 2002, STALE), /* a zombie's */
        SAYS('a', RELEASE, 0, 5, 2003, STALE), SAYS('c', CLAIM, 3, 6, 3000, EARLY),
        SAYS('c', CLAIM, 3, 7, 3001, COUNTS),
    };
    cr_assert_eq(FOLD(lines).term, 7);
}

Test(election_log, makes_no_candidate_wait_after_a_release)
{
    static const struct line lines[] = {
        SAYS('a', CLAIM, -1, 0, 0, COUNTS),  SAYS('b', RELEASE, 0, 1, 1, STALE), /* not b's */
        SAYS('a', RELEASE, 0, 2, 2, COUNTS), SAYS('a', RENEW, 0, 3, 3, STALE),
        SAYS('a', RELEASE, 0, 4, 4, STALE),  SAYS('b', CLAIM, 0, 5, 5, STALE),
        SAYS('b', CLAIM, 2, 6, 6, COUNTS),
    };
    cr_assert_eq(FOLD(lines).term, 6);
}

Test(election_log, frees_the_role_although_the_clock_went_back)
{
    static const struct line lines[] = {
        SAYS('a', CLAIM, -1, 0, 900000, COUNTS),
        SAYS('b', CLAIM, 0, 1, 500, COUNTS),
    };
    cr_assert_eq(FOLD(lines).term, 1);
}

Test(election_log, keeps_a_long_term_after_its_claim_is_deleted)
{
    /* The log begins at 5000; the claim was at 17. */
    static const struct line lines[] = {
        SAYS('z', RENEW, 3, 5000, 1, COUNTS), /* a zombie's: we cannot know better yet */
        SAYS('a', RENEW, 17, 5001, 2, COUNTS),
        SAYS('z', RENEW, 3, 5002, 3, STALE),
        SAYS('b', CLAIM, 5001, 5003, 1002, COUNTS),
    };
    cr_assert_eq(FOLD(lines).term, 5003);
}

Test(election_log, counts_a_claim_behind_deleted_records_after_its_renewal)
{
    static const struct line lines[] = {
        SAYS('b', CLAIM, -1, 5000, 1, STALE),
        SAYS('a', CLAIM, 4711, 5001, 2, STALE),
        SAYS('a', RENEW, 5001, 5002, 3, COUNTS),
    };
    cr_assert_eq(FOLD(lines).term, 5001);
}

Test(election_log, counts_a_claim_of_an_old_role_that_begins_again)
{
    static const struct line lines[] = {
        SAYS('b', CLAIM, -1, 5000, 1, COUNTS),
        SAYS('a', CLAIM, -1, 5001, 2, STALE),
    };
    cr_assert_eq(fold(lines, 2, true).term, 5000);
}

Test(election_log, forgets_records_older_than_a_day)
{
    static const struct line lines[] = {
        SAYS('a', CLAIM, -1, 0, 0, COUNTS),
        SAYS('b', CLAIM, 0, 1, DAY_MS + 1, STALE),
        SAYS('b', CLAIM, -1, 2, DAY_MS + 1, COUNTS),
        SAYS('c', CLAIM, -1, 3, DAY_MS + 5000, STALE),
    };
    cr_assert_eq(FOLD(lines).term, 2);
}

Test(election_log, bounds_absurd_leases)
{
    struct election_log log;
    struct leadership record = {.kind = CLAIM, .term = -1, .lease_ms = INT64_MAX};
    election_log_init(&log);
    cr_assert_eq(election_log_fold(&log, &record, 0, 5), COUNTS);
    cr_assert_eq(log.lease_ms, ELECTION_LEASE_MS_MAX);
    record = (struct leadership){.kind = RENEW, .term = 0, .lease_ms = -7};
    cr_assert_eq(election_log_fold(&log, &record, 1, 6), COUNTS);
    cr_assert_eq(log.lease_ms, 0);
}

Test(election_log, counts_a_claim_far_behind_the_beginning_of_a_whole_topic)
{
    struct election_log log;
    struct leadership record = {.kind = CLAIM, .term = -1, .lease_ms = 1000};
    election_log_init(&log);
    election_log_begins(&log, 0);
    cr_assert_eq(election_log_fold(&log, &record, 5, 100), COUNTS);
    election_log_init(&log);
    election_log_begins(&log, 4);
    cr_assert_eq(election_log_fold(&log, &record, 5, 100), STALE);
}
