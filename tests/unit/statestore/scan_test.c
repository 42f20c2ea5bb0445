/* SPDX-License-Identifier: Apache-2.0 */
/* Scans: order, bounds, pages, and the cost of deleted deadlines. */
#include "tests/unit/statestore/kit.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <time.h>

struct seen {
    int count;
    int limit; /* 0 = none */
    int64_t times[16];
    char ids[16][ORDER_ID_BYTES_MAX];
    struct text last;
};

static bool note(struct seen *seen, int64_t time_ms, struct text id)
{
    if (seen->count < 16) {
        seen->times[seen->count] = time_ms;
        snprintf(seen->ids[seen->count], ORDER_ID_BYTES_MAX, "%.*s", TEXT_ARG(id));
    }
    seen->count++;
    return seen->limit == 0 || seen->count < seen->limit;
}

static bool note_order(void *ctx, struct text order_id, struct text row)
{
    (void)row;
    return note(ctx, 0, order_id);
}

static bool note_deadline(void *ctx, struct text order_id, const struct deadline *deadline)
{
    return note(ctx, deadline->due_at, order_id);
}

static bool note_history(void *ctx, int64_t offset, struct text decision)
{
    return note(ctx, offset, decision);
}

static bool note_index(void *ctx, int64_t updated_at, struct text order_id)
{
    return note(ctx, updated_at, order_id);
}

static struct store_env *env;
static struct store *store;
static struct store_batch *batch;

static void begin(void)
{
    env = kit_env();
    store = kit_open(env, kit_path(kit_folder(), "s"));
    batch = store_batch_new(store);
}

static void finish(void)
{
    store_batch_free(batch);
    store_close(store);
    store_env_free(env);
}

TestSuite(statestore_scan, .init = begin, .fini = finish);

static void commit(int64_t n)
{
    struct checkpoint checkpoint = kit_checkpoint(n);
    struct error error = {0};
    cr_assert(store_commit(store, batch, &checkpoint, &error) == ERROR_OK, "%s", error.message);
}

Test(statestore_scan, returns_orders_in_pages)
{
    store_batch_put_order(batch, TEXT("b"), TEXT("2"));
    store_batch_put_order(batch, TEXT("a"), TEXT("1"));
    store_batch_put_order(batch, TEXT("a-long"), TEXT("3"));
    commit(3);
    struct seen seen = {.limit = 2};
    cr_assert(store_scan_orders(store, TEXT(""), note_order, &seen, NULL) == ERROR_OK);
    cr_assert(seen.count == 2);
    cr_assert_str_eq(seen.ids[0], "a");
    cr_assert_str_eq(seen.ids[1], "a-long");
    seen = (struct seen){0};
    cr_assert(store_scan_orders(store, TEXT("a-long"), note_order, &seen, NULL) == ERROR_OK);
    cr_assert(seen.count == 1);
    cr_assert_str_eq(seen.ids[0], "b");
    seen = (struct seen){0};
    cr_assert(store_scan_orders(store, TEXT("aa"), note_order, &seen, NULL) == ERROR_OK);
    cr_assert(seen.count == 1);
}

Test(statestore_scan, returns_deadlines_between_two_times)
{
    const int64_t dues[] = {300, 100, 200, 200, INT64_MAX};
    const char *ids[] = {"c", "z", "b", "a", "never"};
    for (int i = 0; i < 5; i++)
        store_batch_put_deadline(batch, text_of(ids[i]),
                                 &(struct deadline){DEADLINE_START, dues[i], (uint32_t)i});
    commit(1);
    struct seen seen = {0};
    cr_assert(store_scan_deadlines(store, 100, TEXT(""), 200, note_deadline, &seen, NULL) ==
              ERROR_OK);
    cr_assert(seen.count == 3);
    cr_assert_str_eq(seen.ids[0], "z");
    cr_assert_str_eq(seen.ids[1], "a");
    cr_assert_str_eq(seen.ids[2], "b");
    seen = (struct seen){0};
    cr_assert(store_scan_deadlines(store, 101, TEXT(""), INT64_MAX, note_deadline, &seen, NULL) ==
              ERROR_OK);
    cr_assert(seen.count == 4 && seen.times[3] == INT64_MAX);
    seen = (struct seen){0};
    cr_assert(store_scan_deadlines(store, INT64_MIN, TEXT(""), 99, note_deadline, &seen, NULL) ==
              ERROR_OK);
    cr_assert(store_scan_deadlines(store, 5, TEXT(""), 4, note_deadline, &seen, NULL) == ERROR_OK);
    cr_assert(seen.count == 0);
    cr_assert(store_scan_deadlines(store, 200, TEXT("aa"), 300, note_deadline, &seen, NULL) ==
              ERROR_OK);
    cr_assert(seen.count == 2);
    cr_assert_str_eq(seen.ids[0], "b");
    cr_assert_str_eq(seen.ids[1], "c");
    seen = (struct seen){0};
    store_batch_delete_deadline(batch, TEXT("z"), &(struct deadline){DEADLINE_START, 100, 1});
    commit(2);
    cr_assert(store_scan_deadlines(store, 0, TEXT(""), 100, note_deadline, &seen, NULL) ==
              ERROR_OK);
    cr_assert(seen.count == 0);
}

static int64_t now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

