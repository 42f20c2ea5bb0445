/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/property/ownership_chaos.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const names[] = {
    [SOMETIMES_COMPARED] = "stores compared",
    [SOMETIMES_CRASHED] = "crashes",
    [SOMETIMES_STORE_LOST] = "stores lost",
    [SOMETIMES_FLUSHED] = "stores flushed",
    [SOMETIMES_STORE_FAILED] = "stores failed",
    [SOMETIMES_STORE_BORN] = "stores born",
    [SOMETIMES_OWNED_TWICE] = "owned twice",
    [SOMETIMES_STANDBY_NEXT] = "standbys next to an owner",
    [SOMETIMES_PROMOTED] = "standbys promoted",
    [SOMETIMES_CLAIM_GIVEN_UP] = "claims given up",
    [SOMETIMES_RECORD_SKIPPED] = "records skipped",
    [SOMETIMES_CAREFUL] = "attempts",
    [SOMETIMES_DEAD_LETTER] = "dead letters",
    [SOMETIMES_SUBMITTED_AGAIN] = "submitted again",
    [SOMETIMES_CONTENT_DIFFERS] = "with other content",
    [SOMETIMES_REPORT_IGNORED] = "reports ignored",
    [SOMETIMES_NOT_YET_DUE] = "early recoveries",
    [SOMETIMES_OVERDUE_AT_CLAIM] = "overdue at a claim",
    [SOMETIMES_TIMEOUT_EXHAUSTED] = "exhausted by a timeout",
    [SOMETIMES_UNDO] = "undos",
    [SOMETIMES_UNKNOWN_UNDONE] = "of an unknown effect",
    [SOMETIMES_CANCELLED] = "cancelled",
    [SOMETIMES_CANCEL_IN_UNDO] = "cancelled during an undo",
    [SOMETIMES_RESUBMITTED] = "resubmitted",
    [SOMETIMES_STATUS_AGAIN] = "statuses again",
    [SOMETIMES_QUEUED] = "with steps that wait for capacity",
    [SOMETIMES_AGENT_PAUSED] = "agents paused",
    [SOMETIMES_CLOCK_JUMPED] = "clocks set",
    [SOMETIMES_CLOCK_FAR] = "far off",
    [SOMETIMES_PARTITION_FAILED] = "partitions failed",
    [SOMETIMES_ONE_PARTITION_FAILED] = "one partition failed alone",
    [SOMETIMES_SIDE_TOPIC_FAILED] = "side topics failed",
    [SOMETIMES_SUPERVISOR_DISTURBED] = "supervisors lost",
    [SOMETIMES_STRANGE_COMMAND] = "strange commands",
    [SOMETIMES_SUSPENDED] = "partitions suspended",
    [SOMETIMES_STORE_UNREADABLE] = "stores unreadable",
    [SOMETIMES_DIRECTORY_LOST] = "directories lost",
    [SOMETIMES_IDLE] = "requests compared",
    [SOMETIMES_FOREIGN_RECORD] = "foreign records",
    [SOMETIMES_QUEUE_FULL] = "queues full",
    [SOMETIMES_GARBAGE] = "garbage in the log",
    [SOMETIMES_OPERATED] = "operators' commands",
    [SOMETIMES_BY_HAND] = "steps ended by hand",
    [SOMETIMES_PAUSED] = "orders paused",
    [SOMETIMES_REBALANCED] = "rebalances",
    [SOMETIMES_UPGRADED] = "processes upgraded",
    [SOMETIMES_OUTDATED] = "older ones stopped",
    [SOMETIMES_LATER_COMMAND] = "newer commands replayed",
    [SOMETIMES_MIGRATED] = "orders migrated",
    [SOMETIMES_MIGRATED_LATE] = "while a step ran",
    [SOMETIMES_RETIRED] = "not to retired versions",
    [SOMETIMES_ACTIVE_TAKEN] = "active versions taken",
    [SOMETIMES_LATER_ACTIVATION] = "activations in an upgrade",
    [SOMETIMES_EXTENDED] = "attempts extended",
    [SOMETIMES_NO_EXTENSION] = "not extended",
    [SOMETIMES_EXPIRED] = "orders expired",
    [SOMETIMES_EXPIRY_OF_ZOMBIE] = "zombies that expire orders",
    [SOMETIMES_AGAIN] = "accepted again",
    [SOMETIMES_TAIL_LOST] = "tails lost",
    [SOMETIMES_TAIL_EFFECT] = "effects of what is lost",
    [SOMETIMES_TRIMMED] = "logs trimmed",
    [SOMETIMES_STATED] = "orders stated",
    [SOMETIMES_BEGUN_INSIDE] = "stores begun inside",
    [SOMETIMES_INCOMPLETE] = "incomplete",
    [SOMETIMES_TRIM_OF_ZOMBIE] = "zombies that trim",
    [SOMETIMES_TRIM_HELD] = "trimmed no further than a group",
    [SOMETIMES_TRIM_FORGOTTEN] = "trim forgotten by a broker",
    [SOMETIMES_BEGUN_LATER] = "store begun after a forgotten trim",
    [SOMETIMES_NEWER_FORMAT] = "newer formats",
    [SOMETIMES_TRIMMED_TAIL] = "trimmed logs lost their tail",
    [SOMETIMES_TRIMMED_RESET] = "were reset",
    [SOMETIMES_FORMAT_HELD] = "left to newer owners",
    [SOMETIMES_FORMAT_BEGINS] = "begun with a newer format",
    [SOMETIMES_LEDGER_COMPENSATED] = "ledgers compensated",
    [SOMETIMES_PROCESSED] = "processed",
    [SOMETIMES_COMPENSATED] = "compensated",
    [SOMETIMES_ERROR] = "in error",
};
_Static_assert(sizeof(names) / sizeof(names[0]) == SOMETIMES_COUNT, "every situation has a name");

