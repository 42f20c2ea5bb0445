/* SPDX-License-Identifier: Apache-2.0 */
/* Appends on their way to the logs of the broker in memory, and their answers on the way back.
 *
 * A channel is what one client of one producer of an instance sends to one partition: it arrives
 * and is answered in order, as an idempotent producer guarantees. When the sender is cut off or
 * dies, a first part of the channel is on the wire: it may arrive later, never with a hole in it.
 *
 * A producer's two clients overtake each other. A partition's flow decides which of them takes an
 * append by the same rule as for librdkafka (kafka/append_flow.h), so that a test whose records
 * change their order shows that the rule is broken. */
#include "tests/simulation/broker_memory_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static void free_append(struct memory_append *append)
{
    free(append->record);
    free(append);
}

static void free_channel_if_empty(struct broker_memory_cluster *cluster,
                                  struct memory_channel *channel)
{
    if (channel->appends != NULL)
        return;
    DL_DELETE(cluster->channels, channel);
    free(channel);
}

/* ---- flows ---- */

/* NULL: the producer has nothing in flight to this partition. */
static struct memory_flow *find_flow(const struct memory_broker *broker,
                                     enum broker_producer producer, const char *topic,
                                     int32_t partition)
{
    struct memory_flow *flow;
    DL_FOREACH(broker->flows, flow) {
        if (flow->producer == producer && flow->partition == partition &&
            strcmp(flow->topic, topic) == 0)
            break;
    }
    return flow;
}

static enum append_client begin_in_flow(struct memory_broker *broker,
                                        const struct broker_append *append, int32_t partition)
{
    struct memory_flow *flow = find_flow(broker, append->producer, append->topic, partition);
    if (flow == NULL) {
        flow = memory_new_named(sizeof(*flow), append->topic);
        memcpy(flow->topic, append->topic, strlen(append->topic) + 1);
        flow->producer = append->producer;
        flow->partition = partition;
        DL_APPEND(broker->flows, flow);
    }
    enum append_client wanted =
        append->batches ? memory_any_client(broker->cluster) : APPEND_AT_ONCE;
    return append_flow_begin(&flow->state, wanted);
}

static void end_in_flow(struct memory_broker *broker, const struct memory_channel *channel)
{
    struct memory_flow *flow =
        find_flow(broker, channel->producer, channel->topic, channel->partition);
    assert(flow != NULL);
    append_flow_end(&flow->state);
    if (flow->state.in_flight > 0)
        return;
    DL_DELETE(broker->flows, flow);
    free(flow);
}

/* Nothing of the producer is in flight any more. */
static void drop_flows(struct memory_broker *broker, enum broker_producer producer)
{
    struct memory_flow *flow;
    struct memory_flow *next;
    DL_FOREACH_SAFE(broker->flows, flow, next) {
        if (flow->producer != producer)
            continue;
        DL_DELETE(broker->flows, flow);
        free(flow);
    }
}

/* ---- what may happen ---- */

struct memory_append *memory_channel_may_arrive(const struct broker_memory_cluster *cluster,
                                                const struct memory_channel *channel)
{
    enum broker_memory_partition_fault fault =
        memory_fault_of(cluster, channel->topic, channel->partition);
    if (fault == PARTITION_NO_LEADER || fault == PARTITION_READ_ONLY)
        return NULL;
    struct memory_append *append = channel->appends;
    while (append != NULL && append->arrived)
        append = append->next;
    if (append == NULL)
        return NULL;
    bool sent =
        channel->broker != NULL && !channel->broker->disconnected && !channel->broker->paused;
    return sent || append->on_wire ? append : NULL;
}

struct memory_append *memory_channel_may_answer(const struct broker_memory_cluster *cluster,
                                                const struct memory_channel *channel)
{
    enum broker_memory_partition_fault fault =
        memory_fault_of(cluster, channel->topic, channel->partition);
    if (fault == PARTITION_NO_LEADER || fault == PARTITION_HOLDS_ACKS)
        return NULL;
    struct memory_append *append = channel->appends;
    bool hears = channel->broker != NULL && memory_hears(channel->broker);
    return hears && append != NULL && append->arrived ? append : NULL;
}

