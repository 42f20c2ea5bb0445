/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/property/engine_migrate.h"

#include <assert.h>
#include <stdlib.h>

static int find_step(const struct workflow *workflow, struct text name)
{
    for (uint32_t i = 0; i < workflow->step_count; i++) {
        if (text_equal(workflow->steps[i].name, name))
            return (int)i;
    }
    return -1;
}

void services_migrate(struct services *services, const struct workflow *workflow)
{
    const struct workflow *before = services->workflow;
    struct ledger(*ledgers)[AGENTS_COUNT] = calloc(WORKFLOW_STEPS_MAX, sizeof(*ledgers));
    assert(ledgers != NULL);
    for (uint32_t i = 0; i < before->step_count; i++) {
        int to = find_step(workflow, before->steps[i].name);
        if (to >= 0)
            memcpy(ledgers[to], services->ledgers[i], sizeof(*ledgers));
    }
    memcpy(services->ledgers, ledgers, sizeof(services->ledgers));
    free(ledgers);
    for (uint32_t i = 0; i < services->call_count; i++) {
        int to = find_step(workflow, before->steps[services->calls[i].step].name);
        assert(to >= 0); /* what was started is in every version */
        services->calls[i].step = (uint32_t)to;
    }
    services->workflow = workflow;
}
