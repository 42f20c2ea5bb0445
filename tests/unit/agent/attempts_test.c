/* SPDX-License-Identifier: Apache-2.0 */
/* The state machine of attempts: tries, deadlines, repeats and partitions. */
#include "tests/unit/agent/attempts_bench.h"

#include <criterion/criterion.h>
#include <signal.h>

Test(attempts, settles_a_success_after_its_report)
{
    struct bench *bench = bench_new();
    cr_assert_eq(bench_offer(bench, "A", DIRECTION_DO, 1), OFFER_STARTED);
    bench_expect(bench, "start A/pay/do/1#1\n");
    bench_succeed(bench);
    bench_expect(bench, "report A/pay/do/1 {\"ok\":1}\n");
    cr_assert_eq(attempts_in_flight(bench->attempts), 1);
    bench_acknowledge(bench);
    bench_expect(bench, "settled 0@0\n");
    bench_end(bench);
}

Test(attempts, accepts_an_answer_from_inside_the_start)
{
    struct bench *bench = bench_new();
    bench->answer_at_once = true;
    cr_assert_eq(bench_offer(bench, "A", DIRECTION_DO, 1), OFFER_STARTED);
    cr_assert_eq(bench_offer(bench, "B", DIRECTION_UNDO, 1), OFFER_STARTED);
    bench_expect(bench, "start A/pay/do/1#1\nreport A/pay/do/1 {}\n"
                        "start B/pay/undo/1#1\nreport B/pay/undo/1 {}\n");
    bench_acknowledge(bench);
    bench_acknowledge(bench);
    bench_expect(bench, "settled 0@0\nsettled 0@1\n");
    bench_end(bench);
}

Test(attempts, reports_a_definite_failure_at_once)
{
    struct bench *bench = bench_new();
    bench_offer(bench, "A", DIRECTION_DO, 1);
    bench_fail(bench, EFFECT_NONE, false, 0);
    bench_expect(bench, "start A/pay/do/1#1\nreport A/pay/do/1 Oops \"why\" none\n");
    bench_acknowledge(bench);
    bench_expect(bench, "settled 0@0\n");
    bench_end(bench);
}

Test(attempts, retries_within_the_deadline_and_then_reports_the_error)
{
    struct bench *bench = bench_new();
    bench_offer(bench, "A", DIRECTION_DO, 1);
    bench_fail(bench, EFFECT_NONE, true, 0); /* waits 100 to 200 */
    cr_assert(bench->wait_ms >= 100 && bench->wait_ms <= 200, "%lld", (long long)bench->wait_ms);
    bench_pass(bench);
    bench_fail(bench, EFFECT_UNKNOWN, true, 0); /* 200 to 400 */
    cr_assert(bench->wait_ms >= 200 && bench->wait_ms <= 400, "%lld", (long long)bench->wait_ms);
    bench_pass(bench);
    bench_expect(bench, "start A/pay/do/1#1\nwait A/pay/do/1\nstart A/pay/do/1#2\nwait A/pay/do/1\n"
                        "start A/pay/do/1#3\n");
    clock_manual_advance(&bench->clock, 100);
    bench_fail(bench, EFFECT_NONE, true, 0); /* 400 to 800 do not fit any more */
    cr_assert_lt(clock_wall_ms(&bench->clock.clock), BENCH_NOW + 1000);
    bench_expect(bench, "report A/pay/do/1 Oops \"why\" unknown\n");
    bench_acknowledge(bench);
    cr_assert_eq(attempts_counts(bench->attempts)->tries, 3);
    cr_assert_eq(attempts_counts(bench->attempts)->retries, 2);
    cr_assert_eq(attempts_counts(bench->attempts)->reported[false], 1);
    bench_expect(bench, "settled 0@0\n");
    bench_end(bench);
}

