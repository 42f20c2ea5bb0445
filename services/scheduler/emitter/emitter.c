/* SPDX-License-Identifier: Apache-2.0 */
/* The stream of effects: Decisions as they are offered, and as they are read again from the log for
 * a new claim or for targets that have fallen behind. */
#include "services/scheduler/emitter/internal.h"

#include "platform/failpoint.h"
#include "platform/logger.h"
#include "replica/cluster/reply_format.h"
#include "schemas/details.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    TICK_MS = 1000,
    RETRY_MS = 200,
    /* Ordinals of effects: a request has that of its event, and a message its own. */
    ORDINAL_STATUS = DECISION_EVENTS_READ_MAX,
    ORDINAL_ALERT,
    ORDINAL_DEAD_LETTER
};
_Static_assert((int)ORDINAL_DEAD_LETTER < (int)MESSAGE_ORDINAL_MIN, "each is one effect's");

static void read_if_ready(struct emitter *emitter);

static void close_reader(struct emitter *emitter)
{
    broker_reader_close(emitter->reader);
    emitter->reader = NULL;
    for (struct effect_target *target = emitter->targets; target != NULL; target = target->next) {
        emitter->reading -= target->reading;
        target->reading = false;
    }
    assert(emitter->reading == 0);
}

/* ---- one Decision ---- */

static void take_requests(struct emitter *emitter, const struct effects *effects,
                          const struct order *order, struct effect_record *record, bool follows)
{
    char topic[TOPIC_BYTES_MAX + 1];
    const struct event *events = record->decision->events;
    uint32_t event = 0;
    assert(effects->request_count <= record->decision->event_count);
    for (uint32_t i = 0; i < effects->request_count; i++) {
        const struct step_request *request = &effects->requests[i];
        while (!event_makes_request(events[event].kind) ||
               !text_equal(event_ref(&events[event])->step, request->ref.step))
            event++;
        assert(event < record->decision->event_count);
        topics_requests(&emitter->cluster->topics, request->agent, topic);
        FAILPOINT("emit.request");
        record->place.ordinal = event++;
        record->key = request->order_id;
        record->kind = RECORD_STEP_REQUEST;
        record->record = request;
        assert(order_find_step(order, request->ref.step) >= 0);
        record->attempt = emitter_attempt(&request->ref);
        struct effect_target *target = emitter_target(emitter, topic, record->key);
        target->requests = true;
        emitter_take(emitter, target, record, follows);
    }
}

/* An item's content is hashed only if the message is sent now: an order may have a thousand. */
static void take_messages(struct emitter *emitter, struct effects *effects,
                          struct effect_record *record, bool follows)
{
    for (uint32_t i = 0; i < effects->message_count; i++) {
        struct command *cmd = &effects->messages[i].cmd;
        struct effect_target *target =
            emitter_target(emitter, emitter->cluster->topics.commands, cmd->order_id);
        target->messages = true;
        record->place.ordinal = effects->messages[i].ordinal;
        record->key = cmd->order_id;
        record->kind = (enum record_kind)cmd->kind;
        record->record = cmd;
        if (!emitter_is_due(target, record, follows))
            continue;
        FAILPOINT("emit.message");
        if (cmd->kind == COMMAND_SUBMIT_ORDER)
            cmd->submit_order.content_hash = details_content_hash(&cmd->submit_order);
        emitter_take(emitter, target, record, follows);
    }
}

static void take_status(struct emitter *emitter, const struct status_update *status,
                        struct effect_record *record, bool follows)
{
    char topic[TOPIC_BYTES_MAX + 1];
    assert(status->reply_to.size > 0 && status->reply_to.size <= TOPIC_BYTES_MAX);
    assert(status->decision_offset == record->place.offset);
    snprintf(topic, sizeof(topic), "%.*s", TEXT_ARG(status->reply_to));
    FAILPOINT("emit.status");
    record->place.ordinal = ORDINAL_STATUS;
    record->key = status->order_id;
    record->kind = RECORD_STATUS_UPDATE;
    record->record = status;
    struct effect_target *target = emitter_target(emitter, topic, record->key);
    target->statuses = true;
    emitter_take(emitter, target, record, follows);
}

