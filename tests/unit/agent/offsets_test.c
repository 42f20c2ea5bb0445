/* SPDX-License-Identifier: Apache-2.0 */
/* The position that may be committed. */
#include "services/agent/core/offsets.h"

#include <criterion/criterion.h>
#include <signal.h>

Test(offsets, does_not_expect_a_request_twice)
{
    struct agent_offsets offsets;
    agent_offsets_init(&offsets);
    cr_assert_not(agent_offsets_expects(&offsets, -1));
    cr_assert(agent_offsets_expects(&offsets, 0));
    uint64_t place = agent_offsets_add(&offsets, 7);
    cr_assert_not(agent_offsets_expects(&offsets, 7));
    cr_assert(agent_offsets_expects(&offsets, 8));
    agent_offsets_settle(&offsets, place);
    cr_assert_not(agent_offsets_expects(&offsets, 7));
    cr_assert(agent_offsets_expects(&offsets, 9));
    agent_offsets_deinit(&offsets);
}

Test(offsets, holds_the_position_at_the_lowest_unsettled_request)
{
    struct agent_offsets offsets;
    agent_offsets_init(&offsets);
    cr_assert_eq(offsets.position, -1);
    uint64_t a = agent_offsets_add(&offsets, 100);
    cr_assert_eq(offsets.position, 100);
    uint64_t b = agent_offsets_add(&offsets, 101);
    uint64_t c = agent_offsets_add(&offsets, 105); /* offsets may have gaps */
    agent_offsets_settle(&offsets, c);
    cr_assert_eq(offsets.position, 100);
    agent_offsets_settle(&offsets, a);
    cr_assert_eq(offsets.position, 101);
    agent_offsets_settle(&offsets, b);
    cr_assert_eq(offsets.position, 106);
    uint64_t d = agent_offsets_add(&offsets, 106);
    cr_assert_eq(offsets.position, 106);
    agent_offsets_settle(&offsets, d);
    cr_assert_eq(offsets.position, 107);
    agent_offsets_deinit(&offsets);
}

Test(offsets, grows_and_wraps_its_ring)
{
    struct agent_offsets offsets;
    uint64_t places[1000];
    agent_offsets_init(&offsets);
    int64_t offset = 0;
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < 1000; i++)
            places[i] = agent_offsets_add(&offsets, offset++);
        for (int i = 999; i > 0; i--)
            agent_offsets_settle(&offsets, places[i]);
        cr_assert_eq(offsets.position, offset - 1000);
        agent_offsets_settle(&offsets, places[0]);
        cr_assert_eq(offsets.position, offset);
    }
    cr_assert_leq(offsets.capacity, 1024);
    agent_offsets_deinit(&offsets);
}

Test(offsets, reports_when_it_is_full)
{
    struct agent_offsets offsets;
    agent_offsets_init(&offsets);
    uint64_t first = agent_offsets_add(&offsets, 0);
    for (int64_t offset = 1; offset < OFFSETS_SPAN_MAX; offset++)
        agent_offsets_settle(&offsets, agent_offsets_add(&offsets, offset));
    cr_assert(agent_offsets_full(&offsets));
    agent_offsets_settle(&offsets, first);
    cr_assert_not(agent_offsets_full(&offsets));
    cr_assert_eq(offsets.position, OFFSETS_SPAN_MAX);
    agent_offsets_deinit(&offsets);
}

Test(offsets, aborts_when_a_request_is_settled_twice, .signal = SIGABRT)
{
    struct agent_offsets offsets;
    agent_offsets_init(&offsets);
    agent_offsets_add(&offsets, 1);
    uint64_t place = agent_offsets_add(&offsets, 2);
    agent_offsets_settle(&offsets, place);
    agent_offsets_settle(&offsets, place);
}
