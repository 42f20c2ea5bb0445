/* SPDX-License-Identifier: Apache-2.0 */
/* A bounded cache of which reply topics exist. A lookup blocks for a round trip to the broker, so a
 * timer does them, one topic per tick: a sender that invents a thousand topics waits for its own
 * lookups and does not slow others. */
#ifndef SERVICES_SUBMISSION_REPLIES_H
#define SERVICES_SUBMISSION_REPLIES_H

#include "base/text.h"
#include "kafka/broker.h"
#include "platform/loop.h"

enum reply_state { REPLY_LOOKUP, REPLY_EXISTS, REPLY_MISSING, REPLY_STATE_COUNT };

enum {
    REPLIES_MAX = 1024,
    REPLY_EXISTS_MS = 60000, /* an answer is valid this long */
    REPLY_MISSING_MS = 3000
};

struct replies;

/* New. `changed` is called (from a timer) after answers have arrived. */
struct replies *replies_new(struct loop *loop, struct broker *broker, void (*changed)(void *ctx),
                            void *ctx);
void replies_free(struct replies *replies);

/* The state of a topic, whose name is valid. Starts a lookup if it is unknown or too old; an old
 * "exists" is valid until the new answer arrives. */
enum reply_state replies_state(struct replies *replies, struct text topic);
/* Of a topic that exists. */
int32_t replies_partition_count(struct replies *replies, struct text topic);
/* A record could not be delivered there: look it up again. */
/* A status to the topic was not acknowledged for long, while the brokers acknowledged others: for a
 * while no more are sent there. */
void replies_silence(struct replies *replies, uint64_t topic_hash);
bool replies_is_silent(const struct replies *replies, uint64_t topic_hash);
/* Never 0. */
uint64_t replies_hash(struct text topic);
void replies_forget(struct replies *replies, struct text topic);

#endif
