/* SPDX-License-Identifier: Apache-2.0 */
/* Ownership, fencing and emission under random histories: schedulers crash between any two steps,
 * pause, come back as zombies, lose acknowledgements; after each step every live store equals a
 * fold of the log. And: a command that kills leaves no innocent ones under suspicion. */
#include "tests/lib/seed.h"
#include "tests/property/ownership_history.h"
#include "tests/property/ownership_run.h"
#include "tests/property/ownership_trees.h"

#include <criterion/criterion.h>

/* Four slices, because Criterion runs tests in parallel. */
enum {
    CASES = 10000,
    STEPS = 40,
    SLICES = 4,
    POISON_SHARE = 100,
    LOG_FAULT_SHARE = 50,
    ISOLATION_SHARE = 40,
    TREES_SHARE = 20,
    TREES_STEPS = 80
};

static const char *history(struct ownership_run *run, uint64_t seed)
{
    return ownership_history(run, seed, STEPS);
}

/* Says what was met, and asserts that no case failed. */
static void run_cases(uint64_t seed, uint64_t cases,
                      const char *(*one)(struct ownership_run *run, uint64_t seed),
                      struct ownership_sometimes *ret_sometimes)
{
    const char *failed = ownership_run_cases(seed, cases, one, ret_sometimes);
    cr_assert_null(failed, "%s", failed);
}

static void run_slice(uint32_t slice)
{
    struct ownership_sometimes sometimes;
    struct seed_range range = seed_slice(CASES, slice, SLICES);
    run_cases(range.first, range.count, history, &sometimes);
    sometimes_print(&sometimes);
    const char *never = range.count >= CASES / SLICES ? sometimes_never(&sometimes) : NULL;
    cr_assert_null(never, "no case met this, so the run proves little: %s", never);
}

Test(ownership, stores_equal_a_fold_of_the_log_slice_1)
{
    run_slice(0);
}

Test(ownership, stores_equal_a_fold_of_the_log_slice_2)
{
    run_slice(1);
}

Test(ownership, stores_equal_a_fold_of_the_log_slice_3)
{
    run_slice(2);
}

Test(ownership, stores_equal_a_fold_of_the_log_slice_4)
{
    run_slice(3);
}

static const char *trees(struct ownership_run *run, uint64_t seed)
{
    return ownership_trees(run, seed, TREES_STEPS);
}

Test(ownership, agrees_on_suborders)
{
    struct ownership_sometimes sometimes;
    uint64_t all = seed_cases(CASES);
    run_cases(seed_first(), all / TREES_SHARE + 1, trees, &sometimes);
    trees_print(&sometimes);
    const char *never = all >= CASES ? trees_never(&sometimes) : NULL;
    cr_assert_null(never, "no case met this, so the run proves little: %s", never);
}

/* An owner stood still for an hour in the middle of a turn. From then on each new message to a
 * partition that had been quiet once was too old for it. */
Test(ownership, sends_messages_after_it_stood_still)
{
    struct ownership_sometimes sometimes;
    run_cases(UINT64_C(1523771691812223638), 1, trees, &sometimes);
}

Test(ownership, quarantines_only_the_command_that_crashes_its_owner)
{
    struct ownership_sometimes sometimes;
    uint64_t all = seed_cases(CASES);
    run_cases(seed_first(), all / POISON_SHARE + 1, ownership_poison, &sometimes);
}

/* A partition that is not careful crashed the process while another one guarded a command, in two
 * lives of the process. */
Test(ownership, does_not_decide_while_a_command_is_guarded)
{
    struct ownership_sometimes sometimes;
    run_cases(UINT64_C(12982139778277537474), 1, ownership_poison, &sometimes);
}

/* Orders had expired when the StartStep commands that their owner sent for them were decided. */
Test(ownership, frees_the_capacity_of_steps_whose_orders_have_expired)
{
    struct ownership_sometimes sometimes;
    run_cases(UINT64_C(6218815208400266696), 1, history, &sometimes);
}

