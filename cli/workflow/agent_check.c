/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/workflow/agent_check.h"

#include "cli/workflow/deployment.h"
#include "workflow/bodies.h"

#include <assert.h>

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

/* Of the steps that name the agent, the first; NULL: none. */
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

static void warn_of(struct cli *cli, const struct workflow *workflow,
                    const struct workflow_step *step, struct text agent)
{
    cli_warn(cli, CODE_NO_AGENT,
             "no running instance serves agent %.*s of step %.*s in %.*s:%u: %s; start one "
             "(`reeve run agent`, agent.name=%.*s), or correct Agent and deploy the next version",
             TEXT_ARG(agent), TEXT_ARG(step->name), TEXT_ARG(workflow->name), workflow->version,
             step->agent_count > 1 ? "only its other agents get it"
                                   : "it waits in the queue until one does",
             TEXT_ARG(agent));
}

void agent_check_warn(const struct agent_check *check, struct cli *cli,
                      const struct workflow *workflow)
{
    struct text agents[WORKFLOW_FILE_AGENTS_MAX];
    const struct workflow *workflows[WORKFLOW_FILE_STEPS_MAX];
    size_t count = workflow_agents(workflow, agents);
    uint32_t workflow_count = workflow_list_file(workflow, workflows);
    for (size_t i = 0; i < count && check->complete; i++) {
        const struct workflow_step *step = NULL;
        uint32_t at = 0;
        if (agent_table_find(check->table, agents[i]) != NULL)
            continue;
        while ((step = first_step_of(workflows[at], agents[i])) == NULL)
            at++;
        assert(at < workflow_count);
        warn_of(cli, workflows[at], step, agents[i]);
    }
}
