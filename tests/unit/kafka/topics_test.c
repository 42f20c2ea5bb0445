/* SPDX-License-Identifier: Apache-2.0 */
/* Names and settings of topics. */
#include "kafka/topics/internal.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

Test(topics, starts_every_name_with_the_prefix)
{
    struct topics topics;
    char name[TOPIC_NAME_SIZE];
    cr_assert_eq(topics_init(&topics, "shop.eu", NULL), ERROR_OK);
    cr_assert_str_eq(topics.events, "shop.eu.events");
    cr_assert_str_eq(topics.dead_letters, "shop.eu.dead-letters");
    topics_requests(&topics, TEXT("payment"), name);
    cr_assert_str_eq(name, "shop.eu.requests.payment");
    topics_replies(&topics, TEXT("web-1"), name);
    cr_assert_str_eq(name, "shop.eu.replies.web-1");
}

Test(topics, fits_the_longest_names_into_kafkas_limit)
{
    struct topics topics;
    char prefix[TOPICS_PREFIX_BYTES_MAX + 2];
    char agent[NAME_BYTES_MAX];
    char name[TOPIC_NAME_SIZE];
    memset(prefix, 'p', sizeof(prefix));
    memset(agent, 'a', sizeof(agent));
    prefix[TOPICS_PREFIX_BYTES_MAX + 1] = '\0';
    struct error error;
    cr_assert_eq(topics_init(&topics, prefix, &error), ERROR_REJECT);
    cr_assert_eq(error.code, CODE_CONFIG);
    prefix[TOPICS_PREFIX_BYTES_MAX] = '\0';
    cr_assert_eq(topics_init(&topics, prefix, &error), ERROR_OK);
    topics_requests(&topics, (struct text){agent, sizeof(agent)}, name);
    cr_assert_leq(strlen(name), (size_t)TOPIC_BYTES_MAX);
}

Test(topics, requires_a_prefix_to_be_a_topic_name)
{
    struct topics topics;
    cr_assert_eq(topics_init(&topics, "", NULL), ERROR_REJECT);
    cr_assert_eq(topics_init(&topics, "a b", NULL), ERROR_REJECT);
    cr_assert_eq(topics_init(&topics, "a/b", NULL), ERROR_REJECT);
}

Test(topics, accepts_only_reply_topics_for_replies)
{
    struct topics topics;
    cr_assert_eq(topics_init(&topics, "orders", NULL), ERROR_OK);
    cr_assert(topics_is_reply(&topics, TEXT("orders.replies.web")));
    cr_assert(topics_is_reply(&topics, TEXT("orders.replies.web.eu-1")));
    cr_assert_not(topics_is_reply(&topics, TEXT("orders.replies.")));
    cr_assert_not(topics_is_reply(&topics, TEXT("orders.replies")));
    cr_assert_not(topics_is_reply(&topics, TEXT("orders.events")));
    cr_assert_not(topics_is_reply(&topics, TEXT("other.replies.web")));
    cr_assert_not(topics_is_reply(&topics, TEXT("orders.replies.we b")));
    cr_assert_not(topics_is_reply(&topics, (struct text){NULL, 0}));
}

Test(topics, aborts_on_an_invalid_agent, .signal = SIGABRT)
{
    struct topics topics;
    char name[TOPIC_NAME_SIZE];
    cr_assert_eq(topics_init(&topics, "orders", NULL), ERROR_OK);
    topics_requests(&topics, TEXT("no/slash"), name);
}

/* ---- settings ---- */

static const char *setting_of(const struct topics_spec *spec, const char *name)
{
    for (size_t i = 0; i < spec->setting_count; i++)
        if (strcmp(spec->settings[i].name, name) == 0)
            return spec->settings[i].value;
    return "-";
}

static enum topics_match match(int replicas, int planned, const char *value)
{
    struct topics_spec spec = {.name = "p.events"};
    topics_spec_set_replicas(&spec, replicas, planned);
    cr_assert_eq(spec.setting_count, 1);
    return topics_setting_match(&spec.settings[0], value);
}

