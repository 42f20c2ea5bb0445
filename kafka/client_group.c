/* SPDX-License-Identifier: Apache-2.0 */
/* Membership: one consumer per group, which subscribes, sends heartbeats and receives assignments.
 * It confirms each assignment with an empty one, so that it never fetches: the reader handle reads
 * the partitions.
 *
 * Rebalances are events of the loop like any other; librdkafka waits until the group has answered
 * one. A loop that hangs for max.poll.interval.ms loses its partitions: the poll timer shows
 * librdkafka that the process is alive. */
#include "kafka/client_group.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

enum {
    POLL_MS_MAX = 1000,
    /* Of a session. A member notices with a heartbeat that another one's session has ended. The
     * interval is a bit shorter than the time between two polls, which send the heartbeats. */
    HEARTBEATS = 10,
    POLLS = 8,
    LEAVE_POLL_MS = 5,
    LEAVE_MS = 2000,
    REJOIN_MS = 500, /* a fenced member joins again after */
    REJOIN_POLL_MS = 20
};

/* ---- rebalances ---- */

static int by_number(const void *a, const void *b)
{
    int32_t left = *(const int32_t *)a;
    int32_t right = *(const int32_t *)b;
    return (left > right) - (left < right);
}

static void report_assigned(struct kafka_group *group, const rd_kafka_topic_partition_list_t *list)
{
    int32_t *partitions = calloc((size_t)list->cnt + 1, sizeof(*partitions));
    uint32_t count = 0;
    assert(partitions != NULL);
    for (int i = 0; i < list->cnt; i++) {
        if (strcmp(list->elems[i].topic, group->topic) == 0)
            partitions[count++] = list->elems[i].partition;
    }
    qsort(partitions, count, sizeof(*partitions), by_number);
    group->owning = true;
    group->ops->assigned(group->ctx, partitions, count);
    free(partitions);
}

static void answer_assign(rd_kafka_t *rk, const rd_kafka_topic_partition_list_t *list)
{
    rd_kafka_resp_err_t code = rd_kafka_assign(rk, list);
    (void)code; /* fails only when the membership has ended, which is also an error event */
}

static void on_rebalance(struct kafka_group *group, rd_kafka_event_t *event)
{
    rd_kafka_t *rk = group->handle.rk;
    if (rd_kafka_event_error(event) == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS) {
        rd_kafka_topic_partition_list_t *nothing = rd_kafka_topic_partition_list_new(0);
        answer_assign(rk, nothing);
        rd_kafka_topic_partition_list_destroy(nothing);
        if (!group->leaving)
            report_assigned(group, rd_kafka_event_topic_partition_list(event));
        return;
    }
    /* Before the answer: until then no other member owns the partitions, so that last commits
     * count. */
    bool lost = rd_kafka_assignment_lost(rk) != 0;
    if (lost && rd_kafka_fatal_error(rk, NULL, 0) == RD_KAFKA_RESP_ERR_NO_ERROR)
        fences_session_ended(&group->fences);
    if (group->owning && !group->leaving) {
        group->owning = false;
        group->ops->revoked(group->ctx, lost);
    }
    answer_assign(rk, NULL);
}

/* ---- members ---- */

bool kafka_group_members(struct broker_group *base, broker_members_done done, void *ctx)
{
    struct kafka_group *group = (struct kafka_group *)base;
    assert(!group->leaving);
    kafka_members_query(group->kafka, group->name, group->topic, done, ctx, &group->members);
    return true;
}

/* ---- events ---- */

/* True: this client is dead, but the member joins again with another. */
static bool joins_again(struct kafka_group *group)
{
    int64_t now_ms = loop_now_ms(group->kafka->loop);
    if (!fences_joins_again(&group->fences, now_ms, group->kafka->session_timeout_ms))
        return false;
    log_warning("fenced as a static member, joining again: its session had ended, or another "
                "process has the same instance.id",
                LOG_STR("group", group->name),
                LOG_STR("instance", group->kafka->group_instance_id));
    group->fenced = group->handle.stopped = true;
    loop_timer_after(group->kafka->loop, &group->rejoin_timer, REJOIN_MS);
    if (group->owning) {
        group->owning = false;
        group->ops->revoked(group->ctx, true);
    }
    return true;
}

static void on_error(struct kafka_group *group, rd_kafka_event_t *event)
{
    char reason[ERROR_MESSAGE_SIZE / 2] = "";
    struct error error;
    rd_kafka_resp_err_t code = rd_kafka_event_error(event);
    rd_kafka_resp_err_t fatal = rd_kafka_fatal_error(group->handle.rk, reason, sizeof(reason));
    if (fatal == RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID && !group->leaving && joins_again(group))
        return;
    if (fatal == RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID)
        error_set(&error, CODE_CONFIG,
                  "group %s: another process with instance.id %s has taken this one's place: "
                  "give each instance its own instance.id",
                  group->name, group->kafka->group_instance_id);
    else if (fatal != RD_KAFKA_RESP_ERR_NO_ERROR)
        error_set_foreign(&error, ERROR_FATAL, rd_kafka_err2name(fatal), "group %s: %s",
                          group->name, reason);
    else
        error_set_foreign(&error, ERROR_RETRY, rd_kafka_err2name(code), "group %s: %s", group->name,
                          rd_kafka_event_error_string(event));
    if (!group->leaving)
        group->ops->error(group->ctx, &error);
}

