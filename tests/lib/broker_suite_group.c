/* SPDX-License-Identifier: Apache-2.0 */
/* Group membership, on the cluster of the lab. */
#include "tests/lib/broker_lab.h"

#include <criterion/criterion.h>
#include <stdio.h>

/* A short session, since each rebalance of the mock cluster takes one. */
enum { ALL = (1 << LAB_PARTITIONS) - 1, SESSION_MS = 3500 };

static const struct kafka_client_options options = {
    .client_id = "lab", .session_timeout_ms = SESSION_MS, .max_poll_interval_ms = SESSION_MS};

struct pair {
    struct lab_member *one;
    struct lab_member *two;
};

static bool shared(void *ctx)
{
    const struct pair *pair = ctx;
    return (pair->one->mask | pair->two->mask) == ALL && pair->one->owned == LAB_PARTITIONS / 2 &&
           pair->two->owned == LAB_PARTITIONS / 2;
}

static bool owns_all(void *ctx)
{
    return ((const struct lab_member *)ctx)->mask == ALL;
}

/* The member must cope with an empty topic without commits. */
Test(group, gives_everything_to_a_single_member_without_fetching, .timeout = 100)
{
    struct lab lab;
    struct lab_member member;
    lab_open_with(&lab, options);
    lab_join(&lab, lab.broker, &member);
    cr_assert(lab_wait_until(&lab, owns_all, &member));
    lab_run(&lab, 500);
    cr_assert_eq(member.errors, 0);
    cr_assert_eq(member.revoked, 0);
    lab_leave(&member);
    cr_assert(lab_wait(&lab, &member.left, 1));
    cr_assert_eq(member.revoked, 0, "no callback after leaving");
    lab_close(&lab);
}

Test(group, shares_partitions_and_takes_over, .timeout = 200)
{
    struct lab lab;
    struct lab_member one;
    struct lab_member two;
    struct pair pair = {&one, &two};
    lab_open_with(&lab, options);
    struct broker *second = lab_connect(&lab, options);
    lab_join(&lab, lab.broker, &one);
    cr_assert(lab_wait_until(&lab, owns_all, &one));
    lab_join(&lab, second, &two);
    cr_assert(lab_wait_until(&lab, shared, &pair));
    cr_assert_eq(one.mask & two.mask, 0);
    cr_assert_geq(one.revoked, 1);
    cr_assert_eq(one.lost, 0);
    lab_leave(&one);
    cr_assert(lab_wait_until(&lab, owns_all, &two));
    cr_assert(lab_wait(&lab, &one.left, 1));
    lab_leave(&two);
    cr_assert(lab_wait(&lab, &two.left, 1));
    cr_assert_eq(one.errors + two.errors, 0);
    broker_free(second);
    lab_close(&lab);
}

struct hasty {
    struct broker_group *group;
    uint32_t left;
    uint32_t calls;
};

static void hasty_left(void *ctx)
{
    ((struct hasty *)ctx)->left++;
}

static void hasty_assigned(void *ctx, const int32_t *partitions, uint32_t count)
{
    struct hasty *hasty = ctx;
    (void)partitions;
    (void)count;
    hasty->calls++;
    broker_leave(hasty->group, hasty_left, hasty);
}

static void hasty_revoked(void *ctx, bool lost)
{
    (void)lost;
    ((struct hasty *)ctx)->calls++;
}

static void hasty_error(void *ctx, const struct error *error)
{
    (void)error;
    ((struct hasty *)ctx)->calls++;
}

Test(group, lets_a_member_leave_within_its_callback, .timeout = 100)
{
    static const struct broker_group_ops ops = {hasty_assigned, hasty_revoked, hasty_error};
    struct lab lab;
    struct hasty hasty = {.left = 0};
    lab_open_with(&lab, options);
    hasty.group = broker_join(lab.broker, "hasty", lab.topics.commands, &ops, &hasty);
    cr_assert(lab_wait(&lab, &hasty.left, 1));
    cr_assert_eq(hasty.calls, 1);
    lab_close(&lab);
}

struct committed {
    char note[32];
    uint32_t answers;
    int64_t offset;
    enum error_class class;
};

static void on_committed(void *ctx, int32_t partition, int64_t offset, const struct error *error)
{
    struct committed *committed = ctx;
    cr_assert_eq(partition, 2);
    committed->offset = offset;
    committed->class = error->class;
    committed->answers++;
}

static void on_position(void *ctx, int32_t partition, int64_t offset, const char *note,
                        const struct error *error)
{
    struct committed *committed = ctx;
    snprintf(committed->note, sizeof(committed->note), "%s", note);
    on_committed(ctx, partition, offset, error);
}

Test(group, reads_commits_back, .timeout = 100)
{
    struct lab lab;
    struct lab_member member;
    struct committed committed = {.answers = 0};
    lab_open_with(&lab, options);
    lab_join(&lab, lab.broker, &member);
    cr_assert(lab_wait_until(&lab, owns_all, &member));
    broker_group_committed(member.group, 2, on_position, &committed);
    cr_assert(lab_wait(&lab, &committed.answers, 1));
    cr_assert_eq(committed.class, ERROR_OK);
    cr_assert_eq(committed.offset, -1);
    broker_group_commit(member.group, 2, 17, "3+a,f+1", on_committed, &committed);
    cr_assert(lab_wait(&lab, &committed.answers, 2));
    cr_assert_eq(committed.class, ERROR_OK);
    broker_group_commit(member.group, 1, 18, NULL, NULL, NULL);
    broker_group_committed(member.group, 2, on_position, &committed);
    cr_assert(lab_wait(&lab, &committed.answers, 3));
    cr_assert_eq(committed.offset, 17);
    cr_assert_str_eq(committed.note, "3+a,f+1");
    lab_leave(&member);
    lab_close(&lab); /* leaving is finished by broker_free */
    cr_assert_eq(member.left, 1);
}

/* The group detects a loop that does not run, as it would a stopped process. */
Test(group, takes_partitions_from_a_member_that_does_not_poll, .timeout = 200)
{
    struct lab lab;
    struct lab_member member;
    lab_open_with(&lab, options);
    lab_join(&lab, lab.broker, &member);
    cr_assert(lab_wait_until(&lab, owns_all, &member));
    /* Another loop runs meanwhile, this one does not. */
    struct loop *other;
    struct error error;
    cr_assert_eq(loop_new(clock_real(), &other, &error), ERROR_OK);
    struct lab bystander = {.loop = other};
    lab_run(&bystander, SESSION_MS + 2000);
    loop_free(other);
    cr_assert(lab_wait(&lab, &member.lost, 1));
    cr_assert(lab_wait(&lab, &member.assigned, 2));
    cr_assert(lab_wait_until(&lab, owns_all, &member));
    lab_leave(&member);
    lab_close(&lab);
}
