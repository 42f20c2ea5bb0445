/* SPDX-License-Identifier: Apache-2.0 */
/* See report.h. */
#include "tools/bench/report.h"

#include <inttypes.h>
#include <jansson.h>
#include <string.h>
#include <unistd.h>

static const char *const folder_names[BENCH_FOLDINGS] = {"scheduler", "supervisor"};

static const struct {
    const char *accepted;
    const char *folded;
    const char *title;
    const char *key;
    const char *folding_key;
} standing_names[BENCH_STANDING_COUNT] = {
    [BENCH_IN_CALL] = {"  accepted, left open", "scheduler, open orders", "OPEN ORDERS", "open",
                       "open_orders"},
    [BENCH_IN_WAIT] = {"  accepted, in a Wait", "scheduler, in a Wait", "ORDERS IN A WAIT",
                       "waiting", "waiting_orders"},
    [BENCH_IN_AWAIT] = {"  accepted, in an Await", "scheduler, in an Await", "ORDERS IN AN AWAIT",
                        "awaiting", "awaiting_orders"},
    [BENCH_IN_ITEMS] = {"  accepted, of items", "scheduler, of items", "ORDERS OF 1,000 ITEMS",
                        "fan_outs", "fan_outs"},
};

static const struct {
    const char *title;
    const char *late;
    const char *key;
} timer_names[BENCH_TIMERS_COUNT] = {
    [BENCH_OF_RETRIES] = {"TIMERS", "  lateness of retries", "timers"},
    [BENCH_OF_WAITS] = {"TIMERS OF WAITS", "  lateness of Waits", "wait_timers"},
};

static double ms(int64_t us)
{
    return (double)us / 1e3;
}

static double mb(int64_t bytes)
{
    return (double)bytes / (1 << 20);
}

static double per_order(int64_t number, const struct bench_figures *figures)
{
    return (double)number / (double)figures->orders;
}

static double records_per_cpu_second(const struct bench_folding *folding)
{
    return folding->cpu_seconds > 0 ? (double)folding->records / folding->cpu_seconds : 0;
}

/* ---- tables ---- */

static void print_figures(FILE *out, const char *what, const struct bench_figures *figures)
{
    fprintf(out, "%-24s %9" PRIu64 " %9.2f %9.0f %9.2f %9.2f %9.2f %9.2f\n", what, figures->orders,
            figures->seconds, (double)figures->orders / figures->seconds, ms(figures->p50_us),
            ms(figures->p90_us), ms(figures->p99_us), ms(figures->max_us));
}

/* Of a process whose requests are not known: blanks. */
static void print_requests(FILE *out, const struct bench_process *process,
                           const struct bench_figures *figures)
{
    if (process->sends)
        fprintf(out, " %9.2f %9.2f", per_order(process->produce_requests, figures),
                per_order(process->fetch_requests, figures));
    else
        fprintf(out, " %9s %9s", "", "");
}

static void print_process(FILE *out, const struct bench_process *process,
                          const struct bench_figures *figures)
{
    fprintf(out, "  %-22s %9.2f %9.1f %9.2f", process->name, (double)process->cpu_us / 1e6,
            per_order(process->cpu_us, figures), per_order(process->wakeups, figures));
    print_requests(out, process, figures);
}

/* What all of them used. */
static struct bench_process sum_of(const struct bench_processes *processes)
{
    struct bench_process sum = {.name = "together"};
    for (uint32_t i = 0; i < processes->count; i++) {
        const struct bench_process *process = &processes->items[i];
        sum.cpu_us += process->cpu_us;
        sum.wakeups += process->wakeups;
        sum.produce_requests += process->produce_requests;
        sum.fetch_requests += process->fetch_requests;
        sum.sends = sum.sends || process->sends;
    }
    return sum;
}

