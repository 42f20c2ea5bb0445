/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve orders list`: one line an order, with its age and the steps in progress. */
#include "cli/console/order_filter.h"

#include "base/suggest.h"
#include "cli/console/orders.h"
#include "cli/field.h"
#include "cli/output.h"
#include "platform/clock.h"

#include <string.h>

enum {
    PAGE_MAX = 1000,
    LIST_LIMIT = 50,
    LIMIT_MAX = 1000000000,
    STEPS_SIZE = 160,
    CANDIDATES_MAX = 1024
};

/* "retry in 12s" */
static json_t *until(const char *what, const json_t *time)
{
    json_t *age = output_age(time);
    json_t *text = json_sprintf("%s %s", what, json_string_value(age));
    json_decref(age);
    return text;
}

/* Why the step is in progress: "attempt 2", "Error", "retry in 12s", "waiting for an agent",
 * "passes in 3d", "waits for managers". `wait`: what waiting_for says of it, or NULL. */
static json_t *step_progress(const json_t *step, const json_t *wait)
{
    bool runs = strcmp(field_text(step, "state"), "Processing") == 0;
    const json_t *retry_at = json_object_get(step, "retry_at");
    if (strcmp(field_text(step, "state"), "Error") == 0)
        return json_string("Error");
    if (!runs && json_is_string(json_object_get(step, "queued_at")))
        return json_string("waiting for an agent");
    if (!runs && json_is_string(retry_at))
        return until("retry", retry_at);
    if (strcmp(field_text(wait, "for"), "signal") == 0)
        return json_sprintf("waits for %s", json_is_string(json_object_get(wait, "group"))
                                                ? field_text(wait, "group")
                                                : "a signal");
    if (json_is_string(json_object_get(step, "due_at")))
        return until("passes", json_object_get(step, "due_at"));
    return json_sprintf("attempt %lld", field_int(step, "attempt"));
}

static const json_t *wait_of(const json_t *order, const char *step)
{
    size_t i;
    const json_t *wait;
    json_array_foreach(json_object_get(order, "waiting_for"), i, wait) {
        if (strcmp(field_text(wait, "step"), step) == 0)
            return wait;
    }
    return NULL;
}

/* "TakePayment: attempt 2, undo of ReserveStock: retry in 12s" */
static json_t *steps_in_progress(const json_t *order)
{
    char text[STEPS_SIZE] = "";
    size_t i;
    size_t size = 0;
    const json_t *step;
    json_array_foreach(json_object_get(order, "active_steps"), i, step) {
        const char *name = json_string_value(json_object_get(step, "step"));
        bool undo = strcmp(field_text(step, "direction"), "undo") == 0;
        if (name == NULL || size >= sizeof(text))
            continue;
        json_t *progress = step_progress(step, wait_of(order, name));
        int written = snprintf(text + size, sizeof(text) - size, "%s%s%s: %s", size > 0 ? ", " : "",
                               undo ? "undo of " : "", name, json_string_value(progress));
        size += written > 0 ? (size_t)written : 0;
        json_decref(progress);
    }
    return json_string(text);
}

static json_t *state_of(const json_t *order)
{
    bool paused = json_is_string(json_object_get(order, "paused_at"));
    return json_sprintf("%s%s", field_text(order, "state"), paused ? ", paused" : "");
}

static json_t *workflow_of(const json_t *order)
{
    return json_sprintf("%s:%lld", field_text(order, "workflow"),
                        field_int(order, "workflow_version"));
}

static const struct output_column columns[] = {
    {"ORDER", "order_id", output_value, false},
    {"STATE", "", state_of, false},
    {"WORKFLOW", "", workflow_of, false},
    {"SUBMITTED", "accepted_at", output_value, false},
    {"CUSTOMER", "customer", output_value, false},
    {"AGE", "accepted_at", output_age, true},
    {"CHANGED", "updated_at", output_age, true},
    {"IN PROGRESS", "", steps_in_progress, false},
    {"REASON", "reason_code", output_value, false},
    {0},
};

static void list_path(const struct order_filter *filter, struct console_path *path, int64_t limit)
{
    char number[24];
    snprintf(number, sizeof(number), "%lld", (long long)limit);
    *path = (struct console_path){.size = 0};
    console_path_add(path, "/api/orders");
    order_filter_add(filter, path);
    console_path_add_query(path, "limit", number);
}

static struct output *new_output(const struct cli *cli)
{
    struct output *output = output_new(cli, columns);
    if (!cli_flag_given(cli, "wide")) {
        output_hide(output, "SUBMITTED");
        output_hide(output, "CUSTOMER");
    }
    return output;
}

/* Whether the step is among them, or within one of them. Else each is a candidate. */
static bool has_step(const json_t *steps, const char *name, struct text *candidates, size_t *count)
{
    size_t i;
    const json_t *step;
    json_array_foreach(steps, i, step) {
        const char *other = field_text(step, "step");
        if (strcmp(other, name) == 0 ||
            has_step(json_object_get(step, "steps"), name, candidates, count))
            return true;
        if (*count < CANDIDATES_MAX)
            candidates[(*count)++] = text_of(other);
    }
    return false;
}

static void warn_unknown(const struct cli *cli, const json_t *workflows, const char *flag)
{
    size_t i, count = 0;
    const json_t *workflow;
    bool steps = strcmp(flag, "workflow") != 0;
    const char *name = cli_flag_value(cli, flag);
    struct text candidates[CANDIDATES_MAX];
    if (name == NULL)
        return;
    json_array_foreach(workflows, i, workflow) {
        const char *other = field_text(workflow, "workflow");
        if (steps ? has_step(json_object_get(workflow, "steps"), name, candidates, &count)
                  : strcmp(other, name) == 0)
            return;
        if (!steps && count < CANDIDATES_MAX)
            candidates[count++] = text_of(other);
    }
    const struct text *nearest = suggest_text(text_of(name), candidates, count);
    cli_warn(cli, steps ? CODE_UNKNOWN_STEP : CODE_UNKNOWN_WORKFLOW, "--%s %.80s: %s%s%.*s%s", flag,
             name,
             steps ? "no deployed workflow has a step of that name"
                   : "no workflow of that name is deployed",
             nearest != NULL ? "; did you mean " : "", nearest != NULL ? (int)nearest->size : 0,
             nearest != NULL ? nearest->data : "", nearest != NULL ? "?" : "");
}

/* An empty list may be that of a misspelt name. A console that does not say which names there are
 * is not worth an error. */
static void explain_nothing(struct cli *cli)
{
    static const char *const flags[] = {"workflow", "step", "waiting-for"};
    struct error error;
    struct console_client client;
    struct console_answer answer;
    struct console_path path = {.size = 0};
    bool given = false;
    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
        given = given || cli_flag_given(cli, flags[i]);
    console_path_add(&path, "/api/workflows");
    if (!given || console_client_init(cli, &client, &error) != ERROR_OK ||
        console_query(&client, &path, NULL, &answer, &error) != ERROR_OK)
        return;
    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]) && answer.status == 200; i++)
        warn_unknown(cli, json_object_get(answer.json, "workflows"), flags[i]);
    console_answer_deinit(&answer);
}

int orders_run_list(struct cli *cli)
{
    struct error error;
    struct console_path path;
    struct console_answer answer;
    int64_t left;
    struct order_filter filter;
    int code = EXIT_CODE_OK;
    bool none = true;
    json_t *cursor = NULL;
    if (cli_flag_int(cli, "limit", LIST_LIMIT, 0, LIMIT_MAX, &left, &error) != ERROR_OK ||
        order_filter_init(cli, clock_wall_ms(clock_real()), &filter, &error) != ERROR_OK)
        return cli_fail(cli, &error);
    left = left == 0 ? LIMIT_MAX : left;
    struct output *output = new_output(cli);
    do {
        list_path(&filter, &path, left < PAGE_MAX ? left : PAGE_MAX);
        if (!console_get_page(cli, &path, &cursor, &answer, &code))
            break;
        const json_t *orders = json_object_get(answer.json, "orders");
        output_rows(output, orders);
        none = none && json_array_size(orders) == 0;
        left -= (int64_t)json_array_size(orders);
        if (left == 0 || !json_is_string(cursor)) {
            console_warn_incomplete(cli, answer.json);
            console_warn_waiting(cli, answer.json);
        }
        console_answer_deinit(&answer);
    } while (left > 0 && json_is_string(cursor));
    if (code == EXIT_CODE_OK && none)
        explain_nothing(cli);
    bool more = json_is_string(cursor) && code == EXIT_CODE_OK;
    code = output_finish(output, code);
    if (more && cli->output == CLI_OUTPUT_TABLE)
        fputs("There are more orders: --limit 0 lists all of them.\n", cli->err);
    json_decref(cursor);
    return code;
}
