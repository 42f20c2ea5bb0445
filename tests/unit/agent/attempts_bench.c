/* SPDX-License-Identifier: Apache-2.0 */
/* See attempts_bench.h. */
#include "tests/unit/agent/attempts_bench.h"

#include <criterion/criterion.h>
#include <stdarg.h>
#include <stdio.h>

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
    cr_assert_lt(bench->held_count, BENCH_HELD_MAX);
    bench->held[bench->held_count++] = attempt;
}

static void on_wait(void *ctx, struct agent_attempt *attempt, int64_t delay_ms)
{
    struct bench *bench = ctx;
    note_attempt(bench, "wait", attempt);
    note(bench, "\n");
    cr_assert_lt(bench->wait_count, BENCH_HELD_MAX);
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
    if (attempt->answer.succeeded)
        note(bench, " %.*s\n", TEXT_ARG(attempt->answer.output));
    else
        note(bench, " %.*s \"%.*s\" %s\n", TEXT_ARG(attempt->answer.error_name),
             TEXT_ARG(attempt->answer.error_message), effect_name(attempt->answer.effect));
    cr_assert_lt(bench->report_count, BENCH_HELD_MAX);
    bench->reports[bench->report_count++] = attempt;
}

static void on_settled(void *ctx, const struct request_receipt *receipt)
{
    note(ctx, "settled %d@%llu\n", receipt->partition, (unsigned long long)receipt->place);
}

static bool on_recall(void *ctx, struct agent_attempt *attempt)
{
    struct bench *bench = ctx;
    if (!bench->remembers)
        return false;
    attempt->answer.accepted = bench->remembers_accepted;
    attempt->answer.succeeded = !attempt->answer.accepted;
    attempt->answer.effect = EFFECT_APPLIED;
    attempt->answer.output = TEXT("{\"old\":1}");
    return true;
}

static void on_extended(void *ctx, struct agent_attempt *attempt)
{
    struct bench *bench = ctx;
    note_attempt(bench, "extended", attempt);
    note(bench, " +%lld\n", (long long)(attempt->request.complete_by - BENCH_NOW));
}

static const struct attempts_ops ops = {on_start,   on_wait,   on_unwait,  on_report,
                                        on_settled, on_recall, on_extended};

struct bench *bench_new(void)
{
    static struct bench bench;
    static const int32_t partitions[] = {0, 1};
    clock_manual_init(&bench.clock, BENCH_NOW);
    bench.options = (struct attempts_options){
        .clock = &bench.clock.clock,
        .idle_steps_max = 100,
        .backoff_ms = 200,
        .backoff_ms_max = 1000,
        .try_ms_min = 10,
    };
    bench.attempts = attempts_new(&bench.options, &ops, &bench);
    attempts_own(bench.attempts, partitions, 2);
    return &bench;
}

struct agent_attempt *bench_request(struct bench *bench, const char *order,
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

enum offer_outcome bench_offer_at(struct bench *bench, struct agent_attempt *attempt,
                                  int32_t partition)
{
    struct request_receipt receipt = {.partition = partition, .place = bench->next_place++};
    return attempts_offer(bench->attempts, attempt, &receipt);
}

enum offer_outcome bench_offer(struct bench *bench, const char *order, enum direction direction,
                               uint32_t number)
{
    bench->decision_offset++;
    int64_t complete_by = clock_wall_ms(&bench->clock.clock) + 1000;
    return bench_offer_at(bench, bench_request(bench, order, direction, number, complete_by), 0);
}

static struct agent_attempt *take_first(struct agent_attempt **list, uint32_t *count)
{
    cr_assert_gt(*count, 0);
    struct agent_attempt *attempt = list[0];
    memmove(list, list + 1, --*count * sizeof(*list));
    return attempt;
}

void bench_succeed(struct bench *bench)
{
    struct agent_attempt *attempt = take_first(bench->held, &bench->held_count);
    attempts_succeeded(bench->attempts, attempt, TEXT("{\"ok\":1}"));
}

void bench_accept(struct bench *bench)
{
    attempts_accepted(bench->attempts, take_first(bench->held, &bench->held_count));
}

void bench_fail(struct bench *bench, enum effect effect, bool retriable, int64_t retry_after_ms)
{
    struct agent_attempt *attempt = take_first(bench->held, &bench->held_count);
    attempts_failed(bench->attempts, attempt,
                    &(struct agent_failure){.name = TEXT("Oops"),
                                            .message = TEXT("why"),
                                            .effect = effect,
                                            .retriable = retriable,
                                            .retry_after_ms = retry_after_ms});
}

void bench_acknowledge(struct bench *bench)
{
    attempts_reported(bench->attempts, take_first(bench->reports, &bench->report_count));
}

void bench_pass(struct bench *bench)
{
    struct agent_attempt *attempt = take_first(bench->waits, &bench->wait_count);
    clock_manual_advance(&bench->clock, bench->wait_ms);
    attempts_resume(bench->attempts, attempt);
}

void bench_expect(struct bench *bench, const char *log)
{
    cr_assert_str_eq(bench->log, log);
    bench->log_size = 0;
    bench->log[0] = '\0';
}

void bench_end(struct bench *bench)
{
    cr_assert_eq(attempts_in_flight(bench->attempts), 0);
    cr_assert_eq(attempts_running(bench->attempts), 0);
    attempts_free(bench->attempts);
}
