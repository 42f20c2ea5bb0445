/* SPDX-License-Identifier: Apache-2.0 */
/* Emits the effects of one partition's admitted Decisions: step requests, messages to other orders,
 * status updates, alerts, dead letters.
 *
 * Log before effect: the owner offers a Decision only after it was acknowledged at its offset and
 * stored. emitted_through is the offset of the last Decision up to which every effect is
 * acknowledged; it travels in later Decisions and in the store, and a new owner re-reads from it
 * on. Emission never blocks deciding. At-least-once: after a failure, the effects of that target
 * are sent again from the one that failed.
 *
 * One slow target (a topic's partition) delays only itself: each has a share of what the producer
 * holds, and a position of its own; what exceeds the share is read from the log again later. To a
 * target that does not acknowledge nothing is added. A status or alert that is not acknowledged
 * within 15 minutes of its Decision, while effects to other targets are, becomes a dead letter; a
 * StepRequest counts as emitted once its attempt is over, and a message to another order after 15
 * minutes without any acknowledgement: orders ask again. A status in Confluent's framing waits in
 * the log until the schema registry has given its schema an id. A partition of `commands` gets at
 * most 64 messages each 10 ms, so that an order with many sub-orders leaves room for others. */
#ifndef SERVICES_SCHEDULER_EMITTER_EMITTER_H
#define SERVICES_SCHEDULER_EMITTER_EMITTER_H

#include "replica/cluster/cluster.h"
#include "replica/fold/view.h"
#include "services/scheduler/emitter/partition_alerts.h"

struct emitter;

/* Everything offered is acknowledged: a good moment to store emitted_through. */
typedef void (*emitter_settled)(void *ctx);

/* New, idle. `view` and `alerts` (which may be NULL) are borrowed. */
struct emitter *emitter_new(struct cluster *cluster, int32_t partition, struct view *view,
                            struct partition_alerts *alerts, emitter_settled settled, void *ctx);
/* Forgets what is outstanding; late acknowledgements are ignored. NULL does nothing. */
void emitter_free(struct emitter *emitter);

/* A new claim: everything after `emitted_through` (-1: the start of the log) and up to
 * `acknowledged` is read again and emitted; later Decisions are offered. `now_ms`: as for a
 * Decision. */
void emitter_start(struct emitter *emitter, int64_t emitted_through, int64_t acknowledged,
                   int64_t now_ms);
/* The claim was given up: stop emitting, forget everything. */
void emitter_stop(struct emitter *emitter);
/* The next admitted Decision, in order; texts are borrowed during the call. */
void emitter_offer(struct emitter *emitter, const struct decision *decision);

int64_t emitter_through(struct emitter *emitter);
/* Effects that are on their way and may arrive soon, and Decisions to be read again. */
int64_t emitter_backlog(const struct emitter *emitter);

#endif
