/* SPDX-License-Identifier: Apache-2.0 */
/* Deletes the topics of a prefix. Blocks; has a client of its own. */
#include "kafka/client_internal.h"
#include "kafka/topics/internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { TIMEOUT_MS = 15000 };

static enum error_class delete_all(rd_kafka_t *rk, rd_kafka_DeleteTopic_t **names, size_t count,
                                   struct error *ret_error)
{
    rd_kafka_queue_t *queue = rd_kafka_queue_new(rk);
    rd_kafka_DeleteTopics(rk, names, count, NULL, queue);
    rd_kafka_event_t *event = rd_kafka_queue_poll(queue, TIMEOUT_MS);
    rd_kafka_resp_err_t code =
        event != NULL ? rd_kafka_event_error(event) : RD_KAFKA_RESP_ERR__TIMED_OUT;
    rd_kafka_event_destroy(event);
    rd_kafka_queue_destroy(queue);
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR)
        return ERROR_OK;
    return error_set_as(ret_error, kafka_error_class(code), CODE_TOPICS, "delete topics: %s",
                        rd_kafka_err2str(code));
}

enum error_class topics_delete(const struct kafka_client_options *kafka,
                               const struct topics *topics, struct error *ret_error)
{
    const struct rd_kafka_metadata *metadata = NULL;
    size_t prefix_size = strlen(topics->prefix);
    struct topics_client client;
    if (topics_client_open(&client, kafka, ret_error) != ERROR_OK)
        return ERROR_REJECT;
    enum error_class class = topics_client_metadata(&client, TIMEOUT_MS, &metadata, ret_error);
    if (class != ERROR_OK) {
        topics_client_close(&client);
        return class;
    }
    rd_kafka_DeleteTopic_t **names =
        calloc((size_t)metadata->topic_cnt + 1, sizeof(rd_kafka_DeleteTopic_t *));
    size_t count = 0;
    assert(names != NULL);
    for (int i = 0; i < metadata->topic_cnt; i++) {
        const char *name = metadata->topics[i].topic;
        if (strncmp(name, topics->prefix, prefix_size) == 0 && name[prefix_size] == '.')
            names[count++] = rd_kafka_DeleteTopic_new(name);
    }
    if (count > 0)
        class = delete_all(client.rk, names, count, ret_error);
    rd_kafka_DeleteTopic_destroy_array(names, count);
    free(names);
    rd_kafka_metadata_destroy(metadata);
    topics_client_close(&client);
    return class;
}