Test(attempts, reports_the_effect_of_the_worst_try)
{
    static const struct {
        enum effect first, second, expected;
    } cases[] = {
        {EFFECT_NONE, EFFECT_NONE, EFFECT_NONE},
        {EFFECT_NONE, EFFECT_UNKNOWN, EFFECT_UNKNOWN},
        {EFFECT_UNKNOWN, EFFECT_NONE, EFFECT_UNKNOWN}, /* a definite 4xx after an unknown try */
        {EFFECT_UNKNOWN, EFFECT_APPLIED, EFFECT_APPLIED},
        {EFFECT_APPLIED, EFFECT_NONE, EFFECT_APPLIED},
        {EFFECT_APPLIED, EFFECT_UNKNOWN, EFFECT_APPLIED},
    };
    struct bench *bench = bench_new();
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char order[8];
        snprintf(order, sizeof(order), "A%zu", i);
        bench_offer(bench, order, DIRECTION_DO, 1);
        bench_fail(bench, cases[i].first, true, 0);
        bench_pass(bench);
        bench_fail(bench, cases[i].second, false, 0);
        cr_assert_eq(bench->reports[0]->answer.effect, cases[i].expected, "case %zu", i);
        bench_acknowledge(bench);
    }
    bench_end(bench);
}

Test(attempts, respects_retry_after_within_the_deadline)
{
    struct bench *bench = bench_new();
    bench_offer(bench, "A", DIRECTION_DO, 1);
    bench_fail(bench, EFFECT_UNKNOWN, true, 700);
    cr_assert_eq(bench->wait_ms, 700);
    bench_pass(bench);
    bench->log_size = 0;
    bench_fail(bench, EFFECT_UNKNOWN, true, 295); /* leaves 5 of the 10 ms that a try needs */
    bench_expect(bench, "report A/pay/do/1 Oops \"why\" unknown\n");
    bench_acknowledge(bench);
    bench->log_size = 0;
    bench_offer(bench, "B", DIRECTION_DO, 1);
    bench_fail(bench, EFFECT_UNKNOWN, true, INT64_MAX);
    bench_expect(bench, "start B/pay/do/1#1\nreport B/pay/do/1 Oops \"why\" unknown\n");
    bench_acknowledge(bench);
    bench_end(bench);
}

Test(attempts, reports_only_successes_past_the_deadline)
{
    struct bench *bench = bench_new();
    bench_offer(bench, "A", DIRECTION_DO, 1);
    bench_offer(bench, "B", DIRECTION_DO, 1);
    bench_offer(bench, "C", DIRECTION_DO, 1);
    clock_manual_advance(&bench->clock, 1000);
    bench->log_size = 0;
    bench_fail(bench, EFFECT_UNKNOWN, true, 0);
    bench_expect(bench, "settled 0@0\n");
    bench_fail(bench, EFFECT_NONE, false, 0);
    bench_expect(bench, "settled 0@1\n");
    bench_succeed(bench);
    bench_expect(bench, "report C/pay/do/1 {\"ok\":1}\n");
    bench_acknowledge(bench);
    cr_assert_eq(attempts_counts(bench->attempts)->silent, 2);
    bench_end(bench);
}

Test(attempts, starts_no_try_at_complete_by)
{
    struct bench *bench = bench_new();
    cr_assert_eq(bench_offer_at(bench, bench_request(bench, "A", DIRECTION_DO, 1, BENCH_NOW), 0),
                 OFFER_EXPIRED);
    cr_assert_eq(
        bench_offer_at(bench, bench_request(bench, "B", DIRECTION_DO, 1, BENCH_NOW + 1), 0),
        OFFER_STARTED);
    bench_expect(bench, "settled 0@0\nstart B/pay/do/1#1\n");
    bench_succeed(bench);
    bench_acknowledge(bench);
    /* A wait that took longer than it should. */
    bench_offer(bench, "C", DIRECTION_DO, 1);
    bench_fail(bench, EFFECT_NONE, true, 0);
    bench->log_size = 0;
    bench->wait_ms = 1000;
    bench_pass(bench);
    bench_expect(bench, "settled 0@2\n");
    bench_end(bench);
}

