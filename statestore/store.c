/* SPDX-License-Identifier: Apache-2.0 */
/* Opening, closing and dropping a store; its checkpoint, its rows one by one, and writing.
 *
 * Opening. The write-ahead log is not synced, and kill -9 may cut off its last record; then the
 * store is that of an earlier moment, as rows and checkpoint are in one batch, and the log
 * refills the rest. Any other flaw means StoreCorrupt. RocksDB is not to be relied on for
 * telling the two apart (statestore/log_check.h). */
#include "statestore/log_check.h"
#include "statestore/seal.h"
#include "statestore/store_internal.h"
#include "statestore/table_check.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- errors ---- */

static bool starts_with(const char *string, const char *prefix)
{
    return strncmp(string, prefix, strlen(prefix)) == 0;
}

static const char *code_of(const char *rocks_message)
{
    if (!starts_with(rocks_message, "IO error"))
        return "StoreCorrupt";
    bool lock = strstr(rocks_message, "lock file") != NULL ||
                strstr(rocks_message, "lock hold by current process") != NULL;
    return lock ? "StoreInUse" : "StoreIo";
}

enum error_class store_fail(const char *path, const char *doing, char *rocks_message,
                            struct error *ret_error)
{
    if (rocks_message == NULL)
        return ERROR_OK;
    error_set(ret_error, ERROR_FATAL, code_of(rocks_message), "cannot %s the store %s: %s", doing,
              path, rocks_message);
    rocksdb_free(rocks_message);
    return ERROR_FATAL;
}

enum error_class store_corrupt(const struct store *store, const char *what, struct error *ret_error)
{
    return error_set(ret_error, ERROR_FATAL, "StoreCorrupt", "the store %s has %s", store->path,
                     what);
}

enum error_class store_closed(struct error *ret_error)
{
    return error_set(ret_error, ERROR_FATAL, "StoreIo",
                     "the store was dropped and could not be opened again yet");
}

/* ---- opening and closing ---- */

/* RocksDB's message, NULL when it opened. */
static char *open_rocks(struct store *store, enum log_state state)
{
    char *message = NULL;
    uint32_t stores = store->env->open_stores + 1;
    rocksdb_options_t *options = store_options_new(store->env, stores, state == LOG_TORN);
    rocksdb_options_t *family_options[FAMILY_COUNT];
    for (int i = 0; i < FAMILY_COUNT; i++)
        family_options[i] = store_options_new_of_family(store->env, stores, (enum family)i);
    store->db = rocksdb_open_column_families(options, store->path, FAMILY_COUNT, store_family_names,
                                             (const rocksdb_options_t *const *)family_options,
                                             store->families, &message);
    for (int i = 0; i < FAMILY_COUNT; i++)
        rocksdb_options_destroy(family_options[i]);
    rocksdb_options_destroy(options);
    assert((store->db == NULL) == (message != NULL));
    return message;
}

/* Whether a process has it open, as far as can be seen without opening it. */
static bool in_use(const struct store_env *env, const char *path)
{
    /* Of this process: not by looking at the lock, as closing the file would release it. */
    for (const struct store *store = env->stores; store != NULL; store = store->next) {
        if (strcmp(store->path, path) == 0)
            return true;
    }
    int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int fd = dir >= 0 ? openat(dir, "LOCK", O_RDWR | O_CLOEXEC) : -1;
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    bool locked = fd >= 0 && fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
    if (fd >= 0)
        close(fd);
    if (dir >= 0)
        close(dir);
    return locked;
}

static enum error_class open_checked(struct store *store, struct error *ret_error)
{
    if (in_use(store->env, store->path))
        return error_set(ret_error, ERROR_FATAL, "StoreInUse",
                         "the store %s is open elsewhere: let that process end", store->path);
    const char *what = NULL;
    enum log_state state = log_check_store(store->path, &what);
    if (state == LOG_DAMAGED)
        return store_corrupt(store, what, ret_error);
    if (!table_check_store(store->path))
        return store_corrupt(store, "a table whose properties do not match their checksum",
                             ret_error);
    store->lost_tail = state == LOG_TORN;
    return store_fail(store->path, "open", open_rocks(store, state), ret_error);
}

