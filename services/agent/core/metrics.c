/* SPDX-License-Identifier: Apache-2.0 */
/* The metrics of an agent. Counts that the attempts keep anyway are copied when they are rendered.
 */
#include "services/agent/core/agent_internal.h"
#include "services/agent/health/breaker.h"

#include <assert.h>
#include <stdlib.h>

struct agent_metrics {
    struct agent *agent;
    struct metrics_gauge *running;
    struct metrics_gauge *in_flight;
    struct metrics_gauge *circuit_open;
    struct metrics_counter *calls[AGENT_CALL_OUTCOME_COUNT];
    struct metrics_histogram *call_seconds;
    struct metrics_counter *requests[OFFER_OUTCOME_COUNT];
    struct metrics_counter *tries;
    struct metrics_counter *retries;
    struct metrics_counter *reports[2];
    struct metrics_counter *reports_repeated;
    struct metrics_counter *silent;
    struct metrics_counter *given_up;
    struct metrics_counter *dead_letters;
};

static const char *const call_outcomes[] = {"succeeded", "failed", "retriable", "accepted"};
_Static_assert(sizeof(call_outcomes) / sizeof(call_outcomes[0]) == AGENT_CALL_OUTCOME_COUNT,
               "every outcome has a name");

static const char *const offer_outcomes[] = {"started",  "waits",      "merged", "extended",
                                             "repeated", "remembered", "stale",  "expired"};
_Static_assert(sizeof(offer_outcomes) / sizeof(offer_outcomes[0]) == OFFER_OUTCOME_COUNT,
               "every outcome has a name");

static void refresh(void *ctx)
{
    struct agent_metrics *metrics = ctx;
    const struct attempts *attempts = metrics->agent->attempts;
    const struct attempts_counts *counts = attempts_counts(attempts);
    metrics_set(metrics->running, attempts_running(attempts));
    metrics_set(metrics->in_flight, attempts_in_flight(attempts));
    metrics_set(metrics->circuit_open,
                agent_breaker_state(metrics->agent->breaker) == AGENT_CIRCUIT_OPEN);
    for (int i = 0; i < OFFER_OUTCOME_COUNT; i++)
        metrics->requests[i]->value = counts->offers[i];
    metrics->tries->value = counts->tries;
    metrics->retries->value = counts->retries;
    metrics->reports[0]->value = counts->reported[0];
    metrics->reports[1]->value = counts->reported[1];
    metrics->silent->value = counts->silent;
    metrics->given_up->value = counts->given_up;
}

static void add_requests(struct agent_metrics *metrics, struct metrics *all)
{
    const char *name = metrics->agent->name;
    metrics->running =
        metrics_gauge(all, "reeve_agent_calls", "Calls to the remote service that are running.",
                      METRICS_LABEL("agent", name));
    metrics->in_flight = metrics_gauge(all, "reeve_agent_requests",
                                       "Requests in flight: waiting, running, between tries or "
                                       "being reported.",
                                       METRICS_LABEL("agent", name));
    metrics->circuit_open = metrics_gauge(all, "reeve_agent_circuit_open",
                                          "1 while the circuit is open: the remote service is "
                                          "unhealthy and is not called.",
                                          METRICS_LABEL("agent", name));
    for (int i = 0; i < OFFER_OUTCOME_COUNT; i++)
        metrics->requests[i] = metrics_counter(
            all, "reeve_agent_requests_total", "Requests read, by outcome of the offer.",
            METRICS_LABELS("agent", name, "outcome", offer_outcomes[i]));
    metrics->dead_letters = metrics_counter(all, "reeve_agent_dead_letters_total",
                                            "Records that were not a request of this agent.",
                                            METRICS_LABEL("agent", name));
}

static void add_calls(struct agent_metrics *metrics, struct metrics *all)
{
    const char *name = metrics->agent->name;
    for (int i = 0; i < AGENT_CALL_OUTCOME_COUNT; i++)
        metrics->calls[i] = metrics_counter(
            all, "reeve_agent_calls_total", "Calls to the remote service, by outcome.",
            METRICS_LABELS("agent", name, "outcome", call_outcomes[i]));
    metrics->call_seconds =
        metrics_histogram(all, "reeve_agent_call_seconds", "Time of a call to the remote service.",
                          METRICS_LABEL("agent", name));
    metrics->tries = metrics_counter(all, "reeve_agent_tries_total", "Calls started.",
                                     METRICS_LABEL("agent", name));
    metrics->retries = metrics_counter(all, "reeve_agent_retries_total",
                                       "Calls started that were not the first of their attempt.",
                                       METRICS_LABEL("agent", name));
}

static void add_reports(struct agent_metrics *metrics, struct metrics *all)
{
    const char *name = metrics->agent->name;
    static const char help[] = "Reports to the scheduler.";
    metrics->reports[0] = metrics_counter(all, "reeve_agent_reports_total", help,
                                          METRICS_LABELS("agent", name, "outcome", "failed"));
    metrics->reports[1] = metrics_counter(all, "reeve_agent_reports_total", help,
                                          METRICS_LABELS("agent", name, "outcome", "succeeded"));
    metrics->reports_repeated = metrics_counter(all, "reeve_agent_reports_repeated_total",
                                                "Reports sent again because the broker did not "
                                                "acknowledge them.",
                                                METRICS_LABEL("agent", name));
    metrics->silent = metrics_counter(all, "reeve_agent_silent_total",
                                      "Attempts that ended without a report: past their deadline, "
                                      "or a newer one came.",
                                      METRICS_LABEL("agent", name));
    metrics->given_up =
        metrics_counter(all, "reeve_agent_given_up_total", "Attempts left to another instance.",
                        METRICS_LABEL("agent", name));
}

struct agent_metrics *agent_metrics_new(struct agent *agent)
{
    struct agent_metrics *metrics = calloc(1, sizeof(*metrics));
    struct metrics *all = agent->service->metrics;
    assert(metrics != NULL);
    metrics->agent = agent;
    add_requests(metrics, all);
    add_calls(metrics, all);
    add_reports(metrics, all);
    metrics_on_render(all, refresh, metrics);
    return metrics;
}

void agent_metrics_free(struct agent_metrics *metrics)
{
    free(metrics); /* the service renders no more */
}

void agent_metrics_call(struct agent_metrics *metrics, enum agent_call_outcome outcome, int64_t us)
{
    metrics_add(metrics->calls[outcome], 1);
    metrics_observe_us(metrics->call_seconds, us);
}

void agent_metrics_dead_letter(struct agent_metrics *metrics)
{
    metrics_add(metrics->dead_letters, 1);
}

void agent_metrics_report_repeated(struct agent_metrics *metrics)
{
    metrics_add(metrics->reports_repeated, 1);
}