static void print_processes(FILE *out, const char *what, const struct bench_processes *processes,
                            const struct bench_figures *figures)
{
    const struct bench_process sum = sum_of(processes);
    fprintf(out, "\n%-24s %9s %9s %9s %9s %9s %9s %9s\n", what, "CPU s", "us/order", "wakeups/o",
            "produce/o", "fetch/o", "RSS MB", "peak MB");
    for (uint32_t i = 0; i < processes->count; i++) {
        const struct bench_process *process = &processes->items[i];
        print_process(out, process, figures);
        fprintf(out, " %9.1f %9.1f\n", mb(process->rss_bytes), mb(process->rss_peak_bytes));
    }
    print_process(out, &sum, figures);
    fprintf(out, "\n");
}

static void print_topics(FILE *out, const struct bench_measured *measured)
{
    int64_t records = 0;
    fprintf(out, "\n%-24s %9s %9s\n", "RECORDS WRITTEN", "records", "per order");
    for (uint32_t i = 0; i < measured->topics.count; i++) {
        const struct bench_topic *topic = &measured->topics.items[i];
        records += topic->records;
        if (topic->records > 0)
            fprintf(out, "  %-22s %9" PRId64 " %9.2f\n", topic->name, topic->records,
                    per_order(topic->records, &measured->figures));
    }
    fprintf(out, "  %-22s %9" PRId64 " %9.2f\n", "together", records,
            per_order(records, &measured->figures));
}

static void print_measured(FILE *out, const struct bench_measured *measured)
{
    if (measured->figures.orders == 0)
        return;
    fprintf(out, "\n%" PRId64 " IN FLIGHT\n", measured->in_flight);
    print_topics(out, measured);
    print_processes(out, "PROCESSES", &measured->processes, &measured->figures);
}

static double cpu_us_per_order(const struct bench_measured *measured)
{
    return per_order(sum_of(&measured->processes).cpu_us, &measured->figures);
}

/* Of the CPU time of an order, the part that the raw chain takes as well; 0: not known. */
static double raw_share(const struct bench_measured *ours, const struct bench_measured *raw)
{
    double cpu_us = cpu_us_per_order(ours);
    return cpu_us > 0 ? cpu_us_per_order(raw) / cpu_us : 0;
}

static void print_raw(FILE *out, const char *what, const struct bench_measured *ours,
                      const struct bench_measured *raw)
{
    fprintf(out, "%-24s %9.0f %9.0f %9.1f %9.1f %9.2f %9.2f %9.2f %9.2f %9.2f\n", what,
            (double)ours->figures.orders / ours->figures.seconds,
            (double)raw->figures.orders / raw->figures.seconds, cpu_us_per_order(ours),
            cpu_us_per_order(raw), raw_share(ours, raw), ms(ours->figures.p50_us),
            ms(raw->figures.p50_us), ms(ours->figures.p99_us), ms(raw->figures.p99_us));
}

static void print_raws(FILE *out, const struct bench_report *report)
{
    char what[64];
    fprintf(out, "\n%-24s %9s %9s %9s %9s %9s %9s %9s %9s %9s\n", "COMPARED WITH RAW", "orders/s",
            "raw", "us/order", "raw", "raw/ours", "p50 ms", "raw", "p99 ms", "raw");
    for (uint32_t i = 0; i < report->load_count; i++) {
        snprintf(what, sizeof(what), "  %" PRId64 " in flight", report->loads[i].in_flight);
        if (report->raws[i].figures.orders > 0)
            print_raw(out, what, &report->loads[i], &report->raws[i]);
    }
    if (report->raw_alone.figures.orders > 0)
        print_raw(out, "  alone", &report->alone, &report->raw_alone);
}

static bool has_raws(const struct bench_report *report)
{
    return report->raws[0].figures.orders > 0 || report->raw_alone.figures.orders > 0;
}

/* The memory of each process stands in a column of its own. */
static void print_grown(FILE *out, const struct bench_report *report)
{
    uint64_t finished = 0;
    const struct bench_processes *first = &report->grown[0].processes;
    fprintf(out, "\n%-24s %9s %9s %9s %9s", "GROWING", "orders/s", "us/order", "p99 ms", "fold s");
    for (uint32_t i = 0; i < first->count; i++)
        fprintf(out, " %12.12s", first->items[i].name);
    fprintf(out, "\n");
    for (uint32_t row = 0; row < report->grown_count; row++) {
        const struct bench_measured *grown = &report->grown[row];
        finished += grown->figures.orders;
        fprintf(out, "  %-22" PRIu64 " %9.0f %9.1f %9.2f", finished,
                (double)grown->figures.orders / grown->figures.seconds, cpu_us_per_order(grown),
                ms(grown->figures.p99_us));
        if (report->grown_foldings[row].records > 0)
            fprintf(out, " %9.2f", report->grown_foldings[row].seconds);
        else
            fprintf(out, " %9s", "");
        for (uint32_t i = 0; i < grown->processes.count; i++)
            fprintf(out, " %9.1f MB", mb(grown->processes.items[i].rss_bytes));
        fprintf(out, "\n");
    }
}

