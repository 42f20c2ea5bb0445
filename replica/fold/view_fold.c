/* SPDX-License-Identifier: Apache-2.0 */
/* Folds records of the log into a view: those that are read, and those that the owner appends. */
#include "replica/fold/view_internal.h"
#include "statestore/keys.h"

#include <assert.h>
#include <xxhash.h>

void view_advance(struct view *view, struct text value, int64_t offset)
{
    assert(offset >= view->checkpoint.next_event_offset);
    view->checkpoint.next_event_offset = offset + 1;
    view->checkpoint.last_record_hash = XXH3_64bits(value.data, value.size);
    view->folded++;
    view->folded_bytes += value.size;
}

/* Older schedulers did not validate ids. An order whose id no store can hold is left out by every
 * reader; its Decisions count all the same. */
static bool is_left_out(const struct decision *decision)
{
    return !key_may_hold(decision->order_id) ||
           (text_empty(decision->order_id) && decision_changes_order(decision));
}

/* Versions are dense: an order that begins here cannot be in the store. */
static bool begins_order(const struct decision *decision)
{
    return decision_changes_order(decision) && decision->order_version == 1;
}

/* *ret_entry: what the store has of the Decision's order; NULL: nothing. */
static enum error_class load_decided(struct view *view, const struct decision *decision,
                                     struct view_entry **ret_entry, struct error *ret_error)
{
    if (!begins_order(decision) && !text_empty(decision->order_id))
        return view_entry_load(view, decision->order_id, ret_entry, ret_error);
    *ret_entry = begins_order(decision) ? view_entry_find(view, decision->order_id) : NULL;
    return ERROR_OK;
}

/* Another process wrote it: check before applying. */
static enum error_class check_decided(struct view *view, const struct decision *decision,
                                      const struct view_entry *entry, bool unseen,
                                      const struct broker_record *record, struct error *ret_error)
{
    const struct order *order =
        entry != NULL && !view_entry_is_expired(entry) ? &entry->order : NULL;
    const char *problem = NULL;
    if (decision->emitted_through >= record->offset)
        problem = "it says that effects of later ones are sent";
    else if (decision_changes_order(decision) && !unseen)
        problem = order_apply_problem(order, decision, &view->scratch.arena);
    if (problem == NULL)
        return ERROR_OK;
    return error_set(ret_error, CODE_IMPOSSIBLE_DECISION,
                     "%s[%d]@%lld holds a Decision about order %.*s that cannot follow the ones "
                     "before it: %s",
                     record->topic, record->partition, (long long)record->offset,
                     TEXT_ARG(decision->order_id), problem);
}

void view_folded_before(const struct view_entry *entry, struct view_folded *folded)
{
    folded->existed = entry != NULL && !view_entry_is_expired(entry);
    if (!folded->existed)
        return;
    folded->state_before = entry->order.state;
    folded->workflow_before = entry->order.details.workflow;
    folded->version_before = entry->order.details.workflow_version;
    folded->alert_before = entry->order.alert_open;
}

static void apply_admitted(struct view *view, const struct decision *decision,
                           struct view_entry *entry, struct text value, struct view_folded *folded)
{
    view_folded_before(entry, folded);
    if (decision_changes_order(decision)) {
        if (entry == NULL)
            entry = view_entry_new(view, decision->order_id);
        const struct view_index *index = view->options.index;
        if (index != NULL && folded->existed)
            index->count(view->options.index_ctx, &entry->order, -1);
        order_apply_decision(&entry->order, decision, &entry->heap.arena);
        if (index != NULL && !view_entry_is_expired(entry))
            index->count(view->options.index_ctx, &entry->order, 1);
        view_entry_mark_dirty(view, entry);
    }
    bool exists = entry != NULL && !view_entry_is_expired(entry);
    if (view->options.history && folded->existed && !exists)
        store_batch_delete_history(view->batch, decision->order_id, decision->offset);
    else if (view->options.history)
        store_batch_put_history(view->batch, decision->order_id, decision->offset, value);
    folded->order = exists ? &entry->order : NULL;
}

/* The store began inside the log, and no statement of this order was folded yet: the one that
 * follows has this change in it. */
static bool is_unseen(const struct view *view, const struct decision *decision,
                      const struct view_entry *entry)
{
    return !view->checkpoint.complete && decision_changes_order(decision) &&
           !begins_order(decision) && (entry == NULL || view_entry_is_expired(entry));
}

static enum error_class fold_decision(struct view *view, const struct broker_record *record,
                                      struct view_folded *folded, struct error *ret_error)
{
    struct decision *decision = &view->record.decision;
    struct checkpoint before = view->checkpoint;
    struct view_entry *entry = NULL;
    decision->offset = record->offset;
    folded->admission = admission_decision(&view->checkpoint, decision);
    if (folded->admission != ADMITTED || is_left_out(decision))
        return ERROR_OK;
    enum error_class class = load_decided(view, decision, &entry, ret_error);
    bool unseen = class == ERROR_OK && is_unseen(view, decision, entry);
    if (class == ERROR_OK)
        class = check_decided(view, decision, entry, unseen, record, ret_error);
    if (class != ERROR_OK) {
        view->checkpoint = before;
        return class;
    }
    if (unseen)
        return ERROR_OK;
    apply_admitted(view, decision, entry, record->value, folded);
    return ERROR_OK;
}

