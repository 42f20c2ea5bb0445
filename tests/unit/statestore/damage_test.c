/* SPDX-License-Identifier: Apache-2.0 */
/* A flipped bit in any file of a store is detected, or the store shows an earlier moment. It never
 * serves a row that the log does not explain.
 *
 * REEVE_DAMAGE_CASES sets how many bits are flipped (default 300). */
#include "statestore/ended.h"
#include "tests/unit/statestore/kit_files.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static int count_suffix(const char *path, const char *suffix)
{
    DIR *dir = opendir(path);
    int count = 0;
    struct dirent *entry;
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        const char *dot = strrchr(entry->d_name, '.');
        count += dot != NULL && strcmp(dot, suffix) == 0;
    }
    if (dir != NULL)
        closedir(dir);
    return count;
}

/* Flushes now and then, so that the store has several tables of each family. */
static void fold_in_child(const char *path)
{
    enum { FLUSHES = 6, RECORDS = 2000 };
    struct store_env *env = kit_env();
    struct store *store = kit_open(env, path);
    for (int64_t n = 0; n < FLUSHES * RECORDS; n += RECORDS) {
        kit_fold(store, n, n + RECORDS, 100);
        cr_assert(store_flush(store, NULL) == ERROR_OK);
    }
    kit_fold(store, FLUSHES * RECORDS, FLUSHES * RECORDS + 50, 5);
}

/* The files of a new store, killed after some flushes. */
static void killed_store(struct kit_files *ret_files)
{
    const char *path = kit_path(kit_folder(), "killed");
    int status = 0;
    pid_t pid = fork();
    cr_assert(pid >= 0);
    if (pid == 0) {
        fold_in_child(path);
        kill(getpid(), SIGKILL);
    }
    cr_assert(waitpid(pid, &status, 0) == pid);
    cr_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    cr_assert_geq(count_suffix(path, ".sst"), 3);
    kit_read_files(path, ret_files);
}

struct outcomes {
    int unopened, noticed, earlier, whole;
};

/* Opens and compares the store; folds on and compares again if it is an earlier one. */
static void try_store(struct store_env *env, const char *path, int64_t records,
                      struct outcomes *outcomes)
{
    struct store *store = NULL;
    struct error error = {0};
    if (store_open(env, path, &store, &error) != ERROR_OK) {
        cr_assert(error.code == CODE_STORE_CORRUPT || error.code == CODE_STORE_IO, "%s: %s",
                  error_name_of(&error), error.message);
        outcomes->unopened++;
        return;
    }
    int64_t found = kit_verify(store);
    cr_assert(found <= records);
    if (found < 0)
        outcomes->noticed++;
    else if (found < records)
        outcomes->earlier++;
    else
        outcomes->whole++;
    if (found >= 0 && found < records) {
        kit_fold(store, found, found + 100, 10);
        cr_assert(kit_verify(store) == found + 100);
    }
    store_close(store);
}

static int cases(void)
{
    const char *value = getenv("REEVE_DAMAGE_CASES");
    return value != NULL ? (int)strtol(value, NULL, 10) : 300;
}

/* The number of records that the undamaged store holds. */
static int64_t records_of(struct store_env *env, const char *path, const struct kit_files *files)
{
    kit_write_files(path, files);
    struct store *store = kit_open(env, path);
    int64_t records = kit_verify(store);
    cr_assert(records > 1000);
    store_close(store);
    return records;
}

