/* SPDX-License-Identifier: Apache-2.0 */
/* The client that functions of this folder connect with. */
#include "kafka/client_internal.h"
#include "kafka/topics/internal.h"

#include <string.h>

enum {
    REASON_SIZE = 256,
    /* Long enough to learn that the brokers refuse the login, which ends the wait. */
    FIRST_WAIT_MS = 2000
};

static rd_kafka_t *new_handle(const struct kafka_client_options *kafka, struct error *ret_error)
{
    struct kafka_client options = {.loop = NULL};
    char reason[REASON_SIZE] = "";
    kafka_options_copy(&options, kafka);
    rd_kafka_conf_t *conf = kafka_conf_new(&options, "admin", ret_error);
    kafka_options_free(&options);
    if (conf == NULL)
        return NULL;
    kafka_conf_set(conf, "log.queue", "false");
    rd_kafka_conf_set_log_cb(conf, NULL); /* the returned errors say it */
    rd_kafka_conf_set_events(conf, RD_KAFKA_EVENT_ERROR);
    rd_kafka_t *rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, reason, sizeof(reason));
    if (rk == NULL) {
        rd_kafka_conf_destroy(conf);
        error_set(ret_error, CODE_CONFIG, "kafka settings: %s", reason);
        return NULL;
    }
    kafka_oauth_begin(rk);
    return rk;
}

enum error_class topics_client_open(struct topics_client *client,
                                    const struct kafka_client_options *kafka,
                                    struct error *ret_error)
{
    *client = (struct topics_client){.kafka = *kafka, .owns_oauth = kafka->oauth == NULL};
    if (client->owns_oauth)
        client->kafka.oauth = kafka_oauth_new(&kafka->token);
    client->rk = new_handle(&client->kafka, ret_error);
    if (client->rk != NULL)
        return ERROR_OK;
    topics_client_close(client);
    return ERROR_REJECT;
}

void topics_client_close(struct topics_client *client)
{
    if (client->owns_oauth)
        kafka_oauth_stop(client->kafka.oauth);
    if (client->rk != NULL)
        rd_kafka_destroy(client->rk);
    if (client->owns_oauth)
        kafka_oauth_free(client->kafka.oauth);
    *client = (struct topics_client){.rk = NULL};
}

/* Why the brokers refuse the login, as far as librdkafka has reported it; OK: they do not. */
static enum error_class take_refusal(const struct topics_client *client, struct error *ret_error)
{
    struct kafka_client options = {.loop = NULL};
    enum error_class class = ERROR_OK;
    kafka_options_copy(&options, &client->kafka);
    rd_kafka_queue_t *queue = rd_kafka_queue_get_main(client->rk);
    for (rd_kafka_event_t *event; (event = rd_kafka_queue_poll(queue, 0)) != NULL;) {
        if (rd_kafka_event_error(event) == RD_KAFKA_RESP_ERR__AUTHENTICATION) {
            kafka_note_refusal(&options, rd_kafka_event_error_string(event));
            class = kafka_login_error(&options, options.health.refusal, ret_error);
        }
        rd_kafka_event_destroy(event);
    }
    rd_kafka_queue_destroy(queue);
    kafka_options_free(&options);
    return class;
}

static enum error_class fail(const struct kafka_client_options *kafka, rd_kafka_resp_err_t code,
                             struct error *ret_error)
{
    const char *servers = kafka->bootstrap_servers;
    for (size_t i = 0; i < kafka->setting_count && servers == NULL; i++) {
        if (strcmp(kafka->settings[i].name, "bootstrap.servers") == 0)
            servers = kafka->settings[i].value;
    }
    return error_set(
        ret_error, CODE_BROKER_UNAVAILABLE,
        "no broker answers at %s (%s): is it running, is kafka.bootstrap.servers right?",
        servers != NULL ? servers : "any address", rd_kafka_err2str(code));
}

enum error_class topics_client_metadata(const struct topics_client *client, int timeout_ms,
                                        const struct rd_kafka_metadata **ret_metadata,
                                        struct error *ret_error)
{
    int first_ms = timeout_ms < FIRST_WAIT_MS ? timeout_ms : FIRST_WAIT_MS;
    rd_kafka_resp_err_t code = rd_kafka_metadata(client->rk, 1, NULL, ret_metadata, first_ms);
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR)
        return ERROR_OK;
    enum error_class class = take_refusal(client, ret_error);
    if (class != ERROR_OK)
        return class;
    if (timeout_ms > first_ms)
        code = rd_kafka_metadata(client->rk, 1, NULL, ret_metadata, timeout_ms - first_ms);
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR)
        return ERROR_OK;
    class = take_refusal(client, ret_error);
    return class != ERROR_OK ? class : fail(&client->kafka, code, ret_error);
}

enum error_class topics_ask_broker(const struct kafka_client_options *kafka, const char *cluster_id,
                                   int timeout_ms, bool *ret_answers, struct error *ret_error)
{
    const struct rd_kafka_metadata *metadata = NULL;
    struct topics_client client;
    enum error_class class = topics_client_open(&client, kafka, ret_error);
    if (class != ERROR_OK)
        return class;
    *ret_answers = rd_kafka_metadata(client.rk, 0, NULL, &metadata, timeout_ms) ==
                       RD_KAFKA_RESP_ERR_NO_ERROR &&
                   metadata->broker_cnt > 0;
    if (*ret_answers) {
        char *answered = rd_kafka_clusterid(client.rk, timeout_ms);
        *ret_answers = answered != NULL && strcmp(answered, cluster_id) == 0;
        if (answered != NULL)
            rd_kafka_mem_free(client.rk, answered);
    }
    if (metadata != NULL)
        rd_kafka_metadata_destroy(metadata);
    topics_client_close(&client);
    return ERROR_OK;
}
