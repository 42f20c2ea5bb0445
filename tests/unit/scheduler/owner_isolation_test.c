/* SPDX-License-Identifier: Apache-2.0 */
/* One thing is away or broken: only what needs it waits, and the owner says for what. */
#include "platform/failpoint.h"
#include "platform/logger.h"
#include "services/scheduler/router/router.h"
#include "tests/unit/scheduler/owner_kit.h"
#include "tests/unit/statestore/kit.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <sys/resource.h>

TestSuite(owner_isolation);

static void assert_names(const struct owner *owner, const char *what)
{
    cr_assert(strstr(owner_kit_trouble(owner), what) != NULL, "'%s' does not name %s",
              owner_kit_trouble(owner), what);
}

/* ---- side topics ---- */

static int64_t submit_version(struct owner_kit *kit, const char *order_id, uint32_t version)
{
    struct command cmd = owner_kit_submission(order_id);
    cmd.submit_order.workflow_version = version;
    return owner_kit_command(kit, &cmd);
}

static void deploy_version_2(struct owner_kit *kit)
{
    owner_kit_deploy(kit, "test", 2,
                     "{\"Name\": \"test\", \"Version\": 2, \"Steps\": "
                     "[{\"Name\": \"A\", \"Agent\": \"agent\"}]}");
}

Test(owner_isolation, delays_a_command_while_the_workflows_are_unreadable)
{
    static struct owner_kit kit;
    owner_kit_begin(&kit, 2);
    struct owner_kit_process *process = owner_kit_boot(&kit, "s-1", 0);
    const struct owner *waits = owner_kit_own(process, 0);
    owner_kit_own(process, 1);
    owner_kit_run(&kit, 1000);
    broker_memory_set_partition_fault(kit.kafka, "p.workflows", 0, PARTITION_UNREADABLE);
    deploy_version_2(&kit);
    const char *delayed = owner_kit_id(&kit, 0, 1);
    submit_version(&kit, delayed, 2);
    owner_kit_submit(&kit, owner_kit_id(&kit, 1, 1));
    owner_kit_run(&kit, 60000);
    cr_assert_eq(owner_kit_decisions(&kit, 0), 0);
    cr_assert_eq(owner_kit_decisions(&kit, 1), 1);
    assert_names(waits, "p.workflows");
    cr_assert_eq(owner_kit_alerts(&kit, "Stalled", true), 1);
    broker_memory_clear_partition_faults(kit.kafka);
    owner_kit_run(&kit, 10000);
    cr_assert_eq(owner_kit_decision(&kit, 0, delayed)->events[0].kind, EVENT_ORDER_ACCEPTED);
    cr_assert_eq(owner_kit_alerts(&kit, "Stalled", false), 1);
    cr_assert_str_eq(owner_kit_trouble(waits), "");
}

/* While a process is suspended, nothing is known of the partition, which another one may own by the
 * time it wakes up. */
Test(owner_isolation, does_not_count_the_time_for_which_its_process_was_suspended)
{
    static struct owner_kit kit;
    owner_kit_begin(&kit, 1);
    struct owner_kit_process *process = owner_kit_boot(&kit, "s-1", 0);
    const struct owner *owner = owner_kit_own(process, 0);
    owner_kit_run(&kit, 1000);
    broker_memory_set_partition_fault(kit.kafka, "p.events", 0, PARTITION_NO_LEADER);
    owner_kit_submit(&kit, owner_kit_id(&kit, 0, 1));
    owner_kit_run(&kit, 3000);
    clock_manual_advance(&kit.clock, 60000);
    clock_manual_advance(&process->clock, 60000);
    owner_kit_run(&kit, 1000);
    cr_assert_eq(owner_kit_alerts(&kit, "Stalled", true), 0);
    cr_assert_str_eq(owner_kit_trouble(owner), "");
    owner_kit_run(&kit, 16000);
    cr_assert_eq(owner_kit_alerts(&kit, "Stalled", true), 1);
}

Test(owner_isolation, rejects_a_workflow_that_is_not_deployed_once_it_is_sure)
{
    static struct owner_kit kit;
    owner_kit_begin(&kit, 1);
    owner_kit_own(owner_kit_boot(&kit, "s-1", 0), 0);
    submit_version(&kit, "a", 3);
    owner_kit_run(&kit, 10000);
    cr_assert_eq(owner_kit_decision(&kit, 0, "a")->events[0].kind, EVENT_COMMAND_REJECTED);
}

