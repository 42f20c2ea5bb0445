/* SPDX-License-Identifier: Apache-2.0 */
/* One candidate, step by step. Lease 1000 ms, renewals every 300, margin 200, hung after 2000. */
#include "leader/election.h"

#include <criterion/criterion.h>

enum { WALL = 1700000000 };

static struct election election;
static struct election_step did;
static int64_t next_offset;

static void start_as(enum election_strategy strategy, uint32_t rank)
{
    struct election_options options = {.role = TEXT("role"),
                                       .instance = TEXT("we"),
                                       .strategy = strategy,
                                       .rank = rank,
                                       .lease_ms = 1000,
                                       .renew_ms = 300,
                                       .progress_ms = 2000};
    options.candidate_id.bytes[0] = 1;
    next_offset = 0;
    election_init(&election, &options);
}

static enum election_act next(int64_t now)
{
    return election_next(&election, now, WALL + now, &did);
}

/* The record that we appended is acknowledged and read back. */
static int64_t comes_back(struct leadership record, int64_t now)
{
    election_answered(&election, false, now);
    election_record(&election, &record, next_offset, WALL + now, now);
    return next_offset++;
}

static int64_t another_says(enum leadership_kind kind, uint32_t rank, int64_t term, int64_t now)
{
    struct leadership record = {.role = TEXT("role"),
                                .kind = kind,
                                .instance = TEXT("it"),
                                .rank = rank,
                                .term = term,
                                .lease_ms = 1000};
    record.candidate_id.bytes[0] = 2;
    election_record(&election, &record, next_offset, WALL + now, now);
    return next_offset++;
}

/* We lead from about `now` on. */
static int64_t lead(int64_t now)
{
    election_caught_up(&election, now);
    cr_assert_eq(next(now), ELECTION_APPEND);
    cr_assert_eq(did.record.kind, LEADERSHIP_CLAIM);
    int64_t term = comes_back(did.record, now + 10);
    cr_assert_eq(next(now + 10), ELECTION_BEGIN);
    cr_assert_eq(did.term, term);
    return term;
}

Test(election, stays_silent_until_the_past_is_read)
{
    start_as(ELECTION_RACE, 0);
    cr_assert_eq(next(1), ELECTION_NOTHING);
    cr_assert_eq(next(100000), ELECTION_NOTHING);
}

Test(election, leads_from_its_claim_until_a_margin_before_the_lease_ends)
{
    start_as(ELECTION_RACE, 0);
    election_caught_up(&election, 1000);
    cr_assert_eq(next(1000), ELECTION_APPEND);
    struct leadership claim = did.record;
    cr_assert_eq(claim.term, -1);
    cr_assert(!election_leads(&election, 1000));
    comes_back(claim, 1700);
    cr_assert_eq(next(1700), ELECTION_BEGIN);
    cr_assert(election_leads(&election, 1799));
    cr_assert(!election_leads(&election, 1800), "sent at 1000, lease 1000, margin 200");
    cr_assert_eq(next(1800), ELECTION_CANCEL);
    cr_assert_eq(did.reason, ELECTION_LAPSED);
    cr_assert_eq(next(1800), ELECTION_NOTHING, "no renewal while the task ends");
    election_task_ended(&election, 1850);
    cr_assert_eq(next(1850), ELECTION_APPEND);
    cr_assert_eq(did.record.kind, LEADERSHIP_RELEASE,
                 "no candidate has to wait for the rest of the lease");
}

Test(election, releases_a_claim_that_arrives_too_late)
{
    start_as(ELECTION_RACE, 0);
    election_caught_up(&election, 1000);
    cr_assert_eq(next(1000), ELECTION_APPEND);
    comes_back(did.record, 1800);
    cr_assert_eq(next(1800), ELECTION_APPEND);
    cr_assert_eq(did.record.kind, LEADERSHIP_RELEASE);
}

Test(election, extends_its_lead_by_one_renewal_at_a_time)
{
    start_as(ELECTION_RACE, 0);
    int64_t term = lead(1000);
    cr_assert_eq(next(1299), ELECTION_NOTHING);
    cr_assert_eq(next(1300), ELECTION_APPEND);
    cr_assert_eq(did.record.kind, LEADERSHIP_RENEW);
    cr_assert_eq(did.record.term, term);
    struct leadership renewal = did.record;
    cr_assert_eq(next(1700), ELECTION_NOTHING, "the first is not acknowledged");
    comes_back(renewal, 1750);
    cr_assert(election_leads(&election, 2099));
    cr_assert(!election_leads(&election, 2100));
}

