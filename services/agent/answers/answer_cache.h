/* SPDX-License-Identifier: Apache-2.0 */
/* The outcomes of the attempts that this instance has made, by the Decision that began the attempt,
 * order, step, direction and attempt: the answers that were reported, and the calls that were
 * accepted and are answered later, by a callback. On disk (statestore/answers.h), bounded in time
 * and size; it survives kill -9.
 *
 * core/attempts.h knows the attempts in flight and the latest ones; the cache knows them longer,
 * and after a restart. It is read for a request whose attempt is not in flight, unless its Decision
 * is newer than all that were answered: most requests come once, in the order of the log.
 *
 * An answer is written before its report is sent: so what was reported is what is remembered. A
 * crash before that repeats the call, with the same idempotency key. So does another instance that
 * takes over a partition, for the requests whose commit is still due (decision 0008). */
#ifndef SERVICES_AGENT_ANSWERS_ANSWER_CACHE_H
#define SERVICES_AGENT_ANSWERS_ANSWER_CACHE_H

#include "replica/service/service.h"
#include "services/agent/answers/answer.h"
#include "statestore/answers.h"

struct answer_cache;

/* New; below the service's data directory. NULL in *ret_cache: agent.memory.mb is 0, or there is
 * no data directory (tests). A damaged store is dropped, which is logged. */
enum error_class answer_cache_new(struct service_context *service, const char *agent,
                                  struct answer_cache **ret_cache, struct error *ret_error);
void answer_cache_free(struct answer_cache *cache);

/* What is remembered of the requested attempt; its texts are new in the arena. False: nothing is.
 * NULL remembers nothing. */
bool answer_cache_recall(struct answer_cache *cache, const struct step_request *request,
                         struct arena *arena, struct attempt_answer *ret_answer);
/* Notes the answer for the next answer_cache_write(). */
void answer_cache_note(struct answer_cache *cache, const struct step_request *request,
                       const struct attempt_answer *answer);
/* Writes all that was noted, in one batch. RENEWED: the store was damaged and there is a new one;
 * note everything once more. FAILED: there is no new one either; the service is failing. */
enum answer_cache_result { ANSWER_CACHE_WRITTEN, ANSWER_CACHE_RENEWED, ANSWER_CACHE_FAILED };
enum answer_cache_result answer_cache_write(struct answer_cache *cache);

#endif