static void take_alert(struct emitter *emitter, const struct operator_alert *alert,
                       struct effect_record *record, bool follows)
{
    assert(alert->decision_offset == record->place.offset);
    assert(alert->partition == emitter->partition);
    record->place.ordinal = ORDINAL_ALERT;
    record->key = alert->order_id;
    record->kind = RECORD_OPERATOR_ALERT;
    record->record = alert;
    struct effect_target *target =
        emitter_target(emitter, emitter->cluster->topics.alerts, record->key);
    emitter_take(emitter, target, record, follows);
}

static void take_dead_letter(struct emitter *emitter, const struct undecodable *dead,
                             struct effect_record *record, bool follows)
{
    assert(record->decision->events[0].kind == EVENT_COMMAND_DEAD_LETTERED);
    record->place.ordinal = ORDINAL_DEAD_LETTER;
    record->key = dead->key;
    record->value = dead->bytes.data != NULL ? dead->bytes : TEXT("");
    emitter_take(emitter, emitter->dead_letters, record, follows);
}

/* `before`: the admitted Decision before it. `is_read`: from the log; else it is offered. False:
 * the order cannot be read now. */
static bool emit(struct emitter *emitter, const struct decision *decision, int64_t before,
                 bool is_read)
{
    bool follows = !is_read || (!emitter->live && decision->offset > emitter->taken);
    struct effects effects = {0};
    const struct order *order = NULL;
    assert(emitter->running);
    assert(before < decision->offset && decision->offset <= emitter->acknowledged);
    assert(is_read || emitter->live);
    heap_arena_reset(&emitter->scratch);
    if (!text_empty(decision->order_id) && decision->order_version > 0 &&
        view_order(emitter->view, decision->order_id, &order, NULL) != ERROR_OK)
        return false;
    effects_of(decision, emitter->partition, order, &emitter->scratch.arena, &effects);
    FAILPOINT("emit.begin");
    struct effect_record record = {
        .place = {.offset = decision->offset, .decided_at = decision->decided_at, .before = before},
        .is_read = is_read,
        .decision = decision};
    int64_t lead_ms = decision->decided_at - cluster_now_ms(emitter->cluster);
    if (!is_read || lead_ms > emitter->lead_ms) /* what is offered was decided just now */
        emitter->lead_ms = lead_ms;
    if (effects.request_count > 0)
        take_requests(emitter, &effects, order, &record, follows);
    if (effects.message_count > 0)
        take_messages(emitter, &effects, &record, follows);
    /* An older scheduler accepted any topic, even the log. */
    if (effects.has_status && topics_is_reply(&emitter->cluster->topics, effects.status.reply_to))
        take_status(emitter, &effects.status, &record, follows);
    if (effects.has_alert)
        take_alert(emitter, &effects.alert, &record, follows);
    if (effects.has_dead_letter)
        take_dead_letter(emitter, &decision->events[0].command_dead_lettered, &record, follows);
    if (follows)
        emitter->taken = decision->offset;
    emitter->through_stale = true;
    return true;
}

/* ---- reading again ---- */

/* After a failure, or for what is behind. */
static void read_later(struct emitter *emitter)
{
    assert(emitter->running);
    close_reader(emitter);
    loop_timer_after(cluster_loop(emitter->cluster), &emitter->timer, RETRY_MS);
}

static void reached_end(struct emitter *emitter)
{
    assert(emitter->running && emitter->reader != NULL);
    assert(emitter->behind >= emitter->reading);
    for (struct effect_target *target = emitter->targets; target != NULL; target = target->next) {
        emitter->behind -= target->reading;
        target->behind = target->behind && !target->reading;
    }
    close_reader(emitter);
    emitter->live = true;
    emitter->through_stale = true;
    read_if_ready(emitter);
}

