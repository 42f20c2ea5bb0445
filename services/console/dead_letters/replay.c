/* SPDX-License-Identifier: Apache-2.0 */
/* See replay.h. */
#include "services/console/dead_letters/replay.h"

#include "schemas/binding.h"
#include "schemas/details.h"
#include "schemas/json/json_codec.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

/* ---- the topic ---- */

enum destination {
    TO_NOWHERE,
    TO_SUBMISSIONS,
    TO_COMMANDS,
    TO_REQUESTS,
    TO_REPLIES,
    TO_ALERTS,
};

static enum destination destination_of(const struct topics *topics, struct text topic)
{
    if (text_equal(topic, text_of(topics->submissions)))
        return TO_SUBMISSIONS;
    if (text_equal(topic, text_of(topics->commands)))
        return TO_COMMANDS;
    if (text_equal(topic, text_of(topics->alerts)))
        return TO_ALERTS;
    if (topics_is_requests(topics, topic))
        return TO_REQUESTS;
    return topics_is_reply(topics, topic) ? TO_REPLIES : TO_NOWHERE;
}

static enum error_class refuse_topic(const struct topics *topics, struct text topic,
                                     struct error *ret_error)
{
    if (text_equal(topic, text_of(topics->events)))
        return error_set(ret_error, CODE_NOT_REPLAYABLE,
                         "it comes from %s, where only the owner of a partition may write",
                         topics->events);
    if (text_empty(topic))
        return error_set(ret_error, CODE_NOT_REPLAYABLE,
                         "it is not known where it came from; it can only be discarded");
    return error_set(ret_error, CODE_NOT_REPLAYABLE,
                     "it comes from %.*s, where no operator may write; it can only be discarded",
                     TEXT_ARG(topic));
}

static bool takes(enum destination to, enum record_kind kind)
{
    switch (to) {
    case TO_SUBMISSIONS:
        return record_kind_is_submission(kind);
    case TO_COMMANDS:
        return record_kind_is_command(kind);
    case TO_REQUESTS:
        return kind == RECORD_STEP_REQUEST;
    case TO_REPLIES:
        return kind == RECORD_STATUS_UPDATE;
    case TO_ALERTS:
        return kind == RECORD_OPERATOR_ALERT;
    case TO_NOWHERE:
        break;
    }
    return false;
}

static struct text order_id_of(const struct record *record)
{
    if (record_kind_is_command(record->kind))
        return record->command.order_id;
    if (record->kind == RECORD_STEP_REQUEST)
        return record->step_request.order_id;
    if (record->kind == RECORD_STATUS_UPDATE)
        return record->status_update.order_id;
    return record->kind == RECORD_OPERATOR_ALERT ? record->operator_alert.order_id
                                                 : (struct text){0};
}

/* ---- the plan ---- */

static enum error_class check_cut(const struct dead_letter_reading *reading,
                                  const struct broker_record *record, struct error *ret_error)
{
    if (reading->unreadable)
        return error_set(ret_error, CODE_VALUE_CUT,
                         "no client could read the record, so the dead letter does not hold it; "
                         "give its value");
    if (reading->value_bytes > 0)
        return error_set(ret_error, CODE_VALUE_CUT,
                         "the dead letter holds %" PRIu32 " of %" PRIu64
                         " bytes; give the whole value",
                         record->value.size, reading->value_bytes);
    if (record->value.size == 0)
        return error_set(ret_error, CODE_VALUE_CUT, "the record is empty; give a value");
    return ERROR_OK;
}

/* The operator's value has to be right; that of the dead letter may be understood some day. */
static enum error_class check_value(enum destination to, struct text value, struct codec *codec,
                                    struct arena *arena, struct record *ret_record,
                                    struct error *ret_error)
{
    struct error why;
    if (value.size > INPUT_BYTES_MAX)
        return error_set(ret_error, CODE_BAD_VALUE, "value is %u bytes; the limit is %d",
                         value.size, INPUT_BYTES_MAX);
    if (codec_decode(codec, value, false, arena, ret_record, &why) != ERROR_OK)
        return error_set(ret_error, CODE_BAD_VALUE, "value cannot be decoded: %s (%s)", why.message,
                         error_name_of(&why));
    if (!takes(to, ret_record->kind))
        return error_set(ret_error, CODE_BAD_VALUE, "value is a %s, which that topic does not take",
                         record_kind_name(ret_record->kind));
    return ERROR_OK;
}

/* ---- who acts ---- */

static void *fields_of(struct record *record)
{
    return record_kind_is_command(record->kind) ? (void *)&record->command.submit_order
                                                : (void *)&record->claim;
}

static struct text *text_field(struct record *record, const char *name)
{
    const struct record_binding *binding = record_kind_info(record->kind)->binding;
    for (uint32_t i = 0; i < binding->count; i++)
        if (strcmp(binding->fields[i].name, name) == 0 && binding->fields[i].kind == FIELD_TEXT)
            return (struct text *)((char *)fields_of(record) + binding->fields[i].offset);
    return NULL;
}

/* The token with which an application submitted it: that of the dead letter's own value, as no
 * operator may speak for one. */
