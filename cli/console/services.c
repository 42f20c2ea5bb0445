/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve services`: the services that console.services names, and what each says about itself. */
#include "cli/console/console_client.h"
#include "cli/output.h"
#include "replica/settings.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static const struct output_column columns[] = {
    {"name", "SERVICE", false},
    {"result", "RESULT", false},
    {"version", "VERSION", false},
    {"message", "MESSAGE", false},
};

static const char *field_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text != NULL ? text : "";
}

static json_t *row_of(const json_t *service)
{
    const char *instance = field_of(service, "instance");
    const char *error = field_of(service, "error");
    const char *reason = error[0] != '\0' ? error : field_of(service, "reason");
    const char *well = reason[0] != '\0' ? "degraded" : "OK";
    bool ready = json_is_true(json_object_get(service, "ready"));
    json_t *row = json_object();
    json_object_set_new(row, "name",
                        instance[0] != '\0'
                            ? json_sprintf("%s %s", field_of(service, "service"), instance)
                            : json_string(field_of(service, "address")));
    json_object_set_new(row, "result", json_string(ready ? well : "failed"));
    json_object_set_new(row, "version", json_string(field_of(service, "version")));
    json_object_set_new(row, "message",
                        json_string(reason[0] != '\0' ? reason : field_of(service, "address")));
    return row;
}

static int print_services(struct cli *cli, const json_t *body)
{
    size_t i;
    const json_t *service;
    bool good = true;
    struct output *output = output_new(cli->out, CLI_OUTPUT_TABLE, columns, COUNT_OF(columns));
    if (json_array_size(json_object_get(body, "services")) == 0)
        cli_warn(cli, CODE_NO_SERVICES,
                 "the console asks no service: its setting console.services names those to ask");
    json_array_foreach(json_object_get(body, "services"), i, service) {
        good = good && json_is_true(json_object_get(service, "ready"));
        output_row(output, row_of(service));
    }
    return output_finish(output, good ? EXIT_CODE_OK : EXIT_CODE_NEGATIVE);
}

static int run(struct cli *cli)
{
    struct console_path path = {.size = 0};
    console_path_add(&path, "/api/services");
    return console_show(cli, &path, columns, COUNT_OF(columns), print_services);
}

static const struct cli_flag flags[] = {CONSOLE_FLAG, {NULL, NULL, NULL}};

static const struct cli_verb verbs[] = {
    {
        .summary = "Shows the services that the console's setting console.services names: whether "
                   "each is ready, and its version; JSON also has its configuration. Exit code 1: "
                   "one is not ready.",
        .examples = "reeve services\nreeve services --output json",
        .flags = flags,
        .config_services = SETTINGS_CLI,
        .output = true,
        .run = run,
    },
};

const struct cli_noun cli_services = {"services", "Readiness and versions of the services.", verbs,
                                      sizeof(verbs) / sizeof(verbs[0])};
