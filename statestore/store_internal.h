/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of statestore/ share about a store; nothing outside it includes this. */
#ifndef STATESTORE_STORE_INTERNAL_H
#define STATESTORE_STORE_INTERNAL_H

#include "statestore/store.h"

#include <rocksdb/c.h>

/* Numbers go into the seals: they never change. RocksDB insists on the family `default`; it is
 * empty. */
enum family {
    FAMILY_DEFAULT,
    FAMILY_ORDERS,
    FAMILY_DEADLINES,
    FAMILY_HISTORY,
    FAMILY_INDEX,
    FAMILY_META,
    FAMILY_COUNT
};

extern const char *const store_family_names[FAMILY_COUNT];

struct store_env {
    rocksdb_env_t *rocks; /* the threads of flushes and compactions */
    rocksdb_cache_t *cache;
    uint64_t write_buffer_bytes; /* of all stores together */
    struct store *stores;        /* the open ones */
    uint32_t open_stores;
};

struct store {
    struct store_env *env; /* borrowed */
    struct store *next;    /* of the environment's */
    char *path;
    rocksdb_t *db;
    rocksdb_column_family_handle_t *families[FAMILY_COUNT];
    rocksdb_writeoptions_t *write;
    rocksdb_readoptions_t *read;
    rocksdb_readoptions_t *read_flushed; /* not what only memory has */
    uint32_t batches;                    /* that were not freed yet */
    bool expects_much;
};

/* New: options of a store (free with rocksdb_options_destroy) that is one of `stores`. */
rocksdb_options_t *store_options_new(struct store_env *env, uint32_t stores);
/* New: options of one of its families. */
rocksdb_options_t *store_options_new_of_family(struct store_env *env, uint32_t stores,
                                               enum family family);
/* How many tables of the newest level begin a compaction, while `much` is folded or not; from
 * TABLES_SLOW on, writing waits for it (options.c). */
int store_tables_compacted(enum family family, bool much);
/* Keeps RocksDB from writing an information log: all handles of RocksDB need that. */
void store_options_silence(rocksdb_options_t *options);

/* Turns RocksDB's message (stolen, may be NULL = no error) into an error. */
enum error_class store_fail(const char *path, const char *doing, char *rocks_message,
                            struct error *ret_error);
/* FATAL "StoreIo": it was dropped and could not be opened again yet. */
enum error_class store_closed(struct error *ret_error);
/* FATAL "StoreCorrupt". */
enum error_class store_corrupt(const struct store *store, const char *what,
                               struct error *ret_error);

/* Damage in the files of the closed store that RocksDB would not survive (static text); NULL: there
 * is none. */
const char *store_files_damage(const char *path);

/* The RocksDB batch inside. */
rocksdb_writebatch_t *store_batch_rocks(struct store_batch *batch);
/* Puts what waits for the commit. */
void store_batch_put_queued(struct store_batch *batch);
void store_batch_put_checkpoint(struct store_batch *batch, const struct checkpoint *checkpoint);
#define CHECKPOINT_KEY "checkpoint"

/* Rows of `meta` other than the checkpoint, sealed (statestore/meta.c). */
void store_batch_put_meta(struct store *store, struct store_batch *batch, struct text key,
                          struct text row);
/* *ret_row is new (free with store_row_free); .data NULL: none was ever written. */
enum error_class store_get_meta(struct store *store, struct text key, struct text *ret_row,
                                struct error *ret_error);

#endif
