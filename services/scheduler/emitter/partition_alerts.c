/* SPDX-License-Identifier: Apache-2.0 */
/* See partition_alerts.h. */
#include "services/scheduler/emitter/partition_alerts.h"

#include "platform/logger.h"
#include "replica/cluster/alert_topic.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

enum {
    TICK_MS = 2000,
    ANSWER_MS = 5000, /* an older answer says nothing: the process may have been suspended */
    CLOSE_AGAIN_MS = 60000
};

/* To be raised, as soon as the partition is known to be ours. */
struct held_alert {
    struct held_alert *prev;
    struct held_alert *next;
    int32_t partition;
    enum error_code code;
    char message[MESSAGE_BYTES_MAX + 1];
};

/* Open in <p>.alerts. */
struct open_alert {
    struct open_alert *prev;
    struct open_alert *next;
    int32_t at; /* the topic's partition */
    int32_t partition;
    char code[ERROR_NAME_BYTES_MAX + 1];
    char by[WHO_BYTES_MAX + 1];
    bool of_owner;
    int64_t raised_at;
    int64_t seen_ms;
    int64_t closed_ms; /* its closing was sent; INT64_MIN: it was not */
};

struct partition_alerts {
    struct cluster *cluster;
    const struct partition_alerts_ops *ops;
    void *ctx;
    int64_t started_at;        /* what this instance raised before, it raised in an earlier life */
    struct alert_topic *topic; /* NULL: not begun */
    struct held_alert *held;
    struct open_alert *open; /* the oldest first */
    uint32_t open_count;
    bool asking;
    int64_t asked_ms;
    struct loop_timer timer; /* armed while there are alerts, held or open */
};

static void look_after(struct partition_alerts *alerts, int64_t ms)
{
    int64_t due_ms = cluster_now_ms(alerts->cluster) + ms;
    if (!loop_timer_armed(&alerts->timer) || due_ms < alerts->timer.due_ms)
        loop_timer_set(cluster_loop(alerts->cluster), &alerts->timer, due_ms);
}

/* ---- what is open in the topic ---- */

/* False: the alert reports an incident, or others close it. *ret_of_owner: its partition's owner
 * closes it; else the instance that raised it. */
static bool is_closed_here(struct text code, bool *ret_of_owner)
{
    static const struct {
        enum error_code code;
        bool of_owner;
    } codes[] = {
        {CODE_STALLED, true},          {CODE_EFFECTS_UNDELIVERABLE, true},
        {CODE_TRIM_REFUSED, true},     {CODE_TRIM_GROUP_MISSING, true},
        {CODE_STANDBY_STALLED, false}, {CODE_CLOCK_SKEW, false},
    };
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        *ret_of_owner = codes[i].of_owner;
        if (text_equal(code, error_code_text(codes[i].code)))
            return true;
    }
    return false;
}

static void forget(struct partition_alerts *alerts, struct open_alert *open)
{
    assert(alerts->open_count > 0);
    DL_DELETE(alerts->open, open);
    alerts->open_count--;
    free(open);
}

static struct open_alert *find_open(const struct partition_alerts *alerts,
                                    const struct operator_alert *record)
{
    struct open_alert *open;
    DL_FOREACH(alerts->open, open)
        if (open->partition == record->partition && text_equal(text_of(open->code), record->code) &&
            text_equal(text_of(open->by), record->by))
            return open;
    return NULL;
}

static struct open_alert *add_open(struct partition_alerts *alerts,
                                   const struct operator_alert *record)
{
    struct open_alert *open = calloc(1, sizeof(*open));
    assert(open != NULL);
    if (alerts->open_count == PARTITION_ALERTS_MAX) {
        log_warning_limited("too many open alerts: forgot the oldest one",
                            LOG_I64("partition", alerts->open->partition),
                            LOG_STR("code", alerts->open->code), LOG_STR("by", alerts->open->by));
        forget(alerts, alerts->open);
    }
    open->partition = record->partition;
    snprintf(open->code, sizeof(open->code), "%.*s", TEXT_ARG(record->code));
    snprintf(open->by, sizeof(open->by), "%.*s", TEXT_ARG(record->by));
    DL_APPEND(alerts->open, open);
    alerts->open_count++;
    return open;
}