Test(owner_isolation, delays_a_command_while_the_schemas_are_unreadable)
{
    static struct owner_kit kit;
    owner_kit_begin(&kit, 2);
    struct owner_kit_process *process = owner_kit_boot(&kit, "s-1", 0);
    const struct owner *waits = owner_kit_own(process, 0);
    owner_kit_own(process, 1);
    owner_kit_run(&kit, 1000);
    broker_memory_set_partition_fault(kit.kafka, "p.schemas", 0, PARTITION_UNREADABLE);
    broker_memory_append(kit.kafka, "p.commands", 0, text_of(owner_kit_id(&kit, 0, 1)),
                         owner_kit_unknown_schema);
    owner_kit_submit(&kit, owner_kit_id(&kit, 1, 1));
    owner_kit_run(&kit, 60000);
    cr_assert_eq(owner_kit_decisions(&kit, 0), 0);
    cr_assert_eq(owner_kit_decisions(&kit, 1), 1);
    assert_names(waits, "p.schemas");
    broker_memory_clear_partition_faults(kit.kafka);
    owner_kit_run(&kit, 10000);
    cr_assert_eq(owner_kit_decisions(&kit, 0), 1);
}

/* ---- leaders ---- */

static void assert_goes_on_after(struct owner_kit *kit, enum broker_memory_partition_fault fault,
                                 const struct owner *owner, const char *what)
{
    broker_memory_set_partition_fault(kit->kafka, "p.events", 0, fault);
    owner_kit_submit(kit, owner_kit_id(kit, 0, 9));
    owner_kit_run(kit, 60000);
    assert_names(owner, what);
    cr_assert_eq(owner_kit_alerts(kit, "Stalled", true), 1);
    broker_memory_clear_partition_faults(kit->kafka);
    owner_kit_run(kit, 10000);
    cr_assert_eq(owner_kit_decisions(kit, 0), 1);
    cr_assert_str_eq(owner_kit_trouble(owner), "");
    cr_assert_eq(owner_kit_alerts(kit, "Stalled", false), 1);
}

Test(owner_isolation, names_the_leader_that_does_not_acknowledge_decisions)
{
    static struct owner_kit kit;
    owner_kit_begin(&kit, 1);
    const struct owner *owner = owner_kit_own(owner_kit_boot(&kit, "s-1", 0), 0);
    owner_kit_run_until(&kit, owner, OWNER_RUNNING, 1000);
    assert_goes_on_after(&kit, PARTITION_HOLDS_ACKS, owner,
                         "the leader of p.events[0] to acknowledge 1 Decisions");
}

Test(owner_isolation, names_the_leader_that_does_not_acknowledge_a_claim)
{
    static struct owner_kit kit;
    owner_kit_begin(&kit, 1);
    const struct owner *owner = owner_kit_own(owner_kit_boot(&kit, "s-1", 0), 0);
    assert_goes_on_after(&kit, PARTITION_READ_ONLY, owner,
                         "the leader of p.events[0] to acknowledge its claim");
}

Test(owner_isolation, names_the_log_that_it_cannot_read)
{
    static struct owner_kit kit;
    owner_kit_begin(&kit, 1);
    const struct owner *owner = owner_kit_own(owner_kit_boot(&kit, "s-1", 0), 0);
    assert_goes_on_after(&kit, PARTITION_NO_LEADER, owner, "p.events[0]");
}

Test(owner_isolation, names_the_commands_that_it_cannot_inspect)
{
    static struct owner_kit kit;
    owner_kit_begin(&kit, 1);
    const struct owner *owner = owner_kit_own(owner_kit_boot(&kit, "s-1", 0), 0);
    broker_memory_set_partition_fault(kit.kafka, "p.commands", 0, PARTITION_NO_LEADER);
    owner_kit_run(&kit, 60000);
    assert_names(owner, "p.commands[0]");
    cr_assert_eq(owner_kit_count(&kit, "p.events", 0, RECORD_CLAIM), 1);
    broker_memory_clear_partition_faults(kit.kafka);
    owner_kit_run_until(&kit, owner, OWNER_RUNNING, 5000);
}

