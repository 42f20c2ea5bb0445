/* SPDX-License-Identifier: Apache-2.0 */
/* Whether every broker knows a set of topics: each learns of a new one at its own time, and answers
 * until then that it does not exist. */
#include "kafka/topics/internal.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ANSWER_MS = 2000, ADDRESS_SIZE = 300 };

static bool lists(const struct rd_kafka_metadata *metadata, const char *name)
{
    for (int i = 0; i < metadata->topic_cnt; i++)
        if (strcmp(metadata->topics[i].topic, name) == 0 && metadata->topics[i].partition_cnt > 0)
            return true;
    return false;
}

/* A client that knows no other broker asks this one. One that does not answer is not waited for:
 * no other client can ask it either. */
static bool knows(const struct kafka_client_options *kafka, const char *address,
                  const struct topics_spec *specs, size_t count)
{
    const struct rd_kafka_metadata *metadata = NULL;
    struct kafka_client_options options = *kafka;
    bool all = true;
    options.bootstrap_servers = address;
    struct topics_client client;
    if (topics_client_open(&client, &options, NULL) != ERROR_OK)
        return true;
    if (rd_kafka_metadata(client.rk, 1, NULL, &metadata, ANSWER_MS) == RD_KAFKA_RESP_ERR_NO_ERROR) {
        for (size_t i = 0; i < count && all; i++)
            all = lists(metadata, specs[i].name);
        rd_kafka_metadata_destroy(metadata);
    }
    topics_client_close(&client);
    return all;
}

bool topics_known_everywhere(const struct kafka_client_options *kafka,
                             const struct rd_kafka_metadata *metadata,
                             const struct topics_spec *specs, size_t count)
{
    char address[ADDRESS_SIZE];
    for (int i = 0; i < metadata->broker_cnt; i++) {
        const struct rd_kafka_metadata_broker *broker = &metadata->brokers[i];
        bool colons = strchr(broker->host, ':') != NULL;
        snprintf(address, sizeof(address), colons ? "[%s]:%d" : "%s:%d", broker->host,
                 broker->port);
        if (!knows(kafka, address, specs, count))
            return false;
    }
    return true;
}
