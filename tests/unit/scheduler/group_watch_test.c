/* SPDX-License-Identifier: Apache-2.0 */
/* A scheduler leaves its group while its clock is wrong, or while only its version cannot read a
 * partition, and comes back. */
#include "services/scheduler/group_watch.h"
#include "tests/unit/scheduler/owner_kit.h"

#include <criterion/criterion.h>

enum { HOUR_MS = 3600000 };

/* A scheduler that owns all partitions of the kit while it is a member. */
struct member {
    struct owner_kit kit;
    struct owner_kit_process *process;
    struct group_watch *watch;
    bool alone;
    uint32_t left;
    uint32_t joined;
};

static void each_owner(void *ctx, void (*visit)(void *visitor, const struct owner *owner),
                       void *visitor)
{
    struct member *member = ctx;
    for (int32_t i = 0; i < member->kit.partitions; i++)
        if (member->process->owners[i] != NULL)
            visit(visitor, member->process->owners[i]);
}

static bool has_others(void *ctx)
{
    const struct member *member = ctx;
    return !member->alone;
}

static void leave(void *ctx)
{
    struct member *member = ctx;
    for (int32_t i = 0; i < member->kit.partitions; i++)
        owner_kit_release(member->process, i);
    member->left++;
    group_watch_left(member->watch);
}

static void join(void *ctx)
{
    struct member *member = ctx;
    for (int32_t i = 0; i < member->kit.partitions; i++)
        owner_kit_own(member->process, i);
    member->joined++;
}

static const struct group_watch_ops ops = {each_owner, has_others, leave, join};

static void begin(struct member *member, int32_t partitions)
{
    *member = (struct member){.left = 0};
    owner_kit_begin(&member->kit, partitions);
    member->process = owner_kit_boot(&member->kit, "s1", 0);
    join(member);
    member->watch = group_watch_new(member->process->cluster, &ops, member);
}

/* ---- its clock ---- */

Test(group_watch, leaves_when_the_clock_is_wrong_and_joins_when_it_is_right)
{
    static struct member member;
    char reason[200];
    begin(&member, 2);
    member.process->clock.now_wall_ms += HOUR_MS;
    owner_kit_run(&member.kit, 9000);
    cr_assert_eq(member.left, 0, "it may be right in a moment");
    owner_kit_run(&member.kit, 5000);
    cr_assert_eq(member.left, 1);
    cr_assert(group_watch_is_away(member.watch, reason, sizeof(reason)));
    cr_assert_eq(owner_kit_alerts(&member.kit, "ClockSkew", true), 1);
    owner_kit_run(&member.kit, 60000);
    cr_assert_eq(member.joined, 1, "only at the start");
    member.process->clock.now_wall_ms -= HOUR_MS;
    owner_kit_run(&member.kit, 2000);
    cr_assert_eq(member.joined, 2);
    cr_assert_not(group_watch_is_away(member.watch, reason, sizeof(reason)));
    owner_kit_run(&member.kit, 30000);
    cr_assert_eq(member.left, 1);
    cr_assert_eq(owner_kit_alerts(&member.kit, "ClockSkew", false), 1);
}

/* The brokers' clock was the wrong one. */
Test(group_watch, joins_again_after_a_while_to_measure_again)
{
    static struct member member;
    begin(&member, 2);
    member.kit.clock.now_wall_ms -= HOUR_MS;
    owner_kit_submit(&member.kit, owner_kit_id(&member.kit, 0, 1));
    owner_kit_submit(&member.kit, owner_kit_id(&member.kit, 1, 1));
    owner_kit_run(&member.kit, 30000);
    cr_assert_eq(member.left, 1);
    member.kit.clock.now_wall_ms += HOUR_MS;
    owner_kit_run(&member.kit, 310000);
    cr_assert_eq(member.joined, 2);
    cr_assert_eq(member.left, 1);
    cr_assert_eq(owner_kit_alerts(&member.kit, "ClockSkew", true), 1);
    cr_assert_eq(owner_kit_alerts(&member.kit, "ClockSkew", false), 1);
}

Test(group_watch, stays_while_one_leader_agrees_with_the_clock)
{
    static struct member member;
    begin(&member, 2);
    owner_kit_run(&member.kit, 1000);
    member.process->clock.now_wall_ms += HOUR_MS;
    owner_kit_submit(&member.kit, owner_kit_id(&member.kit, 0, 1)); /* only this one sees it */
    owner_kit_run(&member.kit, 60000);
    cr_assert_eq(member.left, 0);
}

/* ---- its version ---- */

/* The framing of reeve, with a schema that only a newer version has. */
static void write_with_a_newer_version(struct member *member)
{
    static const char bytes[] = "\xc3\x01newer!!!body";
    broker_memory_append(member->kit.kafka, "p.events", 0, TEXT("x"),
                         (struct text){bytes, sizeof(bytes) - 1});
    owner_kit_submit(&member->kit, "a"); /* its owner finds that it is not alone */
}

Test(group_watch, leaves_for_a_moment_when_only_its_version_stops_it)
{
    static struct member member;
    char reason[200];
    begin(&member, 1);
    owner_kit_run(&member.kit, 1000);
    write_with_a_newer_version(&member);
    owner_kit_run(&member.kit, 8000);
    cr_assert_eq(member.left, 0, "the schema may be on its way");
    owner_kit_run(&member.kit, 7000);
    cr_assert_eq(member.left, 1);
    cr_assert(group_watch_is_away(member.watch, reason, sizeof(reason)));
    owner_kit_run(&member.kit, 30000);
    cr_assert_eq(member.joined, 2);
    cr_assert_not(group_watch_is_away(member.watch, reason, sizeof(reason)));
}

Test(group_watch, stays_longer_each_time)
{
    static struct member member;
    begin(&member, 1);
    owner_kit_run(&member.kit, 1000);
    write_with_a_newer_version(&member);
    owner_kit_run(&member.kit, HOUR_MS);
    cr_assert_geq(member.left, 5);
    cr_assert_leq(member.left, 8, "10 s, 20 s ... 21 min");
}

Test(group_watch, stays_while_it_owns_all_partitions)
{
    static struct member member;
    begin(&member, 1);
    owner_kit_run(&member.kit, 1000);
    member.alone = true;
    write_with_a_newer_version(&member);
    owner_kit_run(&member.kit, 60000);
    cr_assert_eq(member.left, 0);
}

Test(group_watch, stays_when_another_reason_stops_it)
{
    static struct member member;
    begin(&member, 1);
    owner_kit_run(&member.kit, 1000);
    owner_kit_release(member.process, 0);
    broker_memory_topic(member.kit.kafka, "p.events", 1);
    owner_kit_own(member.process, 0);
    owner_kit_run(&member.kit, 60000);
    cr_assert_eq(owner_state(member.process->owners[0]), OWNER_STOPPED);
    cr_assert_eq(member.left, 0);
}
