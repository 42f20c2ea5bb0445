/* SPDX-License-Identifier: Apache-2.0 */
/* The attempts' state machine, told as text: what was offered and answered, what it did. */
#include "services/agent/agent_attempts.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>

enum { NOW = 1000000, LOG_SIZE = 4096, HELD_MAX = 16 };

struct bench {
    struct clock_manual clock;
    struct attempts_options options;
    struct attempts *attempts;
    struct agent_attempt *held[HELD_MAX]; /* running, in the order of their starts */
    uint32_t held_count;
    struct agent_attempt *reports[HELD_MAX];
    uint32_t report_count;
    struct agent_attempt *waits[HELD_MAX];
    uint32_t wait_count;
    int64_t wait_ms; /* the latest */
    bool answer_at_once;
    bool remembers;
    bool remembers_accepted;
    uint64_t order_version; /* of the next request */
    uint64_t next_place;
    int64_t decision_offset;
    char log[LOG_SIZE];
    size_t log_size;
};

static __attribute__((format(printf, 2, 3))) void note(struct bench *bench, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    size_t left = sizeof(bench->log) - bench->log_size;
    int size = vsnprintf(bench->log + bench->log_size, left, format, args);
    va_end(args);
    cr_assert(size >= 0 && (size_t)size < left);
    bench->log_size += (size_t)size;
}

static void note_attempt(struct bench *bench, const char *what, const struct agent_attempt *attempt)
{
    const struct step_request *request = &attempt->request;
    note(bench, "%s %.*s/%.*s/%s/%u", what, TEXT_ARG(request->order_id),
         TEXT_ARG(request->ref.step), request->ref.direction == DIRECTION_DO ? "do" : "undo",
         request->ref.attempt);
}

static void on_start(void *ctx, struct agent_attempt *attempt)
{
    struct bench *bench = ctx;
    note_attempt(bench, "start", attempt);
    note(bench, "#%u\n", attempt->call.try_number);
    cr_assert(attempt->call.time_left_ms > 0);
    cr_assert_eq(attempt->call.request, &attempt->request);
    if (bench->answer_at_once) {
        attempts_succeeded(bench->attempts, attempt, TEXT("{}"));
        return;
    }
    cr_assert_lt(bench->held_count, HELD_MAX);
    bench->held[bench->held_count++] = attempt;
}

static void on_wait(void *ctx, struct agent_attempt *attempt, int64_t delay_ms)
{
    struct bench *bench = ctx;
    note_attempt(bench, "wait", attempt);
    note(bench, "\n");
    cr_assert_lt(bench->wait_count, HELD_MAX);
    bench->waits[bench->wait_count++] = attempt;
    bench->wait_ms = delay_ms;
}

static void on_unwait(void *ctx, struct agent_attempt *attempt)
{
    struct bench *bench = ctx;
    note_attempt(bench, "unwait", attempt);
    note(bench, "\n");
    for (uint32_t i = 0; i < bench->wait_count; i++) {
        if (bench->waits[i] == attempt) {
            bench->waits[i] = bench->waits[--bench->wait_count];
            return;
        }
    }
    cr_assert_fail("it does not wait");
}

static void on_report(void *ctx, struct agent_attempt *attempt)
{
    struct bench *bench = ctx;
    note_attempt(bench, "report", attempt);
    if (attempt->succeeded)
        note(bench, " %.*s\n", TEXT_ARG(attempt->output));
    else
        note(bench, " %.*s \"%.*s\" %s\n", TEXT_ARG(attempt->error_name),
             TEXT_ARG(attempt->error_message), effect_name(attempt->effect));
    cr_assert_lt(bench->report_count, HELD_MAX);
    bench->reports[bench->report_count++] = attempt;
}

static void on_settled(void *ctx, const struct request_origin *origin)
{
    note(ctx, "settled %d@%llu\n", origin->partition, (unsigned long long)origin->place);
}

static bool on_recall(void *ctx, struct agent_attempt *attempt)
{
    struct bench *bench = ctx;
    if (!bench->remembers)
        return false;
    attempt->accepted = bench->remembers_accepted;
    attempt->succeeded = !attempt->accepted;
    attempt->effect = EFFECT_APPLIED;
    attempt->output = TEXT("{\"old\":1}");
    return true;
}