Test(topics, knows_when_a_setting_would_lower_durability)
{
    static const struct {
        int replicas;
        int planned;
        const char *value;
        enum topics_match match;
    } rows[] = {
        {3, 0, "2", TOPICS_MATCH},          {3, 3, "2", TOPICS_MATCH},
        {3, 0, "1", TOPICS_MATCH_NOT},      {3, 1, "1", TOPICS_MATCH},
        {3, 1, "2", TOPICS_MATCH_STRONGER}, {3, 2, "2", TOPICS_MATCH_STRONGER},
        {5, 5, "3", TOPICS_MATCH},          {5, 3, "3", TOPICS_MATCH_STRONGER},
        {1, 3, "1", TOPICS_MATCH}, /* two in sync of one would stop all appends */
        {1, 0, "2", TOPICS_MATCH_STRONGER}, {1, 0, NULL, TOPICS_MATCH_NOT},
        {3, 0, "many", TOPICS_MATCH_NOT},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        cr_expect_eq(match(rows[i].replicas, rows[i].planned, rows[i].value), rows[i].match,
                     "row %zu", i);
}

Test(topics, compares_other_settings_without_an_opinion_on_greater_values)
{
    struct topics_setting setting = {.name = "max.message.bytes", .value = "100"};
    cr_expect_eq(topics_setting_match(&setting, "100"), TOPICS_MATCH);
    cr_expect_eq(topics_setting_match(&setting, "200"), TOPICS_MATCH_NOT);
    setting.at_most = INT64_MAX;
    cr_expect_eq(topics_setting_match(&setting, "200"), TOPICS_MATCH);
    cr_expect_eq(topics_setting_match(&setting, "99"), TOPICS_MATCH_NOT);
}

/* Kafka deletes whole segments, and those of a topic with little traffic live for a week. */
Test(topics, keeps_records_as_long_as_promised_and_hardly_longer)
{
    static const struct {
        const char *name;
        const char *cleanup;
        const char *retention_ms;
        const char *segment_ms;
    } rows[] = {
        {"p.submissions", "delete", "604800000", "86400000"},
        {"p.commands", "delete", "604800000", "86400000"},
        {"p.events", "delete", "-1", "-"},
        {"p.workflows", "delete", "-1", "-"},
        {"p.schemas", "compact", "-", "-"},
        {"p.schedules", "compact", "-", "-"},
        {"p.agents", "compact", "-", "-"},
        {"p.alerts", "delete", "2592000000", "86400000"},
        {"p.leadership", "delete", "604800000", "-"},
        {"p.dead-letters", "delete", "2592000000", "86400000"},
        {"p.requests.payment", "delete", "86400000", "-"},
        {"p.replies.web", "delete", "604800000", "86400000"},
        {"p.replies.older", "delete", "604800000", "86400000"},
    };
    static const char *const agents[] = {"payment"};
    static const char *const apps[] = {"web"};
    static const char *const existing[] = {"p.events", "q.events", "p.replies.older",
                                           "p.requests.payment"};
    struct topics topics;
    struct topics_plan plan = {.topics = &topics,
                               .partitions = 6,
                               .replication_factor = 3,
                               .agents = agents,
                               .agent_count = 1,
                               .apps = apps,
                               .app_count = 1};
    size_t count;
    cr_assert_eq(topics_init(&topics, "p", NULL), ERROR_OK);
    struct topics_spec *specs = topics_specs(&plan, existing, 4, &count);
    cr_assert_eq(count, sizeof(rows) / sizeof(rows[0]));
    for (size_t i = 0; i < count; i++) {
        cr_assert_str_eq(specs[i].name, rows[i].name);
        cr_expect_str_eq(setting_of(&specs[i], "cleanup.policy"), rows[i].cleanup, "%s",
                         rows[i].name);
        cr_expect_str_eq(setting_of(&specs[i], "retention.ms"), rows[i].retention_ms, "%s",
                         rows[i].name);
        cr_expect_str_eq(setting_of(&specs[i], "segment.ms"), rows[i].segment_ms, "%s",
                         rows[i].name);
        cr_expect_str_eq(setting_of(&specs[i], "message.timestamp.type"), "LogAppendTime");
        cr_expect_str_eq(setting_of(&specs[i], "unclean.leader.election.enable"), "false");
        cr_expect_str_eq(setting_of(&specs[i], "min.insync.replicas"), "2");
    }
    free(specs);
}