/* Any client that may write to the topic wrote it. */
static void on_alert(void *ctx, int32_t at, const struct operator_alert *record)
{
    struct partition_alerts *alerts = ctx;
    bool of_owner;
    if (!is_closed_here(record->code, &of_owner) || record->by.size > WHO_BYTES_MAX ||
        record->partition < (of_owner ? 0 : -1) ||
        record->partition >= alerts->cluster->partition_count)
        return;
    struct open_alert *open = find_open(alerts, record);
    if (!record->raised) {
        if (open != NULL)
            forget(alerts, open);
        return;
    }
    if (open == NULL)
        open = add_open(alerts, record);
    open->at = at;
    open->of_owner = of_owner;
    open->raised_at = record->decided_at;
    open->seen_ms = cluster_now_ms(alerts->cluster);
    open->closed_ms = INT64_MIN;
    look_after(alerts, TICK_MS);
}

static void on_again(void *ctx, int32_t at)
{
    struct partition_alerts *alerts = ctx;
    struct open_alert *open;
    struct open_alert *next;
    DL_FOREACH_SAFE(alerts->open, open, next)
        if (open->at == at)
            forget(alerts, open);
}

static const struct alert_topic_ops topic_ops = {.alert = on_alert, .again = on_again};

static bool runs_any(const struct partition_alerts *alerts)
{
    for (int32_t p = 0; p < alerts->cluster->partition_count; p++)
        if (alerts->ops->runs(alerts->ctx, p))
            return true;
    return false;
}

/* The instance that raised it will not close it. We do, if the partition is ours. */
static bool is_left(const struct partition_alerts *alerts, const struct open_alert *open)
{
    bool own = strcmp(open->by, alerts->cluster->service->instance_id) == 0;
    if (!alert_topic_is_read(alerts->topic, open->at) ||
        (open->closed_ms != INT64_MIN &&
         cluster_now_ms(alerts->cluster) - open->closed_ms < CLOSE_AGAIN_MS) ||
        (own && open->raised_at >= alerts->started_at))
        return false;
    return open->of_owner ? alerts->ops->runs(alerts->ctx, open->partition)
                          : own && runs_any(alerts);
}

static void close_left(struct partition_alerts *alerts, struct open_alert *open)
{
    open->closed_ms = cluster_now_ms(alerts->cluster);
    cluster_close_alert_of(alerts->cluster, open->at, open->by, open->partition, open->code,
                           open->of_owner ? "the partition has another owner now"
                                          : "the instance has started again");
}

/* ---- whose partition it is ---- */

struct answer {
    const struct broker_member *members;
    uint32_t count;
    bool all; /* no coordinator could be asked: there are no other owners */
};

static bool is_ours(const struct partition_alerts *alerts, const struct answer *answer,
                    int32_t partition)
{
    for (uint32_t i = 0; i < answer->count; i++) {
        const struct broker_member *member = &answer->members[i];
        if (strcmp(member->client_id, alerts->cluster->service->instance_id) != 0)
            continue;
        for (uint32_t k = 0; k < member->count; k++)
            if (member->partitions[k] == partition)
                return true;
    }
    return answer->all;
}

static void act(struct partition_alerts *alerts, const struct answer *answer)
{
    struct held_alert *held;
    struct held_alert *next;
    struct open_alert *open;
    DL_FOREACH_SAFE(alerts->held, held, next) {
        if (!is_ours(alerts, answer, held->partition))
            continue;
        cluster_partition_alert(alerts->cluster, held->partition, true, held->code, held->message);
        DL_DELETE(alerts->held, held);
        free(held);
    }
    DL_FOREACH(alerts->open, open)
        if (is_left(alerts, open) && open->seen_ms <= alerts->asked_ms &&
            (!open->of_owner || is_ours(alerts, answer, open->partition)))
            close_left(alerts, open);
}

