/* SPDX-License-Identifier: Apache-2.0 */
/* A flipped bit in any file of a store is detected, or the store shows an earlier moment. It never
 * serves a row that the log does not explain.
 *
 * REEVE_DAMAGE_CASES sets how many bits are flipped (default 300). */
#include "tests/unit/statestore/kit.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FILES_MAX = 64 };

struct file {
    char name[256];
    char *bytes;
    size_t size;
};

/* The files of a store that was killed. */
struct files {
    struct file files[FILES_MAX];
    int count;
};

static void read_file(int folder, const char *name, struct files *files)
{
    int fd = openat(folder, name, O_RDONLY);
    if (fd < 0)
        return; /* removed in the meantime */
    cr_assert(files->count < FILES_MAX);
    struct file *file = &files->files[files->count++];
    snprintf(file->name, sizeof(file->name), "%s", name);
    struct stat info;
    cr_assert(fstat(fd, &info) == 0);
    file->size = (size_t)info.st_size;
    file->bytes = kit_memory(file->size + 1);
    cr_assert(read(fd, file->bytes, file->size) == (ssize_t)file->size);
    close(fd);
}

static void read_files(const char *path, struct files *ret_files)
{
    DIR *dir = opendir(path);
    cr_assert(dir != NULL);
    struct dirent *entry;
    while ((entry = readdir(dir)) != NULL) {
        if (entry->d_type == DT_REG && strncmp(entry->d_name, "LOG", 3) != 0 &&
            strcmp(entry->d_name, "LOCK") != 0)
            read_file(dirfd(dir), entry->d_name, ret_files);
    }
    closedir(dir);
}

static void write_files(const char *path, const struct files *files)
{
    cr_assert(store_drop(path, NULL) == ERROR_OK);
    cr_assert(mkdir(path, 0700) == 0);
    int folder = open(path, O_RDONLY | O_DIRECTORY);
    cr_assert(folder >= 0);
    for (int i = 0; i < files->count; i++) {
        int fd = openat(folder, files->files[i].name, O_WRONLY | O_CREAT, 0600);
        cr_assert(fd >= 0);
        cr_assert(write(fd, files->files[i].bytes, files->files[i].size) ==
                  (ssize_t)files->files[i].size);
        close(fd);
    }
    close(folder);
}

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

static void fold_in_child(const char *path)
{
    struct store_env *env = kit_env();
    struct store *store = kit_open(env, path);
    kit_fold(store, 0, 20000, 100, false);
    for (int64_t n = 20000;; n += 5)
        kit_fold(store, n, n + 5, 5, false);
}

/* Of the newest write-ahead log; 0: there is none. */
static off_t log_bytes(const char *path)
{
    DIR *dir = opendir(path);
    char newest[NAME_MAX + 1] = "";
    struct dirent *entry;
    struct stat found = {0};
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        const char *dot = strrchr(entry->d_name, '.');
        if (dot != NULL && strcmp(dot, ".log") == 0 && strcmp(entry->d_name, newest) > 0)
            snprintf(newest, sizeof(newest), "%s", entry->d_name);
    }
    if (dir == NULL || newest[0] == '\0' || fstatat(dirfd(dir), newest, &found, 0) != 0)
        found.st_size = 0;
    if (dir != NULL)
        closedir(dir);
    return found.st_size;
}

/* What a store is to have when it is killed. */
struct moment {
    int logs;        /* write-ahead logs, and tables */
    off_t log_bytes; /* at least, in the newest log */
};

static bool has_come(const struct moment *moment, const char *path)
{
    return count_suffix(path, ".sst") >= 2 && count_suffix(path, ".log") == moment->logs &&
           log_bytes(path) >= moment->log_bytes;
}

/* The files of the new store `path`, killed at that moment. */
static void kill_store(const char *path, const struct moment *moment, struct files *ret_files)
{
    pid_t pid = fork();
    cr_assert(pid >= 0);
    if (pid == 0) {
        fold_in_child(path);
        _exit(1);
    }
    for (;;) {
        while (!has_come(moment, path))
            cr_assert(waitpid(pid, NULL, WNOHANG) == 0);
        cr_assert(kill(pid, SIGSTOP) == 0);
        cr_assert(waitpid(pid, NULL, WUNTRACED) == pid);
        if (has_come(moment, path))
            break;
        cr_assert(kill(pid, SIGCONT) == 0);
    }
    read_files(path, ret_files);
    cr_assert(kill(pid, SIGKILL) == 0);
    cr_assert(waitpid(pid, NULL, 0) == pid);
}

