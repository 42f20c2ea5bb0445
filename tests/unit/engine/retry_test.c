/* SPDX-License-Identifier: Apache-2.0 */
/* After a failure: retriers, catchers, OnExhausted, and the arithmetic of delays. */
#include "engine/workflow.h"
#include "tests/lib/engine_story.h"

#include <criterion/criterion.h>
#include <signal.h>

TestSuite(engine_retry);

Test(engine_retry, waits_longer_before_each_retry)
{
    TELL("A{r3}",
         "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
         "fail A 1 Busy => StepFailed(A do 1 Busy none x1) StepRetryScheduled(A do 1 +1000)\n"
         "order Processing A=Pending(do 1)\n"
         "status StepChanged A=Pending(do 1 Busy)\n"
         "requests none\n"
         "deadlines start(A)+1000\n"
         "wait 1000\n"
         "start A => StepStarted(A do 2)\n"
         "requests A(do 2 o-1/A/do/0)\n"
         "fail A 2 Busy => StepFailed(A do 2 Busy none x2) StepRetryScheduled(A do 2 +2000)\n"
         "wait 2000\n"
         "start A => StepStarted(A do 3)\n"
         "fail A 3 Busy => StepFailed(A do 3 Busy none x3) StepRetryScheduled(A do 3 +4000)\n"
         "wait 4000\n"
         "start A => StepStarted(A do 4)\n"
         "fail A 4 Busy => StepFailed(A do 4 Busy none x4) StepExhausted(A do 4)"
         " CompensationStarted(Busy) OrderCompensated(Busy)\n"
         "said no retries are left for Busy\n"
         "order Compensated A=Error(do 4)\n"
         "status Compensated(Busy) A=Error(do 4 Busy)\n"
         "reason Busy step A failed: Busy: said the service\n");
}

Test(engine_retry, counts_the_retries_of_each_retrier_separately)
{
    TELL("A{r1:Busy,r1:Down,r1}",
         "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
         "fail A 1 Down => StepFailed(A do 1 Down none x1) StepRetryScheduled(A do 1 +1000)\n"
         "wait 1000\n"
         "start A => StepStarted(A do 2)\n"
         "fail A 2 Down => StepFailed(A do 2 Down none x2) StepRetryScheduled(A do 2 +1000)\n"
         "wait 1000\n"
         "start A => StepStarted(A do 3)\n"
         "fail A 3 Busy => StepFailed(A do 3 Busy none x3) StepRetryScheduled(A do 3 +1000)\n"
         "wait 1000\n"
         "start A => StepStarted(A do 4)\n"
         "fail A 4 Busy => StepFailed(A do 4 Busy none x4) StepExhausted(A do 4)"
         " CompensationStarted(Busy) OrderCompensated(Busy)\n");
}

Test(engine_retry, starts_a_retry_without_delay_at_once)
{
    TELL("A{z1}", "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
                  "fail A 1 Busy => StepFailed(A do 1 Busy none x1) StepRetryScheduled(A do 1 +0)"
                  " StepStarted(A do 2)\n"
                  "status StepChanged A=Processing(do 2 Busy)\n"
                  "ok A 2 => StepSucceeded(A do 2) OrderProcessed\n");
}

Test(engine_retry, never_retries_an_error_that_no_retrier_names)
{
    TELL("A{r3:Busy}",
         "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
         "fail A 1 Declined => StepFailed(A do 1 Declined none x1) StepExhausted(A do 1)"
         " CompensationStarted(Declined) OrderCompensated(Declined)\n");
}

Test(engine_retry, prefers_a_catcher_to_error_over_on_exhausted)
{
    TELL("A{kFraud:e}", "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
                        "fail A 1 Fraud => StepFailed(A do 1 Fraud none x1) StepExhausted(A do 1)"
                        " OrderFailed(Fraud) AlertRaised(Fraud)\n"
                        "alert raised(Fraud A)\n"
                        "status Error(Fraud) A=Error(do 1 Fraud)\n"
                        "order Error A=Error(do 1)\n");
}

Test(engine_retry, prefers_a_catcher_to_compensate_over_on_exhausted)
{
    TELL("A{e,kFraud:c,kStates.ALL:e}",
         "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
         "fail A 1 Fraud => StepFailed(A do 1 Fraud none x1) StepExhausted(A do 1)"
         " CompensationStarted(Fraud) OrderCompensated(Fraud)\n"
         "said a Catch matches Fraud\n");
}

Test(engine_retry, applies_retriers_before_catchers)
{
    TELL("A{r1:Fraud,kFraud:e}",
         "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
         "fail A 1 Fraud => StepFailed(A do 1 Fraud none x1) StepRetryScheduled(A do 1 +1000)\n"
         "wait 1000\n"
         "start A => StepStarted(A do 2)\n"
         "fail A 2 Fraud => StepFailed(A do 2 Fraud none x2) StepExhausted(A do 2)"
         " OrderFailed(Fraud) AlertRaised(Fraud)\n");
}