/* A StartStep for an order of partition 0 is decided, but never acknowledged. */
static struct owner *own_with_outstanding_start(struct owner_kit *kit)
{
    owner_kit_begin(kit, 1);
    struct owner_kit_process *process = owner_kit_boot(kit, "s-1", 1);
    struct owner *owner = owner_kit_own(process, 0);
    owner_kit_submit(kit, "a");
    owner_kit_submit(kit, "b");
    owner_kit_run(kit, 1000);
    broker_memory_set_partition_fault(kit->kafka, "p.commands", 0, PARTITION_HOLDS_ACKS);
    owner_kit_report(kit, "a");
    owner_kit_run(kit, 1000);
    cr_assert_eq(owner_kit_requests(kit, "b"), 1);
    return owner;
}

Test(owner_isolation, names_the_answers_that_it_awaits_before_it_claims_again)
{
    static struct owner_kit kit;
    const struct owner *owner = own_with_outstanding_start(&kit);
    broker_memory_append(kit.kafka, "p.events", 0, TEXT("x"), TEXT("third party"));
    owner_kit_submit(&kit, "c");
    owner_kit_run(&kit, 10000);
    cr_assert_eq(owner_state(owner), OWNER_GIVING_UP);
    assert_names(owner, "1 answers");
}

Test(owner_isolation, drops_a_damaged_store_after_the_last_answer)
{
    static struct owner_kit kit;
    const struct owner *owner = own_with_outstanding_start(&kit);
    cr_assert(failpoint_configure("cycle.store=error@1"));
    owner_kit_submit(&kit, "c");
    owner_kit_run(&kit, 1000);
    cr_assert_eq(owner_state(owner), OWNER_GIVING_UP);
    broker_memory_clear_partition_faults(kit.kafka);
    owner_kit_run_until(&kit, owner, OWNER_RUNNING, 10000);
    cr_assert_eq(owner_kit_alerts(&kit, "StoreDamaged", true), 1);
}

/* ---- capacity ---- */

/* The agent takes one step at a time. It runs one of partition 0; one of partition 1 waits. */
static struct owner_kit_process *fill_agent(struct owner_kit *kit, const char **ret_runs,
                                            const char **ret_waits)
{
    owner_kit_begin(kit, 2);
    struct owner_kit_process *process = owner_kit_boot(kit, "s-1", 1);
    owner_kit_own(process, 0);
    owner_kit_own(process, 1);
    owner_kit_run(kit, 1000);
    *ret_runs = owner_kit_id(kit, 0, 1);
    owner_kit_submit(kit, *ret_runs);
    owner_kit_run(kit, 1000);
    cr_assert_eq(owner_kit_requests(kit, *ret_runs), 1);
    *ret_waits = owner_kit_id(kit, 1, 1);
    return process;
}

Test(owner_isolation, releases_the_capacity_of_a_partition_whose_leader_is_away)
{
    static struct owner_kit kit;
    const char *runs, *waits;
    fill_agent(&kit, &runs, &waits);
    broker_memory_set_partition_fault(kit.kafka, "p.events", 0, PARTITION_HOLDS_ACKS);
    owner_kit_submit(&kit, owner_kit_id(&kit, 0, 2));
    owner_kit_run(&kit, 100);
    owner_kit_report(&kit, runs);
    owner_kit_submit(&kit, waits);
    owner_kit_run(&kit, 20000);
    cr_assert_eq(owner_kit_requests(&kit, waits), 1);
    broker_memory_clear_partition_faults(kit.kafka);
    owner_kit_report(&kit, waits);
    owner_kit_run(&kit, 20000);
    cr_assert_eq(owner_kit_requests(&kit, owner_kit_id(&kit, 0, 2)), 1);
}

