/* SPDX-License-Identifier: Apache-2.0 */
/* See catalogue.h. A line of the journal is one of
 *   {"cluster": ID}
 *   {"topic": NAME, "partitions": N}                        created, or grown
 *   {"topic": NAME, "setting": NAME, "value": TEXT|null}
 *   {"topic": NAME, "partition": P, "start": OFFSET, "position": BYTE}
 *   {"topic": NAME, "deleted": true}
 *   {"group": NAME, "topic": NAME, "partition": P, "offset": N, "metadata": TEXT}
 *   {"group": NAME, "deleted": true}
 */
#include "kafka/embedded/catalogue.h"

#include "base/base64.h"
#include "kafka/embedded/journal.h"
#include "platform/files.h"

#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

enum { CLUSTER_ID_SIZE = 23 };

struct catalogue {
    char *directory; /* NULL: none */
    int lock;
    uint64_t partition_bytes_max;
    char cluster_id[CLUSTER_ID_SIZE];
    struct topic *topics;
    size_t partition_count; /* of all topics */
    struct offsets offsets;
    struct journal journal;
};

/* ---- topics in memory ---- */

struct topic *catalogue_topic(const struct catalogue *catalogue, struct text name)
{
    struct topic *topic;
    HASH_FIND(hh, catalogue->topics, name.data, name.size, topic);
    return topic;
}

struct topic *catalogue_next(const struct catalogue *catalogue, const struct topic *after)
{
    return after == NULL ? catalogue->topics : after->hh.next;
}

struct partition_log *catalogue_partition(const struct catalogue *catalogue, struct text topic,
                                          int32_t partition)
{
    const struct topic *found = catalogue_topic(catalogue, topic);
    return found != NULL && partition >= 0 && partition < found->partition_count
               ? found->partitions[partition].log
               : NULL;
}

static struct topic *add_topic(struct catalogue *catalogue, struct text name)
{
    struct topic *topic = calloc(1, sizeof(*topic));
    assert(topic != NULL && name.size <= CATALOGUE_TOPIC_NAME_MAX);
    memcpy(topic->name, name.data, name.size);
    HASH_ADD_KEYPTR(hh, catalogue->topics, topic->name, name.size, topic);
    return topic;
}

/* The new ones are not open. */
static void add_partitions(struct catalogue *catalogue, struct topic *topic, int32_t count)
{
    size_t more = (size_t)(count - topic->partition_count);
    topic->partitions = realloc(topic->partitions, (size_t)count * sizeof(*topic->partitions));
    assert(count > topic->partition_count && topic->partitions != NULL);
    memset(topic->partitions + topic->partition_count, 0, more * sizeof(*topic->partitions));
    topic->partition_count = count;
    catalogue->partition_count += more;
}

static void unset(struct topic *topic, size_t index)
{
    free(topic->settings[index].name);
    free(topic->settings[index].value);
    topic->settings[index] = topic->settings[--topic->setting_count];
}

static size_t find_setting(const struct topic *topic, struct text name)
{
    size_t index = 0;
    while (index < topic->setting_count && !text_equal(text_of(topic->settings[index].name), name))
        index++;
    return index;
}

const char *topic_setting(const struct topic *topic, const char *name)
{
    size_t index = find_setting(topic, text_of(name));
    return index < topic->setting_count ? topic->settings[index].value : NULL;
}

bool topic_has_append_time(const struct topic *topic)
{
    const char *type = topic_setting(topic, "message.timestamp.type");
    return type != NULL && strcmp(type, "LogAppendTime") == 0;
}

static char *copy(struct text text)
{
    char *string = strndup(text.data, text.size);
    assert(string != NULL);
    return string;
}

/* False: there are too many. */
static bool set(struct topic *topic, struct text name, struct text value)
{
    size_t index = find_setting(topic, name);
    if (index < topic->setting_count)
        unset(topic, index);
    if (value.data == NULL)
        return true;
    if (topic->setting_count == CATALOGUE_SETTINGS_MAX)
        return false;
    topic->settings[topic->setting_count++] =
        (struct topic_setting){.name = copy(name), .value = copy(value)};
    return true;
}

