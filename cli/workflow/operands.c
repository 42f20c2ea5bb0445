/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/workflow/operands.h"

#include "cli/workflow/verbs.h"

#include <assert.h>
#include <string.h>

static bool ends_with(const char *argument, const char *suffix)
{
    size_t size = strlen(argument);
    return size >= strlen(suffix) && strcmp(argument + size - strlen(suffix), suffix) == 0;
}

/* A path, or a name as files of workflows have; names of workflows have no slash. */
static bool names_file(const char *argument)
{
    return strchr(argument, '/') != NULL || ends_with(argument, ".yaml") ||
           ends_with(argument, ".yml") || ends_with(argument, ".json");
}

static bool read_file(struct cli *cli, struct workflow_operand *operand, int *ret_code)
{
    struct error error = {0};
    if (workflow_file_read(operand->argument, &operand->file, &error) != ERROR_OK) {
        *ret_code = cli_fail(cli, &error);
        return false;
    }
    operand->is_file = true;
    operand->workflow = operand->file.workflow;
    if (operand->workflow != NULL)
        return true;
    workflow_print_problems(cli, NULL, operand->argument, &operand->file.problems);
    *ret_code = EXIT_CODE_DATA;
    return false;
}

static bool connect_once(struct cli *cli, struct workflow_operands *operands, int *ret_code)
{
    struct error error = {0};
    if (operands->connected)
        return true;
    if (cli_session_open(cli, CLUSTER_FOLLOWS_WORKFLOWS, &operands->session, &error) != ERROR_OK) {
        *ret_code = cli_fail(cli, &error);
        return false;
    }
    operands->connected = true;
    return true;
}

static bool find_deployed(struct cli *cli, struct workflow_operands *operands,
                          struct workflow_operand *operand, struct text name, uint32_t version,
                          int *ret_code)
{
    if (!connect_once(cli, operands, ret_code))
        return false;
    operand->workflow = workflow_registry_find(operands->session.cluster->workflows, name, version);
    if (operand->workflow != NULL)
        return true;
    cli_report(cli, CODE_UNKNOWN_WORKFLOW,
               "workflow %.80s is not deployed: `reeve workflow list` shows what is",
               operand->argument);
    *ret_code = operands->compares ? EXIT_CODE_DATA : EXIT_CODE_NEGATIVE; /* 1: they differ */
    return false;
}

static bool find(struct cli *cli, struct workflow_operands *operands,
                 struct workflow_operand *operand, int *ret_code)
{
    struct text name;
    uint32_t version;
    if (names_file(operand->argument))
        return read_file(cli, operand, ret_code);
    if (workflow_parse_name(operand->argument, &name, &version))
        return find_deployed(cli, operands, operand, name, version, ret_code);
    *ret_code = cli_usage(cli, "\"%.80s\": expected NAME, NAME:VERSION or a file's path",
                          operand->argument);
    return false;
}

/* The deployed version goes first: what the file would change. */
static bool add_active(struct cli *cli, struct workflow_operands *operands, int *ret_code)
{
    struct workflow_operand *active = &operands->of[0];
    if (!operands->of[0].is_file) {
        *ret_code = cli_usage(cli, "expected two workflows, or a file to compare with the active "
                                   "version of its workflow");
        return false;
    }
    operands->of[1] = operands->of[0];
    *active = (struct workflow_operand){.argument = operands->of[1].argument};
    operands->count = 2;
    return find_deployed(cli, operands, active, operands->of[1].workflow->name, 0, ret_code);
}

bool workflow_operands_init(struct cli *cli, bool compares, struct workflow_operands *ret_operands,
                            int *ret_code)
{
    struct workflow_operands *operands = ret_operands;
    memset(operands, 0, sizeof(*operands));
    operands->compares = compares;
    assert(cli->argument_count >= 1 && cli->argument_count <= WORKFLOW_OPERANDS_MAX);
    for (int i = 0; i < cli->argument_count; i++) {
        operands->of[i].argument = cli->arguments[i];
        if (!find(cli, operands, &operands->of[i], ret_code))
            return false;
        operands->count++;
    }
    return !compares || operands->count == 2 || add_active(cli, operands, ret_code);
}

void workflow_operands_deinit(struct workflow_operands *operands)
{
    for (int i = 0; i < WORKFLOW_OPERANDS_MAX; i++) {
        if (operands->of[i].is_file)
            workflow_file_deinit(&operands->of[i].file);
    }
    if (operands->connected)
        cli_session_close(&operands->session);
}