/* ---- orders that decide ---- */

struct turns_medians {
    double per_second;
    double cpu_us;
    double p50_ms;
    double p99_ms;
};

static double rate(const struct bench_figures *figures)
{
    return (double)figures->orders / figures->seconds;
}

static struct turns_medians medians_of(const struct bench_report *report, bool deciding)
{
    double per_second[BENCH_TURNS], cpu_us[BENCH_TURNS], p50[BENCH_TURNS], p99[BENCH_TURNS];
    for (uint32_t i = 0; i < report->turn_count; i++) {
        const struct bench_measured *measured =
            deciding ? &report->turns[i].deciding : &report->turns[i].plain;
        per_second[i] = rate(&measured->figures);
        cpu_us[i] = cpu_us_per_order(measured);
        p50[i] = ms(measured->figures.p50_us);
        p99[i] = ms(measured->figures.p99_us);
    }
    return (struct turns_medians){.per_second = bench_median(per_second, report->turn_count),
                                  .cpu_us = bench_median(cpu_us, report->turn_count),
                                  .p50_ms = bench_median(p50, report->turn_count),
                                  .p99_ms = bench_median(p99, report->turn_count)};
}

/* The median of the rates of the orders that decide, each as a part of the rate of its turn. */
static double rate_share(const struct bench_report *report)
{
    double shares[BENCH_TURNS];
    for (uint32_t i = 0; i < report->turn_count; i++)
        shares[i] =
            rate(&report->turns[i].deciding.figures) / rate(&report->turns[i].plain.figures);
    return bench_median(shares, report->turn_count);
}

static void print_turns(FILE *out, const struct bench_report *report)
{
    static const char *const names[] = {"  without", "  deciding"};
    fprintf(out, "\n%-24s %9s %9s %9s %9s\n", "CONDITIONS AND MAPPINGS", "orders/s", "us/order",
            "p50 ms", "p99 ms");
    for (int i = 0; i < 2; i++) {
        struct turns_medians medians = medians_of(report, i == 1);
        fprintf(out, "%-24s %9.0f %9.1f %9.2f %9.2f\n", names[i], medians.per_second,
                medians.cpu_us, medians.p50_ms, medians.p99_ms);
    }
    fprintf(out, "%-24s %9.2f\n", "  deciding : without", rate_share(report));
}

/* ---- orders of many items ---- */

struct items_medians {
    double separate_per_second; /* items, as orders of their own */
    double items_per_second;    /* of one order */
    double rate_share;          /* the second as a part of the first, of the same turn */
    double p99_before_ms;       /* of other orders */
    double p99_during_ms;
    double p99_recall_ms;
    double p99_ratio;        /* during : before, of the same turn */
    double p99_recall_ratio; /* recall : before */
    double undone_ms;        /* from the cancel until all items are undone, and the order */
};

