/* SPDX-License-Identifier: Apache-2.0 */
/* Effects that cannot be delivered: they become dead letters and then count as emitted. A dead
 * letter that cannot be sent either waits; it is never given up. */
#include "services/scheduler/emitter/internal.h"

#include "platform/logger.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { SETTLE_MS = 60 * 1000 }; /* how long others have acknowledged again before one is given up */

/* ---- dead letters ---- */

static void on_dead_letter(void *ctx, uint64_t token, int64_t offset, const struct error *error)
{
    struct emission *effect = ctx;
    struct emitter *emitter = effect->emitter;
    struct effect_target *target = effect->target;
    struct effect_target *dead_letters = emitter->dead_letters;
    (void)token;
    (void)offset;
    bool failed = error != NULL && error_is(error);
    bool refused = failed && error->class == ERROR_REJECT;
    bool freed = emitter->freed;
    bool counts = emitter_let_go(effect, dead_letters);
    assert(!counts || effect->state == EFFECT_DEAD_LETTERED);
    assert(!counts || effect->dead_letter != NULL);
    if (freed)
        return;
    if (!failed || refused)
        emitter_acknowledged(emitter, dead_letters);
    if (failed)
        log_error_limited("a dead letter cannot be delivered",
                          LOG_I64("partition", emitter->partition), LOG_ERR(error));
    if (counts && failed) { /* it is sent again later */
        effect->dead_letter->without_value = effect->dead_letter->without_value || refused;
        effect->state = EFFECT_REFUSED;
        emitter->refused++;
        dead_letters->proven = false;
    } else if (counts) {
        effect->state = EFFECT_DONE;
        emitter_pop_done(emitter, target);
        emitter_progressed(emitter, target);
    }
    if (!failed && emitter->refused > 0 && dead_letters->held <= SHARE_UNPROVEN / 2)
        emitter_send_dead_letters(emitter);
}

static struct broker_record record_of(const struct emission *effect)
{
    const struct effect_dead_letter *dead_letter = effect->dead_letter;
    assert(effect->bytes.size >= effect->key_size);
    const char *bytes = (const char *)effect->bytes.data;
    uint32_t value_size = (uint32_t)effect->bytes.size - effect->key_size;
    return (struct broker_record){.topic = dead_letter->topic,
                                  .partition = effect->emitter->partition,
                                  .offset = dead_letter->offset,
                                  .timestamp = dead_letter->timestamp,
                                  .key = {bytes, effect->key_size},
                                  .value = {bytes + effect->key_size, value_size}};
}

static enum error_class append_dead_letter(struct emission *effect, struct broker_record *record,
                                           broker_appended done)
{
    const struct effect_dead_letter *dead_letter = effect->dead_letter;
    struct dead_letter_cut cut = dead_letter->cut;
    assert(dead_letter->code[0] != '\0');
    if (dead_letter->without_value) {
        cut.value_bytes = cut.value_bytes > 0 ? cut.value_bytes : record->value.size;
        record->value.size = 0;
    }
    bool is_cut = (cut.value_bytes > 0 || cut.meta_bytes > 0) && dead_letter_fits(record);
    return cluster_dead_letter(effect->emitter->cluster, record, is_cut ? &cut : NULL,
                               dead_letter->code, dead_letter->message, done, effect, 0, NULL);
}

static bool send_dead_letter(struct emission *effect)
{
    struct emitter *emitter = effect->emitter;
    assert(effect->listed && effect->dead_letter != NULL);
    assert(effect->state == EFFECT_REFUSED);
    assert(emitter->refused > 0);
    if (!emitter_target_has_room(emitter, emitter->dead_letters))
        return false;
    struct broker_record record = record_of(effect);
    if (append_dead_letter(effect, &record, on_dead_letter) != ERROR_OK)
        return false;
    emitter_hold(effect, emitter->dead_letters);
    effect->state = EFFECT_DEAD_LETTERED;
    emitter->refused--;
    return true;
}

void emitter_send_dead_letters(struct emitter *emitter)
{
    for (struct effect_target *target = emitter->targets; target != NULL; target = target->next)
        for (struct emission *effect = target->first; effect != NULL; effect = effect->next) {
            if (emitter->refused == 0)
                return;
            if (effect->state == EFFECT_REFUSED && !send_dead_letter(effect))
                return;
        }
    assert(emitter->refused == 0);
}

