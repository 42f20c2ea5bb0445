/* SPDX-License-Identifier: Apache-2.0 */
/* The threads for blocking calls: what does not answer holds up nothing that does. */
#include "kafka/client_internal.h"

#include <criterion/criterion.h>
#include <stdlib.h>

enum { BLOCKED = 100, DOUBTFUL = 1000, CLIENTS = 3, WAIT_MS = 10000 };

struct gate {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool open;
    uint32_t inside;
    uint32_t inside_max;
};

struct visit {
    struct kafka_job job;
    struct gate *gate; /* NULL: there is nothing to wait for */
    uint32_t *done;
};

struct stage {
    struct loop *loop;
    struct kafka_jobs jobs[CLIENTS];
    struct gate gate;
    struct visit *visits;
    uint32_t visit_count;
    uint32_t done;
    uint32_t expected; /* is_done() waits for it */
};

static void enter(struct kafka_job *job)
{
    struct gate *gate = ((struct visit *)job)->gate;
    if (gate == NULL)
        return;
    pthread_mutex_lock(&gate->lock);
    gate->inside++;
    if (gate->inside > gate->inside_max)
        gate->inside_max = gate->inside;
    pthread_cond_broadcast(&gate->changed);
    while (!gate->open)
        pthread_cond_wait(&gate->changed, &gate->lock);
    gate->inside--;
    pthread_mutex_unlock(&gate->lock);
}

static void leave(struct kafka_job *job)
{
    (*((struct visit *)job)->done)++;
}

static void open_stage(struct stage *stage)
{
    struct error error;
    *stage = (struct stage){.loop = NULL};
    cr_assert_eq(pthread_mutex_init(&stage->gate.lock, NULL), 0);
    cr_assert_eq(pthread_cond_init(&stage->gate.changed, NULL), 0);
    stage->visits = calloc(4096, sizeof(*stage->visits));
    cr_assert_not_null(stage->visits);
    cr_assert_eq(loop_new(clock_real(), &stage->loop, &error), ERROR_OK);
    for (int i = 0; i < CLIENTS; i++)
        cr_assert_eq(kafka_jobs_init(&stage->jobs[i], stage->loop, &error), ERROR_OK);
}

static void submit(struct stage *stage, int client, bool blocks, bool doubtful)
{
    struct visit *visit = &stage->visits[stage->visit_count++];
    *visit = (struct visit){.job = {.run = enter, .done = leave, .doubtful = doubtful},
                            .gate = blocks ? &stage->gate : NULL,
                            .done = &stage->done};
    kafka_jobs_submit(&stage->jobs[client], &visit->job);
}

static bool is_done(void *ctx)
{
    const struct stage *stage = ctx;
    return stage->done == stage->expected;
}

static void wait_for_done(struct stage *stage, uint32_t count)
{
    stage->expected = count;
    cr_assert(loop_run_until(stage->loop, is_done, stage, WAIT_MS), "%u of %u jobs have ended",
              stage->done, count);
}

static void wait_for_inside(struct stage *stage, uint32_t count)
{
    struct timespec until = clock_monotonic_after(WAIT_MS);
    pthread_mutex_lock(&stage->gate.lock);
    while (stage->gate.inside < count)
        cr_assert_eq(pthread_cond_clockwait(&stage->gate.changed, &stage->gate.lock,
                                            CLOCK_MONOTONIC, &until),
                     0, "%u of %u jobs run", stage->gate.inside, count);
    pthread_mutex_unlock(&stage->gate.lock);
}

static void close_stage(struct stage *stage)
{
    pthread_mutex_lock(&stage->gate.lock);
    stage->gate.open = true;
    pthread_cond_broadcast(&stage->gate.changed);
    pthread_mutex_unlock(&stage->gate.lock);
    wait_for_done(stage, stage->visit_count);
    for (int i = 0; i < CLIENTS; i++)
        kafka_jobs_deinit(&stage->jobs[i]);
    loop_free(stage->loop);
    free(stage->visits);
}

/* As many as an instance asks when the leaders of 50 partitions are gone at once. */
Test(client_job, runs_a_job_while_a_hundred_are_blocked)
{
    struct stage stage;
    open_stage(&stage);
    for (int i = 0; i < BLOCKED; i++)
        submit(&stage, 0, true, false);
    wait_for_inside(&stage, BLOCKED);
    submit(&stage, 0, false, false);
    wait_for_done(&stage, 1);
    close_stage(&stage);
}

Test(client_job, gives_doubtful_jobs_a_few_threads)
{
    struct stage stage;
    open_stage(&stage);
    for (int i = 0; i < DOUBTFUL; i++)
        submit(&stage, 0, true, true);
    wait_for_inside(&stage, KAFKA_JOB_DOUBTFUL_MAX);
    for (uint32_t i = 1; i <= BLOCKED; i++) {
        submit(&stage, 0, false, false);
        wait_for_done(&stage, i);
    }
    cr_expect_eq(stage.gate.inside, KAFKA_JOB_DOUBTFUL_MAX);
    close_stage(&stage);
    cr_expect_eq(stage.gate.inside_max, KAFKA_JOB_DOUBTFUL_MAX);
}

/* Each client of a process has some threads, and all of them together fit into a container. */
Test(client_job, bounds_the_threads_of_a_process)
{
    struct stage stage;
    open_stage(&stage);
    for (int i = 0; i < 2 * KAFKA_JOB_THREADS_MAX; i++)
        submit(&stage, 0, true, false);
    wait_for_inside(&stage, KAFKA_JOB_THREADS_MAX);
    for (int client = 1; client < CLIENTS; client++)
        for (int i = 0; i < BLOCKED; i++)
            submit(&stage, client, true, false);
    uint32_t all = KAFKA_JOB_THREADS_MAX + (CLIENTS - 1) * KAFKA_JOB_THREADS_LEAST;
    wait_for_inside(&stage, all);
    close_stage(&stage);
    cr_expect_eq(stage.gate.inside_max, all);
}
