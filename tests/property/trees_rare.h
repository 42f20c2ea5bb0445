/* SPDX-License-Identifier: Apache-2.0 */
/* What random trees must come across. */
#ifndef TESTS_PROPERTY_TREES_RARE_H
#define TESTS_PROPERTY_TREES_RARE_H

#include <stdint.h>

/* clang-format off */
#define TREES_RARE(X) \
    X(LOST, "a message lost") \
    X(COPY, "a copy of a zombie delivered") \
    X(TAKEOVER, "a part of the log emitted again") \
    X(HELD, "a sub-order held") \
    X(HELD_AGAIN, "a sub-order reports again that it is held") \
    X(KEPT, "a held sub-order kept") \
    X(UNDONE, "a held sub-order undone") \
    X(FINAL, "a sub-order final") \
    X(ITEM_FAILED, "an item failed") \
    X(ITEM_REFUSED, "an item refused") \
    X(ITEM_BY_HAND, "an item failed by hand") \
    X(INPUT_FAILED, "an item whose input cannot be made") \
    X(STOPPED, "stopped by StopWhen") \
    X(ASKED, "unanswered items asked for") \
    X(RECALLED, "items recalled that run") \
    X(RECALLED_UNDO, "a step of sub-orders undone at its turn") \
    X(RECALLED_LATE, "an old recall that finds a later generation") \
    X(TIMED_OUT, "a step of sub-orders out of time") \
    X(PIVOT_KEPT, "a step at the pivot that fails with what it did") \
    X(AGAIN, "failed items submitted again") \
    X(SUPERSEDED, "a report of an earlier generation ignored") \
    X(HELD_TOO_LATE, "a held sub-order of an item that has failed") \
    X(REPORTED_TO_ENDED, "a held sub-order of an order that has ended") \
    X(REPEATED, "a submission repeated, and its end reported") \
    X(RESET, "an end that a reset skipped") \
    X(PARENT_UNKNOWN, "a held sub-order without its parent") \
    X(HELD_BY_PARENT, "an operator refused, as the parent decides") \
    X(TOO_OLD, "a sub-order refused as it may have expired") \
    X(USED_AGAIN, "an id of a root used again") \
    X(EXPIRED, "a sub-order expired before its parent's end") \
    X(UNDO_FAILED, "an undo that failed") \
    X(QUOTA, "a tree refused that would grow too large") \
    X(DEEP, "an order three levels deep") \
    X(PAUSED, "a recall of a paused sub-order")
/* clang-format on */

enum trees_rare {
#define NAME_OF(name, words) TREES_##name,
    TREES_RARE(NAME_OF)
#undef NAME_OF
        TREES_RARE_COUNT
};

#endif
