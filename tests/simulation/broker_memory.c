/* SPDX-License-Identifier: Apache-2.0 */
/* The broker in memory: its instances, and the step that lets one of all pending things happen. See
 * broker_memory.h. */
#include "tests/simulation/broker_memory_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- randomness ---- */

/* splitmix64 */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

uint64_t broker_memory_random(struct broker_memory_cluster *cluster, uint64_t bound)
{
    assert(bound > 0);
    return next_random(&cluster->random) % bound;
}

void broker_memory_seed(struct broker_memory_cluster *cluster, uint64_t seed)
{
    cluster->random = cluster->client_random = seed;
}

enum append_client memory_any_client(struct broker_memory_cluster *cluster)
{
    return (enum append_client)(next_random(&cluster->client_random) % APPEND_CLIENT_COUNT);
}

bool memory_chance(struct broker_memory_cluster *cluster, uint32_t permille)
{
    return permille > 0 && next_random(&cluster->random) % 1000 < permille;
}

/* ---- the step ---- */

enum thing {
    THING_NONE,
    THING_ARRIVE,
    THING_ANSWER,
    THING_FAIL,
    THING_READ,
    THING_REPLY,
    THING_GROUP,
    THING_WATCH
};

struct choice {
    enum thing thing;
    uint64_t seen; /* things so far: the n-th replaces the chosen one with probability 1/n */
    struct memory_channel *channel;
    struct memory_append *append;
    struct memory_broker *broker;
    enum broker_producer producer;
    struct memory_reader *reader;
    struct memory_group *group;
    struct memory_watch *watch;
};

static bool choose(struct broker_memory_cluster *cluster, struct choice *choice, enum thing thing)
{
    if (broker_memory_random(cluster, ++choice->seen) != 0)
        return false;
    choice->thing = thing;
    return true;
}

static void look_at_channels(struct broker_memory_cluster *cluster, struct choice *choice)
{
    struct memory_channel *channel;
    DL_FOREACH(cluster->channels, channel) {
        struct memory_append *arriving = memory_channel_may_arrive(cluster, channel);
        struct memory_append *answered = memory_channel_may_answer(cluster, channel);
        if (arriving != NULL && choose(cluster, choice, THING_ARRIVE)) {
            choice->channel = channel;
            choice->append = arriving;
        }
        if (answered != NULL && choose(cluster, choice, THING_ANSWER)) {
            choice->channel = channel;
            choice->append = answered;
        }
    }
}

/* ---- numbers of partitions ---- */

static void memory_watch(struct broker *base, const char *topic, int32_t count,
                         broker_partitions_changed changed, void *ctx)
{
    struct memory_broker *broker = memory_of(base);
    for (int i = 0; i < BROKER_WATCHES_MAX; i++) {
        if (broker->watches[i].topic != NULL)
            continue;
        broker->watches[i] = (struct memory_watch){topic, count, changed, ctx};
        return;
    }
    assert(false && "too many watches");
}

/* 0: the topic is gone, which is not for watches to report. */
static int32_t count_now(const struct broker_memory_cluster *cluster, const char *topic)
{
    const struct memory_topic *found = NULL;
    if (topic != NULL)
        HASH_FIND_STR(cluster->topics, topic, found);
    return found != NULL ? found->partition_count : 0;
}

static void report_count(const struct broker_memory_cluster *cluster, struct memory_watch *watch)
{
    watch->count = count_now(cluster, watch->topic);
    watch->changed(watch->ctx, watch->topic, watch->count);
}

