/* SPDX-License-Identifier: Apache-2.0 */
/* The auditor's finding about one order, from its state alone: nothing is ever stuck silently
 * (docs/design/leader-election.md, "The auditor"). Pure. */
#ifndef SERVICES_SUPERVISOR_AUDIT_H
#define SERVICES_SUPERVISOR_AUDIT_H

#include "engine/engine.h"

enum audit_finding {
    AUDIT_CLEAN,
    AUDIT_EXPIRED, /* it ended longer ago than it is kept */
    AUDIT_LOST,    /* open, but nothing will ever touch it again */
    AUDIT_OVERDUE, /* what it waits for was due long ago */
    AUDIT_FINDING_COUNT
};

struct audit_rules {
    int64_t retention_ms; /* of ended orders; 0: for ever */
    int64_t grace_ms;     /* an order is overdue this long after its deadline */
};

/* *ret_due_ms: of AUDIT_OVERDUE, what was due when; else 0. */
enum audit_finding audit_order(const struct order *order, const struct audit_rules *rules,
                               int64_t now, int64_t *ret_due_ms);

/* How many orders the auditor expires per second in its next walk, after one with `rate` that left
 * orders over, or did not: so that it keeps up with any rate at which orders end, and takes no more
 * of the schedulers than it needs. `least`: auditor.expire.per.second. */
enum { AUDIT_EXPIRE_MAX = 10000 /* as many as it visits */ };
int64_t audit_expire_rate(int64_t rate, int64_t least, bool left_over);

#endif
