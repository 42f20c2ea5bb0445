/* SPDX-License-Identifier: Apache-2.0 */
/* See validate.h. */
#include "services/submission/validate.h"

#include "base/utf8.h"
#include "engine/shape.h"
#include "replica/service/order_traces.h"
#include "schemas/details.h"
#include "schemas/json/kafka_json.h"

#include <assert.h>
#include <string.h>

/* Senders are not authenticated: the name they give is marked as the application's claim. */
#define BY_APPLICATION "application"

static void refuse(struct validation *validation, enum error_code code, const char *message)
{
    validation->outcome = VALIDATION_REFUSE;
    error_set(&validation->error, code, "%s", message);
}

/* False: the validation has its outcome (refused, or wait). */
static bool check_reply(const struct validator *validator, struct text topic, unsigned fresh,
                        struct validation *validation)
{
    if (text_empty(topic))
        return true;
    if (!topics_is_reply(validator->topics, topic)) {
        validation->outcome = VALIDATION_REFUSE;
        error_set(&validation->error, CODE_BAD_REPLY_TOPIC,
                  "reply_to must be empty or %s.replies.APPLICATION", validator->topics->prefix);
        return false;
    }
    if (validator->topic_exists(validator->ctx, topic)) {
        validation->reply_to = topic;
        return true;
    }
    if ((fresh & FRESH_TOPICS) == 0) {
        validation->outcome = VALIDATION_WAIT_REPLY;
        return false;
    }
    validation->outcome = VALIDATION_REFUSE;
    error_set(&validation->error, CODE_UNKNOWN_REPLY_TOPIC,
              "topic %.*s does not exist; create it before submitting", TEXT_ARG(topic));
    return false;
}

static bool check_id(struct text order_id, struct validation *validation)
{
    if (order_id_validate(order_id, &validation->error) == ERROR_OK) {
        validation->order_id = order_id;
        validation->command.order_id = order_id;
        return true;
    }
    validation->outcome = VALIDATION_REFUSE;
    return false;
}

/* ---- orders ---- */

static void pin_workflow(const struct validator *validator, unsigned fresh,
                         struct validation *validation)
{
    struct order_details *details = &validation->command.submit_order;
    const struct workflow_entry *entry =
        workflow_registry_entry(validator->workflows, details->workflow, details->workflow_version);
    const struct workflow *workflow = entry != NULL ? entry->workflow : NULL;
    if (workflow == NULL && (fresh & FRESH_WORKFLOWS) == 0) {
        validation->outcome = VALIDATION_WAIT_WORKFLOWS;
        return;
    }
    if (workflow == NULL && details->workflow_version == 0) {
        validation->outcome = VALIDATION_REFUSE;
        error_set(&validation->error, CODE_UNKNOWN_WORKFLOW, "workflow \"%.*s\" does not exist",
                  TEXT_ARG(details->workflow));
        return;
    }
    if (workflow == NULL) {
        validation->outcome = VALIDATION_REFUSE;
        error_set(&validation->error, CODE_UNKNOWN_WORKFLOW,
                  "version %u of workflow \"%.*s\" does not exist", details->workflow_version,
                  TEXT_ARG(details->workflow));
        return;
    }
    if (entry->retired) {
        validation->outcome = VALIDATION_REFUSE;
        error_set(&validation->error, CODE_WORKFLOW_RETIRED,
                  "version %u of workflow \"%.*s\" takes no new orders: %.*s", workflow->version,
                  TEXT_ARG(details->workflow), TEXT_ARG(utf8_cut(entry->latest.reason, 200)));
        return;
    }
    assert(details->workflow_version == 0 || details->workflow_version == workflow->version);
    details->workflow_version = workflow->version;
    bool fits = workflow->input_shape == NULL ||
                shape_check(workflow->input_shape, details->input, &validation->error) == ERROR_OK;
    validation->outcome = fits ? VALIDATION_ACCEPT : VALIDATION_REFUSE;
}

/* What follows once id and reply topic are known to be good. */
static void validate_content(const struct validator *validator, unsigned fresh, struct arena *arena,
                             struct validation *validation)
{
    struct order_details *details = &validation->command.submit_order;
    if (details_validate_new(details, arena, &validation->error) != ERROR_OK) {
        validation->outcome = VALIDATION_REFUSE;
        return;
    }
    details->content_hash = details_content_hash(details);
    pin_workflow(validator, fresh, validation);
}

void validate_order(const struct validator *validator, const struct order_details *details,
                    unsigned fresh, struct arena *arena, struct validation *ret_validation)
{
    *ret_validation =
        (struct validation){.command = {.kind = COMMAND_SUBMIT_ORDER, .submit_order = *details}};
    if (check_id(details->order_id, ret_validation) &&
        check_reply(validator, details->reply_to, fresh, ret_validation))
        validate_content(validator, fresh, arena, ret_validation);
}

