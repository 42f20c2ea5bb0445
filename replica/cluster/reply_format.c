/* SPDX-License-Identifier: Apache-2.0 */
/* See reply_format.h. */
#include "replica/cluster/reply_format.h"

#include "base/names.h"
#include "platform/json_tree.h"
#include "replica/cluster/schema_registry.h"
#include "schemas/json/kafka_json.h"

#include <assert.h>
#include <stdlib.h>

const struct broker_header cluster_json_headers[CLUSTER_JSON_HEADERS] = {
    {TEXT_CONST(KAFKA_JSON_CONTENT_TYPE), TEXT_CONST(KAFKA_JSON)},
    {TEXT_CONST(KAFKA_JSON_RECORD), TEXT_CONST("StatusUpdate")},
};

enum error_class cluster_json_replies_begin(struct cluster *cluster, struct error *ret_error)
{
    const struct config *config = cluster->service->config;
    if (config == NULL) /* a test's service */
        return ERROR_OK;
    cluster->json_reply_count = config_list(config, "replies.json", &cluster->json_replies);
    for (size_t i = 0; i < cluster->json_reply_count; i++) {
        if (!name_valid_new(text_of(cluster->json_replies[i])))
            return error_set(ret_error, CODE_CONFIG,
                             "replies.json: \"%.80s\" is not the name of an application; "
                             "expected " NAME_NEW_EXPECTED,
                             cluster->json_replies[i]);
    }
    return ERROR_OK;
}

bool cluster_reply_is_json(const struct cluster *cluster, const char *topic)
{
    for (size_t i = 0; i < cluster->json_reply_count; i++) {
        char reply[TOPIC_NAME_SIZE];
        topics_replies(&cluster->topics, text_of(cluster->json_replies[i]), reply);
        if (strcmp(reply, topic) == 0)
            return true;
    }
    return false;
}

static void put_json(const struct status_update *status, struct buffer *value)
{
    json_t *object = kafka_json_status(status);
    char *text = json_tree_print(object, JSON_COMPACT);
    assert(text != NULL);
    buffer_append(value, text, strlen(text));
    free(text);
    json_decref(object);
}

bool cluster_prepare_replies(const struct cluster *cluster)
{
    uint32_t id;
    return cluster->registry == NULL ||
           schema_registry_id(cluster->registry, RECORD_STATUS_UPDATE, &id);
}

bool cluster_reply_is_possible(const struct cluster *cluster, const char *topic)
{
    return cluster_reply_is_json(cluster, topic) || cluster_prepare_replies(cluster);
}

void cluster_encode_reply(struct cluster *cluster, const char *topic,
                          const struct status_update *status, struct buffer *value)
{
    uint32_t id;
    size_t start = value->size;
    if (cluster_reply_is_json(cluster, topic)) {
        put_json(status, value);
        return;
    }
    codec_encode(cluster->codec, RECORD_STATUS_UPDATE, status, value);
    if (cluster->registry == NULL)
        return;
    bool known = schema_registry_id(cluster->registry, RECORD_STATUS_UPDATE, &id);
    assert(known);
    registered_frame(value, start, id);
}