Test(election, waits_a_lease_after_reading_a_record)
{
    start_as(ELECTION_RACE, 0);
    another_says(LEADERSHIP_CLAIM, 0, -1, 500);
    election_caught_up(&election, 1000);
    cr_assert_eq(next(1999), ELECTION_NOTHING);
    int64_t renewed = another_says(LEADERSHIP_RENEW, 0, 0, 1999);
    cr_assert_eq(next(2998), ELECTION_NOTHING);
    cr_assert_eq(election_due(&election, 2998), 2999);
    cr_assert_eq(next(2999), ELECTION_APPEND);
    cr_assert_eq(did.record.term, renewed, "it names what it follows");
}

/* A record of a later term counts without its claim. It may be wrong, and the leader that it
 * displaces, cut off, may not have read it. */
static void waits_for_the_lease_that(enum leadership_kind kind)
{
    start_as(ELECTION_RACE, 0);
    another_says(LEADERSHIP_CLAIM, 0, -1, 500);
    election_caught_up(&election, 600);
    another_says(LEADERSHIP_RENEW, 0, 0, 900);
    struct leadership later = {
        .role = TEXT("role"), .kind = kind, .instance = TEXT("other"), .term = 1, .lease_ms = 1};
    later.candidate_id.bytes[0] = 3;
    cr_assert_eq(election_record(&election, &later, next_offset++, WALL + 1000, 1000),
                 ELECTION_COUNTS);
    cr_assert_eq(next(1899), ELECTION_NOTHING);
    cr_assert_eq(election_due(&election, 1899), 1900);
    cr_assert_eq(next(1900), ELECTION_APPEND);
    cr_assert_eq(did.record.kind, LEADERSHIP_CLAIM);
}

Test(election, waits_for_the_lease_that_a_renewal_of_a_later_term_displaces)
{
    waits_for_the_lease_that(LEADERSHIP_RENEW);
}

Test(election, waits_for_the_lease_that_a_release_of_a_later_term_displaces)
{
    waits_for_the_lease_that(LEADERSHIP_RELEASE);
}

Test(election, gives_up_a_claim_behind_a_renewal)
{
    start_as(ELECTION_RACE, 0);
    int64_t first = another_says(LEADERSHIP_CLAIM, 0, -1, 500);
    election_caught_up(&election, 1000);
    cr_assert_eq(next(2000), ELECTION_APPEND);
    struct leadership claim = did.record;
    another_says(LEADERSHIP_RENEW, 0, first, 2010);
    comes_back(claim, 2020);
    cr_assert_eq(election.state, ELECTION_WAITING);
    cr_assert_eq(next(3009), ELECTION_NOTHING);
    cr_assert_eq(next(3010), ELECTION_APPEND);
}

Test(election, takes_the_lead_from_a_task_without_progress)
{
    start_as(ELECTION_RACE, 0);
    int64_t term = lead(1000);
    int64_t now = 1300;
    for (; now < 3000; now += 300) {
        cr_assert_eq(next(now), ELECTION_APPEND);
        comes_back(did.record, now);
    }
    election_progress(&election, 1100, 1);
    cr_assert_eq(next(3099), ELECTION_NOTHING);
    cr_assert_eq(next(3100), ELECTION_CANCEL);
    cr_assert_eq(did.reason, ELECTION_HUNG);
    cr_assert(!election_leads(&election, 3100));
    cr_assert_eq(next(3100), ELECTION_APPEND, "others need not wait, though the task goes on");
    cr_assert_eq(did.record.kind, LEADERSHIP_RELEASE);
    cr_assert_eq(did.record.term, term);
    comes_back(did.record, 3110);
    cr_assert_eq(next(9000), ELECTION_NOTHING, "no claim while it hangs");
    election_task_ended(&election, 9000);
    cr_assert_eq(next(9300), ELECTION_APPEND);
    cr_assert_eq(did.record.kind, LEADERSHIP_CLAIM);
}

Test(election, ends_the_task_and_then_releases_when_stopped)
{
    start_as(ELECTION_RACE, 0);
    lead(1000);
    election_stop(&election);
    cr_assert_eq(next(1100), ELECTION_CANCEL);
    cr_assert_eq(did.reason, ELECTION_STOP);
    cr_assert_eq(next(1300), ELECTION_APPEND, "the term stays ours until the task has ended");
    cr_assert_eq(did.record.kind, LEADERSHIP_RENEW);
    comes_back(did.record, 1310);
    cr_assert(!election_is_over(&election));
    election_task_ended(&election, 1400);
    cr_assert_eq(next(1400), ELECTION_APPEND);
    cr_assert_eq(did.record.kind, LEADERSHIP_RELEASE);
    cr_assert(text_equal(did.record.reason, TEXT("stopped")));
    comes_back(did.record, 1410);
    cr_assert_eq(next(1410), ELECTION_NOTHING);
    cr_assert(election_is_over(&election));
}

