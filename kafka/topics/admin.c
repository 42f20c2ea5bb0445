/* SPDX-License-Identifier: Apache-2.0 */
/* Creates, corrects and checks topics with librdkafka's admin API. Blocks; has a client of its own.
 * Their settings: admin_settings.c. */
#include "kafka/topics/admin.h"

#include "kafka/client_internal.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TIMEOUT_MS = 15000, SETTLE_MS = 100, SETTLE_TRIES = 50, REASON_SIZE = 256, LINE_SIZE = 512 };

static enum error_class open_admin(struct topics_admin *admin, struct error *ret_error)
{
    enum error_class class = topics_client_open(&admin->client, admin->plan->kafka, ret_error);
    if (class != ERROR_OK)
        return class;
    admin->rk = admin->client.rk;
    admin->queue = rd_kafka_queue_new(admin->rk);
    admin->timeout_ms = admin->plan->timeout_ms > 0 ? admin->plan->timeout_ms : TIMEOUT_MS;
    return ERROR_OK;
}

static void close_admin(struct topics_admin *admin)
{
    free(admin->specs);
    if (admin->metadata != NULL)
        rd_kafka_metadata_destroy(admin->metadata);
    if (admin->queue != NULL)
        rd_kafka_queue_destroy(admin->queue);
    topics_client_close(&admin->client);
}

static enum error_class read_metadata(struct topics_admin *admin, struct error *ret_error)
{
    if (admin->metadata != NULL)
        rd_kafka_metadata_destroy(admin->metadata);
    admin->metadata = NULL;
    return topics_client_metadata(&admin->client, admin->timeout_ms, &admin->metadata, ret_error);
}

const struct rd_kafka_metadata_topic *topics_admin_find(const struct topics_admin *admin,
                                                        const char *name)
{
    for (int i = 0; i < admin->metadata->topic_cnt; i++) {
        const struct rd_kafka_metadata_topic *topic = &admin->metadata->topics[i];
        if (strcmp(topic->topic, name) == 0 && topic->partition_cnt > 0)
            return topic;
    }
    return NULL;
}

/* Of commands, once it exists. 0 = unknown. */
static int32_t commands_replicas(const struct topics_admin *admin)
{
    const struct rd_kafka_metadata_topic *commands =
        topics_admin_find(admin, admin->plan->topics->commands);
    return commands != NULL ? commands->partitions[0].replica_cnt : 0;
}

/* Of the topics that are missing. */
static int32_t new_replicas(const struct topics_admin *admin)
{
    int32_t replicas = admin->plan->replication_factor;
    if (replicas == 0)
        replicas = commands_replicas(admin);
    return replicas > 0 ? replicas : 1;
}

static void set_replicas(struct topics_admin *admin)
{
    for (size_t i = 0; i < admin->spec_count; i++) {
        const struct rd_kafka_metadata_topic *topic =
            topics_admin_find(admin, admin->specs[i].name);
        topics_spec_set_replicas(&admin->specs[i],
                                 topic != NULL ? topic->partitions[0].replica_cnt
                                               : new_replicas(admin),
                                 admin->plan->replication_factor);
    }
}

static void read_specs(struct topics_admin *admin)
{
    size_t count = (size_t)admin->metadata->topic_cnt;
    const char **names = calloc(count + 1, sizeof(*names));
    assert(names != NULL);
    for (size_t i = 0; i < count; i++)
        names[i] = admin->metadata->topics[i].topic;
    free(admin->specs);
    admin->specs = topics_specs(admin->plan, names, count, &admin->spec_count);
    free(names);
    set_replicas(admin);
}

