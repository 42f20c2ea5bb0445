/* SPDX-License-Identifier: Apache-2.0 */
/* Standbys of partitions: each scheduler computes them on its own, and all agree. */
#include "services/scheduler/standby.h"

#include <criterion/criterion.h>

enum { MEMBERS = 4, PARTITIONS = 64 };

static const char *const names[MEMBERS] = {"one", "two", "three", "four"};

static void make_members(struct broker_member members[MEMBERS])
{
    for (int i = 0; i < MEMBERS; i++)
        members[i] = (struct broker_member){.client_id = names[i]};
}

static int standbys(const struct broker_member *members, int32_t partition, int owner,
                    int64_t count)
{
    int found = 0;
    for (int i = 0; i < MEMBERS; i++)
        found += i != owner &&
                 standby_is_chosen(members, MEMBERS, names[i], partition, &members[owner], count);
    return found;
}

Test(standby, chooses_the_configured_number_but_never_the_owner)
{
    struct broker_member members[MEMBERS];
    make_members(members);
    for (int32_t p = 0; p < PARTITIONS; p++) {
        for (int owner = 0; owner < MEMBERS; owner++) {
            cr_assert_eq(standbys(members, p, owner, 1), 1);
            cr_assert_eq(standbys(members, p, owner, 2), 2);
            cr_assert_eq(standbys(members, p, owner, 9), 3);
            cr_assert_not(standby_is_chosen(members, MEMBERS, names[owner], p, &members[owner], 9));
        }
    }
}

Test(standby, spreads_the_standbys)
{
    struct broker_member members[MEMBERS];
    make_members(members);
    for (int i = 1; i < MEMBERS; i++) {
        int count = 0;
        for (int32_t p = 0; p < PARTITIONS; p++)
            count += standby_is_chosen(members, MEMBERS, names[i], p, &members[0], 1);
        cr_assert(count > PARTITIONS / 8 && count < PARTITIONS * 5 / 8, "%s: %d", names[i], count);
    }
}

Test(standby, moves_only_what_a_new_member_takes)
{
    struct broker_member members[MEMBERS];
    make_members(members);
    for (int32_t p = 0; p < PARTITIONS; p++) {
        bool before = standby_is_chosen(members, MEMBERS - 1, names[1], p, &members[0], 1);
        bool after = standby_is_chosen(members, MEMBERS, names[1], p, &members[0], 1);
        cr_assert(before || !after, "partition %d", p);
    }
}

Test(standby, never_chooses_a_process_outside_the_group)
{
    struct broker_member members[MEMBERS];
    make_members(members);
    cr_assert_not(standby_is_chosen(members, MEMBERS, "outsider", 0, &members[0], 9));
}
