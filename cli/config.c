/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve config`: the effective configuration, where each value comes from, and the
 * documentation of all keys. */
#include "cli/cli.h"

#include "replica/service/settings.h"

#include <string.h>

static const struct {
    const char *name;
    unsigned bit;
} readers[] = {
    {"submission", SETTINGS_SUBMISSION}, {"scheduler", SETTINGS_SCHEDULER},
    {"agent", SETTINGS_AGENT},           {"supervisor", SETTINGS_SUPERVISOR},
    {"console", SETTINGS_CONSOLE},       {"cli", SETTINGS_CLI},
};

/* The keys of one service, or of all without an argument. 0: there is no such service. */
static unsigned services_of(const struct cli *cli)
{
    if (cli->argument_count == 0)
        return SETTINGS_ALL;
    for (size_t i = 0; i < sizeof(readers) / sizeof(readers[0]); i++) {
        if (strcmp(cli->arguments[0], readers[i].name) == 0)
            return readers[i].bit;
    }
    return 0;
}

static int run(struct cli *cli)
{
    unsigned services = services_of(cli);
    if (services == 0)
        return cli_usage(cli,
                         "unknown service \"%.60s\": expected submission, scheduler, agent, "
                         "supervisor, console or cli",
                         cli->arguments[0]);
    if (cli_flag_given(cli, "docs")) {
        config_markdown(&settings_schema, cli->out, services);
    } else if (cli_flag_given(cli, "keys")) {
        fputs("A key is a flag (--topics-prefix), an environment variable (REEVE_TOPICS_PREFIX), "
              "or a line of a\n--config FILE (topics.prefix = orders). kafka.* goes to "
              "librdkafka.\n\n",
              cli->out);
        config_help(&settings_schema, cli->out, services);
    } else {
        config_show(cli->config, cli->out, services);
    }
    return EXIT_CODE_OK;
}

static const struct cli_flag flags[] = {
    {"keys", NULL, "Lists the keys instead, with type, default and meaning."},
    {"docs", NULL, "The same as a Markdown table."},
    {NULL, NULL, NULL},
};

static const struct cli_verb verbs[] = {
    {
        .arguments = "[SERVICE]",
        .summary = "Shows the effective configuration, of all or of one SERVICE (`cli` is this "
                   "command line), and where each value comes from.",
        .examples = "reeve config\n"
                    "reeve config --config /etc/reeve.properties\n"
                    "# which keys there are\n"
                    "reeve config --keys\n"
                    "reeve config --keys scheduler",
        .flags = flags,
        .settings = CLI_SETTINGS_ALL,
        .plain = true,
        .run = run,
    },
};

const struct cli_noun cli_config = {"config", "The configuration.", verbs,
                                    sizeof(verbs) / sizeof(verbs[0])};