/* Places that are passed rarely get more than their share, so that crashes fall on them as well. */
static const struct {
    const char *failpoint;
    uint32_t weight;
} crash_points[] = {
    {"claim.begin", 4},
    {"claim.acknowledged", 4},
    {"claim.folded", 4},
    {"claim.running", 5},
    {"follower.fold", 1},
    {"follower.commit", 10},
    {"follower.drop", 100},
    {"owner.given_up", 5},
    {"cycle.decide", 1},
    {"cycle.append", 1},
    {"cycle.acknowledged", 2},
    {"cycle.store", 10},
    {"cycle.stored", 10},
    {"cycle.emitted", 3},
    {"attempt.acknowledged", 20},
    {"emit.begin", 1},
    {"emit.status", 2},
    {"emit.request", 2},
    {"owner.pick", 40},
    {"statement.acknowledged", 4},
    {"continuation.acknowledged", 4},
    {"expiry.append", 4},
    {"expiry.acknowledged", 4},
    {"trim.delete", 4},
    {"trim.deleted", 4},
};
_Static_assert(sizeof(crash_points) / sizeof(crash_points[0]) == CRASH_POINTS, "all are here");

static int find_point(const char *failpoint)
{
    for (int i = 0; i < CRASH_POINTS; i++)
        if (strcmp(crash_points[i].failpoint, failpoint) == 0)
            return i;
    return -1;
}

uint32_t sometimes_crash_weight(const char *failpoint)
{
    int point = find_point(failpoint);
    /* A store that is being scanned cannot be closed, and these are passed in a scan. */
    if (strncmp(failpoint, "supervisor.", strlen("supervisor.")) == 0 ||
        strncmp(failpoint, "view.", strlen("view.")) == 0)
        return 0;
    return point >= 0 ? crash_points[point].weight : 1;
}

void sometimes_crashed_at(struct ownership_sometimes *sometimes, const char *failpoint)
{
    int point = find_point(failpoint);
    if (point >= 0)
        sometimes->crashes[point]++;
}

void sometimes_print(const struct ownership_sometimes *sometimes)
{
    for (int i = 0; i < SOMETIMES_COUNT; i++)
        fprintf(stderr, "%s%" PRIu64 " %s", i > 0 ? ", " : "    ", sometimes->counts[i], names[i]);
    fprintf(stderr, "\n    crashed at ");
    for (int i = 0; i < CRASH_POINTS; i++)
        fprintf(stderr, "%s%s %" PRIu64, i > 0 ? ", " : "", crash_points[i].failpoint,
                sometimes->crashes[i]);
    fprintf(stderr, "\n");
}

const char *sometimes_never(const struct ownership_sometimes *sometimes)
{
    for (int i = 0; i < SOMETIMES_COUNT; i++)
        if (sometimes->counts[i] == 0 && !chaos_is_off((enum sometimes)i))
            return names[i];
    for (int i = 0; i < CRASH_POINTS; i++)
        if (sometimes->crashes[i] == 0)
            return crash_points[i].failpoint;
    return NULL;
}