Test(attempts, delays_a_later_attempt_until_the_earlier_call_ends)
{
    struct bench *bench = bench_new();
    bench_offer(bench, "A", DIRECTION_DO, 1);
    clock_manual_advance(&bench->clock, 1500);
    cr_assert_eq(bench_offer(bench, "A", DIRECTION_DO, 2), OFFER_WAITS);
    cr_assert_eq(bench_offer(bench, "B", DIRECTION_DO, 1), OFFER_STARTED);
    bench_expect(bench, "start A/pay/do/1#1\nstart B/pay/do/1#1\n");
    bench_succeed(bench); /* late, and superseded */
    bench_expect(bench, "report A/pay/do/1 {\"ok\":1}\nstart A/pay/do/2#1\n");
    bench_acknowledge(bench);
    bench_succeed(bench);
    bench_succeed(bench);
    bench_acknowledge(bench);
    bench_acknowledge(bench);
    bench_end(bench);
}

Test(attempts, starts_an_undo_after_the_do_has_ended)
{
    struct bench *bench = bench_new();
    bench_offer(bench, "A", DIRECTION_DO, 3);
    cr_assert_eq(bench_offer(bench, "A", DIRECTION_UNDO, 1), OFFER_WAITS);
    bench_expect(bench, "start A/pay/do/3#1\n");
    bench_fail(bench, EFFECT_UNKNOWN, true, 0);
    bench_expect(bench, "settled 0@0\nstart A/pay/undo/1#1\n");
    bench_succeed(bench);
    bench_acknowledge(bench);
    bench_end(bench);
}

Test(attempts, supersedes_a_waiting_attempt_by_a_later_one)
{
    struct bench *bench = bench_new();
    bench_offer(bench, "A", DIRECTION_DO, 1);
    bench_offer(bench, "A", DIRECTION_DO, 2);
    bench_offer(bench, "A", DIRECTION_DO, 3);
    bench_expect(bench, "start A/pay/do/1#1\nsettled 0@1\n");
    bench_fail(bench, EFFECT_UNKNOWN, true, 0);
    bench_expect(bench, "settled 0@0\nstart A/pay/do/3#1\n");
    bench_fail(bench, EFFECT_NONE, true, 0);
    bench_expect(bench, "wait A/pay/do/3\n");
    bench_offer(bench, "A", DIRECTION_DO, 4);
    bench_expect(bench, "unwait A/pay/do/3\nsettled 0@2\nstart A/pay/do/4#1\n");
    bench_succeed(bench);
    bench_acknowledge(bench);
    bench_end(bench);
}

Test(attempts, merges_repeated_requests)
{
    struct bench *bench = bench_new();
    struct agent_attempt *again;
    bench_offer(bench, "A", DIRECTION_DO, 1);
    again = bench_request(bench, "A", DIRECTION_DO, 1, BENCH_NOW + 1000);
    cr_assert_eq(bench_offer_at(bench, again, 0), OFFER_MERGED);
    bench_fail(bench, EFFECT_NONE, true, 0);
    again = bench_request(bench, "A", DIRECTION_DO, 1, BENCH_NOW + 1000);
    cr_assert_eq(bench_offer_at(bench, again, 0), OFFER_MERGED);
    bench_pass(bench);
    bench_succeed(bench);
    again = bench_request(bench, "A", DIRECTION_DO, 1, BENCH_NOW + 1000);
    cr_assert_eq(bench_offer_at(bench, again, 0), OFFER_MERGED);
    bench_expect(bench, "start A/pay/do/1#1\nwait A/pay/do/1\nstart A/pay/do/1#2\n"
                        "report A/pay/do/1 {\"ok\":1}\n");
    bench_acknowledge(bench);
    bench_expect(bench, "settled 0@0\nsettled 0@3\nsettled 0@2\nsettled 0@1\n");
    again = bench_request(bench, "A", DIRECTION_DO, 1, BENCH_NOW + 1000);
    cr_assert_eq(bench_offer_at(bench, again, 0), OFFER_REPEATED);
    bench_expect(bench, "settled 0@4\n");
    bench_end(bench);
}