static void on_event(struct kafka_handle *handle, rd_kafka_event_t *event)
{
    struct kafka_group *group = handle->ctx;
    switch (rd_kafka_event_type(event)) {
    case RD_KAFKA_EVENT_REBALANCE:
        on_rebalance(group, event);
        break;
    case RD_KAFKA_EVENT_OFFSET_COMMIT:
        kafka_group_on_commit(group, event);
        break;
    case RD_KAFKA_EVENT_ERROR:
        on_error(group, event);
        break;
    default:
        break;
    }
}

/* If one is due. librdkafka 2.0 looks only when its main thread wakes, which is once a second when
 * nothing happens, whatever the interval; so a heartbeat came up to a second late. A commit wakes
 * it: of nothing, as the client's own assignment is empty, so that no request is sent. */
static void send_heartbeat(struct kafka_group *group)
{
    if (group->handle.rk != NULL && !group->handle.stopped)
        rd_kafka_commit_queue(group->handle.rk, NULL, group->handle.queue, NULL, NULL);
}

static int64_t poll_ms(const struct kafka_group *group)
{
    int64_t ms = group->kafka->session_timeout_ms / POLLS;
    return ms < POLL_MS_MAX ? ms : POLL_MS_MAX;
}

static void on_poll_timer(void *ctx)
{
    struct kafka_group *group = ctx;
    loop_timer_after(group->kafka->loop, &group->poll_timer, poll_ms(group));
    send_heartbeat(group);
    kafka_handle_turn(&group->handle);
}

/* ---- joining ---- */

static rd_kafka_conf_t *group_conf(const struct kafka_group *group, struct error *ret_error)
{
    const struct kafka_client *kafka = group->kafka;
    rd_kafka_conf_t *conf = kafka_conf_new(kafka, "group", ret_error);
    if (conf == NULL)
        return NULL;
    kafka_conf_consumer(conf);
    kafka_conf_set(conf, "group.id", group->name);
    if (kafka->group_instance_id != NULL)
        kafka_conf_set(conf, "group.instance.id", kafka->group_instance_id);
    kafka_conf_set(conf, "partition.assignment.strategy", "roundrobin");
    kafka_conf_set_int(conf, "session.timeout.ms", kafka->session_timeout_ms);
    kafka_conf_set_int(conf, "heartbeat.interval.ms", kafka->session_timeout_ms / HEARTBEATS);
    kafka_conf_set_int(conf, "max.poll.interval.ms", kafka->max_poll_interval_ms);
    rd_kafka_conf_set_events(conf, RD_KAFKA_EVENT_REBALANCE | RD_KAFKA_EVENT_OFFSET_COMMIT |
                                       kafka_common_events(kafka));
    return conf;
}

static enum error_class subscribe(struct kafka_group *group, struct error *ret_error)
{
    rd_kafka_conf_t *conf = group_conf(group, ret_error);
    if (conf == NULL)
        return ERROR_REJECT;
    enum error_class class = kafka_handle_open(&group->handle, group->kafka, RD_KAFKA_CONSUMER,
                                               conf, "group", on_event, group, ret_error);
    if (class != ERROR_OK)
        return class;
    rd_kafka_topic_partition_list_t *topics = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(topics, group->topic, RD_KAFKA_PARTITION_UA);
    rd_kafka_resp_err_t code = rd_kafka_subscribe(group->handle.rk, topics);
    rd_kafka_topic_partition_list_destroy(topics);
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
        return kafka_error_set(ret_error, code, "subscribe to", group->topic, 0);
    loop_timer_after(group->kafka->loop, &group->poll_timer, poll_ms(group));
    return ERROR_OK;
}

static void on_rejoin_timer(void *ctx)
{
    struct kafka_group *group = ctx;
    struct error error;
    assert(group->fenced && !group->leaving);
    if (group->querying) { /* a job uses the client */
        loop_timer_after(group->kafka->loop, &group->rejoin_timer, REJOIN_POLL_MS);
        return;
    }
    kafka_handle_close(&group->handle);
    kafka_group_fail_commits(group);
    group->fenced = false;
    if (subscribe(group, &error) == ERROR_OK)
        return;
    error.class = ERROR_FATAL;
    group->ops->error(group->ctx, &error);
}

static void on_begin(void *ctx)
{
    struct kafka_group *group = ctx;
    struct error *error = group->open_error;
    group->open_error = NULL;
    if (error != NULL)
        group->ops->error(group->ctx, error);
    free(error);
}

static void on_leave(void *ctx);

