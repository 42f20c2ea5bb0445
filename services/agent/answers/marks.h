/* SPDX-License-Identifier: Apache-2.0 */
/* Which Decision asked for an attempt. The same attempt may be asked for again: by the same
 * Decision (a request that came twice, a new owner that emits it once more), or by a later one of
 * the same log that gave it more time. A log that was made anew may ask for what looks like the
 * same attempt: that is a deed of its own. Pure. */
#ifndef SERVICES_AGENT_ANSWERS_MARKS_H
#define SERVICES_AGENT_ANSWERS_MARKS_H

#include "engine/engine.h"

struct request_mark {
    struct uuid claim_id;
    int64_t decision_offset;
    uint64_t order_version;
    int64_t complete_by;
};

enum mark_relation {
    MARK_SAME,  /* the Decision that is known, or an earlier one of this attempt */
    MARK_LATER, /* of this attempt, after the one that is known: more time */
    MARK_OTHER  /* of another log */
};

struct request_mark request_mark_of(const struct step_request *request);
/* Of a request for the attempt that `mark` was taken from, by step, direction and number. Within
 * one log both the offset and the order's version rise from its start to each grant of more time;
 * in a log made anew the order is as old as it was when the attempt began. */
enum mark_relation request_mark_compare(const struct request_mark *mark,
                                        const struct step_request *request);

#endif