Test(statestore_scan, skips_tombstones_below_the_low_watermark)
{
    enum { FIRED = 200000 };
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < FIRED; i++) {
            struct deadline deadline = {DEADLINE_RECOVER, 1000 + i, 0};
            if (pass == 0)
                store_batch_put_deadline(batch, TEXT("order"), &deadline);
            else
                store_batch_delete_deadline(batch, TEXT("order"), &deadline);
            if (i % 1000 == 999)
                commit(pass * FIRED + i + 1);
        }
    }
    store_batch_put_deadline(batch, TEXT("order"), &(struct deadline){DEADLINE_RECOVER, 900000, 0});
    commit(2 * FIRED + 1);
    struct seen seen = {0};
    int64_t begin_us = now_us();
    for (int i = 0; i < 100; i++)
        cr_assert(store_scan_deadlines(store, 1000 + FIRED, TEXT(""), 800000, note_deadline, &seen,
                                       NULL) == ERROR_OK);
    int64_t each_us = (now_us() - begin_us) / 100;
    cr_assert(seen.count == 0);
    cr_assert(each_us < 5000, "%lld us a scan", (long long)each_us);
    cr_assert(store_scan_deadlines(store, 0, TEXT(""), INT64_MAX, note_deadline, &seen, NULL) ==
              ERROR_OK);
    cr_assert(seen.count == 1 && seen.times[0] == 900000);
}

Test(statestore_scan, returns_the_history_of_one_order)
{
    store_batch_put_history(batch, TEXT("o"), 300, TEXT("second"));
    store_batch_put_history(batch, TEXT("o"), 7, TEXT("first"));
    store_batch_put_history(batch, TEXT("o1"), 8, TEXT("other"));
    store_batch_put_history(batch, TEXT("n"), 9, TEXT("another"));
    commit(1);
    struct seen seen = {0};
    cr_assert(store_scan_history(store, TEXT("o"), 0, note_history, &seen, NULL) == ERROR_OK);
    cr_assert(seen.count == 2 && seen.times[0] == 7 && seen.times[1] == 300);
    cr_assert_str_eq(seen.ids[0], "first");
    cr_assert_str_eq(seen.ids[1], "second");
    seen = (struct seen){0};
    cr_assert(store_scan_history(store, TEXT("o"), 8, note_history, &seen, NULL) == ERROR_OK);
    cr_assert(seen.count == 1 && seen.times[0] == 300);
}

Test(statestore_scan, returns_index_pages_without_gaps_or_repeats)
{
    enum { ORDERS = 100, PAGE = 7 };
    char id[16];
    for (int i = 0; i < ORDERS; i++) {
        snprintf(id, sizeof(id), "o%02d", i);
        /* Three orders share each time. */
        store_batch_put_index(batch, INDEX_STATE, TEXT("Error"), 1000 + i / 3, text_of(id));
        store_batch_put_index(batch, INDEX_STATE, TEXT("Err"), 5, text_of(id));
        store_batch_put_index(batch, INDEX_STEP, TEXT("Error"), 6, text_of(id));
    }
    store_batch_delete_index(batch, INDEX_STATE, TEXT("Error"), 1000, TEXT("o00"));
    commit(1);
    int total = 0;
    int64_t before = INT64_MAX;
    char after[ORDER_ID_BYTES_MAX] = "";
    for (;;) {
        struct seen seen = {.limit = PAGE};
        cr_assert(store_scan_index(store, INDEX_STATE, TEXT("Error"), before, text_of(after),
                                   note_index, &seen, NULL) == ERROR_OK);
        for (int i = 0; i < seen.count; i++) {
            bool older = seen.times[i] < before ||
                         (seen.times[i] == before && strcmp(seen.ids[i], after) > 0);
            cr_assert(older, "%s at %lld", seen.ids[i], (long long)seen.times[i]);
            before = seen.times[i];
            snprintf(after, sizeof(after), "%s", seen.ids[i]);
        }
        total += seen.count;
        if (seen.count < PAGE)
            break;
    }
    cr_assert(total == ORDERS - 1);
}

Test(statestore_scan, finds_nothing_for_impossible_ids)
{
    static char long_id[INT16_MAX];
    memset(long_id, 'x', sizeof(long_id));
    const struct text ids[] = {{long_id, sizeof(long_id)}, TEXT("a\0b")};
    struct seen seen = {0};
    for (int i = 0; i < 2; i++) {
        struct text row;
        cr_assert(store_get_order(store, ids[i], &row, NULL) == ERROR_OK && row.data == NULL);
        cr_assert(store_scan_history(store, ids[i], 0, note_history, &seen, NULL) == ERROR_OK);
        cr_assert(store_scan_orders(store, ids[i], note_order, &seen, NULL) == ERROR_OK);
        cr_assert(store_scan_index(store, INDEX_STATE, ids[i], INT64_MAX, ids[i], note_index, &seen,
                                   NULL) == ERROR_OK);
    }
    cr_assert(seen.count == 0);
}

static bool write_meanwhile(void *ctx, struct text order_id, struct text row)
{
    (void)ctx;
    (void)row;
    store_batch_delete_order(batch, order_id);
    store_batch_put_order(batch, TEXT("zzz"), TEXT("new"));
    commit(100);
    return true;
}

Test(statestore_scan, lets_a_visitor_write)
{
    kit_fold(store, 0, KIT_ORDERS, KIT_ORDERS);
    cr_assert(store_scan_orders(store, TEXT(""), write_meanwhile, NULL, NULL) == ERROR_OK);
    struct seen seen = {0};
    cr_assert(store_scan_orders(store, TEXT(""), note_order, &seen, NULL) == ERROR_OK);
    cr_assert(seen.count == 1);
    cr_assert_str_eq(seen.ids[0], "zzz");
}
