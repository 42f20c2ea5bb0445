/* SPDX-License-Identifier: Apache-2.0 */
/* The settings of topics, which are kept and shown as they were set; those that the broker itself
 * honours are message.timestamp.type, max.message.bytes, and, with cleanup.policy=delete,
 * retention.ms. And the access rules, which it does not have. */
#include "kafka/embedded/api.h"

#include <assert.h>

enum {
    RESOURCE_TOPIC = 2,
    RESOURCE_BROKER = 4,
    SOURCE_TOPIC = 1,
    SOURCE_DEFAULT = 5,
    RESOURCE_BYTES = 7, /* of the wire, at least */
};

/* What holds for a topic that sets nothing. */
static const struct {
    const char *name;
    const char *value;
} defaults[] = {
    {"cleanup.policy", "delete"},     {"compression.type", "producer"},
    {"max.message.bytes", "1048588"}, {"message.timestamp.type", "CreateTime"},
    {"min.insync.replicas", "1"},     {"retention.bytes", "-1"},
    {"retention.ms", "-1"},
};

enum { DEFAULT_COUNT = sizeof(defaults) / sizeof(defaults[0]) };

struct resource {
    int8_t type;
    struct text name;
    struct topic *topic; /* NULL: none */
};

static struct resource take_resource(struct call *call)
{
    struct resource resource = {.type = wire_i8(&call->in)};
    resource.name = wire_string(&call->in);
    if (resource.type == RESOURCE_TOPIC)
        resource.topic = catalogue_topic(call->broker->catalogue, resource.name);
    return resource;
}

static rd_kafka_resp_err_t check(const struct resource *resource)
{
    if (resource->type == RESOURCE_TOPIC)
        return resource->topic != NULL ? RD_KAFKA_RESP_ERR_NO_ERROR
                                       : RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
    return resource->type == RESOURCE_BROKER ? RD_KAFKA_RESP_ERR_NO_ERROR
                                             : RD_KAFKA_RESP_ERR_INVALID_REQUEST;
}

static void put_result(struct call *call, const struct resource *resource, rd_kafka_resp_err_t code)
{
    wire_put_i16(call->out, (int16_t)code);
    wire_put_string(call->out, (struct text){0}); /* the code says it */
    wire_put_i8(call->out, resource->type);
    wire_put_string(call->out, resource->name.data != NULL ? resource->name : TEXT(""));
}

/* ---- DescribeConfigs ---- */

/* `keys`: those that are asked for; null is all. */
static bool is_asked(struct wire keys, struct text name)
{
    int32_t count = wire_count(&keys, 2);
    bool asked = count < 0;
    for (int32_t i = 0; i < count && !asked; i++)
        asked = text_equal(wire_string(&keys), name);
    return asked;
}

static void put_setting(struct call *call, const char *name, const char *value, bool is_default)
{
    wire_put_string(call->out, text_of(name));
    wire_put_string(call->out, text_of(value));
    wire_put_i8(call->out, 0); /* not read-only */
    if (call->version == 0)
        wire_put_i8(call->out, is_default);
    else
        wire_put_i8(call->out, is_default ? SOURCE_DEFAULT : SOURCE_TOPIC);
    wire_put_i8(call->out, 0); /* not secret */
    if (call->version >= 1)
        wire_put_i32(call->out, 0); /* synonyms */
}

static void put_settings(struct call *call, const struct topic *topic, struct wire keys)
{
    size_t at = call->out->size;
    int32_t count = 0;
    wire_put_i32(call->out, 0);
    for (size_t i = 0; topic != NULL && i < topic->setting_count; i++) {
        if (!is_asked(keys, text_of(topic->settings[i].name)))
            continue;
        put_setting(call, topic->settings[i].name, topic->settings[i].value, false);
        count++;
    }
    for (size_t i = 0; topic != NULL && i < DEFAULT_COUNT; i++) {
        if (topic_setting(topic, defaults[i].name) != NULL ||
            !is_asked(keys, text_of(defaults[i].name)))
            continue;
        put_setting(call, defaults[i].name, defaults[i].value, true);
        count++;
    }
    wire_set_i32(call->out, at, count);
}

enum api_result api_describe_configs(struct call *call)
{
    int32_t count = wire_count(&call->in, RESOURCE_BYTES);
    wire_put_i32(call->out, 0); /* throttled for */
    wire_put_i32(call->out, count);
    for (int32_t i = 0; i < count && !call->in.bad; i++) {
        struct resource resource = take_resource(call);
        struct wire keys = call->in;
        int32_t key_count = wire_count(&call->in, 2);
        for (int32_t k = 0; k < key_count; k++)
            wire_string(&call->in);
        put_result(call, &resource, check(&resource));
        put_settings(call, resource.topic, keys);
    }
    return API_ANSWERED;
}