Test(attempts, drops_requests_older_than_the_newest)
{
    struct bench *bench = bench_new();
    bench_offer(bench, "A", DIRECTION_DO, 1);
    bench_succeed(bench);
    bench_acknowledge(bench);
    bench_offer(bench, "A", DIRECTION_UNDO, 1);
    bench->log_size = 0;
    bench->decision_offset = 1; /* the first one, emitted late by a zombie owner */
    struct agent_attempt *zombie = bench_request(bench, "A", DIRECTION_DO, 1, BENCH_NOW + 1000);
    cr_assert_eq(bench_offer_at(bench, zombie, 0), OFFER_STALE);
    bench_expect(bench, "settled 0@2\n");
    bench_succeed(bench);
    bench_acknowledge(bench);
    bench_end(bench);
}

Test(attempts, starts_attempts_of_a_new_log_that_look_like_repeats)
{
    struct bench *bench = bench_new();
    bench->answer_at_once = true;
    bench->decision_offset = 10;
    bench_offer(bench, "A", DIRECTION_DO, 1);
    bench_acknowledge(bench);
    bench->decision_offset = 2;
    cr_assert_eq(bench_offer(bench, "A", DIRECTION_DO, 1), OFFER_STARTED);
    bench_acknowledge(bench);
    bench_end(bench);
}

Test(attempts, starts_nothing_while_partitions_are_revoked)
{
    static const int32_t both[] = {0, 1};
    struct bench *bench = bench_new();
    bench_offer(bench, "A", DIRECTION_DO, 1); /* A 2 waits for it */
    bench_offer(bench, "A", DIRECTION_DO, 2);
    bench_offer(bench, "B", DIRECTION_DO, 1); /* will be in backoff, its wait over */
    bench_offer(bench, "C", DIRECTION_DO, 1); /* goes on */
    attempts_revoke(bench->attempts);
    bench->log_size = 0;
    bench_fail(bench, EFFECT_UNKNOWN, true, 0);
    bench_fail(bench, EFFECT_UNKNOWN, true, 0);
    bench_pass(bench);
    bench_succeed(bench);
    bench_expect(bench, "settled 0@0\nwait B/pay/do/1\nreport C/pay/do/1 {\"ok\":1}\n");
    bench_acknowledge(bench);
    bench_expect(bench, "settled 0@3\n");
    attempts_own(bench->attempts, both, 2); /* they came back */
    cr_assert_eq(bench->held_count, 2);
    bench_succeed(bench);
    bench_succeed(bench);
    bench_acknowledge(bench);
    bench_acknowledge(bench);
    bench_end(bench);
}

Test(attempts, gives_up_attempts_of_partitions_that_were_lost)
{
    static const int32_t other[] = {1};
    struct bench *bench = bench_new();
    bench_offer(bench, "A", DIRECTION_DO, 1); /* no effect so far: the next owner begins afresh */
    bench_offer(bench, "B", DIRECTION_DO, 1); /* perhaps an effect: the next owner cannot know */
    bench_offer(bench, "C", DIRECTION_DO, 1);
    bench_offer(bench, "C", DIRECTION_DO, 2); /* waits */
    bench_fail(bench, EFFECT_NONE, true, 0);
    bench_fail(bench, EFFECT_UNKNOWN, true, 0);
    attempts_revoke(bench->attempts);
    bench->log_size = 0;
    attempts_own(bench->attempts, other, 1);
    cr_assert_eq(attempts_counts(bench->attempts)->given_up, 2);
    bench_expect(bench, "unwait B/pay/do/1\nreport B/pay/do/1 Oops \"why\" unknown\n"
                        "unwait A/pay/do/1\n");
    bench_acknowledge(bench);
    bench_succeed(bench); /* the call of C goes on */
    bench_acknowledge(bench);
    bench_expect(bench, "settled 0@1\nreport C/pay/do/1 {\"ok\":1}\nsettled 0@2\n");
    /* An attempt that was given up is not a repeat when it comes back. */
    attempts_own(bench->attempts, (const int32_t[]){0}, 1);
    bench->decision_offset = 1;
    struct agent_attempt *again = bench_request(bench, "A", DIRECTION_DO, 1, BENCH_NOW + 1000);
    cr_assert_eq(bench_offer_at(bench, again, 0), OFFER_STARTED);
    bench_succeed(bench);
    bench_acknowledge(bench);
    bench_end(bench);
}

