/* SPDX-License-Identifier: Apache-2.0 */
/* The public face of leader/ (include/reeve/leader.h): the main of a candidate, a service whose
 * task has a thread of its own, made for each term. The two threads share the fields below the
 * mutex, and the leader's atomics. */
#include "leader/leader.h"

#include "platform/logger.h"
#include "replica/service/settings.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct reeve_leader {
    struct service_context *service;
    const struct clock *clock;
    struct cluster *cluster;
    struct leader *leader; /* NULL: the cluster is not ready */
    struct reeve_leader_options options;
    struct loop_wakeup ended; /* the task's thread is at its end */
    pthread_t thread;
    bool running; /* the thread is there, not joined */
    bool draining;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool cancelled; /* under the mutex */
};

/* Of this process, as in services/agent: service handlers have no other way to them. */
static const struct reeve_leader_options *arg_options;
static reeve_leader_task arg_task;
static void *arg_ctx;

/* ---- the task's thread ---- */

static void *run_task(void *argument)
{
    struct reeve_leader *candidate = argument;
    arg_task(arg_ctx, candidate);
    loop_wakeup_send(&candidate->ended);
    return NULL;
}

int64_t reeve_leader_token(const struct reeve_leader *candidate)
{
    return leader_token(candidate->leader);
}

bool reeve_leader_leads(const struct reeve_leader *candidate)
{
    return leader_leads(candidate->leader);
}

void reeve_leader_progress(struct reeve_leader *candidate)
{
    leader_progress(candidate->leader);
}

bool reeve_leader_wait(struct reeve_leader *candidate, int64_t timeout_ms)
{
    int64_t now = clock_mono_ms(candidate->clock);
    int64_t until = timeout_ms < INT64_MAX - now ? now + timeout_ms : INT64_MAX;
    pthread_mutex_lock(&candidate->mutex);
    while (!candidate->cancelled && now < until) {
        int64_t left = until - now;
        struct timespec at =
            clock_monotonic_after(left < CLOCK_AFTER_MS_MAX ? left : CLOCK_AFTER_MS_MAX);
        pthread_cond_timedwait(&candidate->changed, &candidate->mutex, &at);
        now = clock_mono_ms(candidate->clock);
    }
    bool cancelled = candidate->cancelled;
    pthread_mutex_unlock(&candidate->mutex);
    return !cancelled && leader_leads(candidate->leader);
}

/* ---- the loop's thread ---- */

static void set_cancelled(struct reeve_leader *candidate, bool cancelled)
{
    pthread_mutex_lock(&candidate->mutex);
    candidate->cancelled = cancelled;
    pthread_cond_broadcast(&candidate->changed);
    pthread_mutex_unlock(&candidate->mutex);
}

static void on_begin(void *ctx, int64_t token)
{
    struct reeve_leader *candidate = ctx;
    (void)token;
    assert(!candidate->running);
    set_cancelled(candidate, false);
    if (pthread_create(&candidate->thread, NULL, run_task, candidate) == 0) {
        candidate->running = true;
        return;
    }
    struct error error;
    error_set(&error, CODE_NO_THREAD, "the system gives no thread for the task");
    service_fail(candidate->service, &error);
}

static void on_cancel(void *ctx, enum election_reason reason)
{
    struct reeve_leader *candidate = ctx;
    (void)reason;
    set_cancelled(candidate, true);
}

static const struct leader_ops leader_ops = {.begin = on_begin, .cancel = on_cancel};

static void on_ended(void *ctx)
{
    struct reeve_leader *candidate = ctx;
    if (!candidate->running)
        return;
    pthread_join(candidate->thread, NULL);
    candidate->running = false;
    leader_ended(candidate->leader);
}

/* ---- the service ---- */

static void on_stopped(void *ctx)
{
    struct reeve_leader *candidate = ctx;
    service_drained(candidate->service);
}

static void on_ready(void *ctx)
{
    struct reeve_leader *candidate = ctx;
    struct error error;
    if (candidate->draining)
        return;
    if (leader_new(candidate->cluster, &candidate->options, &leader_ops, candidate,
                   &candidate->leader, &error) != ERROR_OK)
        service_fail(candidate->service, &error);
}

static void free_candidate(struct reeve_leader *candidate)
{
    loop_wakeup_close(&candidate->ended);
    pthread_cond_destroy(&candidate->changed);
    pthread_mutex_destroy(&candidate->mutex);
    free(candidate);
}

static enum error_class start(struct service_context *context, void **ret_state,
                              struct error *ret_error)
{
    struct reeve_leader *candidate = calloc(1, sizeof(*candidate));
    pthread_condattr_t attributes;
    assert(candidate != NULL);
    candidate->service = context;
    candidate->clock = context->clock;
    candidate->options = *arg_options;
    pthread_mutex_init(&candidate->mutex, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC); /* of clock_monotonic_after */
    pthread_cond_init(&candidate->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    candidate->ended.fd = -1;
    enum error_class class =
        loop_wakeup_open(context->loop, &candidate->ended, on_ended, candidate, ret_error);
    if (class == ERROR_OK) /* a contradiction ends the process now, not when the broker answers */
        class = leader_configure(context->config, &candidate->options, ret_error);
    if (class == ERROR_OK)
        class = cluster_open(context, 0, on_ready, candidate, &candidate->cluster, ret_error);
    if (class != ERROR_OK) {
        free_candidate(candidate);
        return class;
    }
    *ret_state = candidate;
    return ERROR_OK;
}

/* Ready: it takes part in the election; another candidate may lead. */
static bool ready(void *state, char *ret_reason, size_t reason_size)
{
    const struct reeve_leader *candidate = state;
    if (candidate->leader != NULL && leader_election(candidate->leader)->state != ELECTION_READING)
        return !leader_in_trouble(candidate->leader, ret_reason, reason_size);
    snprintf(ret_reason, reason_size, "the log of the election is being read");
    return false;
}

static void drain(void *state)
{
    struct reeve_leader *candidate = state;
    candidate->draining = true;
    if (candidate->leader == NULL)
        service_drained(candidate->service);
    else
        leader_stop(candidate->leader, on_stopped, candidate);
}

static void stop(void *state)
{
    struct reeve_leader *candidate = state;
    if (candidate->running) {
        /* It has not ended in drain.timeout.ms. The process leaves, and takes it along: nothing of
         * what the task still uses is freed. */
        log_warning("the task has not ended", LOG_STR("role", candidate->options.role));
        return;
    }
    leader_free(candidate->leader);
    cluster_close(candidate->cluster);
    free_candidate(candidate);
}

int reeve_leader_run(const struct reeve_leader_options *options, reeve_leader_task task, void *ctx,
                     int argc, char *const argv[])
{
    static const struct service service = {.name = "leader",
                                           .bit = SETTINGS_ALL,
                                           .start = start,
                                           .ready = ready,
                                           .drain = drain,
                                           .stop = stop};
    assert(arg_task == NULL && options != NULL && task != NULL);
    arg_options = options;
    arg_task = task;
    arg_ctx = ctx;
    return service_main(&service, argc, argv);
}