/* ---- changing them ---- */

static rd_kafka_resp_err_t set(struct call *call, const struct resource *resource, struct text name,
                               struct text value)
{
    if (call->in.bad)
        return RD_KAFKA_RESP_ERR_INVALID_REQUEST;
    return catalogue_set(call->broker->catalogue, resource->topic, name, value);
}

/* All settings that are not named go back to their defaults. */
static void unset_others(struct call *call, const struct resource *resource, struct wire named)
{
    struct topic *topic = resource->topic;
    for (size_t i = topic->setting_count; i-- > 0;) {
        struct wire names = named;
        int32_t count = wire_count(&names, 4);
        bool found = false;
        for (int32_t n = 0; n < count && !found; n++) {
            found = text_equal(wire_string(&names), text_of(topic->settings[i].name));
            wire_string(&names);
        }
        if (!found)
            set(call, resource, text_of(topic->settings[i].name), (struct text){0});
    }
}

static rd_kafka_resp_err_t replace_settings(struct call *call, const struct resource *resource,
                                            bool only_check)
{
    rd_kafka_resp_err_t code = check(resource);
    struct wire named = call->in;
    bool may = code == RD_KAFKA_RESP_ERR_NO_ERROR && resource->topic != NULL && !only_check;
    int32_t count = wire_count(&call->in, 4);
    if (may && !call->in.bad)
        unset_others(call, resource, named);
    for (int32_t i = 0; i < count; i++) {
        struct text name = wire_string(&call->in);
        struct text value = wire_string(&call->in);
        if (may && code == RD_KAFKA_RESP_ERR_NO_ERROR)
            code = set(call, resource, name, value);
    }
    return code;
}

static rd_kafka_resp_err_t change_settings(struct call *call, const struct resource *resource,
                                           bool only_check)
{
    enum { SET, DELETE };
    rd_kafka_resp_err_t code = check(resource);
    bool may = code == RD_KAFKA_RESP_ERR_NO_ERROR && resource->topic != NULL && !only_check;
    int32_t count = wire_count(&call->in, 5);
    for (int32_t i = 0; i < count; i++) {
        struct text name = wire_string(&call->in);
        int8_t operation = wire_i8(&call->in);
        struct text value = wire_string(&call->in);
        if (code == RD_KAFKA_RESP_ERR_NO_ERROR && operation != SET && operation != DELETE)
            code = RD_KAFKA_RESP_ERR_INVALID_CONFIG;
        if (may && code == RD_KAFKA_RESP_ERR_NO_ERROR)
            code = set(call, resource, name, operation == SET ? value : (struct text){0});
    }
    return code;
}

typedef rd_kafka_resp_err_t (*alter)(struct call *call, const struct resource *resource,
                                     bool only_check);

static enum api_result alter_each(struct call *call, alter change)
{
    int32_t count = wire_count(&call->in, RESOURCE_BYTES);
    bool only_check = call->in.rest.size > 0 && /* the last byte of the request */
                      call->in.rest.data[call->in.rest.size - 1] != 0;
    wire_put_i32(call->out, 0); /* throttled for */
    wire_put_i32(call->out, count);
    for (int32_t i = 0; i < count && !call->in.bad; i++) {
        struct resource resource = take_resource(call);
        put_result(call, &resource, change(call, &resource, only_check));
    }
    return API_ANSWERED;
}

enum api_result api_alter_configs(struct call *call)
{
    return alter_each(call, replace_settings);
}

enum api_result api_alter_configs_by_one(struct call *call)
{
    return alter_each(call, change_settings);
}

/* ---- access rules ---- */

enum api_result api_describe_acls(struct call *call)
{
    wire_put_i32(call->out, 0); /* throttled for */
    wire_put_i16(call->out, RD_KAFKA_RESP_ERR_SECURITY_DISABLED);
    wire_put_string(call->out, TEXT("the embedded broker has no access rules"));
    wire_put_i32(call->out, 0);
    return API_ANSWERED;
}

enum api_result api_create_acls(struct call *call)
{
    int32_t count = wire_count(&call->in, 9);
    wire_put_i32(call->out, 0); /* throttled for */
    wire_put_i32(call->out, count);
    for (int32_t i = 0; i < count; i++) {
        wire_put_i16(call->out, RD_KAFKA_RESP_ERR_SECURITY_DISABLED);
        wire_put_string(call->out, TEXT("the embedded broker has no access rules"));
    }
    return API_ANSWERED;
}
