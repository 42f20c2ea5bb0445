/* SPDX-License-Identifier: Apache-2.0 */
/* The targets of one partition's effects: what each may take, what it has not acknowledged, and
 * from where it has to be read again. */
#include "replica/cluster/reply_format.h"
#include "services/scheduler/emitter/internal.h"

#include <assert.h>
#include <stdlib.h>

enum { RETRY_MS = 200, UNUSED_MAX = 4096, UNUSED_BYTES_MAX = 16 * 1024 };

struct effect_target *emitter_target_new(struct emitter *emitter, const char *topic,
                                         int32_t partition)
{
    struct effect_target *target = calloc(1, sizeof(*target));
    assert(target != NULL);
    assert(partition >= -1);
    target->topic = topic;
    target->partition = partition;
    LL_PREPEND(emitter->targets, target);
    return target;
}

static struct effect_target *target_at(struct emitter *emitter, struct effect_topic *topic,
                                       int32_t partition)
{
    assert(partition >= 0 && partition < topic->count);
    if (topic->targets[partition] == NULL)
        topic->targets[partition] = emitter_target_new(emitter, topic->name, partition);
    return topic->targets[partition];
}

static struct effect_topic *topic_of(struct emitter *emitter, const char *name)
{
    struct effect_topic *topic = NULL;
    size_t size = strlen(name);
    assert(size > 0 && size <= TOPIC_BYTES_MAX);
    HASH_FIND(hh, emitter->topics, name, size, topic);
    if (topic != NULL)
        return topic;
    topic = calloc(1, sizeof(*topic));
    assert(topic != NULL);
    memcpy(topic->name, name, size + 1);
    HASH_ADD_KEYPTR(hh, emitter->topics, topic->name, size, topic);
    return topic;
}

static void fall_behind(struct emitter *emitter, struct effect_target *target,
                        const struct effect_place *from)
{
    assert(from->before < from->offset);
    assert(target->behind || !target->reading);
    emitter->behind += !target->behind;
    emitter->unknown += !target->behind && target->partition < 0;
    emitter->reading -= target->reading;
    target->behind = true;
    target->reading = false;
    target->from = *from;
    assert(emitter->reading <= emitter->behind);
    emitter->through_stale = true;
}

/* Effects that waited for the number of partitions are read again for each of them. */
static void end_waiting(struct emitter *emitter, struct effect_topic *topic)
{
    struct effect_target *unknown = topic->unknown;
    if (unknown == NULL || !unknown->behind)
        return;
    assert(unknown->count == 0 && !unknown->reading && topic->count > 0);
    unknown->behind = false;
    emitter->behind--;
    emitter->unknown--;
    emitter->through_stale = true;
    for (int32_t i = 0; i < topic->count; i++) {
        struct effect_target *target = target_at(emitter, topic, i);
        target->requests = unknown->requests;
        target->messages = unknown->messages;
        target->statuses = unknown->statuses;
        fall_behind(emitter, target, &unknown->from);
    }
}

/* Never fewer than before: a topic that was recreated is not worth the trouble. */
static void look_up(struct emitter *emitter, struct effect_topic *topic)
{
    int32_t old_count = topic->count;
    int32_t count = broker_partition_count_known(emitter->cluster->broker, topic->name);
    if (count == 0)
        return;
    count = count < 0 ? 1 : count; /* no such topic: one target for what is refused */
    topic->count = count > old_count ? count : old_count;
    if (topic->count > old_count) {
        topic->targets = realloc(topic->targets, (size_t)topic->count * sizeof(topic->targets[0]));
        assert(topic->targets != NULL);
        memset(topic->targets + old_count, 0,
               (size_t)(topic->count - old_count) * sizeof(topic->targets[0]));
    }
    end_waiting(emitter, topic);
}

struct effect_target *emitter_target(struct emitter *emitter, const char *name, struct text key)
{
    struct effect_topic *topic = topic_of(emitter, name);
    if (topic->count == 0)
        look_up(emitter, topic);
    if (topic->count > 0)
        return target_at(emitter, topic, broker_partition_of(key, topic->count));
    if (topic->unknown == NULL)
        topic->unknown = emitter_target_new(emitter, topic->name, -1);
    return topic->unknown;
}