static void set_reason(struct effect_dead_letter *dead_letter, struct text code,
                       struct text message)
{
    snprintf(dead_letter->code, sizeof(dead_letter->code), "%.*s", TEXT_ARG(code));
    snprintf(dead_letter->message, sizeof(dead_letter->message), "%.*s", TEXT_ARG(message));
}

void emitter_refuse(struct emission *effect, const struct error *error)
{
    struct text key = {(const char *)effect->bytes.data, effect->key_size};
    assert(error_is(error));
    assert(effect->listed && effect->state == EFFECT_SENT);
    effect->state = EFFECT_REFUSED;
    effect->emitter->refused++;
    if (effect->dead_letter != NULL) {
        /* A command's was refused itself: it is sent again later, without the bytes. */
        effect->dead_letter->without_value = true;
        log_error_limited("a dead letter cannot be delivered",
                          LOG_I64("partition", effect->emitter->partition), LOG_ERR(error));
        return;
    }
    log_warning_limited("an effect becomes a dead letter", LOG_STR("topic", effect->target->topic),
                        LOG_TEXT("order", key), LOG_ERR(error));
    effect->dead_letter = calloc(1, sizeof(*effect->dead_letter));
    assert(effect->dead_letter != NULL);
    set_reason(effect->dead_letter, text_of(error_name_of(error)), text_of(error->message));
    effect->dead_letter->topic = effect->target->topic;
    effect->dead_letter->offset = -1;
    send_dead_letter(effect);
}

enum error_class emitter_append_command(struct emission *effect, const struct decision *decision,
                                        broker_appended done)
{
    const struct undecodable *dead = &decision->events[0].command_dead_lettered;
    struct effect_dead_letter *dead_letter = calloc(1, sizeof(*dead_letter));
    assert(dead_letter != NULL);
    assert(effect->dead_letter == NULL && effect->target == effect->emitter->dead_letters);
    effect->dead_letter = dead_letter;
    dead_letter->topic = effect->emitter->cluster->topics.commands;
    dead_letter->offset = decision->command_offset;
    dead_letter->timestamp = decision->command_time;
    dead_letter->cut.value_bytes = dead->value_bytes;
    dead_letter->cut.meta_bytes = dead->meta_bytes;
    snprintf(dead_letter->cut.value_xxh128, sizeof(dead_letter->cut.value_xxh128), "%.*s",
             TEXT_ARG(dead->value_xxh128));
    set_reason(dead_letter, undecodable_code(dead), dead->reason);
    struct broker_record record = record_of(effect);
    for (; record.header_count < dead->header_count; record.header_count++)
        record.headers[record.header_count] = (struct broker_header){
            dead->headers[record.header_count].name, dead->headers[record.header_count].value};
    return append_dead_letter(effect, &record, done);
}

/* ---- giving up ---- */

void emitter_give_up(struct emission *effect)
{
    struct error error;
    assert(effect->target->given_up);
    assert(effect->target != effect->emitter->dead_letters);
    error_set(&error, CODE_UNDELIVERED,
              "%s[%" PRId32 "] acknowledged nothing for 15 minutes, while other partitions did",
              effect->target->topic, effect->target->partition);
    emitter_refuse(effect, &error);
}

/* By the log's time, so that no claim restarts the count. */
static bool is_old(const struct emitter *emitter, const struct effect_place *place)
{
    return cluster_now_ms(emitter->cluster) + emitter->lead_ms - place->decided_at >= GIVE_UP_MS;
}

bool emitter_is_stale(const struct emitter *emitter, const struct effect_target *target,
                      const struct effect_place *place)
{
    return target->messages && emitter_target_quiet(emitter, target) && is_old(emitter, place);
}

bool emitter_is_given_up(const struct emitter *emitter, const struct effect_target *target,
                         const struct effect_place *place)
{
    return target->given_up && is_old(emitter, place);
}

/* The first effect that the target has not acknowledged; NULL: none. */
static const struct effect_place *oldest_of(const struct effect_target *target)
{
    if (target->first != NULL)
        return &target->first->place;
    return target->behind ? &target->from : NULL;
}

/* It has been quiet while others have not. After a claim, and after an outage of everything, each
 * has some time to acknowledge. */