enum error_class store_open(struct store_env *env, const char *path, struct store **ret_store,
                            struct error *ret_error)
{
    struct store *store = calloc(1, sizeof(*store));
    assert(store != NULL);
    store->env = env;
    store->path = strdup(path);
    assert(store->path != NULL);
    enum error_class class = open_checked(store, ret_error);
    if (class != ERROR_OK) {
        free(store->path);
        free(store);
        return class;
    }
    store->write_logged = rocksdb_writeoptions_create();
    store->write_bulk = rocksdb_writeoptions_create();
    rocksdb_writeoptions_disable_WAL(store->write_bulk, 1);
    store->read = rocksdb_readoptions_create();
    store->next = env->stores;
    env->stores = store;
    env->open_stores++;
    *ret_store = store;
    return ERROR_OK;
}

bool store_lost_tail(const struct store *store)
{
    return store->lost_tail;
}

void store_close(struct store *store)
{
    if (store == NULL)
        return;
    assert(store->batches == 0);
    assert(store->env->open_stores > 0);
    store->env->open_stores--;
    struct store **link = &store->env->stores;
    while (*link != store)
        link = &(*link)->next;
    *link = store->next;
    rocksdb_readoptions_destroy(store->read);
    rocksdb_writeoptions_destroy(store->write_bulk);
    rocksdb_writeoptions_destroy(store->write_logged);
    for (int i = 0; i < FAMILY_COUNT; i++)
        rocksdb_column_family_handle_destroy(store->families[i]);
    rocksdb_close(store->db);
    free(store->path);
    free(store);
}

/* ---- dropping ---- */

