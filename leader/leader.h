/* SPDX-License-Identifier: Apache-2.0 */
/* Run a task in one process among many: leader election over <p>.leadership.
 *
 *     static void nightly(void *ctx, struct reeve_leader *leader)
 *     {
 *         while (reeve_leader_wait(leader, 1000)) {      // false: end at once
 *             store_write(..., reeve_leader_token(leader));   // the store refuses older tokens
 *             reeve_leader_progress(leader);
 *         }
 *     }
 *     int main(int argc, char **argv)
 *     {
 *         struct reeve_leader_options options = {.role = "nightly"};
 *         return reeve_leader_run(&options, nightly, NULL, argc - 1, argv + 1);
 *     }
 *
 * The library acquires or waits, renews in the background, tells the task to end as soon as the
 * lease is lost, releases when the task has ended, and tries again.
 *
 * What you may rely on
 * - Tokens rise: each term's is higher than that of every earlier term, whoever led.
 * - reeve_leader_leads() is true in at most one process at any instant, as long as monotonic clocks
 *   differ by less than a fifth of a lease within a lease.
 *
 * What you owe
 * - Between asking whether you lead and acting, your process may be stopped for an hour. Hand the
 *   token on to whatever you change, and let it refuse a token older than one that it has seen.
 * - Report progress, more often than leader.progress.ms: who reports none is hung and loses the
 *   lead, though the process renews. Report it for work done, not from a timer.
 * - End soon when you are told to. Until your task has ended this process does not lead again.
 *
 * docs/use/leader-election.md has the strategies, what detection costs, and why it is safe. */
#ifndef LEADER_LEADER_H
#define LEADER_LEADER_H

#include "leader/election.h"
#include "replica/cluster.h"

struct reeve_leader;

struct reeve_leader_options {
    const char *role; /* [A-Za-z0-9._-]; candidates of one role elect one of them. Borrowed */
    /* What is 0 comes from the configuration: leader.strategy and leader.rank, ... */
    enum election_strategy strategy;
    uint32_t rank;
    int64_t lease_ms; /* ... leader.lease.ms and so on */
    int64_t renew_ms;
    int64_t progress_ms;
};

/* Takes what is 0 in the options from the configuration. REJECT "Config" with one line. */
enum error_class reeve_leader_configure(const struct config *config,
                                        struct reeve_leader_options *options,
                                        struct error *ret_error);

/* ---- for a program of its own: the task has its own thread and may block ---- */

/* Ends when told to (reeve_leader_wait says false), or when it is done; then it is run again, here
 * or elsewhere. */
typedef void (*reeve_leader_task)(void *ctx, struct reeve_leader *leader);

/* The main of a candidate, a service as in replica/service_main.h (configuration, logs, /livez,
 * /readyz, SIGTERM): argv without the program's name. Returns the exit code. Once a process. */
int reeve_leader_run(const struct reeve_leader_options *options, reeve_leader_task task, void *ctx,
                     int argc, char *const argv[]);

/* Of the running term; from the task's thread (and any other). */

/* The fencing token. */
int64_t reeve_leader_token(const struct reeve_leader *leader);
/* May the task act at this instant? */
bool reeve_leader_leads(const struct reeve_leader *leader);
/* The task has done something. */
void reeve_leader_progress(struct reeve_leader *leader);
/* Waits, but not when the task has to end; then false. For reeve_leader_run's tasks. */
bool reeve_leader_wait(struct reeve_leader *leader, int64_t timeout_ms);

/* ---- for a service with a loop: the task is what you do between two callbacks ---- */

struct reeve_leader_ops {
    void (*begin)(void *ctx, int64_t token);
    /* End at once, and call reeve_leader_ended() when nothing of the task acts any more (from here
     * or later). */
    void (*cancel)(void *ctx, enum election_reason reason);
};

/* New. Takes part in the election from now on. `cluster` is ready, and has one leader at most: its
 * broker reads a partition once. All borrowed. Callbacks come from the loop. */
enum error_class reeve_leader_new(struct cluster *cluster,
                                  const struct reeve_leader_options *options,
                                  const struct reeve_leader_ops *ops, void *ctx,
                                  struct reeve_leader **ret_leader, struct error *ret_error);
/* The task has ended, told to or not. */
void reeve_leader_ended(struct reeve_leader *leader);
/* Takes part no more: ends the task, releases; `stopped` is called once that is in the log, or 2 s
 * after the task has ended if the broker does not answer. */
void reeve_leader_stop(struct reeve_leader *leader, void (*stopped)(void *ctx), void *ctx);
/* Before cluster_close(). Forgets a task that still runs. NULL is fine. */
void reeve_leader_free(struct reeve_leader *leader);
/* What the log says, as far as it was read. */
const struct election *reeve_leader_election(const struct reeve_leader *leader);

#endif
