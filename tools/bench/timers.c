/* SPDX-License-Identifier: Apache-2.0 */
/* See timers.h. */
#include "tools/bench/timers.h"

#include "base/heap_arena.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

enum {
    FAR_SECONDS = 7200,
    NEAR_SECONDS = 3,
    /* The orders of a burst are submitted one after the other, but are due together: each one takes
     * the workflow whose wait ends with the burst. */
    BURST_SECONDS_MIN = 5,
    BURST_SECONDS_MAX = 600,
    BURST_MARGIN_SECONDS = 15,
    BURST_SUBMITTED_PER_SECOND = 2500, /* at least */
    ADD_IN_FLIGHT = 2000,
    NEAR_IN_FLIGHT = 200,
    OTHERS = 2000,
    OTHERS_MAX = 1000000,
    OTHERS_IN_FLIGHT = 20,
    OTHERS_SECONDS = 10,         /* before the burst, of a number of orders a second */
    OTHERS_IN_FLIGHT_MAX = 5000, /* of those */
    LEAD_MS = 500,               /* the other orders begin so long before the burst */
    WAIT_MS = 600000,
    NAME_SIZE = 32,
    TEXT_SIZE = 512
};

struct bench_timers {
    struct bench_stage *stage;
    struct bench_load *load;
    struct broker_reader **readers;
    int32_t reader_count;
    struct heap_arena scratch;
    struct error failure;
    bool of_waits;
    uint32_t others_per_second; /* 0: OTHERS_IN_FLIGHT in flight */
    bool deployed[BURST_SECONDS_MAX + 1];
    char workflow[NAME_SIZE]; /* of the next order */
    int64_t burst_at_ms;
    int64_t burst_seconds_max;
    /* The orders that are measured, by their number less `first`: */
    uint64_t first;
    uint64_t count;
    int64_t *due_ms;  /* 0: it does not wait yet */
    int64_t *late_us; /* in the order in which they started */
    uint64_t waiting;
    uint64_t started;
    int64_t first_due_ms;
    int64_t last_due_ms;
    int64_t last_start_ms;
};

/* ---- the log ---- */

static void on_scheduled(struct bench_timers *timers, uint64_t index, int64_t retry_at)
{
    if (timers->due_ms[index] != 0)
        return;
    timers->due_ms[index] = retry_at;
    timers->waiting++;
    if (timers->first_due_ms == 0 || retry_at < timers->first_due_ms)
        timers->first_due_ms = retry_at;
    if (retry_at > timers->last_due_ms)
        timers->last_due_ms = retry_at;
}

static void on_started(struct bench_timers *timers, uint64_t index, int64_t appended_at)
{
    if (timers->due_ms[index] <= 0)
        return; /* its first attempt, or a second copy of the record */
    timers->late_us[timers->started++] = (appended_at - timers->due_ms[index]) * 1000;
    timers->due_ms[index] = -1;
    timers->last_start_ms = appended_at;
}

static void on_record(void *ctx, const struct broker_record *broker_record)
{
    struct bench_timers *timers = ctx;
    struct record record;
    struct error error;
    uint64_t number = 0;
    heap_arena_reset(&timers->scratch);
    if (codec_decode(timers->stage->session.cluster->codec, broker_record->value, true,
                     &timers->scratch.arena, &record, &error) != ERROR_OK ||
        record.kind != RECORD_DECISION || !bench_load_number(record.decision.order_id, &number))
        return;
    uint64_t index = number - timers->first;
    if (index >= timers->count)
        return;
    for (uint32_t i = 0; i < record.decision.event_count; i++) {
        const struct event *event = &record.decision.events[i];
        if (event->kind == EVENT_STEP_RETRY_SCHEDULED)
            on_scheduled(timers, index, event->step_retry_scheduled.retry_at);
        else if (event->kind == EVENT_STEP_WAITING)
            on_scheduled(timers, index, event->step_waiting.due_at);
        else if (event->kind == EVENT_STEP_STARTED || event->kind == EVENT_STEP_PASSED)
            on_started(timers, index, broker_record->timestamp);
    }
}