static bool is_undeliverable(const struct emitter *emitter, const struct effect_target *target)
{
    int64_t others = emitter->acked == target ? emitter->others_acked_ms : emitter->acked_ms;
    const struct effect_place *oldest = oldest_of(target);
    return oldest != NULL && is_old(emitter, oldest) && target->quiet_since != 0 &&
           others - target->quiet_since >= SETTLE_MS &&
           cluster_now_ms(emitter->cluster) - emitter->resumed_ms >= SETTLE_MS;
}

static void begin_giving_up(struct emitter *emitter, struct effect_target *target)
{
    char message[MESSAGE_BYTES_MAX];
    assert(!target->given_up);
    assert(!target->requests && !target->messages && target != emitter->dead_letters);
    target->given_up = true;
    snprintf(message, sizeof(message),
             "%s[%" PRId32
             "] has acknowledged nothing for 15 minutes: what was to go there becomes "
             "dead letters until it does. Check the partition's leader and its replicas in sync",
             target->topic, target->partition);
    partition_alert(emitter->alerts, emitter->cluster, emitter->partition, true,
                    CODE_EFFECTS_UNDELIVERABLE, message);
}

void emitter_target_recovered(struct emitter *emitter, struct effect_target *target,
                              const char *message)
{
    assert(target->given_up);
    target->given_up = false;
    for (const struct effect_target *at = emitter->targets; at != NULL; at = at->next)
        if (at->given_up)
            return;
    partition_alert(emitter->alerts, emitter->cluster, emitter->partition, false,
                    CODE_EFFECTS_UNDELIVERABLE, message);
}

static void give_up_old(struct emitter *emitter, struct effect_target *target)
{
    assert(target->given_up);
    for (struct emission *effect = target->first;
         effect != NULL && emitter_is_given_up(emitter, target, &effect->place);
         effect = effect->next)
        if (effect->state == EFFECT_SENT)
            emitter_give_up(effect);
}

/* ---- requests ---- */

uint64_t emitter_attempt(const struct attempt_ref *ref)
{
    struct text none = {0};
    return retry_salt(none, ref->step, (int)ref->direction, ref->attempt);
}

static bool attempt_is_over(struct emitter *emitter, const struct emission *effect)
{
    const struct order *order = NULL;
    struct text order_id = {(const char *)effect->bytes.data, effect->key_size};
    assert(effect->state == EFFECT_SENT && effect->target->requests);
    if (view_order(emitter->view, order_id, &order, NULL) != ERROR_OK)
        return false;
    if (order == NULL || order->accepted_offset > effect->place.offset)
        return true;
    for (uint32_t i = 0; i < order->step_count; i++) {
        const struct step *step = &order->steps[i];
        struct attempt_ref ref = {step->name, step->direction, step->attempt};
        if (step->state == STEP_PROCESSING && emitter_attempt(&ref) == effect->attempt)
            return false;
    }
    return true;
}

/* Its deadline has recovered the step: the request is of no use any more. */
static void drop_old_requests(struct emitter *emitter, struct effect_target *target)
{
    assert(target->requests && !target->given_up);
    for (struct emission *effect = target->first; effect != NULL; effect = effect->next)
        if (effect->state == EFFECT_SENT && attempt_is_over(emitter, effect))
            effect->state = EFFECT_DONE;
    emitter_pop_done(emitter, target);
    target->sweep = target->behind;
}

/* ---- messages ---- */

/* What has not arrived is asked again. */
static void drop_stale_messages(struct emitter *emitter, struct effect_target *target)
{
    assert(target->messages && !target->given_up);
    for (struct emission *effect = target->first; effect != NULL; effect = effect->next) {
        if (!emitter_is_stale(emitter, target, &effect->place))
            continue;
        if (effect == target->paced)
            emitter_drop_paced(effect);
        else if (effect->state == EFFECT_SENT)
            effect->state = EFFECT_DONE;
    }
    emitter_pop_done(emitter, target);
    target->sweep = target->behind && emitter_is_stale(emitter, target, &target->from);
}

void emitter_check_targets(struct emitter *emitter)
{
    assert(emitter->running);
    for (struct effect_target *target = emitter->targets; target != NULL; target = target->next) {
        if (target == emitter->dead_letters || !emitter_target_quiet(emitter, target))
            continue;
        if (target->requests) {
            drop_old_requests(emitter, target);
            continue;
        }
        if (target->messages) {
            drop_stale_messages(emitter, target);
            continue;
        }
        if (!target->given_up && is_undeliverable(emitter, target))
            begin_giving_up(emitter, target);
        if (target->given_up)
            give_up_old(emitter, target);
    }
}
