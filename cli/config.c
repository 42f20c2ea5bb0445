/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve config`: the effective configuration, where each value comes from, and the
 * documentation of all keys. */
#include "cli/cli.h"

static int run(struct cli *cli)
{
    if (cli_flag_given(cli, "docs"))
        config_markdown(cli->out, CONFIG_ALL);
    else
        config_show(cli->config, cli->out, CONFIG_ALL);
    return EXIT_CODE_OK;
}

static const struct cli_flag flags[] = {
    {"docs", NULL, "All keys with their meaning and default, as a Markdown table."},
    {NULL, NULL, NULL},
};

static const struct cli_verb verbs[] = {
    {
        .summary = "Shows the effective configuration and where each value comes from.",
        .examples = "reeve config\n"
                    "reeve config --config /etc/reeve.properties\n"
                    "reeve config --docs",
        .flags = flags,
        .config_services = CONFIG_ALL,
        .run = run,
    },
};

const struct cli_noun cli_config = {"config", "The configuration.", verbs,
                                    sizeof(verbs) / sizeof(verbs[0])};