static void on_extended(void *ctx, struct agent_attempt *attempt)
{
    struct bench *bench = ctx;
    note_attempt(bench, "extended", attempt);
    note(bench, " +%lld\n", (long long)(attempt->request.complete_by - NOW));
}

static const struct attempts_ops ops = {on_start,   on_wait,   on_unwait,  on_report,
                                        on_settled, on_recall, on_extended};

static struct bench *bench_new(void)
{
    static struct bench bench;
    static const int32_t partitions[] = {0, 1};
    clock_manual_init(&bench.clock, NOW);
    bench.options = (struct attempts_options){
        .clock = &bench.clock.clock,
        .lanes_idle_max = 100,
        .backoff_ms = 200,
        .backoff_ms_max = 1000,
        .try_ms_min = 10,
    };
    bench.attempts = attempts_new(&bench.options, &ops, &bench);
    attempts_own(bench.attempts, partitions, 2);
    return &bench;
}

static struct agent_attempt *request(struct bench *bench, const char *order,
                                     enum direction direction, uint32_t number, int64_t complete_by)
{
    struct agent_attempt *attempt = attempts_take(bench->attempts);
    attempt->request = (struct step_request){
        .order_id = arena_text(&attempt->memory.arena, text_of(order)),
        .ref = {TEXT("pay"), direction, number},
        .complete_by = complete_by,
        .decision_offset = bench->decision_offset,
        .order_version = bench->order_version,
    };
    return attempt;
}

static enum attempts_verdict offer_at(struct bench *bench, struct agent_attempt *attempt,
                                      int32_t partition)
{
    struct request_origin origin = {.partition = partition, .place = bench->next_place++};
    return attempts_offer(bench->attempts, attempt, &origin);
}

/* A request whose deadline is a second away, on partition 0, by a Decision of its own. */
static enum attempts_verdict offer(struct bench *bench, const char *order, enum direction direction,
                                   uint32_t number)
{
    bench->decision_offset++;
    int64_t complete_by = clock_wall_ms(&bench->clock.clock) + 1000;
    return offer_at(bench, request(bench, order, direction, number, complete_by), 0);
}

static struct agent_attempt *take_first(struct agent_attempt **list, uint32_t *count)
{
    cr_assert_gt(*count, 0);
    struct agent_attempt *attempt = list[0];
    memmove(list, list + 1, --*count * sizeof(*list));
    return attempt;
}

static void succeed(struct bench *bench)
{
    struct agent_attempt *attempt = take_first(bench->held, &bench->held_count);
    attempts_succeeded(bench->attempts, attempt, TEXT("{\"ok\":1}"));
}

static void fail(struct bench *bench, enum effect effect, bool retriable, int64_t retry_after_ms)
{
    struct agent_attempt *attempt = take_first(bench->held, &bench->held_count);
    attempts_failed(bench->attempts, attempt,
                    &(struct agent_failure){.name = TEXT("Oops"),
                                            .message = TEXT("why"),
                                            .effect = effect,
                                            .retriable = retriable,
                                            .retry_after_ms = retry_after_ms});
}

static void acknowledge(struct bench *bench)
{
    attempts_reported(bench->attempts, take_first(bench->reports, &bench->report_count));
}

/* The oldest wait passes. */
static void pass(struct bench *bench)
{
    struct agent_attempt *attempt = take_first(bench->waits, &bench->wait_count);
    clock_manual_advance(&bench->clock, bench->wait_ms);
    attempts_resume(bench->attempts, attempt);
}

static void expect(struct bench *bench, const char *log)
{
    cr_assert_str_eq(bench->log, log);
    bench->log_size = 0;
    bench->log[0] = '\0';
}

static void end(struct bench *bench)
{
    cr_assert_eq(attempts_in_hand(bench->attempts), 0);
    cr_assert_eq(attempts_running(bench->attempts), 0);
    attempts_free(bench->attempts);
}

Test(agent_attempts, success_is_reported_and_then_settled)
{
    struct bench *bench = bench_new();
    cr_assert_eq(offer(bench, "A", DIRECTION_DO, 1), OFFER_STARTED);
    expect(bench, "start A/pay/do/1#1\n");
    succeed(bench);
    expect(bench, "report A/pay/do/1 {\"ok\":1}\n");
    cr_assert_eq(attempts_in_hand(bench->attempts), 1);
    acknowledge(bench);
    expect(bench, "settled 0@0\n");
    end(bench);
}

