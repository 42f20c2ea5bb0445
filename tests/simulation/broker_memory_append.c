/* SPDX-License-Identifier: Apache-2.0 */
/* Appends on their way to the logs of the broker in memory, and their answers on the way back.
 *
 * A lane is what one producer of one instance sends to one partition: it arrives and is answered in
 * order, as an idempotent producer guarantees. When the sender is cut off or dies, a first part of
 * the lane is on the wire: it may arrive later, never with a hole in it. */
#include "tests/simulation/broker_memory_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static void free_append(struct memory_append *append)
{
    free(append->record);
    free(append);
}

static void free_lane_if_empty(struct broker_memory_cluster *cluster, struct memory_lane *lane)
{
    if (lane->appends != NULL)
        return;
    DL_DELETE(cluster->lanes, lane);
    free(lane);
}

/* ---- what may happen ---- */

struct memory_append *memory_lane_may_arrive(const struct memory_lane *lane)
{
    struct memory_append *append = lane->appends;
    while (append != NULL && append->arrived)
        append = append->next;
    if (append == NULL)
        return NULL;
    bool sent = lane->broker != NULL && !lane->broker->disconnected && !lane->broker->paused;
    return sent || append->on_wire ? append : NULL;
}

struct memory_append *memory_lane_may_answer(const struct memory_lane *lane)
{
    struct memory_append *append = lane->appends;
    bool hears = lane->broker != NULL && memory_hears(lane->broker);
    return hears && append != NULL && append->arrived ? append : NULL;
}

/* ---- arriving and answering ---- */

static void fail(struct memory_append *append, enum error_class class, const char *code,
                 const char *message)
{
    append->offset = -1;
    error_set(&append->error, class, code, "%s", message);
}

void memory_lane_arrive(struct broker_memory_cluster *cluster, struct memory_lane *lane,
                        struct memory_append *append)
{
    struct memory_log *log = memory_log_find(cluster, lane->topic, lane->partition);
    const struct broker_memory_faults *faults = &cluster->faults;
    append->arrived = true;
    if (log == NULL) {
        fail(append, ERROR_REJECT, "UnknownTopic", "no such topic or partition");
    } else if (lane->broker != NULL && memory_chance(cluster, faults->append_lost)) {
        fail(append, ERROR_RETRY, "Lost", "injected: the record is not in the log");
    } else {
        append->offset = memory_log_add(cluster, log, append->record);
        append->record = NULL;
        if (memory_chance(cluster, faults->append_unknown))
            fail(append, ERROR_RETRY, "Unknown", "injected: the record is in the log");
        else if (memory_chance(cluster, faults->ack_without_offset))
            append->offset = -1;
    }
    if (lane->broker == NULL) { /* nobody to be told */
        DL_DELETE(lane->appends, append);
        free_append(append);
        free_lane_if_empty(cluster, lane);
    }
}

/* Takes the append out of its lane first: `done` may do anything. */
static void answer(struct memory_broker *broker, enum broker_producer producer,
                   struct memory_append *append)
{
    assert(broker->outstanding[producer] > 0);
    broker->outstanding[producer]--;
    append->done(append->ctx, append->token, append->offset, &append->error);
    free_append(append);
}

void memory_lane_answer(struct broker_memory_cluster *cluster, struct memory_lane *lane,
                        struct memory_append *append)
{
    struct memory_broker *broker = lane->broker;
    enum broker_producer producer = lane->producer;
    DL_DELETE(lane->appends, append);
    free_lane_if_empty(cluster, lane);
    answer(broker, producer, append);
}

/* ---- senders that are cut off ---- */

void memory_lanes_cut(struct memory_broker *broker)
{
    struct broker_memory_cluster *cluster = broker->cluster;
    struct memory_lane *lane;
    DL_FOREACH(cluster->lanes, lane) {
        struct memory_append *append;
        if (lane->broker != broker)
            continue;
        DL_FOREACH(lane->appends, append) {
            if (!append->arrived && !append->on_wire && !memory_chance(cluster, 500))
                break;
            append->on_wire = true;
        }
    }
}

/* The lane goes on without its sender; what is not on the wire is forgotten. */
static void orphan(struct broker_memory_cluster *cluster, struct memory_lane *lane)
{
    struct memory_append *append;
    struct memory_append *next;
    lane->broker = NULL;
    DL_FOREACH_SAFE(lane->appends, append, next) {
        if (append->on_wire && !append->arrived)
            continue;
        DL_DELETE(lane->appends, append);
        free_append(append);
    }
    free_lane_if_empty(cluster, lane);
}

