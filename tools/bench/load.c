/* SPDX-License-Identifier: Apache-2.0 */
/* See load.h. */
#include "tools/bench/load.h"

#include "base/goods.h"
#include "base/heap_arena.h"
#include "base/numbers.h"
#include "cli/progress.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

enum {
    ID_SIZE = 24,
    SILENCE_MS = 30000,
    SHOW_MS = 250,
    PACE_MS = 2, /* between two looks at what a second's share is due */
    READERS_MAX = 1024,
    NOT_OVER = -1
};

static const char id_format[] = "bench-%012" PRIu64;
enum { ID_PREFIX = sizeof("bench-") - 1 };

struct bench_load {
    struct bench_stage *stage;
    struct broker_reader *readers[READERS_MAX];
    int32_t reader_count;
    char reply_to[TOPIC_NAME_SIZE];
    struct buffer value;
    struct heap_arena scratch;
    struct loop_deferred work; /* submits what fits: many statuses, one burst */
    struct loop_timer pace;    /* armed in a round with a number of orders a second */
    uint64_t next;             /* sequence of the next order, over all rounds */
    /* The round: */
    struct bench_round round;
    bool ending; /* it has enough orders */
    uint64_t first;
    uint64_t over;
    uint64_t others;  /* ended in another way */
    int64_t first_us; /* when the round began */
    int64_t *begun_us;
    int64_t *took_us;
    int64_t last_us;
    struct error failure;
};

static int64_t now_us(const struct bench_load *load)
{
    return clock_mono_us(load->stage->session.context.clock);
}

/* ---- submitting ---- */

/* When the order is to be submitted. */
static int64_t due_us(const struct bench_load *load, uint64_t index)
{
    uint32_t per_second = load->round.per_second;
    return per_second == 0 ? now_us(load)
                           : load->first_us + (int64_t)(index * UINT64_C(1000000) / per_second);
}

static void on_appended(void *ctx, uint64_t token, int64_t offset, const struct error *error)
{
    struct bench_load *load = ctx;
    (void)token;
    (void)offset;
    if (error->class != ERROR_OK)
        load->failure = *error;
}

static void append(struct bench_load *load, const struct command *cmd, enum record_kind kind)
{
    struct cluster *cluster = load->stage->session.cluster;
    load->value.size = 0;
    codec_encode(cluster->codec, kind, cmd, &load->value);
    struct broker_append append = {
        .producer = BROKER_PRODUCER_LOG,
        .topic = cluster->topics.submissions,
        .partition = broker_partition_of(cmd->order_id, cluster->partition_count),
        .key = cmd->order_id,
        .value = {(const char *)load->value.data, (uint32_t)load->value.size},
        .batches = true,
        .done = on_appended,
        .ctx = load,
    };
    broker_append(cluster->broker, &append, &load->failure);
}

static void cancel(struct bench_load *load, uint64_t number)
{
    char id[ID_SIZE];
    int size = snprintf(id, sizeof(id), id_format, number);
    struct command cmd = {.kind = COMMAND_CANCEL_ORDER, .order_id = {id, (uint32_t)size}};
    cmd.cancel_order = (struct cancel_order){.order_id = cmd.order_id, .reason = TEXT("measured")};
    append(load, &cmd, RECORD_CANCEL_ORDER);
}

/* The order of a small shop: about 250 bytes, and the input. */
static void submit(struct bench_load *load)
{
    static struct order_line lines[] = {
        {{"22961", 5}, {"JAM MAKING SET PRINTED", 22}, 12, {14500}},
        {{"84879", 5}, {"ASSORTED COLOUR BIRD ORNAMENT", 29}, 32, {16900}},
    };
    static const struct goods goods = {{"GBP", 3}, lines, sizeof(lines) / sizeof(lines[0])};
    char id[ID_SIZE];
    const struct bench_round *round = &load->round;
    uint64_t sequence = load->next++;
    bool leads = round->leader != NULL && sequence == load->first;
    const char *workflow = round->workflow != NULL ? round->workflow(round->ctx) : BENCH_WORKFLOW;
    int size = snprintf(id, sizeof(id), id_format, sequence);
    struct command cmd = {
        .kind = COMMAND_SUBMIT_ORDER,
        .order_id = {id, (uint32_t)size},
        .submit_order = {.order_id = {id, (uint32_t)size},
                         .customer = TEXT("17850"),
                         .goods = &goods,
                         .priority = PRIORITY_NORMAL,
                         .reply_to = text_of(load->reply_to),
                         .workflow = text_of(leads ? round->leader : workflow),
                         .input = leads ? round->leader_input : round->input},
    };
    load->begun_us[sequence - load->first] = due_us(load, sequence - load->first);
    if (round->cancelled != NULL && sequence == load->first)
        cancel(load, *round->cancelled);
    else
        append(load, &cmd, RECORD_SUBMIT_ORDER);
}

