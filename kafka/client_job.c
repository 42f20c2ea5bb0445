/* SPDX-License-Identifier: Apache-2.0 */
/* A few worker threads for blocking calls of librdkafka. A job starts a thread if no idle one is
 * left for it; threads end with the broker. A job's `run` uses only the job's own data. Also a
 * thread for each client that is being destroyed, which may take long. */
#include "kafka/client_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <time.h>

static void push(struct kafka_job **first, struct kafka_job **last, struct kafka_job *job)
{
    job->next = NULL;
    if (*last != NULL)
        (*last)->next = job;
    else
        *first = job;
    *last = job;
}

static void *work(void *arg)
{
    struct kafka_jobs *jobs = arg;
    pthread_mutex_lock(&jobs->lock);
    for (;;) {
        while (jobs->first == NULL && !jobs->stopping) {
            jobs->idle_count++;
            pthread_cond_wait(&jobs->wanted, &jobs->lock);
            jobs->idle_count--;
        }
        struct kafka_job *job = jobs->first;
        if (job == NULL)
            break;
        assert(jobs->queued_count > 0);
        jobs->first = job->next;
        jobs->queued_count--;
        if (jobs->first == NULL)
            jobs->last = NULL;
        pthread_mutex_unlock(&jobs->lock);
        job->run(job);
        pthread_mutex_lock(&jobs->lock);
        push(&jobs->finished_first, &jobs->finished_last, job);
        loop_wakeup_send(&jobs->wakeup);
    }
    pthread_mutex_unlock(&jobs->lock);
    return NULL;
}

static void finish(struct kafka_jobs *jobs)
{
    pthread_mutex_lock(&jobs->lock);
    struct kafka_job *job = jobs->finished_first;
    jobs->finished_first = NULL;
    jobs->finished_last = NULL;
    pthread_mutex_unlock(&jobs->lock);
    while (job != NULL) {
        struct kafka_job *next = job->next;
        assert(jobs->pending > 0);
        jobs->pending--;
        job->done(job);
        job = next;
    }
}

static void on_finished(struct loop *loop, struct loop_wakeup *wakeup, void *userdata)
{
    (void)loop;
    (void)wakeup;
    finish(userdata);
}

enum error_class kafka_jobs_init(struct kafka_jobs *jobs, struct loop *loop,
                                 struct error *ret_error)
{
    *jobs = (struct kafka_jobs){.wakeup.fd = -1};
    if (loop_wakeup_open(loop, &jobs->wakeup, on_finished, jobs, ret_error) != ERROR_OK)
        return ERROR_FATAL;
    int rc = pthread_mutex_init(&jobs->lock, NULL);
    assert(rc == 0);
    rc = pthread_cond_init(&jobs->wanted, NULL);
    assert(rc == 0);
    return ERROR_OK;
}

void kafka_jobs_submit(struct kafka_jobs *jobs, struct kafka_job *job)
{
    assert(!jobs->stopping && job->run != NULL && job->done != NULL);
    jobs->pending++; /* used by the loop's thread only */
    pthread_mutex_lock(&jobs->lock);
    push(&jobs->first, &jobs->last, job);
    jobs->queued_count++;
    /* A thread that was woken for an earlier job counts as idle until it has taken that job. */
    if (jobs->idle_count >= jobs->queued_count) {
        pthread_cond_signal(&jobs->wanted);
    } else if (jobs->thread_count < KAFKA_JOB_THREADS_MAX) {
        int rc = pthread_create(&jobs->threads[jobs->thread_count], NULL, work, jobs);
        /* Without a new thread, the job waits for a running one. */
        assert(rc == 0 || jobs->thread_count > 0);
        jobs->thread_count += rc == 0;
    }
    pthread_mutex_unlock(&jobs->lock);
}

void kafka_jobs_deinit(struct kafka_jobs *jobs)
{
    if (jobs->wakeup.loop == NULL)
        return;
    pthread_mutex_lock(&jobs->lock);
    jobs->stopping = true;
    pthread_cond_broadcast(&jobs->wanted);
    pthread_mutex_unlock(&jobs->lock);
    for (uint32_t i = 0; i < jobs->thread_count; i++)
        pthread_join(jobs->threads[i], NULL);
    finish(jobs);
    assert(jobs->pending == 0);
    loop_wakeup_close(&jobs->wakeup);
    pthread_cond_destroy(&jobs->wanted);
    pthread_mutex_destroy(&jobs->lock);
}

/* ---- clients that are being destroyed ---- */

static void *destroy(void *rk)
{
    rd_kafka_destroy_flags(rk, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
    return NULL;
}

/* Forgets the threads that have ended. */
static void reap(struct kafka_ends *ends)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < ends->count; i++) {
        if (pthread_tryjoin_np(ends->threads[i], NULL) != 0)
            ends->threads[left++] = ends->threads[i];
    }
    ends->count = left;
}

void kafka_destroy_later(struct kafka_ends *ends, rd_kafka_t *rk)
{
    reap(ends);
    if (ends->count == ends->size) {
        ends->size = ends->size > 0 ? 2 * ends->size : 8;
        ends->threads = realloc(ends->threads, ends->size * sizeof(*ends->threads));
        assert(ends->threads != NULL);
    }
    if (pthread_create(&ends->threads[ends->count], NULL, destroy, rk) == 0)
        ends->count++;
    else
        log_warning("cannot start a thread to destroy a kafka client: abandoned it");
}

bool kafka_destroy_wait(struct kafka_ends *ends, int64_t timeout_ms)
{
    bool all = true;
    /* The clock of pthread_clockjoin_np, not the loop's: threads are not simulated. */
    const struct timespec until = clock_monotonic_after(timeout_ms);
    for (uint32_t i = 0; i < ends->count; i++) {
        if (pthread_clockjoin_np(ends->threads[i], NULL, CLOCK_MONOTONIC, &until) == 0)
            continue;
        log_warning("a kafka client does not end: abandoned it");
        pthread_detach(ends->threads[i]);
        all = false;
    }
    free(ends->threads);
    *ends = (struct kafka_ends){.threads = NULL};
    return all;
}