Test(agent_attempts, an_answer_from_inside_the_start)
{
    struct bench *bench = bench_new();
    bench->answer_at_once = true;
    cr_assert_eq(offer(bench, "A", DIRECTION_DO, 1), OFFER_STARTED);
    cr_assert_eq(offer(bench, "B", DIRECTION_UNDO, 1), OFFER_STARTED);
    expect(bench, "start A/pay/do/1#1\nreport A/pay/do/1 {}\n"
                  "start B/pay/undo/1#1\nreport B/pay/undo/1 {}\n");
    acknowledge(bench);
    acknowledge(bench);
    expect(bench, "settled 0@0\nsettled 0@1\n");
    end(bench);
}

Test(agent_attempts, definite_failure_is_reported_at_once)
{
    struct bench *bench = bench_new();
    offer(bench, "A", DIRECTION_DO, 1);
    fail(bench, EFFECT_NONE, false, 0);
    expect(bench, "start A/pay/do/1#1\nreport A/pay/do/1 Oops \"why\" none\n");
    acknowledge(bench);
    expect(bench, "settled 0@0\n");
    end(bench);
}

Test(agent_attempts, tries_inside_the_deadline_then_an_error_while_it_still_counts)
{
    struct bench *bench = bench_new();
    offer(bench, "A", DIRECTION_DO, 1);
    fail(bench, EFFECT_NONE, true, 0); /* waits 100 to 200 */
    cr_assert(bench->wait_ms >= 100 && bench->wait_ms <= 200, "%lld", (long long)bench->wait_ms);
    pass(bench);
    fail(bench, EFFECT_UNKNOWN, true, 0); /* 200 to 400 */
    cr_assert(bench->wait_ms >= 200 && bench->wait_ms <= 400, "%lld", (long long)bench->wait_ms);
    pass(bench);
    expect(bench, "start A/pay/do/1#1\nwait A/pay/do/1\nstart A/pay/do/1#2\nwait A/pay/do/1\n"
                  "start A/pay/do/1#3\n");
    clock_manual_advance(&bench->clock, 100);
    fail(bench, EFFECT_NONE, true, 0); /* 400 to 800 do not fit any more */
    cr_assert_lt(clock_wall_ms(&bench->clock.clock), NOW + 1000);
    expect(bench, "report A/pay/do/1 Oops \"why\" unknown\n");
    acknowledge(bench);
    cr_assert_eq(attempts_counts(bench->attempts)->tries, 3);
    cr_assert_eq(attempts_counts(bench->attempts)->retries, 2);
    cr_assert_eq(attempts_counts(bench->attempts)->reported[false], 1);
    expect(bench, "settled 0@0\n");
    end(bench);
}

Test(agent_attempts, effect_is_that_of_the_worst_try)
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
        (void)snprintf(order, sizeof(order), "A%zu", i);
        offer(bench, order, DIRECTION_DO, 1);
        fail(bench, cases[i].first, true, 0);
        pass(bench);
        fail(bench, cases[i].second, false, 0);
        cr_assert_eq(bench->reports[0]->effect, cases[i].expected, "case %zu", i);
        acknowledge(bench);
    }
    end(bench);
}

Test(agent_attempts, retry_after_is_respected_where_it_fits)
{
    struct bench *bench = bench_new();
    offer(bench, "A", DIRECTION_DO, 1);
    fail(bench, EFFECT_UNKNOWN, true, 700);
    cr_assert_eq(bench->wait_ms, 700);
    pass(bench);
    bench->log_size = 0;
    fail(bench, EFFECT_UNKNOWN, true, 295); /* leaves 5 of the 10 ms that a try needs */
    expect(bench, "report A/pay/do/1 Oops \"why\" unknown\n");
    acknowledge(bench);
    bench->log_size = 0;
    offer(bench, "B", DIRECTION_DO, 1);
    fail(bench, EFFECT_UNKNOWN, true, INT64_MAX);
    expect(bench, "start B/pay/do/1#1\nreport B/pay/do/1 Oops \"why\" unknown\n");
    acknowledge(bench);
    end(bench);
}

