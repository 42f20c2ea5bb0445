/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve workflow eval`: an expression, tried on data of the command line. Every step of the file,
 * or of a body in it, counts as one that comes before. */
#include "cli/workflow/verbs.h"

#include "base/suggest.h"
#include "cli/data_flag.h"
#include "engine/expression/evaluate.h"
#include "workflow/bodies.h"
#include "workflow/expression.h"

#include <stdlib.h>
#include <string.h>

enum { DATA_BYTES_MAX = 256 * 1024 }; /* what an order may have as its input, in canonical form */

struct eval {
    struct cli *cli;
    struct arena *arena;
    const struct workflow *workflow;
    struct expression_known_step known[WORKFLOW_STEPS_MAX];
    struct expression_step steps[WORKFLOW_STEPS_MAX];
    struct expression_scope scope;
};

/* ---- the flags ---- */

/* `what` is a flag, for the message. */
static bool take_json(struct eval *eval, const char *what, struct text json, struct text *ret_json,
                      int *ret_code)
{
    struct json_problem problem;
    char line[JSON_PROBLEM_SIZE];
    if (json_canonical(json, DATA_BYTES_MAX, eval->arena, ret_json, &problem))
        return true;
    json_problem_format(&problem, what, line);
    *ret_code = cli_usage(eval->cli, "%s", line);
    return false;
}

/* "STEP=..." -> the step's index and what follows; -1 after a problem. */
static int find_step(struct eval *eval, const char *flag, const char *value, struct text *ret_rest,
                     int *ret_code)
{
    const char *sign = strchr(value, '=');
    struct text name = {value, sign != NULL ? (uint32_t)(sign - value) : 0};
    if (sign == NULL) {
        *ret_code = cli_usage(eval->cli, "--%s \"%.80s\": expected STEP=%s", flag, value,
                              strcmp(flag, "output") == 0 ? "JSON" : "NAME");
        return -1;
    }
    for (uint32_t i = 0; i < eval->workflow->step_count; i++) {
        if (text_equal(eval->workflow->steps[i].name, name)) {
            *ret_rest = text_of(sign + 1);
            return (int)i;
        }
    }
    struct text names[WORKFLOW_STEPS_MAX];
    for (uint32_t i = 0; i < eval->workflow->step_count; i++)
        names[i] = eval->workflow->steps[i].name;
    const struct text *near = suggest_text(name, names, eval->workflow->step_count);
    struct text meant = near != NULL ? *near : (struct text){0};
    *ret_code =
        cli_usage(eval->cli, "--%s \"%.80s\": %s has no step %.*s%s%.*s%s", flag, value,
                  eval->workflow->is_body ? "the body" : "the file", QUOTE_ARG(name),
                  near != NULL ? ": did you mean " : "", TEXT_ARG(meant), near != NULL ? "?" : "");
    return -1;
}

static bool take_outputs(struct eval *eval, int *ret_code)
{
    size_t at = 0;
    for (const char *value; (value = cli_flag_next(eval->cli, "output", &at)) != NULL;) {
        struct text json;
        int step = find_step(eval, "output", value, &json, ret_code);
        if (step < 0)
            return false;
        eval->steps[step].has_output = json.size > 0;
        if (json.size > 0 &&
            !take_json(eval, "--output", json, &eval->steps[step].output, ret_code))
            return false;
    }
    return true;
}

static bool take_errors(struct eval *eval, int *ret_code)
{
    size_t at = 0;
    for (const char *value; (value = cli_flag_next(eval->cli, "error", &at)) != NULL;) {
        struct text name;
        int step = find_step(eval, "error", value, &name, ret_code);
        if (step < 0)
            return false;
        eval->steps[step].has_error = true;
        eval->steps[step].error_name = name;
    }
    return true;
}

static bool take_input(struct eval *eval, int *ret_code)
{
    char *data = NULL;
    size_t size = 0;
    struct error error = {0};
    if (data_flag_read(eval->cli, "input", INPUT_BYTES_MAX, &data, &size, &error) != ERROR_OK) {
        *ret_code = cli_fail(eval->cli, &error);
        return false;
    }
    struct text json = {data, (uint32_t)size};
    bool taken = data == NULL || take_json(eval, "--input", json, &eval->scope.input, ret_code);
    free(data);
    return taken;
}

static bool take_flags(struct eval *eval, int *ret_code)
{
    return take_input(eval, ret_code) && take_outputs(eval, ret_code) &&
           take_errors(eval, ret_code);
}

/* ---- the expression ---- */

static const struct expression *compile(struct eval *eval, const char *source)
{
    struct expression_problems problems;
    struct expression_names names = {
        .allowed = EXPRESSION_NAMES_ALWAYS,
        .steps = eval->known,
        .step_count = eval->workflow->step_count,
        .input = expression_shape_of(eval->workflow->input_shape, eval->arena),
    };
    const struct expression *expression =
        expression_compile(text_of(source), &names, KINDS_ANY, eval->arena, &problems);
    for (uint32_t i = 0; i < problems.count; i++) {
        const struct expression_problem *problem = &problems.items[i];
        struct text before = {source, problem->at};
        uint32_t column = 1;
        for (uint32_t j = 0; j < before.size; j++)
            column += ((uint8_t)before.data[j] & 0xc0) != 0x80;
        fprintf(eval->cli->err, "column %u: %s: %s\n", column,
                problem->severity == WORKFLOW_ERROR ? "error" : "warning", problem->text);
    }
    return expression;
}

static int print_value(struct eval *eval, const struct expression *expression)
{
    struct expression_run run;
    struct expression_error error;
    struct text json;
    expression_run_init(&run, &eval->scope, EXPRESSION_BUDGET, eval->arena);
    if (expression_json(&run, expression, DATA_BYTES_MAX, &json, &error)) {
        fprintf(eval->cli->out, "%.*s\n", TEXT_ARG(json));
        return EXIT_CODE_OK;
    }
    cli_report(eval->cli, CODE_EXPRESSION_FAILED, "%.*s",
               TEXT_ARG(expression_error_message(&error, eval->arena)));
    return EXIT_CODE_DATA;
}

/* With the body that is meant. */
static int refuse_body(struct eval *eval, const struct workflow *file, const char *step)
{
    const struct workflow *workflows[WORKFLOW_FILE_STEPS_MAX];
    struct text names[WORKFLOW_FILE_STEPS_MAX];
    uint32_t count = workflow_list_file(file, workflows), bodies = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (workflows[i] != file)
            names[bodies++] = text_from(workflows[i]->name, file->name.size + 1);
    }
    const struct text *near = suggest_text(text_of(step), names, bodies);
    if (near == NULL)
        return cli_usage(eval->cli,
                         "--body \"%.80s\": the file has no such step with Steps: expected STEP or "
                         "STEP/STEP",
                         step);
    return cli_usage(eval->cli,
                     "--body \"%.80s\": the file has no such step with Steps: did you mean %.*s?",
                     step, TEXT_ARG(*near));
}

/* The file's own workflow, or a body of it. False after a problem. */
static bool find_workflow(struct eval *eval, const struct workflow *file, int *ret_code)
{
    const char *step = cli_flag_value(eval->cli, "body");
    char name[BODY_NAME_BYTES_MAX + 1];
    eval->workflow = file;
    if (step == NULL)
        return true;
    int size = snprintf(name, sizeof(name), "%.*s/%s", TEXT_ARG(file->name), step);
    eval->workflow =
        size > 0 && (size_t)size < sizeof(name) ? workflow_find_in_file(file, text_of(name)) : NULL;
    if (eval->workflow != NULL)
        return true;
    *ret_code = refuse_body(eval, file, step);
    return false;
}

static int evaluate(struct cli *cli, struct workflow_file *file)
{
    struct eval eval = {.cli = cli, .arena = &file->heap.arena};
    int code = EXIT_CODE_DATA;
    if (!find_workflow(&eval, file->workflow, &code))
        return code;
    for (uint32_t i = 0; i < eval.workflow->step_count; i++)
        eval.known[i] = (struct expression_known_step){
            .name = eval.workflow->steps[i].name, .before = true, .fails = true};
    eval.scope.steps = eval.steps;
    eval.scope.step_count = eval.workflow->step_count;
    if (!take_flags(&eval, &code))
        return code;
    const struct expression *expression = compile(&eval, cli->arguments[1]);
    return expression != NULL ? print_value(&eval, expression) : EXIT_CODE_DATA;
}

int workflow_run_eval(struct cli *cli)
{
    struct workflow_file file;
    struct error error = {0};
    if (workflow_file_read(cli->arguments[0], &file, &error) != ERROR_OK)
        return cli_fail(cli, &error);
    int code = EXIT_CODE_DATA;
    if (file.workflow == NULL)
        workflow_print_problems(cli, NULL, cli->arguments[0], &file.problems);
    else
        code = evaluate(cli, &file);
    workflow_file_deinit(&file);
    return code;
}