static void remove_topic(struct catalogue *catalogue, struct topic *topic)
{
    for (int32_t i = 0; i < topic->partition_count; i++)
        partition_log_close(topic->partitions[i].log);
    while (topic->setting_count > 0)
        unset(topic, 0);
    catalogue->partition_count -= (size_t)topic->partition_count;
    HASH_DEL(catalogue->topics, topic);
    free(topic->partitions);
    free(topic);
}

/* ---- the journal ---- */

static struct text string_of(const json_t *line, const char *key)
{
    const json_t *value = json_object_get(line, key);
    return (struct text){json_string_value(value), (uint32_t)json_string_length(value)};
}

static int64_t number_of(const json_t *line, const char *key)
{
    return json_integer_value(json_object_get(line, key));
}

static bool has(const json_t *line, const char *key)
{
    return json_object_get(line, key) != NULL;
}

static void fold_partition(struct topic *topic, const json_t *line)
{
    int64_t partition = number_of(line, "partition");
    if (partition < 0 || partition >= topic->partition_count)
        return;
    topic->partitions[partition].start = (struct partition_log_start){
        .offset = number_of(line, "start"), .position = (uint64_t)number_of(line, "position")};
}

static void fold_topic(struct catalogue *catalogue, const json_t *line)
{
    struct text name = string_of(line, "topic");
    struct topic *topic = catalogue_topic(catalogue, name);
    int64_t count = number_of(line, "partitions");
    bool may_grow =
        count > (topic != NULL ? topic->partition_count : 0) && count <= CATALOGUE_PARTITIONS_MAX;
    if (may_grow && topic == NULL && name.size > 0 && name.size <= CATALOGUE_TOPIC_NAME_MAX)
        topic = add_topic(catalogue, name);
    if (topic == NULL)
        return;
    if (may_grow)
        add_partitions(catalogue, topic, (int32_t)count);
    else if (has(line, "setting"))
        set(topic, string_of(line, "setting"), string_of(line, "value"));
    else if (has(line, "start"))
        fold_partition(topic, line);
    else if (has(line, "deleted")) {
        offsets_forget(&catalogue->offsets, (struct text){0}, name);
        remove_topic(catalogue, topic);
    }
}

static void fold_line(void *ctx, const json_t *line)
{
    struct catalogue *catalogue = ctx;
    struct text group = string_of(line, "group");
    struct text topic = string_of(line, "topic");
    if (has(line, "cluster"))
        snprintf(catalogue->cluster_id, sizeof(catalogue->cluster_id), "%.*s",
                 TEXT_ARG(string_of(line, "cluster")));
    else if (group.data == NULL)
        fold_topic(catalogue, line);
    else if (has(line, "deleted"))
        offsets_forget(&catalogue->offsets, group, (struct text){0});
    else if (group.size <= INT16_MAX && topic.size <= INT16_MAX)
        offsets_set(&catalogue->offsets, group, topic, (int32_t)number_of(line, "partition"),
                    number_of(line, "offset"), string_of(line, "metadata"));
}

static json_t *topic_line(const struct topic *topic)
{
    return json_pack("{s:s, s:i}", "topic", topic->name, "partitions", topic->partition_count);
}

static json_t *setting_line(const struct topic *topic, struct text name, struct text value)
{
    return json_pack("{s:s, s:o, s:o}", "topic", topic->name, "setting",
                     json_stringn(name.data, name.size), "value",
                     value.data != NULL ? json_stringn(value.data, value.size) : json_null());
}

static json_t *start_line(const struct topic *topic, int32_t partition,
                          struct partition_log_start start)
{
    return json_pack("{s:s, s:i, s:I, s:I}", "topic", topic->name, "partition", partition, "start",
                     (json_int_t)start.offset, "position", (json_int_t)start.position);
}

