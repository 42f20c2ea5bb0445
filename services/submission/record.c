/* SPDX-License-Identifier: Apache-2.0 */
/* What follows from one record of submissions: a command, or a dead letter and a status. */
#include "services/submission/partition_internal.h"

#include "base/utf8.h"
#include "platform/logger.h"
#include "replica/cluster/reply_format.h"
#include "replica/service/order_traces.h"
#include "schemas/json/kafka_json.h"

#include <inttypes.h>
#include <stdio.h>

/* RETRY leaves no trace. */
static enum error_class appended(struct submission_partition *partition, uint64_t sequence,
                                 enum error_class class)
{
    if (class == ERROR_OK) {
        submission_partition_slot(partition, sequence)->pending++;
        partition->calls++;
    }
    return class;
}

static enum record_wait accept_record(struct submission_partition *partition, uint64_t sequence,
                                      struct validation *validation)
{
    struct submission *submission = partition->submission;
    enum error_class class = appended(
        partition, sequence,
        submission_append(submission, &validation->command, submission_partition_appended,
                          partition, append_token(sequence, APPEND_COMMAND), &validation->error));
    if (class != ERROR_OK)
        return RECORD_WAIT_PRODUCER;
    metrics_add(submission->metrics.accepted_kafka, 1);
    return RECORD_WAIT_NONE;
}

static bool has_waited_long(const struct submission_partition *partition, uint64_t sequence)
{
    int64_t waited_us = clock_mono_us(partition->submission->service->clock) -
                        submission_partition_slot(partition, sequence)->received_us;
    return waited_us >= PARTITION_STATUS_MS * INT64_C(1000);
}

bool submission_record_status_is_due(const struct submission_partition *partition,
                                     uint64_t sequence)
{
    return cluster_prepare_replies(partition->submission->cluster) ||
           has_waited_long(partition, sequence);
}

static enum error_class send_status(struct submission_partition *partition, uint64_t sequence,
                                    const struct broker_record *record,
                                    const struct validation *validation)
{
    struct submission *submission = partition->submission;
    uint64_t topic_hash = replies_hash(validation->reply_to);
    char topic[TOPIC_NAME_SIZE];
    if (replies_is_silent(&submission->replies, topic_hash,
                          clock_mono_ms(submission->service->clock)))
        return ERROR_OK;
    struct status_update status = {
        .order_id = validation->order_id,
        .kind = STATUS_REJECTED,
        .order_state = ORDER_PENDING,
        .decided_at = clock_wall_ms(submission->service->clock),
        .command_partition = -1 - record->partition,
        .command_offset = record->offset,
        .decision_offset = -1,
        .code = text_of(error_name_of(&validation->error)),
        .message = utf8_clean(text_of(validation->error.message), MESSAGE_BYTES_MAX,
                              &submission->scratch.arena),
    };
    snprintf(topic, sizeof(topic), "%.*s", TEXT_ARG(validation->reply_to));
    int32_t count = broker_partition_count_known(submission->cluster->broker, topic);
    if (count <= 0) /* it was deleted in this moment */
        return ERROR_OK;
    enum error_class class = appended(
        partition, sequence,
        cluster_append(submission->cluster, BROKER_PRODUCER_EFFECTS, topic,
                       broker_partition_of(validation->order_id, count), validation->order_id,
                       RECORD_STATUS_UPDATE, &status, submission_partition_appended, partition,
                       append_token(sequence, APPEND_STATUS), NULL));
    if (class == ERROR_OK)
        submission_partition_slot(partition, sequence)->status_to = topic_hash;
    return class;
}

static bool is_possible(const struct submission *submission, struct text reply_to)
{
    char topic[TOPIC_NAME_SIZE];
    snprintf(topic, sizeof(topic), "%.*s", TEXT_ARG(reply_to));
    return cluster_reply_is_possible(submission->cluster, topic);
}

static bool is_cut(const struct dead_letter_cut *cut)
{
    return cut->value_bytes > 0 || cut->meta_bytes > 0 || cut->next_offset > 0;
}

/* Limited: a sender may send many. Each has its dead letter. */
static void raise_alert(struct submission_partition *partition, const struct broker_record *record,
                        const struct error *error)
{
    struct submission *submission = partition->submission;
    char message[ERROR_MESSAGE_SIZE];
    int64_t now = clock_mono_ms(submission->service->clock);
    if (partition->alerted_ms > 0 && now - partition->alerted_ms < PARTITION_ALERT_MS)
        return;
    partition->alerted_ms = now;
    snprintf(message, sizeof(message),
             "%s[%d] at offset %" PRId64 ": %.300s; its dead letter does not hold all of it",
             record->topic, record->partition, record->offset, error->message);
    cluster_partition_alert(submission->cluster, -1, true,
                            error->code == CODE_UNREADABLE ? CODE_SUBMISSION_UNREADABLE
                                                           : CODE_SUBMISSION_TOO_LARGE,
                            message);
}

