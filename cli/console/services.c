/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve services`: the services that console.services names, and what each says about itself. */
#include "cli/console/console_client.h"
#include "cli/field.h"
#include "cli/output.h"

static json_t *name_of(const json_t *service)
{
    const char *instance = field_text(service, "instance");
    if (instance[0] == '\0')
        return json_string(field_text(service, "address"));
    return json_sprintf("%s %s", field_text(service, "service"), instance);
}

/* What is wrong, or "". */
static const char *reason_of(const json_t *service)
{
    const char *error = field_text(service, "error");
    return error[0] != '\0' ? error : field_text(service, "reason");
}

static json_t *result_of(const json_t *service)
{
    if (!json_is_true(json_object_get(service, "ready")))
        return json_string("failed");
    return json_string(reason_of(service)[0] != '\0' ? "degraded" : "OK");
}

static json_t *message_of(const json_t *service)
{
    const char *reason = reason_of(service);
    return json_string(reason[0] != '\0' ? reason : field_text(service, "address"));
}

static const struct output_column columns[] = {
    {"SERVICE", "", name_of, false},
    {"RESULT", "", result_of, false},
    {"VERSION", "version", output_value, false},
    {"MESSAGE", "", message_of, false},
    {0},
};

/* For programs. An instance that does not answer has no name. */
static json_t *instance_of(const json_t *service)
{
    const char *instance = field_text(service, "instance");
    return json_string(instance[0] != '\0' ? instance : field_text(service, "address"));
}

static const struct output_column value_columns[] = {
    {"INSTANCE", "", instance_of, false},
    {"SERVICE", "service", output_value, false},
    {"RESULT", "", result_of, false},
    {"VERSION", "version", output_value, false},
    {"ADDRESS", "address", output_value, false},
    {"MESSAGE", "", message_of, false},
    {0},
};

static int run(struct cli *cli)
{
    struct console_path path = {.size = 0};
    console_path_add(&path, "/api/services");
    bool is_table = cli->output == CLI_OUTPUT_TABLE;
    return console_show_list(
        cli, &path,
        &(struct console_list){.name = "services",
                               .good = "ready",
                               .columns = is_table ? columns : value_columns,
                               .none_code = CODE_NO_SERVICES,
                               .none = "the console asks no service: its setting console.services "
                                       "names those to ask"});
}

static const struct cli_verb verbs[] = {
    {
        .summary = "Shows the services that the console's setting console.services names: whether "
                   "each is ready, and its version; JSON also has its configuration. Exit code 1: "
                   "one is not ready.",
        .examples = "reeve services\nreeve services --output json",
        .flags = console_flags,
        .run = run,
    },
};

const struct cli_noun cli_services = {"services", "Readiness and versions of the services.", verbs,
                                      sizeof(verbs) / sizeof(verbs[0])};