/* The first record is that of an admitted Decision, where there is one: it tells claim and
 * sequence. */
static bool begin_admission(struct emitter *emitter, const struct record *record, int64_t offset)
{
    assert(!emitter->admission_begun);
    emitter->admission_begun = true;
    if (emitter->read_last < 0 || offset != emitter->read_last || record->kind != RECORD_DECISION)
        return false;
    emitter->admission.has_first_claim = emitter->admission.has_claim = true;
    emitter->admission.claim_id = record->decision.claim_id;
    emitter->admission.next_sequence = record->decision.sequence + 1;
    emitter->admission.next_command_offset = record->decision.command_offset + 1;
    return true;
}

/* False: it cannot be decoded yet; the fold has read it, so its schema is on its way. */
static bool decode(struct emitter *emitter, const struct broker_record *broker_record,
                   struct record *record)
{
    uint64_t fingerprint;
    heap_arena_reset(&emitter->bytes);
    record->kind = (enum record_kind)0;
    return !codec_peek(broker_record->value, &fingerprint) ||
           admission_skips(view_checkpoint(emitter->view), broker_record->offset) ||
           codec_decode(emitter->cluster->codec, broker_record->value, true, &emitter->bytes.arena,
                        record, NULL) == ERROR_OK;
}

/* Whether it is an admitted Decision whose effects are to be emitted. */
static bool admit(struct emitter *emitter, const struct record *record, int64_t offset)
{
    assert(offset <= emitter->acknowledged);
    if (!emitter->admission_begun && begin_admission(emitter, record, offset))
        return false; /* emitted already */
    if (record->kind == RECORD_CLAIM)
        admission_claim(&emitter->admission, &record->claim);
    else if (record->kind == RECORD_CONTINUATION) /* the fold has compared it */
        admission_sequence(&emitter->admission, &record->continuation);
    else if (record->kind == RECORD_STATEMENT)
        admission_statement(&emitter->admission, &record->statement); /* it has no effects */
    else if (record->kind == RECORD_EXPIRY)
        admission_expiry(&emitter->admission, &record->expiry);
    else if (record->kind == RECORD_RESET)
        admission_reset(&emitter->admission, &record->reset, offset);
    return record->kind == RECORD_DECISION &&
           admission_decision(&emitter->admission, &record->decision) == ADMITTED;
}

static void read_record(void *ctx, const struct broker_record *broker_record)
{
    struct emitter *emitter = ctx;
    int64_t offset = broker_record->offset;
    struct record record;
    assert(emitter->running && emitter->reader != NULL);
    assert(emitter->read_last < emitter->acknowledged);
    if (offset > emitter->acknowledged) {
        reached_end(emitter);
        return;
    }
    if (!decode(emitter, broker_record, &record)) {
        read_later(emitter);
        return;
    }
    if (admit(emitter, &record, offset)) {
        record.decision.offset = offset;
        if (!emit(emitter, &record.decision, emitter->read_last, true)) {
            read_later(emitter);
            return;
        }
        emitter->read_last = offset;
    }
    view_tidy(emitter->view);
    if (offset >= emitter->acknowledged)
        reached_end(emitter);
    else if (emitter->live && emitter->reading == 0)
        close_reader(emitter); /* all have fallen behind again */
}

/* The fold has passed them: a reset skips them. */
static void read_unreadable(void *ctx, int64_t offset, int64_t next_offset)
{
    struct emitter *emitter = ctx;
    (void)offset;
    if (next_offset > emitter->acknowledged)
        reached_end(emitter);
}

static void read_end(void *ctx, int64_t next_offset)
{
    struct emitter *emitter = ctx;
    assert(emitter->running && emitter->reader != NULL);
    if (next_offset > emitter->acknowledged)
        reached_end(emitter);
}

static void read_error(void *ctx, const struct error *error)
{
    struct emitter *emitter = ctx;
    assert(emitter->running && emitter->reader != NULL);
    log_warning_limited("reading the log again for emission",
                        LOG_I64("partition", emitter->partition), LOG_ERR(error));
    if (error->class == ERROR_FATAL)
        read_later(emitter);
}