static struct items_medians items_medians_of(const struct bench_report *report)
{
    double separate[BENCH_ITEMS_TURNS], items[BENCH_ITEMS_TURNS], share[BENCH_ITEMS_TURNS],
        before[BENCH_ITEMS_TURNS], during[BENCH_ITEMS_TURNS], recall[BENCH_ITEMS_TURNS],
        ratio[BENCH_ITEMS_TURNS], recall_ratio[BENCH_ITEMS_TURNS], undone[BENCH_ITEMS_TURNS];
    for (int i = 0; i < BENCH_ITEMS_TURNS; i++) {
        const struct bench_items_turn *turn = &report->items[i];
        separate[i] = rate(&turn->separate);
        items[i] = report->item_count * 1e6 / (double)turn->alone_us;
        share[i] = items[i] / separate[i];
        before[i] = ms(turn->before.p99_us);
        during[i] = ms(turn->during.p99_us);
        recall[i] = ms(turn->recall.p99_us);
        ratio[i] = during[i] / before[i];
        recall_ratio[i] = recall[i] / before[i];
        undone[i] = ms(turn->recall.leader_us);
    }
    return (struct items_medians){
        bench_median(separate, BENCH_ITEMS_TURNS), bench_median(items, BENCH_ITEMS_TURNS),
        bench_median(share, BENCH_ITEMS_TURNS),    bench_median(before, BENCH_ITEMS_TURNS),
        bench_median(during, BENCH_ITEMS_TURNS),   bench_median(recall, BENCH_ITEMS_TURNS),
        bench_median(ratio, BENCH_ITEMS_TURNS),    bench_median(recall_ratio, BENCH_ITEMS_TURNS),
        bench_median(undone, BENCH_ITEMS_TURNS)};
}

static void print_items(FILE *out, const struct bench_report *report)
{
    const struct items_medians medians = items_medians_of(report);
    char what[64];
    snprintf(what, sizeof(what), "%" PRIu32 " ITEMS OF ONE STEP", report->item_count);
    fprintf(out, "\n%-24s %9s\n", what, "items/s");
    fprintf(out, "%-24s %9.0f\n", "  separate orders", medians.separate_per_second);
    fprintf(out, "%-24s %9.0f\n", "  one order", medians.items_per_second);
    fprintf(out, "%-24s %9.2f\n", "  one : separate", medians.rate_share);
    fprintf(out, "\n%-24s %9s\n", "OTHER ORDERS", "p99 ms");
    fprintf(out, "%-24s %9.2f\n", "  before", medians.p99_before_ms);
    fprintf(out, "%-24s %9.2f\n", "  while the items run", medians.p99_during_ms);
    fprintf(out, "%-24s %9.2f\n", "  then : before", medians.p99_ratio);
    fprintf(out, "%-24s %9.2f\n", "  while they are undone", medians.p99_recall_ms);
    fprintf(out, "%-24s %9.2f\n", "  then : before", medians.p99_recall_ratio);
    fprintf(out, "%-24s %9.2f\n", "undone after, ms", medians.undone_ms);
}

static void print_folding(FILE *out, const char *what, const struct bench_folding *folding)
{
    if (folding->records > 0)
        fprintf(out, "  %-22s %9" PRIu64 " %9.2f %9.2f %12.0f %12.0f\n", what, folding->records,
                folding->seconds, folding->cpu_seconds, (double)folding->records / folding->seconds,
                records_per_cpu_second(folding));
}

static void print_foldings(FILE *out, const struct bench_report *report)
{
    fprintf(out, "\n%-24s %9s %9s %9s %12s %12s\n", "FOLDING", "records", "s", "CPU s", "records/s",
            "per core");
    for (int i = 0; i < BENCH_FOLDINGS; i++)
        print_folding(out, folder_names[i], &report->foldings[i]);
    for (int i = 0; i < BENCH_STANDING_COUNT; i++)
        print_folding(out, standing_names[i].folded, &report->standing[i].folding);
}

static bool has_foldings(const struct bench_report *report)
{
    bool has = report->foldings[0].records > 0;
    for (int i = 0; i < BENCH_STANDING_COUNT; i++)
        has = has || report->standing[i].folding.records > 0;
    return has;
}

static void print_standing(FILE *out, const char *what, const struct bench_standing *standing)
{
    char title[64];
    if (standing->figures.orders == 0)
        return;
    snprintf(title, sizeof(title), "%" PRIu64 " %s", standing->figures.orders, what);
    print_processes(out, title, &standing->processes, &standing->figures);
    fprintf(out, "\n%-24s %9s %9s\n", "STORES", "MB", "B/order");
    for (uint32_t i = 0; i < standing->processes.count; i++) {
        const struct bench_process *process = &standing->processes.items[i];
        if (process->stored_bytes > 0)
            fprintf(out, "  %-22s %9.1f %9.0f\n", process->name, mb((int64_t)process->stored_bytes),
                    per_order((int64_t)process->stored_bytes, &standing->figures));
    }
}

