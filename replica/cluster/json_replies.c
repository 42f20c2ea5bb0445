/* SPDX-License-Identifier: Apache-2.0 */
/* See json_replies.h. */
#include "replica/cluster/json_replies.h"

#include "base/names.h"
#include "platform/json_tree.h"
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

void cluster_status_json(const struct status_update *status, struct buffer *value)
{
    json_t *object = kafka_json_status(status);
    char *text = json_tree_print(object, JSON_COMPACT);
    assert(text != NULL);
    buffer_append(value, text, strlen(text));
    free(text);
    json_decref(object);
}
