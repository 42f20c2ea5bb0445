/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve overview`: the figures of the console's first page. */
#include "cli/console/console_client.h"
#include "cli/field.h"
#include "cli/output.h"

enum { LINE_COLUMNS = 100, FACT_COLUMNS = 18, MINUTE_MS = 60000 };

/* ---- tables ---- */

static void print_table(struct cli *cli, const struct output_column *columns, const json_t *list)
{
    if (json_array_size(list) == 0)
        return;
    struct output *output = output_new(cli, columns);
    output_compact(output, LINE_COLUMNS);
    fputc('\n', cli->out);
    output_rows(output, list);
    output_finish(output, EXIT_CODE_OK);
}

static json_t *step_or_order(const json_t *step)
{
    return json_is_null(step) ? json_string("(whole order)") : output_value(step);
}

static const struct output_column error_columns[] = {
    {"IN ERROR", "orders", output_value, true},
    {"WORKFLOW", "workflow", output_value, false},
    {"STEP", "step", output_value, false},
    {"ERROR", "error_name", output_value, false},
    {"LATEST", "latest_at", output_age, true},
    {"MESSAGE", "message", output_value, false},
    {0},
};
static const struct output_column flight_columns[] = {
    {"IN FLIGHT", "orders", output_value, true},
    {"WORKFLOW", "workflow", output_value, false},
    {"STEP", "step", output_value, false},
    {0},
};
static const struct output_column latency_columns[] = {
    {"WORKFLOW", "workflow", output_value, false}, {"STEP", "step", step_or_order, false},
    {"ENDED", "count", output_value, true},        {"P50", "p50_ms", output_duration, true},
    {"P99", "p99_ms", output_duration, true},      {0},
};
static const struct output_column rate_columns[] = {
    {"ORDERS", "rate", output_value, false},
    {"PER SECOND", "now", output_value, true},
    {"PEAK", "peak", output_value, true},
    {"IN 15 MINUTES", "total", output_value, true},
    {0},
};

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
    double now = recent > 0 ? (double)last / (seconds * (double)recent) : 0;
    return json_pack("{s:s, s:o, s:o, s:I}", "rate", name, "now", json_sprintf("%.2f", now), "peak",
                     json_sprintf("%.2f", (double)peak / seconds), "total", total);
}

static void print_rates(struct cli *cli, const json_t *body)
{
    static const char *const names[] = {"submitted", "processed", "compensated", "error"};
    struct output *output = output_new(cli, rate_columns);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        output_row(output,
                   rate_row(names[i], json_object_get(json_object_get(body, "rates"), names[i]),
                            field_int(body, "step_ms")));
    output_finish(output, EXIT_CODE_OK);
    fputc('\n', cli->out);
}

/* ---- facts ---- */

/* "536365 (Processing, 3h)" */
static json_t *oldest_text(const json_t *oldest)
{
    if (!json_is_object(oldest))
        return NULL;
    json_t *age = output_age(json_object_get(oldest, "submitted_at"));
    json_t *text = json_sprintf("%s (%s, %s)", field_text(oldest, "id"),
                                field_text(oldest, "state"), json_string_value(age));
    json_decref(age);
    return text;
}

/* "0, and 3 sub-orders" */
static json_t *orders_text(long long roots, long long suborders)
{
    if (suborders == 0)
        return json_integer(roots);
    return json_sprintf("%lld, and %lld sub-order%s", roots, suborders, suborders == 1 ? "" : "s");
}

static json_t *unfinished_text(const json_t *body)
{
    return orders_text(field_int(body, "unfinished"), field_int(body, "suborders_unfinished"));
}

static json_t *in_error_text(const json_t *body)
{
    return orders_text(field_int(json_object_get(body, "by_state"), "Error"),
                       field_int(json_object_get(body, "suborders_by_state"), "Error"));
}

static json_t *finished_text(const json_t *by_state)
{
    return json_sprintf("%lld processed, %lld compensated", field_int(by_state, "Processed"),
                        field_int(by_state, "Compensated"));
}

static json_t *owned_text(const json_t *partitions)
{
    return json_sprintf("%lld of %lld owned, %lld stopped", field_int(partitions, "owned"),
                        field_int(partitions, "total"), field_int(partitions, "stopped"));
}

static json_t *lag_text(const json_t *partitions)
{
    const char *stalled = json_string_value(json_object_get(partitions, "stalled_reason"));
    return json_sprintf("%lld%s%s", field_int(partitions, "lag"),
                        stalled != NULL ? "; stalled: " : "", stalled != NULL ? stalled : "");
}

static const struct output_column facts[] = {
    {"Unfinished", "", unfinished_text, false},
    {"In Error", "", in_error_text, false},
    {"Oldest unfinished", "oldest", oldest_text, false},
    {"Finished", "by_state", finished_text, false},
    {"Partitions", "partitions", owned_text, false},
    {"Waiting commands", "partitions", lag_text, false},
    {0},
};

static void print_others(struct cli *cli, const json_t *body, const char *name, const char *what)
{
    json_int_t orders = field_int(body, name);
    if (orders > 0)
        fprintf(cli->out, "and %lld order%s %s\n", (long long)orders, orders == 1 ? "" : "s", what);
}

static int print_overview(struct cli *cli, const json_t *body)
{
    print_rates(cli, body);
    output_fields(cli, facts, FACT_COLUMNS, body);
    print_table(cli, error_columns, json_object_get(body, "errors"));
    print_others(cli, body, "errors_of_other_causes", "in Error for other causes");
    print_table(cli, flight_columns, json_object_get(body, "in_flight"));
    print_others(cli, body, "in_flight_of_others", "at other steps");
    print_table(cli, latency_columns, json_object_get(body, "latency"));
    return EXIT_CODE_OK;
}

static int run(struct cli *cli)
{
    struct console_path path = {.size = 0};
    console_path_add(&path, "/api/overview");
    return console_show(cli, &path, print_overview);
}

static const struct cli_verb verbs[] = {
    {
        .summary = "Shows what is happening now: orders per second, unfinished orders, errors by "
                   "cause, orders in flight by step, and durations.",
        .examples = "reeve overview\n"
                    "reeve overview --output json | jq '.errors'",
        .flags = console_flags,
        .run = run,
    },
};

const struct cli_noun cli_overview = {"overview", "What is happening now.", verbs,
                                      sizeof(verbs) / sizeof(verbs[0])};