static void print_timers(FILE *out, enum bench_timer_kind kind, const struct bench_timing *timing)
{
    if (timing->waiting.figures.orders == 0)
        return;
    const struct bench_burst burst = bench_burst_median(timing->bursts, timing->burst_count);
    char what[64];
    snprintf(what, sizeof(what), "%" PRIu64 " %s", timing->waiting.figures.orders,
             timer_names[kind].title);
    fprintf(out, "\n%-24s %9s %9s %9s %9s %9s %9s %9s\n", what, "orders", "s", "orders/s", "p50 ms",
            "p90 ms", "p99 ms", "max ms");
    print_figures(out, "  orders that wait", &timing->waiting.figures);
    print_figures(out, timer_names[kind].late, &timing->late);
    if (timing->burst_count > 1)
        fprintf(out, "  medians of %" PRIu32 " bursts:\n", timing->burst_count);
    snprintf(what, sizeof(what), "  due within %.1f s", burst.due_seconds);
    print_figures(out, what, &burst.late);
    print_figures(out, "  other orders before", &burst.before);
    print_figures(out, "  other orders then", &burst.during);
    print_processes(out, "WHILE THEY WERE ADDED", &timing->waiting.processes,
                    &timing->waiting.figures);
}

void bench_report_print(const struct bench_report *report, FILE *out)
{
    char what[64];
    fprintf(out,
            "%ld cores, %" PRId32 " partitions, %" PRId64 " scheduler(s), %" PRId64
            " supervisor(s); three no-op steps\n\n",
            sysconf(_SC_NPROCESSORS_ONLN), report->partitions, report->schedulers,
            report->supervisors);
    fprintf(out, "%-24s %9s %9s %9s %9s %9s %9s %9s\n", "ORDERS", "orders", "s", "orders/s",
            "p50 ms", "p90 ms", "p99 ms", "max ms");
    for (uint32_t i = 0; i < report->load_count; i++) {
        snprintf(what, sizeof(what), "  %" PRId64 " in flight", report->loads[i].in_flight);
        print_figures(out, what, &report->loads[i].figures);
    }
    if (report->alone.figures.orders > 0)
        print_figures(out, "  alone", &report->alone.figures);
    for (int i = 0; i < BENCH_STANDING_COUNT; i++) {
        if (report->standing[i].figures.orders > 0)
            print_figures(out, standing_names[i].accepted, &report->standing[i].figures);
    }
    for (uint32_t i = 0; i < report->load_count; i++)
        print_measured(out, &report->loads[i]);
    print_measured(out, &report->alone);
    if (has_raws(report))
        print_raws(out, report);
    if (report->grown_count > 0)
        print_grown(out, report);
    if (report->turn_count > 0)
        print_turns(out, report);
    if (report->item_count > 0)
        print_items(out, report);
    if (has_foldings(report))
        print_foldings(out, report);
    for (int i = 0; i < BENCH_STANDING_COUNT; i++)
        print_standing(out, standing_names[i].title, &report->standing[i]);
    for (int i = 0; i < BENCH_TIMERS_COUNT; i++)
        print_timers(out, (enum bench_timer_kind)i, &report->timers[i]);
}

/* ---- JSON ---- */

static json_t *process_json(const struct bench_process *process,
                            const struct bench_figures *figures)
{
    json_t *object = json_pack(
        "{s:s, s:f, s:f, s:f, s:I, s:I}", "name", process->name, "cpu_seconds",
        (double)process->cpu_us / 1e6, "cpu_us_per_order", per_order(process->cpu_us, figures),
        "wakeups_per_order", per_order(process->wakeups, figures), "rss_bytes",
        (json_int_t)process->rss_bytes, "rss_peak_bytes", (json_int_t)process->rss_peak_bytes);
    if (process->stored_bytes > 0)
        json_object_set_new(object, "stored_bytes",
                            json_integer((json_int_t)process->stored_bytes));
    if (process->sends) {
        json_object_set_new(object, "produce_requests_per_order",
                            json_real(per_order(process->produce_requests, figures)));
        json_object_set_new(object, "fetch_requests_per_order",
                            json_real(per_order(process->fetch_requests, figures)));
    }
    return object;
}