static void look_at_broker(struct memory_broker *broker, struct choice *choice)
{
    struct broker_memory_cluster *cluster = broker->cluster;
    struct memory_reader *reader;
    struct memory_group *group;
    for (int i = 0; i < BROKER_PRODUCER_COUNT; i++) {
        if (broker->failed[i] != NULL && choose(cluster, choice, THING_FAIL)) {
            choice->broker = broker;
            choice->producer = (enum broker_producer)i;
        }
    }
    if (broker->replies != NULL && choose(cluster, choice, THING_REPLY))
        choice->broker = broker;
    DL_FOREACH(broker->readers, reader) {
        if (memory_reader_may_speak(reader) && choose(cluster, choice, THING_READ))
            choice->reader = reader;
    }
    for (int i = 0; i < BROKER_WATCHES_MAX && cluster->resized; i++) {
        int32_t count = count_now(cluster, broker->watches[i].topic);
        if (count > 0 && count != broker->watches[i].count && choose(cluster, choice, THING_WATCH))
            choice->watch = &broker->watches[i];
    }
    DL_FOREACH(broker->groups, group) {
        if (group->events != NULL && choose(cluster, choice, THING_GROUP))
            choice->group = group;
    }
}

bool broker_memory_step(struct broker_memory_cluster *cluster)
{
    struct choice choice = {.thing = THING_NONE};
    struct memory_broker *broker;
    look_at_channels(cluster, &choice);
    DL_FOREACH(cluster->brokers, broker) {
        if (memory_hears(broker))
            look_at_broker(broker, &choice);
    }
    switch (choice.thing) {
    case THING_NONE:
        return false;
    case THING_ARRIVE:
        memory_channel_arrive(cluster, choice.channel, choice.append);
        break;
    case THING_ANSWER:
        memory_channel_answer(cluster, choice.channel, choice.append);
        break;
    case THING_FAIL:
        memory_fail_deliver(choice.broker, choice.producer);
        break;
    case THING_READ:
        memory_reader_speak(choice.reader);
        break;
    case THING_REPLY:
        memory_reply_deliver(choice.broker);
        break;
    case THING_GROUP:
        memory_group_deliver(choice.group);
        break;
    case THING_WATCH:
        report_count(cluster, choice.watch);
        break;
    }
    return true;
}

uint64_t broker_memory_settle(struct broker_memory_cluster *cluster, uint64_t steps_max)
{
    uint64_t steps = 0;
    while (steps < steps_max && broker_memory_step(cluster))
        steps++;
    return steps;
}

/* ---- instances ---- */

void *memory_new_named(size_t size, const char *name)
{
    void *new = calloc(1, size + strlen(name) + 1);
    assert(new != NULL);
    return new;
}

void broker_memory_disconnect(struct broker *base)
{
    struct memory_broker *broker = memory_of(base);
    memory_channels_cut(broker);
    broker->disconnected = true;
}

void broker_memory_connect(struct broker *base)
{
    memory_of(base)->disconnected = false;
}

void broker_memory_pause(struct broker *base)
{
    struct memory_broker *broker = memory_of(base);
    memory_channels_cut(broker);
    broker->paused = true;
}

void broker_memory_continue(struct broker *base)
{
    memory_of(base)->paused = false;
}

/* Forgets all that waits for an answer, without a callback. */
static void forget(struct memory_broker *broker)
{
    for (int i = 0; i < BROKER_PRODUCER_COUNT; i++) {
        memory_channels_orphan(broker, (enum broker_producer)i);
        while (broker->failed[i] != NULL) {
            struct memory_append *append = broker->failed[i];
            DL_DELETE(broker->failed[i], append);
            free(append);
        }
        broker->outstanding[i] = 0;
    }
    while (broker->replies != NULL) {
        struct memory_reply *reply = broker->replies;
        DL_DELETE(broker->replies, reply);
        memory_reply_free(reply);
    }
}

void broker_memory_kill(struct broker *base)
{
    struct memory_broker *broker = memory_of(base);
    broker->dead = true;
    forget(broker);
}

/* ---- metadata ---- */

static int32_t memory_partition_count(struct broker *base, const char *topic, int timeout_ms)
{
    const struct memory_broker *broker = memory_of(base);
    (void)timeout_ms;
    return memory_hears(broker) ? count_now(broker->cluster, topic) : -1;
}

static int32_t memory_replica_count(struct broker *base, const char *topic, int timeout_ms)
{
    int32_t count = memory_partition_count(base, topic, timeout_ms);
    return count > 0 ? 1 : count;
}

