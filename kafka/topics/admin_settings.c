/* SPDX-License-Identifier: Apache-2.0 */
/* The settings of topics: compared with what reeve needs, and corrected. */
#include "kafka/topics/admin.h"

#include "kafka/client_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static const struct topics_spec *spec_of(const struct topics_admin *admin, const char *name)
{
    for (size_t i = 0; i < admin->spec_count; i++) {
        if (strcmp(admin->specs[i].name, name) == 0)
            return &admin->specs[i];
    }
    return NULL;
}

/* New: the settings of all specified topics that exist; NULL and no error if none does. */
static rd_kafka_event_t *describe(struct topics_admin *admin, struct error *ret_error)
{
    rd_kafka_ConfigResource_t **resources =
        calloc(admin->spec_count + 1, sizeof(rd_kafka_ConfigResource_t *));
    size_t count = 0;
    rd_kafka_event_t *event = NULL;
    assert(resources != NULL);
    ret_error->class = ERROR_OK;
    for (size_t i = 0; i < admin->spec_count; i++) {
        if (topics_admin_find(admin, admin->specs[i].name) != NULL)
            resources[count++] =
                rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, admin->specs[i].name);
    }
    if (count > 0) {
        rd_kafka_AdminOptions_t *options =
            topics_admin_options(admin, RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS);
        rd_kafka_DescribeConfigs(admin->rk, resources, count, options, admin->queue);
        rd_kafka_AdminOptions_destroy(options);
        event = topics_admin_await(admin, "describe topics", ret_error);
    }
    rd_kafka_ConfigResource_destroy_array(resources, count);
    free(resources);
    return event;
}

static const char *value_of(const rd_kafka_ConfigResource_t *resource, const char *name)
{
    size_t count;
    const rd_kafka_ConfigEntry_t **entries = rd_kafka_ConfigResource_configs(resource, &count);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(rd_kafka_ConfigEntry_name(entries[i]), name) == 0)
            return rd_kafka_ConfigEntry_value(entries[i]);
    }
    return NULL;
}

/* Reports the settings that differ; returns their number. */
static size_t compare(struct topics_admin *admin, const struct topics_spec *spec,
                      const rd_kafka_ConfigResource_t *resource, enum topics_finding finding)
{
    size_t differences = 0;
    for (size_t i = 0; i < spec->setting_count; i++) {
        const struct topics_setting *setting = &spec->settings[i];
        const char *value = value_of(resource, setting->name);
        enum topics_match match = topics_setting_match(setting, value);
        if (match == TOPICS_MATCH)
            continue;
        bool too_low = match == TOPICS_MATCH_NOT && setting->at_most > 0;
        differences++;
        topics_admin_report(admin, finding, spec->name,
                            finding == TOPICS_CHANGED ? "%s was %s, is now %s"
                            : too_low                 ? "%s is %s; expected at least %s"
                                                      : "%s is %s; expected %s",
                            setting->name, value != NULL ? value : "not set", setting->value);
    }
    return differences;
}

static enum error_class refuse_weaker(const struct topics_admin *admin,
                                      const rd_kafka_ConfigResource_t *const *resources,
                                      size_t count, struct error *ret_error)
{
    for (size_t i = 0; i < count && !admin->plan->allow_weaker; i++) {
        const struct topics_spec *spec = spec_of(admin, rd_kafka_ConfigResource_name(resources[i]));
        for (size_t at = 0; spec != NULL && at < spec->setting_count; at++) {
            const struct topics_setting *setting = &spec->settings[at];
            const char *value = value_of(resources[i], setting->name);
            if (topics_setting_match(setting, value) == TOPICS_MATCH_STRONGER)
                return error_set(ret_error, CODE_WEAKER_DURABILITY,
                                 "%s of %s is %s and would become %s; nothing was changed: correct "
                                 "replication.factor, or lower it with --allow-weaker",
                                 setting->name, spec->name, value, setting->value);
        }
    }
    return ERROR_OK;
}

static bool has_setting(const struct topics_spec *spec, const char *setting)
{
    for (size_t i = 0; i < spec->setting_count; i++) {
        if (strcmp(spec->settings[i].name, setting) == 0)
            return true;
    }
    return false;
}

/* New: the topic's own settings, also those that are as good as the specified ones, and what is
 * specified, since altering replaces all. No name twice: librdkafka would send both, and brokers
 * reject that. */