static json_t *figures_alone_json(const struct bench_figures *figures)
{
    return json_pack("{s:I, s:f, s:f, s:f, s:f, s:f, s:f}", "orders", (json_int_t)figures->orders,
                     "seconds", figures->seconds, "orders_per_second",
                     (double)figures->orders / figures->seconds, "p50_ms", ms(figures->p50_us),
                     "p90_ms", ms(figures->p90_us), "p99_ms", ms(figures->p99_us), "max_ms",
                     ms(figures->max_us));
}

static json_t *figures_json(const struct bench_figures *figures,
                            const struct bench_processes *processes)
{
    json_t *object = figures_alone_json(figures);
    json_t *list = json_array();
    for (uint32_t i = 0; i < processes->count; i++)
        json_array_append_new(list, process_json(&processes->items[i], figures));
    json_object_set_new(object, "processes", list);
    return object;
}

static json_t *burst_json(const struct bench_burst *burst)
{
    return json_pack("{s:o, s:f, s:o, s:o}", "burst", figures_alone_json(&burst->late),
                     "burst_due_seconds", burst->due_seconds, "others_before",
                     figures_alone_json(&burst->before), "others_during",
                     figures_alone_json(&burst->during));
}

static json_t *timers_json(const struct bench_timing *timing)
{
    const struct bench_burst burst = bench_burst_median(timing->bursts, timing->burst_count);
    json_t *object = burst_json(&burst);
    json_t *bursts = json_array();
    for (uint32_t i = 0; i < timing->burst_count; i++)
        json_array_append_new(bursts, burst_json(&timing->bursts[i]));
    json_object_set_new(object, "bursts", bursts);
    json_object_set_new(object, "waiting",
                        figures_json(&timing->waiting.figures, &timing->waiting.processes));
    json_object_set_new(object, "late", figures_alone_json(&timing->late));
    return object;
}

static json_t *measured_json(const struct bench_measured *measured)
{
    json_t *records = json_object();
    json_t *object = figures_json(&measured->figures, &measured->processes);
    for (uint32_t i = 0; i < measured->topics.count; i++)
        json_object_set_new(records, measured->topics.items[i].name,
                            json_integer(measured->topics.items[i].records));
    json_object_set_new(object, "in_flight", json_integer(measured->in_flight));
    json_object_set_new(object, "cpu_us_per_order", json_real(cpu_us_per_order(measured)));
    json_object_set_new(object, "records", records);
    return object;
}

/* With "raw", and what of the CPU time that chain takes as well. */
static json_t *compared_json(const struct bench_measured *ours, const struct bench_measured *raw)
{
    json_t *object = measured_json(ours);
    if (raw->figures.orders == 0)
        return object;
    json_object_set_new(object, "raw", measured_json(raw));
    json_object_set_new(object, "raw_share_of_cpu", json_real(raw_share(ours, raw)));
    return object;
}

static json_t *folding_json(const struct bench_folding *folding)
{
    return json_pack("{s:I, s:f, s:f, s:f, s:f}", "records", (json_int_t)folding->records,
                     "seconds", folding->seconds, "cpu_seconds", folding->cpu_seconds,
                     "records_per_second", (double)folding->records / folding->seconds,
                     "records_per_cpu_second", records_per_cpu_second(folding));
}

static json_t *foldings_json(const struct bench_report *report)
{
    json_t *foldings = json_object();
    for (int i = 0; i < BENCH_FOLDINGS; i++) {
        if (report->foldings[i].records > 0)
            json_object_set_new(foldings, folder_names[i], folding_json(&report->foldings[i]));
    }
    for (int i = 0; i < BENCH_STANDING_COUNT; i++) {
        const struct bench_folding *folding = &report->standing[i].folding;
        if (folding->records > 0)
            json_object_set_new(foldings, standing_names[i].folding_key, folding_json(folding));
    }
    return foldings;
}

