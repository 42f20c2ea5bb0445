/* SPDX-License-Identifier: Apache-2.0 */
/* See settings.h. */
#include "kafka/settings.h"

#include "base/suggest.h"

#include <assert.h>
#include <librdkafka/rdkafka.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REASON_SIZE = 256, NAMES_MAX = 512 };

/* Settings of librdkafka, aliases included, that would break a guarantee of reeve, and why. */
static const struct {
    const char *name;
    const char *reason;
} refused[] = {
    {"acks", "a Decision counts only when all replicas have it"},
    {"request.required.acks", "a Decision counts only when all replicas have it"},
    {"enable.idempotence", "the log must hold each Decision once and in order"},
    {"enable.gapless.guarantee", "the log must hold each Decision once and in order"},
    {"max.in.flight", "the log must hold each Decision once and in order"},
    {"max.in.flight.requests.per.connection", "the log must hold each Decision once and in order"},
    {"retries", "the log must hold each Decision once and in order"},
    {"message.send.max.retries", "the log must hold each Decision once and in order"},
    {"message.timeout.ms", "a Decision that timed out locally may still be in the log"},
    {"delivery.timeout.ms", "a Decision that timed out locally may still be in the log"},
    {"transactional.id", "reeve does not use transactions: fencing is in the log"},
    {"transaction.timeout.ms", "reeve does not use transactions: fencing is in the log"},
    {"isolation.level", "reeve does not use transactions: fencing is in the log"},
    {"auto.offset.reset", "a lost position must stop the partition, not skip records"},
    {"enable.auto.commit", "positions are in the log, not in committed offsets"},
    {"auto.commit.enable", "positions are in the log, not in committed offsets"},
    {"auto.commit.interval.ms", "positions are in the log, not in committed offsets"},
    {"enable.auto.offset.store", "positions are in the log, not in committed offsets"},
    {"offset.store.method", "positions are in the log, not in committed offsets"},
    {"offset.store.path", "positions are in the log, not in committed offsets"},
    {"offset.store.sync.interval.ms", "positions are in the log, not in committed offsets"},
    {"partition.assignment.strategy", "all instances of a group must use the same one"},
    {"partitioner", "the partition of an order is computed by reeve"},
    {"group.id", "it follows from topics.prefix and the service"},
    {"group.instance.id", "set group.static and instance.id"},
    {"group.protocol.type", "it follows from the service"},
    {"session.timeout.ms", "set session.timeout.ms (without kafka.) instead"},
    {"max.poll.interval.ms", "reeve watches its own progress"},
    {"enable.partition.eof", "reeve needs to see the end of the log"},
    {"produce.offset.report", "fencing needs the offsets of acknowledged records"},
    {"delivery.report.only.error", "fencing needs the offsets of acknowledged records"},
    {"message.max.bytes", "it follows from the limits of orders and workflows"},
    {"allow.auto.create.topics", "use `reeve topics apply` to create topics"},
    {"metadata.broker.list", "set kafka.bootstrap.servers instead"},
    {"enable.sasl.oauthbearer.unsecure.jwt",
     "unsecured tokens are for tests; set kafka.sasl.oauthbearer.token.command"},
    {"test.mock.num.brokers", "start `reeve broker` instead"},
};

/* Where OAUTHBEARER tokens come from; kafka/oauth.h. */
#define TOKEN_FILE "sasl.oauthbearer.token.file"
#define TOKEN_COMMAND "sasl.oauthbearer.token.command"
static const char *const own[] = {TOKEN_FILE, TOKEN_COMMAND, "sasl.oauthbearer.token.lifetime.ms",
                                  "sasl.oauthbearer.token.timeout.ms"};

bool kafka_settings_is_own(const char *name)
{
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
        if (strcmp(own[i], name) == 0)
            return true;
    }
    return false;
}

static const char *reason_to_refuse(const char *name)
{
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        if (strcmp(refused[i].name, name) == 0)
            return refused[i].reason;
    }
    return NULL;
}

static bool is_secret(const char *name)
{
    static const char *const words[] = {"password", "secret", "key.pem", "oauthbearer.config"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strstr(name, words[i]) != NULL)
            return true;
    }
    return false;
}

/* The names of all settings in librdkafka's own table, whose lines are "name | C/P | range ...".
 * Splits `table`; the names borrow it. */
static size_t collect_names(char *table, const char *names[NAMES_MAX])
{
    size_t count = 0;
    for (char *line; (line = strsep(&table, "\n")) != NULL && count < NAMES_MAX;) {
        size_t size = strcspn(line, " |");
        bool is_row = size > 0 && line[size] != '\0' && strchr(line, '|') != NULL;
        line[size] = '\0';
        if (is_row && strchr(line, '.') != NULL && reason_to_refuse(line) == NULL)
            names[count++] = line;
    }
    return count;
}

static enum error_class fail(struct error *ret_error, const struct config_setting *setting,
                             const char *format, ...) __attribute__((format(printf, 3, 4)));

/* ERROR_REJECT, code Config; the message is `format` after the key and its origin. */
static enum error_class fail(struct error *ret_error, const struct config_setting *setting,
                             const char *format, ...)
{
    char message[ERROR_MESSAGE_SIZE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof(message), format, arguments);
    va_end(arguments);
    return error_set(ret_error, CODE_CONFIG, "kafka.%.100s (%.100s)%s", setting->name,
                     setting->origin, message);
}

