/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of one submission, whichever door it came through. No I/O: what is not known yet is
 * said, and the caller asks again when it knows.
 *
 * An accepted order leaves with its identity (the hash of the content as submitted) and its pinned
 * workflow version. A `Rejected` status may go to the reply topic of a refused one only if that is
 * trustworthy: it has our prefix and exists. */
#ifndef SERVICES_SUBMISSION_VALIDATE_H
#define SERVICES_SUBMISSION_VALIDATE_H

#include "kafka/topics/topics.h"
#include "schemas/codec.h"
#include "services/submission/replies.h"
#include "workflow/registry.h"

enum verdict {
    VERDICT_ACCEPT,
    VERDICT_REFUSE,
    VERDICT_WAIT_SCHEMAS,   /* an unknown fingerprint: read the schemas topic to its end */
    VERDICT_WAIT_WORKFLOWS, /* an unknown workflow: likewise */
    VERDICT_WAIT_REPLY,     /* whether the reply topic exists is being asked */
    VERDICT_COUNT
};

/* What was read to its end since the submission came in. */
enum { FRESH_SCHEMAS = 1, FRESH_WORKFLOWS = 2 };

struct judge {
    struct codec *codec;
    const struct topics *topics;
    const struct workflow_registry *workflows;
    enum reply_state (*reply_state)(void *ctx, struct text topic);
    void *ctx;
};

/* Texts borrow from the input or live in the arena. */
struct judgement {
    enum verdict verdict;
    struct command command; /* ACCEPT: what to append. REFUSE: as far as it could be read */
    struct error error;     /* REFUSE: why */
    struct text order_id;   /* empty: could not be read */
    struct text reply_to;   /* where a refusal may be told; empty: nowhere */
};

/* A record of the submissions topic. */
void judge_record(const struct judge *judge, struct text key, struct text value, unsigned fresh,
                  struct arena *arena, struct judgement *ret_judgement);
/* An order, a cancellation; of those that are not in a record. */
void judge_order(const struct judge *judge, const struct order_details *details, unsigned fresh,
                 struct judgement *ret_judgement);
void judge_cancel(const struct judge *judge, const struct cancel_order *cancel, struct arena *arena,
                  struct judgement *ret_judgement);

#endif
