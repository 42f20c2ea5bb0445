/* SPDX-License-Identifier: Apache-2.0 */
/* The submission service: group membership, commits, draining. See submission.h. */
#include "services/submission/submission.h"

#include "platform/failpoint.h"
#include "platform/logger.h"
#include "replica/service/settings.h"
#include "services/services.h"
#include "services/submission/order_api.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- waiting for side topics ---- */

/* Something that inputs wait for may have arrived. */
static void wake_all(struct submission *submission)
{
    for (int32_t p = 0; p < submission->partition_count; p++) {
        if (submission->partitions[p] != NULL)
            submission_partition_wake(submission->partitions[p]);
    }
    if (submission->api != NULL)
        http_api_wake(submission->api);
}

static void on_registry_changed(void *ctx)
{
    wake_all(ctx);
}

static void begin_refresh(void *ctx)
{
    struct refresh *refresh = ctx;
    struct loop *loop = refresh->submission->service->loop;
    int64_t now_ms = clock_mono_ms(loop_clock(loop));
    int64_t left_ms = refresh->begun > 0 ? refresh->begun_ms + refresh->pause_ms - now_ms : 0;
    assert(!refresh->running);
    if (left_ms > 0) {
        loop_timer_after(loop, &refresh->timer, left_ms);
        return;
    }
    refresh->running = true;
    refresh->begun++;
    refresh->begun_ms = now_ms;
    refresh->read(refresh);
}

static void on_refreshed(void *ctx)
{
    struct refresh *refresh = ctx;
    assert(refresh->running && refresh->finished < refresh->begun);
    refresh->running = false;
    refresh->finished = refresh->begun;
    if (refresh->wanted > refresh->finished)
        begin_refresh(refresh);
    wake_all(refresh->submission);
}

uint64_t refresh_ticket(struct refresh *refresh)
{
    refresh->wanted = refresh->begun + 1;
    if (!refresh->running && !loop_timer_armed(&refresh->timer))
        begin_refresh(refresh);
    return refresh->wanted;
}

static void read_schemas(struct refresh *refresh)
{
    cluster_refresh_schemas(refresh->submission->cluster, on_refreshed, refresh);
}

static void read_workflows(struct refresh *refresh)
{
    cluster_refresh_workflows(refresh->submission->cluster, on_refreshed, refresh);
}

static void on_topics(void *ctx, bool fresh)
{
    struct refresh *refresh = ctx;
    if (fresh) {
        on_refreshed(refresh);
        return;
    }
    refresh->running = false;
    begin_refresh(refresh);
}

static void read_topics(struct refresh *refresh)
{
    broker_read_topics(refresh->submission->cluster->broker, on_topics, refresh);
}

static bool topic_exists(void *ctx, struct text topic)
{
    struct submission *submission = ctx;
    char name[TOPIC_NAME_SIZE];
    snprintf(name, sizeof(name), "%.*s", TEXT_ARG(topic));
    return broker_partition_count_known(submission->cluster->broker, name) > 0;
}

static void refresh_init(struct submission *submission, struct refresh *refresh)
{
    refresh->submission = submission;
    loop_timer_init(&refresh->timer, begin_refresh, refresh);
}

/* ---- commands ---- */

enum error_class submission_append(struct submission *submission, const struct command *cmd,
                                   broker_appended done, void *ctx, uint64_t token,
                                   struct error *ret_error)
{
    struct cluster *cluster = submission->cluster;
    assert(cmd->order_id.size > 0 && cmd->order_id.size <= ORDER_ID_BYTES_MAX);
    return cluster_append(cluster, BROKER_PRODUCER_LOG, cluster->topics.commands, -1, cmd->order_id,
                          (enum record_kind)cmd->kind, cmd, done, ctx, token, ret_error);
}

/* ---- partitions ---- */

static void make_places(struct submission *submission, int32_t count)
{
    if (count <= submission->partition_count)
        return;
    submission->partitions =
        reallocarray(submission->partitions, (size_t)count, sizeof(*submission->partitions));
    assert(submission->partitions != NULL);
    for (int32_t p = submission->partition_count; p < count; p++)
        submission->partitions[p] = NULL;
    submission->partition_count = count;
}

