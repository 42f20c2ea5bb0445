/* SPDX-License-Identifier: Apache-2.0 */
/* What `reeve bench` measures: topics of a prefix of their own, deployed workflows of three no-op
 * steps, and every service as a child process with a temporary directory. */
#ifndef TOOLS_BENCH_STAGE_H
#define TOOLS_BENCH_STAGE_H

#include "cli/dev/child_processes.h"
#include "cli/session.h"
#include "tools/bench/process.h"

#include <limits.h>

#define BENCH_AGENT "noop"
#define BENCH_REFUSER "refuser"
#define BENCH_APP "bench"
#define BENCH_WORKFLOW "three-steps"
#define BENCH_DECIDING "deciding" /* the same with a condition and a mapping at each step */
#define BENCH_WAITING "waiting"   /* the same after a Wait that no measurement reaches */
#define BENCH_FAN_OUT "fan-out"   /* one step of each item of input.items */
#define BENCH_AWAITING "awaiting" /* the same after an approval that no one gives */

enum { BENCH_STATISTICS_MS = 1000 /* the Kafka clients report this often what they sent */ };

struct bench_stage_options {
    int64_t schedulers;
    int64_t supervisors;
    bool silent;  /* the agent answers nothing */
    bool refuser; /* a second agent, BENCH_REFUSER, which answers each call with an error */
    bool bare;    /* topics and a connection: no workflow, no services */
};

struct bench_stage {
    struct cli cli;    /* the invocation, with a configuration of our own: another prefix */
    struct loop *loop; /* of the children and the signals; runs while the session's does */
    struct children *children;
    struct cli_session session;
    struct topics topics;
    bool topics_made;
    char directory[PATH_MAX];
    struct loop_timer pump;
    struct error failure; /* a signal, or a process that ended */
};

/* All services are ready when it returns. Needs bench_stage_close() on failure as well. `number` is
 * part of the prefix: stages of one run differ. */
enum error_class bench_stage_open(struct cli *cli, const struct bench_stage_options *options,
                                  int number, struct bench_stage *stage, struct error *ret_error);
/* Deploys another workflow: a literal of ours, so it is valid. */
enum error_class bench_stage_deploy(struct bench_stage *stage, const char *text,
                                    struct error *ret_error);
/* SIGTERM to the services; the session stays. */
void bench_stage_stop_services(struct bench_stage *stage);
/* Stops the services, deletes the topics and the directory. */
void bench_stage_close(struct bench_stage *stage);

/* Runs the session's loop until done(ctx). Errors: the stage's failure; RETRY "Silent" after
 * timeout_ms. */
enum error_class bench_stage_wait(struct bench_stage *stage, bool (*done)(void *ctx), void *ctx,
                                  int64_t timeout_ms, struct error *ret_error);
/* Adds the processes of the services, to measure them. */
void bench_stage_processes(const struct bench_stage *stage, struct bench_processes *processes);
/* What each of them keeps on disk now. */
void bench_stage_stores(const struct bench_stage *stage, struct bench_processes *processes);

/* Records that the topics hold. */
enum { BENCH_TOPICS_MAX = 8 };
struct bench_topic {
    char name[TOPIC_NAME_SIZE]; /* without the prefix */
    int64_t records;
};
struct bench_topics {
    struct bench_topic items[BENCH_TOPICS_MAX];
    uint32_t count;
};
enum error_class bench_stage_topics(struct bench_stage *stage, struct bench_topics *ret_topics,
                                    struct error *ret_error);

#endif
