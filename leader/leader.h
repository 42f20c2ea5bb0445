/* SPDX-License-Identifier: Apache-2.0 */
/* Leader election for a service with a loop: the task is what the service does between two
 * callbacks. services/supervisor/auditor.c is an example; a program whose task has a thread of its
 * own uses include/reeve/leader.h, which also documents what both may rely on and have to do. */
#ifndef LEADER_LEADER_H
#define LEADER_LEADER_H

#include "leader/election.h"
#include "replica/cluster/cluster.h"

#include <reeve/leader.h>

struct leader;

/* Replaces what is 0 in the options by the configuration's value. REJECT "Config" with one line. */
enum error_class leader_configure(const struct config *config, struct reeve_leader_options *options,
                                  struct error *ret_error);

struct leader_ops {
    void (*begin)(void *ctx, int64_t token);
    /* End at once, and call leader_ended() when the task no longer acts (from here or later). */
    void (*cancel)(void *ctx, enum election_reason reason);
};

/* New. Takes part in the election from now on. `cluster` is ready. A process that is a candidate
 * for several roles has a leader for each, all made in the same callback of the loop, because they
 * share a reader. All borrowed. Callbacks come from the loop. */
enum error_class leader_new(struct cluster *cluster, const struct reeve_leader_options *options,
                            const struct leader_ops *ops, void *ctx, struct leader **ret_leader,
                            struct error *ret_error);
/* The task has ended, by itself or because of `cancel`. */
void leader_ended(struct leader *leader);
/* Leaves the election: ends the task, releases; `stopped` is called once that is in the log, or 2 s
 * after the task has ended if the broker does not answer. */
void leader_stop(struct leader *leader, void (*stopped)(void *ctx), void *ctx);
/* Before cluster_close(). Forgets a task that still runs. NULL is allowed. */
void leader_free(struct leader *leader);
/* True, with a reason for operators: its last record of the election was not appended, so that it
 * can neither claim the role nor keep it. */
bool leader_in_trouble(const struct leader *leader, char *ret_reason, size_t reason_size);
/* The brokers' time: when they appended the newest record of the election that counted, and what
 * has passed since it was read. This machine's clock may be wrong; only where the brokers have no
 * append times, it counts. */
int64_t leader_brokers_now(const struct leader *leader);
/* The state of the election, as far as the log was read. */
const struct election *leader_election(const struct leader *leader);

/* ---- the running term; from any thread ---- */

int64_t leader_token(const struct leader *leader);
/* Whether the task may act at this instant. */
bool leader_leads(const struct leader *leader);
/* The task has completed a piece of work. */
void leader_progress(struct leader *leader);

#endif