static json_t *offset_line(struct text group, struct text topic, int32_t partition, int64_t offset,
                           struct text metadata)
{
    return json_pack("{s:o, s:o, s:i, s:I, s:o}", "group", json_stringn(group.data, group.size),
                     "topic", json_stringn(topic.data, topic.size), "partition", partition,
                     "offset", (json_int_t)offset, "metadata",
                     json_stringn(metadata.size > 0 ? metadata.data : "", metadata.size));
}

static void print_topic(struct buffer *lines, const struct topic *topic)
{
    journal_print(lines, topic_line(topic));
    for (size_t i = 0; i < topic->setting_count; i++)
        journal_print(lines, setting_line(topic, text_of(topic->settings[i].name),
                                          text_of(topic->settings[i].value)));
    for (int32_t i = 0; i < topic->partition_count; i++) {
        const struct kept_partition *partition = &topic->partitions[i];
        struct partition_log_start start =
            partition->log != NULL ? partition_log_start(partition->log) : partition->start;
        if (start.offset > 0)
            journal_print(lines, start_line(topic, i, start));
    }
}

static enum error_class rewrite(struct catalogue *catalogue, struct error *ret_error)
{
    struct buffer lines = {0};
    journal_print(&lines, json_pack("{s:s}", "cluster", catalogue->cluster_id));
    for (const struct topic *topic = NULL; (topic = catalogue_next(catalogue, topic)) != NULL;)
        print_topic(&lines, topic);
    for (const struct offset_row *row = NULL;
         (row = offsets_next(&catalogue->offsets, row)) != NULL;)
        journal_print(&lines, offset_line(row->group, row->topic, row->partition, row->offset,
                                          text_of(row->metadata)));
    enum error_class class = journal_rewrite(&catalogue->journal, &lines, ret_error);
    buffer_deinit(&lines);
    return class;
}

/* Steals `line`. */
static rd_kafka_resp_err_t record(struct catalogue *catalogue, json_t *line)
{
    if (line == NULL) /* jansson refuses what is not UTF-8 */
        return RD_KAFKA_RESP_ERR_INVALID_REQUEST;
    if (!journal_add(&catalogue->journal, line))
        return RD_KAFKA_RESP_ERR_KAFKA_STORAGE_ERROR;
    if (journal_is_long(&catalogue->journal))
        rewrite(catalogue, NULL); /* if that fails, it stays as long as it is */
    return RD_KAFKA_RESP_ERR_NO_ERROR;
}

/* ---- opening ---- */

