/* SPDX-License-Identifier: Apache-2.0 */
/* Reports to the scheduler: appended to <p>.commands at the order's partition, and again until one
 * of them is acknowledged. Repeats do no harm: the scheduler ignores the second.
 *
 * Before that they go into the answer cache, all of a turn of the loop with one write: a request
 * that comes again gets the answer that was reported. */
#include "platform/failpoint.h"
#include "platform/logger.h"
#include "services/agent/answers/answer_cache.h"
#include "services/agent/core/agent_internal.h"

#include <assert.h>
#include <stdlib.h>

enum { RETRY_MS_MIN = 20, RETRY_MS_MAX = 1000, REMEMBER_TRIES = 3 };

struct agent_reports {
    struct agent *agent;
    /* Of this turn of the loop, the oldest first. */
    struct agent_attempt *fresh;
    struct agent_attempt **fresh_last;
    struct loop_deferred remember;
    /* To be sent again, the oldest first. */
    struct agent_attempt *unsent;
    struct agent_attempt **unsent_last;
    int64_t retry_ms;
    struct loop_timer timer;
};

static void on_timer(void *ctx);
static void on_remember(void *ctx);

struct agent_reports *agent_reports_new(struct agent *agent)
{
    struct agent_reports *reports = calloc(1, sizeof(*reports));
    assert(reports != NULL);
    reports->agent = agent;
    reports->unsent_last = &reports->unsent;
    reports->fresh_last = &reports->fresh;
    reports->retry_ms = RETRY_MS_MIN;
    loop_deferred_init(&reports->remember, on_remember, reports);
    loop_timer_init(&reports->timer, on_timer, reports);
    return reports;
}

void agent_reports_free(struct agent_reports *reports)
{
    if (reports == NULL)
        return;
    loop_timer_cancel(reports->agent->service->loop, &reports->timer);
    loop_defer_cancel(reports->agent->service->loop, &reports->remember);
    free(reports);
}

static void send_later(struct agent_reports *reports, struct agent_attempt *attempt)
{
    assert(attempt->state == ATTEMPT_REPORTING && !attempt->answer.accepted);
    attempt->next_unsent = NULL;
    *reports->unsent_last = attempt;
    reports->unsent_last = &attempt->next_unsent;
    if (loop_timer_armed(&reports->timer))
        return;
    loop_timer_after(reports->agent->service->loop, &reports->timer, reports->retry_ms);
    reports->retry_ms *= 2;
    if (reports->retry_ms > RETRY_MS_MAX)
        reports->retry_ms = RETRY_MS_MAX;
}

static void on_appended(void *ctx, uint64_t token, int64_t offset, const struct error *error)
{
    struct agent_reports *reports = ctx;
    struct agent_attempt *attempt =
        (struct agent_attempt *)(uintptr_t)token; /* in REPORTING until now */
    (void)offset;
    assert(attempt->state == ATTEMPT_REPORTING);
    if (error != NULL && error_is(error)) {
        log_warning_limited("a report was not delivered: sending it again",
                            LOG_TEXT("order", attempt->request.order_id),
                            LOG_TEXT("step", attempt->request.ref.step), LOG_ERR(error));
        agent_metrics_report_repeated(reports->agent->metrics);
        send_later(reports, attempt);
        return;
    }
    FAILPOINT("agent.reported");
    reports->retry_ms = RETRY_MS_MIN;
    attempts_reported(reports->agent->attempts, attempt);
    agent_progress(reports->agent);
}

static struct command report_of(const struct agent *agent, const struct agent_attempt *attempt)
{
    const struct step_request *request = &attempt->request;
    const struct attempt_answer *answer = &attempt->answer;
    struct command cmd = {.kind = COMMAND_REPORT_STEP, .order_id = request->order_id};
    cmd.report_step = (struct report_step){
        .order_id = request->order_id,
        .step = request->ref.step,
        .direction = request->ref.direction,
        .attempt = request->ref.attempt,
        .succeeded = answer->succeeded,
        .effect = answer->effect,
        .agent = text_of(agent->name),
        .instance = text_of(agent->service->instance_id),
    };
    if (answer->succeeded) {
        cmd.report_step.output = answer->output;
    } else {
        cmd.report_step.error_name = answer->error_name;
        cmd.report_step.error_message = answer->error_message;
    }
    return cmd;
}

enum error_class agent_reports_extend(struct agent *agent, const struct extend_step *extension,
                                      broker_appended done, void *ctx, struct error *ret_error)
{
    struct cluster *cluster = agent->cluster;
    struct command cmd = {.kind = COMMAND_EXTEND_STEP, .order_id = extension->order_id};
    cmd.extend_step = *extension;
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
    assert(attempt->state == ATTEMPT_REPORTING && !attempt->answer.accepted);
    FAILPOINT("agent.report");
    return cluster_append(cluster, BROKER_PRODUCER_LOG, cluster->topics.commands, -1, cmd.order_id,
                          RECORD_REPORT_STEP, &cmd, on_appended, reports,
                          (uint64_t)(uintptr_t)attempt, &error) == ERROR_OK;
}

void agent_reports_send(struct agent_reports *reports, struct agent_attempt *attempt)
{
    assert(attempt->state == ATTEMPT_REPORTING);
    attempt->next_unsent = NULL;
    *reports->fresh_last = attempt;
    reports->fresh_last = &attempt->next_unsent;
    loop_defer(reports->agent->service->loop, &reports->remember);
}

static bool remember_all(struct agent_reports *reports)
{
    struct answer_cache *cache = reports->agent->answers;
    enum answer_cache_result result = ANSWER_CACHE_RENEWED;
    for (int tries = 0; tries < REMEMBER_TRIES && result == ANSWER_CACHE_RENEWED; tries++) {
        bool some = false;
        for (const struct agent_attempt *attempt = reports->fresh; attempt != NULL;
             attempt = attempt->next_unsent) {
            if (attempt->noted)
                continue;
            assert(attempt->state == ATTEMPT_REPORTING);
            answer_cache_note(cache, &attempt->request, &attempt->answer);
            some = true;
        }
        result = some ? answer_cache_write(cache) : ANSWER_CACHE_WRITTEN;
    }
    return result != ANSWER_CACHE_FAILED;
}

static void on_remember(void *ctx)
{
    struct agent_reports *reports = ctx;
    if (!remember_all(reports))
        return; /* the service is failing: the next process repeats these calls */
    FAILPOINT("agent.remembered");
    struct agent_attempt *attempt = reports->fresh;
    reports->fresh = NULL;
    reports->fresh_last = &reports->fresh;
    while (attempt != NULL) {
        struct agent_attempt *next = attempt->next_unsent;
        if (attempt->answer.accepted) {
            attempts_reported(reports->agent->attempts, attempt);
            agent_progress(reports->agent);
        } else if (reports->unsent != NULL || !append(reports, attempt)) {
            send_later(reports, attempt);
        }
        attempt = next;
    }
}

static void on_timer(void *ctx)
{
    struct agent_reports *reports = ctx;
    struct agent_attempt *attempt;
    while ((attempt = reports->unsent) != NULL) {
        struct agent_attempt *next = attempt->next_unsent; /* on_appended never comes from inside */
        if (!append(reports, attempt)) {
            loop_timer_after(reports->agent->service->loop, &reports->timer, reports->retry_ms);
            return;
        }
        reports->unsent = next;
    }
    reports->unsent_last = &reports->unsent;
}
