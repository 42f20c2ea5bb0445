/* SPDX-License-Identifier: Apache-2.0 */
/* The topics that a producer appends to: their handles in both clients, and a flow for each
 * partition (append_flow.h).
 *
 * A flow needs the partition before librdkafka chooses it. What is appended by key while the number
 * of partitions is unknown has no flow and goes to the client that sends at once; as long as it is
 * in flight, no partition of the topic changes over to the other client. If a topic gets more
 * partitions, its flows follow when nothing is in flight; until then, the records of each key keep
 * their order, but those of different keys in one partition may not. (reeve's own topics do not
 * grow.) */
#include "kafka/client_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    FLOWS_MAX = 100000,   /* partitions of one topic */
    COUNT_AGAIN_MS = 200, /* the number of partitions is not known yet */
    COUNT_KEPT_MS = 5000,
    /* From opening a topic in the batched client, which reads its metadata, to its first record
     * there; until then records would wait for it. */
    WARM_MS = 500,
};

/* ---- handles ---- */

static void release(struct kafka_topic *topic)
{
    for (int i = 0; i < APPEND_CLIENT_COUNT; i++) {
        if (topic->handles[i] != NULL)
            rd_kafka_topic_destroy(topic->handles[i]);
        topic->handles[i] = NULL;
    }
}

static void free_topic(struct kafka_producer *producer, struct kafka_topic *topic)
{
    assert(topic->in_flight == 0);
    HASH_DEL(producer->topics, topic);
    release(topic);
    free(topic->flows);
    free(topic);
}

static void drop_idle(struct kafka_producer *producer)
{
    struct kafka_topic *topic;
    struct kafka_topic *next;
    HASH_ITER(hh, producer->topics, topic, next) {
        if (topic->in_flight == 0)
            free_topic(producer, topic);
    }
}

struct kafka_topic *kafka_topic_get(struct kafka_producer *producer, const char *name)
{
    struct kafka_topic *topic;
    size_t size = strlen(name);
    HASH_FIND(hh, producer->topics, name, size, topic);
    if (topic != NULL)
        return topic;
    if (HASH_COUNT(producer->topics) >= KAFKA_TOPIC_HANDLES_MAX)
        drop_idle(producer);
    topic = calloc(1, sizeof(*topic) + size + 1);
    assert(topic != NULL);
    memcpy(topic->name, name, size + 1);
    HASH_ADD_KEYPTR(hh, producer->topics, topic->name, size, topic);
    return topic;
}

rd_kafka_topic_t *kafka_topic_handle(struct kafka_producer *producer, struct kafka_topic *topic,
                                     enum append_client client)
{
    rd_kafka_t *rk = producer->handles[client].rk;
    assert(rk != NULL);
    if (topic->handles[client] == NULL)
        topic->handles[client] = rd_kafka_topic_new(rk, topic->name, NULL);
    return topic->handles[client];
}

void kafka_topics_release(struct kafka_producer *producer)
{
    struct kafka_topic *topic;
    struct kafka_topic *next;
    HASH_ITER(hh, producer->topics, topic, next) {
        assert(topic->in_flight == 0 && topic->unplaced == 0);
        release(topic);
    }
}

void kafka_topics_free(struct kafka_producer *producer)
{
    struct kafka_topic *topic;
    struct kafka_topic *next;
    HASH_ITER(hh, producer->topics, topic, next) {
        free_topic(producer, topic);
    }
}

/* ---- flows ---- */

static void make_flows(struct kafka_topic *topic, int32_t count)
{
    assert(topic->in_flight == topic->unplaced && count > 0);
    free(topic->flows);
    topic->flows = calloc((size_t)count, sizeof(*topic->flows));
    assert(topic->flows != NULL);
    topic->flow_count = count;
}

/* The flows may change only while none of them is in use. */
static void look_at_count(struct kafka_producer *producer, struct kafka_topic *topic,
                          int64_t now_ms)
{
    if (now_ms < topic->count_again_ms || topic->in_flight != topic->unplaced)
        return;
    int32_t count = kafka_partition_count_known(&producer->kafka->base, topic->name);
    topic->count_again_ms = now_ms + (count > 0 ? COUNT_KEPT_MS : COUNT_AGAIN_MS);
    if (count > 0 && count != topic->flow_count && count <= FLOWS_MAX)
        make_flows(topic, count);
}

/* NULL: the partition is unknown. */
static struct append_flow *flow_of(const struct kafka_topic *topic,
                                   const struct broker_append *append)
{
    int32_t partition = append->partition;
    if (topic->flow_count == 0)
        return NULL;
    if (partition == BROKER_BY_KEY)
        partition = broker_partition_of(append->key, topic->flow_count);
    return partition >= 0 && partition < topic->flow_count ? &topic->flows[partition] : NULL;
}

/* Whether the topic can be used in the batched client now. Prepares it otherwise. */
static bool may_batch(struct kafka_producer *producer, struct kafka_topic *topic, int64_t now_ms)
{
    if (producer->kafka->own_linger || topic->unplaced > 0)
        return false;
    if (producer->handles[APPEND_BATCHED].rk == NULL && !kafka_producer_open_batched(producer))
        return false;
    if (topic->handles[APPEND_BATCHED] != NULL)
        return now_ms >= topic->batched_from_ms;
    kafka_topic_handle(producer, topic, APPEND_BATCHED);
    topic->batched_from_ms = now_ms + WARM_MS;
    return false;
}

enum append_client kafka_topic_begin(struct kafka_producer *producer, struct kafka_topic *topic,
                                     const struct broker_append *append, struct kafka_append *taken)
{
    enum append_client wanted = APPEND_AT_ONCE;
    int64_t now_ms = loop_now_ms(producer->kafka->loop);
    bool high = append_rate_note(&producer->rate, now_ms);
    assert(taken->topic == NULL && taken->flow == NULL);
    if (high && append->batches)
        look_at_count(producer, topic, now_ms);
    struct append_flow *flow = flow_of(topic, append);
    if (high && append->batches && flow != NULL && may_batch(producer, topic, now_ms))
        wanted = APPEND_BATCHED;
    taken->topic = topic;
    taken->flow = flow;
    topic->in_flight++;
    if (flow != NULL)
        return append_flow_begin(flow, wanted);
    topic->unplaced++;
    return APPEND_AT_ONCE;
}

void kafka_topic_end(struct kafka_append *append)
{
    struct kafka_topic *topic = append->topic;
    if (topic == NULL)
        return;
    assert(topic->in_flight > 0);
    topic->in_flight--;
    if (append->flow != NULL) {
        append_flow_end(append->flow);
    } else {
        assert(topic->unplaced > 0);
        topic->unplaced--;
    }
    append->topic = NULL;
    append->flow = NULL;
}
