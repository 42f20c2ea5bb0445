/* SPDX-License-Identifier: Apache-2.0 */
/* Static members: fenced, by a process that is gone and by one that stays. */
#include "tests/lib/broker_lab.h"

#include <criterion/criterion.h>

/* A member gives up when it is fenced for the third time within a minute. */
enum { FENCES_MAX = 3 };
enum { ALL = (1 << LAB_PARTITIONS) - 1 };

static const struct kafka_client_options options = {
    .client_id = "lab", .group_instance_id = "one", .session_timeout_ms = 3000};

static bool owns_all(void *ctx)
{
    return ((const struct lab_member *)ctx)->mask == ALL;
}

/* As after a broker's outage, when its own earlier membership fences it. */
Test(static_member, joins_again_when_what_fenced_it_is_gone, .timeout = 200)
{
    struct lab lab;
    struct lab_member member;
    struct lab_member other;
    lab_open_with(&lab, options);
    lab_join(&lab, lab.broker, &member);
    cr_assert(lab_wait_until(&lab, owns_all, &member));
    for (uint32_t times = 1; times <= FENCES_MAX; times++) {
        struct broker *second = lab_connect(&lab, options);
        lab_join(&lab, second, &other);
        cr_assert(lab_wait(&lab, times < FENCES_MAX ? &member.lost : &member.errors,
                           times < FENCES_MAX ? times : 1));
        lab_leave(&other);
        cr_assert(lab_wait(&lab, &other.left, 1));
        broker_free(second);
        if (times == FENCES_MAX)
            break;
        cr_assert_eq(member.errors, 0);
        cr_assert(lab_wait(&lab, &member.assigned, times + 1));
        cr_assert(owns_all(&member));
    }
    lab_leave(&member);
    cr_assert(lab_wait(&lab, &member.left, 1));
    lab_close(&lab);
}

Test(static_member, ends_when_another_one_stays, .timeout = 200)
{
    struct lab lab;
    struct lab_member one;
    struct lab_member two;
    lab_open_with(&lab, options);
    struct broker *second = lab_connect(&lab, options);
    lab_join(&lab, lab.broker, &one);
    cr_assert(lab_wait_until(&lab, owns_all, &one));
    lab_join(&lab, second, &two);
    cr_assert(lab_wait(&lab, &one.errors, 1));
    cr_assert_eq(two.errors, 0);
    lab_leave(&one);
    cr_assert(lab_wait(&lab, &one.left, 1));
    cr_assert(lab_wait_until(&lab, owns_all, &two));
    lab_leave(&two);
    cr_assert(lab_wait(&lab, &two.left, 1));
    broker_free(second);
    lab_close(&lab);
}