Test(statestore_damage, detects_flipped_bits_or_shows_an_earlier_moment)
{
    struct kit_files files = {0};
    killed_store(&files);
    struct store_env *env = kit_env();
    const char *path = kit_path(kit_folder(), "s");
    int64_t records = records_of(env, path, &files);
    struct outcomes outcomes = {0};
    uint64_t random = UINT64_C(88172645463325252);
    for (int i = 0; i < cases(); i++) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        struct kit_file *file = &files.files[random % (uint64_t)files.count];
        if (file->size == 0)
            continue;
        size_t at = (size_t)((random >> 8) % file->size);
        /* Damage at the end of a file looks most like a crash. */
        if ((random >> 60) % 2 == 0 && file->size > 300)
            at = file->size - 300 + at % 300;
        int bit = (int)((random >> 50) % 8);
        file->bytes[at] = (char)(file->bytes[at] ^ (1 << bit));
        kit_write_files(path, &files);
        cr_log_info("case %d: bit %d of byte %zu of %zu in %s", i, bit, at, file->size, file->name);
        try_store(env, path, records, &outcomes);
        file->bytes[at] = (char)(file->bytes[at] ^ (1 << bit));
    }
    cr_log_info("%d unopened, %d noticed, %d earlier, %d whole", outcomes.unopened,
                outcomes.noticed, outcomes.earlier, outcomes.whole);
    cr_assert(outcomes.unopened > 0);
    store_env_free(env);
}

/* RocksDB looks at the end of a table's properties before it verifies them. They are followed by
 * less than 200 bytes. */
Test(statestore_damage, detects_a_flipped_bit_at_the_end_of_a_table)
{
    enum { END_BYTES = 200 };
    struct kit_files files = {0};
    struct store_env *env = kit_env();
    const char *path = kit_path(kit_folder(), "s");
    struct outcomes outcomes = {0};
    struct store *store = kit_open(env, path);
    kit_fold(store, 0, 10, 10);
    struct error error = {0};
    cr_assert_eq(store_flush(store, &error), ERROR_OK, "%s", error.message);
    store_close(store);
    kit_read_files(path, &files);
    int tables = 0;
    for (int i = 0; i < files.count; i++) {
        struct kit_file *file = &files.files[i];
        if (strstr(file->name, ".sst") == NULL)
            continue;
        tables++;
        cr_assert_gt(file->size, END_BYTES);
        for (size_t at = file->size - END_BYTES; at < file->size; at++) {
            file->bytes[at] = (char)(file->bytes[at] ^ 0x80);
            kit_write_files(path, &files);
            try_store(env, path, 10, &outcomes);
            file->bytes[at] = (char)(file->bytes[at] ^ 0x80);
        }
    }
    cr_log_info("%d tables: %d unopened, %d noticed, %d earlier, %d whole", tables,
                outcomes.unopened, outcomes.noticed, outcomes.earlier, outcomes.whole);
    cr_assert_gt(tables, 0);
    cr_assert_gt(outcomes.unopened, 0);
    store_env_free(env);
}

/* ---- a tombstone for many rows, which is in a block of its own ---- */

enum { ENDED_ROWS = 20, ENDED_LEFT = 8 };

static void flush_ended(struct store *store, int64_t n, bool taken_out)
{
    struct checkpoint checkpoint = kit_checkpoint(n);
    struct store_batch *batch = store_batch_new(store);
    struct error error = {0};
    for (int64_t i = 0; !taken_out && i < ENDED_ROWS; i++)
        store_batch_put_ended(store, batch, i, TEXT("o"));
    if (taken_out)
        store_batch_delete_ended_range(store, batch, 0, ENDED_ROWS - ENDED_LEFT - 1, TEXT("o"));
    cr_assert_eq(store_commit(store, batch, &checkpoint, &error), ERROR_OK, "%s", error.message);
    cr_assert_eq(store_flush(store, &error), ERROR_OK, "%s", error.message);
    store_batch_free(batch);
}

static bool count_ended(void *ctx, int64_t ended_at, struct text order_id)
{
    (void)ended_at;
    (void)order_id;
    ++*(int *)ctx;
    return true;
}

/* Whether it still opens. */
static bool try_ended(struct store_env *env, const char *path)
{
    struct store *store = NULL;
    struct checkpoint checkpoint = {0};
    struct error error = {0};
    int rows = 0;
    if (store_open(env, path, &store, &error) != ERROR_OK)
        return false;
    bool noticed =
        store_checkpoint(store, &checkpoint, &error) != ERROR_OK ||
        store_scan_ended(store, 0, ENDED_ROWS, TEXT(""), count_ended, &rows, &error) != ERROR_OK;
    store_close(store);
    cr_assert(noticed ||
                  rows == (checkpoint.next_event_offset == kit_checkpoint(2).next_event_offset
                               ? ENDED_LEFT
                               : ENDED_ROWS),
              "%d rows", rows);
    return true;
}