Test(agent_attempts, past_the_deadline_an_error_is_silence_and_a_success_is_not)
{
    struct bench *bench = bench_new();
    offer(bench, "A", DIRECTION_DO, 1);
    offer(bench, "B", DIRECTION_DO, 1);
    offer(bench, "C", DIRECTION_DO, 1);
    clock_manual_advance(&bench->clock, 1000);
    bench->log_size = 0;
    fail(bench, EFFECT_UNKNOWN, true, 0);
    expect(bench, "settled 0@0\n");
    fail(bench, EFFECT_NONE, false, 0);
    expect(bench, "settled 0@1\n");
    succeed(bench);
    expect(bench, "report C/pay/do/1 {\"ok\":1}\n");
    acknowledge(bench);
    cr_assert_eq(attempts_counts(bench->attempts)->silent, 2);
    end(bench);
}

Test(agent_attempts, no_try_starts_at_complete_by)
{
    struct bench *bench = bench_new();
    cr_assert_eq(offer_at(bench, request(bench, "A", DIRECTION_DO, 1, NOW), 0), OFFER_EXPIRED);
    cr_assert_eq(offer_at(bench, request(bench, "B", DIRECTION_DO, 1, NOW + 1), 0), OFFER_STARTED);
    expect(bench, "settled 0@0\nstart B/pay/do/1#1\n");
    succeed(bench);
    acknowledge(bench);
    /* A wait that took longer than it should. */
    offer(bench, "C", DIRECTION_DO, 1);
    fail(bench, EFFECT_NONE, true, 0);
    bench->log_size = 0;
    bench->wait_ms = 1000;
    pass(bench);
    expect(bench, "settled 0@2\n");
    end(bench);
}

Test(agent_attempts, a_later_attempt_waits_for_the_end_of_the_earlier_call)
{
    struct bench *bench = bench_new();
    offer(bench, "A", DIRECTION_DO, 1);
    clock_manual_advance(&bench->clock, 1500);
    cr_assert_eq(offer(bench, "A", DIRECTION_DO, 2), OFFER_WAITS);
    cr_assert_eq(offer(bench, "B", DIRECTION_DO, 1), OFFER_STARTED);
    expect(bench, "start A/pay/do/1#1\nstart B/pay/do/1#1\n");
    succeed(bench); /* late, and superseded: the log says so */
    expect(bench, "report A/pay/do/1 {\"ok\":1}\nstart A/pay/do/2#1\n");
    acknowledge(bench);
    succeed(bench);
    succeed(bench);
    acknowledge(bench);
    acknowledge(bench);
    end(bench);
}

Test(agent_attempts, an_undo_waits_for_the_do)
{
    struct bench *bench = bench_new();
    offer(bench, "A", DIRECTION_DO, 3);
    cr_assert_eq(offer(bench, "A", DIRECTION_UNDO, 1), OFFER_WAITS);
    expect(bench, "start A/pay/do/3#1\n");
    fail(bench, EFFECT_UNKNOWN, true, 0);
    expect(bench, "settled 0@0\nstart A/pay/undo/1#1\n");
    succeed(bench);
    acknowledge(bench);
    end(bench);
}

Test(agent_attempts, a_later_attempt_supersedes_one_that_waits)
{
    struct bench *bench = bench_new();
    offer(bench, "A", DIRECTION_DO, 1);
    offer(bench, "A", DIRECTION_DO, 2);
    offer(bench, "A", DIRECTION_DO, 3);
    expect(bench, "start A/pay/do/1#1\nsettled 0@1\n");
    fail(bench, EFFECT_UNKNOWN, true, 0);
    expect(bench, "settled 0@0\nstart A/pay/do/3#1\n");
    fail(bench, EFFECT_NONE, true, 0);
    expect(bench, "wait A/pay/do/3\n");
    offer(bench, "A", DIRECTION_DO, 4);
    expect(bench, "unwait A/pay/do/3\nsettled 0@2\nstart A/pay/do/4#1\n");
    succeed(bench);
    acknowledge(bench);
    end(bench);
}

