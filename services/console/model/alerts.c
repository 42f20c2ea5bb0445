/* SPDX-License-Identifier: Apache-2.0 */
#include "services/console/model/alerts.h"

#include "base/utf8.h"
#include "replica/cluster/alert_topic.h"
#include "schemas/json/json_codec.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <utlist.h>

/* All alerts with the same partition, code and author. */
struct alert {
    struct alert *prev;
    struct alert *next;
    int32_t partition;
    char code[ERROR_NAME_BYTES_MAX + 1];
    char by[WHO_BYTES_MAX + 1];
    char message[MESSAGE_BYTES_MAX + 1];
    bool open;
    int64_t first_at;
    int64_t last_at;
    uint64_t count;
};

struct alerts {
    struct cluster *cluster;
    struct alert_topic *topic;
    struct alert *list; /* the newest first */
    uint32_t count;
};

static bool is_same(const struct alert *alert, const struct operator_alert *record)
{
    return alert->partition == record->partition &&
           text_equal(text_of(alert->code), record->code) &&
           text_equal(text_of(alert->by), record->by);
}

static void forget_oldest(struct alerts *alerts)
{
    assert(alerts->list != NULL && alerts->count > 0);
    struct alert *oldest = alerts->list->prev; /* a DL list's head knows its tail */
    DL_DELETE(alerts->list, oldest);
    alerts->count--;
    free(oldest);
}

static struct alert *find(struct alerts *alerts, const struct operator_alert *record)
{
    struct alert *alert;
    DL_FOREACH(alerts->list, alert)
        if (is_same(alert, record))
            return alert;
    return NULL;
}

/* The topic's partitions are read in parallel: an alert may be older than those in the list. */
static void insert(struct alerts *alerts, struct alert *alert)
{
    struct alert *older;
    DL_FOREACH(alerts->list, older)
        if (older->last_at <= alert->last_at)
            break;
    if (older != NULL)
        DL_PREPEND_ELEM(alerts->list, older, alert);
    else
        DL_APPEND(alerts->list, alert);
}

/* A closing of what is not known closes nothing: the alert has expired, or is of a kind that older
 * versions wrote for other readers. */
static void take(void *ctx, int32_t at, const struct operator_alert *record)
{
    struct alerts *alerts = ctx;
    struct alert *alert = find(alerts, record);
    int64_t last_at = record->decided_at;
    (void)at;
    if (alert != NULL) {
        last_at = last_at > alert->last_at ? last_at : alert->last_at;
        DL_DELETE(alerts->list, alert);
    } else if (!record->raised) {
        return;
    } else {
        alert = calloc(1, sizeof(*alert));
        assert(alert != NULL);
        alert->partition = record->partition;
        alert->first_at = last_at;
        utf8_copy(alert->code, sizeof(alert->code), record->code);
        utf8_copy(alert->by, sizeof(alert->by), record->by);
        alerts->count++;
    }
    alert->open = record->raised;
    alert->last_at = last_at;
    alert->count++;
    utf8_copy(alert->message, sizeof(alert->message), record->message);
    insert(alerts, alert);
    if (alerts->count > ALERTS_MAX)
        forget_oldest(alerts);
}

/* An auditor that was killed closes nothing; it does not repeat the alert either. */
static bool is_open(const struct alerts *alerts, const struct alert *alert)
{
    int64_t now = clock_wall_ms(alerts->cluster->service->clock);
    if (!text_equal(text_of(alert->code), error_code_text(CODE_ORDER_STUCK)))
        return alert->open;
    return alert->open && now - alert->last_at <= CLUSTER_STUCK_OVER_MS;
}

static const struct alert_topic_ops topic_ops = {.alert = take};

struct alerts *alerts_new(struct cluster *cluster)
{
    struct alerts *alerts = calloc(1, sizeof(*alerts));
    assert(alerts != NULL);
    alerts->cluster = cluster;
    alerts->topic = alert_topic_follow(cluster, &topic_ops, alerts);
    return alerts;
}

void alerts_free(struct alerts *alerts)
{
    if (alerts == NULL)
        return;
    alert_topic_free(alerts->topic);
    while (alerts->list != NULL)
        forget_oldest(alerts);
    free(alerts);
}

/* ---- answers ---- */

static json_t *render(const struct alert *alert, bool open)
{
    json_t *object = json_object();
    json_codec_put(object, "partition", json_integer(alert->partition));
    json_codec_put(object, "code", json_codec_text(text_of(alert->code)));
    json_codec_put(object, "message", json_codec_text(text_of(alert->message)));
    json_codec_put(object, "by", json_codec_text_or_null(text_of(alert->by)));
    json_codec_put(object, "open", json_boolean(open));
    json_codec_put(object, "first_at", json_codec_time_or_null(alert->first_at));
    json_codec_put(object, "last_at", json_codec_time_or_null(alert->last_at));
    json_codec_put(object, "count", json_integer((json_int_t)alert->count));
    return object;
}

json_t *alerts_render(const struct alerts *alerts, bool only_open)
{
    const struct alert *alert;
    json_t *list = json_array();
    DL_FOREACH(alerts->list, alert) {
        bool open = is_open(alerts, alert);
        if (open || !only_open)
            json_array_append_new(list, render(alert, open));
    }
    return list;
}

void alerts_count_open(const struct alerts *alerts, uint32_t *ret_of_partitions,
                       uint32_t *ret_others)
{
    const struct alert *alert;
    *ret_of_partitions = *ret_others = 0;
    DL_FOREACH(alerts->list, alert) {
        if (!is_open(alerts, alert))
            continue;
        if (alert->partition >= 0)
            ++*ret_of_partitions;
        else
            ++*ret_others;
    }
}

json_t *alerts_render_latest(const struct alerts *alerts, int32_t partition, int64_t since)
{
    const struct alert *alert;
    const struct alert *of_standby = NULL;
    DL_FOREACH(alerts->list, alert) {
        if (alert->partition != partition || alert->last_at < since || !is_open(alerts, alert))
            continue;
        if (!text_equal(text_of(alert->code), error_code_text(CODE_STANDBY_STALLED)))
            return render(alert, true);
        of_standby = of_standby == NULL ? alert : of_standby;
    }
    return of_standby != NULL ? render(of_standby, true) : json_null();
}
