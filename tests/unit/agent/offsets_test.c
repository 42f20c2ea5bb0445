/* SPDX-License-Identifier: Apache-2.0 */
/* What may be committed. */
#include "services/agent/core/offsets.h"

#include <criterion/criterion.h>
#include <signal.h>

Test(agent_offsets, the_lowest_unsettled_request_holds_the_position)
{
    struct offsets offsets;
    offsets_init(&offsets);
    cr_assert_eq(offsets.position, -1);
    uint64_t a = offsets_add(&offsets, 100);
    cr_assert_eq(offsets.position, 100);
    uint64_t b = offsets_add(&offsets, 101);
    uint64_t c = offsets_add(&offsets, 105); /* offsets may have gaps */
    offsets_settle(&offsets, c);
    cr_assert_eq(offsets.position, 100);
    offsets_settle(&offsets, a);
    cr_assert_eq(offsets.position, 101);
    offsets_settle(&offsets, b);
    cr_assert_eq(offsets.position, 106);
    uint64_t d = offsets_add(&offsets, 106);
    cr_assert_eq(offsets.position, 106);
    offsets_settle(&offsets, d);
    cr_assert_eq(offsets.position, 107);
    offsets_deinit(&offsets);
}

Test(agent_offsets, the_ring_grows_and_turns)
{
    struct offsets offsets;
    uint64_t places[1000];
    offsets_init(&offsets);
    int64_t offset = 0;
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < 1000; i++)
            places[i] = offsets_add(&offsets, offset++);
        for (int i = 999; i > 0; i--)
            offsets_settle(&offsets, places[i]);
        cr_assert_eq(offsets.position, offset - 1000);
        offsets_settle(&offsets, places[0]);
        cr_assert_eq(offsets.position, offset);
    }
    cr_assert_leq(offsets.capacity, 1024);
    offsets_deinit(&offsets);
}

Test(agent_offsets, it_says_when_it_is_full)
{
    struct offsets offsets;
    offsets_init(&offsets);
    uint64_t first = offsets_add(&offsets, 0);
    for (int64_t offset = 1; offset < OFFSETS_SPAN_MAX; offset++)
        offsets_settle(&offsets, offsets_add(&offsets, offset));
    cr_assert(offsets_full(&offsets));
    offsets_settle(&offsets, first);
    cr_assert_not(offsets_full(&offsets));
    cr_assert_eq(offsets.position, OFFSETS_SPAN_MAX);
    offsets_deinit(&offsets);
}

Test(agent_offsets, a_request_is_settled_once, .signal = SIGABRT)
{
    struct offsets offsets;
    offsets_init(&offsets);
    (void)offsets_add(&offsets, 1);
    uint64_t place = offsets_add(&offsets, 2);
    offsets_settle(&offsets, place);
    offsets_settle(&offsets, place);
}