/* librdkafka's table, new. */
static char *make_table(void)
{
    char *table = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&table, &size);
    assert(out != NULL);
    rd_kafka_conf_properties_show(out);
    fclose(out);
    return table;
}

static bool knows(const char *name, char **ret_nearest)
{
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    bool known = reason_to_refuse(name) != NULL ||
                 rd_kafka_conf_set(conf, name, NULL, NULL, 0) != RD_KAFKA_CONF_UNKNOWN;
    rd_kafka_conf_destroy(conf);
    if (known)
        return true;
    char *table = make_table();
    const char *names[NAMES_MAX];
    struct text texts[NAMES_MAX];
    size_t count = collect_names(table, names);
    for (size_t i = 0; i < count; i++)
        texts[i] = text_of(names[i]);
    const struct text *nearest = suggest_within(text_of(name), texts, count, 1);
    *ret_nearest = nearest != NULL ? strdup(nearest->data) : NULL;
    free(table);
    return false;
}

/* An error that suggests the nearest name that librdkafka knows, if one is near. */
static enum error_class fail_unknown(const struct config_setting *setting, struct error *ret_error)
{
    char *table = make_table();
    const char *names[NAMES_MAX];
    const char *nearest = suggest_string(setting->name, names, collect_names(table, names));
    enum error_class class =
        nearest != NULL ? fail(ret_error, setting,
                               " is not a setting of librdkafka: did you mean kafka.%s?", nearest)
                        : fail(ret_error, setting, " is not a setting of librdkafka");
    free(table);
    return class;
}

static enum error_class check_one(const struct config_setting *setting, rd_kafka_conf_t *conf,
                                  struct error *ret_error)
{
    char reason[REASON_SIZE] = "";
    const char *refusal = reason_to_refuse(setting->name);
    if (kafka_settings_is_own(setting->name))
        return ERROR_OK;
    if (refusal != NULL)
        return fail(ret_error, setting, " cannot be set: %s", refusal);
    switch (rd_kafka_conf_set(conf, setting->name, setting->value, reason, sizeof(reason))) {
    case RD_KAFKA_CONF_OK:
        return ERROR_OK;
    case RD_KAFKA_CONF_UNKNOWN:
        return fail_unknown(setting, ret_error);
    case RD_KAFKA_CONF_INVALID:
        break;
    }
    if (is_secret(setting->name))
        return fail(ret_error, setting, ": librdkafka rejects the value");
    return fail(ret_error, setting, ": %s", reason);
}

/* NULL: not set. */
static const struct config_setting *find(const struct config_setting settings[], size_t count,
                                         const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(settings[i].name, name) == 0 && settings[i].value[0] != '\0')
            return &settings[i];
    }
    return NULL;
}

static bool is_equal(const rd_kafka_conf_t *conf, const char *name, const char *value)
{
    char set[REASON_SIZE] = "";
    size_t size = sizeof(set);
    return rd_kafka_conf_get(conf, name, set, &size) == RD_KAFKA_CONF_OK && strcmp(set, value) == 0;
}

/* The mechanism OAUTHBEARER and where its tokens come from need each other. `conf` has all
 * settings. */
static enum error_class check_tokens(const struct config_setting settings[], size_t count,
                                     const rd_kafka_conf_t *conf, struct error *ret_error)
{
    const struct config_setting *file = find(settings, count, TOKEN_FILE);
    const struct config_setting *command = find(settings, count, TOKEN_COMMAND);
    const struct config_setting *source = file != NULL ? file : command;
    /* Debian builds librdkafka without it. */
    bool oidc = is_equal(conf, "sasl.oauthbearer.method", "oidc");
    if (file != NULL && command != NULL)
        return fail(ret_error, command,
                    ": a token comes from here or from kafka." TOKEN_FILE ", not from both");
    if (source != NULL && oidc)
        return fail(ret_error, source,
                    ": with kafka.sasl.oauthbearer.method = oidc, librdkafka "
                    "gets the tokens itself");
    if (!is_equal(conf, "sasl.mechanism", "OAUTHBEARER"))
        return source == NULL
                   ? ERROR_OK
                   : fail(ret_error, source, " needs kafka.sasl.mechanism = OAUTHBEARER");
    if (source != NULL || oidc)
        return ERROR_OK;
    return error_set(ret_error, CODE_CONFIG,
                     "kafka.sasl.mechanism = OAUTHBEARER needs kafka." TOKEN_FILE
                     " or kafka." TOKEN_COMMAND);
}

static enum error_class check(const struct config_setting settings[], size_t count,
                              struct error *ret_error)
{
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    enum error_class class = ERROR_OK;
    for (size_t i = 0; i < count && class == ERROR_OK; i++)
        class = check_one(&settings[i], conf, ret_error);
    if (class == ERROR_OK)
        class = check_tokens(settings, count, conf, ret_error);
    rd_kafka_conf_destroy(conf);
    return class;
}

const struct config_passthrough kafka_settings = {
    .prefix = "kafka.", .is_secret = is_secret, .check = check, .knows = knows};
