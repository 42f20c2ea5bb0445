/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve submit --wait`: what it prints of each status. */
#include "cli/submit/status_rows.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static struct cli cli;
static char *printed;
static size_t printed_size;

static void begin(void)
{
    cli = (struct cli){.out = open_memstream(&printed, &printed_size)};
}

static void end(void)
{
    fclose(cli.out);
    free(printed);
}

TestSuite(cli_status_rows, .init = begin, .fini = end);

/* Prints the statuses; what follows the titles of a table. */
static const char *print(const struct status_update *statuses, size_t count, enum cli_output form)
{
    cli.output = form;
    struct output *output = status_rows_new(&cli);
    for (size_t i = 0; i < count; i++)
        status_rows_add(output, &cli, &statuses[i]);
    cr_assert_eq(output_finish(output, EXIT_CODE_OK), EXIT_CODE_OK);
    fflush(cli.out);
    return form == CLI_OUTPUT_TABLE ? strchr(printed, '\n') + 1 : printed;
}

#define SENT .order_id = TEXT_CONST("o-1"), .decision_offset = 4
static struct step_change paid = {.step = TEXT_CONST("Pay"), .attempt = 1, .state = STEP_PROCESSED};

static struct status_update processed(const char *output, const char *problem)
{
    return (struct status_update){SENT,
                                  .kind = STATUS_PROCESSED,
                                  .order_state = ORDER_PROCESSED,
                                  .steps = &paid,
                                  .step_count = 1,
                                  .output = text_of(output),
                                  .message = text_of(problem)};
}

#define ROW "o-1    Processed     Processed     Pay               do               1  Processed\n"

Test(cli_status_rows, shows_the_output_below_the_last_row)
{
    struct status_update statuses[] = {
        {SENT, .kind = STATUS_STEP_CHANGED, .order_state = ORDER_PROCESSING, .steps = &paid,
         .step_count = 1},
        processed("{\"cents\":100.10000000000000000001,\"note\":\"a\\u001bb\"}", "")};
    cr_expect_str_eq(print(statuses, 2, CLI_OUTPUT_TABLE),
                     "o-1    StepChanged   Processing    Pay               do               1  "
                     "Processed\n" ROW
                     "o-1: output {\"cents\":100.10000000000000000001,\"note\":\"a\\u001bb\"}\n");
}

/* A column would cut it. */
Test(cli_status_rows, shows_all_of_a_long_output)
{
    char output[3000];
    char expected[3100];
    memset(output, 'x', sizeof(output));
    output[0] = output[sizeof(output) - 2] = '"';
    output[sizeof(output) - 1] = '\0';
    struct status_update status = processed(output, "");
    snprintf(expected, sizeof(expected), ROW "o-1: output %s\n", output);
    cr_expect_str_eq(print(&status, 1, CLI_OUTPUT_TABLE), expected);
}

Test(cli_status_rows, shows_why_there_is_no_output)
{
    struct status_update status = processed("", "States.QueryEvaluationError: no member a");
    cr_expect_str_eq(print(&status, 1, CLI_OUTPUT_TABLE),
                     ROW "o-1: no output: States.QueryEvaluationError: no member a\n");
}

Test(cli_status_rows, shows_nothing_of_an_order_without_output)
{
    struct status_update status = processed("", "");
    cr_expect_str_eq(print(&status, 1, CLI_OUTPUT_TABLE), ROW);
}

/* The message of another status is its reason. */
Test(cli_status_rows, shows_the_reason_of_a_refusal)
{
    struct status_update status = {SENT, .kind = STATUS_REJECTED,
                                   .code = TEXT_CONST("InvalidInput"),
                                   .message = TEXT_CONST("input.a is missing")};
    const char *row = print(&status, 1, CLI_OUTPUT_TABLE);
    cr_expect_not_null(strstr(row, "InvalidInput: input.a is missing\n"), "%s", row);
    cr_expect_null(strstr(row, "output"), "%s", row);
}

static void expect_json(const struct status_update *status, const char *expected)
{
    const char *line = print(status, 1, CLI_OUTPUT_JSONL);
    cr_expect_not_null(strstr(line, expected), "%s: %s", expected, line);
    fclose(cli.out);
    free(printed);
    begin();
}

Test(cli_status_rows, has_the_output_as_one_json)
{
    struct status_update made = processed("{\"cents\":100.1}", "");
    struct status_update failed = processed("", "States.QueryEvaluationError: no member a");
    struct status_update rejected = {SENT, .kind = STATUS_REJECTED,
                                     .message = TEXT_CONST("input.a is missing")};
    expect_json(&made, "\"output\":{\"cents\":100.1},\"question\":null,\"output_problem\":null}");
    expect_json(
        &failed,
        "\"output\":null,\"question\":null,\"output_problem\":\"States.QueryEvaluationError: no "
        "member a\"}");
    expect_json(&rejected, "\"output\":null,\"question\":null,\"output_problem\":null}");
}
