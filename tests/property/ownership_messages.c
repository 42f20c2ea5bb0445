/* SPDX-License-Identifier: Apache-2.0 */
/* What orders tell each other, against the model: `commands` is a topic of effects as well. Each
 * message there is one that an admitted Decision sends, written before it (I15), and names an item
 * of the Decision's generation; one that has it undone also of an older one (I26). Whether all that
 * was to be said has been said shows at rest: ownership_trees.h. */
#include "schemas/details.h"
#include "tests/property/ownership_model.h"
#include "tests/property/ownership_trees.h"

#include <assert.h>
#include <string.h>

struct model_sender {
    struct decision decision;
    int64_t appended_at;               /* by the brokers' clock */
    int64_t accepted_offset;           /* of its order */
    const struct order_parent *parent; /* of its order; NULL: none */
    bool held;                         /* its order has been held before */
    struct text output;                /* of its order */
};

/* ---- what was decided ---- */

static bool sends(const struct decision *decision)
{
    for (uint32_t i = 0; i < decision->event_count; i++) {
        switch ((int)decision->events[i].kind) {
        case EVENT_SUBORDERS_SUBMITTED:
        case EVENT_SUBORDERS_ASKED:
        case EVENT_SUBORDERS_RECALLED:
        case EVENT_SUBORDER_ENDED:
        case EVENT_ORDER_HELD:
        case EVENT_ORDER_DEADLINE_SET:
        case EVENT_ORDER_PROCESSED:
        case EVENT_ORDER_COMPENSATED:
        case EVENT_SUBMISSION_REPEATED:
        case EVENT_REPORT_IGNORED:
        case EVENT_COMMAND_REJECTED:
            return true;
        default:
            break;
        }
    }
    return false;
}

static void take_end(struct model_order *order, const struct event *event)
{
    if (event->kind == EVENT_ORDER_HELD)
        order->output = event->order_held.output;
    else if (event->kind == EVENT_ORDER_PROCESSED && !order->held)
        order->output = event->order_processed.output;
    order->held = order->held || event->kind == EVENT_ORDER_HELD;
}

void model_note_sender(struct model *model, const struct decision *decision, int64_t offset)
{
    struct model_order *order = model_order_of(model, decision->order_id);
    struct broker_record record;
    if (!trees_has(decision->order_id) || !sends(decision))
        return;
    bool held = order != NULL && order->held;
    for (uint32_t i = 0; i < decision->event_count && order != NULL; i++)
        take_end(order, &decision->events[i]);
    bool found =
        broker_memory_record(model->world->kafka, "p.events", model->partition, offset, &record);
    assert(found);
    model->senders = model_grow(model->senders, model->sender_count, &model->sender_size,
                                sizeof(*model->senders));
    model->senders[model->sender_count++] =
        (struct model_sender){.decision = *decision,
                              .appended_at = record.timestamp,
                              .accepted_offset = order != NULL ? order->accepted_offset : -1,
                              .parent = order != NULL ? order->parent : NULL,
                              .held = held,
                              .output = order != NULL ? order->output : (struct text){0}};
}

/* ---- which event explains a message ---- */

static bool names_item(const struct suborders_submitted *submitted, int64_t item)
{
    for (uint32_t i = 0; i < submitted->item_count; i++)
        if (submitted->items[i].item == item)
            return text_empty(submitted->items[i].error_name);
    return false;
}

/* The Decision that submitted the item in that generation; NULL: none did until then. */
static const struct model_sender *find_submission(const struct model *model,
                                                  const struct order_parent *parent,
                                                  int64_t appended_at)
{
    for (uint32_t i = 0; i < model->sender_count; i++) {
        const struct model_sender *sender = &model->senders[i];
        const struct decision *decision = &sender->decision;
        if (sender->accepted_offset != parent->accepted_offset ||
            sender->appended_at > appended_at || !text_equal(decision->order_id, parent->order_id))
            continue;
        for (uint32_t k = 0; k < decision->event_count; k++) {
            const struct suborders_submitted *submitted = &decision->events[k].suborders_submitted;
            if (decision->events[k].kind == EVENT_SUBORDERS_SUBMITTED &&
                submitted->generation == parent->generation &&
                text_equal(submitted->ref.step, parent->step) &&
                names_item(submitted, parent->item))
                return sender;
        }
    }
    return NULL;
}