Test(owner_isolation, releases_the_capacity_of_a_start_that_is_not_delivered)
{
    static struct owner_kit kit;
    const char *runs, *waits;
    const struct owner_kit_process *process = fill_agent(&kit, &runs, &waits);
    const char *stuck = owner_kit_id(&kit, 0, 2);
    owner_kit_submit(&kit, stuck);
    owner_kit_run(&kit, 1000);
    owner_kit_submit(&kit, waits);
    owner_kit_run(&kit, 1000);
    broker_memory_set_partition_fault(kit.kafka, "p.commands", 0, PARTITION_READ_ONLY);
    owner_kit_report(&kit, runs);
    owner_kit_run(&kit, 20000);
    cr_assert_eq(owner_kit_requests(&kit, stuck), 0);
    cr_assert_eq(owner_kit_requests(&kit, waits), 1);
    assert_names(process->owners[0], "p.commands[0] to acknowledge 1 StartStep");
    broker_memory_clear_partition_faults(kit.kafka);
    owner_kit_report(&kit, waits);
    owner_kit_run(&kit, 20000);
    cr_assert_eq(owner_kit_requests(&kit, stuck), 1);
    cr_assert_str_eq(owner_kit_trouble(process->owners[0]), "");
}

/* Its report cannot be read: with nothing to decide, the owner has to ask. */
Test(owner_isolation, releases_the_capacity_of_a_partition_whose_commands_do_not_come)
{
    static struct owner_kit kit;
    const char *runs, *waits;
    const struct owner_kit_process *process = fill_agent(&kit, &runs, &waits);
    broker_memory_set_partition_fault(kit.kafka, "p.commands", 0, PARTITION_UNREADABLE);
    owner_kit_report(&kit, runs);
    owner_kit_submit(&kit, waits);
    owner_kit_run(&kit, 20000);
    cr_assert_eq(owner_kit_requests(&kit, waits), 1);
    assert_names(process->owners[0], "p.commands[0] to hand over the next commands");
    broker_memory_clear_partition_faults(kit.kafka);
    owner_kit_run(&kit, 20000);
    cr_assert_str_eq(owner_kit_trouble(process->owners[0]), "");
}

/* One step runs for long, and nothing is wrong. */
Test(owner_isolation, holds_the_capacity_of_a_step_while_its_commands_can_be_read)
{
    static struct owner_kit kit;
    const char *runs, *waits;
    const struct owner_kit_process *process = fill_agent(&kit, &runs, &waits);
    owner_kit_submit(&kit, waits);
    owner_kit_run(&kit, 20000);
    cr_assert_eq(owner_kit_requests(&kit, waits), 0);
    cr_assert_str_eq(owner_kit_trouble(process->owners[0]), "");
}

/* Each start fails at once, so that none is ever outstanding for long. */
Test(owner_isolation, releases_the_capacity_of_starts_that_fail)
{
    static struct owner_kit kit;
    const char *runs, *waits;
    fill_agent(&kit, &runs, &waits);
    owner_kit_submit(&kit, owner_kit_id(&kit, 0, 2));
    owner_kit_run(&kit, 1000);
    owner_kit_submit(&kit, waits);
    broker_memory_set_partition_fault(kit.kafka, "p.commands", 0, PARTITION_FAILS_APPEND);
    owner_kit_report(&kit, runs);
    for (int64_t ms = 0; ms < 30000 && owner_kit_requests(&kit, waits) == 0; ms += 500) {
        owner_kit_run(&kit, 500);
        router_pick(kit.processes[0].router, true);
    }
    cr_assert_eq(owner_kit_requests(&kit, waits), 1);
}

Test(owner_isolation, releases_the_capacity_of_a_stopped_partition)
{
    static struct owner_kit kit;
    const char *runs, *waits;
    struct owner_kit_process *process = fill_agent(&kit, &runs, &waits);
    owner_kit_release(process, 0);
    broker_memory_append(kit.kafka, "p.events", 0, TEXT("x"), owner_kit_unknown_schema);
    const struct owner *stopped = owner_kit_own(process, 0);
    owner_kit_run_until(&kit, stopped, OWNER_STOPPED, 20000);
    owner_kit_submit(&kit, waits);
    owner_kit_run(&kit, 1000);
    cr_assert_eq(owner_kit_requests(&kit, waits), 1);
}

/* ---- careful partitions ---- */

/* The claim before its own was followed by no Decision: the owner of partition 0 guards. */
static struct owner *own_carefully(struct owner_kit *kit, struct owner_kit_process *process,
                                   int32_t partition)
{
    struct claim claim = {.instance = TEXT("other"), .partition_count = kit->partitions};
    claim.claim_id.bytes[0] = 7;
    owner_kit_send(kit, "p.events", partition, TEXT("other"), RECORD_CLAIM, &claim);
    struct owner *owner = owner_kit_own(process, partition);
    owner_kit_run_until(kit, owner, OWNER_RUNNING, 1000);
    return owner;
}