Test(agent_attempts, repeats_are_merged)
{
    struct bench *bench = bench_new();
    struct agent_attempt *again;
    offer(bench, "A", DIRECTION_DO, 1);
    again = request(bench, "A", DIRECTION_DO, 1, NOW + 1000);
    cr_assert_eq(offer_at(bench, again, 0), OFFER_MERGED);
    fail(bench, EFFECT_NONE, true, 0);
    again = request(bench, "A", DIRECTION_DO, 1, NOW + 1000);
    cr_assert_eq(offer_at(bench, again, 0), OFFER_MERGED);
    pass(bench);
    succeed(bench);
    again = request(bench, "A", DIRECTION_DO, 1, NOW + 1000);
    cr_assert_eq(offer_at(bench, again, 0), OFFER_MERGED);
    expect(bench, "start A/pay/do/1#1\nwait A/pay/do/1\nstart A/pay/do/1#2\n"
                  "report A/pay/do/1 {\"ok\":1}\n");
    acknowledge(bench);
    expect(bench, "settled 0@0\nsettled 0@3\nsettled 0@2\nsettled 0@1\n");
    again = request(bench, "A", DIRECTION_DO, 1, NOW + 1000);
    cr_assert_eq(offer_at(bench, again, 0), OFFER_REPEATED);
    expect(bench, "settled 0@4\n");
    end(bench);
}

Test(agent_attempts, what_is_older_than_the_newest_is_stale)
{
    struct bench *bench = bench_new();
    offer(bench, "A", DIRECTION_DO, 1);
    succeed(bench);
    acknowledge(bench);
    offer(bench, "A", DIRECTION_UNDO, 1);
    bench->log_size = 0;
    bench->decision_offset = 1; /* a zombie's late emission of the first */
    struct agent_attempt *zombie = request(bench, "A", DIRECTION_DO, 1, NOW + 1000);
    cr_assert_eq(offer_at(bench, zombie, 0), OFFER_STALE);
    expect(bench, "settled 0@2\n");
    succeed(bench);
    acknowledge(bench);
    end(bench);
}

Test(agent_attempts, a_log_made_anew_is_not_taken_for_a_repeat)
{
    struct bench *bench = bench_new();
    bench->answer_at_once = true;
    bench->decision_offset = 10;
    offer(bench, "A", DIRECTION_DO, 1);
    acknowledge(bench);
    bench->decision_offset = 2;
    cr_assert_eq(offer(bench, "A", DIRECTION_DO, 1), OFFER_STARTED);
    acknowledge(bench);
    end(bench);
}

Test(agent_attempts, nothing_starts_while_partitions_are_revoked)
{
    static const int32_t both[] = {0, 1};
    struct bench *bench = bench_new();
    offer(bench, "A", DIRECTION_DO, 1); /* will be waited for by A 2 */
    offer(bench, "A", DIRECTION_DO, 2);
    offer(bench, "B", DIRECTION_DO, 1); /* will be in backoff, its wait over */
    offer(bench, "C", DIRECTION_DO, 1); /* goes on */
    attempts_revoke(bench->attempts);
    bench->log_size = 0;
    fail(bench, EFFECT_UNKNOWN, true, 0);
    fail(bench, EFFECT_UNKNOWN, true, 0);
    pass(bench);
    succeed(bench);
    expect(bench, "settled 0@0\nwait B/pay/do/1\nreport C/pay/do/1 {\"ok\":1}\n");
    acknowledge(bench);
    expect(bench, "settled 0@3\n");
    attempts_own(bench->attempts, both, 2); /* they came back */
    cr_assert_eq(bench->held_count, 2);
    succeed(bench);
    succeed(bench);
    acknowledge(bench);
    acknowledge(bench);
    end(bench);
}

Test(agent_attempts, what_went_to_others_is_given_up)
{
    static const int32_t other[] = {1};
    struct bench *bench = bench_new();
    offer(bench, "A", DIRECTION_DO, 1); /* nothing happened so far: the others begin afresh */
    offer(bench, "B", DIRECTION_DO, 1); /* perhaps something happened: the others cannot know */
    offer(bench, "C", DIRECTION_DO, 1);
    offer(bench, "C", DIRECTION_DO, 2); /* waits */
    fail(bench, EFFECT_NONE, true, 0);
    fail(bench, EFFECT_UNKNOWN, true, 0);
    attempts_revoke(bench->attempts);
    bench->log_size = 0;
    attempts_own(bench->attempts, other, 1);
    cr_assert_eq(attempts_counts(bench->attempts)->given_up, 2);
    expect(bench, "unwait B/pay/do/1\nreport B/pay/do/1 Oops \"why\" unknown\n"
                  "unwait A/pay/do/1\n");
    acknowledge(bench);
    succeed(bench); /* the call of C goes on */
    acknowledge(bench);
    expect(bench, "settled 0@1\nreport C/pay/do/1 {\"ok\":1}\nsettled 0@2\n");
    /* What was given up is no repeat when it comes back. */
    attempts_own(bench->attempts, (const int32_t[]){0}, 1);
    bench->decision_offset = 1;
    struct agent_attempt *again = request(bench, "A", DIRECTION_DO, 1, NOW + 1000);
    cr_assert_eq(offer_at(bench, again, 0), OFFER_STARTED);
    succeed(bench);
    acknowledge(bench);
    end(bench);
}

