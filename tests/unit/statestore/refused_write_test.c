/* SPDX-License-Identifier: Apache-2.0 */
/* A disk that refuses every write (EFBIG here; a read-only or broken one returns other errors in
 * the same places): each operation returns an error, and closing aborts nothing. */
#include "statestore/answers.h"
#include "tests/unit/statestore/kit.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>

TestSuite(statestore_refused_write);

static enum error_class commit(struct store *store, int64_t n, struct error *ret_error)
{
    struct store_batch *batch = store_batch_new(store);
    kit_put_record(batch, n);
    struct checkpoint checkpoint = kit_checkpoint(n + 1);
    enum error_class class = store_commit(store, batch, &checkpoint, ret_error);
    store_batch_free(batch);
    return class;
}

/* The disk is writable again. */
static void assert_starts_over(struct store_env *env, const char *path)
{
    struct store *store = kit_open(env, path);
    cr_assert_eq(kit_verify(store), 0);
    kit_fold(store, 0, 100, 10);
    cr_assert_eq(kit_verify(store), 100);
    store_close(store);
    store_env_free(env);
}

Test(statestore_refused_write, closes_a_store_after_failed_flushes)
{
    struct store_env *env = kit_env();
    const char *path = kit_path(kit_folder(), "s");
    struct error error = {0};
    struct store *store = kit_open(env, path);
    kit_fold(store, 0, 100, 10);
    kit_limit_files(0);
    cr_assert(store_flush(store, &error) == ERROR_FATAL);
    cr_assert_eq(error.code, CODE_STORE_IO, "%s: %s", error_name_of(&error), error.message);
    for (int64_t n = 100; n < 103; n++) { /* it takes no more */
        cr_assert(commit(store, n, &error) == ERROR_FATAL);
        cr_assert_eq(error.code, CODE_STORE_IO, "%s: %s", error_name_of(&error), error.message);
    }
    store_close(store);
    cr_assert(store_drop(path, &error) == ERROR_OK, "%s", error.message);
    cr_assert(store_open(env, path, &store, &error) == ERROR_FATAL);
    cr_assert_eq(error.code, CODE_STORE_IO, "%s: %s", error_name_of(&error), error.message);
    kit_limit_files(RLIM_INFINITY);
    cr_assert(store_drop(path, &error) == ERROR_OK, "%s", error.message);
    assert_starts_over(env, path);
}

Test(statestore_refused_write, keeps_what_was_flushed_before)
{
    struct store_env *env = kit_env();
    const char *path = kit_path(kit_folder(), "s");
    struct store *store = kit_open(env, path);
    kit_fold(store, 0, 100, 10);
    cr_assert(store_flush(store, NULL) == ERROR_OK);
    kit_fold(store, 100, 120, 10);
    kit_limit_files(0);
    cr_assert(store_flush(store, NULL) == ERROR_FATAL);
    store_close(store);
    kit_limit_files(RLIM_INFINITY);
    store = kit_open(env, path);
    cr_assert_eq(kit_verify(store), 100);
    store_close(store);
    store_env_free(env);
}

/* Without a word to its caller, when its memtables are full. */
Test(statestore_refused_write, learns_that_rocksdb_could_not_flush)
{
    struct store_env *env = kit_env();
    struct error error = {0};
    struct store *store = kit_open(env, kit_path(kit_folder(), "s"));
    kit_limit_files(0);
    int64_t n = 0;
    while (n < 1000000 && commit(store, n, &error) == ERROR_OK)
        n++;
    cr_assert_gt(n, 100);
    cr_assert_eq(error.code, CODE_STORE_IO, "%s: %s", error_name_of(&error), error.message);
    cr_assert(strstr(error.message, "File too large") != NULL, "%s", error.message);
    store_close(store);
    kit_limit_files(RLIM_INFINITY);
    store_env_free(env);
}

Test(statestore_refused_write, closes_a_store_that_was_never_flushed)
{
    struct store_env *env = kit_env();
    const char *path = kit_path(kit_folder(), "s");
    struct error error = {0};
    struct store *store = kit_open(env, path);
    kit_fold(store, 0, 100, 10);
    kit_limit_files(0);
    store_close(store);
    kit_limit_files(RLIM_INFINITY);
    cr_assert(store_drop(path, &error) == ERROR_OK, "%s", error.message);
    assert_starts_over(env, path);
}

Test(statestore_refused_write, closes_the_answers_of_an_agent)
{
    const char *path = kit_path(kit_folder(), "answers");
    struct answers_options options = {.keep_ms = 10000, .bytes_max = 1 << 20};
    struct answers *answers = NULL;
    struct error error = {0};
    struct text value = {0};
    cr_assert(answers_open(path, &options, 1, &answers, &error) == ERROR_OK, "%s", error.message);
    const struct answers_key a = {.position = 1}, b = {.position = 2};
    answers_put(answers, &a, TEXT("before"));
    cr_assert(answers_write(answers, 1, &error) == ERROR_OK, "%s", error.message);
    kit_limit_files(0);
    for (int i = 0; i < 3; i++) {
        answers_put(answers, &b, TEXT("refused"));
        cr_assert(answers_write(answers, 1, &error) == ERROR_FATAL);
        cr_assert_eq(error.code, CODE_STORE_IO, "%s: %s", error_name_of(&error), error.message);
    }
    answers_close(answers);
    kit_limit_files(RLIM_INFINITY);
    cr_assert(answers_open(path, &options, 1, &answers, &error) == ERROR_OK, "%s", error.message);
    cr_assert(answers_get(answers, &a, &value, &error) == ERROR_OK, "%s", error.message);
    cr_assert(text_equal(value, TEXT("before")));
    store_row_free(value);
    answers_close(answers);
}

/* A line in it that the disk refuses would abort the process with the next one. */
Test(statestore_refused_write, writes_no_information_log)
{
    struct store_env *env = kit_env();
    const char *path = kit_path(kit_folder(), "s");
    struct stat info;
    for (int i = 0; i < 3; i++) {
        struct store *store = kit_open(env, path);
        kit_fold(store, i * 100, i * 100 + 100, 10);
        cr_assert(store_flush(store, NULL) == ERROR_OK);
        store_close(store);
        cr_assert_eq(stat(kit_path(path, "LOG"), &info), 0);
        cr_assert_eq(info.st_size, 0, "%lld bytes", (long long)info.st_size);
    }
    store_env_free(env);
}
