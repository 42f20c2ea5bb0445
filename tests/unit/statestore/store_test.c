/* SPDX-License-Identifier: Apache-2.0 */
/* Opening, writing atomically, reopening and dropping a store. */
#include "tests/unit/statestore/kit.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static struct store_env *env;
static const char *path;
static struct store *store;

static void begin(void)
{
    env = kit_env();
    path = kit_path(kit_folder(), "s");
    store = kit_open(env, path);
}

static void finish(void)
{
    if (store != NULL)
        store_close(store);
    store_env_free(env);
}

TestSuite(statestore_store, .init = begin, .fini = finish);

Test(statestore_store, is_empty_when_new)
{
    struct checkpoint checkpoint = kit_checkpoint(5);
    struct text row = TEXT("untouched");
    cr_assert(store_checkpoint(store, &checkpoint, NULL) == ERROR_OK);
    cr_assert(checkpoint.cluster_id[0] == '\0' && checkpoint.next_event_offset == 0);
    cr_assert(store_get_order(store, TEXT("o"), &row, NULL) == ERROR_OK);
    cr_assert(row.data == NULL && row.size == 0);
    store_row_free(row);
}

Test(statestore_store, keeps_what_was_flushed_after_reopening)
{
    kit_fold(store, 0, 333, 10);
    cr_assert(kit_verify(store) == 333);
    cr_assert(store_flush(store, NULL) == ERROR_OK);
    store_close(store);
    store = kit_open(env, path);
    cr_assert(kit_verify(store) == 333);
    kit_fold(store, 333, 1000, 50);
    cr_assert(kit_verify(store) == 1000);
}

static int64_t flushed_of(void)
{
    struct checkpoint flushed;
    cr_assert(store_flushed(store, &flushed, NULL) == ERROR_OK);
    return flushed.next_event_offset;
}

/* As after a crash: rows and checkpoint are those of the flush. */
Test(statestore_store, forgets_what_was_not_flushed_when_closed)
{
    kit_fold(store, 0, 100, 10);
    cr_assert_eq(flushed_of(), 0);
    cr_assert(store_flush(store, NULL) == ERROR_OK);
    cr_assert_eq(flushed_of(), 100);
    kit_fold(store, 100, 150, 10);
    cr_assert_eq(kit_verify(store), 150);
    cr_assert_eq(flushed_of(), 100);
    store_close(store);
    store = kit_open(env, path);
    cr_assert_eq(kit_verify(store), 100);
    cr_assert_eq(flushed_of(), 100);
    kit_fold(store, 100, 200, 7);
    cr_assert_eq(kit_verify(store), 200);
}

/* Without being asked, when its memtables are full. */
Test(statestore_store, knows_what_rocksdb_has_flushed_by_itself)
{
    int64_t n = 0;
    for (; flushed_of() == 0; n += 100) {
        cr_assert_lt(n, 1000000);
        kit_fold(store, n, n + 100, 100);
    }
    int64_t flushed = flushed_of();
    cr_assert_leq(flushed, n);
    store_close(store);
    store = kit_open(env, path);
    cr_assert_geq(kit_verify(store), flushed);
}

Test(statestore_store, writes_nothing_of_a_cleared_batch)
{
    struct store_batch *batch = store_batch_new(store);
    kit_put_record(batch, 0);
    store_batch_clear(batch);
    struct checkpoint checkpoint = kit_checkpoint(0);
    cr_assert(store_commit(store, batch, &checkpoint, NULL) == ERROR_OK);
    struct text row;
    cr_assert(store_get_order(store, TEXT("order-000"), &row, NULL) == ERROR_OK);
    cr_assert(row.data == NULL);
    store_batch_free(batch);
}

Test(statestore_store, applies_the_newest_write_within_a_batch)
{
    struct store_batch *batch = store_batch_new(store);
    store_batch_put_order(batch, TEXT("a"), TEXT("1"));
    store_batch_put_order(batch, TEXT("a"), TEXT("2"));
    store_batch_put_order(batch, TEXT("b"), TEXT("3"));
    store_batch_delete_order(batch, TEXT("b"));
    store_batch_put_order(batch, TEXT("c"), TEXT(""));
    struct checkpoint checkpoint = kit_checkpoint(1);
    cr_assert(store_commit(store, batch, &checkpoint, NULL) == ERROR_OK);
    struct text row;
    cr_assert(store_get_order(store, TEXT("a"), &row, NULL) == ERROR_OK);
    cr_assert(text_equal(row, TEXT("2")));
    store_row_free(row);
    cr_assert(store_get_order(store, TEXT("b"), &row, NULL) == ERROR_OK);
    cr_assert(row.data == NULL);
    cr_assert(store_get_order(store, TEXT("c"), &row, NULL) == ERROR_OK);
    cr_assert(row.data != NULL && row.size == 0);
    store_row_free(row);
    store_batch_free(batch);
}

