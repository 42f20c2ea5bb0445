/* SPDX-License-Identifier: Apache-2.0 */
/* See validate.h. */
#include "services/submission/validate.h"

#include "base/utf8.h"

#include <assert.h>

/* Whoever writes to the submissions topic or to the HTTP port is not known: what they call
 * themselves is told as such. */
#define BY_APPLICATION "application"

static void refuse(struct judgement *judgement, const char *code, const char *message)
{
    judgement->verdict = VERDICT_REFUSE;
    error_set(&judgement->error, ERROR_REJECT, code, "%s", message);
}

/* False: the judgement is made (refused, or to be asked again). */
static bool check_reply(const struct judge *judge, struct text topic, struct judgement *judgement)
{
    if (text_empty(topic))
        return true;
    if (!topics_is_reply(judge->topics, topic)) {
        judgement->verdict = VERDICT_REFUSE;
        error_set(&judgement->error, ERROR_REJECT, "BadReplyTopic",
                  "reply_to must be empty or %s.replies.APPLICATION", judge->topics->prefix);
        return false;
    }
    switch (judge->reply_state(judge->ctx, topic)) {
    case REPLY_EXISTS:
        judgement->reply_to = topic;
        return true;
    case REPLY_MISSING:
        judgement->verdict = VERDICT_REFUSE;
        error_set(&judgement->error, ERROR_REJECT, "UnknownReplyTopic",
                  "there is no topic %.*s: create it before submitting", TEXT_ARG(topic));
        return false;
    case REPLY_ASKING:
    case REPLY_STATE_COUNT:
        judgement->verdict = VERDICT_WAIT_REPLY;
        return false;
    }
    return false;
}

static bool check_id(struct text order_id, struct judgement *judgement)
{
    if (order_id_validate(order_id, &judgement->error) == ERROR_OK) {
        judgement->order_id = order_id;
        judgement->command.order_id = order_id;
        return true;
    }
    judgement->verdict = VERDICT_REFUSE;
    return false;
}

/* ---- orders ---- */

static void pin_workflow(const struct judge *judge, unsigned fresh, struct judgement *judgement)
{
    struct order_details *details = &judgement->command.submit_order;
    const struct workflow *workflow =
        workflow_registry_find(judge->workflows, details->workflow, details->workflow_version);
    if (workflow == NULL && (fresh & FRESH_WORKFLOWS) == 0) {
        judgement->verdict = VERDICT_WAIT_WORKFLOWS;
        return;
    }
    if (workflow == NULL && details->workflow_version == 0) {
        judgement->verdict = VERDICT_REFUSE;
        error_set(&judgement->error, ERROR_REJECT, "UnknownWorkflow",
                  "there is no workflow \"%.*s\"", TEXT_ARG(details->workflow));
        return;
    }
    if (workflow == NULL) {
        judgement->verdict = VERDICT_REFUSE;
        error_set(&judgement->error, ERROR_REJECT, "UnknownWorkflow",
                  "there is no version %u of a workflow \"%.*s\"", details->workflow_version,
                  TEXT_ARG(details->workflow));
        return;
    }
    details->workflow_version = workflow->version;
    judgement->verdict = VERDICT_ACCEPT;
}

/* What follows once id and reply topic are known to be good. */
static void judge_content(const struct judge *judge, unsigned fresh, struct judgement *judgement)
{
    struct order_details *details = &judgement->command.submit_order;
    if (details_validate(details, &judgement->error) != ERROR_OK) {
        judgement->verdict = VERDICT_REFUSE;
        return;
    }
    details->content_hash = details_content_hash(details);
    pin_workflow(judge, fresh, judgement);
}

