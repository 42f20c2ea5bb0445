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
    return error_set(ret_error, kafka_error_class(code), "Topics", "delete topics: %s",
                     rd_kafka_err2str(code));
}

enum error_class topics_delete(const struct kafka_client_options *kafka,
                               const struct topics *topics, struct error *ret_error)
{
    const struct rd_kafka_metadata *metadata = NULL;
    size_t prefix_size = strlen(topics->prefix);
    rd_kafka_t *rk = topics_client_new(kafka, ret_error);
    if (rk == NULL)
        return ERROR_REJECT;
    rd_kafka_resp_err_t code = rd_kafka_metadata(rk, 1, NULL, &metadata, TIMEOUT_MS);
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR) {
        rd_kafka_destroy(rk);
        return topics_no_broker(kafka, code, ret_error);
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
    enum error_class class = count > 0 ? delete_all(rk, names, count, ret_error) : ERROR_OK;
    rd_kafka_DeleteTopic_destroy_array(names, count);
    free(names);
    rd_kafka_metadata_destroy(metadata);
    rd_kafka_destroy(rk);
    return class;
}
