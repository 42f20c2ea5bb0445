/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve overview`: the figures of the console's first page. */
#include "cli/console/console_client.h"
#include "cli/output.h"
#include "platform/clock.h"
#include "replica/settings.h"

#include <stdlib.h>
#include <string.h>

enum { LINE_COLUMNS = 100, MINUTE_MS = 60000 };

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static const struct output_column rate_columns[] = {
    {"rate", "ORDERS", false},
    {"now", "PER SECOND", true},
    {"peak", "PEAK", true},
    {"total", "IN 15 MINUTES", true},
};
static const struct output_column error_columns[] = {
    {"orders", "IN ERROR", true},   {"workflow", "WORKFLOW", false}, {"step", "STEP", false},
    {"error_name", "ERROR", false}, {"latest", "LATEST", true},      {"message", "MESSAGE", false},
};
static const struct output_column flight_columns[] = {
    {"orders", "IN FLIGHT", true},
    {"workflow", "WORKFLOW", false},
    {"step", "STEP", false},
};
static const struct output_column latency_columns[] = {
    {"workflow", "WORKFLOW", false},
    {"step", "STEP", false},
    {"count", "ENDED", true},
    {"p50", "P50", true},
    {"p99", "P99", true},
};

static json_int_t int_at(const json_t *object, const char *name)
{
    return json_integer_value(json_object_get(object, name));
}

/* ---- tables ---- */

static void print_table(struct cli *cli, const struct output_column *columns, size_t count,
                        const json_t *list, json_t *(*row_of)(const json_t *item, int64_t now))
{
    size_t i;
    const json_t *item;
    int64_t now = clock_wall_ms(clock_real());
    if (json_array_size(list) == 0)
        return;
    struct output *output = output_new(cli->out, CLI_OUTPUT_TABLE, columns, count);
    output_compact(output, LINE_COLUMNS);
    fputc('\n', cli->out);
    json_array_foreach(list, i, item)
        output_row(output, row_of(item, now));
    output_finish(output, EXIT_CODE_OK);
}

static json_t *error_row(const json_t *error, int64_t now)
{
    json_t *row = json_copy((json_t *)(uintptr_t)error);
    json_object_set_new(row, "latest", output_age(json_object_get(error, "latest_at"), now));
    return row;
}

static json_t *flight_row(const json_t *flight, int64_t now)
{
    (void)now;
    return json_copy((json_t *)(uintptr_t)flight);
}

static json_t *latency_row(const json_t *latency, int64_t now)
{
    (void)now;
    json_t *row = json_copy((json_t *)(uintptr_t)latency);
    if (json_is_null(json_object_get(latency, "step")))
        json_object_set_new(row, "step", json_string("(whole order)"));
    json_object_set_new(row, "p50", output_duration(int_at(latency, "p50_ms")));
    json_object_set_new(row, "p99", output_duration(int_at(latency, "p99_ms")));
    return row;
}

/* Of the last minute's whole buckets, as the page has it. */
static json_t *rate_row(const char *name, const json_t *counts, json_int_t step_ms)
{
    size_t size = json_array_size(counts);
    size_t recent = step_ms > 0 && step_ms <= MINUTE_MS ? (size_t)(MINUTE_MS / step_ms) : 1;
    double seconds = step_ms > 0 ? (double)step_ms / 1000 : 1;
    json_int_t last = 0;
    json_int_t peak = 0;
    json_int_t total = 0;
    recent = size > 0 && recent > size - 1 ? size - 1 : recent;
    for (size_t i = 0; i < size; i++) {
        json_int_t n = json_integer_value(json_array_get(counts, i));
        total += n;
        peak = n > peak ? n : peak;
        last += i + 1 < size && i + 1 + recent >= size ? n : 0;
    }
    json_t *row = json_object();
    json_object_set_new(row, "rate", json_string(name));
    json_object_set_new(
        row, "now",
        json_sprintf("%.2f", recent > 0 ? (double)last / (seconds * (double)recent) : 0.0));
    json_object_set_new(row, "peak", json_sprintf("%.2f", (double)peak / seconds));
    json_object_set_new(row, "total", json_integer(total));
    return row;
}

static void print_rates(struct cli *cli, const json_t *body)
{
    static const char *const names[] = {"submitted", "processed", "compensated", "error"};
    struct output *output =
        output_new(cli->out, CLI_OUTPUT_TABLE, rate_columns, COUNT_OF(rate_columns));
    for (size_t i = 0; i < COUNT_OF(names); i++)
        output_row(output,
                   rate_row(names[i], json_object_get(json_object_get(body, "rates"), names[i]),
                            int_at(body, "step_ms")));
    output_finish(output, EXIT_CODE_OK);
    fputc('\n', cli->out);
}

/* ---- facts ---- */

static void print_oldest(struct cli *cli, const json_t *oldest)
{
    if (!json_is_object(oldest))
        return;
    json_t *age = output_age(json_object_get(oldest, "submitted_at"), clock_wall_ms(clock_real()));
    const char *id = json_string_value(json_object_get(oldest, "id"));
    const char *state = json_string_value(json_object_get(oldest, "state"));
    fprintf(cli->out, "%-18s  ", "Oldest unfinished");
    output_text(cli->out, id != NULL ? id : "", 0);
    fprintf(cli->out, " (%s, %s)\n", state != NULL ? state : "", json_string_value(age));
    json_decref(age);
}

static void print_facts(struct cli *cli, const json_t *body)
{
    const json_t *states = json_object_get(body, "by_state");
    const json_t *partitions = json_object_get(body, "partitions");
    fprintf(cli->out, "%-18s  %lld\n", "Unfinished", (long long)int_at(body, "unfinished"));
    fprintf(cli->out, "%-18s  %lld\n", "In Error", (long long)int_at(states, "Error"));
    print_oldest(cli, json_object_get(body, "oldest"));
    fprintf(cli->out, "%-18s  %lld processed, %lld compensated\n", "Finished",
            (long long)int_at(states, "Processed"), (long long)int_at(states, "Compensated"));
    fprintf(cli->out, "%-18s  %lld of %lld owned, %lld stopped\n", "Partitions",
            (long long)int_at(partitions, "owned"), (long long)int_at(partitions, "total"),
            (long long)int_at(partitions, "stopped"));
    const char *stalled = json_string_value(json_object_get(partitions, "stalled_reason"));
    fprintf(cli->out, "%-18s  %lld%s%s\n", "Waiting commands", (long long)int_at(partitions, "lag"),
            stalled != NULL ? "; stalled: " : "", stalled != NULL ? stalled : "");
}

static void print_others(struct cli *cli, const json_t *body, const char *name, const char *what)
{
    json_int_t orders = int_at(body, name);
    if (orders > 0)
        fprintf(cli->out, "and %lld order%s %s\n", (long long)orders, orders == 1 ? "" : "s", what);
}

static int print_overview(struct cli *cli, const json_t *body)
{
    print_rates(cli, body);
    print_facts(cli, body);
    print_table(cli, error_columns, COUNT_OF(error_columns), json_object_get(body, "errors"),
                error_row);
    print_others(cli, body, "errors_of_other_causes", "in Error for other causes");
    print_table(cli, flight_columns, COUNT_OF(flight_columns), json_object_get(body, "in_flight"),
                flight_row);
    print_others(cli, body, "in_flight_of_others", "at other steps");
    print_table(cli, latency_columns, COUNT_OF(latency_columns), json_object_get(body, "latency"),
                latency_row);
    return EXIT_CODE_OK;
}

static int run(struct cli *cli)
{
    struct console_path path = {.size = 0};
    console_path_add(&path, "/api/overview");
    return console_show(cli, &path, rate_columns, COUNT_OF(rate_columns), print_overview);
}

static const struct cli_flag flags[] = {CONSOLE_FLAG, {NULL, NULL, NULL}};

static const struct cli_verb verbs[] = {
    {
        .summary = "Shows what is happening now: orders per second, unfinished orders, errors by "
                   "cause, orders in flight by step, and durations.",
        .examples = "reeve overview\n"
                    "reeve overview --output json | jq '.errors'",
        .flags = flags,
        .config_services = SETTINGS_CLI,
        .output = true,
        .run = run,
    },
};

const struct cli_noun cli_overview = {"overview", "What is happening now.", verbs, COUNT_OF(verbs)};
