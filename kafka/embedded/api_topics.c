/* SPDX-License-Identifier: Apache-2.0 */
/* Topics: metadata, creating, deleting. */
#include "kafka/embedded/api.h"
#include "kafka/embedded/groups.h"

#include <stdlib.h>

enum { NOT_ASKED = INT32_MIN /* operations that are allowed */, DEFAULT_PARTITIONS = 1 };

/* ---- Metadata ---- */

static void put_nodes(struct buffer *out)
{
    wire_put_i32(out, 1);
    wire_put_i32(out, NODE_ID);
}

static void put_partition(struct call *call, int32_t partition)
{
    wire_put_i16(call->out, RD_KAFKA_RESP_ERR_NO_ERROR);
    wire_put_i32(call->out, partition);
    wire_put_i32(call->out, NODE_ID); /* the leader */
    if (call->version >= 7)
        wire_put_i32(call->out, -1); /* its epoch: there are none */
    put_nodes(call->out);            /* replicas */
    put_nodes(call->out);            /* those in sync */
    if (call->version >= 5)
        wire_put_i32(call->out, 0); /* those that are offline */
}

/* `topic` NULL: there is none. */
static void put_topic(struct call *call, struct text name, const struct topic *topic)
{
    int32_t partitions = topic != NULL ? topic->partition_count : 0;
    wire_put_i16(call->out, topic != NULL ? RD_KAFKA_RESP_ERR_NO_ERROR
                                          : RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
    wire_put_string(call->out, name.data != NULL ? name : TEXT(""));
    if (call->version >= 1)
        wire_put_i8(call->out, 0); /* not internal */
    wire_put_i32(call->out, partitions);
    for (int32_t i = 0; i < partitions; i++)
        put_partition(call, i);
    if (call->version >= 8)
        wire_put_i32(call->out, NOT_ASKED);
}

static void put_all_topics(struct call *call)
{
    size_t at = call->out->size;
    int32_t count = 0;
    wire_put_i32(call->out, 0);
    for (const struct topic *topic = NULL;
         (topic = catalogue_next(call->broker->catalogue, topic)) != NULL; count++)
        put_topic(call, text_of(topic->name), topic);
    wire_set_i32(call->out, at, count);
}

enum api_result api_metadata(struct call *call)
{
    int32_t topics = wire_count(&call->in, 2);
    bool all = topics < 0 || (topics == 0 && call->version == 0);
    if (call->version >= 3)
        wire_put_i32(call->out, 0); /* throttled for */
    wire_put_i32(call->out, 1);     /* broker */
    wire_put_i32(call->out, NODE_ID);
    wire_put_string(call->out, NODE_HOST);
    wire_put_i32(call->out, peers_port(call->broker->peers));
    if (call->version >= 1)
        wire_put_string(call->out, (struct text){0}); /* its rack */
    if (call->version >= 2)
        wire_put_string(call->out, text_of(catalogue_cluster_id(call->broker->catalogue)));
    if (call->version >= 1)
        wire_put_i32(call->out, NODE_ID); /* the controller */
    if (all)
        put_all_topics(call);
    else
        wire_put_i32(call->out, topics);
    for (int32_t i = 0; !all && i < topics && !call->in.bad; i++) {
        struct text name = wire_string(&call->in);
        put_topic(call, name, catalogue_topic(call->broker->catalogue, name));
    }
    if (call->version >= 8)
        wire_put_i32(call->out, NOT_ASKED);
    return API_ANSWERED;
}

/* ---- creating ---- */

/* Skips an array of arrays of brokers: there is one broker. */
static void skip_assignments(struct wire *in, bool numbered)
{
    int32_t count = wire_count(in, 4);
    for (int32_t i = 0; i < count; i++) {
        if (numbered)
            wire_i32(in);
        int32_t brokers = wire_count(in, 4);
        for (int32_t b = 0; b < brokers; b++)
            wire_i32(in);
    }
}

struct new_topic {
    struct text name;
    int32_t partitions;
    int16_t replicas;
    struct wire settings;
};

static void take_settings(struct wire *in)
{
    int32_t count = wire_count(in, 4);
    for (int32_t i = 0; i < count; i++) {
        wire_string(in);
        wire_string(in);
    }
}

static struct new_topic take_new_topic(struct wire *in)
{
    struct new_topic new = {.name = wire_string(in)};
    new.partitions = wire_i32(in);
    new.replicas = wire_i16(in);
    skip_assignments(in, true);
    new.settings = *in;
    take_settings(in);
    if (new.partitions == -1)
        new.partitions = DEFAULT_PARTITIONS;
    return new;
}

static rd_kafka_resp_err_t create(struct embedded_node *broker, struct new_topic *new,
                                  bool only_check)
{
    rd_kafka_resp_err_t code = catalogue_check_new(broker->catalogue, new->name, new->partitions);
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR && new->replicas > 1)
        code = RD_KAFKA_RESP_ERR_INVALID_REPLICATION_FACTOR;
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR || only_check)
        return code;
    code = catalogue_create(broker->catalogue, new->name, new->partitions);
    int32_t count = wire_count(&new->settings, 4);
    for (int32_t i = 0; i < count && code == RD_KAFKA_RESP_ERR_NO_ERROR; i++) {
        struct text name = wire_string(&new->settings);
        struct text value = wire_string(&new->settings);
        struct topic *topic = catalogue_topic(broker->catalogue, new->name);
        code = catalogue_set(broker->catalogue, topic, name, value);
        if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
            catalogue_delete(broker->catalogue, topic);
    }
    return code;
}

