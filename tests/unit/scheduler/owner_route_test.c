/* SPDX-License-Identifier: Apache-2.0 */
/* An owner, its router and orders that change their queue while the router has read it. */
#include "services/scheduler/router/router.h"
#include "tests/unit/scheduler/owner_kit.h"

#include <criterion/criterion.h>

TestSuite(owner_route);

static void migrate(struct owner_kit *kit, const char *order_id, uint32_t version)
{
    struct command cmd = {.kind = COMMAND_MIGRATE_ORDER, .order_id = text_of(order_id)};
    cmd.migrate_order = (struct migrate_order){
        .order_id = cmd.order_id, .version = version, .by = TEXT("ann"), .reason = TEXT("test")};
    owner_kit_command(kit, &cmd);
}

/* Two steps run, and three wait; when the first one ends, the router reads all three. One of them
 * goes to another queue, and the router reads it there again. */
Test(owner_route, starts_a_step_once_that_has_left_a_queue_by_migration)
{
    static struct owner_kit kit;
    const char *ids[5];
    owner_kit_begin(&kit, 1);
    owner_kit_deploy(&kit, "test", 2,
                     "{\"Name\": \"test\", \"Version\": 2, \"Steps\": [{\"Name\": \"A\", "
                     "\"Agent\": \"agent\"}]}");
    struct owner *owner = owner_kit_own(owner_kit_boot(&kit, "s-1", 2), 0);
    owner_kit_run_until(&kit, owner, OWNER_RUNNING, 10000);
    for (uint32_t i = 0; i < 5; i++) {
        ids[i] = owner_kit_id(&kit, 0, i);
        owner_kit_submit(&kit, ids[i]);
        owner_kit_run(&kit, 1000);
    }
    owner_kit_report(&kit, ids[0]);
    owner_kit_run(&kit, 1000);
    cr_assert_eq(owner_kit_requests(&kit, ids[2]), 1);
    migrate(&kit, ids[3], 2);
    owner_kit_run(&kit, 1000);
    owner_kit_report(&kit, ids[1]);
    owner_kit_report(&kit, ids[2]);
    owner_kit_run(&kit, 1000);
    cr_assert_eq(owner_kit_requests(&kit, ids[3]), 1);
    cr_assert_eq(owner_kit_requests(&kit, ids[4]), 1);
    cr_assert_eq(owner_state(owner), OWNER_RUNNING);
}

/* By its reports, an agent shows how many attempts it can take. */
Test(owner_route, counts_what_the_agent_reports)
{
    static struct owner_kit kit;
    owner_kit_begin(&kit, 1);
    struct owner_kit_process *process = owner_kit_boot(&kit, "s-1", 2);
    struct owner *owner = owner_kit_own(process, 0);
    owner_kit_run_until(&kit, owner, OWNER_RUNNING, 10000);
    const char *id = owner_kit_id(&kit, 0, 0);
    owner_kit_submit(&kit, id);
    owner_kit_run(&kit, 1000);
    const struct route_agent *agent = router_agent(process->router, TEXT("agent"));
    cr_assert_eq(agent->completed, 0);
    owner_kit_report(&kit, id);
    owner_kit_run(&kit, 1000);
    cr_assert_eq(agent->completed, 1);
    owner_kit_report(&kit, id); /* a repeated report completes nothing */
    owner_kit_run(&kit, 1000);
    cr_assert_eq(agent->completed, 1);
}
