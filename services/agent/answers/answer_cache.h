/* SPDX-License-Identifier: Apache-2.0 */
/* What became of the attempts that this instance has had in hand, by request id
 * (order/step/direction/attempt): the answers that were reported, and the calls that were accepted
 * and are answered later, by a callback. On disk (statestore/answers.h), bounded in time and size;
 * it survives kill -9.
 *
 * The lanes of attempts.h know the attempts of now; this knows them longer, and after a
 * restart. It is asked once for each request that the lanes do not know.
 *
 * An answer is written before its report is sent: so what was reported is what is remembered. A
 * crash before that repeats the call, with the same idempotency key. So does another instance that
 * takes over a partition, for the requests whose commit is still due (decision 0008). */
#ifndef SERVICES_AGENT_ANSWERS_ANSWER_CACHE_H
#define SERVICES_AGENT_ANSWERS_ANSWER_CACHE_H

#include "services/agent/core/core.h"
#include "statestore/answers.h"

struct agent_memory;

/* New; below the service's data directory. NULL in *ret_memory: agent.memory.mb is 0, or there is
 * no data directory (tests). A damaged store is dropped, which is logged. */
enum error_class agent_memory_new(struct agent *agent, struct agent_memory **ret_memory,
                                  struct error *ret_error);
void agent_memory_free(struct agent_memory *memory);

/* Fills the attempt's outcome (`succeeded`, `effect`, the texts, `accepted`) from what is
 * remembered; texts are the attempt's own. False: nothing is. NULL remembers nothing. */
bool agent_memory_recall(struct agent_memory *memory, struct agent_attempt *attempt);
/* Takes the outcome down for the next agent_memory_write(). */
void agent_memory_note(struct agent_memory *memory, const struct agent_attempt *attempt);
/* What was noted, as one. AGAIN: the store was damaged and there is a new one; note all of it once
 * more. FAILED: there is no new one either; the service is failing. */
enum memory_write { MEMORY_WRITTEN, MEMORY_AGAIN, MEMORY_FAILED };
enum memory_write agent_memory_write(struct agent_memory *memory);

#endif
