/* SPDX-License-Identifier: Apache-2.0 */
/* Opening, closing and dropping a store; its checkpoint, its rows one by one, and writing.
 *
 * The MANIFEST lists the tables. A flush adds those of all families in one step, and a compaction
 * changes no rows, so whatever beginning of the MANIFEST is left describes a store of one moment;
 * where tables of that moment are gone, the store does not open. */
#include "base/text.h"
#include "statestore/log_check.h"
#include "statestore/seal.h"
#include "statestore/store_internal.h"
#include "statestore/table_check.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PERSISTED_TIER = 2 }; /* rocksdb::kPersistedTier */

/* ---- errors ---- */

static enum error_code code_of(const char *rocks_message)
{
    /* "Result incomplete": writing would wait for a flush that has failed. */
    if (!string_starts_with(rocks_message, "IO error") &&
        !string_starts_with(rocks_message, "Result incomplete"))
        return CODE_STORE_CORRUPT;
    bool lock = strstr(rocks_message, "lock file") != NULL ||
                strstr(rocks_message, "lock hold by current process") != NULL;
    return lock ? CODE_STORE_IN_USE : CODE_STORE_IO;
}

bool store_has_failed(const struct error *error)
{
    return error->code == CODE_STORE_CORRUPT || error->code == CODE_STORE_IO ||
           error->code == CODE_STORE_DAMAGED || error->code == CODE_STORE_FORMAT ||
           error->code == CODE_STORE_IN_USE;
}

enum error_class store_fail(const char *path, const char *doing, char *rocks_message,
                            struct error *ret_error)
{
    if (rocks_message == NULL)
        return ERROR_OK;
    error_set(ret_error, code_of(rocks_message), "cannot %s the store %s: %s", doing, path,
              rocks_message);
    rocksdb_free(rocks_message);
    return ERROR_FATAL;
}

enum error_class store_corrupt(const struct store *store, const char *what, struct error *ret_error)
{
    return error_set(ret_error, CODE_STORE_CORRUPT, "the store %s has %s", store->path, what);
}

enum error_class store_closed(struct error *ret_error)
{
    return error_set(ret_error, CODE_STORE_IO,
                     "the store was dropped and could not be opened again yet");
}

/* ---- opening and closing ---- */

const char *store_files_damage(const char *path)
{
    if (!table_check_store(path))
        return "a table whose properties do not match their checksum";
    return log_check_store(path) ? NULL : "a log with a record of an impossible type";
}

/* RocksDB's message, NULL when it opened. */
static char *open_rocks(struct store *store)
{
    char *message = NULL;
    uint32_t stores = store->env->open_stores + 1;
    rocksdb_options_t *options = store_options_new(store->env, stores);
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
        return error_set(ret_error, CODE_STORE_IN_USE,
                         "the store %s is open elsewhere: let that process end", store->path);
    const char *damage = store_files_damage(store->path);
    if (damage != NULL)
        return store_corrupt(store, damage, ret_error);
    return store_fail(store->path, "open", open_rocks(store), ret_error);
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
    store->write = rocksdb_writeoptions_create();
    rocksdb_writeoptions_disable_WAL(store->write, 1);
    store->read = rocksdb_readoptions_create();
    store->read_flushed = rocksdb_readoptions_create();
    rocksdb_readoptions_set_read_tier(store->read_flushed, PERSISTED_TIER);
    store->next = env->stores;
    env->stores = store;
    env->open_stores++;
    *ret_store = store;
    return ERROR_OK;
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
    rocksdb_readoptions_destroy(store->read_flushed);
    rocksdb_readoptions_destroy(store->read);
    rocksdb_writeoptions_destroy(store->write);
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
    if (message != NULL && code_of(message) == CODE_STORE_IN_USE)
        return store_fail(path, "drop", message, ret_error);
    rocksdb_free(message);
    int rc = remove_leftovers(path);
    if (rc != 0)
        return error_set(ret_error, CODE_STORE_IO, "cannot drop the store %s: %s", path,
                         strerror(rc));
    return ERROR_OK;
}

/* ---- reading ---- */