static struct text submitter_of(const struct broker_record *letter, enum record_kind kind,
                                struct codec *codec, struct arena *arena)
{
    struct record own;
    if (codec_decode(codec, letter->value, false, arena, &own, NULL) != ERROR_OK ||
        own.kind != kind)
        return (struct text){0};
    return *text_field(&own, "submitted_by");
}

/* The operator's value, signed by the operator; new in the arena. */
static struct text sign(struct record *record, const struct broker_record *letter, struct text by,
                        struct codec *codec, struct arena *arena)
{
    struct buffer buffer = {0};
    struct text *submitter = text_field(record, "submitted_by");
    bool is_command = record_kind_is_command(record->kind);
    bool reports =
        is_command && command_kind_is_from((enum command_kind)record->kind, COMMAND_FROM_AGENT);
    struct text *signature = text_field(record, reports ? "instance" : "by");
    /* A report or an alert without a name says nothing about who acted. */
    if (signature != NULL && ((is_command && !reports) || !text_empty(*signature)))
        *signature = by;
    if (record->kind == RECORD_SIGNAL_ORDER) /* those of another sender */
        record->command.signal_order.groups = (struct text_list){0};
    if (submitter != NULL)
        *submitter = submitter_of(letter, record->kind, codec, arena);
    codec_encode(codec, record->kind, is_command ? (void *)&record->command : fields_of(record),
                 &buffer);
    struct text value =
        arena_text(arena, (struct text){(const char *)buffer.data, (uint32_t)buffer.size});
    buffer_deinit(&buffer);
    return value;
}

enum error_class replay_plan(const struct broker_record *record,
                             const struct dead_letter_reading *reading, struct text corrected,
                             struct text by, const struct topics *topics, struct codec *codec,
                             struct arena *arena, struct replay_plan *ret_plan,
                             struct error *ret_error)
{
    struct error error;
    struct record decoded;
    struct replay_plan plan = {.corrected = corrected.data != NULL, .key = record->key};
    enum destination to = destination_of(topics, reading->topic);
    plan.value = plan.corrected ? corrected : record->value;
    if (to == TO_NOWHERE)
        return refuse_topic(topics, reading->topic, ret_error);
    if (!plan.corrected && check_cut(reading, record, ret_error) != ERROR_OK)
        return ERROR_REJECT;
    bool known = check_value(to, plan.value, codec, arena, &decoded, &error) == ERROR_OK;
    if (!known && plan.corrected) {
        *ret_error = error;
        return ERROR_REJECT;
    }
    if (plan.corrected)
        plan.value = sign(&decoded, record, by, codec, arena);
    if (plan.corrected && plan.value.size > INPUT_BYTES_MAX)
        return error_set(ret_error, CODE_BAD_VALUE,
                         "value is %u bytes as this version writes it; the limit is %d",
                         plan.value.size, INPUT_BYTES_MAX);
    struct text order_id = known ? order_id_of(&decoded) : (struct text){0};
    bool ordered = order_id_validate(order_id, &error) == ERROR_OK;
    if (plan.corrected && !ordered && to != TO_ALERTS)
        return error_set(ret_error, CODE_BAD_VALUE, "%s", error.message);
    if (!ordered && reading->meta_bytes > 0)
        return error_set(ret_error, CODE_VALUE_CUT,
                         "the dead letter does not hold the whole key, which was too long, and the "
                         "value does not name an order; give its value");
    if (ordered)
        plan.key = order_id;
    plan.by_key = ordered || reading->partition < 0;
    plan.partition = reading->partition;
    snprintf(plan.topic, sizeof(plan.topic), "%.*s", TEXT_ARG(reading->topic));
    *ret_plan = plan;
    return ERROR_OK;
}

/* ---- values as JSON ---- */

enum error_class replay_encode(struct text record_name, struct json_value json, struct codec *codec,
                               struct arena *arena, struct buffer *buffer, struct error *ret_error)
{
    char name[64];
    struct error error;
    struct record record = {0};
    snprintf(name, sizeof(name), "%.*s", TEXT_ARG(record_name));
    record.kind = text_empty(record_name) ? RECORD_SUBMIT_ORDER : record_kind_of(name);
    bool is_command = record_kind_is_command(record.kind);
    if (!is_command && record.kind != RECORD_STEP_REQUEST && record.kind != RECORD_STATUS_UPDATE &&
        record.kind != RECORD_OPERATOR_ALERT)
        return error_set(ret_error, CODE_BAD_VALUE,
                         "record: expected a command such as SubmitOrder or ReportStep, or "
                         "StepRequest, StatusUpdate or OperatorAlert");
    if (json_codec_decode(record_kind_info(record.kind)->binding, NULL, 0, json, arena,
                          is_command ? (void *)&record.command.submit_order : &record.claim,
                          &error) != ERROR_OK ||
        (record.kind == RECORD_SUBMIT_ORDER &&
         details_validate_new(&record.command.submit_order, arena, &error) != ERROR_OK))
        return error_set(ret_error, CODE_BAD_VALUE, "value: %s", error.message);
    if (record.kind == RECORD_SUBMIT_ORDER) /* it is of the content as it was */
        record.command.submit_order.content_hash = (struct content_hash){{0}};
    if (is_command)
        record.command.kind = (enum command_kind)record.kind;
    codec_encode(codec, record.kind, is_command ? (void *)&record.command : &record.claim, buffer);
    return ERROR_OK;
}