/* The log is to begin there: no owner trims it to one before that. */
static void forget_trimmed(struct view *view, const struct continuation *continuation)
{
    if (continuation->trimmed < 0)
        return;
    continuations_forget(&view->continuations, continuation->trimmed);
    view->continuations_changed = view->options.continuations;
}

static void take_continuation(struct view *view, const struct broker_record *record)
{
    forget_trimmed(view, &view->record.continuation);
    if (!view->options.continuations)
        return;
    continuations_add(&view->continuations,
                      (struct continuation_place){record->offset, record->timestamp});
    view->continuations_changed = true;
}

/* `reeve partition reset` never appends such a Reset. */
static enum error_class too_many_skips(const struct broker_record *record, struct error *ret_error)
{
    return error_set(ret_error, CODE_TOO_MANY_SKIPS,
                     "%s[%d]@%lld: a Reset skips a part of the log, as the %d before it do, and no "
                     "reader knows more of them: skip all that they skip, themselves included, "
                     "with one `reeve partition reset --partition %d --skip FROM-TO`",
                     record->topic, record->partition, (long long)record->offset,
                     CHECKPOINT_SKIPS_MAX, record->partition);
}

static enum error_class fold_decoded(struct view *view, const struct broker_record *record,
                                     struct view_folded *folded, struct error *ret_error)
{
    folded->kind = view->record.kind;
    folded->record = &view->record;
    bool expected = !admission_expects_reset(&view->checkpoint, record->offset) &&
                    !admission_begins(&view->checkpoint);
    if (folded->kind == RECORD_DECISION && expected)
        return fold_decision(view, record, folded, ret_error);
    if (folded->kind == RECORD_STATEMENT && expected)
        return view_fold_statement(view, record, folded, ret_error);
    if (folded->kind == RECORD_EXPIRY && expected)
        return view_fold_expiry(view, record, folded, ret_error);
    bool begins = admission_begins(&view->checkpoint);
    folded->admission = admission_record(&view->checkpoint, &view->record, record->offset);
    if (folded->admission == ADMISSION_DIFFERS)
        return error_set(ret_error, CODE_CONTINUATION_DIFFERS,
                         "%s[%d]@%lld: its owner states a position that differs from what is "
                         "folded here: delete this service's directory of the partition and "
                         "restart; if it differs again, `reeve partition reset --partition %d` can "
                         "skip what is wrong in the log",
                         record->topic, record->partition, (long long)record->offset,
                         record->partition);
    if (folded->admission == ADMISSION_TOO_MANY)
        return too_many_skips(record, ret_error);
    if (folded->admission == ADMITTED && folded->kind == RECORD_CONTINUATION)
        take_continuation(view, record);
    if (view->options.history && folded->admission == ADMITTED &&
        (folded->kind == RECORD_CLAIM || folded->kind == RECORD_RESET || begins))
        store_batch_put_history(view->batch, TEXT(""), record->offset, record->value);
    return ERROR_OK;
}

enum error_class view_refusal(const struct codec *codec, const struct broker_record *record,
                              const struct error *why, struct error *ret_error)
{
    if (why->code == CODE_UNKNOWN_SCHEMA)
        return error_set_as(ret_error, ERROR_RETRY, CODE_UNKNOWN_SCHEMA,
                            "%s[%d]@%lld: %s: upgrade this instance", record->topic,
                            record->partition, (long long)record->offset, why->message);
    if (codec_is_newer(codec, record->value))
        return error_set(ret_error, CODE_UNKNOWN_EVENT, "%s[%d]@%lld: %s: upgrade this instance",
                         record->topic, record->partition, (long long)record->offset, why->message);
    return error_set(ret_error, CODE_UNDECODABLE_EVENT,
                     "%s[%d]@%lld: %s: only reeve may write to this topic; stop the third-party "
                     "client, then skip the record with `reeve partition reset --partition %d`",
                     record->topic, record->partition, (long long)record->offset, why->message,
                     record->partition);
}

/* *ret_foreign: it lacks our framing, so it cannot be a record of the log. */
static enum error_class decode(struct view *view, const struct broker_record *record,
                               bool *ret_foreign, struct error *ret_error)
{
    struct error error = {0};
    uint64_t fingerprint = 0;
    *ret_foreign = !codec_peek(record->value, &fingerprint);
    if (*ret_foreign)
        return ERROR_OK;
    enum error_class class = codec_decode(view->options.codec, record->value, true,
                                          &view->scratch.arena, &view->record, &error);
    return class == ERROR_OK ? ERROR_OK
                             : view_refusal(view->options.codec, record, &error, ret_error);
}