void emitter_look_up_topics(struct emitter *emitter, bool all)
{
    for (struct effect_topic *topic = emitter->topics; topic != NULL; topic = topic->hh.next)
        if (all || topic->count == 0)
            look_up(emitter, topic);
}

void emitter_free_topics(struct emitter *emitter)
{
    struct effect_topic *topic;
    struct effect_topic *next_topic;
    struct effect_target *target;
    struct effect_target *next;
    LL_FOREACH_SAFE(emitter->targets, target, next) {
        assert(target->held == 0 && target->held_bytes == 0);
        free(target);
    }
    HASH_ITER(hh, emitter->topics, topic, next_topic) {
        HASH_DEL(emitter->topics, topic);
        free(topic->targets);
        free(topic);
    }
    emitter->targets = NULL;
}

/* ---- effects ---- */

static bool precedes(const struct effect_place *a, const struct effect_place *b)
{
    return a->offset < b->offset || (a->offset == b->offset && a->ordinal < b->ordinal);
}

static struct emission *effect_new(struct emitter *emitter, struct effect_target *target,
                                   const struct effect_record *record)
{
    struct emission *effect = emitter->unused;
    if (effect != NULL) {
        emitter->unused = effect->next;
        emitter->unused_count--;
    } else {
        effect = calloc(1, sizeof(*effect));
        assert(effect != NULL);
        effect->emitter = emitter;
    }
    assert(effect->pending == 0 && !effect->listed);
    assert(effect->bytes.size == 0 && effect->dead_letter == NULL);
    effect->next = NULL;
    effect->target = target;
    effect->place = record->place;
    effect->state = EFFECT_SENT;
    effect->attempt = record->attempt;
    effect->key_size = record->key.size;
    buffer_append(&effect->bytes, record->key.data, record->key.size);
    bool status = record->value.data == NULL && record->kind == RECORD_STATUS_UPDATE;
    effect->json = status && cluster_reply_is_json(emitter->cluster, target->topic);
    if (record->value.data != NULL)
        buffer_append(&effect->bytes, record->value.data, record->value.size);
    else if (status)
        cluster_encode_reply(emitter->cluster, target->topic, record->record, &effect->bytes);
    else
        codec_encode(emitter->cluster->codec, record->kind, record->record, &effect->bytes);
    assert(effect->bytes.size >= effect->key_size);
    return effect;
}

static void release_effect(struct emission *effect)
{
    struct emitter *emitter = effect->emitter;
    assert(effect->pending == 0 && !effect->listed);
    assert(emitter->unused_count <= UNUSED_MAX);
    free(effect->dead_letter);
    effect->dead_letter = NULL;
    effect->bytes.size = 0;
    if (emitter->freed || emitter->unused_count >= UNUSED_MAX) {
        buffer_deinit(&effect->bytes);
        free(effect);
        return;
    }
    if (effect->bytes.capacity > UNUSED_BYTES_MAX)
        buffer_deinit(&effect->bytes);
    effect->next = emitter->unused;
    emitter->unused = effect;
    emitter->unused_count++;
}

static void list(struct emission *effect)
{
    struct effect_target *target = effect->target;
    assert(!effect->listed && effect->next == NULL);
    assert((target->first == NULL) == (target->count == 0));
    assert(target->first == NULL || precedes(&target->last->place, &effect->place));
    *(target->first != NULL ? &target->last->next : &target->first) = effect;
    target->last = effect;
    target->count++;
    effect->listed = true;
    effect->emitter->listed++;
}

/* It is the first that waits, and waits no longer. */
static void end_pacing(struct emission *effect, enum effect_state state)
{
    struct effect_target *target = effect->target;
    assert(effect->state == EFFECT_PACED && effect == target->paced);
    assert(target->paced_bytes >= effect->bytes.size);
    effect->state = state;
    target->paced = effect->next;
    target->paced_bytes -= effect->bytes.size;
    effect->emitter->cluster->effect_bytes -= effect->bytes.size;
    assert(target->paced != NULL || target->paced_bytes == 0);
}

void emitter_drop_paced(struct emission *effect)
{
    end_pacing(effect, EFFECT_DONE);
}

