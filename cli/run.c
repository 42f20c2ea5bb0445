/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve run SERVICE`: one service in this process, until SIGTERM. */
#include "cli/cli.h"
#include "services/services.h"

#include <string.h>

/* Which services are in this build is CMake's to say. */
static const struct {
    const char *name;
    int (*main)(int argc, char **argv);
} services[] = {
#ifdef REEVE_HAS_SUBMISSION
    {"submission", submission_main},
#endif
#ifdef REEVE_HAS_SCHEDULER
    {"scheduler", scheduler_main},
#endif
#ifdef REEVE_HAS_AGENT
    {"agent", agent_main},
#endif
#ifdef REEVE_HAS_SUPERVISOR
    {"supervisor", supervisor_main},
#endif
#ifdef REEVE_HAS_CONSOLE
    {"console", console_main},
#endif
    {NULL, NULL},
};

bool cli_has_service(const char *name)
{
    bool found = false;
    for (size_t i = 0; services[i].name != NULL && !found; i++)
        found = strcmp(services[i].name, name) == 0;
    return found;
}

static int run(struct cli *cli)
{
    const char *names[sizeof(services) / sizeof(services[0])] = {NULL};
    size_t count = 0;
    for (size_t i = 0; services[i].name != NULL; i++) {
        if (strcmp(cli->arguments[0], services[i].name) == 0)
            return services[i].main(cli->argument_count - 1, cli->arguments + 1);
        names[count++] = services[i].name;
    }
    const char *nearest = config_nearest(cli->arguments[0], names, count);
    return cli_usage(cli, "there is no service \"%.60s\"%s%s%s", cli->arguments[0],
                     nearest != NULL ? ": did you mean \"" : "", nearest != NULL ? nearest : "",
                     nearest != NULL ? "\"?" : "");
}

static const struct cli_verb verbs[] = {
    {
        .arguments = "SERVICE",
        .arguments_min = 1,
        .arguments_max = -1,
        .summary = "Runs submission, scheduler, agent, supervisor or console until SIGTERM.",
        .examples = "reeve run scheduler --config /etc/reeve.properties\n"
                    "reeve run agent --agent-name stock --agent-http-url http://127.0.0.1:8080\n"
                    "# all the keys of one service\n"
                    "reeve run scheduler --help",
        .raw = true,
        .run = run,
    },
};

const struct cli_noun cli_run = {"run", "Services.", verbs, sizeof(verbs) / sizeof(verbs[0])};
