/* SPDX-License-Identifier: Apache-2.0 */
/* Reports on their way to the scheduler: appended to <p>.commands at the order's partition, and
 * again until one of them is acknowledged. Repeats do no harm: the scheduler ignores the second.
 *
 * Before that they are remembered, all of a turn of the loop with one write: what was reported is
 * what a request that comes again is answered with. */
#include "platform/failpoint.h"
#include "platform/logger.h"
#include "services/agent/answers/answer_cache.h"
#include "services/agent/core/core.h"

#include <assert.h>
#include <stdlib.h>

enum { AGAIN_MS_MIN = 20, AGAIN_MS_MAX = 1000, REMEMBER_TRIES = 3 };

struct agent_reports {
    struct agent *agent;
    /* Those of this turn, the oldest first. */
    struct agent_attempt *fresh;
    struct agent_attempt **fresh_last;
    struct loop_work remember;
    /* Those that the broker did not take, the oldest first. */
    struct agent_attempt *first;
    struct agent_attempt **last;
    int64_t again_ms;
    struct loop_timer timer;
};

static void on_timer(struct loop *loop, struct loop_timer *timer, void *userdata);
static void on_remember(struct loop *loop, struct loop_work *work, void *userdata);

struct agent_reports *reports_new(struct agent *agent)
{
    struct agent_reports *reports = calloc(1, sizeof(*reports));
    assert(reports != NULL);
    reports->agent = agent;
    reports->last = &reports->first;
    reports->fresh_last = &reports->fresh;
    reports->again_ms = AGAIN_MS_MIN;
    loop_work_init(&reports->remember, on_remember, reports);
    loop_timer_init(&reports->timer, on_timer, reports);
    return reports;
}

void reports_free(struct agent_reports *reports)
{
    if (reports == NULL)
        return;
    loop_timer_cancel(reports->agent->service->loop, &reports->timer);
    loop_defer_cancel(reports->agent->service->loop, &reports->remember);
    free(reports);
}

static void queue(struct agent_reports *reports, struct agent_attempt *attempt)
{
    attempt->next_unsent = NULL;
    *reports->last = attempt;
    reports->last = &attempt->next_unsent;
    if (loop_timer_armed(&reports->timer))
        return;
    loop_timer_after(reports->agent->service->loop, &reports->timer, reports->again_ms);
    reports->again_ms *= 2;
    if (reports->again_ms > AGAIN_MS_MAX)
        reports->again_ms = AGAIN_MS_MAX;
}

static void on_appended(void *ctx, uint64_t token, int64_t offset, const struct error *error)
{
    struct agent_reports *reports = ctx;
    struct agent_attempt *attempt =
        (struct agent_attempt *)(uintptr_t)token; /* it waits for this */
    (void)offset;
    if (error != NULL && error_is(error)) {
        log_warning_limited("a report was not delivered, sending it again",
                            LOG_TEXT("order", attempt->request.order_id),
                            LOG_TEXT("step", attempt->request.ref.step), LOG_ERR(error));
        agent_metrics_report_repeated(reports->agent->metrics);
        queue(reports, attempt);
        return;
    }
    FAILPOINT("agent.reported");
    reports->again_ms = AGAIN_MS_MIN;
    attempts_reported(reports->agent->attempts, attempt);
    agent_progress(reports->agent);
}

static struct command report_of(const struct agent *agent, const struct agent_attempt *attempt)
{
    const struct step_request *request = &attempt->request;
    struct command cmd = {.kind = COMMAND_REPORT_STEP, .order_id = request->order_id};
    cmd.report_step = (struct report_step){
        .order_id = request->order_id,
        .step = request->ref.step,
        .direction = request->ref.direction,
        .attempt = request->ref.attempt,
        .succeeded = attempt->succeeded,
        .effect = attempt->effect,
        .agent = text_of(agent->name),
        .instance = text_of(agent->service->instance_id),
    };
    if (attempt->succeeded) {
        cmd.report_step.output = attempt->output;
    } else {
        cmd.report_step.error_name = attempt->error_name;
        cmd.report_step.error_message = attempt->error_message;
    }
    return cmd;
}

enum error_class reports_extend(struct agent *agent, const struct extend_step *wish,
                                broker_appended done, void *ctx, struct error *ret_error)
{
    struct cluster *cluster = agent->cluster;
    struct command cmd = {.kind = COMMAND_EXTEND_STEP, .order_id = wish->order_id};
    cmd.extend_step = *wish;
    cmd.extend_step.agent = text_of(agent->name);
    cmd.extend_step.instance = text_of(agent->service->instance_id);
    return cluster_append(cluster, BROKER_PRODUCER_LOG, cluster->topics.commands, -1, cmd.order_id,
                          RECORD_EXTEND_STEP, &cmd, done, ctx, 0, ret_error);
}

/* False: the queue to the broker is full. */
static bool append(struct agent_reports *reports, struct agent_attempt *attempt)
{
    struct cluster *cluster = reports->agent->cluster;
    struct command cmd = report_of(reports->agent, attempt);
    struct error error;
    FAILPOINT("agent.report");
    return cluster_append(cluster, BROKER_PRODUCER_LOG, cluster->topics.commands, -1, cmd.order_id,
                          RECORD_REPORT_STEP, &cmd, on_appended, reports,
                          (uint64_t)(uintptr_t)attempt, &error) == ERROR_OK;
}

void reports_send(struct agent_reports *reports, struct agent_attempt *attempt)
{
    attempt->next_unsent = NULL;
    *reports->fresh_last = attempt;
    reports->fresh_last = &attempt->next_unsent;
    loop_defer(reports->agent->service->loop, &reports->remember);
}

static bool remember_all(struct agent_reports *reports)
{
    struct agent_memory *memory = reports->agent->memory;
    enum memory_write result = MEMORY_AGAIN;
    for (int tries = 0; tries < REMEMBER_TRIES && result == MEMORY_AGAIN; tries++) {
        bool some = false;
        for (const struct agent_attempt *attempt = reports->fresh; attempt != NULL;
             attempt = attempt->next_unsent) {
            if (attempt->noted)
                continue;
            agent_memory_note(memory, attempt);
            some = true;
        }
        result = some ? agent_memory_write(memory) : MEMORY_WRITTEN;
    }
    return result != MEMORY_FAILED;
}

static void on_remember(struct loop *loop, struct loop_work *work, void *userdata)
{
    struct agent_reports *reports = userdata;
    (void)loop;
    (void)work;
    if (!remember_all(reports))
        return; /* the service is failing: whoever comes next makes these calls again */
    FAILPOINT("agent.remembered");
    struct agent_attempt *attempt = reports->fresh;
    reports->fresh = NULL;
    reports->fresh_last = &reports->fresh;
    while (attempt != NULL) {
        struct agent_attempt *next = attempt->next_unsent;
        if (attempt->accepted) {
            attempts_reported(reports->agent->attempts, attempt);
            agent_progress(reports->agent);
        } else if (reports->first != NULL || !append(reports, attempt)) {
            queue(reports, attempt);
        }
        attempt = next;
    }
}

static void on_timer(struct loop *loop, struct loop_timer *timer, void *userdata)
{
    struct agent_reports *reports = userdata;
    struct agent_attempt *attempt;
    while ((attempt = reports->first) != NULL) {
        struct agent_attempt *next = attempt->next_unsent; /* the answer never comes from inside */
        if (!append(reports, attempt)) {
            loop_timer_after(loop, timer, reports->again_ms);
            return;
        }
        reports->first = next;
    }
    reports->last = &reports->first;
}