static void unlist_first(struct emitter *emitter, struct effect_target *target)
{
    struct emission *effect = target->first;
    if (effect->state == EFFECT_PACED)
        emitter_drop_paced(effect);
    assert(effect->listed);
    assert(target->count > 0 && emitter->listed >= target->count);
    assert(effect->state != EFFECT_REFUSED || emitter->refused > 0);
    target->first = effect->next;
    target->count--;
    emitter->listed--;
    emitter->refused -= effect->state == EFFECT_REFUSED;
    emitter->through_stale = true;
    effect->listed = false;
    if (effect->pending == 0)
        release_effect(effect);
}

void emitter_unlist_all(struct emitter *emitter, struct effect_target *target)
{
    while (target->first != NULL)
        unlist_first(emitter, target);
    assert(target->count == 0);
}

void emitter_pop_done(struct emitter *emitter, struct effect_target *target)
{
    while (target->first != NULL && target->first->state == EFFECT_DONE)
        unlist_first(emitter, target);
}

/* Copies key and record; the effect is the target's last one. */
static struct emission *list_effect(struct emitter *emitter, struct effect_target *target,
                                    const struct effect_record *record)
{
    struct emission *effect = effect_new(emitter, target, record);
    list(effect);
    return effect;
}

/* ---- what the producer holds ---- */

bool emitter_target_quiet(const struct emitter *emitter, const struct effect_target *target)
{
    return target->quiet_since != 0 &&
           cluster_now_ms(emitter->cluster) - target->quiet_since >= QUIET_MS;
}

static bool is_crowded(const struct emitter *emitter)
{
    return broker_outstanding(emitter->cluster->broker, BROKER_PRODUCER_EFFECTS) >
               CROWDED_EFFECTS ||
           emitter->cluster->effect_bytes > CROWDED_BYTES;
}

/* How many effects of the target the producer may hold. */
static uint32_t share_of(const struct emitter *emitter, const struct effect_target *target)
{
    assert(target->held_bytes <= emitter->cluster->effect_bytes);
    if (emitter_target_quiet(emitter, target))
        return 1;
    if (!target->proven)
        return SHARE_UNPROVEN;
    if (is_crowded(emitter))
        return target->held_bytes < SHARE_BYTES_CROWDED ? SHARE_CROWDED : 1;
    return target->held_bytes < SHARE_BYTES ? SHARE_EFFECTS : 1;
}

bool emitter_target_has_room(const struct emitter *emitter, const struct effect_target *target)
{
    return target->held < share_of(emitter, target);
}

bool emitter_target_held_up(const struct emitter *emitter, const struct effect_target *target)
{
    return target->statuses && !cluster_reply_is_possible(emitter->cluster, target->topic);
}

bool emitter_target_ready(const struct emitter *emitter, const struct effect_target *target)
{
    assert(target->behind || !target->reading);
    if (!target->behind || target->partition < 0 || target->count > SHARE_EFFECTS / 2 ||
        emitter_target_held_up(emitter, target))
        return false;
    if (emitter_is_given_up(emitter, target, &target->from) || target->sweep)
        return true;
    if (target->paced_bytes > PACED_BYTES / 2)
        return false;
    return cluster_now_ms(emitter->cluster) >= target->retry_at &&
           target->held <= share_of(emitter, target) / 2;
}

void emitter_hold(struct emission *effect, struct effect_target *holder)
{
    struct emitter *emitter = effect->emitter;
    assert(!emitter->freed);
    assert(holder == effect->target || holder == emitter->dead_letters);
    effect->pending++;
    emitter->outstanding++;
    holder->held++;
    holder->held_bytes += effect->bytes.size;
    emitter->cluster->effect_bytes += effect->bytes.size;
    if (holder->quiet_since == 0)
        holder->quiet_since = cluster_now_ms(emitter->cluster);
}

bool emitter_let_go(struct emission *effect, struct effect_target *holder)
{
    struct emitter *emitter = effect->emitter;
    assert(effect->pending > 0 && emitter->outstanding >= effect->pending);
    assert(holder->held > 0 && holder->held_bytes >= effect->bytes.size);
    assert(emitter->cluster->effect_bytes >= holder->held_bytes);
    effect->pending--;
    emitter->outstanding--;
    holder->held--;
    holder->held_bytes -= effect->bytes.size;
    emitter->cluster->effect_bytes -= effect->bytes.size;
    bool counts = effect->listed && !emitter->freed;
    if (!effect->listed && effect->pending == 0)
        release_effect(effect);
    if (emitter->freed && emitter->outstanding == 0)
        emitter_destroy(emitter);
    return counts;
}