Test(statestore_damage, detects_a_flipped_bit_where_ended_orders_were_taken_out)
{
    struct kit_files files = {0};
    struct store_env *env = kit_env();
    const char *path = kit_path(kit_folder(), "s");
    struct store *store = kit_open(env, path);
    int unopened = 0;
    int tables = 0;
    flush_ended(store, 1, false);
    flush_ended(store, 2, true);
    store_close(store);
    kit_read_files(path, &files);
    kit_write_files(path, &files);
    cr_assert(try_ended(env, path));
    for (int i = 0; i < files.count; i++) {
        struct kit_file *file = &files.files[i];
        bool has_range = memmem(file->bytes, file->size, "rocksdb.range_del", 17) != NULL;
        tables += has_range;
        for (size_t at = 0; has_range && at < file->size; at += 4) {
            file->bytes[at] = (char)(file->bytes[at] ^ 0x80);
            kit_write_files(path, &files);
            unopened += !try_ended(env, path);
            file->bytes[at] = (char)(file->bytes[at] ^ 0x80);
        }
    }
    cr_assert_eq(tables, 1);
    cr_assert_gt(unopened, 0);
    store_env_free(env);
}

/* The newest, or the oldest, file whose name matches. */
static struct kit_file *find_file(struct kit_files *files, const char *part, bool newest)
{
    struct kit_file *found = NULL;
    for (int i = 0; i < files->count; i++) {
        struct kit_file *file = &files->files[i];
        if (strstr(file->name, part) != NULL &&
            (found == NULL || (strcmp(file->name, found->name) > 0) == newest))
            found = file;
    }
    cr_assert(found != NULL);
    return found;
}

/* A shorter MANIFEST lists what was there at an earlier moment: some of it is gone, or all of it is
 * there, rows and checkpoint alike. */
Test(statestore_damage, detects_a_cut_manifest_or_shows_an_earlier_moment)
{
    struct kit_files files = {0};
    struct outcomes outcomes = {0};
    killed_store(&files);
    struct store_env *env = kit_env();
    const char *path = kit_path(kit_folder(), "s");
    int64_t records = records_of(env, path, &files);
    struct kit_file *manifest = find_file(&files, "MANIFEST", true);
    size_t size = manifest->size;
    for (manifest->size = 0; manifest->size < size; manifest->size += 3) {
        kit_write_files(path, &files);
        try_store(env, path, records, &outcomes);
    }
    cr_log_info("%d unopened, %d noticed, %d earlier, %d whole", outcomes.unopened,
                outcomes.noticed, outcomes.earlier, outcomes.whole);
    cr_assert_eq(outcomes.noticed, 0);
    cr_assert_gt(outcomes.unopened, 0);
    store_env_free(env);
}

/* One bit of each byte: a checksum treats the eight alike, and all of them would take minutes. */
Test(statestore_damage,
     detects_a_flipped_bit_in_each_byte_of_the_manifest_or_shows_an_earlier_moment)
{
    struct kit_files files = {0};
    struct outcomes outcomes = {0};
    killed_store(&files);
    struct store_env *env = kit_env();
    const char *path = kit_path(kit_folder(), "s");
    int64_t records = records_of(env, path, &files);
    struct kit_file *manifest = find_file(&files, "MANIFEST", true);
    for (size_t at = 0; at < manifest->size; at++) {
        manifest->bytes[at] = (char)(manifest->bytes[at] ^ (1 << (at % 8)));
        kit_write_files(path, &files);
        try_store(env, path, records, &outcomes);
        manifest->bytes[at] = (char)(manifest->bytes[at] ^ (1 << (at % 8)));
    }
    cr_log_info("%d unopened, %d noticed, %d earlier, %d whole", outcomes.unopened,
                outcomes.noticed, outcomes.earlier, outcomes.whole);
    cr_assert_eq(outcomes.noticed, 0);
    cr_assert_gt(outcomes.unopened, 0);
    store_env_free(env);
}