static const struct broker_reader_ops read_ops = {read_record, read_end, read_error};

/* Reads again if a target, or all of them, wait for it and can take something. */
static void read_if_ready(struct emitter *emitter)
{
    int64_t from = emitter->live ? INT64_MAX : emitter->taken;
    if (!emitter->running || emitter->reader != NULL)
        return;
    for (struct effect_target *target = emitter->targets; target != NULL; target = target->next) {
        if (!emitter_target_ready(emitter, target))
            continue;
        target->reading = true;
        target->sweep = false;
        emitter->reading++;
        from = target->from.before < from ? target->from.before : from;
    }
    if (from >= emitter->acknowledged && emitter->reading == 0) {
        emitter->live = true;
        return;
    }
    assert(from < emitter->acknowledged);
    assert(emitter->reading <= emitter->behind);
    emitter->read_last = from;
    emitter->admission = admission_begin();
    admission_copy_skips(&emitter->admission, view_checkpoint(emitter->view));
    emitter->admission_begun = false;
    emitter->reader = broker_read(emitter->cluster->broker, emitter->cluster->topics.events,
                                  emitter->partition, from < 0 ? 0 : from, &read_ops, emitter);
    broker_reader_skip_headers(emitter->reader);
    broker_reader_skip_unreadable(emitter->reader, read_unreadable);
}

/* ---- progress ---- */

static bool all_emitted(const struct emitter *emitter)
{
    return emitter->live && emitter->listed == 0 && emitter->behind == 0;
}

static int64_t position_of(const struct effect_target *target)
{
    assert((target->first == NULL) == (target->count == 0));
    assert(!target->behind || target->from.before < target->from.offset);
    int64_t position = target->first != NULL ? target->first->place.before : INT64_MAX;
    if (target->behind && target->from.before < position)
        position = target->from.before;
    return position;
}

int64_t emitter_through(struct emitter *emitter)
{
    if (!emitter->through_stale)
        return emitter->through;
    int64_t through = emitter->taken;
    for (const struct effect_target *target = emitter->targets; target != NULL;
         target = target->next) {
        int64_t position = position_of(target);
        through = position < through ? position : through;
    }
    assert(through >= emitter->through);
    assert(through <= emitter->taken && emitter->taken <= emitter->acknowledged);
    emitter->through = through;
    emitter->through_stale = false;
    return through;
}

void emitter_progressed(struct emitter *emitter, struct effect_target *target)
{
    if (!emitter->running)
        return;
    assert(!emitter->freed);
    emitter_send_paced(emitter, target);
    if (all_emitted(emitter))
        view_set_emitted_through(emitter->view, emitter_through(emitter));
    else if (target->behind && emitter->reader == NULL && emitter_target_ready(emitter, target))
        read_if_ready(emitter);
}

static void tick_later(struct emitter *emitter)
{
    assert(emitter->running);
    if (!loop_timer_armed(&emitter->timer))
        loop_timer_after(cluster_loop(emitter->cluster), &emitter->timer,
                         emitter->unknown > 0 ? LOOK_UP_MS : TICK_MS);
}

static void on_timer(void *ctx)
{
    struct emitter *emitter = ctx;
    assert(emitter->running);
    if (emitter->unknown > 0)
        emitter_look_up_topics(emitter, false);
    emitter_check_targets(emitter);
    for (struct effect_target *target = emitter->targets; target != NULL; target = target->next)
        emitter_send_paced(emitter, target);
    if (emitter->refused > 0)
        emitter_send_dead_letters(emitter);
    read_if_ready(emitter);
    view_set_emitted_through(emitter->view, emitter_through(emitter));
    if (all_emitted(emitter))
        emitter->settled(emitter->ctx);
    else
        tick_later(emitter);
}

/* ---- the owner's calls ---- */