/* ---- arriving and answering ---- */

/* `class` and `name` of the error are as librdkafka has them. */
static void fail(struct memory_append *append, enum error_class class, const char *name,
                 const char *message)
{
    append->offset = -1;
    append->appended_at = 0;
    error_set_foreign(&append->error, class, name, "%s", message);
}

static void refuse(struct memory_append *append, enum error_code code, const char *message)
{
    append->offset = -1;
    append->appended_at = 0;
    error_set(&append->error, code, "%s", message);
}

void memory_channel_arrive(struct broker_memory_cluster *cluster, struct memory_channel *channel,
                           struct memory_append *append)
{
    struct memory_log *log = memory_log_find(cluster, channel->topic, channel->partition);
    const struct broker_memory_faults *faults = &cluster->faults;
    bool out_of_order = log != NULL && memory_log_has_lost(log, append->record->writer);
    if (out_of_order && channel->broker != NULL) {
        broker_memory_fail_producer(&channel->broker->base, channel->producer);
        return; /* the append and its channel may be gone */
    }
    append->arrived = true;
    if (log == NULL) {
        refuse(append, CODE_UNKNOWN_TOPIC, "no such topic or partition");
    } else if ((size_t)append->record->key.size + append->record->value.size >
               cluster->record_max) {
        refuse(append, CODE_RECORD_TOO_LARGE, "the record is larger than the topic allows");
    } else if (log->fault == PARTITION_REFUSES) {
        refuse(append, CODE_NOT_AUTHORIZED, "injected: the topic refuses the record");
    } else if (log->fault == PARTITION_FAILS_APPEND) {
        fail(append, ERROR_RETRY, "NotEnoughReplicas", "injected: the record is not in the log");
    } else if (out_of_order) {
        fail(append, ERROR_FATAL, "OutOfOrderSequence", "the records before it were lost");
    } else if (channel->broker != NULL && memory_chance(cluster, faults->append_lost)) {
        fail(append, ERROR_RETRY, "Lost", "injected: the record is not in the log");
    } else {
        append->offset = memory_log_add(cluster, log, append->record);
        append->appended_at = append->record->timestamp;
        append->record = NULL;
        if (memory_chance(cluster, faults->append_unknown))
            refuse(append, CODE_UNKNOWN, "injected: the record is in the log");
        else if (memory_chance(cluster, faults->ack_without_offset))
            refuse(append, CODE_OFFSET_UNKNOWN, "injected: the record is in the log");
    }
    if (channel->broker == NULL) { /* the sender is gone */
        DL_DELETE(channel->appends, append);
        free_append(append);
        free_channel_if_empty(cluster, channel);
    }
}

/* Takes the append out of its channel first: `done` may do anything. */
static void answer(struct memory_broker *broker, enum broker_producer producer,
                   struct memory_append *append)
{
    assert(broker->outstanding[producer] > 0);
    broker->outstanding[producer]--;
    broker->base.appended_at = append->appended_at;
    append->done(append->ctx, append->token, append->offset, &append->error);
    free_append(append);
}

void memory_channel_answer(struct broker_memory_cluster *cluster, struct memory_channel *channel,
                           struct memory_append *append)
{
    struct memory_broker *broker = channel->broker;
    enum broker_producer producer = channel->producer;
    DL_DELETE(channel->appends, append);
    end_in_flow(broker, channel);
    free_channel_if_empty(cluster, channel);
    answer(broker, producer, append);
}

/* ---- senders that are cut off ---- */

void memory_channels_cut(struct memory_broker *broker)
{
    struct broker_memory_cluster *cluster = broker->cluster;
    struct memory_channel *channel;
    DL_FOREACH(cluster->channels, channel) {
        struct memory_append *append;
        if (channel->broker != broker)
            continue;
        DL_FOREACH(channel->appends, append) {
            if (!append->arrived && !append->on_wire && !memory_chance(cluster, 500))
                break;
            append->on_wire = true;
        }
    }
}