Test(agent_attempts, draining_ends_what_does_not_run)
{
    struct bench *bench = bench_new();
    offer(bench, "A", DIRECTION_DO, 1);
    offer(bench, "B", DIRECTION_DO, 1);
    offer(bench, "B", DIRECTION_DO, 2);
    offer(bench, "C", DIRECTION_DO, 1);
    fail(bench, EFFECT_UNKNOWN, true, 0); /* A */
    bench->log_size = 0;
    attempts_drain(bench->attempts);
    expect(bench, "unwait A/pay/do/1\nreport A/pay/do/1 Oops \"why\" unknown\n");
    acknowledge(bench);
    expect(bench, "settled 0@0\n");
    succeed(bench);                    /* B */
    fail(bench, EFFECT_NONE, true, 0); /* C: no try here any more, nothing to tell */
    expect(bench, "report B/pay/do/1 {\"ok\":1}\nwait C/pay/do/1\nunwait C/pay/do/1\n");
    acknowledge(bench);
    expect(bench, "settled 0@1\n");
    end(bench);
}

Test(agent_attempts, memory_is_counted)
{
    struct bench *bench = bench_new();
    cr_assert_eq(attempts_bytes(bench->attempts), 0);
    struct agent_attempt *large = request(bench, "A", DIRECTION_DO, 1, NOW + 1000);
    (void)arena_bytes(&large->memory.arena, 100000);
    offer_at(bench, large, 0);
    cr_assert_geq(attempts_bytes(bench->attempts), 100000);
    succeed(bench);
    acknowledge(bench);
    cr_assert_eq(attempts_bytes(bench->attempts), 0);
    end(bench);
}

Test(agent_attempts, lanes_are_forgotten_the_oldest_first)
{
    struct bench *bench = bench_new();
    bench->answer_at_once = true;
    for (int i = 0; i < 150; i++) {
        char order[16];
        (void)snprintf(order, sizeof(order), "A%d", i);
        bench->decision_offset = i;
        cr_assert_eq(offer_at(bench, request(bench, order, DIRECTION_DO, 1, NOW + 1000), 0),
                     OFFER_STARTED);
        acknowledge(bench);
        bench->log_size = 0;
    }
    bench->decision_offset = 149;
    struct agent_attempt *known = request(bench, "A149", DIRECTION_DO, 1, NOW + 1000);
    cr_assert_eq(offer_at(bench, known, 0), OFFER_REPEATED);
    bench->decision_offset = 0;
    struct agent_attempt *forgotten = request(bench, "A0", DIRECTION_DO, 1, NOW + 1000);
    cr_assert_eq(offer_at(bench, forgotten, 0), OFFER_STARTED);
    acknowledge(bench);
    end(bench);
}

Test(agent_attempts, backoff_grows_within_its_bounds)
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

Test(agent_attempts, an_attempt_that_is_not_running_cannot_end, .signal = SIGABRT)
{
    struct bench *bench = bench_new();
    offer(bench, "A", DIRECTION_DO, 1);
    struct agent_attempt *attempt = bench->held[0];
    succeed(bench);
    attempts_succeeded(bench->attempts, attempt, TEXT(""));
}

/* ---- what is remembered, what takes longer ---- */

Test(agent_attempts, what_is_remembered_is_reported_again_and_never_called)
{
    struct bench *bench = bench_new();
    bench->remembers = true;
    cr_assert_eq(offer(bench, "A", DIRECTION_DO, 1), OFFER_REMEMBERED);
    cr_assert_not(bench->reports[0]->noted, "who recalls says so");
    acknowledge(bench);
    expect(bench, "report A/pay/do/1 {\"old\":1}\nsettled 0@0\n");
    cr_assert_eq(offer_at(bench, request(bench, "A", DIRECTION_DO, 1, NOW + 1000), 0),
                 OFFER_REPEATED, "the lane knows it now");
    bench->log_size = 0;
    clock_manual_advance(&bench->clock, 5000);
    cr_assert_eq(offer_at(bench, request(bench, "B", DIRECTION_DO, 1, NOW + 1000), 0),
                 OFFER_REMEMBERED, "what is true stays true past the deadline");
    acknowledge(bench);
    end(bench);
}

