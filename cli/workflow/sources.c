/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/workflow/sources.h"

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

static bool read_file(struct cli *cli, struct workflow_source *source, int *ret_code)
{
    struct error error = {0};
    if (workflow_file_read(source->argument, &source->file, &error) != ERROR_OK) {
        *ret_code = cli_fail(cli, &error);
        return false;
    }
    source->is_file = true;
    source->workflow = source->file.workflow;
    if (source->workflow != NULL)
        return true;
    workflow_print_problems(cli, NULL, source->argument, &source->file.problems);
    *ret_code = EXIT_CODE_DATA;
    return false;
}

static bool connect_once(struct cli *cli, struct workflow_sources *sources, int *ret_code)
{
    struct error error = {0};
    if (sources->connected)
        return true;
    if (cli_session_open(cli, CLUSTER_FOLLOWS_WORKFLOWS, &sources->session, &error) != ERROR_OK) {
        *ret_code = cli_fail(cli, &error);
        return false;
    }
    sources->connected = true;
    return true;
}

static bool find_deployed(struct cli *cli, struct workflow_sources *sources,
                          struct workflow_source *source, struct text name, uint32_t version,
                          int *ret_code)
{
    if (!connect_once(cli, sources, ret_code))
        return false;
    source->workflow = workflow_registry_find(sources->session.cluster->workflows, name, version);
    if (source->workflow != NULL)
        return true;
    cli_report(cli, "UnknownWorkflow",
               "workflow %.80s is not deployed: `reeve workflow list` shows what is",
               source->argument);
    *ret_code = sources->compares ? EXIT_CODE_DATA : EXIT_CODE_NEGATIVE; /* 1: they differ */
    return false;
}

static bool find(struct cli *cli, struct workflow_sources *sources, struct workflow_source *source,
                 int *ret_code)
{
    struct text name;
    uint32_t version;
    if (names_file(source->argument))
        return read_file(cli, source, ret_code);
    if (workflow_parse_name(source->argument, &name, &version))
        return find_deployed(cli, sources, source, name, version, ret_code);
    *ret_code =
        cli_usage(cli, "\"%.80s\": expected NAME, NAME:VERSION or a file's path", source->argument);
    return false;
}

/* The deployed version goes first: what the file would change. */
static bool add_active(struct cli *cli, struct workflow_sources *sources, int *ret_code)
{
    struct workflow_source *active = &sources->of[0];
    if (!sources->of[0].is_file) {
        *ret_code = cli_usage(cli, "expected two workflows, or a file to compare with the active "
                                   "version of its workflow");
        return false;
    }
    sources->of[1] = sources->of[0];
    *active = (struct workflow_source){.argument = sources->of[1].argument};
    sources->count = 2;
    return find_deployed(cli, sources, active, sources->of[1].workflow->name, 0, ret_code);
}

bool workflow_sources_init(struct cli *cli, bool compares, struct workflow_sources *ret_sources,
                           int *ret_code)
{
    struct workflow_sources *sources = ret_sources;
    memset(sources, 0, sizeof(*sources));
    sources->compares = compares;
    assert(cli->argument_count >= 1 && cli->argument_count <= WORKFLOW_SOURCES_MAX);
    for (int i = 0; i < cli->argument_count; i++) {
        sources->of[i].argument = cli->arguments[i];
        if (!find(cli, sources, &sources->of[i], ret_code))
            return false;
        sources->count++;
    }
    return !compares || sources->count == 2 || add_active(cli, sources, ret_code);
}

void workflow_sources_deinit(struct workflow_sources *sources)
{
    for (int i = 0; i < WORKFLOW_SOURCES_MAX; i++) {
        if (sources->of[i].is_file)
            workflow_file_deinit(&sources->of[i].file);
    }
    if (sources->connected)
        cli_session_close(&sources->session);
}
