/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve bench`: how fast reeve is on this machine, against a real broker. */
#include "base/numbers.h"
#include "platform/files.h"
#include "platform/memory_guard.h"
#include "tools/bench/items.h"
#include "tools/bench/raw.h"
#include "tools/bench/report.h"
#include "tools/bench/requests.h"
#include "tools/tools.h"

#include <assert.h>
#include <glob.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    ORDERS = 40000,
    IN_FLIGHT = 1000,
    IN_FLIGHT_MAX = 1000000,
    ALONE = 300,
    WARM_UP = 5000, /* the JVM of the broker compiles its hot code */
    ALONE_WARM_UP = 50,
    OPEN = 100000,
    OPEN_IN_FLIGHT = 2000,
    /* After the last status supervisors still read the log; stores are flushed within 10 s, which
     * ends the use of their memtables; and then what is unused is returned. */
    OPEN_SETTLE_MS = 2 * MEMORY_GUARD_CHECK_MS + 1000,
    TIMERS_LATE = 2000, /* retries whose lateness is measured, one by one */
    OTHERS_PER_SECOND_MAX = 100000,
    BURST_SHARE = 10, /* a tenth of the timers is due at once */
    ORDERS_MAX = 100000000,
    INSTANCES_MAX = 16,
    BROKERS_MAX = 8,
    RAW_STAGE = 2, /* the numbers of stages */
    ITEMS_STAGE = 3,
    TIMERS_STAGE = 4,
    STANDING_STAGE = TIMERS_STAGE + BENCH_TIMERS_COUNT
};

struct bench {
    struct cli *cli;
    int64_t orders;
    int64_t levels[BENCH_LEVELS_MAX]; /* orders in flight at a time */
    uint32_t level_count;
    int64_t alone;
    int64_t warm_up;
    int64_t standing[BENCH_STANDING_COUNT];
    int64_t grow;
    int64_t decide;
    int64_t items;
    int64_t timers[BENCH_TIMERS_COUNT];
    int64_t bursts;
    int64_t others_per_second;
    bool fold;
    bool raw;
    struct bench_stage raw_stage; /* its topics */
    struct bench_raw_sample sample;
    struct bench_stage_options stage;
    pid_t brokers[BROKERS_MAX];
    uint32_t broker_count;
    struct bench_report report;
};

/* ---- flags ---- */

static enum error_class add_broker(struct bench *bench, const char *text, struct error *ret_error)
{
    struct text rest = text_of(text);
    uint64_t pid = 0;
    if (!number_take(&rest, INT32_MAX, &pid) || pid == 0 ||
        (rest.size > 0 && rest.data[0] != '\n') || bench->broker_count == BROKERS_MAX)
        return error_set(ret_error, CODE_USAGE,
                         "--broker-pid %.20s: expected at most %d process ids", text, BROKERS_MAX);
    bench->brokers[bench->broker_count++] = (pid_t)pid;
    return ERROR_OK;
}

/* scripts/kafka writes DIR/node-1.pid and so on. */
static enum error_class add_broker_directory(struct bench *bench, const char *directory,
                                             struct error *ret_error)
{
    char pattern[PATH_MAX];
    glob_t found = {0};
    enum error_class class = ERROR_OK;
    snprintf(pattern, sizeof(pattern), "%s/node-*.pid", directory);
    if (glob(pattern, 0, NULL, &found) != 0)
        class = error_set(ret_error, CODE_USAGE,
                          "--kafka-dir %.200s: the directory has no node-N.pid", directory);
    for (size_t i = 0; i < found.gl_pathc && class == ERROR_OK; i++) {
        char *content = NULL;
        size_t size = 0;
        class = files_read(found.gl_pathv[i], 32, &content, &size, ret_error);
        if (class == ERROR_OK)
            class = add_broker(bench, content, ret_error);
        free(content);
    }
    globfree(&found);
    return class;
}

static enum error_class take_brokers(struct bench *bench, struct error *ret_error)
{
    const char *pid;
    const char *directory = cli_flag_value(bench->cli, "kafka-dir");
    enum error_class class = ERROR_OK;
    for (size_t index = 0;
         class == ERROR_OK && (pid = cli_flag_next(bench->cli, "broker-pid", &index)) != NULL;)
        class = add_broker(bench, pid, ret_error);
    return class == ERROR_OK && directory != NULL
               ? add_broker_directory(bench, directory, ret_error)
               : class;
}

static enum error_class take_levels(struct bench *bench, struct error *ret_error)
{
    const char *value;
    for (size_t index = 0; (value = cli_flag_next(bench->cli, "in-flight", &index)) != NULL;) {
        struct text rest = text_of(value);
        uint64_t level = 0;
        if (!number_take(&rest, IN_FLIGHT_MAX, &level) || level == 0 || rest.size > 0 ||
            bench->level_count == BENCH_LEVELS_MAX)
            return error_set(ret_error, CODE_USAGE,
                             "--in-flight %.20s: expected at most %d numbers from 1 to %d", value,
                             BENCH_LEVELS_MAX, IN_FLIGHT_MAX);
        bench->levels[bench->level_count++] = (int64_t)level;
    }
    if (bench->level_count == 0)
        bench->levels[bench->level_count++] = IN_FLIGHT;
    return ERROR_OK;
}

static enum error_class take_flags(struct bench *bench, struct error *ret_error)
{
    struct cli *cli = bench->cli;
    bench->fold = cli_flag_given(cli, "fold");
    bench->raw = cli_flag_given(cli, "raw");
    bool grows = cli_flag_given(cli, "grow");
    bool decides = cli_flag_given(cli, "decide");
    const struct {
        const char *name;
        int64_t fallback;
        int64_t min;
        int64_t max;
        int64_t *value;
    } numbers[] = {
        {"grow", 0, 0, ORDERS_MAX, &bench->grow},
        {"decide", 0, 0, ORDERS_MAX, &bench->decide},
        {"orders", grows || decides ? 0 : ORDERS, 0, ORDERS_MAX, &bench->orders},
        {"alone", bench->fold || grows || decides ? 0 : ALONE, 0, ORDERS_MAX, &bench->alone},
        {"warm-up", WARM_UP, 0, ORDERS_MAX, &bench->warm_up},
        {"open", bench->fold && !grows ? OPEN : 0, 0, ORDERS_MAX, &bench->standing[BENCH_IN_CALL]},
        {"waiting", 0, 0, ORDERS_MAX, &bench->standing[BENCH_IN_WAIT]},
        {"awaiting", 0, 0, ORDERS_MAX, &bench->standing[BENCH_IN_AWAIT]},
        {"fan-outs", 0, 0, ORDERS_MAX, &bench->standing[BENCH_IN_ITEMS]},
        {"items", 0, 0, SUBORDERS_MAX, &bench->items},
        {"timers", 0, 0, ORDERS_MAX, &bench->timers[BENCH_OF_RETRIES]},
        {"wait-timers", 0, 0, ORDERS_MAX, &bench->timers[BENCH_OF_WAITS]},
        {"bursts", 1, 1, BENCH_BURSTS_MAX, &bench->bursts},
        {"others-per-second", 0, 0, OTHERS_PER_SECOND_MAX, &bench->others_per_second},
        {"schedulers", 1, 1, INSTANCES_MAX, &bench->stage.schedulers},
        {"supervisors", 1, 1, INSTANCES_MAX, &bench->stage.supervisors},
    };
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        if (cli_flag_int(cli, numbers[i].name, numbers[i].fallback, numbers[i].min, numbers[i].max,
                         numbers[i].value, ret_error) != ERROR_OK)
            return ERROR_REJECT;
    }
    if (take_levels(bench, ret_error) != ERROR_OK)
        return ERROR_REJECT;
    if (cli_flag_given(cli, "json"))
        cli->output = CLI_OUTPUT_JSON;
    return take_brokers(bench, ret_error);
}

/* ---- measuring ---- */

static void add_own(const struct bench *bench, const char *name, struct bench_processes *processes)
{
    bench_processes_add(processes, name, getpid());
    for (uint32_t i = 0; i < bench->broker_count; i++)
        bench_processes_add(processes, "broker", bench->brokers[i]);
}

static void add_processes(const struct bench *bench, const struct bench_stage *stage,
                          struct bench_processes *processes)
{
    bench_stage_processes(stage, processes);
    add_own(bench, "load (this process)", processes);
}

static enum error_class warm_up(struct bench_load *load, int64_t orders, int64_t in_flight,
                                struct error *ret_error)
{
    struct bench_figures ignored;
    struct bench_round round = {.orders = (uint64_t)orders, .in_flight = (uint32_t)in_flight};
    return orders > 0 ? bench_load_run(load, &round, &ignored, ret_error) : ERROR_OK;
}

/* Runs the round; what the processes used and wrote meanwhile. */
static enum error_class measure(const struct bench *bench, struct bench_stage *stage,
                                struct bench_load *load, const struct bench_round *round,
                                struct bench_measured *measured, struct error *ret_error)
{
    struct bench_topics before;
    measured->in_flight = round->in_flight;
    add_processes(bench, stage, &measured->processes);
    enum error_class class = bench_stage_topics(stage, &before, ret_error);
    if (class == ERROR_OK)
        class = bench_requests_read(stage, true, &measured->processes, ret_error);
    if (class != ERROR_OK)
        return class;
    bench_processes_begin(&measured->processes);
    class = bench_load_run(load, round, &measured->figures, ret_error);
    bench_processes_end(&measured->processes);
    if (class == ERROR_OK)
        class = bench_requests_read(stage, false, &measured->processes, ret_error);
    if (class == ERROR_OK)
        class = bench_stage_topics(stage, &measured->topics, ret_error);
    for (uint32_t i = 0; i < measured->topics.count; i++)
        measured->topics.items[i].records -= before.items[i].records;
    return class;
}

/* The same number of orders through the bare chain, right after. The services are idle. */
static enum error_class measure_raw(struct bench *bench, struct bench_stage *stage,
                                    const struct bench_round *round, int64_t warm_up_orders,
                                    struct bench_measured *measured, struct error *ret_error)
{
    struct bench_raw *raw = NULL;
    struct bench_figures ignored;
    enum error_class class = ERROR_OK;
    if (!bench->raw)
        return ERROR_OK;
    if (bench->sample.values[0] == NULL)
        class = bench_raw_sample_take(&bench->raw_stage, stage, &bench->sample, ret_error);
    if (class == ERROR_OK)
        class = bench_raw_new(&bench->raw_stage, stage, &bench->sample, round->in_flight, &raw,
                              ret_error);
    if (class == ERROR_OK && warm_up_orders > 0) {
        struct bench_round first = {.orders = (uint64_t)warm_up_orders,
                                    .in_flight = round->in_flight};
        class = bench_raw_run(raw, &first, &ignored, ret_error);
    }
    if (class == ERROR_OK) {
        measured->in_flight = round->in_flight;
        add_own(bench, "raw chain (this process)", &measured->processes);
        bench_processes_begin(&measured->processes);
        class = bench_raw_run(raw, round, &measured->figures, ret_error);
        bench_processes_end(&measured->processes);
    }
    bench_raw_free(raw);
    return class;
}

static enum error_class measure_loads(struct bench *bench, struct bench_stage *stage,
                                      struct bench_load *load, struct error *ret_error)
{
    struct bench_report *report = &bench->report;
    enum error_class class = ERROR_OK;
    if (bench->orders == 0)
        return ERROR_OK;
    for (uint32_t i = 0; i < bench->level_count && class == ERROR_OK; i++) {
        struct bench_round round = {.orders = (uint64_t)bench->orders,
                                    .in_flight = (uint32_t)bench->levels[i],
                                    .what = "orders"};
        class = warm_up(load, bench->warm_up, bench->levels[i], ret_error);
        if (class == ERROR_OK)
            class = measure(bench, stage, load, &round, &report->loads[report->load_count++],
                            ret_error);
        if (class == ERROR_OK)
            class = measure_raw(bench, stage, &round, bench->warm_up, &report->raws[i], ret_error);
    }
    return class;
}

static enum error_class measure_alone(struct bench *bench, struct bench_stage *stage,
                                      struct bench_load *load, struct error *ret_error)
{
    struct bench_round round = {
        .orders = (uint64_t)bench->alone, .in_flight = 1, .what = "orders alone"};
    if (bench->alone == 0)
        return ERROR_OK;
    int64_t first = bench->warm_up > 0 ? ALONE_WARM_UP : 0;
    enum error_class class = warm_up(load, first, 1, ret_error);
    if (class == ERROR_OK)
        class = measure(bench, stage, load, &round, &bench->report.alone, ret_error);
    return class == ERROR_OK
               ? measure_raw(bench, stage, &round, first, &bench->report.raw_alone, ret_error)
               : class;
}

/* A tenth of the orders after the other: the log and the stores grow with their age. */
static enum error_class measure_growth(struct bench *bench, struct bench_stage *stage,
                                       struct bench_load *load, struct error *ret_error)
{
    struct bench_report *report = &bench->report;
    enum error_class class = ERROR_OK;
    int64_t left = bench->grow;
    for (int i = 0; left > 0 && i < BENCH_GROW_ROWS && class == ERROR_OK; i++) {
        int64_t rows_left = BENCH_GROW_ROWS - i;
        struct bench_round round = {.orders = (uint64_t)((left + rows_left - 1) / rows_left),
                                    .in_flight = (uint32_t)bench->levels[0],
                                    .what = "orders of a tenth"};
        left -= (int64_t)round.orders;
        class = measure(bench, stage, load, &round, &report->grown[i], ret_error);
        if (class == ERROR_OK && bench->fold)
            class = bench_fold(stage, false, &report->grown_foldings[i], ret_error);
        report->grown_count += class == ERROR_OK;
    }
    return class;
}

/* `ctx` is the workflow of all orders. */
static const char *same_workflow(void *ctx)
{
    return ctx;
}

/* What BENCH_DECIDING reads. */
static const char deciding_input[] =
    "{\"gift\":false,\"items\":[{\"quantity\":12,\"sku\":\"22961\"},{\"quantity\":32,\"sku\":"
    "\"84879\"}],\"total\":715.1,\"traveller\":{\"country\":\"AT\",\"email\":\"anna@example.org\"}"
    "}";

/* Of two turns, the second begins with what the first one ended with. */
static enum error_class measure_turns(struct bench *bench, struct bench_stage *stage,
                                      struct bench_load *load, struct error *ret_error)
{
    struct bench_report *report = &bench->report;
    struct bench_figures ignored;
    enum error_class class = ERROR_OK;
    for (int i = bench->warm_up > 0 ? -1 : 0; i < BENCH_TURNS && class == ERROR_OK; i++) {
        struct bench_turn *turn = i < 0 ? NULL : &report->turns[i];
        int64_t orders = i < 0 ? bench->warm_up : (bench->decide + BENCH_TURNS - 1) / BENCH_TURNS;
        struct bench_round round = {.orders = (uint64_t)orders,
                                    .in_flight = (uint32_t)bench->levels[0],
                                    .input = text_of(deciding_input),
                                    .ctx = BENCH_DECIDING,
                                    .what = i < 0 ? NULL : "orders of a turn"};
        for (int half = 0; half < 2 && class == ERROR_OK; half++) {
            bool decides = half != (i & 1);
            round.workflow = decides ? same_workflow : NULL;
            class = turn == NULL ? bench_load_run(load, &round, &ignored, ret_error)
                                 : measure(bench, stage, load, &round,
                                           decides ? &turn->deciding : &turn->plain, ret_error);
        }
        report->turn_count += turn != NULL && class == ERROR_OK;
    }
    return class;
}

static enum error_class measure_foldings(struct bench *bench, struct bench_stage *stage,
                                         struct error *ret_error)
{
    enum error_class class = ERROR_OK;
    if (!bench->fold)
        return ERROR_OK;
    bench_stage_stop_services(stage);
    for (int i = 0; i < BENCH_FOLDINGS && class == ERROR_OK; i++)
        class = bench_fold(stage, i == 1, &bench->report.foldings[i], ret_error);
    return class;
}

static enum error_class measure_speed(struct bench *bench, struct error *ret_error)
{
    struct bench_stage stage;
    struct bench_load *load = NULL;
    const struct bench_stage_options bare = {.bare = true};
    enum error_class class = bench_stage_open(bench->cli, &bench->stage, 1, &stage, ret_error);
    if (class == ERROR_OK && bench->raw)
        class = bench_stage_open(bench->cli, &bare, RAW_STAGE, &bench->raw_stage, ret_error);
    if (class == ERROR_OK)
        class = bench_load_new(&stage, &load, ret_error);
    if (class == ERROR_OK)
        class = measure_loads(bench, &stage, load, ret_error);
    if (class == ERROR_OK)
        class = measure_alone(bench, &stage, load, ret_error);
    if (class == ERROR_OK)
        class = measure_growth(bench, &stage, load, ret_error);
    if (class == ERROR_OK && bench->decide > 0)
        class = measure_turns(bench, &stage, load, ret_error);
    bench_load_free(load);
    if (class == ERROR_OK)
        class = measure_foldings(bench, &stage, ret_error);
    if (bench->raw)
        bench_stage_close(&bench->raw_stage);
    bench_raw_sample_deinit(&bench->sample);
    bench_stage_close(&stage);
    return class;
}

static bool never(void *ctx)
{
    (void)ctx;
    return false;
}

/* The orders of the round are left as they are. */
static enum error_class measure_standing(struct bench *bench, int number,
                                         const struct bench_round *round,
                                         struct bench_standing *standing, struct error *ret_error)
{
    struct bench_stage stage;
    struct bench_load *load = NULL;
    struct bench_stage_options options = bench->stage;
    options.silent = true;
    enum error_class class = bench_stage_open(bench->cli, &options, number, &stage, ret_error);
    if (class == ERROR_OK)
        class = bench_load_new(&stage, &load, ret_error);
    if (class == ERROR_OK) {
        add_processes(bench, &stage, &standing->processes);
        bench_processes_begin(&standing->processes);
        class = bench_load_run(load, round, &standing->figures, ret_error);
    }
    if (class == ERROR_OK) {
        struct error silence;
        bench_stage_wait(&stage, never, NULL, OPEN_SETTLE_MS, &silence);
    }
    bench_processes_end(&standing->processes);
    if (class == ERROR_OK)
        bench_stage_stores(&stage, &standing->processes);
    bench_load_free(load);
    if (class == ERROR_OK && bench->fold) {
        bench_stage_stop_services(&stage);
        class = bench_fold(&stage, false, &standing->folding, ret_error);
    }
    bench_stage_close(&stage);
    return class;
}

static enum error_class measure_orders_left(struct bench *bench, struct error *ret_error)
{
    static const struct {
        char *workflow;
        const char *what;
    } kinds[BENCH_STANDING_COUNT] = {[BENCH_IN_CALL] = {BENCH_WORKFLOW, "open orders"},
                                     [BENCH_IN_WAIT] = {BENCH_WAITING, "orders in a Wait"},
                                     [BENCH_IN_AWAIT] = {BENCH_AWAITING, "orders in an Await"},
                                     [BENCH_IN_ITEMS] = {BENCH_FAN_OUT, "orders of 1,000 items"}};
    char *items = bench_items_input(SUBORDERS_MAX);
    enum error_class class = ERROR_OK;
    for (int i = 0; i < BENCH_STANDING_COUNT && class == ERROR_OK; i++) {
        struct bench_round round = {.orders = (uint64_t)bench->standing[i],
                                    .in_flight = OPEN_IN_FLIGHT,
                                    .goal = BENCH_RECEIVED,
                                    .workflow = same_workflow,
                                    .ctx = kinds[i].workflow,
                                    .input = text_of(i == BENCH_IN_ITEMS ? items : ""),
                                    .what = kinds[i].what};
        if (round.orders > 0)
            class = measure_standing(bench, STANDING_STAGE + i, &round, &bench->report.standing[i],
                                     ret_error);
    }
    free(items);
    return class;
}

static enum error_class measure_waiting(struct bench *bench, struct bench_timers *timers,
                                        uint64_t orders, struct bench_timing *timing,
                                        struct error *ret_error)
{
    uint64_t burst = (orders + BURST_SHARE - 1) / BURST_SHARE;
    uint64_t late = orders < TIMERS_LATE ? orders : TIMERS_LATE;
    bench_processes_begin(&timing->waiting.processes);
    enum error_class class = bench_timers_add(timers, orders, &timing->waiting.figures, ret_error);
    bench_processes_end(&timing->waiting.processes);
    if (class == ERROR_OK)
        class = bench_timers_measure(timers, late, &timing->late, ret_error);
    for (int64_t i = 0; i < bench->bursts && class == ERROR_OK; i++)
        class =
            bench_timers_burst(timers, burst, &timing->bursts[timing->burst_count++], ret_error);
    return class;
}

static enum error_class measure_timers(struct bench *bench, enum bench_timer_kind kind,
                                       struct error *ret_error)
{
    struct bench_timing *timing = &bench->report.timers[kind];
    struct bench_stage stage;
    struct bench_load *load = NULL;
    struct bench_timers *timers = NULL;
    struct bench_stage_options options = bench->stage;
    options.refuser = kind == BENCH_OF_RETRIES;
    enum error_class class =
        bench_stage_open(bench->cli, &options, TIMERS_STAGE + (int)kind, &stage, ret_error);
    if (class == ERROR_OK)
        class = bench_load_new(&stage, &load, ret_error);
    if (class == ERROR_OK)
        class = warm_up(load, bench->warm_up, bench->levels[0], ret_error);
    if (class == ERROR_OK)
        class = bench_timers_new(&stage, load, kind == BENCH_OF_WAITS,
                                 (uint32_t)bench->others_per_second, &timers, ret_error);
    if (class == ERROR_OK) {
        add_processes(bench, &stage, &timing->waiting.processes);
        class = measure_waiting(bench, timers, (uint64_t)bench->timers[kind], timing, ret_error);
    }
    bench_timers_free(timers);
    bench_load_free(load);
    bench_stage_close(&stage);
    return class;
}

/* An order of many items, against as many orders, and what other orders notice of it. */
static enum error_class measure_items(struct bench *bench, struct error *ret_error)
{
    struct bench_stage stage;
    struct bench_load *load = NULL;
    struct bench_report *report = &bench->report;
    enum error_class class =
        bench_stage_open(bench->cli, &bench->stage, ITEMS_STAGE, &stage, ret_error);
    if (class == ERROR_OK)
        class = bench_load_new(&stage, &load, ret_error);
    if (class == ERROR_OK)
        class = warm_up(load, bench->warm_up, bench->levels[0], ret_error);
    if (class == ERROR_OK)
        class = bench_items(&stage, load, (uint32_t)bench->items,
                            (uint32_t)bench->others_per_second, report->items, ret_error);
    if (class == ERROR_OK)
        report->item_count = (uint32_t)bench->items;
    bench_load_free(load);
    bench_stage_close(&stage);
    return class;
}

static int run(struct cli *cli)
{
    struct error error = {0};
    struct bench *bench = calloc(1, sizeof(*bench));
    assert(bench != NULL);
    bench->cli = cli;
    enum error_class class = take_flags(bench, &error);
    bench->report.partitions = (int32_t)config_int(cli->config, "partitions");
    bench->report.schedulers = bench->stage.schedulers;
    bench->report.supervisors = bench->stage.supervisors;
    if (class == ERROR_OK &&
        (bench->orders > 0 || bench->alone > 0 || bench->grow > 0 || bench->decide > 0))
        class = measure_speed(bench, &error);
    if (class == ERROR_OK)
        class = measure_orders_left(bench, &error);
    if (class == ERROR_OK && bench->items > 0)
        class = measure_items(bench, &error);
    for (int i = 0; i < BENCH_TIMERS_COUNT && class == ERROR_OK; i++) {
        if (bench->timers[i] > 0)
            class = measure_timers(bench, (enum bench_timer_kind)i, &error);
    }
    int code = EXIT_CODE_OK;
    if (class != ERROR_OK)
        code = cli_fail(cli, &error);
    else if (cli->output == CLI_OUTPUT_TABLE)
        bench_report_print(&bench->report, cli->out);
    else
        bench_report_json(&bench->report, cli->out);
    free(bench);
    return code;
}

static const struct cli_flag flags[] = {
    {"orders", "N", "Orders of the measurement under load; 40000 by default, 0 = none."},
    {"in-flight", "N",
     "How many of them are in flight at a time; 1000 by default. May be repeated: each number is "
     "measured in turn, by the same processes."},
    {"alone", "N", "Orders measured one after the other; 300 by default, 0 with --fold."},
    {"warm-up", "N", "Orders before the measured ones; 5000 by default."},
    {"grow", "N",
     "Finishes that many orders, and measures each tenth of them: rate, CPU and memory as the log "
     "grows; with --fold also how long a fresh store takes to replay it. Then --orders and --alone "
     "are 0 by default."},
    {"decide", "N",
     "Compares N orders of a workflow with a condition and a mapping at each of its three steps "
     "with N of one without, a seventh of each in turn, and prints the medians. Then --orders and "
     "--alone are 0 by default."},
    {"fold", NULL,
     "Also replays each log into fresh stores, and measures the memory of open orders."},
    {"open", "N",
     "Orders that are open while the memory and the store of each process are measured; 100000 "
     "with --fold, otherwise none."},
    {"waiting", "N", "The same of orders that stand in a Wait, hours before its moment."},
    {"awaiting", "N", "The same of orders that stand in an Await: an approval that no one gives."},
    {"fan-outs", "N",
     "The same of orders of 1,000 items each, whose agent never answers; figures of an order are "
     "of it and its items."},
    {"items", "N",
     "Compares an order with a ForEach over N items of one step, at most 1000, with N orders of "
     "that step, in seven turns, and what orders of three steps notice of it, and of an order "
     "whose N items are undone; prints the medians. By default none."},
    {"timers", "N",
     "Also has that many orders wait for a retry that is hours away, and measures how late others "
     "are retried meanwhile, then a tenth of N that are due in the same second, and what orders "
     "without a wait notice of them. By default none."},
    {"wait-timers", "N", "The same of orders that stand in a Wait. By default none."},
    {"bursts", "N",
     "With --timers and --wait-timers: measures the tenth that is due in the same second that many "
     "times, and prints "
     "the median of each figure; 1 by default, at most 100."},
    {"others-per-second", "N",
     "With --timers, --wait-timers and --items: submits that many of the other orders each second, "
     "instead of "
     "keeping 20 in flight."},
    {"schedulers", "N", "The number of schedulers; 1 by default."},
    {"supervisors", "N", "The number of supervisors; 1 by default."},
    {"raw", NULL,
     "Also sends the same records through as many topics with nothing but Kafka clients, right "
     "after each measurement, to compare with."},
    {"broker-pid", "PID", "Also measures the process of a broker. May be repeated."},
    {"kafka-dir", "DIR", "Also measures the brokers that `scripts/kafka --dir DIR` started."},
    {"json", NULL, "The same as --output json."},
    {NULL, NULL, NULL},
};

static const struct cli_verb verbs[] = {
    {
        .summary =
            "Measures orders/s, latency, records, requests, CPU and memory with services of its "
            "own.",
        .examples = "# topics and services of its own, deleted afterwards\n"
                    "reeve bench --kafka-bootstrap-servers 127.0.0.1:9092\n"
                    "# with the CPU and memory of the broker\n"
                    "scripts/kafka start --dir /tmp/k\n"
                    "reeve bench --kafka-bootstrap-servers $(cat /tmp/k/bootstrap) --kafka-dir "
                    "/tmp/k\n"
                    "# more and more load\n"
                    "reeve bench --in-flight 1000 --in-flight 2000 --in-flight 5000\n"
                    "# replay, and memory with 100,000 open orders\n"
                    "reeve bench --fold --orders 100000\n"
                    "# memory and stores with a million orders in a Wait, then in an Await\n"
                    "reeve bench --orders 0 --alone 0 --waiting 1000000 --awaiting 1000000 --fold "
                    "--open 0\n"
                    "# whether it becomes slower with its age\n"
                    "reeve bench --grow 1000000 --fold\n"
                    "# what conditions and mappings cost\n"
                    "reeve bench --decide 100000\n"
                    "# an order of 1,000 items, while 500 other orders a second arrive\n"
                    "reeve bench --orders 0 --alone 0 --items 1000 --others-per-second 500\n"
                    "# a million orders that wait, and 100,000 that are due at once\n"
                    "reeve bench --orders 0 --alone 0 --timers 1000000\n"
                    "# retries compared with Waits\n"
                    "reeve bench --orders 0 --alone 0 --timers 100000 --wait-timers 100000\n"
                    "# 10,000 that are due at once while 500 other orders a second arrive\n"
                    "reeve bench --orders 0 --alone 0 --timers 100000 --others-per-second 500\n"
                    "# the medians of ten such bursts\n"
                    "reeve bench --orders 0 --alone 0 --timers 100000 --bursts 10 "
                    "--others-per-second 500\n"
                    "# how much of what the brokers allow\n"
                    "reeve bench --raw --kafka-dir /tmp/k",
        .flags = flags,
        .run = run,
    },
};

const struct cli_noun tools_bench = {"bench", "How fast reeve is on this machine.", verbs,
                                     sizeof(verbs) / sizeof(verbs[0])};