rd_kafka_event_t *topics_admin_await(struct topics_admin *admin, const char *what,
                                     struct error *ret_error)
{
    rd_kafka_event_t *event = rd_kafka_queue_poll(admin->queue, admin->timeout_ms + 1000);
    if (event != NULL && rd_kafka_event_error(event) == RD_KAFKA_RESP_ERR_NO_ERROR)
        return event;
    rd_kafka_resp_err_t code =
        event != NULL ? rd_kafka_event_error(event) : RD_KAFKA_RESP_ERR__TIMED_OUT;
    error_set_as(ret_error, kafka_error_class(code), CODE_TOPICS, "%s: %s", what,
                 event != NULL ? rd_kafka_event_error_string(event) : rd_kafka_err2str(code));
    rd_kafka_event_destroy(event);
    return NULL;
}

rd_kafka_AdminOptions_t *topics_admin_options(struct topics_admin *admin, rd_kafka_admin_op_t op)
{
    char reason[REASON_SIZE];
    rd_kafka_AdminOptions_t *options = rd_kafka_AdminOptions_new(admin->rk, op);
    rd_kafka_resp_err_t code = rd_kafka_AdminOptions_set_request_timeout(options, admin->timeout_ms,
                                                                         reason, sizeof(reason));
    assert(code == RD_KAFKA_RESP_ERR_NO_ERROR);
    if (op == RD_KAFKA_ADMIN_OP_CREATETOPICS)
        code = rd_kafka_AdminOptions_set_operation_timeout(options, admin->timeout_ms, reason,
                                                           sizeof(reason));
    assert(code == RD_KAFKA_RESP_ERR_NO_ERROR);
    return options;
}

