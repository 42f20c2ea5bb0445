/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve health`: the console's checks, and with --output json its configuration. */
#include "cli/console/console_client.h"
#include "cli/output.h"
#include "replica/settings.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static const struct output_column columns[] = {
    {"name", "CHECK", false},
    {"result", "RESULT", false},
    {"message", "MESSAGE", false},
};

static int print_checks(struct cli *cli, const json_t *body)
{
    const json_t *checks = json_object_get(body, "checks");
    size_t i;
    json_t *check;
    bool good = true;
    struct output *output = output_new(cli->out, CLI_OUTPUT_TABLE, columns, COUNT_OF(columns));
    json_array_foreach(checks, i, check) {
        bool ok = json_is_true(json_object_get(check, "ok"));
        good = good && ok;
        json_object_set_new(check, "result", json_string(ok ? "OK" : "failed"));
        output_row(output, json_incref(check));
    }
    return output_finish(output, good ? EXIT_CODE_OK : EXIT_CODE_NEGATIVE);
}

static int run(struct cli *cli)
{
    struct console_path path = {.size = 0};
    console_path_add(&path, "/api/health");
    return console_show(cli, &path, columns, COUNT_OF(columns), print_checks);
}

static const struct cli_flag flags[] = {CONSOLE_FLAG, {NULL, NULL, NULL}};

static const struct cli_verb verbs[] = {
    {
        .summary = "Shows the console's checks; JSON also has its configuration. Exit code 1: a "
                   "check failed.",
        .examples = "reeve health\nreeve health --output json",
        .flags = flags,
        .config_services = SETTINGS_CLI,
        .output = true,
        .run = run,
    },
};

const struct cli_noun cli_health = {"health", "Checks of the console.", verbs,
                                    sizeof(verbs) / sizeof(verbs[0])};