Test(engine_retry, treats_a_failure_without_a_name_as_task_failed)
{
    TELL("A{r1:States.TaskFailed}", "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
                                    "fail A 1 - => StepFailed(A do 1 States.TaskFailed none x1)"
                                    " StepRetryScheduled(A do 1 +1000)\n");
}

Test(engine_retry, keeps_effect_unknown_until_an_attempt_succeeds)
{
    TELL("A{c,z9}", "submit => OrderAccepted OrderStarted StepStarted(A do 1)\n"
                    "fail A 1 Busy => StepFailed(A do 1 Busy none x1) StepRetryScheduled(A do 1 +0)"
                    " StepStarted(A do 2)\n"
                    "fail A 2 Busy unknown => StepFailed(A do 2 Busy unknown x2)"
                    " StepRetryScheduled(A do 2 +0) StepStarted(A do 3)\n"
                    "fail A 3 Busy none => StepFailed(A do 3 Busy unknown x3)"
                    " StepRetryScheduled(A do 3 +0) StepStarted(A do 4)\n"
                    "fail A 4 Busy applied => StepFailed(A do 4 Busy applied x4)"
                    " StepRetryScheduled(A do 4 +0) StepStarted(A do 5)\n"
                    "fail A 5 Busy unknown => StepFailed(A do 5 Busy applied x5)"
                    " StepRetryScheduled(A do 5 +0) StepStarted(A do 6)\n"
                    "fail A 6 Busy none => StepFailed(A do 6 Busy applied x6)"
                    " StepRetryScheduled(A do 6 +0) StepStarted(A do 7)\n");
}

/* ---- arithmetic ---- */

static struct retrier plain(int64_t interval_ms, uint32_t rate_milli, int64_t max_delay_ms)
{
    return (struct retrier){.interval_ms = interval_ms,
                            .backoff_rate_milli = rate_milli,
                            .max_delay_ms = max_delay_ms,
                            .jitter = JITTER_NONE};
}

static int64_t wait_of(int64_t interval_ms, uint32_t rate_milli, int64_t max_delay_ms,
                       uint32_t retry)
{
    struct retrier retrier = plain(interval_ms, rate_milli, max_delay_ms);
    return retry_wait_ms(&retrier, retry, 0);
}

Test(engine_retry, multiplies_delays_by_the_backoff_rate)
{
    cr_assert_eq(wait_of(200, 2000, 0, 1), 200);
    cr_assert_eq(wait_of(200, 2000, 0, 2), 400);
    cr_assert_eq(wait_of(200, 2000, 0, 5), 3200);
    cr_assert_eq(wait_of(1000, 1500, 0, 3), 2250);
    cr_assert_eq(wait_of(700, 1000, 0, 1000), 700);
    cr_assert_eq(wait_of(0, 3000, 0, 9), 0);
}

Test(engine_retry, grows_short_intervals_with_small_rates)
{
    cr_assert_eq(wait_of(1, 1500, 0, 2), 1);
    cr_assert_eq(wait_of(1, 1500, 0, 3), 2);
    cr_assert_eq(wait_of(1, 1500, 0, 4), 3);
}

Test(engine_retry, limits_delays_to_the_maximum)
{
    cr_assert_eq(wait_of(1000, 2000, 30000, 5), 16000);
    cr_assert_eq(wait_of(1000, 2000, 30000, 6), 30000);
    cr_assert_eq(wait_of(1000, 2000, 30000, 1000), 30000);
    cr_assert_eq(wait_of(40000, 1000, 30000, 1), 30000);
    cr_assert_eq(wait_of(1, 3000, 4, 2), 3);
    cr_assert_eq(wait_of(1, 3000, 4, 3), 4);
    cr_assert_eq(wait_of(1, 2000, 2, 2), 2);
}

Test(engine_retry, saturates_delays_instead_of_overflowing)
{
    cr_assert_eq(wait_of(1000, 2000, 0, 1000), DURATION_MS_MAX);
    cr_assert_eq(wait_of(DURATION_MS_MAX, 2000, 0, 2), DURATION_MS_MAX);
    cr_assert_eq(wait_of(DURATION_MS_MAX - 1, UINT32_MAX, 0, 2), DURATION_MS_MAX);
    cr_assert_eq(wait_of(1, UINT32_MAX, 0, 3), DURATION_MS_MAX);
    cr_assert_eq(wait_of(1, UINT32_MAX, INT64_MAX, RETRIES_MAX), DURATION_MS_MAX);
}

/* Compared with long double arithmetic, within a rounding error of 1/1000 ms per step. */
Test(engine_retry, computes_delays_by_the_formula)
{
    for (uint32_t rate = 1000; rate <= 4000; rate += 37) {
        long double exact = 250;
        for (uint32_t retry = 1; retry <= 40; retry++, exact *= rate / 1000.0L) {
            long double expected = exact < 3600000 ? exact : 3600000;
            long double actual = (long double)wait_of(250, rate, 3600000, retry);
            cr_assert(actual <= expected && actual >= expected * 0.9999L - 1.0L,
                      "rate %u retry %u: %Lf is not %Lf", rate, retry, actual, expected);
        }
    }
}

