/* SPDX-License-Identifier: Apache-2.0 */
/* One partition's state as a service holds it: the store, hot orders decoded in memory above it,
 * and the checkpoint.
 *
 * Records of events[p] are folded in offset order (view_fold) or, by the owner, applied as it
 * decides them (view_decided); both end in the same lines. view_commit() writes all touched orders,
 * their deadlines and the checkpoint in ONE batch, and view_rollback() forgets what was not
 * committed. A crash forgets what was not flushed. Loop thread only. */
#ifndef REPLICA_FOLD_VIEW_H
#define REPLICA_FOLD_VIEW_H

#include "base/heap_arena.h"
#include "kafka/broker.h"
#include "replica/fold/admission.h"
#include "schemas/avro/codec.h"
#include "statestore/continuations.h"
#include "statestore/store.h"
#include "statestore/waiting.h"

struct view;

/* A step that waits, as a row of the store's waiting index (statestore/waiting.h). */
struct view_index_row {
    struct text queue; /* in `bytes` */
    int64_t queued_at;
    char bytes[QUEUE_KEY_BYTES_MAX];
};

/* What a service counts over the orders of a view, and keeps in the view's store: a tally, and a
 * row for each step that waits. All of it follows from the orders alone. The view calls count() as
 * orders change; the other callbacks belong to a commit, an opening or a rollback. */
struct view_index {
    /* The order as it is counts from now on, or (sign -1) no longer. One that has ended counts for
     * nothing: it expires without this. */
    void (*count)(void *ctx, const struct order *order, int sign);
    /* The rows of an order; returns how many there are. */
    uint32_t (*rows_of)(const struct order *order,
                        struct view_index_row ret_rows[WORKFLOW_STEPS_MAX]);
    /* Appends the tally. */
    void (*encode)(const void *ctx, struct buffer *buffer);
    /* Reads a tally when nothing is counted yet. False: it is malformed. */
    bool (*decode)(void *ctx, struct text tally);
    /* Back to nothing: before decode(), and before the view closes. */
    void (*clear)(void *ctx);
};

struct view_options {
    struct store_env *env;
    struct codec *codec;
    const char *path;   /* the store's directory */
    size_t cache_bytes; /* bound of clean orders in memory */
    bool deadlines;     /* keep the deadline index (supervisor, verify) */
    /* Keep history and secondary indexes (console). What concerns no order (Claims, Resets,
     * undecodable commands, the Continuation with which a trimmed log begins) is in the history of
     * the order "". Where an order was accepted before that, its history has the Statement by which
     * it became known, and what was decided since. */
    bool history;
    bool continuations; /* keep where they are: for an owner, who trims */
    /* The scheduler's index. NULL: none. It and its context are borrowed until view_close(). */
    const struct view_index *index;
    void *index_ctx;
};

/* New. A corrupt store, or one of another release's format, is dropped here and begun afresh:
 * *ret_dropped is true then, and *ret_error says why. FATAL only when the directory cannot be used.
 */
enum error_class view_open(const struct view_options *options, struct view **ret_view,
                           bool *ret_dropped, struct error *ret_error);
/* Forgets what was not committed and flushed. NULL does nothing. */
void view_close(struct view *view);
/* Closes, removes the directory and begins with an empty store. On failure the view has no store:
 * what reads it fails with "StoreIo", and the caller tries view_drop() again later. */
enum error_class view_drop(struct view *view, struct error *ret_error);

/* For tests: bytes of the clean orders in memory. */
size_t view_cached_bytes(const struct view *view);

/* Read-only. What is folded so far, committed or not. */
const struct checkpoint *view_checkpoint(const struct view *view);
/* What the store holds: as of the last commit. */
const struct checkpoint *view_committed(const struct view *view);
/* NULL after a failed view_drop(); store_*() that read then fail. */
struct store *view_store(struct view *view);
/* Remembered with the first commit; checked by log_check. */
void view_set_cluster_id(struct view *view, const char *cluster_id);
void view_set_emitted_through(struct view *view, int64_t offset);

/* The order, or NULL in *ret_order. Borrowed until the next call that folds, decides or commits. */
enum error_class view_order(struct view *view, struct text order_id, const struct order **ret_order,
                            struct error *ret_error);

/* For scans over many orders, when all is committed: the same without keeping the order in memory.
 * It lives in `arena`, or is borrowed as above. */
enum error_class view_read_order(struct view *view, struct text order_id, struct arena *arena,
                                 const struct order **ret_order, struct error *ret_error);
/* The order of a row that a scan visits, in `arena`. FATAL "StoreCorrupt". */
enum error_class view_decode_row(struct view *view, struct text order_id, struct text row,
                                 struct arena *arena, struct order *ret_order,
                                 struct error *ret_error);

/* An order that an Expiry took out, as it was. */
struct view_gone {
    enum order_state state;
    struct text workflow;
    uint32_t version; /* of the workflow */
    const struct view_gone *next;
};

/* What a folded record was. */
struct view_folded {
    enum record_kind kind; /* 0: it was not decoded (SKIPPED_RANGE, SKIPPED_FOREIGN) */
    enum admission admission;
    struct record *record; /* in the view's scratch arena, until the next fold; or NULL */
    /* After an admitted Decision or Statement; NULL when there is none (any more), or it is not
     * known yet (the store is not complete). */
    const struct order *order;
    bool differs; /* from the order as it was folded: what the Statement says counts */
    bool existed; /* the order, before it; then in this state and of this workflow: */
    enum order_state state_before;
    struct text workflow_before;  /* borrowed like `order` */
    uint32_t version_before;      /* of the workflow */
    bool alert_before;            /* its alert was open */
    uint32_t gone_count;          /* the orders that an Expiry took out; and ... */
    const struct view_gone *gone; /* ... which, in a view with history: until the next fold */
};