static bool contains(const int32_t *partitions, uint32_t count, int32_t partition)
{
    bool found = false;
    for (uint32_t i = 0; i < count && !found; i++)
        found = partitions[i] == partition;
    return found;
}

/* A partition that is assigned again right after it was revoked continues as before. */
static void on_assigned(void *ctx, const int32_t *partitions, uint32_t count)
{
    struct submission *submission = ctx;
    submission->assigned = true;
    log_info("partitions assigned", LOG_U64("count", count));
    for (uint32_t i = 0; i < count; i++)
        make_places(submission, partitions[i] + 1);
    for (int32_t p = 0; p < submission->partition_count; p++) {
        bool wanted = contains(partitions, count, p);
        struct submission_partition **partition = &submission->partitions[p];
        if (wanted && *partition == NULL) {
            *partition = submission_partition_new(submission, p);
        } else if (wanted) {
            submission_partition_suspend(*partition, false);
        } else if (*partition != NULL) {
            submission_partition_close(*partition);
            *partition = NULL;
        }
    }
}

static void on_revoked(void *ctx, bool lost)
{
    struct submission *submission = ctx;
    log_info("partitions revoked", LOG_BOOL("lost", lost));
    for (int32_t p = 0; p < submission->partition_count; p++) {
        if (submission->partitions[p] == NULL)
            continue;
        submission_partition_suspend(submission->partitions[p], true);
        /* Another instance may have continued: begin at what it committed. */
        if (lost) {
            submission_partition_close(submission->partitions[p]);
            submission->partitions[p] = NULL;
        }
    }
}

static void on_group_error(void *ctx, const struct error *error)
{
    struct submission *submission = ctx;
    if (error->class != ERROR_RETRY)
        service_fail(submission->service, error);
    else
        log_warning_limited("consumer group", LOG_ERR(error));
}

static const struct broker_group_ops group_ops = {on_assigned, on_revoked, on_group_error};

/* ---- commits ---- */

static void on_committed(void *ctx, int32_t partition, int64_t offset, const struct error *error)
{
    struct submission *submission = ctx;
    assert(submission->committing > 0);
    submission->committing--;
    if (error == NULL || error->class == ERROR_OK)
        return;
    log_warning_limited("cannot commit an offset of submissions", LOG_I64("partition", partition),
                        LOG_I64("offset", offset), LOG_ERR(error));
    if (partition < submission->partition_count && submission->partitions[partition] != NULL)
        submission_partition_commit_failed(submission->partitions[partition]);
}

static void commit_all(struct submission *submission)
{
    for (int32_t p = 0; p < submission->partition_count && submission->group != NULL; p++) {
        if (submission->partitions[p] == NULL)
            continue;
        int64_t offset = submission_partition_take_commit(submission->partitions[p]);
        if (offset < 0)
            continue;
        FAILPOINT("submission.commit");
        submission->committing++;
        broker_group_commit(submission->group, p, offset, NULL, on_committed, submission);
    }
}

static uint32_t in_flight(const struct submission *submission)
{
    uint32_t count = submission->api != NULL ? http_api_in_flight(submission->api) : 0;
    for (int32_t p = 0; p < submission->partition_count; p++) {
        if (submission->partitions[p] != NULL)
            count += submission_partition_in_flight(submission->partitions[p]);
    }
    return count;
}

static void on_left(void *ctx)
{
    struct submission *submission = ctx;
    submission->left = true;
    if (submission->draining)
        service_drained(submission->service);
}

static void leave(struct submission *submission)
{
    for (int32_t p = 0; p < submission->partition_count; p++) {
        if (submission->partitions[p] != NULL)
            submission_partition_close(submission->partitions[p]);
        submission->partitions[p] = NULL;
    }
    struct broker_group *group = submission->group;
    submission->group = NULL;
    broker_leave(group, on_left, submission);
}

/* Commits while it runs; when draining, leaves once nothing is outstanding. */
static void on_tick(void *ctx)
{
    struct submission *submission = ctx;
    if (submission->group == NULL)
        return;
    commit_all(submission);
    if (submission->draining && in_flight(submission) == 0 && submission->committing == 0)
        leave(submission);
    else
        loop_timer_after(submission->service->loop, &submission->tick, COMMIT_TICK_MS);
}