static enum record_wait refuse_record(struct submission_partition *partition, uint64_t sequence,
                                      const struct broker_record *record,
                                      const struct large_record *large,
                                      struct validation *validation)
{
    struct submission *submission = partition->submission;
    enum error_class class = ERROR_OK;
    bool status = !text_empty(validation->order_id) && !text_empty(validation->reply_to);
    if (status && !is_possible(submission, validation->reply_to)) {
        if (!has_waited_long(partition, sequence))
            return RECORD_WAIT_STATUS;
        /* A registry that is down must not stop the partition: others wait behind it. */
        log_warning_limited("the schema registry does not answer: a Rejected status is not sent; "
                            "the dead letter has the reason",
                            LOG_I64("partition", partition->number),
                            LOG_I64("offset", record->offset));
        status = false;
    }
    if (status)
        class = send_status(partition, sequence, record, validation);
    if (class == ERROR_OK)
        class = appended(partition, sequence,
                         cluster_dead_letter(submission->cluster, record, &large->cut,
                                             error_name_of(&validation->error),
                                             validation->error.message,
                                             submission_partition_appended, partition,
                                             append_token(sequence, APPEND_DEAD_LETTER), NULL));
    if (class != ERROR_OK)
        return RECORD_WAIT_PRODUCER; /* a status may be sent twice: receivers deduplicate */
    metrics_add(submission->metrics.refused_kafka, 1);
    if (is_cut(&large->cut))
        raise_alert(partition, record, &validation->error);
    log_info_limited("refused a submission", LOG_TEXT("order", validation->order_id),
                     LOG_STR("topic", record->topic), LOG_I64("partition", record->partition),
                     LOG_I64("offset", record->offset), LOG_ERR(&validation->error));
    return RECORD_WAIT_NONE;
}

static struct text header_of(const struct broker_record *record, const char *name)
{
    for (uint32_t i = 0; i < record->header_count; i++) {
        if (text_equal(record->headers[i].name, text_of(name)))
            return record->headers[i].value;
    }
    return (struct text){0};
}

static void validate(struct submission *submission, const struct broker_record *record,
                     const struct large_record *large, unsigned fresh,
                     struct validation *ret_validation)
{
    const struct dead_letter_cut *cut = &large->cut;
    struct submitted_record submitted = {
        .key = record->key,
        .value = record->value,
        .is_json = record->value.data != NULL &&
                   kafka_json_is_type(header_of(record, KAFKA_JSON_CONTENT_TYPE)),
        .name = header_of(record, KAFKA_JSON_RECORD),
        .traceparent = header_of(record, TRACEPARENT_HEADER),
        .value_bytes = cut->value_bytes > 0 ? cut->value_bytes : record->value.size,
        .meta_bytes = cut->meta_bytes > 0 ? cut->meta_bytes : record->meta_bytes,
        .appended_at = record->timestamp,
        .order_id = large->order_id,
        .reply_to = large->reply_to,
    };
    if (cut->next_offset == 0) {
        validate_record(&submission->validator, &submitted, fresh, &submission->scratch.arena,
                        ret_validation);
        return;
    }
    *ret_validation = (struct validation){.outcome = VALIDATION_REFUSE};
    error_set(&ret_validation->error, CODE_UNREADABLE,
              "the records from offset %" PRId64 " to %" PRId64
              " cannot be read: their compressed batch is broken or too large",
              record->offset, cut->next_offset - 1);
}

enum record_wait submission_record_process(struct submission_partition *partition,
                                           uint64_t sequence, const struct broker_record *record,
                                           const struct large_record *large, unsigned fresh)
{
    struct submission *submission = partition->submission;
    struct validation validation;
    heap_arena_reset(&submission->scratch);
    validate(submission, record, large, fresh, &validation);
    switch (validation.outcome) {
    case VALIDATION_ACCEPT:
        return accept_record(partition, sequence, &validation);
    case VALIDATION_REFUSE:
        return refuse_record(partition, sequence, record, large, &validation);
    case VALIDATION_WAIT_SCHEMAS:
        return RECORD_WAIT_SCHEMAS;
    case VALIDATION_WAIT_REGISTRY:
        return RECORD_WAIT_REGISTRY;
    case VALIDATION_WAIT_WORKFLOWS:
        return RECORD_WAIT_WORKFLOWS;
    case VALIDATION_WAIT_REPLY:
    case VALIDATION_OUTCOME_COUNT:
        return RECORD_WAIT_REPLY;
    }
    return RECORD_WAIT_NONE;
}

void submission_record_cut(struct submission_partition *partition, struct broker_record *record,
                           struct large_record *ret_large)
{
    struct submission *submission = partition->submission;
    struct text value = record->value;
    *ret_large = (struct large_record){0};
    dead_letter_cut(record, &ret_large->cut);
    if (ret_large->cut.value_bytes == 0)
        return;
    heap_arena_reset(&submission->scratch);
    schema_registry_read_sender(submission->cluster->registry, submission->cluster->codec, value,
                                &submission->scratch.arena, &ret_large->order_id,
                                &ret_large->reply_to);
}