enum api_result api_create_topics(struct call *call)
{
    struct wire whole = call->in;
    int32_t count = wire_count(&call->in, 16);
    for (int32_t i = 0; i < count; i++)
        take_new_topic(&call->in);
    wire_i32(&call->in); /* how long it may take */
    bool only_check = call->version >= 1 && wire_i8(&call->in) != 0;
    if (call->in.bad)
        return API_ANSWERED;
    if (call->version >= 2)
        wire_put_i32(call->out, 0); /* throttled for */
    wire_put_i32(call->out, wire_count(&whole, 16));
    for (int32_t i = 0; i < count; i++) {
        struct new_topic new = take_new_topic(&whole);
        wire_put_string(call->out, new.name);
        wire_put_i16(call->out, (int16_t)create(call->broker, &new, only_check));
        if (call->version >= 1)
            wire_put_string(call->out, (struct text){0}); /* the code says it */
    }
    return API_ANSWERED;
}

static rd_kafka_resp_err_t grow(struct embedded_node *broker, struct text name, int32_t partitions,
                                bool only_check)
{
    struct topic *topic = catalogue_topic(broker->catalogue, name);
    if (topic == NULL)
        return RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
    if (only_check)
        return partitions > topic->partition_count ? RD_KAFKA_RESP_ERR_NO_ERROR
                                                   : RD_KAFKA_RESP_ERR_INVALID_PARTITIONS;
    return catalogue_grow(broker->catalogue, topic, partitions);
}

enum api_result api_create_partitions(struct call *call)
{
    struct wire whole = call->in;
    int32_t count = wire_count(&call->in, 10);
    for (int32_t i = 0; i < count; i++) {
        wire_string(&call->in);
        wire_i32(&call->in);
        skip_assignments(&call->in, false);
    }
    wire_i32(&call->in); /* how long it may take */
    bool only_check = wire_i8(&call->in) != 0;
    if (call->in.bad)
        return API_ANSWERED;
    wire_put_i32(call->out, 0); /* throttled for */
    wire_put_i32(call->out, wire_count(&whole, 10));
    for (int32_t i = 0; i < count; i++) {
        struct text name = wire_string(&whole);
        int32_t partitions = wire_i32(&whole);
        skip_assignments(&whole, false);
        wire_put_string(call->out, name);
        wire_put_i16(call->out, (int16_t)grow(call->broker, name, partitions, only_check));
        wire_put_string(call->out, (struct text){0});
    }
    return API_ANSWERED;
}

enum api_result api_delete_topics(struct call *call)
{
    int32_t count = wire_count(&call->in, 2);
    if (call->version >= 1)
        wire_put_i32(call->out, 0); /* throttled for */
    wire_put_i32(call->out, count);
    for (int32_t i = 0; i < count && !call->in.bad; i++) {
        struct text name = wire_string(&call->in);
        struct topic *topic = catalogue_topic(call->broker->catalogue, name);
        wire_put_string(call->out, name);
        wire_put_i16(call->out,
                     (int16_t)(topic != NULL ? catalogue_delete(call->broker->catalogue, topic)
                                             : RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART));
    }
    return API_ANSWERED;
}