static void on_end(void *ctx, int64_t next_offset)
{
    (void)ctx;
    (void)next_offset;
}

static void on_error(void *ctx, const struct error *error)
{
    struct bench_timers *timers = ctx;
    if (error->class == ERROR_FATAL)
        timers->failure = *error;
}

static const struct broker_reader_ops reader_ops = {on_record, on_end, on_error};

static bool all_wait(void *ctx)
{
    const struct bench_timers *timers = ctx;
    return timers->waiting == timers->count || timers->failure.class != ERROR_OK;
}

static bool all_started(void *ctx)
{
    const struct bench_timers *timers = ctx;
    return timers->started == timers->count || timers->failure.class != ERROR_OK;
}

static enum error_class wait_for(struct bench_timers *timers, bool (*done)(void *ctx),
                                 struct error *ret_error)
{
    enum error_class class = bench_stage_wait(timers->stage, done, timers, WAIT_MS, ret_error);
    if (class == ERROR_OK && timers->failure.class != ERROR_OK) {
        *ret_error = timers->failure;
        class = ret_error->class;
    }
    return class;
}

/* ---- which orders ---- */

static void begin(struct bench_timers *timers, uint64_t count)
{
    free(timers->due_ms);
    free(timers->late_us);
    timers->first = bench_load_next(timers->load);
    timers->count = count;
    timers->due_ms = calloc(count, sizeof(timers->due_ms[0]));
    timers->late_us = calloc(count, sizeof(timers->late_us[0]));
    assert(timers->due_ms != NULL && timers->late_us != NULL);
    timers->waiting = timers->started = 0;
    timers->first_due_ms = timers->last_due_ms = timers->last_start_ms = 0;
}

static int64_t now_ms(const struct bench_timers *timers)
{
    return clock_wall_ms(timers->stage->session.context.clock);
}

static void name_workflow(struct bench_timers *timers, int64_t seconds)
{
    snprintf(timers->workflow, sizeof(timers->workflow), "due-in-%" PRId64, seconds);
}

static const char *same_workflow(void *ctx)
{
    const struct bench_timers *timers = ctx;
    return timers->workflow;
}

static const char *workflow_of_burst(void *ctx)
{
    struct bench_timers *timers = ctx;
    int64_t seconds = (timers->burst_at_ms - now_ms(timers) + 500) / 1000;
    if (seconds < BURST_SECONDS_MIN)
        seconds = BURST_SECONDS_MIN;
    if (seconds > timers->burst_seconds_max)
        seconds = timers->burst_seconds_max;
    name_workflow(timers, seconds);
    return timers->workflow;
}

static enum error_class deploy(struct bench_timers *timers, int64_t seconds,
                               struct error *ret_error)
{
    char step[TEXT_SIZE];
    char text[2 * TEXT_SIZE];
    snprintf(step, sizeof(step),
             timers->of_waits ? "  - {Name: Wait, Wait: {Seconds: %" PRId64 "}}\n"
                              : "  - Name: Refused\n"
                                "    Agent: " BENCH_REFUSER "\n"
                                "    TimeoutSeconds: 600\n"
                                "    Retry:\n"
                                "      - ErrorEquals: [States.ALL]\n"
                                "        IntervalSeconds: %" PRId64 "\n"
                                "        MaxAttempts: 1\n"
                                "        JitterStrategy: NONE\n",
             seconds);
    snprintf(text, sizeof(text),
             "Name: due-in-%" PRId64 "\n"
             "Version: 1\n"
             "TimeoutSeconds: 36000\n"
             "Steps:\n%s",
             seconds, step);
    return bench_stage_deploy(timers->stage, text, ret_error);
}

/* ---- measuring ---- */