static bool has_leader(const struct bench_load *load)
{
    return load->round.leader != NULL || load->round.cancelled != NULL;
}

static bool has_all(struct bench_load *load)
{
    const struct bench_round *round = &load->round;
    if (round->enough != NULL && !load->ending)
        load->ending = round->enough(round->ctx);
    if (has_leader(load) && load->next > load->first && load->took_us[0] != NOT_OVER)
        load->ending = true;
    return load->ending || load->next - load->first == round->orders;
}

static bool fits(const struct bench_load *load)
{
    uint64_t index = load->next - load->first;
    return index - load->over < load->round.in_flight && due_us(load, index) <= now_us(load);
}

static void submit_what_fits(void *ctx)
{
    struct bench_load *load = ctx;
    while (!has_all(load) && fits(load) && load->failure.class == ERROR_OK)
        submit(load);
}

static void on_pace(void *ctx)
{
    struct bench_load *load = ctx;
    loop_timer_after(load->stage->session.context.loop, &load->pace, PACE_MS);
    submit_what_fits(load);
}

/* ---- statuses ---- */

static bool is_over(const struct bench_load *load, const struct status_update *status)
{
    if (status->kind == STATUS_REJECTED || status->order_state == ORDER_ERROR ||
        status->order_state == ORDER_COMPENSATED)
        return true;
    if (load->round.goal == BENCH_ASKS)
        return status->question.size > 0;
    return load->round.goal == BENCH_RECEIVED ? status->kind == STATUS_RECEIVED
                                              : status->order_state == ORDER_PROCESSED;
}

uint64_t bench_load_next(const struct bench_load *load)
{
    return load->next;
}

bool bench_load_number(struct text order_id, uint64_t *ret_number)
{
    if (order_id.size <= ID_PREFIX || order_id.size >= ID_SIZE)
        return false;
    struct text digits = text_from(order_id, ID_PREFIX);
    return number_take(&digits, UINT64_MAX, ret_number) && digits.size == 0;
}

static void on_record(void *ctx, const struct broker_record *broker_record)
{
    struct bench_load *load = ctx;
    struct record record;
    heap_arena_reset(&load->scratch);
    if (codec_decode(load->stage->session.cluster->codec, broker_record->value, true,
                     &load->scratch.arena, &record, &load->failure) != ERROR_OK)
        return;
    const struct status_update *status = &record.status_update;
    uint64_t number = 0;
    if (record.kind != RECORD_STATUS_UPDATE || !is_over(load, status) ||
        !bench_load_number(status->order_id, &number))
        return;
    bool cancelled = load->round.cancelled != NULL && number == *load->round.cancelled;
    uint64_t index = cancelled ? 0 : number - load->first;
    /* Of an earlier round, or delivered again. */
    if (index >= load->next - load->first || load->took_us[index] != NOT_OVER)
        return;
    load->last_us = now_us(load);
    load->took_us[index] = load->last_us - load->begun_us[index];
    load->over++;
    if (status->kind == STATUS_REJECTED ||
        (load->round.goal == BENCH_PROCESSED &&
         status->order_state != (cancelled ? ORDER_COMPENSATED : ORDER_PROCESSED)))
        load->others++;
    loop_defer(load->stage->session.context.loop, &load->work);
}

static void on_end(void *ctx, int64_t next_offset)
{
    (void)ctx;
    (void)next_offset;
}

static void on_error(void *ctx, const struct error *error)
{
    struct bench_load *load = ctx;
    if (error->class == ERROR_FATAL)
        load->failure = *error;
}

static const struct broker_reader_ops reader_ops = {on_record, on_end, on_error};

/* ---- rounds ---- */

static bool is_finished(void *ctx)
{
    struct bench_load *load = ctx;
    return (has_all(load) && load->over == load->next - load->first) ||
           load->failure.class != ERROR_OK;
}

static enum error_class wait_for_all(struct bench_load *load, struct error *ret_error)
{
    struct progress progress;
    const struct clock *clock = load->stage->session.context.clock;
    uint64_t seen = load->over;
    int64_t since_ms = clock_mono_ms(clock);
    struct error error;
    progress_begin(&progress, load->stage->cli.err, clock,
                   load->round.what != NULL ? load->round.what : "");
    while (bench_stage_wait(load->stage, is_finished, load, SHOW_MS, &error) != ERROR_OK) {
        int64_t now_ms = clock_mono_ms(clock);
        bool silent = error.code == CODE_SILENT;
        if (load->over != seen) {
            seen = load->over;
            since_ms = now_ms;
        }
        if (!silent || now_ms - since_ms > SILENCE_MS) {
            progress_end(&progress);
            return error_wrap(ret_error, &error, "%" PRIu64 " of %" PRIu64 " orders have ended: %s",
                              load->over, load->round.orders,
                              silent ? "no status for 30 s" : error.message);
        }
        if (load->round.what != NULL)
            progress_show(&progress, load->over, load->round.orders, -1);
    }
    progress_end(&progress);
    return ERROR_OK;
}