static rd_kafka_ConfigResource_t *merged(const struct topics_spec *spec,
                                         const rd_kafka_ConfigResource_t *resource)
{
    size_t count;
    const rd_kafka_ConfigEntry_t **entries = rd_kafka_ConfigResource_configs(resource, &count);
    rd_kafka_ConfigResource_t *merge =
        rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, spec->name);
    for (size_t i = 0; i < count; i++) {
        const char *name = rd_kafka_ConfigEntry_name(entries[i]);
        bool set =
            rd_kafka_ConfigEntry_source(entries[i]) == RD_KAFKA_CONFIG_SOURCE_DYNAMIC_TOPIC_CONFIG;
        if (set && !has_setting(spec, name))
            rd_kafka_ConfigResource_set_config(merge, name, rd_kafka_ConfigEntry_value(entries[i]));
    }
    for (size_t i = 0; i < spec->setting_count; i++) {
        const struct topics_setting *setting = &spec->settings[i];
        const char *value = value_of(resource, setting->name);
        if (topics_setting_match(setting, value) != TOPICS_MATCH)
            value = setting->value;
        rd_kafka_ConfigResource_set_config(merge, setting->name, value);
    }
    return merge;
}

static enum error_class check_altered(rd_kafka_event_t *event, struct error *ret_error)
{
    size_t count;
    const rd_kafka_ConfigResource_t **resources =
        rd_kafka_AlterConfigs_result_resources(rd_kafka_event_AlterConfigs_result(event), &count);
    for (size_t i = 0; i < count; i++) {
        rd_kafka_resp_err_t code = rd_kafka_ConfigResource_error(resources[i]);
        if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
            return error_set_as(ret_error, kafka_error_class(code), CODE_TOPICS,
                                "cannot change %s: %s", rd_kafka_ConfigResource_name(resources[i]),
                                rd_kafka_ConfigResource_error_string(resources[i]));
    }
    return ERROR_OK;
}

static enum error_class alter(struct topics_admin *admin, rd_kafka_ConfigResource_t **changes,
                              size_t count, struct error *ret_error)
{
    if (count == 0)
        return ERROR_OK;
    rd_kafka_AdminOptions_t *options = topics_admin_options(admin, RD_KAFKA_ADMIN_OP_ALTERCONFIGS);
    rd_kafka_AlterConfigs(admin->rk, changes, count, options, admin->queue);
    rd_kafka_AdminOptions_destroy(options);
    rd_kafka_event_t *event = topics_admin_await(admin, "change topics", ret_error);
    enum error_class class = event != NULL ? check_altered(event, ret_error) : ERROR_RETRY;
    rd_kafka_event_destroy(event);
    return class;
}

enum error_class topics_admin_check_settings(struct topics_admin *admin, bool correct,
                                             size_t *ret_count, struct error *ret_error)
{
    struct error error;
    *ret_count = 0;
    rd_kafka_event_t *event = describe(admin, &error);
    if (event == NULL && error.class != ERROR_OK)
        *ret_error = error;
    if (event == NULL)
        return error.class;
    size_t count;
    size_t change_count = 0;
    enum error_class class = ERROR_OK;
    const rd_kafka_ConfigResource_t **resources = rd_kafka_DescribeConfigs_result_resources(
        rd_kafka_event_DescribeConfigs_result(event), &count);
    rd_kafka_ConfigResource_t **changes = calloc(count + 1, sizeof(rd_kafka_ConfigResource_t *));
    assert(changes != NULL);
    if (correct)
        class = refuse_weaker(admin, resources, count, ret_error);
    for (size_t i = 0; i < count && class == ERROR_OK; i++) {
        const char *name = rd_kafka_ConfigResource_name(resources[i]);
        const struct topics_spec *spec = spec_of(admin, name);
        rd_kafka_resp_err_t code = rd_kafka_ConfigResource_error(resources[i]);
        if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
            class = error_set_as(
                ret_error, kafka_error_class(code),
                code == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED ? CODE_DENIED : CODE_TOPICS,
                "describe %s: %s", name, rd_kafka_ConfigResource_error_string(resources[i]));
        else if (spec != NULL &&
                 compare(admin, spec, resources[i], correct ? TOPICS_CHANGED : TOPICS_DIFFERS) > 0)
            changes[change_count++] = merged(spec, resources[i]);
    }
    if (class == ERROR_OK && correct)
        class = alter(admin, changes, change_count, ret_error);
    *ret_count = change_count;
    rd_kafka_ConfigResource_destroy_array(changes, change_count);
    free(changes);
    rd_kafka_event_destroy(event);
    return class;
}