static int32_t memory_partition_count_known(struct broker *base, const char *topic)
{
    const struct memory_broker *broker = memory_of(base);
    if (!memory_hears(broker) || broker->cluster->hides_partition_counts)
        return 0;
    int32_t count = count_now(broker->cluster, topic);
    return count > 0 ? count : -1;
}

static const char *memory_cluster_id(struct broker *base, int timeout_ms)
{
    (void)timeout_ms;
    return memory_of(base)->cluster->cluster_id;
}

static bool memory_connected(const struct broker *base)
{
    return !memory_of(base)->disconnected;
}

/* ---- new and free ---- */

static void memory_free(struct broker *base)
{
    struct memory_broker *broker = memory_of(base);
    assert(broker->readers == NULL && broker->groups == NULL);
    for (int i = 0; i < BROKER_PRODUCER_COUNT && !broker->dead; i++) {
        broker_memory_fail_producer(base, (enum broker_producer)i);
        memory_fail_deliver(broker, (enum broker_producer)i);
    }
    forget(broker);
    DL_DELETE(broker->cluster->brokers, broker);
    free(broker);
}

static const struct broker_ops memory_ops = {
    .append = memory_append,
    .outstanding = memory_outstanding,
    .deaths = memory_deaths,
    .read = memory_read,
    .reader_pause = memory_reader_pause,
    .reader_close = memory_reader_close,
    .offsets = memory_offsets,
    .delete_records = memory_delete_records,
    .position_of = memory_position_of,
    .join = memory_join,
    .group_commit = memory_group_commit,
    .group_committed = memory_group_committed,
    .group_members = memory_group_members,
    .leave = memory_leave,
    .partition_count = memory_partition_count,
    .replica_count = memory_replica_count,
    .partition_count_known = memory_partition_count_known,
    .read_topics = memory_read_topics,
    .watch = memory_watch,
    .cluster_id = memory_cluster_id,
    .connected = memory_connected,
    .free = memory_free,
};

struct broker *broker_memory_new(struct broker_memory_cluster *cluster, const char *name)
{
    struct memory_broker *broker = memory_new_named(sizeof(*broker), name);
    memcpy(broker->name, name, strlen(name) + 1);
    broker->base.ops = &memory_ops;
    broker->cluster = cluster;
    for (int i = 0; i < BROKER_PRODUCER_COUNT; i++)
        memory_new_writers(broker, (enum broker_producer)i);
    DL_APPEND(cluster->brokers, broker);
    return &broker->base;
}

struct broker_memory_cluster *broker_memory_cluster_new(uint64_t seed, const struct clock *clock)
{
    struct broker_memory_cluster *cluster = calloc(1, sizeof(*cluster));
    assert(cluster != NULL);
    broker_memory_seed(cluster, seed);
    cluster->clock = clock;
    cluster->outstanding_max = MEMORY_OUTSTANDING_MAX;
    cluster->record_max = RECORD_BYTES_MAX + MEMORY_RECORD_SLACK;
    broker_memory_set_cluster_id(cluster, "memory-1");
    return cluster;
}

void broker_memory_set_faults(struct broker_memory_cluster *cluster,
                              const struct broker_memory_faults *faults)
{
    cluster->faults = *faults;
}

void broker_memory_hide_partition_counts(struct broker_memory_cluster *cluster, bool hidden)
{
    cluster->hides_partition_counts = hidden;
}

void broker_memory_set_cluster_id(struct broker_memory_cluster *cluster, const char *cluster_id)
{
    free(cluster->cluster_id);
    cluster->cluster_id = strdup(cluster_id);
    assert(cluster->cluster_id != NULL);
}

void broker_memory_cluster_free(struct broker_memory_cluster *cluster)
{
    if (cluster == NULL)
        return;
    assert(cluster->brokers == NULL);
    memory_channels_free(cluster);
    memory_topics_free(cluster);
    memory_commits_free(cluster);
    free(cluster->cluster_id);
    free(cluster);
}
