/* SPDX-License-Identifier: Apache-2.0 */
/* Workflows in one line, for tests:
 *
 *     T60000 A{c,r2} B{c} C<-A,B{p} D<-C{e}
 *
 * Steps A and B start at once, C when both are Processed, D after C. A token T gives the whole
 * order's timeout in ms. In braces:
 *     c         it can be undone; action "UndoA"
 *     p         the pivot
 *     e         OnExhausted: error (else compensate)
 *     rN[:ERR]  a retrier with N retries of ERR (else States.ALL): waits 1000, 2000, ... ms
 *     jN[:ERR]  the same with full jitter
 *     zN[:ERR]  the same without a wait
 *     uN[:ERR]  a retrier of the undo, as rN; implies c
 *     vN[:ERR]  a retrier of the undo, as zN; implies c
 *     kERR:e    a Catch: next is $error
 *     kERR:c    a Catch: next is $compensate
 *     kERR:g    a Catch: next is $continue
 *     aX+Y      its agents are X and Y (else: agent)
 *     tN        an attempt may take N ms (else: WORKFLOW_TIMEOUT_MS)
 *     s         an order of its own, test/NAME
 *     fN        N of them: a ForEach over [0,1,2 ...]
 *     lN        at most N at once
 *     oN        N of them may fail
 *     mN        an attempt may be extended by N ms in all, nN: an undo
 * An attempt may take WORKFLOW_TIMEOUT_MS, an undo WORKFLOW_UNDO_TIMEOUT_MS. */
#ifndef TESTS_LIB_ENGINE_WORKFLOW_H
#define TESTS_LIB_ENGINE_WORKFLOW_H

#include "base/arena.h"
#include "engine/workflow.h"

enum { WORKFLOW_TIMEOUT_MS = 10000, WORKFLOW_UNDO_TIMEOUT_MS = 20000 };

/* New in the arena; asserts that the line is well-formed. The workflow is called "test", version
 * 1. */
struct workflow *workflow_of(struct arena *arena, const char *line);

#endif
