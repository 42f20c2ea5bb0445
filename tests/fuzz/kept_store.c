/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/fuzz/kept_store.h"

#include "platform/files.h"
#include "statestore/store_internal.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

/* Stores allocate much: with whole stacks, that would take most of the time. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "malloc_context_size=4:quarantine_size_mb=16";
}

/* Deleted rows leave tombstones behind. */
enum { OPENED_MAX = 4000 };

static struct {
    struct store_env *env;
    struct store *store; /* NULL: the first store_open() makes it */
    bool open;           /* a view has it */
    bool fresh;          /* nothing was written since it was made or emptied */
    uint32_t opened;
    char folder[64];
    char path[80];
} kept;

static void remove_folder(void)
{
    files_remove_tree(kept.folder, NULL);
}

void kept_store_prepare(void)
{
    struct store_options options = {.cache_bytes = 1 << 20, .write_buffer_bytes = 1 << 20};
    snprintf(kept.folder, sizeof(kept.folder), "/dev/shm/reeve-fuzz-XXXXXX");
    if (mkdtemp(kept.folder) == NULL) {
        snprintf(kept.folder, sizeof(kept.folder), "/tmp/reeve-fuzz-XXXXXX");
        const char *made = mkdtemp(kept.folder);
        assert(made != NULL);
    }
    snprintf(kept.path, sizeof(kept.path), "%s/store", kept.folder);
    atexit(remove_folder);
    store_env_new(&options);
}

struct store_env *kept_store_env(void)
{
    return kept.env;
}

/* ---- in front of the store ---- */

struct store_env *__real_store_env_new(const struct store_options *options);
struct store_env *__wrap_store_env_new(const struct store_options *options);
void __wrap_store_env_free(struct store_env *env);
enum error_class __real_store_open(struct store_env *env, const char *path,
                                   struct store **ret_store, struct error *ret_error);
enum error_class __wrap_store_open(struct store_env *env, const char *path,
                                   struct store **ret_store, struct error *ret_error);
void __real_store_close(struct store *store);
void __wrap_store_close(struct store *store);
enum error_class __wrap_store_drop(const char *path, struct error *ret_error);
enum error_class __real_store_commit(struct store *store, struct store_batch *batch,
                                     const struct checkpoint *checkpoint, struct error *ret_error);
enum error_class __wrap_store_commit(struct store *store, struct store_batch *batch,
                                     const struct checkpoint *checkpoint, struct error *ret_error);
enum error_class __wrap_store_flush(struct store *store, struct error *ret_error);

struct store_env *__wrap_store_env_new(const struct store_options *options)
{
    if (kept.env == NULL)
        kept.env = __real_store_env_new(options);
    return kept.env;
}

void __wrap_store_env_free(struct store_env *env)
{
    assert(env == kept.env);
}

enum error_class __wrap_store_open(struct store_env *env, const char *path,
                                   struct store **ret_store, struct error *ret_error)
{
    (void)path;
    assert(!kept.open);
    if (kept.store == NULL) {
        enum error_class class = __real_store_open(env, kept.path, &kept.store, ret_error);
        if (class != ERROR_OK)
            return class;
        kept.fresh = true;
        kept.opened = 0;
    }
    kept.open = true;
    kept.opened++;
    *ret_store = kept.store;
    return ERROR_OK;
}

void __wrap_store_close(struct store *store)
{
    assert(store == NULL || (kept.open && store == kept.store));
    if (store != NULL)
        kept.open = false;
}

/* Of every family, with the checkpoint: what is left is a new store. */
static void delete_rows(void)
{
    rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
    char *message = NULL;
    for (int i = FAMILY_ORDERS; i <= FAMILY_META; i++) {
        rocksdb_column_family_handle_t *family = kept.store->families[i];
        rocksdb_iterator_t *rows =
            rocksdb_create_iterator_cf(kept.store->db, kept.store->read, family);
        for (rocksdb_iter_seek_to_first(rows); rocksdb_iter_valid(rows); rocksdb_iter_next(rows)) {
            size_t size;
            const char *key = rocksdb_iter_key(rows, &size);
            rocksdb_writebatch_delete_cf(batch, family, key, size);
        }
        rocksdb_iter_destroy(rows);
    }
    rocksdb_write(kept.store->db, kept.store->write, batch, &message);
    assert(message == NULL);
    rocksdb_writebatch_destroy(batch);
}

void kept_store_empty(void)
{
    assert(!kept.open);
    if (kept.store == NULL || kept.fresh)
        return;
    if (kept.opened < OPENED_MAX) {
        delete_rows();
    } else {
        __real_store_close(kept.store);
        kept.store = NULL;
        enum error_class class = files_remove_tree(kept.path, NULL);
        assert(class == ERROR_OK);
    }
    kept.fresh = true;
}

enum error_class __wrap_store_drop(const char *path, struct error *ret_error)
{
    (void)path;
    (void)ret_error;
    kept_store_empty();
    return ERROR_OK;
}

enum error_class __wrap_store_commit(struct store *store, struct store_batch *batch,
                                     const struct checkpoint *checkpoint, struct error *ret_error)
{
    enum error_class class = __real_store_commit(store, batch, checkpoint, ret_error);
    kept.fresh = kept.fresh && class != ERROR_OK;
    return class;
}

/* It takes longer than an input. */
enum error_class __wrap_store_flush(struct store *store, struct error *ret_error)
{
    (void)store;
    (void)ret_error;
    return ERROR_OK;
}
