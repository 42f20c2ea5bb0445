/* SPDX-License-Identifier: Apache-2.0 */
/* Which reply topics exist, as far as we know: a bounded cache. Asking the broker blocks for a
 * round trip, so it is done by a timer, one topic a tick: a sender of a thousand invented topics
 * waits for its own answers and slows nobody else. */
#ifndef SERVICES_SUBMISSION_REPLIES_H
#define SERVICES_SUBMISSION_REPLIES_H

#include "base/text.h"
#include "kafka/broker.h"
#include "platform/loop.h"

enum reply_state { REPLY_ASKING, REPLY_EXISTS, REPLY_MISSING, REPLY_STATE_COUNT };

enum {
    REPLIES_MAX = 1024,
    REPLY_EXISTS_MS = 60000, /* an answer is believed for so long */
    REPLY_MISSING_MS = 3000
};

struct replies;

/* New. `changed` is called (from a timer) after answers have come. */
struct replies *replies_new(struct loop *loop, struct broker *broker, void (*changed)(void *ctx),
                            void *ctx);
void replies_free(struct replies *replies);

/* The state of a topic, whose name is valid. Asks if it is not known or too old; an old "exists"
 * counts until the new answer has come. */
enum reply_state replies_state(struct replies *replies, struct text topic);
/* Of a topic that exists. */
int32_t replies_partition_count(struct replies *replies, struct text topic);
/* A record could not be delivered there: ask again. */
void replies_forget(struct replies *replies, struct text topic);

#endif
