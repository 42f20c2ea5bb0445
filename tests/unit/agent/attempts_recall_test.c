/* SPDX-License-Identifier: Apache-2.0 */
/* Attempts that the agent remembers, accepts or extends. */
#include "tests/unit/agent/attempts_bench.h"

#include <criterion/criterion.h>

Test(attempts_recall, reports_a_remembered_answer_again_without_a_call)
{
    struct bench *bench = bench_new();
    bench->remembers = true;
    cr_assert_eq(bench_offer(bench, "A", DIRECTION_DO, 1), OFFER_REMEMBERED);
    cr_assert_not(bench->reports[0]->noted, "only recall sets it");
    bench_acknowledge(bench);
    bench_expect(bench, "report A/pay/do/1 {\"old\":1}\nsettled 0@0\n");
    cr_assert_eq(
        bench_offer_at(bench, bench_request(bench, "A", DIRECTION_DO, 1, BENCH_NOW + 1000), 0),
        OFFER_REPEATED, "the step knows it now");
    bench->log_size = 0;
    clock_manual_advance(&bench->clock, 5000);
    cr_assert_eq(
        bench_offer_at(bench, bench_request(bench, "B", DIRECTION_DO, 1, BENCH_NOW + 1000), 0),
        OFFER_REMEMBERED, "what is true stays true past the deadline");
    bench_acknowledge(bench);
    bench_end(bench);
}

Test(attempts_recall, settles_an_accepted_call_without_a_report)
{
    struct bench *bench = bench_new();
    bench_offer(bench, "A", DIRECTION_DO, 1);
    bench_accept(bench);
    cr_assert(bench->reports[0]->answer.accepted);
    cr_assert_eq(attempts_running(bench->attempts), 0);
    bench->log_size = 0;
    bench_acknowledge(bench);
    bench_expect(bench, "settled 0@0\n");
    cr_assert_eq(
        bench_offer_at(bench, bench_request(bench, "A", DIRECTION_DO, 1, BENCH_NOW + 1000), 0),
        OFFER_REPEATED);
    cr_assert_eq(attempts_counts(bench->attempts)->accepted, 1);
    bench->remembers = bench->remembers_accepted = true;
    bench->log_size = 0;
    cr_assert_eq(bench_offer(bench, "B", DIRECTION_DO, 1), OFFER_REMEMBERED);
    bench_expect(bench, "settled 0@2\n");
    bench_end(bench);
}

/* A later Decision of the log requests the same attempt: it has more time. */
static enum offer_outcome grant(struct bench *bench, const char *order, int64_t complete_by)
{
    bench->decision_offset++;
    bench->order_version++;
    struct agent_attempt *attempt = bench_request(bench, order, DIRECTION_DO, 1, complete_by);
    attempt->request.extension = true;
    return bench_offer_at(bench, attempt, 0);
}

Test(attempts_recall, extends_a_running_call)
{
    struct bench *bench = bench_new();
    bench_offer(bench, "A", DIRECTION_DO, 1);
    struct request_receipt receipt = {.partition = 0, .place = 77};
    struct agent_attempt *again = bench_request(bench, "A", DIRECTION_DO, 1, BENCH_NOW + 1000);
    cr_assert_eq(grant(bench, "A", BENCH_NOW + 5000), OFFER_EXTENDED);
    cr_assert_eq(bench->held[0]->request.complete_by, BENCH_NOW + 5000);
    cr_assert_eq(attempts_offer(bench->attempts, again, &receipt), OFFER_MERGED,
                 "the first request comes again after the grant");
    cr_assert_eq(bench->held[0]->request.complete_by, BENCH_NOW + 5000);
    clock_manual_advance(&bench->clock, 3000);
    bench_fail(bench, EFFECT_UNKNOWN, false, 0);
    bench_expect(bench, "start A/pay/do/1#1\nextended A/pay/do/1 +5000\n"
                        "report A/pay/do/1 Oops \"why\" unknown\n");
    bench_acknowledge(bench);
    bench->log_size = 0;
    cr_assert_eq(grant(bench, "A", BENCH_NOW + 9000), OFFER_REPEATED, "too late, it has ended");
    bench_expect(bench, "settled 0@2\n");
    cr_assert_eq(grant(bench, "B", BENCH_NOW + 9000), OFFER_STALE, "another instance had the call");
    bench_expect(bench, "settled 0@3\n");
    bench->remembers = true;
    cr_assert_eq(grant(bench, "C", BENCH_NOW + 9000), OFFER_STALE,
                 "only the first request may be answered from memory");
    bench_end(bench);
}

Test(attempts_recall, extends_an_attempt_between_two_tries)
{
    struct bench *bench = bench_new();
    bench_offer(bench, "A", DIRECTION_DO, 1);
    bench_fail(bench, EFFECT_UNKNOWN, true, 900);
    cr_assert_eq(grant(bench, "A", BENCH_NOW + 5000), OFFER_EXTENDED);
    bench_pass(bench);
    bench_fail(bench, EFFECT_UNKNOWN, true, 900);
    bench_pass(bench);
    bench_succeed(bench);
    bench_acknowledge(bench);
    cr_assert_eq(attempts_counts(bench->attempts)->tries, 3);
    bench_end(bench);
}

/* The first order of this id has expired; the next one starts the same step with attempt 1, at a
 * later Decision and perhaps a later version. */
Test(attempts_recall, calls_for_a_new_order_of_an_old_id)
{
    struct bench *bench = bench_new();
    bench->order_version = 2;
    cr_assert_eq(bench_offer(bench, "A", DIRECTION_DO, 1), OFFER_STARTED);
    bench_succeed(bench);
    bench_acknowledge(bench);
    bench->order_version = 4;
    cr_assert_eq(bench_offer(bench, "A", DIRECTION_DO, 1), OFFER_STARTED);
    cr_assert_eq(grant(bench, "A", BENCH_NOW + 5000), OFFER_EXTENDED, "of the new one");
    bench_succeed(bench);
    bench_acknowledge(bench);
    bench_end(bench);
}

/* A call of the first order still hangs: the new one waits for it, as a newer attempt does. */
Test(attempts_recall, calls_for_a_new_order_after_the_call_of_an_old_one)
{
    struct bench *bench = bench_new();
    bench->order_version = 2;
    bench_offer(bench, "A", DIRECTION_DO, 1);
    bench->order_version = 4;
    cr_assert_eq(bench_offer(bench, "A", DIRECTION_DO, 1), OFFER_WAITS);
    bench_succeed(bench);
    bench_acknowledge(bench);
    bench_succeed(bench);
    bench_acknowledge(bench);
    cr_assert_eq(attempts_counts(bench->attempts)->tries, 2);
    bench_end(bench);
}

Test(attempts_recall, calls_again_for_a_request_of_a_new_log)
{
    struct bench *bench = bench_new();
    bench->order_version = 3;
    bench->decision_offset = 50;
    bench_offer(bench, "A", DIRECTION_DO, 1);
    bench_succeed(bench);
    bench_acknowledge(bench);
    bench->decision_offset = 10; /* the order is as old as it was, the log is not */
    cr_assert_eq(bench_offer(bench, "A", DIRECTION_DO, 1), OFFER_STARTED);
    bench_succeed(bench);
    bench_acknowledge(bench);
    bench->decision_offset = 80;
    cr_assert_eq(bench_offer(bench, "A", DIRECTION_DO, 1), OFFER_STARTED);
    bench_succeed(bench);
    bench_acknowledge(bench);
    bench_end(bench);
}