void emitter_acknowledged(struct emitter *emitter, struct effect_target *target)
{
    int64_t now = cluster_now_ms(emitter->cluster);
    assert(!emitter->freed);
    assert(now >= emitter->acked_ms && emitter->acked_ms >= emitter->others_acked_ms);
    target->proven = true;
    target->quiet_since = target->held > 0 ? now : 0;
    if (target->given_up)
        emitter_target_recovered(emitter, target, "every topic acknowledges again");
    if (now - emitter->acked_ms > RESUME_MS)
        emitter->resumed_ms = now;
    if (emitter->acked != target)
        emitter->others_acked_ms = emitter->acked_ms;
    emitter->acked = target;
    emitter->acked_ms = now;
}

/* ---- sending ---- */

/* The timer comes back by then, for whichever target is first. */
static void wake_after(struct emitter *emitter, int64_t delay_ms)
{
    int64_t due_ms = clock_mono_ms(emitter->cluster->service->clock) + delay_ms;
    if (!loop_timer_armed(&emitter->timer) || emitter->timer.due_ms > due_ms)
        loop_timer_set(cluster_loop(emitter->cluster), &emitter->timer, due_ms);
}

static void retry_later(struct emitter *emitter, struct effect_target *target)
{
    target->retry_at = cluster_now_ms(emitter->cluster) + RETRY_MS;
    wake_after(emitter, RETRY_MS);
}

/* This effect and what follows it on its target are read and sent again. */
static void send_again(struct emitter *emitter, struct effect_target *target,
                       struct emission *failed)
{
    struct emission *kept = NULL;
    struct effect_place place = failed->place;
    assert(failed->listed && failed->target == target);
    for (struct emission *at = target->first; at != failed; at = at->next)
        kept = at;
    struct effect_target lost = {.first = failed, .last = target->last}; /* to be unlisted */
    for (struct emission *at = failed; at != NULL; at = at->next)
        lost.count++;
    *(kept != NULL ? &kept->next : &target->first) = NULL;
    target->last = kept;
    assert(target->count >= lost.count);
    target->count -= lost.count;
    assert((target->first == NULL) == (target->count == 0));
    emitter_unlist_all(emitter, &lost);
    target->proven = false;
    fall_behind(emitter, target, &place);
    retry_later(emitter, target);
}

static void on_sent(void *ctx, uint64_t token, int64_t offset, const struct error *error)
{
    struct emission *effect = ctx;
    struct emitter *emitter = effect->emitter;
    struct effect_target *target = effect->target;
    (void)token;
    (void)offset;
    bool failed = error != NULL && error_is(error);
    bool answered = !failed || error->class == ERROR_REJECT;
    bool freed = emitter->freed;
    bool counts = emitter_let_go(effect, target);
    if (freed)
        return;
    assert(!counts || target->first != NULL);
    if (answered)
        emitter_acknowledged(emitter, target);
    if (counts && effect->state == EFFECT_SENT && !answered) {
        send_again(emitter, target, effect);
    } else if (counts && effect->state == EFFECT_SENT && failed) {
        emitter_refuse(effect, error);
    } else if (counts && !failed && effect->state != EFFECT_DEAD_LETTERED) { /* perhaps late */
        emitter->refused -= effect->state == EFFECT_REFUSED;
        effect->state = EFFECT_DONE;
    }
    emitter_pop_done(emitter, target);
    emitter_progressed(emitter, target);
}

static enum error_class append(struct emission *effect)
{
    assert(effect->target != effect->emitter->dead_letters);
    assert(effect->bytes.size >= effect->key_size);
    const char *bytes = (const char *)effect->bytes.data;
    uint32_t value_size = (uint32_t)effect->bytes.size - effect->key_size;
    struct broker_append append = {.producer = BROKER_PRODUCER_EFFECTS,
                                   .topic = effect->target->topic,
                                   .partition = BROKER_BY_KEY,
                                   .key = {bytes, effect->key_size},
                                   .value = {bytes + effect->key_size, value_size},
                                   .headers = effect->json ? cluster_json_headers : NULL,
                                   .header_count = effect->json ? CLUSTER_JSON_HEADERS : 0,
                                   .batches = true,
                                   .done = on_sent,
                                   .ctx = effect};
    return broker_append(effect->emitter->cluster->broker, &append, NULL);
}