/* Folds the record at offset checkpoint.next_event_offset or beyond (asserted). What cannot be a
 * record of the log is skipped and counted. With ADMISSION_REFOLD nothing was folded: drop the
 * store, and set the skips that admission_correct_skips() gives. RETRY: "UnknownSchema". FATAL:
 * "UnknownEvent", "UndecodableEvent", "ContinuationDiffers", "ImpossibleDecision",
 * "ImpossibleStatement", "ImpossibleExpiry", "LogTruncated", "UnknownFormat" (what to do is in the
 * message) or the store's errors. *ret_folded may be NULL. */
enum error_class view_fold(struct view *view, const struct broker_record *record,
                           struct view_folded *ret_folded, struct error *ret_error);

/* What it means that codec_decode() refuses a record of the log for this reason: RETRY:
 * "UnknownSchema". FATAL: "UnknownEvent", of a newer version; "UndecodableEvent". */
enum error_class view_refusal(const struct codec *codec, const struct broker_record *record,
                              const struct error *why, struct error *ret_error);

/* The owner's own Decision, before it is acknowledged at its offset: `value` are the bytes
 * appended. Asserts that it is admitted. */
enum error_class view_decided(struct view *view, const struct decision *decision, struct text value,
                              struct error *ret_error);
/* The owner's own command guard, likewise. */
void view_guarded(struct view *view, const struct command_guard *guard, struct text value,
                  int64_t offset);
/* The owner's own Continuation, made by admission_state(), likewise. */
void view_continued(struct view *view, const struct continuation *continuation, struct text value,
                    int64_t offset);
/* It was acknowledged there, and appended at that time (ms). */
void view_continuation_appended(struct view *view, struct continuation_place place);
/* For a view that keeps them: the admitted ones, as folded so far. Borrowed. */
const struct continuations *view_continuations(const struct view *view);
/* The owner's own Statement, likewise: of an order as it is folded, and borrowed from the view. */
void view_stated(struct view *view, const struct statement *statement, struct text value,
                 int64_t offset);
/* The owner's own Expiry, likewise. *ret_count: the orders that it takes out. */
enum error_class view_expired(struct view *view, const struct expiry *expiry, struct text value,
                              int64_t offset, uint32_t *ret_count, struct error *ret_error);
/* Visits the ids of orders that were last stated in full before that offset, from the first id
 * after `after` on, among at most `rows_max` rows of the store. *ret_last is the last row, or "" at
 * the end. What the store does not have yet was stated after its checkpoint. */
struct view_order_id {
    uint32_t size;
    char data[ORDER_ID_BYTES_MAX];
};
enum error_class view_scan_stated_before(struct view *view, int64_t before, struct text after,
                                         uint32_t rows_max,
                                         bool (*visit)(void *ctx, struct text order_id), void *ctx,
                                         struct view_order_id *ret_last, struct error *ret_error);
/* The first orders in the order of (ended_at, id), at most `count_max`, of those that ended at
 * `until` or before: how many there are, and the last of them. What was not committed yet is left
 * out. */
struct view_ended {
    uint32_t count;
    int64_t ended_at;
    struct view_order_id order_id;
};
enum error_class view_find_ended(struct view *view, int64_t until, uint32_t count_max,
                                 struct view_ended *ret_ended, struct error *ret_error);
/* As admission_begin_at(), for a store in which nothing is folded. */
void view_begin_at(struct view *view, int64_t start);
/* The ranges that this fold is to skip; before anything of the new ones is folded. */
void view_set_skips(struct view *view, const struct checkpoint *skips);

/* The steps that wait in the queue, committed or not, with queued_at >= from: the oldest first, of
 * one time by order id. For a view with an index; `visit` is as in store_scan_waiting(). */
enum error_class view_scan_waiting(struct view *view, struct text queue, enum priority priority,
                                   int64_t from,
                                   bool (*visit)(void *ctx, const struct waiting_row *row),
                                   void *ctx, struct error *ret_error);

/* Records folded and orders touched since the last commit, and the bytes of those records: the
 * caller commits when they are many, at the end, or after a while. */
uint32_t view_dirty(const struct view *view);
uint64_t view_dirty_bytes(const struct view *view);
/* On failure, here and in the next two: drop and fold again. Flushes when a crash would cost too
 * much folding. */
enum error_class view_commit(struct view *view, struct error *ret_error);
/* Has what is committed on the disk, and waits for that. */
enum error_class view_flush(struct view *view, struct error *ret_error);
/* The next offset as of the last flush: no crash makes the view fold again what is before it. */
enum error_class view_flushed(struct view *view, int64_t *ret_next_event_offset,
                              struct error *ret_error);
/* Nothing is committed that is not flushed, as far as is known without asking the store. */
bool view_is_flushed(const struct view *view);
/* Much is to be folded before the view is read: flushes are left to RocksDB. False: no longer. */
void view_expect_much(struct view *view, bool much);
/* Trims the cache to its bound and tidies long-lived orders: after a commit, when no text of a
 * Decision that borrowed from an order is needed any more. Does nothing while held. */
void view_tidy(struct view *view);
/* While held (Decisions that borrow from orders are in flight) no order moves or leaves the cache.
 */
void view_hold(struct view *view, bool held);
/* Back to the last commit. */
enum error_class view_rollback(struct view *view, struct error *ret_error);

#endif
