/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the agents of a deployed workflow are running. */
#ifndef CLI_WORKFLOW_AGENT_CHECK_H
#define CLI_WORKFLOW_AGENT_CHECK_H

#include "cli/session.h"
#include "engine/workflow.h"
#include "replica/agents/agent_table.h"

#define AGENT_CHECK_FLAG                                                                      \
    {                                                                                         \
        "no-agent-check", NULL, "Does not look whether an instance of each agent is running." \
    }

struct agent_check {
    struct agent_table *table; /* NULL: not begun */
    bool complete;             /* the topic was read to its end */
};

/* Reads <p>.agents, for some seconds at most; begins at the first call. */
void agent_check_read(struct agent_check *check, struct cli_session *session);
/* Before the session is closed. */
void agent_check_deinit(struct agent_check *check);

/* Warns of each agent of the workflow that no running instance serves. Nothing where the topic
 * could not be read: then it is not known. */
void agent_check_warn(const struct agent_check *check, struct cli *cli,
                      const struct workflow *workflow);

#endif
