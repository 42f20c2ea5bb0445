/* SPDX-License-Identifier: Apache-2.0 */
/* Names and specifications of topics. See topics.h. */
#include "base/names.h"
#include "base/numbers.h"
#include "kafka/topics/internal.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DAY_MS INT64_C(86400000)
#define FOR_EVER INT64_C(-1)
#define MIN_INSYNC "min.insync.replicas"

enum { MESSAGE_SLACK_BYTES = 128 * 1024 }; /* framing, key and headers of a batch of one record */

/* ---- names ---- */

static void join(const struct topics *topics, const char *rest, struct text last,
                 char ret_name[TOPIC_NAME_SIZE])
{
    int size =
        snprintf(ret_name, TOPIC_NAME_SIZE, "%s.%s%.*s", topics->prefix, rest, TEXT_ARG(last));
    assert(size > 0 && size < TOPIC_NAME_SIZE);
}

enum error_class topics_init(struct topics *topics, const char *prefix, struct error *ret_error)
{
    struct text name = text_of(prefix);
    if (name.size == 0 || name.size > TOPICS_PREFIX_BYTES_MAX || !name_characters_valid(name))
        return error_set(ret_error, CODE_CONFIG,
                         "topics.prefix must have 1 to %d characters of [A-Za-z0-9._-]",
                         TOPICS_PREFIX_BYTES_MAX);
    *topics = (struct topics){0};
    memcpy(topics->prefix, prefix, name.size + 1);
    join(topics, "submissions", TEXT(""), topics->submissions);
    join(topics, "commands", TEXT(""), topics->commands);
    join(topics, "events", TEXT(""), topics->events);
    join(topics, "workflows", TEXT(""), topics->workflows);
    join(topics, "schemas", TEXT(""), topics->schemas);
    join(topics, "schedules", TEXT(""), topics->schedules);
    join(topics, "agents", TEXT(""), topics->agents);
    join(topics, "alerts", TEXT(""), topics->alerts);
    join(topics, "leadership", TEXT(""), topics->leadership);
    join(topics, "dead-letters", TEXT(""), topics->dead_letters);
    return ERROR_OK;
}

void topics_requests(const struct topics *topics, struct text agent, char ret_name[TOPIC_NAME_SIZE])
{
    assert(name_valid(agent));
    join(topics, "requests.", agent, ret_name);
}

void topics_replies(const struct topics *topics, struct text app, char ret_name[TOPIC_NAME_SIZE])
{
    assert(name_valid(app));
    join(topics, "replies.", app, ret_name);
}

/* The part of `name` after <p>.<rest>; .data NULL if `name` has another beginning or is not valid.
 */
static struct text last_part(const struct topics *topics, const char *rest, struct text name)
{
    char start[TOPIC_NAME_SIZE];
    join(topics, rest, TEXT(""), start);
    uint32_t size = (uint32_t)strlen(start);
    if (name.size <= size || memcmp(name.data, start, size) != 0)
        return (struct text){NULL, 0};
    struct text last = {name.data + size, name.size - size};
    return name_valid(last) ? last : (struct text){NULL, 0};
}

bool topics_is_reply(const struct topics *topics, struct text name)
{
    return last_part(topics, "replies.", name).data != NULL;
}

bool topics_is_requests(const struct topics *topics, struct text name)
{
    return last_part(topics, "requests.", name).data != NULL;
}

/* ---- specifications ---- */

static void set(struct topics_spec *spec, const char *name, const char *value)
{
    assert(spec->setting_count < TOPICS_SETTINGS);
    struct topics_setting *setting = &spec->settings[spec->setting_count++];
    setting->name = name;
    snprintf(setting->value, sizeof(setting->value), "%s", value);
}

static void set_number(struct topics_spec *spec, const char *name, int64_t value)
{
    char text[TOPICS_VALUE_SIZE];
    snprintf(text, sizeof(text), "%" PRId64, value);
    set(spec, name, text);
}

static struct topics_setting *find(struct topics_spec *spec, const char *name)
{
    for (size_t i = 0; i < spec->setting_count; i++) {
        if (strcmp(spec->settings[i].name, name) == 0)
            return &spec->settings[i];
    }
    return NULL;
}

void topics_spec_set_replicas(struct topics_spec *spec, int replicas, int planned)
{
    bool fewer = planned > 0 && planned < replicas;
    assert(replicas > 0);
    struct topics_setting *setting = find(spec, MIN_INSYNC);
    if (setting == NULL) {
        set_number(spec, MIN_INSYNC, 1);
        setting = &spec->settings[spec->setting_count - 1];
    }
    snprintf(setting->value, sizeof(setting->value), "%d",
             kafka_min_insync(fewer ? planned : replicas));
    setting->at_most = fewer ? 0 : replicas;
    setting->is_durability = true;
}

