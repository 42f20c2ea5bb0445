/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve workflow migrate`: orders go on with the steps of another version. Sub-orders, whose
 * workflow is a body, NAME/STEP, go on by themselves. */
#include "cli/workflow/migrate.h"

#include "base/names.h"
#include "cli/console/operator_command.h"
#include "cli/field.h"
#include "cli/workflow/verbs.h"

#include <assert.h>

/* The versions that the command line names. */
struct versions {
    struct text name;
    uint32_t from;
    uint32_t to;
};

/* The arguments before the orders. */
static bool check(struct cli *cli, char **last, int *ret_code)
{
    struct text names[2];
    uint32_t versions[2];
    (void)last;
    for (int i = 0; i < 2; i++) {
        if (workflow_parse_name(cli->arguments[i - 2], &names[i], &versions[i]) && versions[i] != 0)
            continue;
        *ret_code = cli_usage(cli, "\"%.80s\": expected NAME:VERSION", cli->arguments[i - 2]);
        return false;
    }
    if (!text_equal(names[0], names[1]) || versions[0] == versions[1]) {
        *ret_code = cli_usage(cli, "expected two versions of one workflow: an order keeps its "
                                   "workflow");
        return false;
    }
    bool twice = cli_flag_given(cli, "workflow") || cli_flag_given(cli, "workflow-version");
    if (names[0].size > BODY_NAME_BYTES_MAX || twice) {
        *ret_code =
            cli_usage(cli, twice ? "--workflow, --workflow-version: the arguments name them"
                                 : "the name of a workflow or a body has at most 181 bytes");
        return false;
    }
    return true;
}

/* Of the command line, which was checked. */
static struct versions versions_of(const struct cli *cli)
{
    struct versions versions;
    struct text name;
    bool parsed = workflow_parse_name(cli->arguments[-2], &versions.name, &versions.from) &&
                  workflow_parse_name(cli->arguments[-1], &name, &versions.to);
    assert(parsed);
    return versions;
}

static enum error_class add_fields(struct cli *cli, char **last, json_t *body,
                                   struct error *ret_error)
{
    struct versions versions = versions_of(cli);
    (void)last;
    if (json_object_set_new(body, "workflow",
                            json_stringn(versions.name.data, versions.name.size)) != 0)
        return error_set(ret_error, CODE_USAGE, "the workflow's name must be UTF-8");
    json_object_set_new(body, "from_version", json_integer(versions.from));
    json_object_set_new(body, "version", json_integer(versions.to));
    return ERROR_OK;
}

static void add_query(struct cli *cli, struct console_path *path)
{
    struct versions versions = versions_of(cli);
    char name[BODY_NAME_BYTES_MAX + 1];
    char from[16];
    char to[16];
    snprintf(name, sizeof(name), "%.*s", TEXT_ARG(versions.name));
    snprintf(from, sizeof(from), "%u", (unsigned)versions.from);
    snprintf(to, sizeof(to), "%u", (unsigned)versions.to);
    console_path_add_query(path, "workflow", name);
    console_path_add_query(path, "from_version", from);
    console_path_add_query(path, "version", to);
}

/* "/api/workflows/NAME" of the file that has the workflow. */
static void add_file_path(struct console_path *path, struct text workflow)
{
    char name[BODY_NAME_BYTES_MAX + 1];
    snprintf(name, sizeof(name), "%.*s", TEXT_ARG(workflow_name_file(workflow)));
    console_path_add(path, "/api/workflows/");
    console_path_add_segment(path, name);
}

/* False after it reported: the version is not deployed, or takes no orders. */
static bool check_version(struct cli *cli, const struct console_client *client,
                          const char *argument, bool takes_orders, int *ret_code)
{
    struct text text;
    uint32_t version;
    struct error error;
    struct console_answer answer;
    struct console_path path = {.size = 0};
    bool parsed = workflow_parse_name(argument, &text, &version);
    assert(parsed && text.size <= BODY_NAME_BYTES_MAX);
    add_file_path(&path, text);
    console_path_add(&path, "/");
    console_path_add_segment(&path, argument + text.size + 1);
    if (console_query(client, &path, NULL, &answer, &error) != ERROR_OK) {
        *ret_code = cli_fail(cli, &error);
        return false;
    }
    if (answer.status != 200)
        *ret_code = console_refused(cli, &answer, argument);
    else if (takes_orders && json_is_true(json_object_get(answer.json, "retired"))) {
        cli_report(cli, CODE_WORKFLOW_RETIRED,
                   "%.80s is retired: `reeve workflow activate` has it take orders again",
                   argument);
        *ret_code = EXIT_CODE_NEGATIVE;
    }
    console_answer_deinit(&answer);
    return *ret_code == EXIT_CODE_OK;
}

/* Whether it is of a step that the workflow's orders have: of a body, those within it. Of a file,
 * all: the bodies of steps that have not begun go along. */
static bool concerns(struct text workflow, struct text step)
{
    struct text file = workflow_name_file(workflow);
    struct text path = text_from(workflow, file.size);
    if (path.size == 0)
        return true;
    path = text_from(path, 1);
    return step.size > path.size && memcmp(step.data, path.data, path.size) == 0 &&
           step.data[path.size] == '/';
}

/* What follows for agents once they get the orders' requests. False after it reported. */
static bool warn_of_changes(struct cli *cli, const struct console_client *client, int *ret_code)
{
    struct versions versions = versions_of(cli);
    struct error error;
    struct console_answer answer;
    struct console_path path = {.size = 0};
    size_t i;
    const json_t *difference;
    add_file_path(&path, versions.name);
    console_path_add(&path, "/diff");
    console_path_add_query(&path, "left", cli->arguments[-2] + versions.name.size + 1);
    console_path_add_query(&path, "right", cli->arguments[-1] + versions.name.size + 1);
    if (console_query(client, &path, NULL, &answer, &error) != ERROR_OK) {
        *ret_code = cli_fail(cli, &error);
        return false;
    }
    if (answer.status != 200)
        *ret_code = console_refused(cli, &answer, cli->arguments[-1]);
    json_array_foreach(json_object_get(answer.json, "differences"), i, difference) {
        const char *warning = json_string_value(json_object_get(difference, "warning"));
        const char *step = field_text(difference, "step");
        if (warning != NULL && concerns(versions.name, text_of(step)))
            cli_warn(cli, CODE_INPUT_CHANGED, "step %.181s, from version %u to %u: %s", step,
                     versions.from, versions.to, warning);
    }
    console_answer_deinit(&answer);
    return *ret_code == EXIT_CODE_OK;
}

static bool may_begin(struct cli *cli, const struct console_client *client, int *ret_code)
{
    return check_version(cli, client, cli->arguments[-2], false, ret_code) &&
           check_version(cli, client, cli->arguments[-1], true, ret_code) &&
           warn_of_changes(cli, client, ret_code);
}

static struct targets_version version_of(const struct cli *cli)
{
    struct versions versions = versions_of(cli);
    return (struct targets_version){versions.name, versions.from};
}

const struct operator_verb workflow_migrate = {
    .action = "migrate",
    .first_count = 2,
    .check = check,
    .add_fields = add_fields,
    .may_begin = may_begin,
    .add_query = add_query,
    .version_of = version_of,
};
