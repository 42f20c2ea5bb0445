/* SPDX-License-Identifier: Apache-2.0 */
/* Rare situations that the histories claim to cover. Each is counted when it is met; a whole run
 * that never met one of them proves little, and fails. */
#ifndef TESTS_PROPERTY_OWNERSHIP_SOMETIMES_H
#define TESTS_PROPERTY_OWNERSHIP_SOMETIMES_H

#include "tests/property/engine_rules.h"

#include <stdint.h>

enum sometimes {
    SOMETIMES_COMPARED, /* a store with a fold of the log */
    SOMETIMES_CRASHED,
    SOMETIMES_STORE_LOST,
    SOMETIMES_FLUSHED,        /* a directory is gone when its process comes back */
    SOMETIMES_STORE_FAILED,   /* an error while writing: dropped and folded again */
    SOMETIMES_STORE_BORN,     /* made by RocksDB, not copied from an empty one */
    SOMETIMES_PROMOTED,       /* a standby became the owner */
    SOMETIMES_OWNED_TWICE,    /* the former owner has not noticed yet */
    SOMETIMES_STANDBY_NEXT,   /* next to an owner */
    SOMETIMES_CLAIM_GIVEN_UP, /* after a surprise */
    SOMETIMES_RECORD_SKIPPED, /* of a zombie */
    SOMETIMES_CAREFUL,        /* an Attempt before a Decision */
    SOMETIMES_DEAD_LETTER,
    SOMETIMES_SUBMITTED_AGAIN,
    SOMETIMES_CONTENT_DIFFERS,   /* and with other content */
    SOMETIMES_REPORT_IGNORED,    /* it came too late */
    SOMETIMES_NOT_YET_DUE,       /* a recovery asked for too early */
    SOMETIMES_OVERDUE_AT_CLAIM,  /* timed out, and was so before the owner claimed */
    SOMETIMES_TIMEOUT_EXHAUSTED, /* the threshold reached by a timeout */
    SOMETIMES_UNDO,
    SOMETIMES_UNKNOWN_UNDONE, /* an undo of a step whose effect is unknown */
    SOMETIMES_CANCELLED,
    SOMETIMES_CANCEL_IN_UNDO, /* a cancellation comes while undos run */
    SOMETIMES_RESUBMITTED,
    SOMETIMES_STATUS_AGAIN, /* emitted more than once */
    SOMETIMES_QUEUED,       /* a step waits for capacity in a store that is compared */
    SOMETIMES_AGENT_PAUSED, /* an operator pauses the agent */
    SOMETIMES_CLOCK_JUMPED, /* within the tolerance */
    SOMETIMES_CLOCK_FAR,    /* beyond it */
    SOMETIMES_PARTITION_FAILED,
    SOMETIMES_ONE_PARTITION_FAILED, /* while the topic's others work */
    SOMETIMES_SIDE_TOPIC_FAILED,
    SOMETIMES_SUPERVISOR_DISTURBED, /* a real one is killed or cut off */
    SOMETIMES_STRANGE_COMMAND,
    SOMETIMES_SUSPENDED,
    SOMETIMES_STORE_UNREADABLE, /* or not to be written */
    SOMETIMES_DIRECTORY_LOST,   /* not to be dropped or opened */
    SOMETIMES_IDLE,             /* an owner with nothing under way, whose requests are compared */
    SOMETIMES_FOREIGN_RECORD,   /* in the log */
    SOMETIMES_QUEUE_FULL,
    SOMETIMES_GARBAGE,            /* in the log, and readers stop at it */
    SOMETIMES_OPERATED,           /* commands of operators */
    SOMETIMES_BY_HAND,            /* a step was ended by one */
    SOMETIMES_PAUSED,             /* an order was */
    SOMETIMES_REBALANCED,         /* a consumer group assigns the partitions */
    SOMETIMES_UPGRADED,           /* a process was */
    SOMETIMES_OUTDATED,           /* an older process stops at a record of a newer one */
    SOMETIMES_LATER_COMMAND,      /* a command that it does not know, replayed */
    SOMETIMES_MIGRATED,           /* an order got another version of its workflow */
    SOMETIMES_MIGRATED_LATE,      /* while one of its steps ran */
    SOMETIMES_RETIRED,            /* it did not, because that version is retired */
    SOMETIMES_ACTIVE_TAKEN,       /* a submission named no version, and the newest is not active */
    SOMETIMES_LATER_ACTIVATION,   /* of a version of the workflow, in a rolling upgrade */
    SOMETIMES_EXTENDED,           /* an attempt got more time */
    SOMETIMES_NO_EXTENSION,       /* or not: the workflow bounds it, or it is over */
    SOMETIMES_EXPIRED,            /* orders that had ended */
    SOMETIMES_EXPIRY_OF_ZOMBIE,   /* an Expiry that does not count */
    SOMETIMES_AGAIN,              /* the id of an expired order was accepted again */
    SOMETIMES_TAIL_LOST,          /* of a log, while all else goes on */
    SOMETIMES_TAIL_EFFECT,        /* an effect of a Decision that is lost */
    SOMETIMES_TRIMMED,            /* a log */
    SOMETIMES_STATED,             /* an order, again */
    SOMETIMES_BEGUN_INSIDE,       /* a store that is compared, in a trimmed log */
    SOMETIMES_INCOMPLETE,         /* one that does not know all orders yet */
    SOMETIMES_TRIM_OF_ZOMBIE,     /* a Continuation that does not count says where the log begins */
    SOMETIMES_TRIM_HELD,          /* a group has not read further */
    SOMETIMES_TRIM_FORGOTTEN,     /* by a broker: the log begins in the middle */
    SOMETIMES_BEGUN_LATER,        /* a store, there: where the log is whole */
    SOMETIMES_NEWER_FORMAT,       /* a Claim of a version that states more */
    SOMETIMES_TRIMMED_TAIL,       /* a log that was trimmed loses its tail */
    SOMETIMES_TRIMMED_RESET,      /* an operator skips a record of one */
    SOMETIMES_FORMAT_HELD,        /* an older owner leaves the log to newer ones */
    SOMETIMES_FORMAT_BEGINS,      /* one begins with what it cannot read, and stops */
    SOMETIMES_LEDGER_COMPENSATED, /* a remote service has undone all that it applied */
    SOMETIMES_PROCESSED,
    SOMETIMES_COMPENSATED,
    SOMETIMES_ERROR,
    SOMETIMES_COUNT
};