enum topics_match topics_setting_match(const struct topics_setting *setting, const char *value)
{
    int64_t number, wanted;
    if (value == NULL)
        return TOPICS_MATCH_NOT;
    if (strcmp(value, setting->value) == 0)
        return TOPICS_MATCH;
    if (!number_parse(text_of(value), INT64_MIN, INT64_MAX, &number) ||
        !number_parse(text_of(setting->value), INT64_MIN, INT64_MAX, &wanted) || number < wanted)
        return TOPICS_MATCH_NOT;
    if (number <= setting->at_most)
        return TOPICS_MATCH;
    return setting->is_durability ? TOPICS_MATCH_STRONGER : TOPICS_MATCH_NOT;
}

/* retention_ms 0: compact. */
static void fill(struct topics_spec *spec, const struct topics_plan *plan, const char *name,
                 bool keyed, int64_t retention_ms)
{
    *spec = (struct topics_spec){.keyed = keyed};
    snprintf(spec->name, sizeof(spec->name), "%s", name);
    set(spec, "message.timestamp.type", "LogAppendTime");
    set(spec, "unclean.leader.election.enable", "false");
    set_number(spec, "max.message.bytes", RECORD_BYTES_MAX + MESSAGE_SLACK_BYTES);
    set(spec, "cleanup.policy", retention_ms == 0 ? "compact" : "delete");
    if (retention_ms != 0) {
        set_number(spec, "retention.ms", retention_ms);
        set_number(spec, "retention.bytes", -1);
    }
    if (keyed && retention_ms > DAY_MS) /* Kafka deletes whole segments: at most a day late */
        set_number(spec, "segment.ms", DAY_MS);
    if (plan->replication_factor > 0)
        topics_spec_set_replicas(spec, plan->replication_factor, 0);
}

struct topics_spec *topics_specs(const struct topics_plan *plan, const char *const *existing,
                                 size_t existing_count, size_t *ret_count)
{
    const struct topics *topics = plan->topics;
    const struct {
        const char *name;
        bool keyed;
        int64_t retention_ms;
    } fixed[] = {
        {topics->submissions, true, SUBMISSIONS_KEPT_MS},
        {topics->commands, true, SUBMISSIONS_KEPT_MS},
        {topics->events, true, FOR_EVER},
        {topics->workflows, false, FOR_EVER},
        {topics->schemas, false, 0},
        {topics->schedules, false, 0},
        {topics->agents, false, 0},
        {topics->alerts, true, 30 * DAY_MS},
        {topics->leadership, false, 7 * DAY_MS},
        {topics->dead_letters, true, 30 * DAY_MS},
    };
    size_t fixed_count = sizeof(fixed) / sizeof(fixed[0]);
    size_t count = 0;
    char name[TOPIC_NAME_SIZE];
    struct topics_spec *specs =
        calloc(fixed_count + plan->agent_count + plan->app_count + existing_count, sizeof(*specs));
    assert(specs != NULL);
    for (size_t i = 0; i < fixed_count; i++)
        fill(&specs[count++], plan, fixed[i].name, fixed[i].keyed, fixed[i].retention_ms);
    for (size_t i = 0; i < plan->agent_count; i++) {
        topics_requests(topics, text_of(plan->agents[i]), name);
        fill(&specs[count++], plan, name, true, DAY_MS);
    }
    for (size_t i = 0; i < plan->app_count; i++) {
        topics_replies(topics, text_of(plan->apps[i]), name);
        fill(&specs[count++], plan, name, true, 7 * DAY_MS);
    }
    for (size_t i = 0; i < existing_count; i++) {
        bool request = last_part(topics, "requests.", text_of(existing[i])).data != NULL;
        bool known = !request && !topics_is_reply(topics, text_of(existing[i]));
        for (size_t at = 0; at < count && !known; at++)
            known = strcmp(specs[at].name, existing[i]) == 0;
        if (!known)
            fill(&specs[count++], plan, existing[i], true, request ? DAY_MS : 7 * DAY_MS);
    }
    *ret_count = count;
    return specs;
}

struct topics_spec *topics_essentials(const struct topics_plan *plan, bool submissions,
                                      size_t *ret_count)
{
    const struct topics *topics = plan->topics;
    const char *const names[] = {topics->commands, topics->events, topics->submissions};
    size_t count = submissions ? 3 : 2;
    struct topics_spec *specs = calloc(count, sizeof(*specs));
    assert(specs != NULL);
    for (size_t i = 0; i < count; i++) {
        specs[i].keyed = true;
        snprintf(specs[i].name, sizeof(specs[i].name), "%s", names[i]);
        set(&specs[i], "message.timestamp.type", "LogAppendTime");
        set(&specs[i], "unclean.leader.election.enable", "false");
        set(&specs[i], "cleanup.policy", "delete");
        set_number(&specs[i], "max.message.bytes", RECORD_BYTES_MAX + MESSAGE_SLACK_BYTES);
        specs[i].settings[specs[i].setting_count - 1].at_most = INT64_MAX;
    }
    set_number(&specs[1], "retention.ms", FOR_EVER);
    set_number(&specs[1], "retention.bytes", -1);
    *ret_count = count;
    return specs;
}
