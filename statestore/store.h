/* SPDX-License-Identifier: Apache-2.0 */
/* One RocksDB per owned partition and service: a disposable materialization of events[p].
 *
 * Column families: orders, deadlines, history, index, meta; statestore/keys.h has their keys.
 * Every write is ONE WriteBatch that ends with the checkpoint. There is no write-ahead log: the log
 * of the partition is one. What is committed is in memory until RocksDB or store_flush() writes all
 * families as one step. A crash, and closing, leave the store of the last flush, rows and
 * checkpoint alike (docs/design/decisions/0011-the-log-is-the-write-ahead-log.md).
 * Loop thread only. "StoreCorrupt", "StoreFormat" and "StoreIo" mean: drop the directory and fold
 * again. */
#ifndef STATESTORE_STORE_H
#define STATESTORE_STORE_H

#include "base/error.h"
#include "engine/engine.h"
#include "statestore/checkpoint.h"

struct store_env; /* shared by all stores of the process: block cache, memtable bound, threads */
struct store;
struct store_batch;

struct store_options {
    uint64_t cache_bytes;        /* of all stores of the process together */
    uint64_t write_buffer_bytes; /* of all memtables together */
};

struct store_env *store_env_new(const struct store_options *options);
void store_env_free(struct store_env *env); /* after the last store was closed */

/* It is of a store: what it says cannot be trusted. */
bool store_has_failed(const struct error *error);

/* Opens or creates the store in directory `path` (its parents exist). FATAL on corruption or I/O
 * errors, code "StoreCorrupt" or "StoreIo"; the caller then calls store_drop() and opens again.
 * FATAL "StoreInUse": another process or handle has it; nothing was touched. */
enum error_class store_open(struct store_env *env, const char *path, struct store **ret_store,
                            struct error *ret_error);
/* Forgets what was not flushed. NULL is allowed. Its batches were freed before. */
void store_close(struct store *store);
/* Removes the closed store's directory, if it exists. FATAL "StoreInUse",
 * "StoreIo". */
enum error_class store_drop(const char *path, struct error *ret_error);

/* Zeroed with cluster_id "" when the store is new. */
enum error_class store_checkpoint(struct store *store, struct checkpoint *ret_checkpoint,
                                  struct error *ret_error);

/* What a crash would leave now: as of the last flush, be it RocksDB's own. Zeroed when there was
 * none. */
enum error_class store_flushed(struct store *store, struct checkpoint *ret_checkpoint,
                               struct error *ret_error);

/* The order's row; *ret_row is new (free with store_row_free), .data NULL when there is none
 * (and only then). */
enum error_class store_get_order(struct store *store, struct text order_id, struct text *ret_row,
                                 struct error *ret_error);
void store_row_free(struct text row); /* an empty one is allowed */

/* ---- one WriteBatch at a time per store; texts are copied ---- */
struct store_batch *store_batch_new(struct store *store);
void store_batch_free(struct store_batch *batch);
void store_batch_clear(struct store_batch *batch);
void store_batch_put_order(struct store_batch *batch, struct text order_id, struct text row);
void store_batch_delete_order(struct store_batch *batch, struct text order_id);
void store_batch_put_deadline(struct store_batch *batch, struct text order_id,
                              const struct deadline *deadline);
void store_batch_delete_deadline(struct store_batch *batch, struct text order_id,
                                 const struct deadline *deadline);
/* History of the console: a record's bytes as in the log. Of an order its Decisions, and the
 * Statement by which the console got to know it; of the partition (an empty id) its Claims, its
 * Resets and what the log begins with. */
void store_batch_put_history(struct store_batch *batch, struct text order_id, int64_t offset,
                             struct text record);
/* All history of the order up to and with this offset, what the batch holds of it included. */
void store_batch_delete_history(struct store_batch *batch, struct text order_id, int64_t through);
/* Secondary indexes of the console, newest first. Numbers are in keys: they never change. Most
 * hold the time of an order's last change, and are written again with each; those of the
 * submission hold the time when it was accepted, and are written once. */