struct broker_group *kafka_join(struct broker *broker, const char *name, const char *topic,
                                const struct broker_group_ops *ops, void *ctx)
{
    struct kafka_client *kafka = kafka_of(broker);
    struct kafka_group *group = calloc(1, sizeof(*group));
    assert(group != NULL);
    group->base.broker = broker;
    group->kafka = kafka;
    group->ops = ops;
    group->ctx = ctx;
    group->name = strdup(name);
    group->topic = strdup(topic);
    assert(group->name != NULL && group->topic != NULL);
    loop_deferred_init(&group->begin, on_begin, group);
    loop_deferred_init(&group->query, kafka_group_on_query, group);
    loop_deferred_init(&group->leave, on_leave, group);
    loop_timer_init(&group->poll_timer, on_poll_timer, group);
    loop_timer_init(&group->rejoin_timer, on_rejoin_timer, group);
    DL_APPEND(kafka->groups, group);
    struct error error;
    if (subscribe(group, &error) != ERROR_OK) {
        error.class = ERROR_FATAL;
        group->open_error = malloc(sizeof(error));
        assert(group->open_error != NULL);
        *group->open_error = error;
        loop_defer(kafka->loop, &group->begin);
    }
    return &group->base;
}

/* ---- leaving ---- */

void kafka_group_free(struct kafka_group *group)
{
    kafka_handle_close(&group->handle);
    free(group->open_error);
    free(group->name);
    free(group->topic);
    free(group);
}

static bool has_left(struct kafka_group *group)
{
    return group->handle.rk == NULL || rd_kafka_consumer_closed(group->handle.rk) != 0;
}

static void end_group(struct kafka_group *group)
{
    kafka_group_drop_calls(group);
    DL_DELETE(group->kafka->groups, group);
    loop_defer_cancel(group->kafka->loop, &group->begin);
    loop_defer_cancel(group->kafka->loop, &group->query);
    loop_defer_cancel(group->kafka->loop, &group->leave);
    loop_timer_cancel(group->kafka->loop, &group->poll_timer);
    group->handle.stopped = true;
    if (group->left != NULL)
        group->left(group->left_ctx);
    group->ended = true;
    if (!group->querying)
        kafka_group_free(group);
}

static void on_leave_timer(void *ctx)
{
    struct kafka_group *group = ctx;
    struct loop *loop = group->kafka->loop;
    kafka_handle_drain(&group->handle, group->kafka->events_per_turn);
    if (has_left(group) || clock_mono_ms(loop_clock(loop)) >= group->leave_deadline_ms)
        end_group(group);
    else
        loop_timer_after(loop, &group->poll_timer, LEAVE_POLL_MS);
}

/* Closing posts its events, including the last revocation, to a queue of its own; the old one may
 * still hold a rebalance that waits for an answer. */
static void begin_close(struct kafka_group *group)
{
    static const uint64_t one = 1;
    struct kafka_handle *handle = &group->handle;
    if (handle->rk == NULL || handle->close_queue != NULL)
        return;
    handle->close_queue = rd_kafka_queue_new(handle->rk);
    rd_kafka_queue_io_event_enable(handle->close_queue, handle->wakeup.fd, &one, sizeof(one));
    rd_kafka_error_t *error = rd_kafka_consumer_close_queue(handle->rk, handle->close_queue);
    if (error != NULL)
        group->leave_deadline_ms = 0; /* nothing to wait for */
    rd_kafka_error_destroy(error);
}

static void on_leave(void *ctx)
{
    struct kafka_group *group = ctx;
    if (group->fenced) /* nothing to wait for */
        group->leave_deadline_ms = 0;
    begin_close(group);
    loop_timer_init(&group->poll_timer, on_leave_timer, group);
    loop_timer_after(group->kafka->loop, &group->poll_timer, 0);
}

void kafka_leave(struct broker_group *base, void (*left)(void *ctx), void *ctx)
{
    struct kafka_group *group = (struct kafka_group *)base;
    struct loop *loop = group->kafka->loop;
    assert(!group->leaving);
    kafka_members_forget(&group->members);
    group->leaving = true;
    group->left = left;
    group->left_ctx = ctx;
    group->leave_deadline_ms = clock_mono_ms(loop_clock(loop)) + LEAVE_MS;
    loop_timer_cancel(loop, &group->poll_timer);
    loop_timer_cancel(loop, &group->rejoin_timer);
    loop_defer(loop, &group->leave); /* this may be a callback of the handle */
}

void kafka_groups_close(struct kafka_client *kafka)
{
    struct kafka_group *group;
    struct kafka_group *next;
    const struct clock *clock = loop_clock(kafka->loop);
    DL_FOREACH_SAFE(kafka->groups, group, next) {
        assert(group->leaving);
        begin_close(group);
        while (!has_left(group) && clock_mono_ms(clock) < group->leave_deadline_ms) {
            rd_kafka_event_t *event = rd_kafka_queue_poll(group->handle.close_queue, LEAVE_POLL_MS);
            if (event != NULL && !kafka_common_event(&group->handle, event))
                on_event(&group->handle, event);
            rd_kafka_event_destroy(event);
            kafka_handle_drain(&group->handle, kafka->events_per_turn);
        }
        end_group(group);
    }
}
