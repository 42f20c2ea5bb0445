/* SPDX-License-Identifier: Apache-2.0 */
/* Emits the effects of one partition's admitted Decisions: step requests, status updates, alerts,
 * dead letters.
 *
 * Log before effect: the owner offers a Decision only after it was acknowledged at its offset and
 * stored. emitted_through is the offset of the last Decision up to which every effect is
 * acknowledged; it travels in later Decisions and in the store, and a new owner re-reads from it
 * on. Emission never blocks deciding: a backlog over its bound is forgotten and read again from the
 * log later. At-least-once: after any failure it goes back to emitted_through. */
#ifndef SERVICES_SCHEDULER_EMITTER_H
#define SERVICES_SCHEDULER_EMITTER_H

#include "replica/cluster.h"
#include "replica/view.h"

struct emitter;

/* New, idle. `view` is borrowed. */
struct emitter *emitter_new(struct cluster *cluster, int32_t partition, struct view *view);
/* Forgets what is outstanding; late acknowledgements are ignored. NULL does nothing. */
void emitter_free(struct emitter *emitter);

/* A new claim: everything after `emitted_through` (-1: the start of the log) and up to
 * `acknowledged` is read again and emitted; later Decisions are offered. */
void emitter_start(struct emitter *emitter, int64_t emitted_through, int64_t acknowledged);
/* The claim was given up: stop emitting, forget everything. */
void emitter_stop(struct emitter *emitter);
/* The next admitted Decision, in order; texts are borrowed during the call. */
void emitter_offer(struct emitter *emitter, const struct decision *decision, int64_t offset);

int64_t emitter_through(const struct emitter *emitter);
/* Decisions offered but not emitted through. */
int64_t emitter_backlog(const struct emitter *emitter);

#endif