Test(engine_retry, keeps_jitter_within_its_bounds_and_reaches_them)
{
    struct retrier retrier = plain(10, 2000, 0);
    retrier.jitter = JITTER_FULL;
    int seen[11] = {0};
    for (uint32_t attempt = 1; attempt <= 2000; attempt++) {
        uint64_t salt = retry_salt(TEXT("order-17"), TEXT("Pay"), 0, attempt);
        int64_t wait = retry_wait_ms(&retrier, 1, salt);
        cr_assert(wait >= 0 && wait <= 10);
        cr_assert_eq(wait, retry_wait_ms(&retrier, 1, salt));
        seen[wait]++;
    }
    for (int i = 0; i <= 10; i++)
        cr_assert(seen[i] > 100 && seen[i] < 300, "%d came %d times", i, seen[i]);
}

Test(engine_retry, derives_the_salt_from_all_its_parts)
{
    uint64_t salt = retry_salt(TEXT("o"), TEXT("s"), 0, 1);
    cr_assert_neq(salt, retry_salt(TEXT("p"), TEXT("s"), 0, 1));
    cr_assert_neq(salt, retry_salt(TEXT("o"), TEXT("t"), 0, 1));
    cr_assert_neq(salt, retry_salt(TEXT("o"), TEXT("s"), 1, 1));
    cr_assert_neq(salt, retry_salt(TEXT("o"), TEXT("s"), 0, 2));
    cr_assert_neq(retry_salt(TEXT("ab"), TEXT("c"), 0, 1), retry_salt(TEXT("a"), TEXT("bc"), 0, 1));
    /* The delays in existing logs depend on this value, so it must never change. */
    cr_assert_eq(salt, UINT64_C(0x82987ae707f46f56));
}

Test(engine_retry, aborts_on_a_retry_number_of_zero, .signal = SIGABRT)
{
    wait_of(1000, 2000, 0, 0);
}

Test(engine_retry, matches_error_names)
{
    struct error_set all = {{TEXT("States.ALL")}, 1};
    struct error_set failed = {{TEXT("States.TaskFailed")}, 1};
    struct error_set two = {{TEXT("Busy"), TEXT("States.Timeout")}, 2};
    struct error_set none = {.count = 0};
    cr_assert(error_set_matches(&all, TEXT("Busy")));
    cr_assert(error_set_matches(&all, TEXT("States.Timeout")));
    cr_assert(error_set_matches(&failed, TEXT("Busy")));
    cr_assert(error_set_matches(&failed, TEXT("States.TaskFailed")));
    cr_assert_not(error_set_matches(&failed, TEXT("States.Timeout")));
    cr_assert(error_set_matches(&two, TEXT("Busy")));
    cr_assert(error_set_matches(&two, TEXT("States.Timeout")));
    cr_assert_not(error_set_matches(&two, TEXT("Bus")));
    cr_assert_not(error_set_matches(&none, TEXT("Busy")));
}

Test(engine_retry, chooses_the_first_retrier_with_retries_left)
{
    struct retrier retriers[] = {
        {.errors = {{TEXT("Busy")}, 1}, .max_attempts = 2},
        {.errors = {{TEXT("States.TaskFailed")}, 1}, .max_attempts = 1},
        {.errors = {{TEXT("States.ALL")}, 1}, .max_attempts = 0},
    };
    struct retry_policy policy = {retriers, 3};
    uint32_t used[RETRIERS_MAX] = {0};
    cr_assert_eq(retry_policy_match(&policy, used, TEXT("Busy")), 0);
    cr_assert_eq(retry_policy_match(&policy, used, TEXT("Down")), 1);
    cr_assert_eq(retry_policy_match(&policy, used, TEXT("States.Timeout")), -1);
    used[0] = 2;
    cr_assert_eq(retry_policy_match(&policy, used, TEXT("Busy")), 1);
    used[1] = 1;
    cr_assert_eq(retry_policy_match(&policy, used, TEXT("Busy")), -1);
}

Test(engine_retry, validates_error_names)
{
    static const char *const fine[] = {"OutOfStock", "Http.503", "a-b_c.9",
                                       "States",     "Order",    "Ordered"};
    static const char *const not_fine[] = {
        "",           "two words",      "caf\xc3\xa9", "a/b",    "a\nb",          "a\"b",
        "States.ALL", "States.Timeout", "States.",     "Order.", "Order.Refused", "<script>"};
    char longest[ERROR_NAME_BYTES_MAX + 2];
    memset(longest, 'x', sizeof(longest));
    for (size_t i = 0; i < sizeof(fine) / sizeof(fine[0]); i++)
        cr_assert(error_name_valid(text_of(fine[i])), "%s", fine[i]);
    for (size_t i = 0; i < sizeof(not_fine) / sizeof(not_fine[0]); i++)
        cr_assert_not(error_name_valid(text_of(not_fine[i])), "%s", not_fine[i]);
    cr_assert(error_name_valid((struct text){longest, ERROR_NAME_BYTES_MAX}));
    cr_assert_not(error_name_valid((struct text){longest, ERROR_NAME_BYTES_MAX + 1}));
}