static json_t *grown_json(const struct bench_report *report)
{
    json_t *rows = json_array();
    uint64_t finished = 0;
    for (uint32_t i = 0; i < report->grown_count; i++) {
        json_t *row = measured_json(&report->grown[i]);
        finished += report->grown[i].figures.orders;
        json_object_set_new(row, "finished", json_integer((json_int_t)finished));
        if (report->grown_foldings[i].records > 0)
            json_object_set_new(row, "fold", folding_json(&report->grown_foldings[i]));
        json_array_append_new(rows, row);
    }
    return rows;
}

static json_t *turns_json(const struct bench_report *report)
{
    json_t *turns = json_array();
    for (uint32_t i = 0; i < report->turn_count; i++)
        json_array_append_new(turns, json_pack("{s:o, s:o}", "plain",
                                               measured_json(&report->turns[i].plain), "deciding",
                                               measured_json(&report->turns[i].deciding)));
    return json_pack("{s:f, s:f, s:f, s:o}", "plain_per_second",
                     medians_of(report, false).per_second, "deciding_per_second",
                     medians_of(report, true).per_second, "rate_share", rate_share(report), "turns",
                     turns);
}

static json_t *items_json(const struct bench_report *report)
{
    const struct items_medians medians = items_medians_of(report);
    json_t *turns = json_array();
    for (int i = 0; i < BENCH_ITEMS_TURNS; i++) {
        const struct bench_items_turn *turn = &report->items[i];
        json_array_append_new(
            turns,
            json_pack("{s:o, s:f, s:o, s:o, s:o, s:f}", "separate",
                      figures_alone_json(&turn->separate), "one_order_ms", ms(turn->alone_us),
                      "others_before", figures_alone_json(&turn->before), "others_during",
                      figures_alone_json(&turn->during), "others_during_recall",
                      figures_alone_json(&turn->recall), "undone_ms", ms(turn->recall.leader_us)));
    }
    return json_pack("{s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:o}", "items",
                     (json_int_t)report->item_count, "separate_per_second",
                     medians.separate_per_second, "items_per_second", medians.items_per_second,
                     "rate_share", medians.rate_share, "others_p99_ratio", medians.p99_ratio,
                     "others_p99_recall_ratio", medians.p99_recall_ratio, "undone_ms",
                     medians.undone_ms, "turns", turns);
}

void bench_report_json(const struct bench_report *report, FILE *out)
{
    json_t *loads = json_array();
    json_t *root =
        json_pack("{s:i, s:i, s:I, s:I}", "cores", (int)sysconf(_SC_NPROCESSORS_ONLN), "partitions",
                  (int)report->partitions, "schedulers", (json_int_t)report->schedulers,
                  "supervisors", (json_int_t)report->supervisors);
    for (uint32_t i = 0; i < report->load_count; i++)
        json_array_append_new(loads, compared_json(&report->loads[i], &report->raws[i]));
    json_object_set_new(root, "loads", loads);
    if (report->alone.figures.orders > 0)
        json_object_set_new(root, "alone", compared_json(&report->alone, &report->raw_alone));
    if (report->grown_count > 0)
        json_object_set_new(root, "grow", grown_json(report));
    if (report->turn_count > 0)
        json_object_set_new(root, "decide", turns_json(report));
    if (report->item_count > 0)
        json_object_set_new(root, "items", items_json(report));
    if (has_foldings(report))
        json_object_set_new(root, "fold", foldings_json(report));
    for (int i = 0; i < BENCH_STANDING_COUNT; i++) {
        const struct bench_standing *standing = &report->standing[i];
        if (standing->figures.orders > 0)
            json_object_set_new(root, standing_names[i].key,
                                figures_json(&standing->figures, &standing->processes));
    }
    for (int i = 0; i < BENCH_TIMERS_COUNT; i++) {
        if (report->timers[i].waiting.figures.orders > 0)
            json_object_set_new(root, timer_names[i].key, timers_json(&report->timers[i]));
    }
    json_dumpf(root, out, JSON_ENSURE_ASCII | JSON_COMPACT | JSON_REAL_PRECISION(9));
    fputc('\n', out);
    json_decref(root);
}
