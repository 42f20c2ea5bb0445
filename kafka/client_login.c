/* SPDX-License-Identifier: Apache-2.0 */
/* Logins that fail: refusals by the brokers, and tokens that cannot be read. The brokers
 * give the same answer to a wrong password and to a mechanism that this librdkafka gets wrong; its
 * version tells them apart. */
#include "kafka/client_internal.h"

#include <stdio.h>
#include <string.h>

enum {
    /* Up to 2.6.0, the last message of SCRAM repeats the client's nonce before the server's, which
     * already begins with it. Kafka 3.9 accepts that (it compares the end); Kafka 4 does not. */
    SCRAM_FIXED_IN = 0x02060100,
};

/* The last one counts, as in librdkafka. */
static const char *mechanism_of(const struct kafka_client *kafka)
{
    const char *mechanism = "";
    for (size_t i = 0; i < kafka->setting_count; i++) {
        const char *name = kafka->settings[i].name;
        if (strcmp(name, "sasl.mechanism") == 0 || strcmp(name, "sasl.mechanisms") == 0)
            mechanism = kafka->settings[i].value;
    }
    return mechanism;
}

enum error_class kafka_login_error(const struct kafka_client *kafka, const char *said,
                                   struct error *ret_error)
{
    const char *mechanism = mechanism_of(kafka);
    if (strncmp(mechanism, "SCRAM-", strlen("SCRAM-")) != 0 || rd_kafka_version() >= SCRAM_FIXED_IN)
        return error_set(ret_error, CODE_LOGIN_REFUSED, "cannot log in to Kafka: %s", said);
    return error_set(ret_error, CODE_CONFIG,
                     "kafka.sasl.mechanism = %.20s does not work from Kafka 4 on with librdkafka "
                     "%s, which sends its nonce twice (fixed in librdkafka 2.6.1): use PLAIN over "
                     "TLS, OAUTHBEARER or client certificates; with Kafka 3.9, check name and "
                     "password (%s)",
                     mechanism, rd_kafka_version_str(), said);
}

/* Before the reason of set_token_failure(). */
#define NO_TOKEN "Failed to acquire SASL OAUTHBEARER token: "

/* Without what differs from one time to the next: the broker, times and counts. */
static void keep_stable(const char *said, char ret_text[KAFKA_REFUSAL_SIZE])
{
    if (strncmp(said, NO_TOKEN, strlen(NO_TOKEN)) == 0)
        said += strlen(NO_TOKEN);
    const char *reason = strstr(said, "SASL authentication error: ");
    if (reason != NULL)
        said = reason;
    snprintf(ret_text, KAFKA_REFUSAL_SIZE, "%s", said);
    char *end = strstr(ret_text, " (after ");
    if (end != NULL)
        *end = '\0';
}

bool kafka_note_refusal(struct kafka_client *kafka, const char *said)
{
    char text[KAFKA_REFUSAL_SIZE];
    keep_stable(said, text);
    if (strcmp(kafka->health.refusal, text) == 0)
        return false;
    memcpy(kafka->health.refusal, text, sizeof(text));
    return true;
}

enum error_class kafka_refused(const struct broker *broker, struct error *ret_error)
{
    const struct kafka_client *kafka = kafka_of(broker);
    if (kafka->health.connected || kafka->health.refusal[0] == '\0')
        return ERROR_OK;
    return kafka_login_error(kafka, kafka->health.refusal, ret_error);
}

bool kafka_log_tokens(struct kafka_client *kafka)
{
    char reason[KAFKA_OAUTH_TEXT_SIZE];
    bool fails = false;
    switch (kafka_oauth_take_news(kafka->oauth, &fails, reason)) {
    case KAFKA_OAUTH_NO_NEWS:
        break;
    case KAFKA_OAUTH_FAILS:
        log_warning("cannot get a token for Kafka", LOG_STR("reason", reason));
        break;
    case KAFKA_OAUTH_WORKS_AGAIN:
        log_info("got a token for Kafka again");
        break;
    }
    return fails;
}