void emitter_start(struct emitter *emitter, int64_t emitted_through, int64_t acknowledged,
                   int64_t now_ms)
{
    emitter_stop(emitter);
    assert(!emitter->freed);
    assert(emitter->listed == 0 && emitter->refused == 0);
    assert(emitter->behind == 0 && emitter->reading == 0);
    assert(emitted_through < acknowledged);
    emitter->running = true;
    emitter->live = false;
    emitter->through = emitter->taken = emitted_through;
    emitter->through_stale = true;
    emitter->acknowledged = acknowledged;
    emitter->lead_ms = now_ms - cluster_now_ms(emitter->cluster);
    emitter_look_up_topics(emitter, true);
    cluster_prepare_replies(emitter->cluster);
    read_if_ready(emitter);
    tick_later(emitter);
}

void emitter_stop(struct emitter *emitter)
{
    close_reader(emitter);
    loop_timer_cancel(cluster_loop(emitter->cluster), &emitter->timer);
    for (struct effect_target *target = emitter->targets; target != NULL; target = target->next) {
        emitter_unlist_all(emitter, target);
        target->behind = target->sweep = false;
        target->quiet_since = target->held > 0 ? target->quiet_since : 0;
    }
    emitter->behind = emitter->unknown = 0;
    emitter->running = emitter->live = false;
    assert(emitter->listed == 0);
    assert(emitter->refused == 0);
}

void emitter_offer(struct emitter *emitter, const struct decision *decision)
{
    if (!emitter->running)
        return;
    assert(decision->offset > emitter->acknowledged);
    emitter->acknowledged = decision->offset;
    if (emitter->live && !emit(emitter, decision, emitter->taken, false)) {
        emitter->live = false;
        read_later(emitter);
    }
    tick_later(emitter);
}

struct emitter *emitter_new(struct cluster *cluster, int32_t partition, struct view *view,
                            struct partition_alerts *alerts, emitter_settled settled, void *ctx)
{
    struct emitter *emitter = calloc(1, sizeof(*emitter));
    assert(emitter != NULL);
    assert(partition >= 0 && partition < cluster->partition_count);
    assert(view != NULL && settled != NULL);
    emitter->cluster = cluster;
    emitter->partition = partition;
    emitter->view = view;
    emitter->alerts = alerts;
    emitter->settled = settled;
    emitter->ctx = ctx;
    emitter->dead_letters = emitter_target_new(emitter, cluster->topics.dead_letters, partition);
    heap_arena_init(&emitter->scratch, 16384);
    heap_arena_init(&emitter->bytes, 16384);
    loop_timer_init(&emitter->timer, on_timer, emitter);
    return emitter;
}

void emitter_destroy(struct emitter *emitter)
{
    assert(emitter->freed && emitter->outstanding == 0);
    assert(emitter->listed == 0);
    while (emitter->unused != NULL) {
        struct emission *effect = emitter->unused;
        emitter->unused = effect->next;
        buffer_deinit(&effect->bytes);
        free(effect);
    }
    emitter_free_topics(emitter);
    free(emitter);
}

void emitter_free(struct emitter *emitter)
{
    if (emitter == NULL)
        return;
    emitter_stop(emitter);
    for (struct effect_target *target = emitter->targets; target != NULL; target = target->next)
        if (target->given_up)
            emitter_target_recovered(emitter, target,
                                     "the partition is no longer with this instance");
    assert(!emitter->freed);
    heap_arena_deinit(&emitter->scratch);
    heap_arena_deinit(&emitter->bytes);
    emitter->freed = true;
    if (emitter->outstanding == 0)
        emitter_destroy(emitter);
}

int64_t emitter_backlog(const struct emitter *emitter)
{
    assert(!emitter->running || emitter->taken <= emitter->acknowledged);
    int64_t backlog =
        emitter->running && !emitter->live ? emitter->acknowledged - emitter->taken : 0;
    for (const struct effect_target *target = emitter->targets; target != NULL;
         target = target->next)
        if (!emitter_target_quiet(emitter, target) && !emitter_target_held_up(emitter, target))
            backlog += target->count + target->behind;
    return backlog;
}
