/* SPDX-License-Identifier: Apache-2.0 */
#include "services/console/api/alerts.h"

#include "base/utf8.h"
#include "platform/logger.h"
#include "services/console/render/render.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <utlist.h>

enum { REOPEN_MS = 5000, METADATA_MS = 3000 };

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

/* One partition of the topic. */
struct alerts_partition {
    struct alerts *alerts;
    int32_t number;
    int64_t position; /* BROKER_EARLIEST: from the start */
    struct broker_reader *reader;
    struct loop_timer timer;
};

struct alerts {
    struct cluster *cluster;
    struct loop *loop;
    struct console_partition *const *owned; /* by number */
    int32_t owned_count;
    struct alerts_partition *partitions;
    int32_t partition_count;
    struct alert *list; /* the newest first */
    uint32_t count;
    struct heap_arena heap;
};

static bool is_same(const struct alert *alert, const struct operator_alert *record)
{
    return alert->partition == record->partition &&
           text_equal(text_of(alert->code), record->code) &&
           text_equal(text_of(alert->by), record->by);
}

static void copy_text(char *ret_text, size_t size, struct text text)
{
    snprintf(ret_text, size, "%.*s", TEXT_ARG(utf8_cut(text, (uint32_t)size - 1)));
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

static void take(struct alerts *alerts, const struct operator_alert *record, int64_t at)
{
    struct alert *alert = find(alerts, record);
    if (alert != NULL) {
        at = at > alert->last_at ? at : alert->last_at;
        DL_DELETE(alerts->list, alert);
    } else {
        alert = calloc(1, sizeof(*alert));
        assert(alert != NULL);
        alert->partition = record->partition;
        alert->first_at = at;
        copy_text(alert->code, sizeof(alert->code), record->code);
        copy_text(alert->by, sizeof(alert->by), record->by);
        alerts->count++;
    }
    alert->open = record->raised;
    alert->last_at = at;
    alert->count++;
    copy_text(alert->message, sizeof(alert->message), record->message);
    insert(alerts, alert);
    if (alerts->count > ALERTS_MAX)
        forget_oldest(alerts);
}

/* ---- alerts of instances that are gone ---- */

/* Who closes it when the cause is gone. */
enum closer {
    CLOSED_BY_NONE,     /* it reports what happened */
    CLOSED_BY_OWNER,    /* of the partition */
    CLOSED_BY_INSTANCE, /* that raised it */
    CLOSED_BY_AUDITOR   /* which repeats it */
};

static enum closer closer_of(const struct alert *alert)
{
    static const struct {
        const char *code;
        enum closer closer;
    } closers[] = {
        {"Stalled", CLOSED_BY_OWNER},
        {"EffectsUndeliverable", CLOSED_BY_OWNER},
        {"TrimRefused", CLOSED_BY_OWNER},
        {"TrimGroupMissing", CLOSED_BY_OWNER},
        {"StandbyStalled", CLOSED_BY_INSTANCE},
        {"ClockSkew", CLOSED_BY_INSTANCE},
        {CLUSTER_ORDER_STUCK, CLOSED_BY_AUDITOR},
    };
    for (size_t i = 0; i < sizeof(closers) / sizeof(closers[0]); i++)
        if (strcmp(closers[i].code, alert->code) == 0)
            return closers[i].closer;
    return CLOSED_BY_NONE;
}

/* The next owner raises its own if the cause is still there. */
static bool is_followed_by(const struct alert *alert, const struct console_claim *claim,
                           enum closer closer)
{
    return claim->known && claim->claimed_at > alert->last_at &&
           (closer == CLOSED_BY_OWNER || strcmp(claim->instance, alert->by) == 0);
}

static bool is_open(const struct alerts *alerts, const struct alert *alert)
{
    enum closer closer = closer_of(alert);
    bool one = alert->partition >= 0;
    bool followed = false;
    if (alert->open && closer == CLOSED_BY_AUDITOR)
        return clock_wall_ms(alerts->cluster->service->clock) - alert->last_at <=
               CLUSTER_STUCK_OVER_MS;
    if (!alert->open || closer == CLOSED_BY_NONE || alert->partition >= alerts->owned_count)
        return alert->open;
    int32_t end = one ? alert->partition + 1 : alerts->owned_count;
    for (int32_t p = one ? alert->partition : 0; p < end && !followed; p++)
        followed = is_followed_by(alert, console_partition_claim(alerts->owned[p]), closer);
    return !followed;
}

/* ---- the topic ---- */

static void on_record(void *ctx, const struct broker_record *record)
{
    struct alerts_partition *partition = ctx;
    struct alerts *alerts = partition->alerts;
    struct record decoded;
    struct error error;
    partition->position = record->offset + 1;
    if (record->value.data == NULL)
        return;
    heap_arena_reset(&alerts->heap);
    if (codec_decode(alerts->cluster->codec, record->value, true, &alerts->heap.arena, &decoded,
                     &error) != ERROR_OK) {
        log_warning_limited("cannot decode an alert", LOG_I64("partition", record->partition),
                            LOG_I64("offset", record->offset), LOG_ERR(&error));
        return;
    }
    /* The Claims themselves are in the log (is_followed_by()). */
    if (decoded.kind == RECORD_OPERATOR_ALERT && text_empty(decoded.operator_alert.order_id) &&
        !text_equal(decoded.operator_alert.code, TEXT(CLUSTER_PARTITION_CLAIMED)))
        take(alerts, &decoded.operator_alert, decoded.operator_alert.decided_at);
}

static void on_end(void *ctx, int64_t next_offset)
{
    (void)ctx;
    (void)next_offset;
}

static void partition_open(struct alerts_partition *partition);

static void on_error(void *ctx, const struct error *error)
{
    struct alerts_partition *partition = ctx;
    log_warning_limited("cannot read alerts", LOG_I64("partition", partition->number),
                        LOG_ERR(error));
    if (error->class != ERROR_FATAL)
        return;
    broker_reader_close(partition->reader);
    partition->reader = NULL;
    partition->position =
        BROKER_EARLIEST; /* the topic was created again, or its beginning expired */
    loop_timer_after(partition->alerts->loop, &partition->timer, REOPEN_MS);
}

static const struct broker_reader_ops reader_ops = {on_record, on_end, on_error};

static void partition_open(struct alerts_partition *partition)
{
    struct cluster *cluster = partition->alerts->cluster;
    partition->reader = broker_read(cluster->broker, cluster->topics.alerts, partition->number,
                                    partition->position, &reader_ops, partition);
}

static void on_timer(struct loop *loop, struct loop_timer *timer, void *userdata)
{
    (void)loop;
    (void)timer;
    partition_open(userdata);
}

struct alerts *alerts_new(struct cluster *cluster, struct console_partition *const partitions[])
{
    struct alerts *alerts = calloc(1, sizeof(*alerts));
    assert(alerts != NULL);
    alerts->cluster = cluster;
    alerts->owned = partitions;
    alerts->owned_count = cluster->partition_count;
    alerts->loop = cluster->service->loop;
    alerts->partition_count =
        broker_partition_count(cluster->broker, cluster->topics.alerts, METADATA_MS);
    if (alerts->partition_count <= 0) /* no answer: as many as `topics apply` creates */
        alerts->partition_count = cluster->partition_count;
    alerts->partitions = calloc((size_t)alerts->partition_count, sizeof(alerts->partitions[0]));
    assert(alerts->partitions != NULL);
    heap_arena_init(&alerts->heap, 4096);
    for (int32_t i = 0; i < alerts->partition_count; i++) {
        struct alerts_partition *partition = &alerts->partitions[i];
        *partition =
            (struct alerts_partition){.alerts = alerts, .number = i, .position = BROKER_EARLIEST};
        loop_timer_init(&partition->timer, on_timer, partition);
        partition_open(partition);
    }
    return alerts;
}

void alerts_free(struct alerts *alerts)
{
    if (alerts == NULL)
        return;
    for (int32_t i = 0; i < alerts->partition_count; i++) {
        broker_reader_close(alerts->partitions[i].reader);
        loop_timer_cancel(alerts->loop, &alerts->partitions[i].timer);
    }
    while (alerts->list != NULL)
        forget_oldest(alerts);
    heap_arena_deinit(&alerts->heap);
    free(alerts->partitions);
    free(alerts);
}

/* ---- answers ---- */

static json_t *render(const struct alert *alert, bool open)
{
    json_t *object = json_object();
    render_put(object, "partition", json_integer(alert->partition));
    render_put(object, "code", json_codec_text(text_of(alert->code)));
    render_put(object, "message", json_codec_text(text_of(alert->message)));
    render_put(object, "by", render_optional(text_of(alert->by)));
    render_put(object, "open", json_boolean(open));
    render_put(object, "first_at", render_time(alert->first_at));
    render_put(object, "last_at", render_time(alert->last_at));
    render_put(object, "count", json_integer((json_int_t)alert->count));
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
        if (strcmp(alert->code, "StandbyStalled") != 0)
            return render(alert, true);
        of_standby = of_standby == NULL ? alert : of_standby;
    }
    return of_standby != NULL ? render(of_standby, true) : json_null();
}