Test(agent_attempts, an_accepted_call_is_settled_without_a_report)
{
    struct bench *bench = bench_new();
    offer(bench, "A", DIRECTION_DO, 1);
    attempts_accepted(bench->attempts, take_first(bench->held, &bench->held_count));
    cr_assert(bench->reports[0]->accepted);
    cr_assert_eq(attempts_running(bench->attempts), 0);
    bench->log_size = 0;
    acknowledge(bench);
    expect(bench, "settled 0@0\n");
    cr_assert_eq(offer_at(bench, request(bench, "A", DIRECTION_DO, 1, NOW + 1000), 0),
                 OFFER_REPEATED);
    cr_assert_eq(attempts_counts(bench->attempts)->accepted, 1);
    bench->remembers = bench->remembers_accepted = true;
    bench->log_size = 0;
    cr_assert_eq(offer(bench, "B", DIRECTION_DO, 1), OFFER_REMEMBERED);
    expect(bench, "settled 0@2\n");
    end(bench);
}

/* A later Decision of the log asks for the same attempt: it has more time. */
static enum attempts_verdict grant(struct bench *bench, const char *order, int64_t complete_by)
{
    bench->decision_offset++;
    bench->order_version++;
    struct agent_attempt *attempt = request(bench, order, DIRECTION_DO, 1, complete_by);
    attempt->request.extension = true;
    return offer_at(bench, attempt, 0);
}

Test(agent_attempts, more_time_for_a_running_call)
{
    struct bench *bench = bench_new();
    offer(bench, "A", DIRECTION_DO, 1);
    struct request_origin origin = {.partition = 0, .place = 77};
    struct agent_attempt *again = request(bench, "A", DIRECTION_DO, 1, NOW + 1000);
    cr_assert_eq(grant(bench, "A", NOW + 5000), OFFER_EXTENDED);
    cr_assert_eq(bench->held[0]->request.complete_by, NOW + 5000);
    cr_assert_eq(attempts_offer(bench->attempts, again, &origin), OFFER_MERGED,
                 "the first request comes again after the grant");
    cr_assert_eq(bench->held[0]->request.complete_by, NOW + 5000);
    clock_manual_advance(&bench->clock, 3000);
    fail(bench, EFFECT_UNKNOWN, false, 0);
    expect(bench, "start A/pay/do/1#1\nextended A/pay/do/1 +5000\n"
                  "report A/pay/do/1 Oops \"why\" unknown\n");
    acknowledge(bench);
    bench->log_size = 0;
    cr_assert_eq(grant(bench, "A", NOW + 9000), OFFER_REPEATED, "too late, it has ended");
    expect(bench, "settled 0@2\n");
    cr_assert_eq(grant(bench, "B", NOW + 9000), OFFER_STALE, "another instance had the call");
    expect(bench, "settled 0@3\n");
    end(bench);
}

Test(agent_attempts, more_time_between_two_tries)
{
    struct bench *bench = bench_new();
    offer(bench, "A", DIRECTION_DO, 1);
    fail(bench, EFFECT_UNKNOWN, true, 900);
    cr_assert_eq(grant(bench, "A", NOW + 5000), OFFER_EXTENDED);
    pass(bench);
    fail(bench, EFFECT_UNKNOWN, true, 900);
    pass(bench);
    succeed(bench);
    acknowledge(bench);
    cr_assert_eq(attempts_counts(bench->attempts)->tries, 3);
    end(bench);
}

Test(agent_attempts, a_log_made_anew_asks_for_a_deed_of_its_own)
{
    struct bench *bench = bench_new();
    bench->order_version = 3;
    bench->decision_offset = 50;
    offer(bench, "A", DIRECTION_DO, 1);
    succeed(bench);
    acknowledge(bench);
    bench->decision_offset = 10; /* the order is as old as it was, the log is not */
    cr_assert_eq(offer(bench, "A", DIRECTION_DO, 1), OFFER_STARTED);
    succeed(bench);
    acknowledge(bench);
    bench->decision_offset = 80;
    cr_assert_eq(offer(bench, "A", DIRECTION_DO, 1), OFFER_STARTED);
    succeed(bench);
    acknowledge(bench);
    end(bench);
}
