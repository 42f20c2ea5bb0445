/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a follower, for follower.c (life), fold.c, check.c (is this the log that the store
 * was made from?), begin.c, doubt.c, flush.c and stopped.c. */
#ifndef REPLICA_FOLLOW_INTERNAL_H
#define REPLICA_FOLLOW_INTERNAL_H

#include "replica/follow/follower.h"

enum {
    FOLLOWER_RETRY_MS = 500,         /* what went wrong may go right then */
    FOLLOWER_COMMIT_RECORDS = 20000, /* folded records or touched orders per batch */
    FOLLOWER_COMMIT_MS = 50,         /* at the latest after the first uncommitted record */
    FOLLOWER_CLAIMS_SEEN = 64
};

enum follower_phase {
    PHASE_WAITING, /* for a timer or for follower_run */
    PHASE_OFFSETS, /* queries the ends of the log */
    PHASE_FIRST,   /* reading the log up to its first claim */
    PHASE_SEARCH,  /* reading the log for where it may begin */
    PHASE_LAST,    /* reading the record before the checkpoint; the same reader folds on */
    PHASE_CHECKED,
    PHASE_FOLDING,
    PHASE_SCHEMAS, /* a record needs a schema that is being looked for */
    PHASE_PAUSED,  /* a record waits until the disk has space */
    PHASE_STOPPED
};

/* See begin.c. */
struct follower_search {
    int64_t from;         /* what says where the log may begin is looked for from here on */
    int64_t begins_at;    /* which it does say; -1: nothing does */
    int64_t said_at;      /* by this record; -1: it is still looked for */
    struct checkpoint at; /* folded from there on */
    struct error newer;   /* why a record could not be read that a newer version may have written */
    bool knows_claim;     /* a Continuation was read, and names the first claim of this log: */
    struct uuid first_claim_id;
};

struct follower {
    struct cluster *cluster;
    int32_t partition;
    struct view *view;
    const struct follower_ops *ops;
    void *ctx;
    struct metrics_counter *differing; /* Statements */
    struct loop_timer differing_timer; /* until then an alert tells of them */
    uint32_t differing_since;          /* that alert */
    enum follower_phase phase;
    struct broker_reader *reader;
    int64_t low;
    int64_t high;
    int64_t until;
    bool much;       /* the view expects much */
    bool live;       /* the end was reached since follower_run(..., INT64_MAX) */
    bool at_end;     /* and nothing was read since */
    bool met_end;    /* the end was reached since follower_run() */
    bool claim_seen; /* of the log that is being checked; if it was trimmed: it is the store's */
    bool reset_seen; /* an operator's reset accepts this log */
    bool last_only;  /* the record before the checkpoint is compared, and nothing else */
    bool differs;    /* that record is another one: the search tells whose log it is */
    bool searched;   /* what the log begins with is not taken on trust any more */
    bool lawful;     /* it is a Continuation */
    struct follower_search search;
    bool freed;
    bool end_unknown;       /* see follower_end_is_known() */
    bool query_outstanding; /* its answer still names this struct */
    struct loop_timer timer;
    struct loop_timer commit_timer;
    int64_t commit_ms;       /* see follower_commit_behind() */
    uint32_t commit_records; /* while it is live */
    struct loop_timer flush_timer;
    int64_t flush_to; /* what is before it is to be on the disk when that timer is due */
    int64_t recheck_ms;
    struct error stop;
    int64_t bad_at;          /* the record that it is stopped at; -1: at none */
    bool looked;             /* the log holds no Reset that skips it */
    uint64_t unknown_schema; /* of that record */
    int64_t stopped_at;      /* the next offset then: past it, the stop is over */
    int64_t checked_end;     /* where the log ended when all of it was checked */
    int64_t gap_at;          /* the record after a gap for which the log was checked; -1: none */
    int64_t schemas_wanted;  /* the record that waits for a schema */
    int64_t schemas_for;     /* the offset for whose record the schemas are fresh; -1: none */
    int64_t before_next;     /* of the checkpoint before the last folded record */
    int64_t doubted_at;      /* the record that raised the last doubt; -1: the end was met since */
    uint64_t doubted_hash;   /* of that record */
    bool strays;             /* the last record did not follow what was folded before it */
    struct error retry;      /* why it looks or reads again; for watchdogs */
    struct uuid seen[FOLLOWER_CLAIMS_SEEN]; /* ring */
    uint32_t seen_count;
};

static inline const char *follower_topic(const struct follower *follower)
{
    return follower->cluster->topics.events;
}

/* fold.c */
void follower_on_differing_timer(void *ctx);

/* follower.c */
void follower_close_reader(struct follower *follower);
void follower_check_later(struct follower *follower, int64_t delay_ms);
/* The store is at fault or describes a log that is gone: begin with an empty one. `code` is that of
 * the alert; NULL: there is none. False: it could not be had, and the follower is stopped. */