enum store_index {
    INDEX_STATE = 0,
    INDEX_STEP = 1,
    INDEX_ERROR = 2,
    INDEX_TIME = 3,
    INDEX_WORKFLOW = 4,
    INDEX_ALERT = 5,
    INDEX_PAUSED = 6,
    INDEX_SUBMITTED = 7, /* of the submission, as the next two: all orders */
    INDEX_CUSTOMER = 8,
    INDEX_ATTRIBUTE = 9, /* "name=value", one row for each attribute */
    INDEX_GROUP = 10,    /* of the last change: whose signal a step awaits */
    STORE_INDEX_COUNT
};
/* What the values of sub-orders begin with. */
#define INDEX_SUBORDER TEXT("~")
/* A value as the index holds it: a text of up to 255 bytes as it is; of a longer one the first 240
 * bytes and a hash, so that its rows may be those of other texts as well. */
enum { INDEX_VALUE_BYTES_MAX = 256 };
struct index_value {
    uint32_t size;
    char data[INDEX_VALUE_BYTES_MAX];
};
/* The value of the parts, put one behind the other. */
void index_value_of(const struct text parts[], uint32_t count, struct index_value *ret_value);
static inline struct text index_value_text(const struct index_value *value)
{
    return (struct text){value->data, value->size};
}
/* Whether only orders with this very text have its rows. */
static inline bool index_value_is_exact(const struct index_value *value)
{
    return value->size < INDEX_VALUE_BYTES_MAX;
}
/* `value` has at most INDEX_VALUE_BYTES_MAX bytes. */
void store_batch_put_index(struct store_batch *batch, enum store_index index, struct text value,
                           int64_t at, struct text order_id);
void store_batch_delete_index(struct store_batch *batch, enum store_index index, struct text value,
                              int64_t at, struct text order_id);
/* Writes all that was put plus the checkpoint, atomically, and clears the batch. */
enum error_class store_commit(struct store *store, struct store_batch *batch,
                              const struct checkpoint *checkpoint, struct error *ret_error);
/* Writes what is committed to the disk, all families as one step, and waits for that. Nothing to
 * do costs nothing. */
enum error_class store_flush(struct store *store, struct error *ret_error);
/* Much is to be folded before anyone reads: tables pile up meanwhile. False: no longer. */
void store_expect_much(struct store *store, bool much);

/* ---- scans of the store as it was at the call; `visit` returns false to stop; texts are borrowed
 * during the call. After an error what was visited must not be used. ---- */
enum error_class store_scan_orders(struct store *store, struct text after_order_id,
                                   bool (*visit)(void *ctx, struct text order_id, struct text row),
                                   void *ctx, struct error *ret_error);
/* Those whose ids begin with `prefix`, in the order of ids. */
enum error_class store_scan_orders_of(struct store *store, struct text prefix,
                                      struct text after_order_id,
                                      bool (*visit)(void *ctx, struct text order_id,
                                                    struct text row),
                                      void *ctx, struct error *ret_error);
/* Deadlines with from <= due_at <= until in order of due_at, then of order ids; of those due at
 * `from`, the ones of `from_order_id` and later. Give the place where the last scan ended: it
 * spares walking over tombstones. */
enum error_class store_scan_deadlines(struct store *store, int64_t from, struct text from_order_id,
                                      int64_t until,
                                      bool (*visit)(void *ctx, struct text order_id,
                                                    const struct deadline *deadline),
                                      void *ctx, struct error *ret_error);
enum error_class store_scan_history(struct store *store, struct text order_id, int64_t from_offset,
                                    bool (*visit)(void *ctx, int64_t offset, struct text decision),
                                    void *ctx, struct error *ret_error);
/* Newest first, starting after (at, order_id) of the previous page; INT64_MAX and "" = the first
 * page; an empty id = with the orders of that time. */
enum error_class store_scan_index(struct store *store, enum store_index index, struct text value,
                                  int64_t before, struct text after_order_id,
                                  bool (*visit)(void *ctx, int64_t at, struct text order_id),
                                  void *ctx, struct error *ret_error);

/* XXH3-128 over orders and deadlines in key order (not the bookkeeping): equal logs, equal digests.
 * *ret_orders: how many orders there are. */
enum error_class store_digest(struct store *store, struct content_hash *ret_digest,
                              uint64_t *ret_orders, struct error *ret_error);
/* For metrics. */
uint64_t store_order_count_estimate(struct store *store);

#endif