static void guard_without_leader(struct owner_kit *kit, bool other_is_careful)
{
    owner_kit_begin(kit, 2);
    struct owner_kit_process *process = owner_kit_boot(kit, "s-1", 0);
    struct owner *guards = own_carefully(kit, process, 0);
    struct owner *other =
        other_is_careful ? own_carefully(kit, process, 1) : owner_kit_own(process, 1);
    owner_kit_run_until(kit, other, OWNER_RUNNING, 1000);
    broker_memory_set_partition_fault(kit->kafka, "p.events", 0, PARTITION_HOLDS_ACKS);
    owner_kit_submit(kit, owner_kit_id(kit, 0, 1));
    owner_kit_run_until(kit, guards, OWNER_APPENDING, 1000);
    owner_kit_submit(kit, owner_kit_id(kit, 1, 1));
    owner_kit_run(kit, 1000);
    cr_assert_eq(owner_kit_decisions(kit, 1), 0);
    owner_kit_run(kit, 10000);
    cr_assert_eq(owner_kit_decisions(kit, 1), 1);
    owner_kit_submit(kit, owner_kit_id(kit, 1, 2));
    owner_kit_run(kit, 1000);
    cr_assert_eq(owner_kit_decisions(kit, 1), 2);
    broker_memory_clear_partition_faults(kit->kafka);
    owner_kit_run(kit, 1000);
    cr_assert_eq(owner_kit_decisions(kit, 0), 1);
}

/* Whatever crashes the process now would cost the guarded command one of its tries. */
Test(owner_isolation, decides_nothing_while_another_partition_guards_a_command)
{
    static struct owner_kit kit;
    guard_without_leader(&kit, false);
}

Test(owner_isolation, guards_commands_although_the_leader_of_another_partition_is_away)
{
    static struct owner_kit kit;
    guard_without_leader(&kit, true);
}

/* ---- stores ---- */

static rlim_t open_files(void)
{
    rlim_t count = 0;
    DIR *dir = opendir("/proc/self/fd");
    while (readdir(dir) != NULL)
        count++;
    closedir(dir);
    return count;
}

Test(owner_isolation, stops_one_partition_when_its_store_cannot_be_opened_again)
{
    static struct owner_kit kit;
    struct rlimit before;
    owner_kit_begin(&kit, 2);
    struct owner_kit_process *process = owner_kit_boot(&kit, "s-1", 0);
    struct owner *broken = owner_kit_own(process, 0);
    struct owner *other = owner_kit_own(process, 1);
    owner_kit_run_until(&kit, other, OWNER_RUNNING, 1000);
    cr_assert_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
    struct rlimit low = {.rlim_cur = open_files() / 2, .rlim_max = before.rlim_max};
    cr_assert(failpoint_configure("cycle.store=error@1"));
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &low), 0);
    owner_kit_submit(&kit, owner_kit_id(&kit, 0, 1));
    owner_kit_run(&kit, 60000);
    cr_assert_eq(owner_state(broken), OWNER_STOPPED);
    assert_names(broken, "store");
    owner_kit_submit(&kit, owner_kit_id(&kit, 1, 1));
    owner_kit_run(&kit, 1000);
    cr_assert_eq(owner_kit_decisions(&kit, 1), 1);
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
    owner_kit_run_until(&kit, broken, OWNER_RUNNING, 60000);
    cr_assert_eq(owner_kit_decisions(&kit, 0), 1);
    owner_kit_submit(&kit, owner_kit_id(&kit, 0, 2));
    owner_kit_run(&kit, 1000);
    cr_assert_eq(owner_kit_decisions(&kit, 0), 2);
}