/* ---- the service ---- */

static void on_cluster_ready(void *ctx)
{
    struct submission *submission = ctx;
    struct cluster *cluster = submission->cluster;
    submission->validator = (struct validator){
        .codec = cluster->codec,
        .registry = cluster->registry,
        .topics = &cluster->topics,
        .workflows = cluster->workflows,
        .topic_exists = topic_exists,
        .ctx = submission,
    };
    if (cluster->registry != NULL)
        schema_registry_on_change(cluster->registry, on_registry_changed, submission);
    submission->group = broker_join(cluster->broker, submission->group_name,
                                    cluster->topics.submissions, &group_ops, submission);
    loop_timer_after(submission->service->loop, &submission->tick, COMMIT_TICK_MS);
    if (!config_bool(submission->service->config, "submission.http"))
        return;
    submission->api = http_api_new(submission);
    submission->orders = order_api_new(submission->service->http, submission->lookup);
}

static void refresh_gauges(void *ctx)
{
    struct submission *submission = ctx;
    uint32_t waiting = 0;
    for (int32_t p = 0; p < submission->partition_count; p++) {
        if (submission->partitions[p] != NULL)
            waiting += submission_partition_waiting(submission->partitions[p]);
    }
    metrics_set(submission->metrics.in_flight, in_flight(submission));
    metrics_set(submission->metrics.waiting, waiting);
}

static void make_metrics(struct submission *submission)
{
    struct metrics *metrics = submission->service->metrics;
    static const char name[] = "reeve_submissions_total";
    static const char help[] = "Submissions validated, by transport and result.";
    submission->metrics = (struct submission_metrics){
        .accepted_kafka = metrics_counter(
            metrics, name, help, METRICS_LABELS("transport", "kafka", "result", "accepted")),
        .accepted_http = metrics_counter(metrics, name, help,
                                         METRICS_LABELS("transport", "http", "result", "accepted")),
        .refused_kafka = metrics_counter(metrics, name, help,
                                         METRICS_LABELS("transport", "kafka", "result", "refused")),
        .refused_http = metrics_counter(metrics, name, help,
                                        METRICS_LABELS("transport", "http", "result", "refused")),
        .rewinds = metrics_counter(metrics, "reeve_submission_rewinds_total",
                                   "Times that a partition of submissions was read again because "
                                   "something was not acknowledged.",
                                   METRICS_NO_LABELS),
        .in_flight = metrics_gauge(metrics, "reeve_submission_in_flight",
                                   "Submissions not acknowledged yet.", METRICS_NO_LABELS),
        .waiting = metrics_gauge(metrics, "reeve_submission_waiting",
                                 "Submissions that wait for a schema, a workflow, a reply topic or "
                                 "the schema registry.",
                                 METRICS_NO_LABELS),
        .latency = metrics_histogram(metrics, "reeve_submission_seconds",
                                     "From reading a submission to the acknowledgement of what "
                                     "follows from it.",
                                     METRICS_NO_LABELS),
    };
    metrics_on_render(metrics, refresh_gauges, submission);
}

/* `broker` is stolen, also on failure. */
static enum error_class open_cluster(struct submission *submission, struct broker *broker,
                                     struct error *ret_error)
{
    const unsigned flags = CLUSTER_FOLLOWS_WORKFLOWS | CLUSTER_HAS_APPLICATIONS;
    if (broker == NULL)
        return cluster_open(submission->service, flags, on_cluster_ready, submission,
                            &submission->cluster, ret_error);
    return cluster_open_on(submission->service, broker, flags, on_cluster_ready, submission,
                           &submission->cluster, ret_error);
}