void memory_lanes_orphan(struct memory_broker *broker, enum broker_producer producer)
{
    struct broker_memory_cluster *cluster = broker->cluster;
    struct memory_lane *lane;
    struct memory_lane *next;
    memory_lanes_cut(broker);
    DL_FOREACH_SAFE(cluster->lanes, lane, next) {
        if (lane->broker == broker && lane->producer == producer)
            orphan(cluster, lane);
    }
}

/* ---- a producer dies ---- */

/* A copy of what its sender waits for, without the record. */
static void add_failed(struct memory_broker *broker, enum broker_producer producer,
                       const struct memory_append *append)
{
    struct memory_append *failed = calloc(1, sizeof(*failed));
    assert(failed != NULL);
    failed->done = append->done;
    failed->ctx = append->ctx;
    failed->token = append->token;
    fail(failed, ERROR_FATAL, "ProducerFatal", "injected: the producer died");
    DL_APPEND(broker->failed[producer], failed);
}

void broker_memory_fail_producer(struct broker *base, enum broker_producer producer)
{
    struct memory_broker *broker = memory_of(base);
    struct memory_lane *lane;
    DL_FOREACH(broker->cluster->lanes, lane) {
        struct memory_append *append;
        if (lane->broker != broker || lane->producer != producer)
            continue;
        DL_FOREACH(lane->appends, append) {
            add_failed(broker, producer, append);
        }
    }
    memory_lanes_orphan(broker, producer);
}

/* All in one step, as the real one does. */
void memory_fail_deliver(struct memory_broker *broker, enum broker_producer producer)
{
    struct memory_append *all = broker->failed[producer];
    broker->failed[producer] = NULL;
    while (all != NULL) {
        struct memory_append *append = all;
        DL_DELETE(all, append);
        answer(broker, producer, append);
    }
}

void memory_lanes_free(struct broker_memory_cluster *cluster)
{
    while (cluster->lanes != NULL) {
        struct memory_lane *lane = cluster->lanes;
        while (lane->appends != NULL) {
            struct memory_append *append = lane->appends;
            DL_DELETE(lane->appends, append);
            free_append(append);
        }
        free_lane_if_empty(cluster, lane);
    }
}

/* ---- appending ---- */

static int32_t partition_for(const struct broker_memory_cluster *cluster,
                             const struct broker_append *append)
{
    const struct memory_topic *topic;
    if (append->partition != BROKER_BY_KEY)
        return append->partition;
    HASH_FIND_STR(cluster->topics, append->topic, topic);
    return topic != NULL ? broker_partition_of(append->key, topic->partition_count) : 0;
}

static struct memory_lane *find_lane(struct memory_broker *broker,
                                     const struct broker_append *append)
{
    struct broker_memory_cluster *cluster = broker->cluster;
    struct memory_lane *lane;
    int32_t partition = partition_for(cluster, append);
    DL_FOREACH(cluster->lanes, lane) {
        if (lane->broker == broker && lane->producer == append->producer &&
            lane->partition == partition && strcmp(lane->topic, append->topic) == 0)
            return lane;
    }
    lane = memory_new_named(sizeof(*lane), append->topic);
    memcpy(lane->topic, append->topic, strlen(append->topic) + 1);
    lane->broker = broker;
    lane->producer = append->producer;
    lane->partition = partition;
    DL_APPEND(cluster->lanes, lane);
    return lane;
}

enum error_class memory_append(struct broker *base, const struct broker_append *append,
                               struct error *ret_error)
{
    struct memory_broker *broker = memory_of(base);
    if (broker->dead || broker->outstanding[append->producer] >= MEMORY_OUTSTANDING_MAX)
        return error_set(ret_error, ERROR_RETRY, "QueueFull", "the queue of the producer is full");
    struct memory_append *taken = calloc(1, sizeof(*taken));
    assert(taken != NULL);
    taken->record =
        memory_record_new(append->key, append->value, append->headers, append->header_count);
    taken->done = append->done;
    taken->ctx = append->ctx;
    taken->token = append->token;
    struct memory_lane *lane = find_lane(broker, append);
    DL_APPEND(lane->appends, taken);
    broker->outstanding[append->producer]++;
    return ERROR_OK;
}

uint32_t memory_outstanding(const struct broker *broker, enum broker_producer producer)
{
    return memory_of(broker)->outstanding[producer];
}