static void killed_store(int logs, off_t bytes, struct files *ret_files)
{
    struct moment moment = {.logs = logs, .log_bytes = bytes};
    kill_store(kit_path(kit_folder(), "killed"), &moment, ret_files);
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
        cr_assert(strcmp(error.code, "StoreCorrupt") == 0 || strcmp(error.code, "StoreIo") == 0,
                  "%s: %s", error.code, error.message);
        outcomes->unopened++;
        return;
    }
    int64_t found = kit_verify(store);
    cr_assert(found <= records);
    cr_assert(found < 0 || (found < records) == store_lost_tail(store));
    if (found < 0)
        outcomes->noticed++;
    else if (found < records)
        outcomes->earlier++;
    else
        outcomes->whole++;
    if (found >= 0 && found < records) {
        kit_fold(store, found, found + 100, 10, false);
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
static int64_t records_of(struct store_env *env, const char *path, const struct files *files)
{
    write_files(path, files);
    struct store *store = kit_open(env, path);
    int64_t records = kit_verify(store);
    cr_assert(records > 1000);
    cr_assert(!store_lost_tail(store));
    store_close(store);
    return records;
}

static void flip_bits(int logs)
{
    struct files files = {0};
    killed_store(logs, 0, &files);
    struct store_env *env = kit_env();
    const char *path = kit_path(kit_folder(), "s");
    int64_t records = records_of(env, path, &files);
    struct outcomes outcomes = {0};
    uint64_t random = UINT64_C(88172645463325252);
    for (int i = 0; i < cases(); i++) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        struct file *file = &files.files[random % (uint64_t)files.count];
        if (file->size == 0)
            continue;
        size_t at = (size_t)((random >> 8) % file->size);
        /* Damage at the end of a file looks most like a crash. */
        if ((random >> 60) % 2 == 0 && file->size > 300)
            at = file->size - 300 + at % 300;
        int bit = (int)((random >> 50) % 8);
        file->bytes[at] = (char)(file->bytes[at] ^ (1 << bit));
        write_files(path, &files);
        cr_log_info("case %d: bit %d of byte %zu of %zu in %s", i, bit, at, file->size, file->name);
        try_store(env, path, records, &outcomes);
        file->bytes[at] = (char)(file->bytes[at] ^ (1 << bit));
    }
    cr_log_info("%d unopened, %d noticed, %d earlier, %d whole", outcomes.unopened,
                outcomes.noticed, outcomes.earlier, outcomes.whole);
    cr_assert(outcomes.unopened > 0);
    store_env_free(env);
}

Test(statestore_damage, detects_flipped_bits_with_one_write_ahead_log)
{
    flip_bits(1);
}

Test(statestore_damage, detects_flipped_bits_with_two_write_ahead_logs)
{
    flip_bits(2);
}

/* RocksDB looks at the end of a table's properties before it verifies them. They are followed by
 * less than 200 bytes. */