static int by_value(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a;
    int64_t right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

static int by_size(const void *a, const void *b)
{
    double left = *(const double *)a;
    double right = *(const double *)b;
    return (left > right) - (left < right);
}

double bench_median(double *values, uint32_t count)
{
    assert(count > 0);
    qsort(values, count, sizeof(values[0]), by_size);
    return values[(count - 1) / 2];
}

struct bench_figures bench_figures_of(int64_t *took_us, uint64_t count, int64_t duration_us)
{
    assert(count > 0);
    qsort(took_us, count, sizeof(took_us[0]), by_value);
    return (struct bench_figures){
        .orders = count,
        .seconds = (double)duration_us / 1e6,
        .p50_us = took_us[(count - 1) / 2],
        .p90_us = took_us[(count - 1) * 9 / 10],
        .p99_us = took_us[(count - 1) * 99 / 100],
        .max_us = took_us[count - 1],
    };
}

/* All orders that were submitted have ended. */
static struct bench_figures figures_of_round(const struct bench_load *load)
{
    struct bench_figures figures = {0};
    uint64_t leaders = has_leader(load) && load->over > 0 ? 1 : 0;
    int64_t leader_us = leaders > 0 ? load->took_us[0] : 0;
    if (load->over > leaders)
        figures = bench_figures_of(load->took_us + leaders, load->over - leaders,
                                   load->last_us - load->begun_us[0]);
    figures.leader_us = leader_us;
    return figures;
}

enum error_class bench_load_run(struct bench_load *load, const struct bench_round *round,
                                struct bench_figures *ret_figures, struct error *ret_error)
{
    assert(round->orders > 0 && round->in_flight > 0);
    load->round = *round;
    load->first = load->next;
    load->over = load->others = 0;
    load->ending = false;
    load->failure = (struct error){0};
    load->begun_us = calloc(round->orders, sizeof(load->begun_us[0]));
    load->took_us = malloc(round->orders * sizeof(load->took_us[0]));
    assert(load->begun_us != NULL && load->took_us != NULL);
    for (uint64_t i = 0; i < round->orders; i++)
        load->took_us[i] = NOT_OVER;
    load->first_us = now_us(load);
    if (round->per_second > 0)
        loop_timer_after(load->stage->session.context.loop, &load->pace, PACE_MS);
    submit_what_fits(load);
    enum error_class class = wait_for_all(load, ret_error);
    loop_timer_cancel(load->stage->session.context.loop, &load->pace);
    if (class == ERROR_OK && load->failure.class != ERROR_OK) {
        *ret_error = load->failure;
        class = ret_error->class;
    }
    if (class == ERROR_OK && load->others > 0)
        class = error_set(ret_error, CODE_NOT_PROCESSED,
                          "%" PRIu64 " orders were rejected or ended in another way", load->others);
    if (class == ERROR_OK)
        *ret_figures = figures_of_round(load);
    free(load->begun_us);
    free(load->took_us);
    load->begun_us = load->took_us = NULL;
    load->round.orders = 0;
    load->first = load->next; /* later statuses belong to no round */
    return class;
}

/* ---- life ---- */

enum error_class bench_load_new(struct bench_stage *stage, struct bench_load **ret_load,
                                struct error *ret_error)
{
    struct cluster *cluster = stage->session.cluster;
    if (cluster->partition_count > READERS_MAX)
        return error_set(ret_error, CODE_USAGE, "at most %d partitions", READERS_MAX);
    struct bench_load *load = calloc(1, sizeof(*load));
    assert(load != NULL);
    load->stage = stage;
    topics_replies(&stage->topics, TEXT(BENCH_APP), load->reply_to);
    heap_arena_init(&load->scratch, 16 * 1024);
    loop_deferred_init(&load->work, submit_what_fits, load);
    loop_timer_init(&load->pace, on_pace, load);
    load->reader_count = cluster->partition_count;
    for (int32_t p = 0; p < load->reader_count; p++)
        load->readers[p] = broker_read(cluster->broker, load->reply_to, p, 0, &reader_ops, load);
    *ret_load = load;
    return ERROR_OK;
}

void bench_load_free(struct bench_load *load)
{
    if (load == NULL)
        return;
    for (int32_t p = 0; p < load->reader_count; p++)
        broker_reader_close(load->readers[p]);
    loop_defer_cancel(load->stage->session.context.loop, &load->work);
    buffer_deinit(&load->value);
    heap_arena_deinit(&load->scratch);
    free(load);
}