Test(attempts, gives_up_attempts_that_are_not_running_when_drained)
{
    struct bench *bench = bench_new();
    bench_offer(bench, "A", DIRECTION_DO, 1);
    bench_offer(bench, "B", DIRECTION_DO, 1);
    bench_offer(bench, "B", DIRECTION_DO, 2);
    bench_offer(bench, "C", DIRECTION_DO, 1);
    bench_fail(bench, EFFECT_UNKNOWN, true, 0); /* A */
    bench->log_size = 0;
    attempts_drain(bench->attempts);
    bench_expect(bench, "unwait A/pay/do/1\nreport A/pay/do/1 Oops \"why\" unknown\n");
    bench_acknowledge(bench);
    bench_expect(bench, "settled 0@0\n");
    bench_succeed(bench);                    /* B */
    bench_fail(bench, EFFECT_NONE, true, 0); /* C: no further try, nothing to report */
    bench_expect(bench, "report B/pay/do/1 {\"ok\":1}\nwait C/pay/do/1\nunwait C/pay/do/1\n");
    bench_acknowledge(bench);
    bench_expect(bench, "settled 0@1\n");
    bench_end(bench);
}

Test(attempts, counts_the_memory_of_requests)
{
    struct bench *bench = bench_new();
    cr_assert_eq(attempts_bytes(bench->attempts), 0);
    struct agent_attempt *large = bench_request(bench, "A", DIRECTION_DO, 1, BENCH_NOW + 1000);
    arena_bytes(&large->memory.arena, 100000);
    bench_offer_at(bench, large, 0);
    cr_assert_geq(attempts_bytes(bench->attempts), 100000);
    bench_succeed(bench);
    bench_acknowledge(bench);
    cr_assert_eq(attempts_bytes(bench->attempts), 0);
    bench_end(bench);
}

Test(attempts, forgets_the_oldest_idle_steps_first)
{
    struct bench *bench = bench_new();
    bench->answer_at_once = true;
    for (int i = 0; i < 150; i++) {
        char order[16];
        snprintf(order, sizeof(order), "A%d", i);
        bench->decision_offset = i;
        cr_assert_eq(bench_offer_at(
                         bench, bench_request(bench, order, DIRECTION_DO, 1, BENCH_NOW + 1000), 0),
                     OFFER_STARTED);
        bench_acknowledge(bench);
        bench->log_size = 0;
    }
    bench->decision_offset = 149;
    struct agent_attempt *known = bench_request(bench, "A149", DIRECTION_DO, 1, BENCH_NOW + 1000);
    cr_assert_eq(bench_offer_at(bench, known, 0), OFFER_REPEATED);
    bench->decision_offset = 0;
    struct agent_attempt *forgotten = bench_request(bench, "A0", DIRECTION_DO, 1, BENCH_NOW + 1000);
    cr_assert_eq(bench_offer_at(bench, forgotten, 0), OFFER_STARTED);
    bench_acknowledge(bench);
    bench_end(bench);
}

Test(attempts, grows_the_backoff_within_its_bounds)
{
    struct attempts_options options = {.backoff_ms = 200, .backoff_ms_max = 1000};
    static const int64_t most[] = {200, 400, 800, 1000, 1000};
    for (uint32_t retry = 1; retry <= 5; retry++) {
        for (uint64_t salt = 0; salt < 2000; salt += 7) {
            int64_t wait = attempts_backoff_ms(&options, retry, salt);
            cr_assert(wait >= most[retry - 1] / 2 && wait <= most[retry - 1]);
        }
    }
    options.backoff_ms = options.backoff_ms_max = INT64_MAX / 2;
    cr_assert_gt(attempts_backoff_ms(&options, 1000, UINT64_MAX), 0);
}

Test(attempts, aborts_when_an_attempt_ends_that_is_not_running, .signal = SIGABRT)
{
    struct bench *bench = bench_new();
    bench_offer(bench, "A", DIRECTION_DO, 1);
    struct agent_attempt *attempt = bench->held[0];
    bench_succeed(bench);
    attempts_succeeded(bench->attempts, attempt, TEXT(""));
}
