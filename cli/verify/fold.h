/* SPDX-License-Identifier: Apache-2.0 */
/* One fold of one partition's log into a fresh store, for `reeve verify`; with the rules of every
 * order, if asked.
 *
 * The follower folds records again that were not committed when it doubted the log: they count
 * once. If they are others by then, everything is folded again. */
#ifndef CLI_VERIFY_FOLD_H
#define CLI_VERIFY_FOLD_H

#include "cli/session.h"
#include "cli/verify/rules.h"
#include "replica/follow/follower.h"

enum { VERIFY_FINDINGS_SHOWN = 20 };

/* A record that counts already, and may come again. */
struct verify_counted {
    int64_t offset;
    uint64_t hash;
};

struct verify_fold {
    struct cli_session *session; /* borrowed, as are the next two */
    FILE *progress;              /* NULL: none is shown */
    struct store_env *stores;
    int32_t partition;
    bool deadlines; /* keep the deadline index */
    bool rules;     /* check them */
    int64_t until;  /* the last offset; INT64_MAX: all that there is */
    /* What came of it. */
    struct follower *follower; /* new: its view has what is folded */
    int64_t complete_from;     /* the offset from which all orders are known */
    bool overtaken;            /* `until` is before that: the log was trimmed meanwhile */
    struct verify_counts counts;
    uint32_t finding_count;
    char findings[VERIFY_FINDINGS_SHOWN][VERIFY_FINDING_SIZE]; /* the first ones */
    /* Private. */
    struct verify_rules *checks;
    bool done;
    int64_t next;                   /* after the last record that counts */
    struct verify_counted *counted; /* by offset: what counts and is not committed */
    uint32_t counted_count;
    uint32_t counted_size;
    uint32_t again; /* the next of these to come again; counted_count: none is */
};

/* Folds what there is up to `until` into an empty store at `path`. On failure `ret_error` says what
 * the follower is stuck at. Either way the findings are there, and verify_fold_deinit() follows. */
enum error_class verify_fold_run(struct verify_fold *fold, const char *path,
                                 struct error *ret_error);
void verify_fold_deinit(struct verify_fold *fold);

#endif
