/* SPDX-License-Identifier: Apache-2.0 */
/* Records that are kept for a while: dead letters until they are delivered, and requests that wait
 * (parked) until the schemas have been read anew, as their writer's is not known yet. */
#ifndef SERVICES_AGENT_CORE_DEAD_LETTERS_H
#define SERVICES_AGENT_CORE_DEAD_LETTERS_H

#include "services/agent/core/core.h"

struct letter;
struct agent_letters;

/* `delivered`: a dead letter was acknowledged, or can never be delivered, which was logged.
 * `schemas`: they were read to their end, or nobody answered; take the parked ones now. */
struct agent_letters *letters_new(struct agent *agent,
                                  void (*delivered)(void *ctx, const struct request_origin *origin),
                                  void (*schemas)(void *ctx), void *ctx);
void letters_free(struct agent_letters *letters);

/* New: a copy of the record. */
struct letter *letter_new(struct agent_letters *letters, const struct broker_record *record,
                          const struct request_origin *origin);
const struct broker_record *letter_record(const struct letter *letter);
const struct request_origin *letter_origin(const struct letter *letter);
/* NULL is fine. */
void letter_free(struct letter *letter);

/* Copies the record; sends it until it is delivered. */
void letters_send(struct agent_letters *letters, const struct broker_record *record,
                  const struct request_origin *origin, const struct error *why);
/* Dead letters on their way. */
uint32_t letters_count(const struct agent_letters *letters);

/* Copies the record and has the schemas read. */
void letters_park(struct agent_letters *letters, const struct broker_record *record,
                  const struct request_origin *origin);
/* One that was parked before the schemas were read, or NULL; the caller's to free. */
struct letter *letters_next_parked(struct agent_letters *letters);

#endif
