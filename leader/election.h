/* SPDX-License-Identifier: Apache-2.0 */
/* Electing a leader over a log, as a pure state machine: records with their offsets and append
 * times, and the local clock, go in; what to append, and when the task begins and must end, come
 * out. No I/O, no clock, no allocation: leader.c is the shell around it.
 *
 * What counts in the log. Every reader folds the role's records with the same rules, from offsets
 * and append times alone (election_log_fold), so all readers agree:
 * - A claim names the newest record of the role that its candidate saw count (`term`; -1: none).
 *   It counts only if that is still the newest one: a compare-and-set on the log. It is therefore
 *   refused if the leader renewed meanwhile, however slow the candidate's view of the log was.
 * - Where the broker has append times, a claim within the lease of what it follows is refused too.
 *   This second guard alone would depend on the brokers' clocks; the first depends on none.
 * - A renewal or a release counts if it is of the latest term and that is not released.
 * - A renewal or a release of a later term than the reader knows counts as well, with its term: a
 *   candidate renews only a claim that it has read as counting. Retention takes the log's old
 *   records, even a reigning leader's claim, so a reader that came later may know less, and claim
 *   what earlier ones refuse. This rule makes both follow the later term with its first renewal.
 *   Nothing in the log shows that the later term waited for the lease of the one it displaces, so
 *   a reader that follows it claims only when that lease is over as well.
 * - A reader whose log does not begin at offset 0 believes, until it has read such a renewal, no
 *   claim of the past; it listens for a lease before it claims. And every reader forgets what is
 *   older than ELECTION_FORGET_MS when a claim comes (such a claim names -1), so that readers that
 *   still know it and readers that cannot know it agree; the topic's retention is far longer.
 * The offset of a claim that counts is the term, and the fencing token of its leader: it rises for
 * ever, because offsets do.
 *
 * How long a lease is trusted.
 * - A leader trusts a claim or renewal of its own once it has read it back as counting, from the
 *   moment when it was SENT until lease - margin later, by its own monotonic clock.
 * - A candidate claims when `lease` has passed since it READ the newest record that counted, by its
 *   own monotonic clock.
 * A claim that counts was sent after its candidate had read the leader's last renewal and waited a
 * lease; that renewal was read after it was sent. So, as long as two monotonic clocks differ by
 * less than the margin within a lease, the old leader has stopped trusting before the next claim is
 * even sent. No wall clock matters, and no broker's clock. The fencing token is for a process that
 * was suspended between checking its lease and acting. */
#ifndef LEADER_ELECTION_H
#define LEADER_ELECTION_H

#include "base/error.h"
#include "schemas/records.h"

enum {
    ELECTION_LEASE_MS_MIN = 100,
    ELECTION_LEASE_MS_MAX = 3600000,
    ELECTION_FORGET_MS = 86400000, /* the topic's retention is a week */
    ELECTION_RENEWALS_MAX = 20,    /* within a lease */
    ELECTION_CANDIDATES = 32,      /* that are remembered, of a ranked election */
    ELECTION_TEXT_SIZE = 129
};

/* ---- the state of a role, according to the log ---- */

/* Zeroed by election_log_init. */
struct election_log {
    int64_t first_offset; /* where the topic begins, -1: unknown; what was before is gone */
    int64_t term;         /* -1: never led */
    int64_t last;         /* offset of the newest record that counted, -1: none */
    int64_t last_ms;      /* its append time */
    int64_t since_ms;     /* append time of the claim, or of the first record seen of its term */
    int64_t lease_ms;     /* of the newest record that counted */
    int64_t progress_at;
    struct uuid leader_id;
    uint32_t rank;
    bool released;
    bool live; /* the past has been read: what comes now was appended while we were reading */
    char instance[ELECTION_TEXT_SIZE];
    char reason[ELECTION_TEXT_SIZE]; /* of the release */
};

enum election_outcome {
    ELECTION_COUNTS,
    ELECTION_ANNOUNCES, /* a candidate announces itself: never counts */
    ELECTION_STALE,     /* follows, or is of, what is not the newest any more */
    ELECTION_EARLY,     /* a claim within the lease, by append times */
    ELECTION_OUTCOME_COUNT
};

void election_log_init(struct election_log *log);
/* The topic's first record that is left, of whatever role, whether or not it is readable. Only the
 * first call counts. Without one, the role's own first record counts: it may be far behind. */
void election_log_begins(struct election_log *log, int64_t offset);
/* One record of the role, in the order of offsets. */
enum election_outcome election_log_fold(struct election_log *log, const struct leadership *record,
                                        int64_t offset, int64_t append_ms);
const char *election_outcome_name(enum election_outcome outcome);

/* ---- one candidate ---- */

enum election_strategy {
    ELECTION_RACE,   /* the first to claim leads until it ends */
    ELECTION_RANKED, /* the lowest live rank leads; one that comes takes over */
    ELECTION_STRATEGY_COUNT
};