enum error_class submission_open(struct service_context *service, struct broker *broker,
                                 struct submission **ret_submission, struct error *ret_error)
{
    struct submission *submission = calloc(1, sizeof(*submission));
    assert(submission != NULL);
    submission->service = service;
    enum error_class class =
        order_lookup_new(service->loop, service->config, &submission->lookup, ret_error);
    if (class == ERROR_OK)
        class = open_cluster(submission, broker, ret_error);
    else
        broker_free(broker);
    if (class != ERROR_OK) {
        order_lookup_free(submission->lookup);
        free(submission);
        return class;
    }
    submission->schemas = (struct refresh){.read = read_schemas, .bit = FRESH_SCHEMAS};
    submission->workflows = (struct refresh){.read = read_workflows, .bit = FRESH_WORKFLOWS};
    submission->topics =
        (struct refresh){.read = read_topics, .bit = FRESH_TOPICS, .pause_ms = TOPICS_PAUSE_MS};
    refresh_init(submission, &submission->schemas);
    refresh_init(submission, &submission->workflows);
    refresh_init(submission, &submission->topics);
    heap_arena_init(&submission->scratch, 256 * 1024);
    loop_timer_init(&submission->tick, on_tick, submission);
    make_metrics(submission);
    snprintf(submission->group_name, sizeof(submission->group_name), "%s.submission",
             submission->cluster->topics.prefix);
    *ret_submission = submission;
    return ERROR_OK;
}

static enum error_class start(struct service_context *service, void **ret_state,
                              struct error *ret_error)
{
    struct submission *submission = NULL;
    enum error_class class = submission_open(service, NULL, &submission, ret_error);
    if (class == ERROR_OK)
        *ret_state = submission;
    return class;
}

bool submission_ready(void *state, char *ret_reason, size_t reason_size)
{
    const struct submission *submission = state;
    const char *reason = NULL;
    if (!submission->cluster->ready)
        reason = "is reading schemas and workflows";
    else if (!broker_connected(submission->cluster->broker))
        reason = "no broker is connected";
    else if (!submission->assigned)
        reason = "is waiting for its partitions";
    if (reason != NULL)
        snprintf(ret_reason, reason_size, "%s", reason);
    bool stuck = reason != NULL;
    for (int32_t p = 0; p < submission->partition_count && !stuck; p++)
        stuck = submission->partitions[p] != NULL &&
                submission_partition_stuck(submission->partitions[p], ret_reason, reason_size);
    return !stuck;
}

bool submission_degraded(void *state, char *ret_reason, size_t reason_size)
{
    const struct submission *submission = state;
    bool held_up = schema_registry_trouble(submission->cluster->registry, ret_reason, reason_size);
    for (int32_t p = 0; p < submission->partition_count && !held_up; p++)
        held_up = submission->partitions[p] != NULL &&
                  submission_partition_held_up(submission->partitions[p], ret_reason, reason_size);
    return held_up;
}

static void drain(void *state)
{
    struct submission *submission = state;
    submission->draining = true;
    http_api_drain(submission->api);
    order_api_drain(submission->orders);
    if (submission->group == NULL) {
        service_drained(submission->service);
        return;
    }
    for (int32_t p = 0; p < submission->partition_count; p++) {
        if (submission->partitions[p] != NULL)
            submission_partition_wake(submission->partitions[p]);
    }
    loop_timer_after(submission->service->loop, &submission->tick, 0);
}

void submission_close(struct submission *submission)
{
    submission->draining = false; /* too late to report it */
    loop_timer_cancel(submission->service->loop, &submission->tick);
    if (submission->group != NULL)
        leave(submission);
    loop_timer_cancel(submission->service->loop, &submission->topics.timer);
    cluster_refresh_cancel(submission->cluster, &submission->schemas);
    cluster_refresh_cancel(submission->cluster, &submission->workflows);
    cluster_close(submission->cluster);
    order_api_drain(submission->orders);
    order_api_free(submission->orders);
    http_api_free(submission->api);
    order_lookup_free(submission->lookup);
    submission_partitions_free_closed(submission);
    free(submission->partitions);
    heap_arena_deinit(&submission->scratch);
    free(submission);
}

static void stop(void *state)
{
    submission_close(state);
}

const struct http_routes *const submission_routes[] = {
    &http_api_routes, &order_api_routes, &service_about_routes, &http_built_in_routes, NULL};

int submission_main(int argc, char **argv)
{
    static const struct service service = {.name = "submission",
                                           .bit = SETTINGS_SUBMISSION,
                                           .routes = submission_routes,
                                           .start = start,
                                           .ready = submission_ready,
                                           .degraded = submission_degraded,
                                           .drain = drain,
                                           .stop = stop};
    return service_main(&service, argc, argv);
}
