/* SPDX-License-Identifier: Apache-2.0 */
/* When a partition changes to the client that batches, and back. */
#include "kafka/append_flow.h"

#include <criterion/criterion.h>

Test(append_flow, changes_its_client_only_with_nothing_in_flight)
{
    struct append_flow flow = {0};
    cr_assert_eq(append_flow_begin(&flow, APPEND_AT_ONCE), APPEND_AT_ONCE);
    cr_assert_eq(append_flow_begin(&flow, APPEND_BATCHED), APPEND_AT_ONCE);
    append_flow_end(&flow);
    cr_assert_eq(append_flow_begin(&flow, APPEND_BATCHED), APPEND_AT_ONCE, "one is in flight");
    append_flow_end(&flow);
    append_flow_end(&flow);
    cr_assert_eq(append_flow_begin(&flow, APPEND_BATCHED), APPEND_BATCHED);
    cr_assert_eq(append_flow_begin(&flow, APPEND_AT_ONCE), APPEND_BATCHED);
    append_flow_end(&flow);
    append_flow_end(&flow);
    cr_assert_eq(append_flow_begin(&flow, APPEND_AT_ONCE), APPEND_AT_ONCE);
}

Test(append_rate, is_high_from_the_49th_append_in_16_ms_on)
{
    struct append_rate rate = {0};
    for (int i = 0; i < APPEND_RATE_COUNT; i++)
        cr_assert_not(append_rate_note(&rate, 1000 + i / 4));
    cr_assert(append_rate_note(&rate, 1016), "48 since 1000, and this one");
    cr_assert(append_rate_note(&rate, 1016), "the first one does not count any more");
}

Test(append_rate, is_low_when_the_appends_are_further_apart)
{
    struct append_rate rate = {0};
    for (int i = 0; i < APPEND_RATE_COUNT; i++)
        cr_assert_not(append_rate_note(&rate, 1000));
    cr_assert_not(append_rate_note(&rate, 1017));
    for (int i = 0; i < 10 * APPEND_RATE_COUNT; i++)
        cr_assert_not(append_rate_note(&rate, 2000 + i));
    for (int i = 0; i < APPEND_RATE_COUNT; i++)
        append_rate_note(&rate, 9000);
    cr_assert(append_rate_note(&rate, 9000));
}