/* ---- cancellations ---- */

static struct text claimed_by(struct text by, struct arena *arena)
{
    struct text application = TEXT(BY_APPLICATION);
    if (text_empty(by) || text_equal(by, application))
        return application;
    uint32_t size = application.size + 1 + by.size;
    char *bytes = arena_bytes(arena, size);
    memcpy(bytes, application.data, application.size);
    bytes[application.size] = ':';
    memcpy(bytes + application.size + 1, by.data, by.size);
    return utf8_clean((struct text){bytes, size}, WHO_BYTES_MAX, arena);
}

static void validate_cancel_content(struct arena *arena, struct validation *validation)
{
    struct cancel_order *cancel = &validation->command.cancel_order;
    if (cancel->reason.size > MESSAGE_BYTES_MAX || !utf8_valid(cancel->reason)) {
        validation->outcome = VALIDATION_REFUSE;
        error_set(&validation->error, CODE_INVALID_ORDER,
                  "reason must be UTF-8 of at most %d bytes", MESSAGE_BYTES_MAX);
        return;
    }
    if (cancel->by.size > WHO_BYTES_MAX || !utf8_printable(cancel->by)) {
        validation->outcome = VALIDATION_REFUSE;
        error_set(&validation->error, CODE_INVALID_ORDER,
                  "by must be printable UTF-8 of at most %d bytes", WHO_BYTES_MAX);
        return;
    }
    cancel->by = claimed_by(cancel->by, arena);
    validation->outcome = VALIDATION_ACCEPT;
}

void validate_cancel(const struct validator *validator, const struct cancel_order *cancel,
                     unsigned fresh, struct arena *arena, struct validation *ret_validation)
{
    *ret_validation =
        (struct validation){.command = {.kind = COMMAND_CANCEL_ORDER, .cancel_order = *cancel}};
    if (check_id(cancel->order_id, ret_validation) &&
        check_reply(validator, cancel->reply_to, fresh, ret_validation))
        validate_cancel_content(arena, ret_validation);
}

/* ---- signals ---- */

static void validate_signal_content(struct arena *arena, struct validation *validation)
{
    struct command *cmd = &validation->command;
    command_make_canonical(cmd, arena);
    bool valid = command_check(cmd, &validation->error) == ERROR_OK;
    validation->outcome = valid ? VALIDATION_ACCEPT : VALIDATION_REFUSE;
}

void validate_signal(const struct validator *validator, const struct signal_order *signal,
                     unsigned fresh, struct arena *arena, struct validation *ret_validation)
{
    *ret_validation =
        (struct validation){.command = {.kind = COMMAND_SIGNAL_ORDER, .signal_order = *signal}};
    if (check_id(signal->order_id, ret_validation) &&
        check_reply(validator, signal->reply_to, fresh, ret_validation))
        validate_signal_content(arena, ret_validation);
}

/* ---- records ---- */

static bool was_cut(const struct submitted_record *record)
{
    return record->value.size < record->value_bytes;
}

/* Of a record that was refused before its fields were known: the receiver of a status, if id and
 * reply topic can be read and are valid. The refusal stands; it may have to wait for the reply
 * topic. */
static void find_sender(const struct validator *validator, const struct submitted_record *record,
                        unsigned fresh, struct arena *arena, struct validation *validation)
{
    struct text order_id = record->order_id;
    struct text reply_to = record->reply_to;
    if (!was_cut(record) && record->is_json)
        kafka_json_read_sender(record->value, arena, &order_id, &reply_to);
    else if (!was_cut(record) && record->value.data != NULL)
        schema_registry_read_sender(validator->registry, validator->codec, record->value, arena,
                                    &order_id, &reply_to);
    if (order_id_validate(order_id, NULL) != ERROR_OK)
        return;
    validation->order_id = order_id;
    if (!topics_is_reply(validator->topics, reply_to))
        return;
    if (validator->topic_exists(validator->ctx, reply_to))
        validation->reply_to = reply_to;
    else if ((fresh & FRESH_TOPICS) == 0)
        validation->outcome = VALIDATION_WAIT_REPLY;
}

/* An application that forgot the header learns which one. */
static void hint_at_json(const struct submitted_record *record, struct validation *validation)
{
    static const char *const blanks = " \t\r\n";
    uint32_t at = 0;
    while (at < record->value.size &&
           memchr(blanks, record->value.data[at], strlen(blanks)) != NULL)
        at++;
    if (validation->error.code == CODE_NOT_AVRO && at < record->value.size &&
        record->value.data[at] == '{')
        error_set(&validation->error, CODE_NOT_AVRO,
                  "the record begins with '{': JSON needs the header " KAFKA_JSON_CONTENT_TYPE
                  ": " KAFKA_JSON);
}

