/* SPDX-License-Identifier: Apache-2.0 */
/* What other instances of this agent have answered, as the log tells it.
 *
 * When a partition changes hands, its next owner is asked again for what was answered and not
 * committed, and a new owner of the log emits requests once more whose answers are in another
 * instance's memory. All answers are in <p>.commands, as ReportSteps, in the partition of the same
 * number. A request that comes again is told by its Decision: one below the end of events[p] as it
 * was when the partition came to us may have been answered by somebody else; one beyond it cannot.
 *
 * So for the first such request that nobody here knows, its partition waits while we look:
 *     events[p] at decision_offset: is it that Decision (else it is of another log)? Which command
 *     did it consume?
 *     commands[p] after that command, to its end: our agent's ReportSteps are kept (found.h).
 * What was decided after that Decision is then covered, too: the log's order is the commands'
 * order. A request of an older Decision extends it downwards. Commands are read from there up and
 * not from their end down, as who died left its last answers close to where its commits end.
 *
 * Bounds of a look: HISTORY_LOOK_MS, HISTORY_RECORDS_MAX commands, HISTORY_BYTES_MAX of answers.
 * What is beyond them, or cannot be looked up, is called again with the same idempotency key, which
 * a line in the log says. Not found is what is answered after we looked: calls that another
 * instance had running when it lost the partition. */
#ifndef SERVICES_AGENT_ANSWERS_HISTORY_H
#define SERVICES_AGENT_ANSWERS_HISTORY_H

#include "services/agent/core/core.h"

enum {
    HISTORY_OPEN_MS = 2000, /* to learn where events end */
    HISTORY_LOOK_MS = 10000,
    HISTORY_AGAIN_MS = 30000, /* after a look that failed: so long nobody waits for another one */
    HISTORY_RECORDS_MAX = 250000,
    HISTORY_BYTES_MAX = 16 * 1024 * 1024,
    HISTORY_BYTES_ALL = 4 * HISTORY_BYTES_MAX, /* of all partitions; the oldest found go first */
    HISTORY_CLAIMS_MAX = 16                    /* remembered of a partition */
};

/* New; NULL where the agent has no memory: then nothing is looked up, and all of these do nothing.
 */
struct agent_history *history_new(struct agent *agent);
/* After the broker: its answers still come here. */
void history_free(struct agent_history *history);

/* The partition is ours from now on; intake_opened follows, unless it is closed before. */
void history_open(struct agent_history *history, int32_t partition);
/* The end of its events is known, or did not become known in time: requests may be read. */
bool history_is_open(const struct agent_history *history, int32_t partition);
/* It is not ours any more: what was found is forgotten, a look ends. Closed already is fine. */
void history_close(struct agent_history *history, int32_t partition);

/* Whether the request's partition must wait for history_look before the request is offered. */
bool history_wants(struct agent_history *history, int32_t partition,
                   const struct step_request *request);
/* One at a time in a partition. intake_looked follows, not from inside, unless it is closed before;
 * then history_wants says no to this request. */
void history_look(struct agent_history *history, int32_t partition,
                  const struct step_request *request);
/* As attempts_ops.recall, from what was found. */
bool history_recall(struct agent_history *history, struct agent_attempt *attempt);

#endif
