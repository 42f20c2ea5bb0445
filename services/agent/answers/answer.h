/* SPDX-License-Identifier: Apache-2.0 */
/* What an agent remembers of an attempt: its outcome, and the Decision that requested it. Pure. */
#ifndef SERVICES_AGENT_ANSWERS_ANSWER_H
#define SERVICES_AGENT_ANSWERS_ANSWER_H

#include "engine/engine.h"

struct attempt_answer {
    bool accepted; /* nothing is reported from here: the remote service calls back */
    bool succeeded;
    enum effect effect; /* the worst of the tries so far */
    struct text output;
    struct text error_name; /* also between tries */
    struct text error_message;
};

/* The Decision that requested an attempt. The same attempt may be requested again: by the same
 * Decision (a duplicate, or a new owner of the log that emits it once more), or by a later one of
 * the same log that granted more time. A log that was recreated may request what looks like the
 * same attempt: that is another operation. */
struct attempt_decision {
    struct uuid claim_id;
    int64_t offset;
    uint64_t order_version;
};

enum decision_relation {
    DECISION_SAME,  /* the Decision that is known, or an earlier one of this attempt */
    DECISION_LATER, /* of this attempt, after the one that is known: more time */
    DECISION_OF_ANOTHER_LOG
};

struct attempt_decision attempt_decision_of(const struct step_request *request);
/* Of a request for the attempt that `known` requested, by step, direction and number. Within one
 * log both the offset and the order's version rise from its start to each grant of more time; in a
 * recreated log the order is as old as it was when the attempt began. */
enum decision_relation attempt_decision_compare(const struct attempt_decision *known,
                                                const struct step_request *request);

#endif