/* A schema that is on no topic yet may come; what the schema registry has answered stays. */
static void refuse_undecodable(const struct validator *validator,
                               const struct submitted_record *record, unsigned fresh,
                               struct arena *arena, struct validation *validation)
{
    uint64_t fingerprint;
    bool unknown = validation->error.code == CODE_UNKNOWN_SCHEMA;
    bool may_come =
        unknown && codec_peek(record->value, &fingerprint) && (fresh & FRESH_SCHEMAS) == 0;
    validation->outcome = may_come ? VALIDATION_WAIT_SCHEMAS : VALIDATION_REFUSE;
    hint_at_json(record, validation);
    if (!unknown)
        find_sender(validator, record, fresh, arena, validation);
}

static bool decode(const struct validator *validator, const struct submitted_record *record,
                   unsigned fresh, struct arena *arena, struct record *ret_record,
                   struct validation *validation)
{
    if (record->value.data == NULL) {
        refuse(validation, CODE_EMPTY, "the record has no value");
        return false;
    }
    if (record->value_bytes > INPUT_BYTES_MAX) {
        validation->outcome = VALIDATION_REFUSE;
        error_set(&validation->error, CODE_TOO_LONG, "the record is %u bytes; the limit is %d",
                  record->value_bytes, INPUT_BYTES_MAX);
        find_sender(validator, record, fresh, arena, validation);
        return false;
    }
    assert(!was_cut(record));
    if (record->is_json) {
        if (kafka_json_read(record->value, record->name, arena, &ret_record->command,
                            &validation->error) == ERROR_OK) {
            ret_record->kind = (enum record_kind)ret_record->command.kind;
            return true;
        }
        find_sender(validator, record, fresh, arena, validation);
        return false;
    }
    enum error_class class =
        schema_registry_decode(validator->registry, validator->codec, record->value, true, arena,
                               ret_record, &validation->error);
    if (class == ERROR_RETRY)
        validation->outcome = VALIDATION_WAIT_REGISTRY;
    else if (class != ERROR_OK)
        refuse_undecodable(validator, record, fresh, arena, validation);
    return class == ERROR_OK;
}

static bool check_key(const struct submitted_record *record, struct validation *validation)
{
    if (record->meta_bytes > META_BYTES_MAX) {
        validation->outcome = VALIDATION_REFUSE;
        error_set(&validation->error, CODE_TOO_LONG,
                  "the record's key and headers are %u bytes; the limit is %d", record->meta_bytes,
                  META_BYTES_MAX);
        return false;
    }
    if (text_empty(record->key) || text_equal(record->key, validation->order_id))
        return true;
    refuse(validation, CODE_WRONG_KEY, "the record's key is not its order_id");
    return false;
}

void validate_record(const struct validator *validator, const struct submitted_record *submitted,
                     unsigned fresh, struct arena *arena, struct validation *ret_validation)
{
    struct record record;
    *ret_validation = (struct validation){.outcome = VALIDATION_REFUSE};
    if (!decode(validator, submitted, fresh, arena, &record, ret_validation))
        return;
    if (!record_kind_is_submission(record.kind)) {
        error_set(&ret_validation->error, CODE_NOT_ACCEPTED,
                  "expected SubmitOrder, CancelOrder or SignalOrder, not %s",
                  record_kind_name(record.kind));
        return;
    }
    struct command *cmd = &ret_validation->command;
    *cmd = record.command;
    if (!check_id(cmd->order_id, ret_validation) ||
        !check_reply(validator, command_reply_to(cmd), fresh, ret_validation) ||
        !check_key(submitted, ret_validation))
        return;
    if (cmd->kind == COMMAND_SUBMIT_ORDER) {
        cmd->submit_order.submitted_at = submitted->appended_at;
        cmd->submit_order.submitted_by = TEXT(""); /* only tokens prove it */
        cmd->submit_order.traceparent =
            traceparent_or(cmd->submit_order.traceparent, submitted->traceparent);
        validate_content(validator, fresh, arena, ret_validation);
    } else if (cmd->kind == COMMAND_CANCEL_ORDER) {
        cmd->cancel_order.submitted_by = TEXT("");
        validate_cancel_content(arena, ret_validation);
    } else {
        cmd->signal_order.submitted_by = TEXT("");
        cmd->signal_order.groups = (struct text_list){0}; /* as only who knows the sender does */
        cmd->signal_order.by = TEXT(BY_APPLICATION);
        validate_signal_content(arena, ret_validation);
    }
}