static char *path_of(const struct catalogue *catalogue, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* New; NULL if nothing is kept. */
static char *path_of(const struct catalogue *catalogue, const char *format, ...)
{
    char name[PATH_MAX];
    char *path = NULL;
    va_list arguments;
    if (catalogue->directory == NULL)
        return NULL;
    va_start(arguments, format);
    vsnprintf(name, sizeof(name), format, arguments);
    va_end(arguments);
    int size = asprintf(&path, "%s/%s", catalogue->directory, name);
    assert(size > 0);
    return path;
}

static char *log_path(const struct catalogue *catalogue, const struct topic *topic,
                      int32_t partition)
{
    return path_of(catalogue, "%s-%" PRId32 ".log", topic->name, partition);
}

static enum error_class open_logs(struct catalogue *catalogue, struct topic *topic,
                                  struct error *ret_error)
{
    enum error_class class = ERROR_OK;
    for (int32_t i = 0; i < topic->partition_count && class == ERROR_OK; i++) {
        struct kept_partition *partition = &topic->partitions[i];
        char *path = log_path(catalogue, topic, i);
        if (partition->log == NULL)
            class = partition_log_open(path, partition->start, catalogue->partition_bytes_max,
                                       &partition->log, ret_error);
        free(path);
    }
    return class;
}

static enum error_class read_journal(struct catalogue *catalogue, struct error *ret_error)
{
    char *path = path_of(catalogue, "journal");
    enum error_class class =
        journal_open(&catalogue->journal, path, fold_line, catalogue, ret_error);
    free(path);
    return class;
}

static void name_cluster(struct catalogue *catalogue)
{
    char bytes[16];
    if (catalogue->cluster_id[0] != '\0')
        return;
    ssize_t size = getrandom(bytes, sizeof(bytes), 0);
    assert(size == sizeof(bytes));
    base64_encode((struct text){bytes, sizeof(bytes)}, catalogue->cluster_id);
}

enum error_class catalogue_open(const char *directory, uint64_t partition_bytes_max,
                                struct catalogue **ret_catalogue, struct error *ret_error)
{
    struct catalogue *catalogue = calloc(1, sizeof(*catalogue));
    enum error_class class = ERROR_OK;
    assert(catalogue != NULL);
    catalogue->lock = -1;
    catalogue->partition_bytes_max = partition_bytes_max;
    catalogue->journal.fd = -1;
    if (directory != NULL) {
        catalogue->directory = strdup(directory);
        assert(catalogue->directory != NULL);
        class = files_lock(directory, &catalogue->lock, ret_error);
    }
    if (class == ERROR_OK)
        class = read_journal(catalogue, ret_error);
    name_cluster(catalogue);
    for (struct topic *topic = NULL;
         class == ERROR_OK && (topic = catalogue_next(catalogue, topic)) != NULL;)
        class = open_logs(catalogue, topic, ret_error);
    if (class == ERROR_OK)
        class = rewrite(catalogue, ret_error);
    if (class == ERROR_OK)
        *ret_catalogue = catalogue;
    else
        catalogue_close(catalogue);
    return class;
}

void catalogue_close(struct catalogue *catalogue)
{
    struct topic *topic;
    struct topic *next;
    if (catalogue == NULL)
        return;
    HASH_ITER(hh, catalogue->topics, topic, next)
        remove_topic(catalogue, topic);
    offsets_deinit(&catalogue->offsets);
    journal_close(&catalogue->journal);
    files_unlock(catalogue->lock);
    free(catalogue->directory);
    free(catalogue);
}

const char *catalogue_cluster_id(const struct catalogue *catalogue)
{
    return catalogue->cluster_id;
}

/* ---- changes ---- */

/* As Kafka's: letters, digits, '.', '_' and '-', but neither "." nor "..". */
static bool is_topic_name(struct text name)
{
    if (name.size == 0 || name.size > CATALOGUE_TOPIC_NAME_MAX || text_equal(name, TEXT(".")) ||
        text_equal(name, TEXT("..")))
        return false;
    for (uint32_t i = 0; i < name.size; i++) {
        char c = name.data[i];
        if (!isalnum((unsigned char)c) && c != '.' && c != '_' && c != '-')
            return false;
    }
    return true;
}

rd_kafka_resp_err_t catalogue_check_new(const struct catalogue *catalogue, struct text name,
                                        int32_t partitions)
{
    if (!is_topic_name(name))
        return RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION;
    if (catalogue_topic(catalogue, name) != NULL)
        return RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS;
    if (partitions < 1 ||
        catalogue->partition_count + (size_t)partitions > CATALOGUE_PARTITIONS_MAX ||
        HASH_COUNT(catalogue->topics) == CATALOGUE_TOPICS_MAX)
        return RD_KAFKA_RESP_ERR_INVALID_PARTITIONS;
    return RD_KAFKA_RESP_ERR_NO_ERROR;
}

static void delete_logs(const struct catalogue *catalogue, const struct topic *topic)
{
    for (int32_t i = 0; i < topic->partition_count; i++) {
        char *path = log_path(catalogue, topic, i);
        if (path != NULL)
            unlink(path);
        free(path);
    }
}

rd_kafka_resp_err_t catalogue_create(struct catalogue *catalogue, struct text name,
                                     int32_t partitions)
{
    struct topic *topic = add_topic(catalogue, name);
    add_partitions(catalogue, topic, partitions);
    delete_logs(catalogue, topic); /* of a topic of that name whose deletion was cut short */
    rd_kafka_resp_err_t code = open_logs(catalogue, topic, NULL) == ERROR_OK
                                   ? record(catalogue, topic_line(topic))
                                   : RD_KAFKA_RESP_ERR_KAFKA_STORAGE_ERROR;
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
        remove_topic(catalogue, topic);
    return code;
}

rd_kafka_resp_err_t catalogue_grow(struct catalogue *catalogue, struct topic *topic,
                                   int32_t partitions)
{
    if (partitions <= topic->partition_count ||
        catalogue->partition_count + (size_t)(partitions - topic->partition_count) >
            CATALOGUE_PARTITIONS_MAX)
        return RD_KAFKA_RESP_ERR_INVALID_PARTITIONS;
    add_partitions(catalogue, topic, partitions);
    return open_logs(catalogue, topic, NULL) == ERROR_OK ? record(catalogue, topic_line(topic))
                                                         : RD_KAFKA_RESP_ERR_KAFKA_STORAGE_ERROR;
}

rd_kafka_resp_err_t catalogue_set(struct catalogue *catalogue, struct topic *topic,
                                  struct text name, struct text value)
{
    json_t *line = setting_line(topic, name, value);
    if (line == NULL || memchr(name.data, '\0', name.size) != NULL ||
        (value.size > 0 && memchr(value.data, '\0', value.size) != NULL) ||
        !set(topic, name, value)) {
        json_decref(line);
        return RD_KAFKA_RESP_ERR_INVALID_CONFIG;
    }
    return record(catalogue, line);
}

rd_kafka_resp_err_t catalogue_delete(struct catalogue *catalogue, struct topic *topic)
{
    rd_kafka_resp_err_t code =
        record(catalogue, json_pack("{s:s, s:b}", "topic", topic->name, "deleted", 1));
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
        return code;
    delete_logs(catalogue, topic);
    offsets_forget(&catalogue->offsets, (struct text){0}, text_of(topic->name));
    remove_topic(catalogue, topic);
    return code;
}

rd_kafka_resp_err_t catalogue_delete_records(struct catalogue *catalogue, struct topic *topic,
                                             int32_t partition, int64_t offset)
{
    struct partition_log *log = topic->partitions[partition].log;
    if (offset <= partition_log_start(log).offset)
        return RD_KAFKA_RESP_ERR_NO_ERROR;
    partition_log_delete(log, offset);
    return record(catalogue, start_line(topic, partition, partition_log_start(log)));
}

void catalogue_expire(struct catalogue *catalogue, int64_t now_ms)
{
    for (struct topic *topic = NULL; (topic = catalogue_next(catalogue, topic)) != NULL;) {
        const char *policy = topic_setting(topic, "cleanup.policy");
        const char *retention = topic_setting(topic, "retention.ms");
        int64_t kept_ms = retention != NULL ? strtoll(retention, NULL, 10) : -1;
        if (kept_ms < 0 || (policy != NULL && strcmp(policy, "delete") != 0))
            continue;
        for (int32_t i = 0; i < topic->partition_count; i++)
            catalogue_delete_records(
                catalogue, topic, i,
                partition_log_older(topic->partitions[i].log, now_ms - kept_ms));
    }
}

/* ---- offsets ---- */

const struct offsets *catalogue_offsets(const struct catalogue *catalogue)
{
    return &catalogue->offsets;
}

rd_kafka_resp_err_t catalogue_commit(struct catalogue *catalogue, struct text group,
                                     struct text topic, int32_t partition, int64_t offset,
                                     struct text metadata)
{
    rd_kafka_resp_err_t code =
        record(catalogue, offset_line(group, topic, partition, offset, metadata));
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
        return code;
    return offsets_set(&catalogue->offsets, group, topic, partition, offset, metadata)
               ? RD_KAFKA_RESP_ERR_NO_ERROR
               : RD_KAFKA_RESP_ERR_POLICY_VIOLATION;
}

rd_kafka_resp_err_t catalogue_forget_group(struct catalogue *catalogue, struct text group)
{
    if (!offsets_forget(&catalogue->offsets, group, (struct text){0}))
        return RD_KAFKA_RESP_ERR_GROUP_ID_NOT_FOUND;
    return record(catalogue, json_pack("{s:o, s:b}", "group", json_stringn(group.data, group.size),
                                       "deleted", 1));
}