/* The channel goes on without its sender; what is not on the wire is forgotten. */
static void orphan(struct broker_memory_cluster *cluster, struct memory_channel *channel)
{
    struct memory_append *append;
    struct memory_append *next;
    channel->broker = NULL;
    DL_FOREACH_SAFE(channel->appends, append, next) {
        if (append->on_wire && !append->arrived)
            continue;
        DL_DELETE(channel->appends, append);
        free_append(append);
    }
    free_channel_if_empty(cluster, channel);
}

void memory_channels_orphan(struct memory_broker *broker, enum broker_producer producer)
{
    struct broker_memory_cluster *cluster = broker->cluster;
    struct memory_channel *channel;
    struct memory_channel *next;
    memory_channels_cut(broker);
    DL_FOREACH_SAFE(cluster->channels, channel, next) {
        if (channel->broker == broker && channel->producer == producer)
            orphan(cluster, channel);
    }
    drop_flows(broker, producer);
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
    refuse(failed, CODE_PRODUCER_FATAL, "injected: the producer died");
    DL_APPEND(broker->failed[producer], failed);
}

void memory_new_writers(struct memory_broker *broker, enum broker_producer producer)
{
    for (int i = 0; i < APPEND_CLIENT_COUNT; i++)
        broker->writers[producer][i] = ++broker->cluster->writers;
}

void broker_memory_fail_producer(struct broker *base, enum broker_producer producer)
{
    struct memory_broker *broker = memory_of(base);
    struct memory_channel *channel;
    DL_FOREACH(broker->cluster->channels, channel) {
        struct memory_append *append;
        if (channel->broker != broker || channel->producer != producer)
            continue;
        DL_FOREACH(channel->appends, append) {
            add_failed(broker, producer, append);
        }
    }
    memory_channels_orphan(broker, producer);
    memory_new_writers(broker, producer);
    broker->deaths[producer]++;
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

void memory_channels_free(struct broker_memory_cluster *cluster)
{
    while (cluster->channels != NULL) {
        struct memory_channel *channel = cluster->channels;
        while (channel->appends != NULL) {
            struct memory_append *append = channel->appends;
            DL_DELETE(channel->appends, append);
            free_append(append);
        }
        free_channel_if_empty(cluster, channel);
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

static struct memory_channel *find_channel(struct memory_broker *broker,
                                           const struct broker_append *append)
{
    struct broker_memory_cluster *cluster = broker->cluster;
    struct memory_channel *channel;
    int32_t partition = partition_for(cluster, append);
    enum append_client client = begin_in_flow(broker, append, partition);
    DL_FOREACH(cluster->channels, channel) {
        if (channel->broker == broker && channel->producer == append->producer &&
            channel->client == client && channel->partition == partition &&
            strcmp(channel->topic, append->topic) == 0)
            return channel;
    }
    channel = memory_new_named(sizeof(*channel), append->topic);
    memcpy(channel->topic, append->topic, strlen(append->topic) + 1);
    channel->broker = broker;
    channel->producer = append->producer;
    channel->client = client;
    channel->partition = partition;
    DL_APPEND(cluster->channels, channel);
    return channel;
}

enum error_class memory_append(struct broker *base, const struct broker_append *append,
                               struct error *ret_error)
{
    struct memory_broker *broker = memory_of(base);
    if (broker->dead || broker->outstanding[append->producer] >= broker->cluster->outstanding_max)
        return error_set(ret_error, CODE_QUEUE_FULL, "the queue of the producer is full");
    struct memory_append *taken = calloc(1, sizeof(*taken));
    assert(taken != NULL);
    taken->record =
        memory_record_new(append->key, append->value, append->headers, append->header_count);
    taken->done = append->done;
    taken->ctx = append->ctx;
    taken->token = append->token;
    struct memory_channel *channel = find_channel(broker, append);
    taken->record->writer = broker->writers[append->producer][channel->client];
    DL_APPEND(channel->appends, taken);
    broker->outstanding[append->producer]++;
    return ERROR_OK;
}

uint32_t memory_outstanding(const struct broker *broker, enum broker_producer producer)
{
    return memory_of(broker)->outstanding[producer];
}

uint64_t memory_deaths(const struct broker *broker, enum broker_producer producer)
{
    return memory_of(broker)->deaths[producer];
}
