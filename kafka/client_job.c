/* SPDX-License-Identifier: Apache-2.0 */
/* Worker threads for blocking calls of librdkafka. A job starts a thread if no idle one is left for
 * it; threads end with the broker. A call blocks for seconds where nothing answers, as in a
 * partition without a leader, and calls to what does answer never wait for such ones: there is a
 * thread for each, and those that found no answer the last time share a few. A job's `run` uses
 * only the job's own data. Also a thread for each client that is being destroyed, which may take
 * long. */
#include "kafka/client_internal.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

/* Of all clients of the process. */
static atomic_uint thread_total;

static void push(struct kafka_job_list *list, struct kafka_job *job)
{
    job->next = NULL;
    if (list->last != NULL)
        list->last->next = job;
    else
        list->first = job;
    list->last = job;
    list->count++;
}

/* NULL: it is empty. */
static struct kafka_job *pop(struct kafka_job_list *list)
{
    struct kafka_job *job = list->first;
    if (job == NULL)
        return NULL;
    assert(list->count > 0);
    list->first = job->next;
    if (list->first == NULL)
        list->last = NULL;
    list->count--;
    return job;
}

/* How many waiting jobs could run now, given the threads. */
static uint32_t runnable(const struct kafka_jobs *jobs)
{
    uint32_t room = KAFKA_JOB_DOUBTFUL_MAX - jobs->doubtful_running;
    return jobs->queued.count + (jobs->doubtful.count < room ? jobs->doubtful.count : room);
}

static struct kafka_job *take(struct kafka_jobs *jobs)
{
    struct kafka_job *job = pop(&jobs->queued);
    if (job != NULL || jobs->doubtful_running == KAFKA_JOB_DOUBTFUL_MAX)
        return job;
    job = pop(&jobs->doubtful);
    jobs->doubtful_running += job != NULL;
    return job;
}

static void *work(void *arg)
{
    struct kafka_jobs *jobs = arg;
    pthread_mutex_lock(&jobs->lock);
    for (;;) {
        struct kafka_job *job = take(jobs);
        if (job == NULL && jobs->stopping)
            break;
        if (job == NULL) {
            jobs->idle_count++;
            pthread_cond_wait(&jobs->wanted, &jobs->lock);
            jobs->idle_count--;
            continue;
        }
        pthread_mutex_unlock(&jobs->lock);
        job->run(job);
        pthread_mutex_lock(&jobs->lock);
        assert(!job->doubtful || jobs->doubtful_running > 0);
        jobs->doubtful_running -= job->doubtful;
        push(&jobs->finished, job);
        loop_wakeup_send(&jobs->wakeup);
    }
    pthread_mutex_unlock(&jobs->lock);
    return NULL;
}

static void finish(void *ctx)
{
    struct kafka_jobs *jobs = ctx;
    pthread_mutex_lock(&jobs->lock);
    struct kafka_job *job = jobs->finished.first;
    jobs->finished = (struct kafka_job_list){.first = NULL};
    pthread_mutex_unlock(&jobs->lock);
    while (job != NULL) {
        struct kafka_job *next = job->next;
        assert(jobs->pending > 0);
        jobs->pending--;
        job->done(job);
        job = next;
    }
}

enum error_class kafka_jobs_init(struct kafka_jobs *jobs, struct loop *loop,
                                 struct error *ret_error)
{
    *jobs = (struct kafka_jobs){.wakeup.fd = -1};
    if (loop_wakeup_open(loop, &jobs->wakeup, finish, jobs, ret_error) != ERROR_OK)
        return ERROR_FATAL;
    int rc = pthread_mutex_init(&jobs->lock, NULL);
    assert(rc == 0);
    rc = pthread_cond_init(&jobs->wanted, NULL);
    assert(rc == 0);
    return ERROR_OK;
}

static bool may_start_thread(const struct kafka_jobs *jobs)
{
    return jobs->thread_count < KAFKA_JOB_THREADS_LEAST ||
           (jobs->thread_count < KAFKA_JOB_THREADS_MAX &&
            atomic_load(&thread_total) < KAFKA_JOB_THREADS_MAX);
}

static void start_thread(struct kafka_jobs *jobs)
{
    pthread_attr_t attributes;
    int rc = pthread_attr_init(&attributes);
    assert(rc == 0);
    rc = pthread_attr_setstacksize(&attributes, KAFKA_JOB_STACK);
    assert(rc == 0);
    rc = pthread_create(&jobs->threads[jobs->thread_count], &attributes, work, jobs);
    /* Without a new thread, the job waits for a running one. */
    assert(rc == 0 || jobs->thread_count > 0);
    jobs->thread_count += rc == 0;
    atomic_fetch_add(&thread_total, rc == 0);
    pthread_attr_destroy(&attributes);
}

void kafka_jobs_submit(struct kafka_jobs *jobs, struct kafka_job *job)
{
    assert(!jobs->stopping && job->run != NULL && job->done != NULL);
    jobs->pending++; /* used by the loop's thread only */
    pthread_mutex_lock(&jobs->lock);
    push(job->doubtful ? &jobs->doubtful : &jobs->queued, job);
    /* A thread that was woken for an earlier job counts as idle until it has taken that job. */
    if (jobs->idle_count >= runnable(jobs))
        pthread_cond_signal(&jobs->wanted);
    else if (may_start_thread(jobs))
        start_thread(jobs);
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
    atomic_fetch_sub(&thread_total, jobs->thread_count);
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
        log_warning("a kafka client does not stop: abandoned it");
        pthread_detach(ends->threads[i]);
        all = false;
    }
    free(ends->threads);
    *ends = (struct kafka_ends){.threads = NULL};
    return all;
}