/* Both stores are on it. Not even closing them may abort the process. */
Test(owner_isolation, stops_its_partitions_while_the_disk_refuses_writes)
{
    static struct owner_kit kit;
    struct owner *owners[2];
    owner_kit_begin(&kit, 2);
    struct owner_kit_process *process = owner_kit_boot(&kit, "s-1", 0);
    for (int32_t partition = 0; partition < 2; partition++) {
        owners[partition] = owner_kit_own(process, partition);
        owner_kit_run_until(&kit, owners[partition], OWNER_RUNNING, 1000);
    }
    kit_limit_files(0);
    for (int32_t partition = 0; partition < 2; partition++)
        owner_kit_submit(&kit, owner_kit_id(&kit, partition, 1));
    owner_kit_run(&kit, 60000);
    for (int32_t partition = 0; partition < 2; partition++) {
        cr_assert_eq(owner_state(owners[partition]), OWNER_STOPPED);
        assert_names(owners[partition], "File too large");
    }
    cr_assert_eq(owner_kit_alerts(&kit, "StoreIo", true), 2);
    kit_limit_files(RLIM_INFINITY);
    for (int32_t partition = 0; partition < 2; partition++) {
        owner_kit_run_until(&kit, owners[partition], OWNER_RUNNING, 60000);
        owner_kit_submit(&kit, owner_kit_id(&kit, partition, 2));
        owner_kit_run(&kit, 1000);
        cr_assert_eq(owner_kit_decisions(&kit, partition), 2);
    }
}

static void assert_stops_until_the_disk_takes_writes(struct owner_kit *kit,
                                                     const struct owner *owner)
{
    owner_kit_run(kit, 60000);
    cr_assert_eq(owner_state(owner), OWNER_STOPPED);
    assert_names(owner, "File too large");
    kit_limit_files(RLIM_INFINITY);
    owner_kit_run_until(kit, owner, OWNER_RUNNING, 60000);
}

/* There is nothing to store yet, but a claim to flush. */
Test(owner_isolation, stops_before_it_runs_while_the_disk_refuses_writes)
{
    static struct owner_kit kit;
    owner_kit_begin(&kit, 1);
    struct owner_kit_process *process = owner_kit_boot(&kit, "s-1", 0);
    owner_kit_run_until(&kit, owner_kit_own(process, 0), OWNER_RUNNING, 1000);
    owner_kit_release(process, 0);
    broker_memory_set_partition_fault(kit.kafka, "p.commands", 0, PARTITION_NO_LEADER);
    const struct owner *owner = owner_kit_own(process, 0);
    owner_kit_run_until(&kit, owner, OWNER_INSPECTING, 1000);
    kit_limit_files(0);
    owner_kit_run(&kit, 20000);
    cr_assert_eq(owner_state(owner), OWNER_STOPPED);
    broker_memory_clear_partition_faults(kit.kafka);
    assert_stops_until_the_disk_takes_writes(&kit, owner);
}

Test(owner_isolation, stops_after_it_gave_up_while_the_disk_refuses_writes)
{
    static struct owner_kit kit;
    const struct owner *owner = own_with_outstanding_start(&kit);
    kit_limit_files(0);
    broker_memory_append(kit.kafka, "p.events", 0, TEXT("x"), TEXT("third party"));
    owner_kit_submit(&kit, "c");
    owner_kit_run(&kit, 20000);
    cr_assert_eq(owner_state(owner), OWNER_GIVING_UP);
    broker_memory_clear_partition_faults(kit.kafka);
    assert_stops_until_the_disk_takes_writes(&kit, owner);
}

/* It is the log that is wrong, and the store may be the only copy of the right one. */
Test(owner_isolation, keeps_the_store_of_a_stopped_partition_while_the_disk_refuses_writes)
{
    static struct owner_kit kit;
    owner_kit_begin(&kit, 1);
    const struct owner *owner = owner_kit_own(owner_kit_boot(&kit, "s-1", 0), 0);
    owner_kit_run_until(&kit, owner, OWNER_RUNNING, 1000);
    owner_kit_submit(&kit, "a");
    owner_kit_run(&kit, 1000);
    int64_t end = owner_kit_end(&kit, "p.events", 0);
    kit_limit_files(0);
    broker_memory_topic(kit.kafka, "p.events", 1);
    owner_kit_claim(&kit, 0, 8);
    owner_kit_submit(&kit, "b");
    owner_kit_run(&kit, 60000);
    kit_limit_files(RLIM_INFINITY);
    owner_kit_run(&kit, 60000);
    cr_assert_eq(owner_state(owner), OWNER_STOPPED);
    assert_names(owner, "is not the log");
    cr_assert_eq(view_checkpoint(owner_view(owner))->next_event_offset, end);
}
