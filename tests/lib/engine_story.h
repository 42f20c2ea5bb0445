/* SPDX-License-Identifier: Apache-2.0 */
/* Decisions told as text tables: a workflow, then commands and the events that must follow, line by
 * line. After each command the fold is checked against what engine_decide() saw, the log is folded
 * again from zero, and versions must be dense.
 *
 *     TELL("A{c} B<-A{r1}",
 *          "submit           => OrderAccepted OrderStarted StepStarted(A do 1)\n"
 *          "ok A 1           => StepSucceeded(A do 1) StepStarted(B do 1)\n"
 *          "fail B 1 Busy    => StepFailed(B do 1 Busy none x1) StepRetryScheduled(B do 1 +1000)\n"
 *          "wait 1000\n"
 *          "start B          => StepStarted(B do 2)\n"
 *          "order Processing A=Processed(do 1) B=Processing(do 2)\n");
 *
 * Commands: submit | submit other | submit elsewhere (unknown workflow) | submit as TOKEN
 *     submit with INPUT
 *     submit misplaced (wrong key)
 *     ok STEP ATTEMPT [undo] [BYTES bytes | with OUTPUT] (OUTPUT: JSON, or nothing)
 *     fail STEP ATTEMPT ERROR|- [none|unknown|applied] [undo]
 *     recover STEP [stale|attempt N|undo] | start STEP [stale|attempt N|undo] | timeout [stale]
 *     cancel [as TOKEN] | compensate | resubmit [STEP|all [TIMEOUT_MS]] [new-key]
 *     garbage | quarantine
 *     complete STEP [OUTPUT] | skip STEP [nothing-applied] | fail-step STEP ERROR | pause | resume
 *     migrate VERSION [retired | from VERSION | of WORKFLOW] | amend INPUT
 *     extend STEP ATTEMPT MS [undo] (from now)
 *     report STEP[.ITEM] held|final|failed|refused [ERROR] [gN] [offset N] [with OUTPUT]
 *     settle keep|undo|unknown [held] [of STEP] [by WHO]
 *     fail-step STEP ERROR item N
 * "submit under" makes it a sub-order: of step W of o-0, item 2; so does "settle" know it.
 * with "blind " in front: the caller has lost the workflow; "replaced ": it has another one under
 * the same name and version; "spared ": it evaluates no expressions. Checks, of the order or of the
 * last command:
 *     order ... | deadlines ... | requests ... | status ... | alert ... (see engine_print.h)
 *     messages ... | emit N (once more, of the N-th command, by what the order is now) |
 *     reply TOPIC | reason CODE TEXT | queued STEP... | message TEXT (of the status)
 *     input STEP JSON | output STEP JSON | error STEP NAME TEXT | result JSON | problem TEXT
 *     said TEXT (part of what the events of the last command say) | said nothing
 * Also:
 *     wait MS
 *     version N WORKFLOW (2 to 4: another version; the story begins with version 1)
 *     capacity AGENT=FREE[@P95] AGENT=unhealthy ... (what is known of the agents; unhealthy ones
 *     are checked again after 100 to 5000 ms) | capacity none (no table) | capacity first
 *     [AGENT=FREE ...] (routing is switched off: agents that are not listed take everything) */
#ifndef TESTS_LIB_ENGINE_STORY_H
#define TESTS_LIB_ENGINE_STORY_H

/* NULL when all came as told, else what did not, below the whole story; free it. */
char *story_tell(const char *workflow, const char *lines);
/* The same with compiled workflows, the versions 1, 2 ... of one. */
struct workflow;
char *story_tell_versions(struct workflow *const *versions, int count, const char *lines);

/* For Criterion. */
#define TELL(workflow, lines)                                  \
    do {                                                       \
        char *tell_failure = story_tell((workflow), (lines));  \
        cr_assert(tell_failure == NULL, "\n%s", tell_failure); \
    } while (0)

#endif