/* Only a Continuation may be where a trimmed log begins; and where newer versions have written
 * before it, events that this one does not know may have led to the orders that follow. A reader
 * that had folded them would have stopped there. */
static enum error_class check_beginning(struct view *view, const struct broker_record *record,
                                        struct error *ret_error)
{
    struct record decoded;
    struct error why;
    bool skipped = admission_skips(&view->checkpoint, record->offset);
    enum error_class class = codec_decode(view->options.codec, record->value, true,
                                          &view->scratch.arena, &decoded, &why);
    if (class != ERROR_OK && !skipped && codec_is_newer(view->options.codec, record->value))
        return view_refusal(view->options.codec, record, &why, ret_error);
    if (class != ERROR_OK || skipped || decoded.kind != RECORD_CONTINUATION)
        return error_set(ret_error, CODE_LOG_TRUNCATED,
                         "%s[%d] is read from offset %lld on, and that record is not a "
                         "Continuation that counts: something other than reeve deleted what is "
                         "before it. The topic needs retention -1. Restore the topic",
                         record->topic, record->partition, (long long)record->offset);
    if (decoded.continuation.format > STATE_FORMAT)
        return error_set(ret_error, CODE_UNKNOWN_FORMAT,
                         "%s[%d] was trimmed and begins at offset %lld with orders of format %d; "
                         "the newest that this version knows is %d: upgrade this instance",
                         record->topic, record->partition, (long long)record->offset,
                         decoded.continuation.format, STATE_FORMAT);
    return ERROR_OK;
}

/* *ret_folded is what it was, unless that needs a closer look. */
static enum error_class fold_any(struct view *view, const struct broker_record *record,
                                 struct view_folded *folded, struct error *ret_error)
{
    bool foreign = false;
    if (admission_begins(&view->checkpoint)) {
        enum error_class class = check_beginning(view, record, ret_error);
        if (class != ERROR_OK)
            return class;
    }
    if (admission_skips(&view->checkpoint, record->offset)) {
        folded->admission = SKIPPED_RANGE;
        return ERROR_OK;
    }
    struct error error;
    enum error_class class = decode(view, record, &foreign, &error);
    if (class == ERROR_OK && !foreign)
        return fold_decoded(view, record, folded, ret_error);
    if (admission_expects_reset(&view->checkpoint, record->offset)) {
        folded->admission = ADMISSION_REFOLD;
        return ERROR_OK;
    }
    folded->admission = SKIPPED_FOREIGN;
    if (class != ERROR_OK && ret_error != NULL)
        *ret_error = error;
    return class;
}

enum error_class view_fold(struct view *view, const struct broker_record *record,
                           struct view_folded *ret_folded, struct error *ret_error)
{
    struct view_folded folded = {0};
    heap_arena_reset(&view->scratch);
    enum error_class class = fold_any(view, record, &folded, ret_error);
    if (class != ERROR_OK)
        return class;
    if (folded.admission != ADMITTED && folded.admission != ADMISSION_REFOLD)
        view->checkpoint.skipped++;
    if (folded.admission != ADMISSION_REFOLD)
        view_advance(view, record->value, record->offset);
    if (ret_folded != NULL)
        *ret_folded = folded;
    return ERROR_OK;
}

enum error_class view_decided(struct view *view, const struct decision *decision, struct text value,
                              struct error *ret_error)
{
    struct view_folded folded;
    struct view_entry *entry = NULL;
    enum admission admission = admission_decision(&view->checkpoint, decision);
    assert(admission == ADMITTED); /* the only legitimate writer's own next record */
    enum error_class class = load_decided(view, decision, &entry, ret_error);
    if (class != ERROR_OK)
        return class;
    apply_admitted(view, decision, entry, value, &folded);
    view_advance(view, value, decision->offset);
    return ERROR_OK;
}

void view_guarded(struct view *view, const struct command_guard *guard, struct text value,
                  int64_t offset)
{
    enum admission admission = admission_guard(&view->checkpoint, guard);
    assert(admission == ADMITTED);
    view_advance(view, value, offset);
}

void view_continued(struct view *view, const struct continuation *continuation, struct text value,
                    int64_t offset)
{
    enum admission admission = admission_continuation(&view->checkpoint, continuation);
    assert(admission == ADMITTED); /* it states what is folded here */
    forget_trimmed(view, continuation);
    view_advance(view, value, offset);
}

void view_continuation_appended(struct view *view, struct continuation_place place)
{
    assert(place.offset < view->checkpoint.next_event_offset);
    if (!view->options.continuations)
        return;
    continuations_add(&view->continuations, place);
    view->continuations_changed = true;
}

const struct continuations *view_continuations(const struct view *view)
{
    assert(view->options.continuations);
    return &view->continuations;
}

void view_begin_at(struct view *view, int64_t start)
{
    admission_begin_at(&view->checkpoint, start);
}

void view_set_skips(struct view *view, const struct checkpoint *skips)
{
    admission_copy_skips(&view->checkpoint, skips);
}
