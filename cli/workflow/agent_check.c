/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/workflow/agent_check.h"

#include "cli/workflow/deployment.h"

enum { READ_MS = 5000 };

static bool is_complete(void *ctx)
{
    const struct agent_check *check = ctx;
    return agent_table_is_complete(check->table);
}

void agent_check_read(struct agent_check *check, struct cli_session *session)
{
    static const struct agent_table_ops ops = {0};
    if (check->table != NULL)
        return;
    check->table = agent_table_follow(session->cluster, &ops, NULL);
    check->complete = cli_session_wait(session, is_complete, check, READ_MS);
}

void agent_check_deinit(struct agent_check *check)
{
    agent_table_free(check->table);
    check->table = NULL;
}

/* Of the steps that name the agent, the first. */
static const struct workflow_step *first_step_of(const struct workflow *workflow, struct text agent)
{
    for (uint32_t i = 0; i < workflow->step_count; i++) {
        for (uint32_t j = 0; j < workflow->steps[i].agent_count; j++) {
            if (text_equal(workflow->steps[i].agents[j], agent))
                return &workflow->steps[i];
        }
    }
    return NULL;
}

void agent_check_warn(const struct agent_check *check, struct cli *cli,
                      const struct workflow *workflow)
{
    struct text agents[WORKFLOW_AGENTS_MAX];
    size_t count = workflow_agents(workflow, agents);
    for (size_t i = 0; i < count && check->complete; i++) {
        const struct workflow_step *step = first_step_of(workflow, agents[i]);
        if (agent_table_find(check->table, agents[i]) != NULL || step == NULL)
            continue;
        cli_warn(cli, CODE_NO_AGENT,
                 "no running instance serves agent %.*s of step %.*s in %.*s:%u: %s; start one "
                 "(`reeve run agent`, agent.name=%.*s), or correct Agent and deploy the next "
                 "version",
                 TEXT_ARG(agents[i]), TEXT_ARG(step->name), TEXT_ARG(workflow->name),
                 workflow->version,
                 step->agent_count > 1 ? "only its other agents get it"
                                       : "it waits in the queue until one does",
                 TEXT_ARG(agents[i]));
    }
}