/* Removes what RocksDB left behind in the directory (it has no subdirectories). */
static int remove_leftovers(const char *path)
{
    DIR *dir = opendir(path);
    if (dir == NULL)
        return errno == ENOENT ? 0 : errno;
    int rc = 0;
    struct dirent *entry;
    while (rc == 0 && (errno = 0, entry = readdir(dir)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (unlinkat(dirfd(dir), entry->d_name, 0) != 0 && errno != ENOENT)
            rc = errno;
    }
    if (rc == 0)
        rc = errno;
    closedir(dir);
    if (rc == 0 && rmdir(path) != 0 && errno != ENOENT)
        rc = errno;
    return rc;
}

enum error_class store_drop(const char *path, struct error *ret_error)
{
    struct stat info;
    if (lstat(path, &info) != 0 && errno == ENOENT)
        return ERROR_OK;
    /* RocksDB's own way first: it takes the lock, so a store in use stays. */
    char *message = NULL;
    rocksdb_options_t *options = rocksdb_options_create();
    store_options_silence(options);
    rocksdb_destroy_db(options, path, &message);
    rocksdb_options_destroy(options);
    if (message != NULL && strcmp(code_of(message), "StoreInUse") == 0)
        return store_fail(path, "drop", message, ret_error);
    rocksdb_free(message);
    int rc = remove_leftovers(path);
    if (rc != 0)
        return error_set(ret_error, ERROR_FATAL, "StoreIo", "cannot drop the store %s: %s", path,
                         strerror(rc));
    return ERROR_OK;
}

/* ---- reading ---- */

enum error_class store_checkpoint(struct store *store, struct checkpoint *ret_checkpoint,
                                  struct error *ret_error)
{
    char *message = NULL;
    size_t size = 0;
    char *bytes = rocksdb_get_cf(store->db, store->read, store->families[FAMILY_META],
                                 CHECKPOINT_KEY, sizeof(CHECKPOINT_KEY) - 1, &size, &message);
    if (message != NULL)
        return store_fail(store->path, "read", message, ret_error);
    if (bytes == NULL) {
        *ret_checkpoint = (struct checkpoint){0};
        return ERROR_OK;
    }
    enum error_class class =
        checkpoint_decode((struct text){bytes, (uint32_t)size}, ret_checkpoint, ret_error);
    rocksdb_free(bytes);
    return class;
}

/* The write-ahead log has every commit, but those of a bulk fold. */
enum error_class store_flushed(struct store *store, struct checkpoint *ret_checkpoint,
                               struct error *ret_error)
{
    if (store == NULL)
        return store_closed(ret_error);
    *ret_checkpoint = (struct checkpoint){0};
    return store->bulk_unflushed ? ERROR_OK : store_checkpoint(store, ret_checkpoint, ret_error);
}

enum error_class store_get_order(struct store *store, struct text order_id, struct text *ret_row,
                                 struct error *ret_error)
{
    char *message = NULL;
    size_t size = 0;
    if (store == NULL)
        return store_closed(ret_error);
    char *sealed = rocksdb_get_cf(store->db, store->read, store->families[FAMILY_ORDERS],
                                  order_id.data, order_id.size, &size, &message);
    if (message != NULL)
        return store_fail(store->path, "read", message, ret_error);
    if (sealed == NULL) {
        *ret_row = (struct text){0};
        return ERROR_OK;
    }
    struct text row;
    assert(size <= UINT32_MAX);
    if (!seal_open(FAMILY_ORDERS, order_id, (struct text){sealed, (uint32_t)size}, &row)) {
        rocksdb_free(sealed);
        return store_corrupt(store, "an order whose row does not match its hash", ret_error);
    }
    assert(row.data == sealed); /* the seal is behind it: freeing the row frees both */
    *ret_row = row;
    return ERROR_OK;
}

void store_row_free(struct text row)
{
    rocksdb_free((void *)(uintptr_t)row.data);
}

/* ---- writing ---- */

/* Each compaction of the newest level rewrites most of the next one while that is small, so a bulk
 * fold lets more tables pile up first. A failure costs time alone. */
static void set_tables_before_compaction(struct store *store, const char *tables)
{
    const char *const names[] = {"level0_file_num_compaction_trigger"};
    for (int i = FAMILY_ORDERS; i < FAMILY_META; i++) {
        char *message = NULL;
        rocksdb_set_options_cf(store->db, store->families[i], 1, names, &tables, &message);
        rocksdb_free(message);
    }
}

static void begin_bulk(struct store *store)
{
    set_tables_before_compaction(store, TABLES_BEFORE_COMPACTION_BULK);
    store->bulk_unflushed = true;
}

enum error_class store_commit(struct store *store, struct store_batch *batch,
                              const struct checkpoint *checkpoint, bool bulk,
                              struct error *ret_error)
{
    assert(checkpoint->cluster_id[0] != '\0'); /* that would be a new store */
    if (store == NULL)
        return store_closed(ret_error);
    /* Logged batches must not build on rows that only memtables have. */
    if (!bulk && store->bulk_unflushed) {
        enum error_class class = store_end_bulk(store, NULL, ret_error);
        if (class != ERROR_OK)
            return class;
    }
    if (bulk && !store->bulk_unflushed)
        begin_bulk(store);
    store_batch_put_queued(batch);
    store_batch_put_checkpoint(batch, checkpoint);
    char *message = NULL;
    rocksdb_write(store->db, bulk ? store->write_bulk : store->write_logged,
                  store_batch_rocks(batch), &message);
    store_batch_clear(batch);
    return store_fail(store->path, "write", message, ret_error);
}

static uint64_t property(struct store *store, enum family family, const char *name)
{
    uint64_t value = 0;
    rocksdb_property_int_cf(store->db, store->families[family], name, &value);
    return value;
}

static uint64_t unflushed_rows(struct store *store)
{
    uint64_t rows = 0;
    for (int i = 0; i < FAMILY_COUNT; i++)
        rows += property(store, (enum family)i, "rocksdb.num-entries-active-mem-table") +
                property(store, (enum family)i, "rocksdb.num-entries-imm-mem-tables");
    return rows;
}

enum error_class store_end_bulk(struct store *store, const struct checkpoint *checkpoint,
                                struct error *ret_error)
{
    if (store == NULL)
        return store_closed(ret_error);
    if (checkpoint != NULL) {
        struct store_batch *batch = store_batch_new(store);
        enum error_class class = store_commit(store, batch, checkpoint, true, ret_error);
        store_batch_free(batch);
        if (class != ERROR_OK)
            return class;
    }
    /* With atomic_flush a manual compaction first flushes all families as one step, which
     * rocksdb_flush_cf() does not; this one compacts nothing but a row of meta. It has no error to
     * return: what was not flushed is found out by looking. */
    rocksdb_compact_range_cf(store->db, store->families[FAMILY_META], NULL, 0, NULL, 0);
    if (unflushed_rows(store) > 0)
        return error_set(ret_error, ERROR_FATAL, "StoreIo",
                         "cannot flush the store %s: rows stayed in memory", store->path);
    if (store->bulk_unflushed)
        set_tables_before_compaction(store, TABLES_BEFORE_COMPACTION);
    store->bulk_unflushed = false;
    return ERROR_OK;
}

/* ---- figures ---- */

uint64_t store_order_count_estimate(struct store *store)
{
    return store == NULL ? 0 : property(store, FAMILY_ORDERS, "rocksdb.estimate-num-keys");
}
