/* SPDX-License-Identifier: Apache-2.0 */
/* Counts of orders by workflow, version and state. */
#include "services/console/model/order_counts.h"

#include <criterion/criterion.h>
#include <signal.h>

Test(console_counts, sorts_rows_by_name_and_adds_up)
{
    struct order_counts counts = {0};
    order_counts_add(&counts, TEXT("shop"), 1, ORDER_PROCESSING, 1);
    order_counts_add(&counts, TEXT("bank"), 1, ORDER_ERROR, 2);
    order_counts_add(&counts, TEXT("shop"), 1, ORDER_PROCESSED, 1);
    order_counts_add(&counts, TEXT("post"), 1, ORDER_PROCESSING, 5);
    order_counts_add(&counts, TEXT("shop"), 1, ORDER_PROCESSING, -1);
    cr_assert_str_eq(counts.rows[0].workflow, "bank");
    cr_assert_str_eq(counts.rows[1].workflow, "post");
    cr_assert_str_eq(counts.rows[2].workflow, "shop");
    cr_assert_eq(counts.row_count, 3);
    cr_assert_eq(counts.rows[2].by_state[ORDER_PROCESSING], 0);
    cr_assert_eq(counts.by_state[ORDER_PROCESSING], 5);
    cr_assert_eq(order_counts_of_workflow(&counts, TEXT("shop")), 1);
    cr_assert_eq(order_counts_of_workflow(&counts, TEXT("sho")), 0);
    cr_assert_eq(order_counts_of_workflow(&counts, (struct text){0}), 0);
    order_counts_deinit(&counts);
}

Test(console_counts, counts_each_version_by_itself)
{
    struct order_counts counts = {0};
    static const uint32_t versions[] = {7, 1, 12, 2};
    for (uint32_t i = 0; i < 4; i++)
        order_counts_add(&counts, TEXT("shop"), versions[i], ORDER_ERROR, versions[i]);
    order_counts_add(&counts, TEXT("shoe"), 7, ORDER_PROCESSED, 100);
    order_counts_add(&counts, TEXT("shop"), 7, ORDER_ERROR, -7);
    cr_assert_eq(counts.row_count, 5);
    for (uint32_t i = 2; i < counts.row_count; i++)
        cr_assert_lt(counts.rows[i - 1].version, counts.rows[i].version);
    cr_assert_eq(order_counts_find(&counts, TEXT("shop"), 12)->by_state[ORDER_ERROR], 12);
    cr_assert_eq(order_counts_find(&counts, TEXT("shop"), 7)->by_state[ORDER_ERROR], 0);
    cr_assert_eq(order_counts_find(&counts, TEXT("shoe"), 7)->by_state[ORDER_PROCESSED], 100);
    cr_assert_null(order_counts_find(&counts, TEXT("shop"), 3));
    cr_assert_null(order_counts_find(&counts, TEXT("sho"), 7));
    cr_assert_eq(order_counts_of_workflow(&counts, TEXT("shop")), 15);
    order_counts_deinit(&counts);
}

/* As an older scheduler may have written it. */
Test(console_counts, keeps_names_with_a_zero_byte_apart)
{
    struct order_counts counts = {0};
    struct order_counts sum = {0};
    order_counts_add(&counts, TEXT("a\0b"), 1, ORDER_PROCESSING, 1);
    order_counts_add(&counts, TEXT("a"), 1, ORDER_PROCESSING, 2);
    order_counts_merge(&sum, &counts);
    order_counts_add(&counts, TEXT("a\0b"), 1, ORDER_PROCESSING, -1);
    cr_assert_eq(counts.row_count, 2);
    cr_assert_eq(order_counts_of_workflow(&counts, TEXT("a")), 2);
    cr_assert_eq(order_counts_of_workflow(&counts, TEXT("a\0b")), 0);
    cr_assert_eq(order_counts_of_workflow(&sum, TEXT("a\0b")), 1);
    order_counts_deinit(&counts);
    order_counts_deinit(&sum);
}

Test(console_counts, merges_into_the_sum)
{
    struct order_counts a = {0};
    struct order_counts b = {0};
    order_counts_add(&a, TEXT("one"), 1, ORDER_PROCESSED, 3);
    order_counts_add(&b, TEXT("one"), 1, ORDER_PROCESSED, 4);
    order_counts_add(&b, TEXT("two"), 1, ORDER_ERROR, 1);
    order_counts_merge(&a, &b);
    cr_assert_eq(order_counts_of_workflow(&a, TEXT("one")), 7);
    cr_assert_eq(order_counts_of_workflow(&a, TEXT("two")), 1);
    order_counts_deinit(&a);
    cr_assert_eq(a.row_count, 0);
    cr_assert_eq(a.by_state[ORDER_PROCESSED], 0);
    order_counts_deinit(&a);
    order_counts_deinit(&b);
}

Test(console_counts, asserts_that_no_count_goes_below_zero, .signal = SIGABRT)
{
    struct order_counts counts = {0};
    order_counts_add(&counts, TEXT("one"), 1, ORDER_PROCESSED, 1);
    order_counts_add(&counts, TEXT("one"), 1, ORDER_PROCESSED, -2);
}

Test(console_counts, takes_orders_for_unfinished_until_they_end)
{
    uint64_t by_state[ORDER_STATE_COUNT];
    for (int state = 0; state < ORDER_STATE_COUNT; state++)
        by_state[state] = 1;
    cr_assert_eq(order_counts_unfinished(by_state), ORDER_STATE_COUNT - 2);
}
