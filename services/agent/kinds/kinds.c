/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve run agent`: agent.kind chooses one of the ready-made agents. */
#include "services/agent/kinds/kinds.h"
#include "services/services.h"

#include <assert.h>
#include <string.h>

static const struct agent_ops *ops_of_kind(const struct config *config)
{
    const char *kind = config_string(config, "agent.kind");
    if (strcmp(kind, "http") == 0)
        return &http_agent_ops;
    if (strcmp(kind, "exec") == 0)
        return &exec_agent_ops;
    assert(strcmp(kind, "sim") == 0); /* as replica/service/settings.c lists them */
    return &sim_agent_ops;
}

int agent_main(int argc, char **argv)
{
    return agent_service_main(ops_of_kind, NULL, argc, argv);
}
