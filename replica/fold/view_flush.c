/* SPDX-License-Identifier: Apache-2.0 */
/* When what a view has committed reaches the disk. The log of the partition is the write-ahead log:
 * after a crash, what was not flushed is folded again from there. So that takes a moment, not more:
 * it is bounded in records here, and in time by follow/flush.c.
 * (docs/design/decisions/0011-the-log-is-the-write-ahead-log.md) */
#include "replica/fold/view_internal.h"

#include <assert.h>

enum { UNFLUSHED_RECORDS_MAX = 20000 /* folding them again takes some 60 ms */ };

/* RocksDB flushes by itself when its memtables are full: only where many records change few rows is
 * there much to flush here. */
enum error_class view_bound_unflushed(struct view *view, struct error *ret_error)
{
    int64_t flushed = 0;
    int64_t next = view->committed.next_event_offset;
    /* After a crash, another log than this one must still be told from it. */
    if (view->unnamed && view->committed.has_first_claim)
        return view_flush(view, ret_error);
    if (view->expects_much || next - view->flushed < UNFLUSHED_RECORDS_MAX)
        return ERROR_OK;
    enum error_class class = view_flushed(view, &flushed, ret_error);
    if (class != ERROR_OK || next - flushed < UNFLUSHED_RECORDS_MAX)
        return class;
    return view_flush(view, ret_error);
}

enum error_class view_flush(struct view *view, struct error *ret_error)
{
    enum error_class class = store_flush(view->store, ret_error);
    if (class != ERROR_OK)
        return class;
    view->flushed = view->committed.next_event_offset;
    view->unnamed = !view->committed.has_first_claim;
    return ERROR_OK;
}

enum error_class view_flushed(struct view *view, int64_t *ret_next_event_offset,
                              struct error *ret_error)
{
    struct checkpoint flushed;
    enum error_class class = store_flushed(view->store, &flushed, ret_error);
    if (class == ERROR_OK)
        *ret_next_event_offset = view->flushed = flushed.next_event_offset;
    return class;
}

bool view_is_flushed(const struct view *view)
{
    return view->store == NULL || view->flushed >= view->committed.next_event_offset;
}

void view_expect_much(struct view *view, bool much)
{
    view->expects_much = much;
    /* An old store has its tables in order: there, a few more do not pay. */
    store_expect_much(view->store, much && view->committed.next_event_offset == 0);
}