void judge_order(const struct judge *judge, const struct order_details *details, unsigned fresh,
                 struct judgement *ret_judgement)
{
    *ret_judgement =
        (struct judgement){.command = {.kind = COMMAND_SUBMIT_ORDER, .submit_order = *details}};
    if (check_id(details->order_id, ret_judgement) &&
        check_reply(judge, details->reply_to, ret_judgement))
        judge_content(judge, fresh, ret_judgement);
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

static void judge_cancel_content(struct arena *arena, struct judgement *judgement)
{
    struct cancel_order *cancel = &judgement->command.cancel_order;
    if (cancel->reason.size > MESSAGE_BYTES_MAX || !utf8_valid(cancel->reason)) {
        refuse(judgement, "InvalidOrder", "reason: expected at most 1024 bytes of UTF-8");
        return;
    }
    if (cancel->by.size > WHO_BYTES_MAX || !utf8_printable(cancel->by)) {
        refuse(judgement, "InvalidOrder", "by: expected at most 128 bytes of printable UTF-8");
        return;
    }
    _Static_assert(MESSAGE_BYTES_MAX == 1024 && WHO_BYTES_MAX == 128, "as the messages say");
    cancel->by = claimed_by(cancel->by, arena);
    judgement->verdict = VERDICT_ACCEPT;
}

void judge_cancel(const struct judge *judge, const struct cancel_order *cancel, struct arena *arena,
                  struct judgement *ret_judgement)
{
    *ret_judgement =
        (struct judgement){.command = {.kind = COMMAND_CANCEL_ORDER, .cancel_order = *cancel}};
    if (check_id(cancel->order_id, ret_judgement) &&
        check_reply(judge, cancel->reply_to, ret_judgement))
        judge_cancel_content(arena, ret_judgement);
}

/* ---- records ---- */

static bool decode(const struct judge *judge, struct text value, unsigned fresh,
                   struct arena *arena, struct record *ret_record, struct judgement *judgement)
{
    if (value.data == NULL) {
        refuse(judgement, "Empty", "the record has no value");
        return false;
    }
    if (value.size > INPUT_BYTES_MAX) {
        refuse(judgement, "TooLong", "the record is larger than 1 MiB");
        return false;
    }
    _Static_assert(INPUT_BYTES_MAX == 1 << 20, "as the message says");
    if (codec_decode(judge->codec, value, true, arena, ret_record, &judgement->error) == ERROR_OK)
        return true;
    bool unknown = strcmp(judgement->error.code, "UnknownSchema") == 0;
    judgement->verdict =
        unknown && (fresh & FRESH_SCHEMAS) == 0 ? VERDICT_WAIT_SCHEMAS : VERDICT_REFUSE;
    return false;
}

static bool check_key(struct text key, struct judgement *judgement)
{
    if (text_empty(key) || text_equal(key, judgement->order_id))
        return true;
    refuse(judgement, "WrongKey", "the record's key is not its order_id");
    return false;
}

void judge_record(const struct judge *judge, struct text key, struct text value, unsigned fresh,
                  struct arena *arena, struct judgement *ret_judgement)
{
    struct record record;
    *ret_judgement = (struct judgement){.verdict = VERDICT_REFUSE};
    if (!decode(judge, value, fresh, arena, &record, ret_judgement))
        return;
    bool is_order = record.kind == RECORD_SUBMIT_ORDER;
    if (!is_order && record.kind != RECORD_CANCEL_ORDER) {
        error_set(&ret_judgement->error, ERROR_REJECT, "NotAccepted",
                  "only SubmitOrder and CancelOrder are taken here, not %s",
                  record_kind_name(record.kind));
        return;
    }
    ret_judgement->command = record.command;
    struct text order_id =
        is_order ? record.command.submit_order.order_id : record.command.cancel_order.order_id;
    struct text reply_to =
        is_order ? record.command.submit_order.reply_to : record.command.cancel_order.reply_to;
    if (!check_id(order_id, ret_judgement) || !check_reply(judge, reply_to, ret_judgement) ||
        !check_key(key, ret_judgement))
        return;
    if (is_order)
        judge_content(judge, fresh, ret_judgement);
    else
        judge_cancel_content(arena, ret_judgement);
}
