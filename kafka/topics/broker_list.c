/* SPDX-License-Identifier: Apache-2.0 */
/* The brokers of a cluster and what can be known of their versions, for operators. Blocks. Kafka's
 * protocol names no version of a broker, and librdkafka keeps to itself which requests one takes.
 * Settings tell: up to Kafka 3.9, the default of inter.broker.protocol.version is the version of
 * the program; Kafka 4.0 has removed that setting. */
#include "kafka/topics/admin.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define VERSION_SETTING "inter.broker.protocol.version"

/* "3.9-IV0" is 3.9. */
static void version_of(const rd_kafka_ConfigResource_t *resource,
                       char ret_version[TOPICS_VERSION_SIZE])
{
    size_t count = 0;
    const rd_kafka_ConfigEntry_t **entries = rd_kafka_ConfigResource_configs(resource, &count);
    for (size_t i = 0; i < count; i++) {
        const char *value = rd_kafka_ConfigEntry_value(entries[i]);
        if (strcmp(rd_kafka_ConfigEntry_name(entries[i]), VERSION_SETTING) != 0)
            continue;
        if (value != NULL && rd_kafka_ConfigEntry_is_default(entries[i]) == 1)
            snprintf(ret_version, TOPICS_VERSION_SIZE, "%.*s", (int)strcspn(value, "-"), value);
        return;
    }
    if (count > 0)
        snprintf(ret_version, TOPICS_VERSION_SIZE, "%s", TOPICS_VERSION_NEW);
}

/* Leaves it empty where the user may not see the settings, or the broker has none. */
static void read_version(struct topics_admin *admin, int32_t id,
                         char ret_version[TOPICS_VERSION_SIZE])
{
    char name[16];
    struct error error;
    size_t count = 0;
    snprintf(name, sizeof(name), "%d", (int)id);
    rd_kafka_ConfigResource_t *resource =
        rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_BROKER, name);
    rd_kafka_AdminOptions_t *options =
        topics_admin_options(admin, RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS);
    rd_kafka_DescribeConfigs(admin->rk, &resource, 1, options, admin->queue);
    rd_kafka_AdminOptions_destroy(options);
    rd_kafka_ConfigResource_destroy(resource);
    rd_kafka_event_t *event = topics_admin_await(admin, "describe the broker", &error);
    if (event == NULL)
        return;
    const rd_kafka_ConfigResource_t **resources = rd_kafka_DescribeConfigs_result_resources(
        rd_kafka_event_DescribeConfigs_result(event), &count);
    if (count == 1 && rd_kafka_ConfigResource_error(resources[0]) == RD_KAFKA_RESP_ERR_NO_ERROR)
        version_of(resources[0], ret_version);
    rd_kafka_event_destroy(event);
}

enum error_class topics_list_brokers(const struct kafka_client_options *kafka, int timeout_ms,
                                     topics_broker_found found, void *ctx, struct error *ret_error)
{
    struct topics_admin admin = {.timeout_ms = timeout_ms};
    assert(timeout_ms > 0);
    enum error_class class = topics_client_open(&admin.client, kafka, ret_error);
    if (class != ERROR_OK)
        return class;
    admin.rk = admin.client.rk;
    class = topics_client_metadata(&admin.client, timeout_ms, &admin.metadata, ret_error);
    if (class == ERROR_OK) {
        admin.queue = rd_kafka_queue_new(admin.rk);
        for (int i = 0; i < admin.metadata->broker_cnt; i++) {
            const struct rd_kafka_metadata_broker *at = &admin.metadata->brokers[i];
            struct topics_broker broker = {.id = at->id, .host = at->host, .port = at->port};
            read_version(&admin, at->id, broker.version);
            found(ctx, &broker);
        }
        rd_kafka_metadata_destroy(admin.metadata);
        rd_kafka_queue_destroy(admin.queue);
    }
    topics_client_close(&admin.client);
    return class;
}
