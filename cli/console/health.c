/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve health`: the console's checks, and with --output json its configuration. */
#include "cli/console/console_client.h"
#include "cli/output.h"

static json_t *result_of(const json_t *ok)
{
    return json_string(json_is_true(ok) ? "OK" : "failed");
}

static const struct output_column columns[] = {
    {"CHECK", "name", output_value, false},
    {"RESULT", "ok", result_of, false},
    {"MESSAGE", "message", output_value, false},
    {0},
};

static int run(struct cli *cli)
{
    struct console_path path = {.size = 0};
    console_path_add(&path, "/api/health");
    return console_show_list(
        cli, &path, &(struct console_list){.name = "checks", .good = "ok", .columns = columns});
}

static const struct cli_verb verbs[] = {
    {
        .summary = "Shows the console's checks; JSON also has its configuration. Exit code 1: a "
                   "check failed.",
        .examples = "reeve health\nreeve health --output json",
        .flags = console_flags,
        .run = run,
    },
};

const struct cli_noun cli_health = {"health", "Checks of the console.", verbs,
                                    sizeof(verbs) / sizeof(verbs[0])};