static bool answers(const struct event *event, const struct order_parent *parent, enum settle how)
{
    if (event->kind == EVENT_REPORT_IGNORED)
        return event->report_ignored.settle == how && event->report_ignored.parent != NULL &&
               order_parent_equal(event->report_ignored.parent, parent);
    return event->kind == EVENT_COMMAND_REJECTED && event->command_rejected.settle == how &&
           event->command_rejected.parent != NULL &&
           order_parent_equal(event->command_rejected.parent, parent);
}

static bool recalls(const struct event *event, const struct order_parent *parent)
{
    if (event->kind == EVENT_SUBORDERS_RECALLED)
        return text_equal(event->suborders_recalled.ref.step, parent->step) &&
               event->suborders_recalled.generation >= parent->generation;
    return event->kind == EVENT_SUBORDERS_ASKED &&
           text_equal(event->suborders_asked.ref.step, parent->step) &&
           event->suborders_asked.generation >= parent->generation;
}

static bool settles(const struct model *model, const struct model_sender *sender,
                    const struct event *event, const struct settle_suborder *settle,
                    int64_t appended_at)
{
    const struct order_parent *parent = settle->parent;
    if (answers(event, parent, settle->how))
        return true;
    if (sender->accepted_offset != parent->accepted_offset || settle->how == SETTLE_UNKNOWN ||
        find_submission(model, parent, appended_at) == NULL)
        return false;
    return settle->how == SETTLE_KEEP ? event->kind == EVENT_ORDER_PROCESSED
                                      : recalls(event, parent);
}

/* What the sub-order's Decision says of its state. */
static bool tells_state(const struct model_sender *sender, const struct event *event,
                        enum suborder_outcome outcome)
{
    const struct decision *decision = &sender->decision;
    bool again = event->kind == EVENT_SUBMISSION_REPEATED ||
                 (event->kind == EVENT_COMMAND_REJECTED &&
                  text_equal(event->command_rejected.code, TEXT("AlreadyEnded")));
    if (outcome == SUBORDER_HELD)
        return decision->order_state == ORDER_HELD && (again || event->kind == EVENT_ORDER_HELD ||
                                                       event->kind == EVENT_ORDER_DEADLINE_SET);
    if (outcome == SUBORDER_FINAL)
        return decision->order_state == ORDER_PROCESSED &&
               (again || (event->kind == EVENT_ORDER_PROCESSED && !sender->held));
    return decision->order_state == ORDER_COMPENSATED &&
           (again || event->kind == EVENT_ORDER_COMPENSATED);
}

static bool same_place(const struct order_parent *parent, const struct report_suborder *report)
{
    return parent != NULL && parent->accepted_offset == report->accepted_offset &&
           parent->item == report->item && parent->generation == report->generation &&
           text_equal(parent->order_id, report->order_id) && text_equal(parent->step, report->step);
}

static bool reports(const struct model_sender *sender, const struct event *event,
                    const struct report_suborder *report)
{
    if (report->outcome == SUBORDER_REFUSED)
        return event->kind == EVENT_COMMAND_REJECTED &&
               event->command_rejected.settle == SETTLE_NONE &&
               same_place(event->command_rejected.parent, report);
    bool with_output = report->outcome == SUBORDER_HELD || report->outcome == SUBORDER_FINAL;
    return same_place(sender->parent, report) && tells_state(sender, event, report->outcome) &&
           (!with_output || text_equal(report->output, sender->output));
}

/* ---- a message ---- */