void topics_admin_report(struct topics_admin *admin, enum topics_finding finding, const char *topic,
                         const char *format, ...)
{
    char rest[LINE_SIZE];
    char line[LINE_SIZE + TOPIC_NAME_SIZE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(rest, sizeof(rest), format, arguments);
    va_end(arguments);
    snprintf(line, sizeof(line), "%s: %s", topic, rest);
    if (admin->report != NULL)
        admin->report(admin->ctx, finding, topic, line);
}

/* N: that of commands, once it exists. 0 = unknown. */
static int32_t keyed_count(const struct topics_admin *admin)
{
    const struct rd_kafka_metadata_topic *commands =
        topics_admin_find(admin, admin->plan->topics->commands);
    return commands != NULL ? commands->partition_cnt : admin->plan->partitions;
}

/* ---- creating ---- */

/* Names the fix; the broker would only report "invalid replication factor". */
static enum error_class check_brokers(const struct topics_admin *admin, struct error *ret_error)
{
    int brokers = admin->metadata->broker_cnt;
    if (brokers >= new_replicas(admin))
        return ERROR_OK;
    return error_set(ret_error, CODE_TOO_FEW_BROKERS,
                     "replication.factor is %" PRId32 ", but only %d broker%s up: start the "
                     "others, or set a lower factor",
                     new_replicas(admin), brokers, brokers == 1 ? " is" : "s are");
}

/* Orders go through all topics: none is less durable than commands. */
static enum error_class check_factor(const struct topics_admin *admin, struct error *ret_error)
{
    if (admin->plan->allow_weaker || new_replicas(admin) >= commands_replicas(admin))
        return ERROR_OK;
    return error_set(ret_error, CODE_WEAKER_DURABILITY,
                     "replication.factor is %" PRId32 ", but %s has %" PRId32
                     " replicas; nothing was changed: leave replication.factor out, or create "
                     "topics with fewer replicas with --allow-weaker",
                     new_replicas(admin), admin->plan->topics->commands, commands_replicas(admin));
}

static rd_kafka_NewTopic_t *new_topic(const struct topics_admin *admin,
                                      const struct topics_spec *spec)
{
    char reason[REASON_SIZE];
    rd_kafka_NewTopic_t *topic =
        rd_kafka_NewTopic_new(spec->name, spec->keyed ? keyed_count(admin) : 1, new_replicas(admin),
                              reason, sizeof(reason));
    assert(topic != NULL);
    for (size_t i = 0; i < spec->setting_count; i++) {
        rd_kafka_resp_err_t code =
            rd_kafka_NewTopic_set_config(topic, spec->settings[i].name, spec->settings[i].value);
        assert(code == RD_KAFKA_RESP_ERR_NO_ERROR);
    }
    return topic;
}

static enum error_class report_created(struct topics_admin *admin, rd_kafka_event_t *event,
                                       struct error *ret_error)
{
    size_t count;
    const rd_kafka_topic_result_t **results =
        rd_kafka_CreateTopics_result_topics(rd_kafka_event_CreateTopics_result(event), &count);
    for (size_t i = 0; i < count; i++) {
        rd_kafka_resp_err_t code = rd_kafka_topic_result_error(results[i]);
        const char *name = rd_kafka_topic_result_name(results[i]);
        if (code == RD_KAFKA_RESP_ERR_NO_ERROR)
            topics_admin_report(admin, TOPICS_CREATED, name, "created");
        else if (code != RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS) /* another process made it */
            return error_set_as(ret_error, kafka_error_class(code), CODE_TOPICS,
                                "cannot create %s: %s", name,
                                rd_kafka_topic_result_error_string(results[i]));
    }
    return ERROR_OK;
}

static enum error_class create_missing(struct topics_admin *admin, struct error *ret_error)
{
    rd_kafka_NewTopic_t **topics = calloc(admin->spec_count, sizeof(rd_kafka_NewTopic_t *));
    size_t count = 0;
    enum error_class class = ERROR_OK;
    assert(topics != NULL);
    for (size_t i = 0; i < admin->spec_count; i++) {
        if (topics_admin_find(admin, admin->specs[i].name) == NULL)
            topics[count++] = new_topic(admin, &admin->specs[i]);
    }
    if (count > 0)
        class = check_brokers(admin, ret_error);
    if (count > 0 && class == ERROR_OK) {
        rd_kafka_AdminOptions_t *options =
            topics_admin_options(admin, RD_KAFKA_ADMIN_OP_CREATETOPICS);
        rd_kafka_CreateTopics(admin->rk, topics, count, options, admin->queue);
        rd_kafka_AdminOptions_destroy(options);
        rd_kafka_event_t *event = topics_admin_await(admin, "create topics", ret_error);
        class = event != NULL ? report_created(admin, event, ret_error) : ERROR_RETRY;
        rd_kafka_event_destroy(event);
    }
    rd_kafka_NewTopic_destroy_array(topics, count);
    free(topics);
    return class;
}

/* ---- numbers of partitions and replicas ---- */

static void check_shape(struct topics_admin *admin, const struct topics_spec *spec)
{
    const struct rd_kafka_metadata_topic *topic = topics_admin_find(admin, spec->name);
    if (topic == NULL) {
        topics_admin_report(admin, TOPICS_DIFFERS, spec->name, "does not exist");
        return;
    }
    bool is_commands = strcmp(spec->name, admin->plan->topics->commands) == 0;
    int32_t wanted = !spec->keyed ? 1 : is_commands ? admin->plan->partitions : keyed_count(admin);
    /* Applications choose the partitions of their replies topics; statuses go by key. */
    if (wanted == 0 || topics_is_reply(admin->plan->topics, text_of(spec->name)))
        wanted = topic->partition_cnt;
    if (topic->partition_cnt != wanted)
        topics_admin_report(admin, TOPICS_DIFFERS, spec->name,
                            "has %d partitions; expected %" PRId32
                            " (reeve never changes it: it decides an order's partition)",
                            topic->partition_cnt, wanted);
    for (int i = 0; i < topic->partition_cnt && admin->plan->replication_factor > 0; i++) {
        if (topic->partitions[i].replica_cnt == admin->plan->replication_factor)
            continue;
        topics_admin_report(admin, TOPICS_DIFFERS, spec->name, "has %d replicas; expected %" PRId32,
                            topic->partitions[i].replica_cnt, admin->plan->replication_factor);
        break;
    }
}

static void check_shapes(struct topics_admin *admin)
{
    for (size_t i = 0; i < admin->spec_count; i++)
        check_shape(admin, &admin->specs[i]);
}

/* One line for all topics: brokers are missing; the topics themselves are correct. */
static void check_insync(struct topics_admin *admin)
{
    char text[KAFKA_TROUBLE_SIZE];
    struct kafka_shortfall shortfall = {0};
    for (size_t i = 0; i < admin->spec_count; i++) {
        const struct rd_kafka_metadata_topic *topic =
            topics_admin_find(admin, admin->specs[i].name);
        if (topic != NULL)
            kafka_shortfall_add(&shortfall, topic);
    }
    if (kafka_shortfall_text(&shortfall, admin->metadata->broker_cnt, text, sizeof(text)))
        topics_admin_report(admin, TOPICS_DIFFERS, TOPICS_BROKERS, "%s", text);
}

/* ---- apply and check ---- */

static bool all_exist(const struct topics_admin *admin)
{
    for (size_t i = 0; i < admin->spec_count; i++) {
        if (topics_admin_find(admin, admin->specs[i].name) == NULL)
            return false;
    }
    return true;
}

/* Brokers learn of a new topic or setting some time after the controller has confirmed it. */
static enum error_class check_effect(struct topics_admin *admin, bool changed, bool *ret_there,
                                     struct error *ret_error)
{
    size_t differing = 0;
    enum error_class class = read_metadata(admin, ret_error);
    *ret_there = class == ERROR_OK && all_exist(admin) &&
                 topics_known_everywhere(&admin->client.kafka, admin->metadata, admin->specs,
                                         admin->spec_count);
    if (!*ret_there || !changed)
        return class;
    topics_report report_before = admin->report;
    admin->report = NULL;
    class = topics_admin_check_settings(admin, false, &differing, ret_error);
    admin->report = report_before;
    *ret_there = differing == 0;
    return class;
}

static enum error_class await_effect(struct topics_admin *admin, bool changed,
                                     struct error *ret_error)
{
    bool there = false;
    enum error_class class = ERROR_OK;
    for (int tries = 0; class == ERROR_OK && !there && tries < SETTLE_TRIES; tries++) {
        if (tries > 0)
            rd_kafka_event_destroy(rd_kafka_queue_poll(admin->queue, SETTLE_MS));
        class = check_effect(admin, changed, &there, ret_error);
    }
    return class;
}

static enum error_class apply(struct topics_admin *admin, struct error *ret_error)
{
    size_t changed;
    enum error_class class = read_metadata(admin, ret_error);
    if (class != ERROR_OK)
        return class;
    read_specs(admin);
    if (!all_exist(admin))
        class = check_factor(admin, ret_error);
    if (class == ERROR_OK)
        class = topics_admin_check_settings(admin, true, &changed, ret_error);
    if (class == ERROR_OK)
        class = create_missing(admin, ret_error);
    if (class == ERROR_OK)
        class = await_effect(admin, changed > 0, ret_error);
    if (class == ERROR_OK)
        check_shapes(admin);
    return class;
}

enum error_class topics_apply(const struct topics_plan *plan, topics_report report_line, void *ctx,
                              struct error *ret_error)
{
    struct topics_admin admin = {.plan = plan, .report = report_line, .ctx = ctx};
    assert(plan->partitions > 0);
    enum error_class class = open_admin(&admin, ret_error);
    if (class == ERROR_OK)
        class = apply(&admin, ret_error);
    close_admin(&admin);
    return class;
}

/* Leaves the specifications of the plan's requests and replies topics. */
static void keep_named(struct topics_admin *admin)
{
    size_t named = 0;
    for (size_t i = 0; i < admin->spec_count; i++) {
        struct text name = text_of(admin->specs[i].name);
        if (topics_is_requests(admin->plan->topics, name) ||
            topics_is_reply(admin->plan->topics, name))
            admin->specs[named++] = admin->specs[i];
    }
    admin->spec_count = named;
}

static enum error_class create(struct topics_admin *admin, struct error *ret_error)
{
    enum error_class class = read_metadata(admin, ret_error);
    if (class != ERROR_OK)
        return class;
    admin->specs = topics_specs(admin->plan, NULL, 0, &admin->spec_count);
    keep_named(admin);
    set_replicas(admin);
    class = check_factor(admin, ret_error);
    if (class == ERROR_OK)
        class = create_missing(admin, ret_error);
    return class == ERROR_OK ? await_effect(admin, false, ret_error) : class;
}

enum error_class topics_create(const struct topics_plan *plan, struct error *ret_error)
{
    struct topics_admin admin = {.plan = plan};
    assert(plan->partitions > 0);
    enum error_class class = open_admin(&admin, ret_error);
    if (class == ERROR_OK)
        class = create(&admin, ret_error);
    close_admin(&admin);
    return class;
}

static enum error_class check(struct topics_admin *admin, struct error *ret_error)
{
    enum error_class class = read_metadata(admin, ret_error);
    if (class != ERROR_OK)
        return class;
    read_specs(admin);
    check_insync(admin);
    check_shapes(admin);
    return topics_admin_check_settings(admin, false, &(size_t){0}, ret_error);
}

enum error_class topics_check(const struct topics_plan *plan, topics_report report_line, void *ctx,
                              struct error *ret_error)
{
    struct topics_admin admin = {.plan = plan, .report = report_line, .ctx = ctx};
    enum error_class class = open_admin(&admin, ret_error);
    if (class == ERROR_OK)
        class = check(&admin, ret_error);
    close_admin(&admin);
    return class;
}

/* ---- at the start of a service ---- */

static void keep_first(void *ctx, enum topics_finding finding, const char *topic, const char *line)
{
    char *first = ctx;
    (void)finding;
    (void)topic;
    if (first[0] == '\0')
        snprintf(first, LINE_SIZE, "%s", line);
}

/* Services that do not need submissions may have no right to see it. */
static void list_essentials(struct topics_admin *admin)
{
    const char *submissions = admin->plan->topics->submissions;
    admin->specs = topics_essentials(admin->plan, topics_admin_find(admin, submissions) != NULL,
                                     &admin->spec_count);
    for (size_t i = 0; i < admin->spec_count; i++) {
        struct topics_spec *spec = &admin->specs[i];
        const struct rd_kafka_metadata_topic *topic = topics_admin_find(admin, spec->name);
        if (topic == NULL)
            continue;
        topics_spec_set_replicas(spec, topic->partitions[0].replica_cnt, 0);
        /* A number above that of replicas stops appends and loses nothing. */
        spec->settings[spec->setting_count - 1].at_most = INT64_MAX;
    }
}

enum error_class topics_check_start(const struct topics_plan *plan, struct error *ret_error)
{
    char first[LINE_SIZE] = "";
    struct topics_plan loose = *plan;
    struct topics_admin admin = {.plan = &loose, .report = keep_first, .ctx = first};
    loose.partitions = 0;
    loose.replication_factor = 0;
    enum error_class class = open_admin(&admin, ret_error);
    if (class == ERROR_OK)
        class = read_metadata(&admin, ret_error);
    if (class == ERROR_OK) {
        list_essentials(&admin);
        check_shapes(&admin);
        if (first[0] == '\0')
            class = topics_admin_check_settings(&admin, false, &(size_t){0}, ret_error);
    }
    if (class == ERROR_RETRY) /* a caller that tries again does not spin */
        rd_kafka_event_destroy(rd_kafka_queue_poll(admin.queue, SETTLE_MS));
    close_admin(&admin);
    if (class != ERROR_OK || first[0] == '\0')
        return class;
    return error_set(
        ret_error, CODE_TOPICS,
        "%.300s; `reeve topics check` lists all differences, `reeve topics apply` fixes them",
        first);
}