/* A step of an order in error reached its deadline in the last moment of the case. */
Test(ownership, decides_what_the_last_deadline_leads_to)
{
    struct ownership_sometimes sometimes;
    run_cases(UINT64_C(2106613747650174978), 1, history, &sometimes);
}

/* An owner was stopped for longer than the case lasted: its store failed again at each check. */
Test(ownership, waits_for_an_owner_that_is_stopped)
{
    struct ownership_sometimes sometimes;
    run_cases(UINT64_C(7631980889871672606), 1, history, &sometimes);
}

/* The same of a supervisor, whose store still knew a tail that the log had lost. */
Test(ownership, waits_for_a_supervisor_that_is_stopped)
{
    struct ownership_sometimes sometimes;
    run_cases(UINT64_C(743132319230432143), 1, history, &sometimes);
}

/* A log lost its tail twice, and at one offset the Decisions of two commands. */
Test(ownership, explains_the_status_of_a_lost_decision)
{
    struct ownership_sometimes sometimes;
    run_cases(UINT64_C(17688050554314957852), 1, history, &sometimes);
}

/* A follower stopped at several records of newer versions, one after another. */
Test(ownership, reports_each_record_of_a_newer_version)
{
    struct ownership_sometimes sometimes;
    run_cases(UINT64_C(17149936034755220519), 1, history, &sometimes);
    run_cases(UINT64_C(2773731502359321785), 1, history, &sometimes);
}

/* An operator's Reset was the first record of the log that counts. */
Test(ownership, keeps_its_store_when_a_reset_begins_the_log)
{
    struct ownership_sometimes sometimes;
    run_cases(UINT64_C(37), 1, history, &sometimes);
}

Test(ownership, honours_a_second_reset_when_one_begins_the_log)
{
    struct ownership_sometimes sometimes;
    run_cases(UINT64_C(201), 1, history, &sometimes);
}

/* The topic of the status was looked up when no time passed any more. */
Test(ownership, sends_the_status_of_the_last_decision)
{
    struct ownership_sometimes sometimes;
    run_cases(UINT64_C(31000510), 1, history, &sometimes);
}

/* The supervisor looked for a schema while its index lacked a deadline that it had folded. */
Test(ownership, asks_for_what_was_folded_before_an_unknown_schema)
{
    struct ownership_sometimes sometimes;
    run_cases(UINT64_C(31003299), 1, history, &sometimes);
}

/* The supervisor could not read the order when its deadline came. */
Test(ownership, asks_again_for_a_deadline_whose_order_could_not_be_read)
{
    struct ownership_sometimes sometimes;
    run_cases(UINT64_C(20262781), 1, history, &sometimes);
}

/* A log lost a claim between its acknowledgement and the fold: its owner waited for it for ever. */
Test(ownership, claims_again_when_a_log_loses_its_claim)
{
    struct ownership_sometimes sometimes;
    run_cases(UINT64_C(18217789950969455459), 1, history, &sometimes);
}

/* An owner with a wrong clock had been fenced, and had not noticed when the case ended. */
Test(ownership, waits_for_an_owner_that_was_fenced_to_notice)
{
    struct ownership_sometimes sometimes;
    run_cases(UINT64_C(6411008075638439653), 1, history, &sometimes);
}

/* A broker had forgotten a trim, and the log began with what a zombie had written. */
Test(ownership, begins_after_what_a_zombie_wrote)
{
    struct ownership_sometimes sometimes;
    run_cases(UINT64_C(5070397005255020018), 1, history, &sometimes);
    run_cases(UINT64_C(7146672120958286766), 1, history, &sometimes);
    run_cases(UINT64_C(4978911559378782578), 1, history, &sometimes); /* of an older version */
}

/* A log lost a claim that readers had folded, and the owner before it went on. */
Test(ownership, notices_a_tail_that_ended_with_a_claim)
{
    struct ownership_sometimes sometimes;
    run_cases(UINT64_C(59368991043195152), 1, history, &sometimes);
}