static bool is_of(const struct model *model, struct text order_id)
{
    return partition_of(model->world, order_id) == model->partition;
}

static const char *take_submission(struct model *model, const struct order_details *details,
                                   int64_t appended_at)
{
    const struct order_parent *parent = details->parent;
    if (parent == NULL || !is_of(model, parent->order_id))
        return NULL;
    const struct model_sender *sender = find_submission(model, parent, appended_at);
    if (sender == NULL)
        return wrong("no Decision explains the submission of %.*s", TEXT_ARG(details->order_id));
    struct text id = order_suborder_id(parent->order_id, parent->step, parent->item,
                                       parent->generation, &model->world->scratch.arena);
    struct content_hash hash = details_content_hash(details);
    if (!text_equal(id, details->order_id) ||
        details->submitted_at != sender->decision.decided_at ||
        memcmp(&hash, &details->content_hash, sizeof(hash)) != 0)
        return wrong("%.*s is not submitted as it was decided", TEXT_ARG(details->order_id));
    return NULL;
}

static const char *take_settle(struct model *model, const struct settle_suborder *settle,
                               int64_t appended_at)
{
    if (settle->parent == NULL || !is_of(model, settle->parent->order_id))
        return NULL;
    for (uint32_t i = 0; i < model->sender_count; i++) {
        const struct model_sender *sender = &model->senders[i];
        if (sender->appended_at > appended_at ||
            !text_equal(sender->decision.order_id, settle->parent->order_id))
            continue;
        for (uint32_t k = 0; k < sender->decision.event_count; k++)
            if (settles(model, sender, &sender->decision.events[k], settle, appended_at))
                return NULL;
    }
    return wrong("no Decision explains that %.*s is settled (%s)", TEXT_ARG(settle->order_id),
                 settle_names.names[settle->how]);
}

static const char *take_report(struct model *model, const struct report_suborder *report,
                               int64_t appended_at)
{
    struct text id = order_suborder_id(report->order_id, report->step, report->item,
                                       report->generation, &model->world->scratch.arena);
    if (!is_of(model, id))
        return NULL;
    for (uint32_t i = 0; i < model->sender_count; i++) {
        const struct model_sender *sender = &model->senders[i];
        if (sender->appended_at > appended_at || !text_equal(sender->decision.order_id, id))
            continue;
        for (uint32_t k = 0; k < sender->decision.event_count; k++)
            if (reports(sender, &sender->decision.events[k], report))
                return NULL;
    }
    return wrong("no Decision explains that %.*s is reported (%s)", TEXT_ARG(id),
                 suborder_outcome_names.names[report->outcome]);
}

static const char *take_message(struct model *model, const struct broker_record *bytes)
{
    struct record record;
    struct error error;
    if (codec_decode(model->world->run->codec, bytes->value, true, &model->world->scratch.arena,
                     &record, &error) != ERROR_OK)
        return NULL; /* it has a dead letter */
    if (record.kind == (enum record_kind)COMMAND_SUBMIT_ORDER)
        return take_submission(model, &record.command.submit_order, bytes->timestamp);
    if (record.kind == (enum record_kind)COMMAND_SETTLE_SUBORDER)
        return take_settle(model, &record.command.settle_suborder, bytes->timestamp);
    if (record.kind == (enum record_kind)COMMAND_REPORT_SUBORDER)
        return take_report(model, &record.command.report_suborder, bytes->timestamp);
    return NULL;
}

const char *model_check_messages(struct model *model)
{
    const char *failed = NULL;
    if (model->world->trees == NULL)
        return NULL;
    for (int32_t p = 0; p < model->world->partitions; p++) {
        int64_t end = log_end(model->world, "p.commands", p);
        for (int64_t at = 0; at < end && failed == NULL; at++) {
            struct broker_record record;
            if (broker_memory_record(model->world->kafka, "p.commands", p, at, &record))
                failed = take_message(model, &record);
        }
    }
    return failed;
}