static enum error_class read_checkpoint(struct store *store, const rocksdb_readoptions_t *options,
                                        struct checkpoint *ret_checkpoint, struct error *ret_error)
{
    char *message = NULL;
    size_t size = 0;
    char *bytes = rocksdb_get_cf(store->db, options, store->families[FAMILY_META], CHECKPOINT_KEY,
                                 sizeof(CHECKPOINT_KEY) - 1, &size, &message);
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

enum error_class store_checkpoint(struct store *store, struct checkpoint *ret_checkpoint,
                                  struct error *ret_error)
{
    return read_checkpoint(store, store->read, ret_checkpoint, ret_error);
}

enum error_class store_flushed(struct store *store, struct checkpoint *ret_checkpoint,
                               struct error *ret_error)
{
    if (store == NULL)
        return store_closed(ret_error);
    return read_checkpoint(store, store->read_flushed, ret_checkpoint, ret_error);
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

static uint64_t property(struct store *store, enum family family, const char *name)
{
    uint64_t value = 0;
    rocksdb_property_int_cf(store->db, store->families[family], name, &value);
    return value;
}

/* RocksDB's message, NULL when it takes writes. */
static char *refusal(struct store *store)
{
    char *message = NULL;
    rocksdb_writebatch_t *nothing = rocksdb_writebatch_create();
    rocksdb_write(store->db, store->write, nothing, &message);
    rocksdb_writebatch_destroy(nothing);
    return message;
}

/* A flush or compaction of RocksDB's own failed. It refuses to write after most errors, but tries
 * some again for ever. */
static enum error_class check_background(struct store *store, struct error *ret_error)
{
    if (property(store, FAMILY_DEFAULT, "rocksdb.background-errors") == 0)
        return ERROR_OK;
    char *message = refusal(store);
    if (message != NULL)
        return store_fail(store->path, "flush", message, ret_error);
    return error_set(ret_error, CODE_STORE_IO,
                     "cannot flush the store %s: the disk has refused a write", store->path);
}

enum error_class store_commit(struct store *store, struct store_batch *batch,
                              const struct checkpoint *checkpoint, struct error *ret_error)
{
    assert(checkpoint->cluster_id[0] != '\0'); /* that would be a new store */
    if (store == NULL)
        return store_closed(ret_error);
    store_batch_put_queued(batch);
    store_batch_put_checkpoint(batch, checkpoint);
    char *message = NULL;
    rocksdb_write(store->db, store->write, store_batch_rocks(batch), &message);
    store_batch_clear(batch);
    if (message != NULL)
        return store_fail(store->path, "write", message, ret_error);
    return check_background(store, ret_error);
}

/* ---- flushing ---- */

static uint64_t unflushed_rows(struct store *store)
{
    uint64_t rows = 0;
    for (int i = 0; i < FAMILY_COUNT; i++)
        rows += property(store, (enum family)i, "rocksdb.num-entries-active-mem-table") +
                property(store, (enum family)i, "rocksdb.num-entries-imm-mem-tables");
    return rows;
}

enum error_class store_flush(struct store *store, struct error *ret_error)
{
    if (store == NULL)
        return store_closed(ret_error);
    if (unflushed_rows(store) == 0)
        return ERROR_OK;
    /* With atomic_flush a manual compaction first flushes all families as one step, which
     * rocksdb_flush_cf() does not; there is nothing to compact in the family `default`. It has no
     * error to return: what was not flushed is found out by looking. */
    rocksdb_compact_range_cf(store->db, store->families[FAMILY_DEFAULT], NULL, 0, NULL, 0);
    if (unflushed_rows(store) == 0)
        return ERROR_OK;
    enum error_class class = check_background(store, ret_error);
    if (class != ERROR_OK)
        return class;
    return error_set(ret_error, CODE_STORE_IO, "cannot flush the store %s: rows stayed in memory",
                     store->path);
}

/* A failure costs time alone. */
void store_expect_much(struct store *store, bool much)
{
    const char *const names[] = {"level0_file_num_compaction_trigger"};
    char tables[16];
    const char *const values[] = {tables};
    if (store == NULL || store->expects_much == much)
        return;
    store->expects_much = much;
    for (int i = FAMILY_ORDERS; i < FAMILY_META; i++) {
        char *message = NULL;
        snprintf(tables, sizeof(tables), "%d", store_tables_compacted((enum family)i, much));
        rocksdb_set_options_cf(store->db, store->families[i], 1, names, values, &message);
        rocksdb_free(message);
    }
}

/* ---- figures ---- */

uint64_t store_order_count_estimate(struct store *store)
{
    return store == NULL ? 0 : property(store, FAMILY_ORDERS, "rocksdb.estimate-num-keys");
}
