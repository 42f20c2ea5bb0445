/* SPDX-License-Identifier: Apache-2.0 */
/* The auditor's finding about one order, from its state alone: nothing is ever stuck silently
 * (docs/design/leader-election.md, "The auditor"). Pure. */
#ifndef SERVICES_SUPERVISOR_AUDIT_H
#define SERVICES_SUPERVISOR_AUDIT_H

#include "engine/engine.h"

enum audit_finding {
    AUDIT_CLEAN,
    AUDIT_LOST,    /* open, but nothing will ever touch it again */
    AUDIT_OVERDUE, /* what it waits for was due long ago */
    AUDIT_FINDING_COUNT
};

/* An order is overdue `grace_ms` after its deadline, or after `since` if that is later: before,
 * nothing could be done about it. *ret_due_ms: of AUDIT_OVERDUE, what was due when; else 0. */
enum audit_finding audit_order(const struct order *order, int64_t grace_ms, int64_t since,
                               int64_t now, int64_t *ret_due_ms);

#endif