/* A log lost a foreign record that a reader had folded, and a Decision took its place. */
Test(ownership, notices_a_decision_where_a_foreign_record_was)
{
    struct ownership_sometimes sometimes;
    run_cases(UINT64_C(6924254770793262075), 1, history, &sometimes);
}

/* The log got an empty foreign record where it had lost one, and then a Claim. */
Test(ownership, notices_a_tail_that_ended_with_a_foreign_record)
{
    struct ownership_sometimes sometimes;
    run_cases(UINT64_C(46712874239065926), 1, history, &sometimes);
}

/* A supervisor crashed after it had committed a record that it doubted, and before it had checked
 * the log: its store agreed with the log at that record alone. */
Test(ownership, doubts_again_after_a_crash)
{
    struct ownership_sometimes sometimes;
    run_cases(UINT64_C(17115306207684067437), 1, history, &sometimes);
}

/* The producer was replaced while the partition was idle, and a foreign record took the place of
 * the last Decision: the owner went on behind it, and nothing that it decided counted. */
Test(ownership, claims_again_after_its_producer_died)
{
    struct ownership_sometimes sometimes;
    run_cases(UINT64_C(12910694519462967208), 1, history, &sometimes);
}

/* An owner that had been fenced had nothing to decide, and so did not notice. */
Test(ownership, does_not_wait_for_a_fenced_owner_that_is_idle)
{
    struct ownership_sometimes sometimes;
    run_cases(UINT64_C(4288179257178887736), 1, history, &sometimes);
}

/* A newer owner had restated a paused order and trimmed the log: an older one with an empty store
 * did not meet the pause, and went on. */
Test(ownership, begins_with_no_orders_of_a_newer_format)
{
    struct ownership_sometimes sometimes;
    run_cases(UINT64_C(31100166), 1, history, &sometimes);
    run_cases(UINT64_C(31101683), 1, history, &sometimes);
}

Test(ownership, carries_on_or_stops_as_designed_when_a_topic_loses_records)
{
    struct ownership_sometimes sometimes;
    uint64_t all = seed_cases(CASES);
    run_cases(seed_first(), all / LOG_FAULT_SHARE + 1, ownership_log_fault, &sometimes);
}

Test(ownership, serves_thousands_of_orders_while_a_reply_topic_is_dead)
{
    struct ownership_sometimes sometimes;
    run_cases(seed_first(), 1, ownership_crowd, &sometimes);
}

Test(ownership, asks_for_more_deadlines_than_the_supervisor_holds)
{
    struct ownership_sometimes sometimes;
    run_cases(seed_first(), 1, ownership_overdue, &sometimes);
}

Test(ownership, ends_what_does_not_need_the_one_thing_that_is_broken)
{
    struct ownership_sometimes sometimes;
    uint64_t all = seed_cases(CASES);
    run_cases(seed_first(), all / ISOLATION_SHARE + 1, ownership_isolation, &sometimes);
}

/* A step of the partition had all the capacity, and its report could not be read. */
Test(ownership, frees_the_capacity_of_a_partition_whose_commands_do_not_come)
{
    struct ownership_sometimes sometimes;
    run_cases(UINT64_C(65), 1, ownership_isolation, &sometimes);
}

/* The step that has waited the longest is picked first, and its start always failed. */
Test(ownership, frees_the_capacity_of_a_partition_whose_starts_fail)
{
    struct ownership_sometimes sometimes;
    run_cases(UINT64_C(200045), 1, ownership_isolation, &sometimes);
}

/* While a reader looked back at a record after a doubt, the log was cut again below that. */
Test(ownership, notices_that_the_log_was_cut_after_a_doubt)
{
    struct ownership_sometimes sometimes;
    run_cases(UINT64_C(16895320876935973691), 1, history, &sometimes);
}

/* An owner that had lost its claim with the log's tail read a Decision of the new log for emission:
 * its own attempt of that number was of another version. */
Test(ownership, requests_no_attempt_of_another_log)
{
    struct ownership_sometimes sometimes;
    run_cases(UINT64_C(7573002414577420662), 1, history, &sometimes);
}
