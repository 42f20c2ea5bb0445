/* SPDX-License-Identifier: Apache-2.0 */
/* Run a task in one process of several: leader election over the topic <prefix>.leadership.
 *
 *     #include <reeve/leader.h>
 *
 *     static void nightly(void *ctx, struct reeve_leader *leader)
 *     {
 *         while (reeve_leader_wait(leader, 1000)) {           // false: return soon
 *             store_write(..., reeve_leader_token(leader));   // the store refuses older tokens
 *             reeve_leader_progress(leader);
 *         }
 *     }
 *
 *     int main(int argc, char **argv)
 *     {
 *         static struct reeve_leader_options options;
 *         options.role = "nightly";
 *         return reeve_leader_run(&options, nightly, NULL, argc - 1, argv + 1);
 *     }
 *
 *     cc nightly.c $(pkg-config --cflags --libs reeve)
 *
 * Each process that runs this program is a candidate for the role. The library acquires the role or
 * waits for it, renews the lease in the background, tells the task to end as soon as the lease is
 * lost, releases the role when the task has returned, and then competes again.
 *
 * What you can rely on
 * - Tokens rise: the token of each term is higher than that of every earlier term, in any process.
 * - reeve_leader_leads() is true in at most one process at any instant, as long as the monotonic
 *   clocks of two machines drift apart by less than a fifth of a lease within a lease.
 *
 * What you have to do
 * - Pass the token to everything that the task changes, and let it refuse a token older than one
 *   it has seen. Your process may be suspended between checking the lease and acting, for any time.
 * - Call reeve_leader_progress() more often than every leader.progress.ms, for completed work and
 *   not from a timer. A task that reports no progress counts as hung, and its process loses the
 *   role although it still renews the lease.
 * - Return soon after reeve_leader_wait() has returned false. Until the task has returned, this
 *   process cannot lead again.
 *
 * Threads: the task runs on a thread of its own, one thread for each term, and may block. The
 * functions that take a `struct reeve_leader *` may be called from that thread, and from threads
 * that it starts and joins before it returns.
 *
 * docs/use/leader-election.md describes strategies, the cost of detection, and why it is safe. */
#ifndef REEVE_LEADER_H
#define REEVE_LEADER_H

#include <reeve/types.h>

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A candidacy of this process. Opaque; borrowed by the task until it returns. */
struct reeve_leader;

enum reeve_leader_strategy {
    REEVE_LEADER_CONFIGURED = 0, /* leader.strategy and leader.rank of the configuration decide */
    REEVE_LEADER_RACE = 1,       /* the first candidate to claim the role leads until it ends */
    REEVE_LEADER_RANKED = 2      /* the lowest rank leads; it takes over if it starts later */
};

/* Set all to zero, then `role`, and what the program decides instead of the configuration: the
 * program's choice overrides the configuration. Borrowed until reeve_leader_run() returns. */
struct reeve_leader_options {
    /* The name of the role: 1 to 64 of [A-Za-z0-9._-]. The candidates of one role elect one of
     * them. */
    const char *role;
    enum reeve_leader_strategy strategy;
    uint32_t rank; /* of REEVE_LEADER_RANKED; 0 is the best */
    /* Milliseconds; 0 = the key of the configuration that the comment names. */
    int64_t lease_ms;    /* leader.lease.ms: 100 to 3,600,000 */
    int64_t renew_ms;    /* leader.renew.ms: at most a third of the lease, at least a 20th */
    int64_t progress_ms; /* leader.progress.ms: at least renew_ms */
};

/* The task. It returns when reeve_leader_wait() has returned false, or when it is done; then the
 * role is released, and the task is run again, in this process or in another one. `ctx` is the
 * pointer that was passed to reeve_leader_run(). In C++ it must not throw. */
typedef void (*reeve_leader_task)(void *ctx, struct reeve_leader *leader);

/* The main function of a candidate. It blocks until SIGTERM or SIGINT, lets the task end for up to
 * drain.timeout.ms, and releases the role.
 *
 * A candidate is a service like every service of reeve: configuration from flags, environment and
 * a properties file (--help lists the keys), structured logs on stderr, and an HTTP server with
 * /livez, /readyz and /metrics. `argv` holds `argc` arguments without the program's name;
 * `options`, `ctx` and `argv` are borrowed until this function returns.
 *
 * Returns the exit code for the process: 0 after a clean stop or --help; 64, wrong flags; 65,
 * topics are missing (`reeve topics apply`); 69, Kafka does not answer; 78, wrong configuration;
 * 70, any other failure. The log has the reason. Call it from the main thread before you start
 * other threads (it blocks signals), and once per process. */
REEVE_API int reeve_leader_run(const struct reeve_leader_options *options, reeve_leader_task task,
                               void *ctx, int argc, char *const argv[]);

/* The fencing token of the running term, >= 0. It does not change while the task runs. */
REEVE_API int64_t reeve_leader_token(const struct reeve_leader *leader);

/* Whether this process holds the lease at this instant. False also while the task is being told to
 * end. Never blocks. */
REEVE_API bool reeve_leader_leads(const struct reeve_leader *leader);

/* Reports that the task has completed a piece of work. Never blocks. */
REEVE_API void reeve_leader_progress(struct reeve_leader *leader);

/* Waits for `timeout_ms` milliseconds (0 = not at all), or until the task has to end. Returns
 * whether the task may go on: false means that the lease is lost or the process stops. */
REEVE_API bool reeve_leader_wait(struct reeve_leader *leader, int64_t timeout_ms);

#ifdef __cplusplus
}
#endif

#endif
