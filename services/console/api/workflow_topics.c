/* SPDX-License-Identifier: Apache-2.0 */
/* See workflow_topics.h. */
#include "services/console/api/workflow_topics.h"

#include "platform/http/json_answer.h"
#include "schemas/json/json_codec.h"
#include "workflow/lifecycle.h"

#include <assert.h>
#include <stdio.h>

enum {
    METADATA_MS = 2000,
    NAMES_SIZE = WORKFLOW_FILE_AGENTS_MAX * (NAME_BYTES_MAX + sizeof(" --agent ")),
    COMMAND_SIZE = NAMES_SIZE + TOPICS_PREFIX_BYTES_MAX + 128
};

/* The agents without a topic come first in *agents; -1: the broker does not say. */
static int64_t keep_missing(struct cluster *cluster, struct text *agents, size_t count,
                            char ret_unknown[TOPIC_NAME_SIZE])
{
    int64_t missing = 0;
    for (size_t i = 0; i < count; i++) {
        char topic[TOPIC_NAME_SIZE];
        topics_requests(&cluster->topics, agents[i], topic);
        int32_t partitions = broker_partition_count_known(cluster->broker, topic);
        if (partitions <= 0)
            partitions = broker_partition_count(cluster->broker, topic, METADATA_MS);
        if (partitions < 0) {
            memcpy(ret_unknown, topic, sizeof(topic));
            return -1;
        }
        if (partitions == 0)
            agents[missing++] = agents[i];
    }
    return missing;
}

/* As many partitions and replicas as <p>.commands has, whatever the settings are where the command
 * runs. */
static void write_command(const struct cluster *cluster, int32_t replicas,
                          const struct text *agents, int64_t count, char command[COMMAND_SIZE])
{
    int size = snprintf(command, COMMAND_SIZE,
                        "reeve topics apply --partitions %d --replication-factor %d",
                        cluster->partition_count, replicas);
    if (config_is_set(cluster->service->config, "topics.prefix"))
        size += snprintf(command + size, COMMAND_SIZE - (size_t)size, " --topics-prefix %s",
                         cluster->topics.prefix);
    for (int64_t i = 0; i < count; i++)
        size += snprintf(command + size, COMMAND_SIZE - (size_t)size, " --agent %.*s",
                         TEXT_ARG(agents[i]));
    assert(size < COMMAND_SIZE);
}

bool workflow_topics_check(struct cluster *cluster, const struct workflow *workflow,
                           struct http_exchange *exchange)
{
    struct text agents[WORKFLOW_FILE_AGENTS_MAX];
    char unknown[TOPIC_NAME_SIZE];
    char command[COMMAND_SIZE];
    char detail[COMMAND_SIZE + 200];
    int64_t missing = keep_missing(cluster, agents, workflow_agents(workflow, agents), unknown);
    if (missing == 0)
        return true;
    int32_t replicas = broker_replica_count(cluster->broker, cluster->topics.commands, METADATA_MS);
    if (missing > 0 && replicas <= 0) {
        missing = -1;
        memcpy(unknown, cluster->topics.commands, sizeof(unknown));
    }
    if (missing < 0) {
        http_respond_error(exchange, 503, CODE_BROKER_UNAVAILABLE,
                           "the broker does not say whether %s exists: try again later", unknown);
        return false;
    }
    write_command(cluster, replicas, agents, missing, command);
    snprintf(detail, sizeof(detail),
             "%lld of the workflow's agents %s no requests topic, and nothing was deployed: the "
             "console creates no topics. Create them with `%s`, then deploy again",
             (long long)missing, missing == 1 ? "has" : "have", command);
    json_t *problem = http_problem_new(409, error_code_text(CODE_TOPICS_MISSING), text_of(detail));
    json_codec_put(problem, "command", json_string(command));
    http_respond_problem(exchange, problem);
    return false;
}