enum error_class bench_timers_add(struct bench_timers *timers, uint64_t orders,
                                  struct bench_figures *ret_figures, struct error *ret_error)
{
    const struct bench_round round = {.orders = orders,
                                      .in_flight = ADD_IN_FLIGHT,
                                      .goal = BENCH_RECEIVED,
                                      .what = "orders that wait",
                                      .workflow = same_workflow,
                                      .ctx = timers};
    begin(timers, orders);
    name_workflow(timers, FAR_SECONDS);
    enum error_class class = bench_load_run(timers->load, &round, ret_figures, ret_error);
    return class == ERROR_OK ? wait_for(timers, all_wait, ret_error) : class;
}

enum error_class bench_timers_measure(struct bench_timers *timers, uint64_t orders,
                                      struct bench_figures *ret_late, struct error *ret_error)
{
    struct bench_figures ended;
    const struct bench_round round = {.orders = orders,
                                      .in_flight = NEAR_IN_FLIGHT,
                                      .goal = BENCH_ENDED,
                                      .what = timers->of_waits ? "Waits" : "retries",
                                      .workflow = same_workflow,
                                      .ctx = timers};
    begin(timers, orders);
    name_workflow(timers, NEAR_SECONDS);
    enum error_class class = bench_load_run(timers->load, &round, &ended, ret_error);
    if (class == ERROR_OK)
        class = wait_for(timers, all_started, ret_error);
    if (class == ERROR_OK)
        *ret_late =
            bench_figures_of(timers->late_us, timers->started, (int64_t)(ended.seconds * 1e6));
    return class;
}

static bool burst_is_near(void *ctx)
{
    const struct bench_timers *timers = ctx;
    return now_ms(timers) >= timers->first_due_ms - LEAD_MS;
}

static enum error_class submit_burst(struct bench_timers *timers, uint64_t orders,
                                     struct error *ret_error)
{
    struct bench_figures ignored;
    const struct bench_round round = {.orders = orders,
                                      .in_flight = ADD_IN_FLIGHT,
                                      .goal = BENCH_RECEIVED,
                                      .what = "orders of the burst",
                                      .workflow = workflow_of_burst,
                                      .ctx = timers};
    enum error_class class = ERROR_OK;
    timers->burst_seconds_max =
        BURST_MARGIN_SECONDS + (int64_t)(orders / BURST_SUBMITTED_PER_SECOND);
    if (timers->burst_seconds_max > BURST_SECONDS_MAX)
        timers->burst_seconds_max = BURST_SECONDS_MAX;
    for (int64_t s = BURST_SECONDS_MIN; s <= timers->burst_seconds_max && class == ERROR_OK; s++) {
        if (!timers->deployed[s])
            class = deploy(timers, s, ret_error);
        timers->deployed[s] = class == ERROR_OK;
    }
    if (class != ERROR_OK)
        return class;
    begin(timers, orders);
    timers->burst_at_ms = now_ms(timers) + timers->burst_seconds_max * 1000;
    class = bench_load_run(timers->load, &round, &ignored, ret_error);
    return class == ERROR_OK ? wait_for(timers, all_wait, ret_error) : class;
}

enum error_class bench_timers_burst(struct bench_timers *timers, uint64_t orders,
                                    struct bench_burst *ret_burst, struct error *ret_error)
{
    uint32_t per_second = timers->others_per_second;
    uint32_t in_flight = per_second > 0 ? OTHERS_IN_FLIGHT_MAX : OTHERS_IN_FLIGHT;
    const struct bench_round others = {.orders =
                                           per_second > 0 ? OTHERS_SECONDS * per_second : OTHERS,
                                       .in_flight = in_flight,
                                       .per_second = per_second};
    const struct bench_round meanwhile = {.orders = OTHERS_MAX,
                                          .in_flight = in_flight,
                                          .per_second = per_second,
                                          .enough = all_started,
                                          .ctx = timers};
    enum error_class class = bench_load_run(timers->load, &others, &ret_burst->before, ret_error);
    if (class == ERROR_OK)
        class = submit_burst(timers, orders, ret_error);
    if (class == ERROR_OK)
        class = wait_for(timers, burst_is_near, ret_error);
    if (class == ERROR_OK)
        class = bench_load_run(timers->load, &meanwhile, &ret_burst->during, ret_error);
    if (class == ERROR_OK)
        class = wait_for(timers, all_started, ret_error);
    if (class != ERROR_OK)
        return class;
    ret_burst->late = bench_figures_of(timers->late_us, timers->started,
                                       (timers->last_start_ms - timers->first_due_ms) * 1000);
    ret_burst->due_seconds = (double)(timers->last_due_ms - timers->first_due_ms) / 1e3;
    return ERROR_OK;
}

