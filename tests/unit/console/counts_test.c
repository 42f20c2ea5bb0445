/* SPDX-License-Identifier: Apache-2.0 */
/* Counts of orders by workflow and state. */
#include "services/console/counts.h"

#include <criterion/criterion.h>
#include <signal.h>

Test(console_counts, rows_are_by_name_and_sums_add_up)
{
    struct counts *counts = counts_new();
    counts_add(counts, TEXT("shop"), ORDER_PROCESSING, 1);
    counts_add(counts, TEXT("bank"), ORDER_ERROR, 2);
    counts_add(counts, TEXT("shop"), ORDER_PROCESSED, 1);
    counts_add(counts, TEXT("post"), ORDER_PROCESSING, 5);
    counts_add(counts, TEXT("shop"), ORDER_PROCESSING, -1);
    cr_assert_str_eq(counts_at(counts, 0)->workflow, "bank");
    cr_assert_str_eq(counts_at(counts, 1)->workflow, "post");
    cr_assert_str_eq(counts_at(counts, 2)->workflow, "shop");
    cr_assert_null(counts_at(counts, 3));
    cr_assert_eq(counts_at(counts, 2)->by_state[ORDER_PROCESSING], 0);
    cr_assert_eq(counts_by_state(counts)[ORDER_PROCESSING], 5);
    cr_assert_eq(counts_of_workflow(counts, TEXT("shop")), 1);
    cr_assert_eq(counts_of_workflow(counts, TEXT("sho")), 0);
    cr_assert_eq(counts_of_workflow(counts, (struct text){0}), 0);
    counts_free(counts);
}

Test(console_counts, merged_ones_are_the_sum)
{
    struct counts *a = counts_new();
    struct counts *b = counts_new();
    counts_add(a, TEXT("one"), ORDER_PROCESSED, 3);
    counts_add(b, TEXT("one"), ORDER_PROCESSED, 4);
    counts_add(b, TEXT("two"), ORDER_ERROR, 1);
    counts_merge(a, b);
    cr_assert_eq(counts_of_workflow(a, TEXT("one")), 7);
    cr_assert_eq(counts_of_workflow(a, TEXT("two")), 1);
    counts_clear(a);
    cr_assert_null(counts_at(a, 0));
    cr_assert_eq(counts_by_state(a)[ORDER_PROCESSED], 0);
    counts_free(a);
    counts_free(b);
    counts_free(NULL);
}

Test(console_counts, no_count_goes_below_zero, .signal = SIGABRT)
{
    struct counts *counts = counts_new();
    counts_add(counts, TEXT("one"), ORDER_PROCESSED, 1);
    counts_add(counts, TEXT("one"), ORDER_PROCESSED, -2);
}