Test(election, stops_at_once_when_superseded)
{
    start_as(ELECTION_RACE, 0);
    lead(1000);
    /* Only possible if clocks differ by more than the margin. */
    int64_t last = election.log.last;
    another_says(LEADERSHIP_CLAIM, 0, last, 2500);
    cr_assert(!election_leads(&election, 1500));
    cr_assert_eq(next(1500), ELECTION_CANCEL);
    cr_assert_eq(did.reason, ELECTION_SUPERSEDED);
}

Test(election, lets_higher_ranked_candidates_lead)
{
    start_as(ELECTION_RANKED, 5);
    election_caught_up(&election, 1000);
    cr_assert_eq(next(1000), ELECTION_APPEND);
    cr_assert_eq(did.record.kind, LEADERSHIP_CANDIDATE);
    comes_back(did.record, 1000);
    another_says(LEADERSHIP_CANDIDATE, 3, -1, 1500);
    election.announce_at = 100000;
    cr_assert_eq(next(2499), ELECTION_NOTHING);
    cr_assert_eq(next(2500), ELECTION_APPEND, "the better one is silent for a lease");
    cr_assert_eq(did.record.kind, LEADERSHIP_CLAIM);
}

Test(election, hands_over_to_a_higher_ranked_candidate)
{
    start_as(ELECTION_RANKED, 5);
    election_caught_up(&election, 1000);
    election.announce_at = 100000;
    lead(2000);
    another_says(LEADERSHIP_CANDIDATE, 9, -1, 2100);
    cr_assert_eq(next(2100), ELECTION_NOTHING);
    another_says(LEADERSHIP_CANDIDATE, 3, -1, 2200);
    cr_assert_eq(next(2200), ELECTION_CANCEL);
    cr_assert_eq(did.reason, ELECTION_OUTRANKED);
    election_task_ended(&election, 2210);
    cr_assert_eq(next(2210), ELECTION_APPEND);
    cr_assert(text_equal(did.record.reason, TEXT("outranked")));
}

Test(election, reports_a_clash_of_ranks_once)
{
    start_as(ELECTION_RANKED, 5);
    election_caught_up(&election, 1000);
    election.announce_at = 100000;
    another_says(LEADERSHIP_CANDIDATE, 5, -1, 1100);
    cr_assert_eq(next(1100), ELECTION_CLASH);
    cr_assert_str_eq(did.instance, "it");
    another_says(LEADERSHIP_CANDIDATE, 5, -1, 1200);
    cr_assert_eq(next(1200), ELECTION_NOTHING);
}

Test(election, regains_no_old_term_from_a_log_that_is_read_again)
{
    start_as(ELECTION_RACE, 0);
    lead(1000);
    struct leadership claim = did.record;
    claim = (struct leadership){.role = TEXT("role"),
                                .kind = LEADERSHIP_CLAIM,
                                .candidate_id = election.options.candidate_id,
                                .term = -1,
                                .lease_ms = 1000,
                                .said_at = election.said_at};
    election_reread(&election);
    cr_assert_eq(next(1100), ELECTION_CANCEL);
    cr_assert_eq(did.reason, ELECTION_REREAD);
    election_task_ended(&election, 1110);
    election_record(&election, &claim, 0, WALL + 1010, 1120);
    election_caught_up(&election, 1120);
    cr_assert_neq(next(1120), ELECTION_BEGIN);
}

Test(election, reports_contradictions_in_one_line)
{
    static const struct {
        int64_t lease, renew, progress, margin;
        const char *says;
    } rows[] = {{50, 10, 100, 0, "leader.lease.ms is 50"},
                {1000, 400, 2000, 0, "leader.renew.ms is 400, must be 50 to 333"},
                {1000, 49, 2000, 0, "leader.renew.ms is 49"},
                {1000, 300, 299, 0, "leader.progress.ms is 299"},
                {1000, 300, 2000, 400, "the margin is 400"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct error error;
        struct election_options options = {.lease_ms = rows[i].lease,
                                           .renew_ms = rows[i].renew,
                                           .progress_ms = rows[i].progress,
                                           .margin_ms = rows[i].margin};
        cr_assert_eq(election_options_check(&options, &error), ERROR_REJECT);
        cr_assert_eq(strncmp(error.message, rows[i].says, strlen(rows[i].says)), 0, "%s",
                     error.message);
    }
}