/* The figures stand at `offset` in a burst. */
static struct bench_figures median_figures(const struct bench_burst *bursts, uint32_t count,
                                           size_t offset)
{
    double orders[BENCH_BURSTS_MAX], seconds[BENCH_BURSTS_MAX], p50[BENCH_BURSTS_MAX],
        p90[BENCH_BURSTS_MAX], p99[BENCH_BURSTS_MAX], max[BENCH_BURSTS_MAX];
    for (uint32_t i = 0; i < count; i++) {
        const struct bench_figures *figures = (const void *)((const char *)&bursts[i] + offset);
        orders[i] = (double)figures->orders;
        seconds[i] = figures->seconds;
        p50[i] = (double)figures->p50_us;
        p90[i] = (double)figures->p90_us;
        p99[i] = (double)figures->p99_us;
        max[i] = (double)figures->max_us;
    }
    return (struct bench_figures){.orders = (uint64_t)bench_median(orders, count),
                                  .seconds = bench_median(seconds, count),
                                  .p50_us = (int64_t)bench_median(p50, count),
                                  .p90_us = (int64_t)bench_median(p90, count),
                                  .p99_us = (int64_t)bench_median(p99, count),
                                  .max_us = (int64_t)bench_median(max, count)};
}

struct bench_burst bench_burst_median(const struct bench_burst *bursts, uint32_t count)
{
    double due_seconds[BENCH_BURSTS_MAX];
    assert(count >= 1 && count <= BENCH_BURSTS_MAX);
    for (uint32_t i = 0; i < count; i++)
        due_seconds[i] = bursts[i].due_seconds;
    return (struct bench_burst){
        .late = median_figures(bursts, count, offsetof(struct bench_burst, late)),
        .due_seconds = bench_median(due_seconds, count),
        .before = median_figures(bursts, count, offsetof(struct bench_burst, before)),
        .during = median_figures(bursts, count, offsetof(struct bench_burst, during))};
}

/* ---- life ---- */

enum error_class bench_timers_new(struct bench_stage *stage, struct bench_load *load, bool of_waits,
                                  uint32_t others_per_second, struct bench_timers **ret_timers,
                                  struct error *ret_error)
{
    struct cluster *cluster = stage->session.cluster;
    struct bench_timers *timers = calloc(1, sizeof(*timers));
    assert(timers != NULL);
    timers->stage = stage;
    timers->load = load;
    timers->of_waits = of_waits;
    timers->others_per_second = others_per_second;
    heap_arena_init(&timers->scratch, 16 * 1024);
    timers->reader_count = cluster->partition_count;
    timers->readers = calloc((size_t)timers->reader_count, sizeof(struct broker_reader *));
    assert(timers->readers != NULL);
    for (int32_t p = 0; p < timers->reader_count; p++)
        timers->readers[p] =
            broker_read(cluster->broker, cluster->topics.events, p, 0, &reader_ops, timers);
    enum error_class class = deploy(timers, FAR_SECONDS, ret_error);
    if (class == ERROR_OK)
        class = deploy(timers, NEAR_SECONDS, ret_error);
    if (class != ERROR_OK) {
        bench_timers_free(timers);
        return class;
    }
    *ret_timers = timers;
    return ERROR_OK;
}

void bench_timers_free(struct bench_timers *timers)
{
    if (timers == NULL)
        return;
    for (int32_t p = 0; p < timers->reader_count; p++)
        broker_reader_close(timers->readers[p]);
    free(timers->readers);
    free(timers->due_ms);
    free(timers->late_us);
    heap_arena_deinit(&timers->scratch);
    free(timers);
}
