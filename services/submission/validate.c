/* SPDX-License-Identifier: Apache-2.0 */
/* See validate.h. */
#include "services/submission/validate.h"

#include "base/utf8.h"

#include <assert.h>

/* Senders are not authenticated: the name they give is marked as the application's claim. */
#define BY_APPLICATION "application"

static void refuse(struct validation *validation, const char *code, const char *message)
{
    validation->outcome = VALIDATION_REFUSE;
    error_set(&validation->error, ERROR_REJECT, code, "%s", message);
}

/* False: the validation has its outcome (refused, or wait). */
static bool check_reply(const struct validator *validator, struct text topic,
                        struct validation *validation)
{
    if (text_empty(topic))
        return true;
    if (!topics_is_reply(validator->topics, topic)) {
        validation->outcome = VALIDATION_REFUSE;
        error_set(&validation->error, ERROR_REJECT, "BadReplyTopic",
                  "reply_to must be empty or %s.replies.APPLICATION", validator->topics->prefix);
        return false;
    }
    switch (validator->reply_state(validator->ctx, topic)) {
    case REPLY_EXISTS:
        validation->reply_to = topic;
        return true;
    case REPLY_MISSING:
        validation->outcome = VALIDATION_REFUSE;
        error_set(&validation->error, ERROR_REJECT, "UnknownReplyTopic",
                  "topic %.*s does not exist; create it before submitting", TEXT_ARG(topic));
        return false;
    case REPLY_LOOKUP:
    case REPLY_STATE_COUNT:
        validation->outcome = VALIDATION_WAIT_REPLY;
        return false;
    }
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
    const struct workflow *workflow =
        workflow_registry_find(validator->workflows, details->workflow, details->workflow_version);
    if (workflow == NULL && (fresh & FRESH_WORKFLOWS) == 0) {
        validation->outcome = VALIDATION_WAIT_WORKFLOWS;
        return;
    }
    if (workflow == NULL && details->workflow_version == 0) {
        validation->outcome = VALIDATION_REFUSE;
        error_set(&validation->error, ERROR_REJECT, "UnknownWorkflow",
                  "workflow \"%.*s\" does not exist", TEXT_ARG(details->workflow));
        return;
    }
    if (workflow == NULL) {
        validation->outcome = VALIDATION_REFUSE;
        error_set(&validation->error, ERROR_REJECT, "UnknownWorkflow",
                  "version %u of workflow \"%.*s\" does not exist", details->workflow_version,
                  TEXT_ARG(details->workflow));
        return;
    }
    assert(details->workflow_version == 0 || details->workflow_version == workflow->version);
    details->workflow_version = workflow->version;
    validation->outcome = VALIDATION_ACCEPT;
}

/* What follows once id and reply topic are known to be good. */
static void validate_content(const struct validator *validator, unsigned fresh,
                             struct validation *validation)
{
    struct order_details *details = &validation->command.submit_order;
    if (details_validate(details, &validation->error) != ERROR_OK) {
        validation->outcome = VALIDATION_REFUSE;
        return;
    }
    details->content_hash = details_content_hash(details);
    pin_workflow(validator, fresh, validation);
}

void validate_order(const struct validator *validator, const struct order_details *details,
                    unsigned fresh, struct validation *ret_validation)
{
    *ret_validation =
        (struct validation){.command = {.kind = COMMAND_SUBMIT_ORDER, .submit_order = *details}};
    if (check_id(details->order_id, ret_validation) &&
        check_reply(validator, details->reply_to, ret_validation))
        validate_content(validator, fresh, ret_validation);
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
        refuse(validation, "InvalidOrder", "reason must be UTF-8 of at most 1024 bytes");
        return;
    }
    if (cancel->by.size > WHO_BYTES_MAX || !utf8_printable(cancel->by)) {
        refuse(validation, "InvalidOrder", "by must be printable UTF-8 of at most 128 bytes");
        return;
    }
    _Static_assert(MESSAGE_BYTES_MAX == 1024 && WHO_BYTES_MAX == 128, "as the messages say");
    cancel->by = claimed_by(cancel->by, arena);
    validation->outcome = VALIDATION_ACCEPT;
}

void validate_cancel(const struct validator *validator, const struct cancel_order *cancel,
                     struct arena *arena, struct validation *ret_validation)
{
    *ret_validation =
        (struct validation){.command = {.kind = COMMAND_CANCEL_ORDER, .cancel_order = *cancel}};
    if (check_id(cancel->order_id, ret_validation) &&
        check_reply(validator, cancel->reply_to, ret_validation))
        validate_cancel_content(arena, ret_validation);
}

/* ---- records ---- */

static bool decode(const struct validator *validator, struct text value, unsigned fresh,
                   struct arena *arena, struct record *ret_record, struct validation *validation)
{
    if (value.data == NULL) {
        refuse(validation, "Empty", "the record has no value");
        return false;
    }
    if (value.size > INPUT_BYTES_MAX) {
        refuse(validation, "TooLong", "the record is larger than 1 MiB");
        return false;
    }
    _Static_assert(INPUT_BYTES_MAX == 1 << 20, "as the message says");
    if (codec_decode(validator->codec, value, true, arena, ret_record, &validation->error) ==
        ERROR_OK)
        return true;
    bool unknown = strcmp(validation->error.code, "UnknownSchema") == 0;
    validation->outcome =
        unknown && (fresh & FRESH_SCHEMAS) == 0 ? VALIDATION_WAIT_SCHEMAS : VALIDATION_REFUSE;
    return false;
}

static bool check_key(struct text key, struct validation *validation)
{
    if (text_empty(key) || text_equal(key, validation->order_id))
        return true;
    refuse(validation, "WrongKey", "the record's key is not its order_id");
    return false;
}

void validate_record(const struct validator *validator, struct text key, struct text value,
                     unsigned fresh, struct arena *arena, struct validation *ret_validation)
{
    struct record record;
    *ret_validation = (struct validation){.outcome = VALIDATION_REFUSE};
    if (!decode(validator, value, fresh, arena, &record, ret_validation))
        return;
    bool is_order = record.kind == RECORD_SUBMIT_ORDER;
    if (!is_order && record.kind != RECORD_CANCEL_ORDER) {
        error_set(&ret_validation->error, ERROR_REJECT, "NotAccepted",
                  "expected SubmitOrder or CancelOrder, not %s", record_kind_name(record.kind));
        return;
    }
    ret_validation->command = record.command;
    struct text order_id =
        is_order ? record.command.submit_order.order_id : record.command.cancel_order.order_id;
    struct text reply_to =
        is_order ? record.command.submit_order.reply_to : record.command.cancel_order.reply_to;
    if (!check_id(order_id, ret_validation) || !check_reply(validator, reply_to, ret_validation) ||
        !check_key(key, ret_validation))
        return;
    if (is_order)
        validate_content(validator, fresh, ret_validation);
    else
        validate_cancel_content(arena, ret_validation);
}