/* The same of sub-orders (ownership_trees.h). */
enum trees_seen {
    TREES_SEEN_HELD,       /* a sub-order waits for its parent */
    TREES_SEEN_KEPT,       /* one ends */
    TREES_SEEN_UNDONE,     /* or is undone */
    TREES_SEEN_GENERATION, /* an item is done again */
    TREES_SEEN_RECALLED,   /* a step of a parent */
    TREES_SEEN_ASKED,
    TREES_SEEN_STATED,  /* a held order, in a log that is trimmed */
    TREES_SEEN_STOPPED, /* a partition of commands, for days */
    TREES_SEEN_PURGED,  /* commands, before they were decided */
    TREES_SEEN_TOO_OLD, /* a submission */
    TREES_SEEN_EXPIRED, /* a sub-order that its parent remembers */
    TREES_SEEN_COUNT
};

/* Where a process died: a failpoint between two steps of claim, fold, cycle or emission. */
enum { CRASH_POINTS = 25 };

struct ownership_sometimes {
    uint64_t counts[SOMETIMES_COUNT];
    uint64_t crashes[CRASH_POINTS];
    uint64_t trees[TREES_SEEN_COUNT];
    uint64_t rare[RARE_COUNT]; /* of single orders, see engine_rules.h */
};

/* How much likelier than elsewhere a process dies there. */
uint32_t sometimes_crash_weight(const char *failpoint);
/* A crash at that failpoint. */
void sometimes_crashed_at(struct ownership_sometimes *sometimes, const char *failpoint);
/* The counters in a few lines on stderr. */
void sometimes_print(const struct ownership_sometimes *sometimes);
/* The name of one that was never met, NULL if all were. */
const char *sometimes_never(const struct ownership_sometimes *sometimes);

#endif
