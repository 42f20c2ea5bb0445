/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/console/operator_command.h"

#include "cli/console/orders.h"
#include "cli/field.h"

#include <assert.h>

const struct cli_flag operator_flags[] = {
    OPERATOR_FLAGS, TARGET_STEP_FLAG, TARGET_FLAGS, CONSOLE_FLAG, {0}};

/* Of the Decision, the text of its first event. */
static const struct output_column columns[] = {
    {"ORDER", "order_id", output_value, false},
    {"STATE", "state", output_value, false},
    {"VERSION", "version", output_value, true},
    {"EVENT", "events.0.words", output_value, false},
    {0},
};

/* NULL: REJECT. */
static json_t *body_of(struct cli *cli, const struct operator_verb *verb, char **last,
                       struct error *ret_error)
{
    if (cli_flag_given(cli, "dry-run"))
        return json_object();
    json_t *body = signature_body(cli, "the history", ret_error);
    if (body == NULL || verb->add_fields == NULL ||
        verb->add_fields(cli, last, body, ret_error) == ERROR_OK)
        return body;
    json_decref(body);
    return NULL;
}

struct run {
    struct cli *cli;
    const struct operator_verb *verb;
    struct console_client client;
    const json_t *body;
};

/* Of the console, about the order's command: sends it with `body`; NULL: only asks about it. */
static bool query(const struct run *run, const char *order_id, const json_t *body,
                  struct console_answer *ret_answer, int *ret_code)
{
    struct error error;
    struct console_path path;
    orders_path(&path, order_id, "/");
    console_path_add(&path, run->verb->action);
    if (body == NULL)
        run->verb->add_query(run->cli, &path);
    if (console_query(&run->client, &path, body, ret_answer, &error) == ERROR_OK)
        return true;
    *ret_code = cli_fail(run->cli, &error);
    return false;
}

enum error_class operator_command_add_tree(struct cli *cli, char **last, json_t *body,
                                           struct error *ret_error)
{
    (void)last;
    (void)ret_error;
    if (cli_flag_given(cli, "tree"))
        json_object_set_new(body, "tree", json_true());
    return ERROR_OK;
}

/* Of a tree, in the columns of a Decision. */
static int put_tree(const struct run *run, const char *order_id, const json_t *answer,
                    struct output *output)
{
    size_t i;
    const json_t *failed;
    json_t *row = json_copy((json_t *)(uintptr_t)answer);
    long long refused = field_int(answer, "failed_count");
    json_object_set_new(row, "order_id", json_string(order_id));
    json_object_set_new(row, "events",
                        json_pack("[{s:o}]", "words",
                                  json_sprintf("%lld orders of its tree, %lld refused",
                                               field_int(answer, "orders"), refused)));
    output_row(output, row);
    console_warn_incomplete(run->cli, answer);
    json_array_foreach(json_object_get(answer, "failed"), i, failed) {
        fputs("reeve: ", run->cli->err);
        output_text(run->cli->err, field_text(failed, "order_id"), 0);
        fputs(": ", run->cli->err);
        output_text(run->cli->err, field_text(failed, "code"), 0);
        fputs(": ", run->cli->err);
        output_text(run->cli->err, field_text(failed, "reason"), 0);
        fputc('\n', run->cli->err);
    }
    return refused > 0 ? EXIT_CODE_NEGATIVE : EXIT_CODE_OK;
}

static int send_one(void *ctx, const char *order_id, struct output *output)
{
    const struct run *run = ctx;
    struct console_answer answer;
    int code = EXIT_CODE_OK;
    assert(run->body != NULL);
    if (!query(run, order_id, run->body, &answer, &code))
        return code;
    if (answer.status != 200)
        code = console_refused(run->cli, &answer, order_id);
    else if (json_is_true(json_object_get(run->body, "tree")))
        code = put_tree(run, order_id, answer.json, output);
    else
        output_row(output, json_incref(answer.json));
    console_answer_deinit(&answer);
    return code;
}

static const struct output_column check_columns[] = {
    {"ORDER", "order_id", output_value, false},
    {"RESULT", "result", output_value, false},
    {"REASON", "detail", output_value, false},
    {0},
};

/* Whether the order's command would be accepted now. */
static int check_one(void *ctx, const char *order_id, struct output *output)
{
    const struct run *run = ctx;
    struct console_answer answer;
    int code = EXIT_CODE_OK;
    if (!query(run, order_id, NULL, &answer, &code))
        return code;
    bool refused = answer.status == 404 || answer.status == 409;
    if (answer.status != 200 && !refused)
        code = console_refused(run->cli, &answer, order_id);
    else
        output_row(output, json_pack("{s:s, s:s, s:O?, s:O?}", "order_id", order_id, "result",
                                     refused ? "refused" : "accepted", "code",
                                     json_object_get(answer.json, "code"), "detail",
                                     json_object_get(answer.json, "detail")));
    console_answer_deinit(&answer);
    return refused ? EXIT_CODE_NEGATIVE : code;
}

/* The arguments begin with the orders. */
static int send_all(struct cli *cli, const struct operator_verb *verb)
{
    struct error error;
    struct bulk bulk = {.count = 0};
    struct run run = {.cli = cli, .verb = verb};
    const struct bulk_action action = {.verb = verb->action,
                                       .columns = columns,
                                       .send = send_one,
                                       .check = verb->add_query != NULL ? check_one : NULL,
                                       .check_columns = check_columns,
                                       .ctx = &run};
    int code = EXIT_CODE_OK;
    int id_count = cli->argument_count - verb->last_count;
    assert(id_count >= 0);
    char **last = cli->arguments + id_count;
    struct targets_step step = {.positional = verb->last_count > 0 ? last[0] : NULL,
                                .flag_names = verb->step_flag};
    if (verb->check != NULL && !verb->check(cli, last, &code))
        return code;
    struct targets_version of = {.version = 0};
    if (verb->version_of != NULL)
        of = verb->version_of(cli);
    if (!targets_given(cli, id_count, &step, &of, &code))
        return code;
    json_t *body = body_of(cli, verb, last, &error);
    run.body = body;
    if (body == NULL || targets_init(cli, &bulk, &error) != ERROR_OK ||
        console_client_init(cli, &run.client, &error) != ERROR_OK)
        code = cli_fail(cli, &error);
    else if ((verb->may_begin == NULL || verb->may_begin(cli, &run.client, &code)) &&
             targets_collect(&bulk, &run.client, id_count, &step, &of, &code))
        code = bulk_run(&bulk, &action);
    bulk_deinit(&bulk);
    json_decref(body);
    return code;
}

int operator_command_run(struct cli *cli)
{
    const struct operator_verb *verb = cli->verb->of;
    cli->arguments += verb->first_count;
    cli->argument_count -= verb->first_count;
    int code = send_all(cli, verb);
    cli->arguments -= verb->first_count;
    cli->argument_count += verb->first_count;
    return code;
}
