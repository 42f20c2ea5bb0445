/* SPDX-License-Identifier: Apache-2.0 */
/* Writes tombstones to <p>.agents for instances of agents that vanished, also while no supervisor
 * led. For the auditor, while it leads.
 *
 * Only the brokers' time counts: an instance has vanished when the brokers have been there for
 * AGENT_TABLE_BEATS of its heartbeats without a record of it. Neither a wrong clock, nor a process
 * that was suspended, nor an outage of the brokers makes a live instance vanish. */
#ifndef SERVICES_SUPERVISOR_AGENT_CLEANER_H
#define SERVICES_SUPERVISOR_AGENT_CLEANER_H

#include "replica/cluster/cluster.h"

struct agent_cleaner;

/* New. `silence_ms` as in agent_table_ops. All borrowed. */
struct agent_cleaner *agent_cleaner_new(struct cluster *cluster,
                                        int64_t (*silence_ms)(void *ctx, int64_t appended_at),
                                        void *ctx);
/* NULL does nothing. */
void agent_cleaner_free(struct agent_cleaner *cleaner);

#endif
