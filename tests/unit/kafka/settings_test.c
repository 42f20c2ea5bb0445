/* SPDX-License-Identifier: Apache-2.0 */
#include "kafka/settings.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static struct error error;

static enum error_class check(const char *name, const char *value)
{
    struct config_setting settings[] = {{"linger.ms", "5", "default"}, {name, value, "--set"}};
    return kafka_settings.check(settings, 2, &error);
}

static void expect_error(const char *name, const char *value, const char *message)
{
    cr_assert(check(name, value) == ERROR_REJECT, "%s", name);
    cr_assert_eq(error.code, CODE_CONFIG);
    cr_assert_str_eq(error.message, message);
}

Test(kafka_settings, accepts_settings_of_librdkafka)
{
    cr_assert(check("compression.type", "lz4") == ERROR_OK, "%s", error.message);
    cr_assert(check("security.protocol", "SASL_SSL") == ERROR_OK, "%s", error.message);
}

Test(kafka_settings, rejects_settings_that_break_a_guarantee)
{
    static const char *const names[] = {"acks",
                                        "request.required.acks",
                                        "enable.idempotence",
                                        "auto.offset.reset",
                                        "enable.auto.commit",
                                        "enable.auto.offset.store",
                                        "message.timeout.ms",
                                        "delivery.timeout.ms",
                                        "partition.assignment.strategy",
                                        "transactional.id",
                                        "isolation.level",
                                        "group.id",
                                        "max.in.flight",
                                        "partitioner",
                                        "retries"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        cr_assert(check(names[i], "1") == ERROR_REJECT, "%s", names[i]);
        cr_assert(strstr(error.message, "cannot be set: ") != NULL, "%s", error.message);
    }
    expect_error("acks", "1",
                 "kafka.acks (--set) cannot be set: a Decision counts only when all replicas have "
                 "it");
}

Test(kafka_settings, suggests_a_name_that_librdkafka_knows)
{
    expect_error("compresion.type", "lz4",
                 "kafka.compresion.type (--set) is not a setting of librdkafka: did you mean "
                 "kafka.compression.type?");
    expect_error("sasl.pasword", "x",
                 "kafka.sasl.pasword (--set) is not a setting of librdkafka: did you mean "
                 "kafka.sasl.password?");
    expect_error("zzzzzzzzzzz", "1", "kafka.zzzzzzzzzzz (--set) is not a setting of librdkafka");
}

Test(kafka_settings, reports_why_librdkafka_rejects_a_value)
{
    cr_assert(check("linger.ms", "-5") == ERROR_REJECT);
    cr_assert(strstr(error.message, "kafka.linger.ms (--set): ") == error.message, "%s",
              error.message);
}

Test(kafka_settings, recognizes_secrets)
{
    cr_assert(kafka_settings.is_secret("sasl.password"));
    cr_assert(kafka_settings.is_secret("ssl.key.pem"));
    cr_assert(!kafka_settings.is_secret("sasl.username"));
}

Test(kafka_settings, tells_known_names_from_others)
{
    char *nearest = NULL;
    cr_assert(kafka_settings.knows("compression.type", &nearest));
    cr_assert(kafka_settings.knows("ssl.ca.location", &nearest));
    cr_assert(kafka_settings.knows("acks", &nearest), "refused, not unknown");
    cr_assert(!kafka_settings.knows("home", &nearest));
    cr_assert_null(nearest);
    cr_assert(!kafka_settings.knows("sasl.pasword", &nearest));
    cr_assert_str_eq(nearest, "sasl.password");
    free(nearest);
}

static enum error_class check_tokens(const char *mechanism, const char *file, const char *command)
{
    struct config_setting settings[] = {{"sasl.mechanism", mechanism, "--set"},
                                        {"sasl.oauthbearer.token.file", file, "file"},
                                        {"sasl.oauthbearer.token.command", command, "env"},
                                        {"sasl.oauthbearer.token.timeout.ms", "10s", "default"}};
    return kafka_settings.check(settings, 4, &error);
}

Test(kafka_settings, accepts_one_source_of_tokens)
{
    cr_assert(check_tokens("OAUTHBEARER", "/token", "") == ERROR_OK);
    cr_assert(check_tokens("OAUTHBEARER", "", "get token") == ERROR_OK);
    cr_assert(check_tokens("PLAIN", "", "") == ERROR_OK);
    cr_assert(kafka_settings_is_own("sasl.oauthbearer.token.lifetime.ms"));
    cr_assert(!kafka_settings_is_own("sasl.oauthbearer.token.endpoint.url"));
}

Test(kafka_settings, rejects_tokens_from_nowhere_or_for_nothing)
{
    cr_assert(check_tokens("OAUTHBEARER", "", "") == ERROR_REJECT);
    cr_assert_str_eq(
        error.message,
        "kafka.sasl.mechanism = OAUTHBEARER needs kafka.sasl.oauthbearer.token.file or "
        "kafka.sasl.oauthbearer.token.command");
    cr_assert(check_tokens("OAUTHBEARER", "/token", "get token") == ERROR_REJECT);
    cr_assert_str_eq(error.message,
                     "kafka.sasl.oauthbearer.token.command (env): a token comes from here or from "
                     "kafka.sasl.oauthbearer.token.file, not from both");
    cr_assert(check_tokens("PLAIN", "/token", "") == ERROR_REJECT);
    cr_assert_str_eq(error.message, "kafka.sasl.oauthbearer.token.file (file) needs "
                                    "kafka.sasl.mechanism = OAUTHBEARER");
}