Test(statestore_store, expects_much_for_a_while)
{
    store_expect_much(store, true);
    for (int i = 0; i < 10; i++) {
        kit_fold(store, 100 * i, 100 * i + 100, 10);
        cr_assert(store_flush(store, NULL) == ERROR_OK);
    }
    store_expect_much(store, false);
    cr_assert_eq(kit_verify(store), 1000);
    store_close(store);
    store = kit_open(env, path);
    cr_assert_eq(kit_verify(store), 1000);
}

Test(statestore_store, refuses_to_open_or_drop_a_store_in_use)
{
    kit_fold(store, 0, 10, 1);
    struct store *second = NULL;
    struct error error = {0};
    cr_assert(store_open(env, path, &second, &error) == ERROR_FATAL);
    cr_assert_eq(error.code, CODE_STORE_IN_USE, "%s", error.message);
    cr_assert(second == NULL);
    error = (struct error){0};
    cr_assert(store_drop(path, &error) == ERROR_FATAL);
    cr_assert_eq(error.code, CODE_STORE_IN_USE, "%s", error.message);
    cr_assert(kit_verify(store) == 10);
    store_close(store);
    store = NULL;
    cr_assert(store_drop(path, &error) == ERROR_OK);
}

Test(statestore_store, removes_everything_when_dropped)
{
    struct error error = {0};
    cr_assert(store_drop(kit_path(kit_folder(), "none"), &error) == ERROR_OK);
    store_close(store);
    FILE *foreign = fopen(kit_path(path, "foreign"), "w");
    cr_assert(foreign != NULL);
    fclose(foreign);
    cr_assert(store_drop(path, &error) == ERROR_OK, "%s", error.message);
    cr_assert(access(path, F_OK) != 0);
    store = kit_open(env, path);
    cr_assert(kit_verify(store) == 0);
}

Test(statestore_store, reports_why_it_cannot_be_opened)
{
    struct store *none = NULL;
    struct error error = {0};
    cr_assert(store_open(env, "/proc/no/such/folder", &none, &error) == ERROR_FATAL);
    cr_assert_eq(error.code, CODE_STORE_IO, "%s: %s", error_name_of(&error), error.message);
    cr_assert(strstr(error.message, "/proc/no/such/folder") != NULL);
}

static int digest_of(struct store *of, struct content_hash *ret_digest)
{
    uint64_t orders = 0;
    struct error error = {0};
    cr_assert(store_digest(of, ret_digest, &orders, &error) == ERROR_OK, "%s", error.message);
    return (int)orders;
}

Test(statestore_store, computes_the_digest_from_rows_only)
{
    struct content_hash first, second;
    kit_fold(store, 0, 2000, 1);
    int orders = digest_of(store, &first);
    cr_assert(orders > 0 && orders <= KIT_ORDERS);
    /* Flushed and compacted; other batches; another checkpoint. */
    cr_assert(store_flush(store, NULL) == ERROR_OK);
    cr_assert(digest_of(store, &second) == orders);
    cr_assert(memcmp(&first, &second, sizeof(first)) == 0);
    struct store *other = kit_open(env, kit_path(kit_folder(), "other"));
    kit_fold(other, 0, 2000, 77);
    cr_assert(digest_of(other, &second) == orders);
    cr_assert(memcmp(&first, &second, sizeof(first)) == 0);
    struct store_batch *batch = store_batch_new(other);
    store_batch_put_history(batch, TEXT("order-001"), 3, TEXT("decision"));
    store_batch_put_index(batch, INDEX_STATE, TEXT("Pending"), 1, TEXT("order-001"));
    struct checkpoint checkpoint = kit_checkpoint(9999);
    cr_assert(store_commit(other, batch, &checkpoint, NULL) == ERROR_OK);
    cr_assert(digest_of(other, &second) == orders);
    cr_assert(memcmp(&first, &second, sizeof(first)) == 0);
    /* One deadline more. */
    store_batch_put_deadline(batch, TEXT("order-001"), &(struct deadline){DEADLINE_ORDER, 1, 1});
    cr_assert(store_commit(other, batch, &checkpoint, NULL) == ERROR_OK);
    cr_assert(digest_of(other, &second) == orders);
    cr_assert(memcmp(&first, &second, sizeof(first)) != 0);
    store_batch_free(batch);
    store_close(other);
}

Test(statestore_store, aborts_when_closed_before_its_batch, .signal = SIGABRT)
{
    store_batch_new(store);
    store_close(store);
}

Test(statestore_store, is_to_be_dropped_after_every_error_of_its_own)
{
    for (int code = CODE_FOREIGN + 1; code < ERROR_CODE_COUNT; code++) {
        struct error error = {.class = ERROR_FATAL, .code = (enum error_code)code};
        const char *name = error_name_of(&error);
        cr_assert_eq(store_has_failed(&error), strncmp(name, "Store", 5) == 0, "%s", name);
    }
}