Test(statestore_damage, detects_a_flipped_bit_at_the_end_of_a_table)
{
    enum { END_BYTES = 200 };
    struct files files = {0};
    struct store_env *env = kit_env();
    const char *path = kit_path(kit_folder(), "s");
    struct outcomes outcomes = {0};
    struct store *store = kit_open(env, path);
    kit_fold(store, 0, 10, 10, false);
    struct error error = {0};
    cr_assert_eq(store_end_bulk(store, NULL, &error), ERROR_OK, "%s", error.message);
    store_close(store);
    read_files(path, &files);
    int tables = 0;
    for (int i = 0; i < files.count; i++) {
        struct file *file = &files.files[i];
        if (strstr(file->name, ".sst") == NULL)
            continue;
        tables++;
        cr_assert_gt(file->size, END_BYTES);
        for (size_t at = file->size - END_BYTES; at < file->size; at++) {
            file->bytes[at] = (char)(file->bytes[at] ^ 0x80);
            write_files(path, &files);
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

/* The newest, or the oldest, file whose name matches. */
static struct file *find_file(struct files *files, const char *part, bool newest)
{
    struct file *found = NULL;
    for (int i = 0; i < files->count; i++) {
        struct file *file = &files->files[i];
        if (strstr(file->name, part) != NULL &&
            (found == NULL || (strcmp(file->name, found->name) > 0) == newest))
            found = file;
    }
    cr_assert(found != NULL);
    return found;
}

/* How many records the store holds without the last `cut` bytes of the log; what it has lost is
 * folded again if `refill`. */
static int64_t records_without(struct store_env *env, const char *path, const struct files *files,
                               struct file *log, size_t cut, bool refill, bool *ret_lost_tail)
{
    log->size -= cut;
    write_files(path, files);
    log->size += cut;
    struct store *store = kit_open(env, path);
    int64_t found = kit_verify(store);
    cr_assert_geq(found, 0);
    *ret_lost_tail = store_lost_tail(store);
    if (refill) {
        kit_fold(store, found, found + 100, 10, false);
        cr_assert_eq(kit_verify(store), found + 100);
    }
    store_close(store);
    return found;
}

/* How many bytes at the log's end belong to no record: one was being written. */
static size_t torn_bytes(struct store_env *env, const char *path, const struct files *files,
                         struct file *log, int64_t records)
{
    bool lost_tail;
    size_t whole = 0;
    size_t earlier = log->size;
    while (earlier - whole > 1) {
        size_t cut = whole + (earlier - whole) / 2;
        if (records_without(env, path, files, log, cut, false, &lost_tail) < records)
            earlier = cut;
        else
            whole = cut;
    }
    return whole;
}

Test(statestore_damage, refills_the_truncated_end_of_the_newest_log)
{
    enum { CUTS = 40, STEP = 97, LOG_BYTES = 64 * 1024 };
    struct files files = {0};
    bool lost_tail;
    killed_store(1, LOG_BYTES, &files);
    struct store_env *env = kit_env();
    const char *path = kit_path(kit_folder(), "s");
    int64_t records = records_of(env, path, &files);
    struct file *log = find_file(&files, ".log", true);
    size_t torn = torn_bytes(env, path, &files, log, records);
    cr_assert_lt(torn + CUTS * STEP + 1, log->size);
    for (size_t cut = torn + 1; cut < torn + CUTS * STEP; cut += STEP) {
        bool ignored;
        int64_t shorter = records_without(env, path, &files, log, cut + 1, false, &ignored);
        int64_t found = records_without(env, path, &files, log, cut, true, &lost_tail);
        cr_assert_lt(found, records);
        /* A cut between two records leaves a log that was once whole. */
        cr_assert_eq(lost_tail, shorter == found);
    }
    store_env_free(env);
}

Test(statestore_damage, detects_a_truncated_older_log)
{
    struct files files = {0};
    killed_store(2, 1, &files);
    struct store_env *env = kit_env();
    const char *path = kit_path(kit_folder(), "s");
    int64_t records = records_of(env, path, &files);
    struct outcomes outcomes = {0};
    struct file *log = find_file(&files, ".log", false);
    size_t size = log->size;
    /* A cut within a record damages the record; a cut between two leaves a gap to the newer log. */
    for (log->size = size / 13; log->size < size; log->size += size / 13) {
        write_files(path, &files);
        try_store(env, path, records, &outcomes);
    }
    cr_assert(outcomes.earlier == 0 && outcomes.noticed == 0);
    /* The store is whole if it was killed while the older log existed but was no longer needed. */
    cr_assert(outcomes.unopened >= 12 || outcomes.whole >= 12);
    store_env_free(env);
}

enum { LOG_RECORDS = 3, LOG_RECORD_HEADER = 7 };

/* A store that was killed after LOG_RECORDS commits, each of which is one record of its log. */
static void store_with_records(const char *path, struct files *ret_files)
{
    pid_t pid = fork();
    cr_assert(pid >= 0);
    if (pid == 0) {
        struct store *store = kit_open(kit_env(), path);
        for (int64_t n = 0; n < LOG_RECORDS; n++)
            kit_fold(store, n, n + 1, 1, false);
        _exit(0);
    }
    cr_assert(waitpid(pid, NULL, 0) == pid);
    read_files(path, ret_files);
}

/* The log is cut into two files behind its first record, and the second one begins with its second
 * record or with its third. */
static enum error_class open_two_logs(struct store_env *env, const struct files *files, int second)
{
    const char *path = kit_path(kit_folder(), "s");
    struct files two = *files;
    struct file *older = find_file(&two, ".log", false);
    struct file *newer = &two.files[two.count++];
    size_t ends[LOG_RECORDS];
    size_t at = 0;
    for (int i = 0; i < LOG_RECORDS; i++) {
        const uint8_t *header = (const uint8_t *)older->bytes + at;
        cr_assert(at + LOG_RECORD_HEADER < older->size);
        at += LOG_RECORD_HEADER + header[4] + ((size_t)header[5] << 8);
        ends[i] = at;
    }
    cr_assert(at == older->size);
    *newer = (struct file){.bytes = older->bytes + ends[second - 1],
                           .size = ends[LOG_RECORDS - 1] - ends[second - 1]};
    snprintf(newer->name, sizeof(newer->name), "%06ld.log", strtol(older->name, NULL, 10) + 1);
    older->size = ends[0];
    write_files(path, &two);
    struct store *store = NULL;
    struct error error = {0};
    enum error_class class = store_open(env, path, &store, &error);
    cr_assert(class == ERROR_OK || strcmp(error.code, "StoreCorrupt") == 0, "%s", error.message);
    store_close(store);
    return class;
}

Test(statestore_damage, detects_a_gap_between_two_logs)
{
    struct files files = {0};
    store_with_records(kit_path(kit_folder(), "killed"), &files);
    struct store_env *env = kit_env();
    cr_assert(open_two_logs(env, &files, 1) == ERROR_OK);
    cr_assert(open_two_logs(env, &files, 2) == ERROR_FATAL);
    store_env_free(env);
}

static void fold_on_in_child(const char *path)
{
    struct checkpoint checkpoint;
    pid_t pid = fork();
    cr_assert(pid >= 0);
    if (pid == 0) {
        struct store_env *env = kit_env();
        struct store *store = kit_open(env, path);
        cr_assert(store_checkpoint(store, &checkpoint, NULL) == ERROR_OK);
        int64_t from = checkpoint.next_event_offset;
        kit_fold(store, from, from + 20000, 100, false);
        store_close(store);
        store_env_free(env);
        _exit(0);
    }
    int status = 0;
    cr_assert(waitpid(pid, &status, 0) == pid);
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* RocksDB removes old logs from the newest to the oldest. If it is killed meanwhile, the oldest
 * remains although the logs between it and the current one are gone. */
Test(statestore_damage, ignores_a_leftover_log_that_is_not_needed)
{
    struct files before = {0}, after = {0};
    const char *path = kit_path(kit_folder(), "killed");
    kill_store(path, &(struct moment){.logs = 1}, &before);
    fold_on_in_child(path);
    read_files(path, &after);
    const struct file *old = find_file(&before, ".log", false);
    cr_assert(strcmp(old->name, find_file(&after, ".log", false)->name) < 0);
    cr_assert(old->size > 0 && after.count < FILES_MAX);
    struct store_env *env = kit_env();
    int64_t records = records_of(env, path, &after);
    after.files[after.count++] = *old;
    cr_assert(records_of(env, path, &after) == records);
    /* RocksDB does not read it, so its content does not matter. */
    after.files[after.count - 1].size = old->size / 2;
    cr_assert(records_of(env, path, &after) == records);
    store_env_free(env);
}

Test(statestore_damage, detects_each_flipped_bit_of_the_manifest)
{
    struct files files = {0};
    killed_store(1, 0, &files);
    struct store_env *env = kit_env();
    const char *path = kit_path(kit_folder(), "s");
    write_files(path, &files);
    struct file *manifest = find_file(&files, "MANIFEST", true);
    const char *manifest_path = kit_path(path, manifest->name);
    for (size_t bit = 0; bit < manifest->size * 8; bit++) {
        manifest->bytes[bit / 8] = (char)(manifest->bytes[bit / 8] ^ (1 << (bit % 8)));
        int fd = open(manifest_path, O_WRONLY);
        cr_assert(pwrite(fd, manifest->bytes, manifest->size, 0) == (ssize_t)manifest->size);
        close(fd);
        struct store *store = NULL;
        struct error error = {0};
        cr_assert(store_open(env, path, &store, &error) == ERROR_FATAL);
        cr_assert_str_eq(error.code, "StoreCorrupt", "%s", error.message);
        manifest->bytes[bit / 8] = (char)(manifest->bytes[bit / 8] ^ (1 << (bit % 8)));
    }
    store_env_free(env);
}
