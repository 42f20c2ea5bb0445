/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve run SERVICE`: one service in this process, until SIGTERM. */
#include "base/suggest.h"
#include "cli/cli.h"
#include "services/services.h"

#include <string.h>

#define ROW(name) {#name, name##_main},
#define CHOICE(name) "|" #name
static const struct {
    const char *name;
    int (*main)(int argc, char **argv);
} services[] = {SERVICES(ROW)};
enum { SERVICE_COUNT = sizeof(services) / sizeof(services[0]) };

static int run(struct cli *cli)
{
    const char *names[SERVICE_COUNT];
    for (size_t i = 0; i < SERVICE_COUNT; i++) {
        if (strcmp(cli->arguments[0], services[i].name) == 0)
            return services[i].main(cli->argument_count - 1, cli->arguments + 1);
        names[i] = services[i].name;
    }
    const char *nearest = suggest_string(cli->arguments[0], names, SERVICE_COUNT);
    if (nearest == NULL)
        return cli_usage(cli,
                         "unknown service \"%.60s\": expected submission, scheduler, agent, "
                         "supervisor or console",
                         cli->arguments[0]);
    return cli_usage(cli, "unknown service \"%.60s\": did you mean \"%s\"?", cli->arguments[0],
                     nearest);
}

static const struct cli_verb verbs[] = {
    {
        .arguments = "SERVICE",
        .choices = &SERVICES(CHOICE)[1],
        .summary = "Runs submission, scheduler, agent, supervisor or console until SIGTERM.",
        .examples = "reeve run scheduler --config /etc/reeve.properties\n"
                    "reeve run agent --agent-name stock --agent-http-url http://127.0.0.1:8080\n"
                    "# the flags of one service: its configuration keys\n"
                    "reeve run scheduler --help",
        .raw = true,
        .settings = CLI_SETTINGS_NONE,
        .plain = true,
        .run = run,
    },
};

const struct cli_noun cli_run = {"run", "Services.", verbs, sizeof(verbs) / sizeof(verbs[0])};
