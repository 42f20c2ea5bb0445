/* SPDX-License-Identifier: Apache-2.0 */
/* Records of the request topic that are kept for a while: dead letters until they are delivered,
 * and requests whose writer's schema is not known, until the schemas have been read again. */
#ifndef SERVICES_AGENT_CORE_DEAD_LETTERS_H
#define SERVICES_AGENT_CORE_DEAD_LETTERS_H

#include "services/agent/core/agent_internal.h"

struct dead_letters;

struct dead_letters_ops {
    /* A dead letter was acknowledged, or can never be delivered, which was logged. */
    void (*delivered)(void *ctx, const struct request_receipt *receipt);
    /* The schemas were read to their end: this request can be handled now. Borrowed. */
    void (*schemas_read)(void *ctx, const struct broker_record *record,
                         const struct request_receipt *receipt);
};

/* New. `ops` and `ctx` are borrowed. */
struct dead_letters *dead_letters_new(struct agent *agent, const struct dead_letters_ops *ops,
                                      void *ctx);
/* Gives up the requests that wait for a schema: their partitions are closed. */
void dead_letters_stop_waiting(struct dead_letters *letters);
/* None of them waits any more. */
void dead_letters_free(struct dead_letters *letters);

/* Copies the record; sends it until it is delivered. */
void dead_letters_send(struct dead_letters *letters, const struct broker_record *record,
                       const struct request_receipt *receipt, const struct error *why);
/* Dead letters that are not delivered yet. */
uint32_t dead_letters_count(const struct dead_letters *letters);

/* Copies the record and has the schemas read; ops->schemas_read follows, not from inside. */
void dead_letters_await_schema(struct dead_letters *letters, const struct broker_record *record,
                               const struct request_receipt *receipt);

#endif