bool follower_drop_store(struct follower *follower, enum error_code code, const char *why);
/* Back to the last commit. False: the store failed, and that is dealt with. */
bool follower_roll_back(struct follower *follower);
/* It cannot continue: drops its store if that is at fault, otherwise stops. */
void follower_fail(struct follower *follower, const struct error *error);
/* The store is at fault, whatever the follower does now. */
void follower_store_failed(struct follower *follower, const struct error *error);

/* fold.c */
/* Opens the reader that folds: PHASE_FOLDING, and PHASE_LAST before it. */
void follower_read_from(struct follower *follower, int64_t offset);
void follower_ask_schemas(struct follower *follower);
/* Paused: folds on if the disk has space. */
void follower_check_disk(struct follower *follower);
void follower_on_commit_timer(void *ctx);
/* Drops the store and folds again, skipping those ranges. */
void follower_refold(struct follower *follower, const struct checkpoint *skips);

/* flush.c */
void follower_flush_begin(struct follower *follower);
void follower_flush_end(struct follower *follower);
/* Then the commits are on the disk, or there is a warning in the log. */
void follower_flush_view(struct follower *follower);

/* stopped.c */
/* An operator has to act; it is checked again after a growing while. */
void follower_stop(struct follower *follower, const struct error *error);
/* The records of a batch, from `offset` on, are in the log and cannot be read. */
void follower_unreadable(struct follower *follower, int64_t offset, int64_t next_offset);
/* The record at the offset cannot be folded: an operator has to skip it, or the schema comes. */
void follower_stop_at(struct follower *follower, const struct error *error, int64_t offset);
void follower_stopped_timer(struct follower *follower);
/* <p>.schemas was read again. */
void follower_stopped_schemas(struct follower *follower);

/* doubt.c */
/* The log may have been cut and have grown again below us. Anywhere: at a Decision of a claim never
 * seen. Where we had arrived: at such a Claim, and at the first of the records that do not follow
 * what is folded, or that are foreign. (A long log holds many others.) `arrived`: it is the first
 * record after the end was met. The record must not be committed before the check: a crash between
 * them would leave a store that agrees with the log at its last record alone. */
bool follower_doubts(struct follower *follower, const struct view_folded *folded, int64_t offset,
                     bool arrived);
/* The record that raised the last doubt was not met again yet. What is read again until then is not
 * committed: it may be of another log than the one that was checked, which that record shows. */
bool follower_reads_again(struct follower *follower);
/* It is not met again: the log was cut once more. It is checked from the beginning. */
void follower_check_again(struct follower *follower);
/* The claim that the record names; NULL: it names none. Borrowed. */
const struct uuid *follower_claim_of(const struct record *record);

/* begin.c */
/* The log does not begin with a Continuation: looks for the first one from which on it is whole.
 * follower_search_ended() comes, or another check. */
void follower_search(struct follower *follower);
/* The log began with a Continuation, and what follows does not fit, or does not say that it is
 * whole: that one may not have counted, as a zombie had written it. True: an empty store looks for
 * a later place. */
bool follower_doubts_beginning(struct follower *follower);
/* The first record that says that the log is whole, and is folded now, names a later beginning. A
 * trim to where this reader began would have been announced there: what the log began with may be a
 * zombie's, and the owner's Statements before the next Claim did not count. True: likewise. */
bool follower_doubts_trim(struct follower *follower, const struct view_folded *folded);
/* Stopped as the log has none: one that is written later ends that. */
void follower_await_beginning(struct follower *follower);

/* check.c */
void follower_search_ended(struct follower *follower);
/* Begins the check; it ends in ops->checked, a drop (and another check), a stop or a retry. */
void follower_check(struct follower *follower);
/* Nothing is folded that is not committed. The same for a log that was checked before, and holds a
 * Claim that raises a doubt: compares the record before the checkpoint. If it is not the one that
 * was folded, or does not tell one log from another, the check begins from the beginning. */
void follower_check_last(struct follower *follower);
/* What the reader passes on while it looks for the record before the checkpoint. */
void follower_last_record(struct follower *follower, const struct broker_record *record);
void follower_last_unreadable(struct follower *follower);
void follower_last_end(struct follower *follower);
/* The record does not follow what is folded: records before it were deleted under the reader, or
 * the log has a gap there. True: the log is checked first, as after a restart. */
bool follower_checks_gap(struct follower *follower, int64_t offset);
/* Asks where the log begins and ends, for the check, or for the lag while it is paused. */
void follower_ask_offsets(struct follower *follower);
/* A reader's error(). The log may be shorter than it was, for one: it is checked from the
 * beginning. */
void follower_read_failed(void *ctx, const struct error *error);

#endif