static bool send(struct emitter *emitter, struct effect_target *target,
                 const struct effect_record *record)
{
    assert(target->partition >= 0 || target == emitter->dead_letters);
    assert(target->held < SHARE_EFFECTS);
    struct emission *effect = effect_new(emitter, target, record);
    enum error_class class = target == emitter->dead_letters
                                 ? emitter_append_command(effect, record->decision, on_sent)
                                 : append(effect);
    if (class != ERROR_OK) {
        release_effect(effect);
        retry_later(emitter, target);
        return false;
    }
    emitter_hold(effect, target);
    list(effect);
    return true;
}

/* Whether the target takes one more message now; else the timer comes back to it. */
static bool keeps_pace(struct emitter *emitter, struct effect_target *target)
{
    int64_t now = cluster_now_ms(emitter->cluster);
    if (!target->messages)
        return true;
    if (now - target->in_pace_since >= PACE_MS || now < target->in_pace_since) {
        target->in_pace_since = now;
        target->in_pace = 0;
    }
    if (target->in_pace < PACE_MESSAGES) {
        target->in_pace++;
        return true;
    }
    target->retry_at = target->in_pace_since + PACE_MS;
    wake_after(emitter, target->retry_at - now);
    return false;
}

/* Reading the log again for a few messages costs more than keeping them. False: they are many. */
static bool wait_for_pace(struct emitter *emitter, struct effect_target *target,
                          const struct effect_record *record)
{
    if (target->paced_bytes >= PACED_BYTES || is_crowded(emitter))
        return false;
    struct emission *effect = list_effect(emitter, target, record);
    effect->state = EFFECT_PACED;
    if (target->paced == NULL)
        target->paced = effect;
    target->paced_bytes += effect->bytes.size;
    emitter->cluster->effect_bytes += effect->bytes.size;
    return true;
}

void emitter_send_paced(struct emitter *emitter, struct effect_target *target)
{
    while (target->paced != NULL && emitter_target_has_room(emitter, target) &&
           keeps_pace(emitter, target)) {
        struct emission *effect = target->paced;
        if (append(effect) != ERROR_OK) {
            retry_later(emitter, target);
            return;
        }
        end_pacing(effect, EFFECT_SENT);
        emitter_hold(effect, target);
    }
}

static bool take(struct emitter *emitter, struct effect_target *target,
                 const struct effect_record *record)
{
    assert(target->count <= SHARE_EFFECTS);
    if (target->partition < 0) {
        wake_after(emitter, LOOK_UP_MS);
        return false;
    }
    if (target->count >= SHARE_EFFECTS || emitter_target_held_up(emitter, target))
        return false;
    if (emitter_is_given_up(emitter, target, &record->place)) {
        emitter_give_up(list_effect(emitter, target, record));
        return true;
    }
    if (emitter_is_stale(emitter, target, &record->place))
        return true;
    if (!emitter_target_has_room(emitter, target))
        return false;
    if (target->paced != NULL || !keeps_pace(emitter, target))
        return wait_for_pace(emitter, target, record);
    return send(emitter, target, record);
}

bool emitter_is_due(const struct effect_target *target, const struct effect_record *record,
                    bool follows)
{
    if (target->behind) /* not what is offered meanwhile: the reading comes to it */
        return target->reading && record->is_read && !precedes(&record->place, &target->from);
    return follows;
}

void emitter_take(struct emitter *emitter, struct effect_target *target,
                  const struct effect_record *record, bool follows)
{
    assert(emitter->running);
    assert(record->place.before < record->place.offset);
    if (!emitter_is_due(target, record, follows))
        return;
    emitter->through_stale = true;
    if (target->count == 0 && target->held == 0 && !target->behind)
        target->quiet_since = 0; /* the last that it was owed was given up, not acknowledged */
    if (!take(emitter, target, record)) {
        fall_behind(emitter, target, &record->place);
    } else if (target->behind) {
        target->from = record->place;
        target->from.ordinal++;
    }
}