static void on_members(void *ctx, const struct broker_member *members, uint32_t count,
                       const struct error *error)
{
    struct partition_alerts *alerts = ctx;
    struct answer answer = {.members = members, .count = count};
    assert(alerts->asking);
    alerts->asking = false;
    if ((error == NULL || !error_is(error)) &&
        cluster_now_ms(alerts->cluster) - alerts->asked_ms <= ANSWER_MS)
        act(alerts, &answer);
}

static bool has_to_ask(const struct partition_alerts *alerts)
{
    const struct open_alert *open;
    DL_FOREACH(alerts->open, open)
        if (is_left(alerts, open))
            return true;
    return alerts->held != NULL;
}

static void on_timer(void *ctx)
{
    struct partition_alerts *alerts = ctx;
    static const struct answer everything = {.all = true};
    if (!alerts->asking && has_to_ask(alerts)) {
        alerts->asked_ms = cluster_now_ms(alerts->cluster);
        alerts->asking = true;
        if (!alerts->ops->members(alerts->ctx, on_members, alerts)) {
            alerts->asking = false;
            act(alerts, &everything);
        }
    }
    if (alerts->held != NULL || alerts->open != NULL)
        look_after(alerts, TICK_MS);
}

/* ---- raising and closing ---- */

static struct held_alert *find_held(const struct partition_alerts *alerts, int32_t partition,
                                    enum error_code code)
{
    struct held_alert *held;
    DL_FOREACH(alerts->held, held)
        if (held->partition == partition && held->code == code)
            return held;
    return NULL;
}

static void hold(struct partition_alerts *alerts, int32_t partition, enum error_code code,
                 const char *message)
{
    struct held_alert *held = find_held(alerts, partition, code);
    if (held == NULL) {
        held = calloc(1, sizeof(*held));
        assert(held != NULL);
        held->partition = partition;
        held->code = code;
        DL_APPEND(alerts->held, held);
    }
    snprintf(held->message, sizeof(held->message), "%s", message);
    look_after(alerts, 0);
}

void partition_alert(struct partition_alerts *alerts, struct cluster *cluster, int32_t partition,
                     bool raised, enum error_code code, const char *message)
{
    assert(partition >= 0 && partition < cluster->partition_count);
    struct held_alert *held = alerts != NULL ? find_held(alerts, partition, code) : NULL;
    if (alerts != NULL && raised) {
        hold(alerts, partition, code, message);
        return;
    }
    if (held == NULL) {
        cluster_partition_alert(cluster, partition, raised, code, message);
        return;
    }
    DL_DELETE(alerts->held, held);
    free(held);
}

/* ---- life ---- */

struct partition_alerts *partition_alerts_new(struct cluster *cluster,
                                              const struct partition_alerts_ops *ops, void *ctx)
{
    struct partition_alerts *alerts = calloc(1, sizeof(*alerts));
    assert(alerts != NULL && ops->members != NULL && ops->runs != NULL);
    alerts->cluster = cluster;
    alerts->ops = ops;
    alerts->ctx = ctx;
    alerts->started_at = clock_wall_ms(cluster->service->clock);
    loop_timer_init(&alerts->timer, on_timer, alerts);
    return alerts;
}

void partition_alerts_follow(struct partition_alerts *alerts)
{
    assert(alerts->topic == NULL);
    alerts->topic = alert_topic_follow(alerts->cluster, &topic_ops, alerts);
}

void partition_alerts_left(struct partition_alerts *alerts)
{
    alerts->asking = false;
}

void partition_alerts_free(struct partition_alerts *alerts)
{
    if (alerts == NULL)
        return;
    assert(alerts->held == NULL); /* owners close what they have raised */
    alert_topic_free(alerts->topic);
    while (alerts->open != NULL)
        forget(alerts, alerts->open);
    loop_timer_cancel(cluster_loop(alerts->cluster), &alerts->timer);
    free(alerts);
}
