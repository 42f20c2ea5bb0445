/* SPDX-License-Identifier: Apache-2.0 */
/* Counts of orders by workflow and state. */
#include "services/console/partition.h"

#include <criterion/criterion.h>
#include <signal.h>

Test(console_counts, sorts_rows_by_name_and_adds_up)
{
    struct order_counts counts = {0};
    order_counts_add(&counts, TEXT("shop"), ORDER_PROCESSING, 1);
    order_counts_add(&counts, TEXT("bank"), ORDER_ERROR, 2);
    order_counts_add(&counts, TEXT("shop"), ORDER_PROCESSED, 1);
    order_counts_add(&counts, TEXT("post"), ORDER_PROCESSING, 5);
    order_counts_add(&counts, TEXT("shop"), ORDER_PROCESSING, -1);
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

Test(console_counts, merges_into_the_sum)
{
    struct order_counts a = {0};
    struct order_counts b = {0};
    order_counts_add(&a, TEXT("one"), ORDER_PROCESSED, 3);
    order_counts_add(&b, TEXT("one"), ORDER_PROCESSED, 4);
    order_counts_add(&b, TEXT("two"), ORDER_ERROR, 1);
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
    order_counts_add(&counts, TEXT("one"), ORDER_PROCESSED, 1);
    order_counts_add(&counts, TEXT("one"), ORDER_PROCESSED, -2);
}
