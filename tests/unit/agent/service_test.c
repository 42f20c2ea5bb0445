/* SPDX-License-Identifier: Apache-2.0 */
/* Processes of agents that refuse their configuration. */
#include "platform/exit_code.h"
#include "platform/files.h"
#include "services/services.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

/* Nothing is created before the refusal. */
static void expect_refusal(const char *flag)
{
    char folder[] = "/tmp/reeve-agent-XXXXXX";
    char data[64];
    cr_assert(mkdtemp(folder) != NULL);
    snprintf(data, sizeof(data), "%s/data", folder);
    char *argv[] = {"--data-dir", data, (char *)(uintptr_t)flag};
    cr_expect_eq(agent_main(3, argv), EXIT_CODE_CONFIG);
    cr_expect(!files_exists(data));
    files_remove_tree(folder, NULL);
}

Test(agent_service, refuses_an_agent_without_a_name)
{
    expect_refusal("--agent-kind=sim");
}

Test(agent_service, refuses_a_name_that_appears_twice)
{
    expect_refusal("--agent-names=stock,stock");
}