/* Why a task has to end, or a term is released. */
enum election_reason {
    ELECTION_ENDED,      /* the task ended by itself */
    ELECTION_STOP,       /* this candidate stops */
    ELECTION_HUNG,       /* the task reported no progress */
    ELECTION_OUTRANKED,  /* a better rank is there */
    ELECTION_LAPSED,     /* the lease could not be renewed in time */
    ELECTION_SUPERSEDED, /* another candidate leads */
    ELECTION_REREAD,     /* the log is not the one that it was */
    ELECTION_REASON_COUNT
};
const char *election_reason_name(enum election_reason reason);

struct election_options {
    struct text role; /* borrowed, like instance, as long as the election */
    struct text instance;
    struct uuid candidate_id; /* new for each start of a process */
    enum election_strategy strategy;
    uint32_t rank;
    int64_t lease_ms;
    int64_t renew_ms;
    int64_t progress_ms; /* a task that reports none for so long is hung */
    int64_t margin_ms;   /* 0: a fifth of the lease */
};

/* REJECT "Config": values that contradict each other, one line. */
enum error_class election_options_check(const struct election_options *options,
                                        struct error *ret_error);

enum election_state {
    ELECTION_READING, /* the log's past is being read: it appends nothing */
    ELECTION_WAITING, /* another candidate leads, or none */
    ELECTION_CLAIMING,
    ELECTION_LEADING,
    ELECTION_ENDING, /* the task has to end and has not yet */
    ELECTION_STOPPED
};

struct election_rival {
    struct uuid id;
    uint32_t rank;
    int64_t heard_ms; /* 0: this place is free */
    int64_t lease_ms;
    bool clash_reported;
};

struct election_sent {
    int64_t said_at;
    int64_t mono_ms;
};

struct election {
    struct election_options options;
    struct election_log log;
    enum election_state state;
    int64_t arrived_ms;       /* when the newest record that counted was read */
    int64_t displaced_until;  /* until when a displaced leader may trust its lease */
    int64_t listen_until;     /* ranked: time to hear of better ones before the first claim */
    int64_t claim_not_before; /* after a refusal, a failure, an end */
    int64_t announce_at;
    int64_t renew_at;
    int64_t term; /* of our task, -1: none */
    int64_t trusted_until;
    int64_t progress_ms;   /* monotonic: when the task began, or last reported */
    int64_t progress_wall; /* 0: not reported */
    int64_t said_at;       /* the latest: strictly rises, so that it tells our records apart */
    int64_t refused;       /* what our refused claim named, -2: nothing */
    uint32_t unanswered;   /* appends */
    bool stopping;
    bool given_up;   /* the term is released or lost: no more renewals, whatever the task does */
    bool begin_due;  /* the task is to begin */
    bool cancel_due; /* likewise */
    bool release_due;
    int64_t release_term;
    enum election_reason reason; /* of the cancel or the release */
    struct election_sent sent[2 * ELECTION_RENEWALS_MAX];
    uint32_t sent_next;
    struct election_rival rivals[ELECTION_CANDIDATES];
    bool clash_due;
    char clash_instance[ELECTION_TEXT_SIZE];
};

/* All times `now` are the local monotonic clock's, in ms, > 0. */
void election_init(struct election *election, const struct election_options *options);

/* ---- what happened ---- */

/* A record of the role was read. */
enum election_outcome election_record(struct election *election, const struct leadership *record,
                                      int64_t offset, int64_t append_ms, int64_t now);
/* The end of the log was reached: what was read up to the first time is the past. */
void election_caught_up(struct election *election, int64_t now);
/* The log has to be read from its beginning again. */
void election_reread(struct election *election);
/* One append was answered; failed: its fate is unknown. */
void election_answered(struct election *election, bool failed, int64_t now);
/* The task reported progress at `when` (of the monotonic clock) and `wall`. */
void election_progress(struct election *election, int64_t when, int64_t wall);
/* The task has ended, by itself or because it had to. */
void election_task_ended(struct election *election, int64_t now);
/* Ends the task, releases, and takes part no more. */
void election_stop(struct election *election);

/* ---- what to do ---- */

enum election_act {
    ELECTION_NOTHING,
    ELECTION_APPEND, /* `record`; then election_answered() once */
    ELECTION_BEGIN,  /* the task, under `term` */
    ELECTION_CANCEL, /* the task: `reason`; then election_task_ended() once it has ended */
    ELECTION_CLASH,  /* `instance` has our rank too: they race */
    ELECTION_ACT_COUNT
};

struct election_step {
    enum election_act act;
    struct leadership record; /* texts borrowed from the options */
    int64_t term;
    enum election_reason reason;
    const char *instance;
};

/* The next thing to do; call until ELECTION_NOTHING, after anything happened and when due. */
enum election_act election_next(struct election *election, int64_t now, int64_t wall,
                                struct election_step *ret_step);
/* When to call election_next() again if nothing happens before: later than `now`. */
int64_t election_due(const struct election *election, int64_t now);
/* For tests: whether the task may act at this instant. */
bool election_leads(const struct election *election, int64_t now);
/* Stopped, the task ended, every append answered. */
bool election_is_over(const struct election *election);

#endif
