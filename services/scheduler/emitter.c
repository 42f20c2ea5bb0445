/* SPDX-License-Identifier: Apache-2.0 */
#include "services/scheduler/emitter.h"

#include "platform/failpoint.h"
#include "platform/logger.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    SLOTS = 16384, /* Decisions whose effects are outstanding; a power of two */
    RETRY_MS = 200
};

/* One Decision whose effects are not all acknowledged. */
struct emitter_slot {
    int64_t offset;
    uint32_t remaining;
};

enum emitter_mode {
    MODE_STOPPED,
    MODE_LIVE,    /* offered Decisions are emitted at once */
    MODE_WAITING, /* to read again: after a failure, or until the backlog has drained */
    MODE_READING  /* reads admitted Decisions again from the log */
};

struct emitter {
    struct cluster *cluster;
    int32_t partition;
    struct view *view;
    enum emitter_mode mode;
    uint32_t generation; /* acknowledgements of earlier ones are ignored */
    int64_t through;
    int64_t acknowledged;       /* the last Decision that may be emitted */
    int64_t taken;              /* the last Decision whose effects were produced */
    struct emitter_slot *slots; /* ring: head .. tail */
    uint64_t head;
    uint64_t tail;
    struct broker_reader *reader;
    struct checkpoint admission; /* while reading again */
    bool admission_begun;
    struct heap_arena scratch;
    struct heap_arena bytes;
    struct buffer value;
    struct loop_timer timer;
    uint64_t outstanding; /* acknowledgements that still name this struct, of any generation */
    bool freed;
};

static void begin_reading(struct emitter *emitter);

static void close_reader(struct emitter *emitter)
{
    broker_reader_close(emitter->reader);
    emitter->reader = NULL;
}

/* Back to emitted_through; what is outstanding no longer counts. */
static void go_back(struct emitter *emitter)
{
    assert(!emitter->freed);
    assert(emitter->mode != MODE_STOPPED);
    close_reader(emitter);
    emitter->generation++;
    emitter->head = emitter->tail = 0;
    emitter->taken = emitter->through;
    emitter->mode = MODE_WAITING;
    loop_timer_after(emitter->cluster->service->loop, &emitter->timer, RETRY_MS);
}

static void on_timer(struct loop *loop, struct loop_timer *timer, void *userdata)
{
    (void)loop;
    (void)timer;
    struct emitter *emitter = userdata;
    if (emitter->mode == MODE_WAITING)
        begin_reading(emitter);
}

/* ---- acknowledgements ---- */

static void advance(struct emitter *emitter)
{
    assert(!emitter->freed);
    assert(emitter->head <= emitter->tail && emitter->tail - emitter->head <= SLOTS);
    while (emitter->head != emitter->tail && emitter->slots[emitter->head % SLOTS].remaining == 0) {
        emitter->through = emitter->slots[emitter->head % SLOTS].offset;
        emitter->head++;
    }
    if (emitter->head != emitter->tail)
        return;
    view_set_emitted_through(emitter->view, emitter->through);
    if (emitter->mode == MODE_WAITING && !loop_timer_armed(&emitter->timer))
        begin_reading(emitter);
}

/* The token: generation in the upper half, slot in the lower. */
static uint64_t token_of(const struct emitter *emitter, uint64_t slot)
{
    return (uint64_t)emitter->generation << 32 | (slot & UINT32_MAX);
}

static void on_appended(void *ctx, uint64_t token, int64_t offset, const struct error *error)
{
    struct emitter *emitter = ctx;
    (void)offset;
    assert(emitter->outstanding > 0);
    emitter->outstanding--;
    if (emitter->freed) {
        if (emitter->outstanding == 0)
            free(emitter);
        return;
    }
    if ((uint32_t)(token >> 32) != emitter->generation || emitter->mode == MODE_STOPPED)
        return;
    if (error != NULL && error_is(error) && error->class != ERROR_REJECT) {
        go_back(emitter);
        return;
    }
    if (error != NULL && error_is(error)) /* of a dead letter: nothing more can be done for it */
        log_error_limited("an effect cannot be delivered", LOG_I64("partition", emitter->partition),
                          LOG_ERR(error));
    struct emitter_slot *slot = &emitter->slots[(token & UINT32_MAX) % SLOTS];
    assert(slot->remaining > 0);
    slot->remaining--;
    advance(emitter);
}

/* An effect that can never be delivered becomes a dead letter and then counts as emitted. Its bytes
 * are kept until then. */
struct undelivered {
    struct emitter *emitter;
    const char *topic; /* in `bytes`, like the others */
    struct text key;
    struct text value;
    char bytes[];
};

static void on_effect_appended(void *ctx, uint64_t token, int64_t offset, const struct error *error)
{
    struct undelivered *effect = ctx;
    struct emitter *emitter = effect->emitter;
    bool current = !emitter->freed && (uint32_t)(token >> 32) == emitter->generation &&
                   emitter->mode != MODE_STOPPED;
    if (current && error != NULL && error->class == ERROR_REJECT) {
        struct broker_record record = {.topic = effect->topic,
                                       .partition = emitter->partition,
                                       .offset = -1,
                                       .key = effect->key,
                                       .value = effect->value};
        log_warning_limited("an effect becomes a dead letter", LOG_STR("topic", effect->topic),
                            LOG_TEXT("order", effect->key), LOG_ERR(error));
        if (cluster_dead_letter(emitter->cluster, &record, error->code, error->message, on_appended,
                                emitter, token, NULL) == ERROR_OK) {
            free(effect);
            return; /* `outstanding` and the slot now wait for the dead letter */
        }
    }
    free(effect);
    on_appended(emitter, token, offset, error);
}

/* ---- producing ---- */

static bool produce(struct emitter *emitter, const char *topic, struct text key,
                    enum record_kind kind, const void *record, uint64_t slot)
{
    struct buffer *value = &emitter->value;
    value->size = 0;
    codec_encode(emitter->cluster->codec, kind, record, value);
    assert(value->size > 0);
    size_t topic_size = strlen(topic) + 1;
    struct undelivered *effect = malloc(sizeof(*effect) + topic_size + key.size + value->size);
    assert(effect != NULL);
    char *at = effect->bytes;
    memcpy(at, topic, topic_size);
    if (key.size > 0) /* the data of an empty text may be NULL */
        memcpy(at + topic_size, key.data, key.size);
    memcpy(at + topic_size + key.size, value->data, value->size);
    effect->emitter = emitter;
    effect->topic = at;
    effect->key = (struct text){at + topic_size, key.size};
    effect->value = (struct text){at + topic_size + key.size, (uint32_t)value->size};
    struct broker_append append = {.producer = BROKER_PRODUCER_EFFECTS,
                                   .topic = topic,
                                   .partition = BROKER_BY_KEY,
                                   .key = effect->key,
                                   .value = effect->value,
                                   .done = on_effect_appended,
                                   .ctx = effect,
                                   .token = token_of(emitter, slot)};
    if (broker_append(emitter->cluster->broker, &append, NULL) != ERROR_OK) {
        free(effect);
        return false;
    }
    emitter->outstanding++;
    emitter->slots[slot % SLOTS].remaining++;
    return true;
}

static bool produce_requests(struct emitter *emitter, const struct effects *effects, uint64_t slot)
{
    char topic[TOPIC_BYTES_MAX + 1];
    for (uint32_t i = 0; i < effects->request_count; i++) {
        const struct step_request *request = &effects->requests[i];
        topics_requests(&emitter->cluster->topics, request->agent, topic);
        FAILPOINT("emit.request");
        if (!produce(emitter, topic, request->order_id, RECORD_STEP_REQUEST, request, slot))
            return false;
    }
    return true;
}

static bool produce_dead_letter(struct emitter *emitter, const struct decision *decision,
                                uint64_t slot)
{
    for (uint32_t i = 0; i < decision->event_count; i++) {
        const struct undecodable *dead = &decision->events[i].command_dead_lettered;
        if (decision->events[i].kind != EVENT_COMMAND_DEAD_LETTERED)
            continue;
        struct broker_record record = {.topic = emitter->cluster->topics.commands,
                                       .partition = emitter->partition,
                                       .offset = decision->command_offset,
                                       .timestamp = decision->command_time,
                                       .key = dead->key,
                                       .value = dead->bytes};
        char reason[MESSAGE_BYTES_MAX];
        snprintf(reason, sizeof(reason), "%.*s", TEXT_ARG(dead->reason));
        const char *code = dead->quarantined ? "Quarantined" : "Undecodable";
        if (cluster_dead_letter(emitter->cluster, &record, code, reason, on_appended, emitter,
                                token_of(emitter, slot), NULL) != ERROR_OK)
            return false;
        emitter->outstanding++;
        emitter->slots[slot % SLOTS].remaining++;
    }
    return true;
}

static bool produce_all(struct emitter *emitter, const struct decision *decision,
                        const struct effects *effects, uint64_t slot)
{
    if (!produce_requests(emitter, effects, slot))
        return false;
    if (effects->has_status) {
        char topic[TOPIC_BYTES_MAX + 1];
        snprintf(topic, sizeof(topic), "%.*s", TEXT_ARG(effects->status.reply_to));
        FAILPOINT("emit.status");
        if (!produce(emitter, topic, effects->status.order_id, RECORD_STATUS_UPDATE,
                     &effects->status, slot))
            return false;
    }
    if (effects->has_alert &&
        !produce(emitter, emitter->cluster->topics.alerts, effects->alert.order_id,
                 RECORD_OPERATOR_ALERT, &effects->alert, slot))
        return false;
    return !effects->has_dead_letter || produce_dead_letter(emitter, decision, slot);
}

/* False: the queue is full or the ring is; the Decision is read again later. */
static bool emit(struct emitter *emitter, const struct decision *decision, int64_t offset)
{
    struct effects effects = {0};
    const struct order *order = NULL;
    assert(emitter->mode == MODE_LIVE || emitter->mode == MODE_READING);
    assert(emitter->head <= emitter->tail);
    if (emitter->tail - emitter->head >= SLOTS)
        return false;
    heap_arena_reset(&emitter->scratch);
    if (!text_empty(decision->order_id) && decision->order_version > 0 &&
        view_order(emitter->view, decision->order_id, &order, NULL) != ERROR_OK)
        return false;
    effects_of(decision, emitter->partition, offset, order, &emitter->scratch.arena, &effects);
    uint64_t slot = emitter->tail++;
    emitter->slots[slot % SLOTS] = (struct emitter_slot){.offset = offset, .remaining = 0};
    FAILPOINT("emit.begin");
    if (!produce_all(emitter, decision, &effects, slot)) {
        go_back(emitter);
        return false;
    }
    emitter->taken = offset;
    advance(emitter);
    return true;
}

/* Over the bound: what was not taken is read again once the ring has drained. */
static void wait_for_drain(struct emitter *emitter)
{
    assert(emitter->mode != MODE_STOPPED);
    if (emitter->mode == MODE_WAITING)
        return; /* went back already */
    if (emitter->head == emitter->tail) {
        go_back(emitter);
        return;
    }
    close_reader(emitter);
    emitter->mode = MODE_WAITING;
}

/* ---- reading again ---- */

static void reached_live(struct emitter *emitter)
{
    close_reader(emitter);
    emitter->mode = MODE_LIVE;
}

/* The first record read is the Decision of emitted_through itself: it tells claim and sequence. */
static bool begin_admission(struct emitter *emitter, const struct record *record, int64_t offset)
{
    assert(!emitter->admission_begun);
    emitter->admission_begun = true;
    if (emitter->taken < 0 || offset != emitter->taken || record->kind != RECORD_DECISION)
        return false;
    emitter->admission =
        (struct checkpoint){.has_first_claim = true,
                            .has_claim = true,
                            .claim_id = record->decision.claim_id,
                            .next_sequence = record->decision.sequence + 1,
                            .next_command_offset = record->decision.command_offset + 1,
                            .emitted_through = -1};
    return true;
}

static void read_record(void *ctx, const struct broker_record *broker_record)
{
    struct emitter *emitter = ctx;
    struct record record;
    assert(emitter->mode == MODE_READING && emitter->reader != NULL);
    if (broker_record->offset > emitter->acknowledged) {
        reached_live(emitter);
        return;
    }
    heap_arena_reset(&emitter->bytes);
    if (codec_decode(emitter->cluster->codec, broker_record->value, true, &emitter->bytes.arena,
                     &record, NULL) != ERROR_OK) {
        go_back(emitter); /* the fold has read it, so its schema is on its way */
        return;
    }
    if (!emitter->admission_begun && begin_admission(emitter, &record, broker_record->offset)) {
        /* emitted already */
    } else if (record.kind == RECORD_CLAIM) {
        (void)admission_claim(&emitter->admission, &record.claim);
    } else if (record.kind == RECORD_DECISION &&
               admission_decision(&emitter->admission, &record.decision) == ADMITTED) {
        if (!emit(emitter, &record.decision, broker_record->offset)) {
            wait_for_drain(emitter);
            return;
        }
    }
    view_tidy(emitter->view);
    if (broker_record->offset >= emitter->acknowledged && emitter->mode == MODE_READING)
        reached_live(emitter);
}

static void read_end(void *ctx, int64_t next_offset)
{
    struct emitter *emitter = ctx;
    if (next_offset > emitter->acknowledged)
        reached_live(emitter);
}

static void read_error(void *ctx, const struct error *error)
{
    struct emitter *emitter = ctx;
    log_warning_limited("reading the log again for emission",
                        LOG_I64("partition", emitter->partition), LOG_ERR(error));
    if (error->class == ERROR_FATAL)
        go_back(emitter);
}

static const struct broker_reader_ops read_ops = {read_record, read_end, read_error};

static void begin_reading(struct emitter *emitter)
{
    assert(emitter->mode != MODE_LIVE);
    assert(emitter->reader == NULL);
    if (emitter->taken >= emitter->acknowledged) {
        reached_live(emitter);
        return;
    }
    emitter->mode = MODE_READING;
    emitter->admission = (struct checkpoint){.emitted_through = -1};
    emitter->admission_begun = false;
    emitter->reader =
        broker_read(emitter->cluster->broker, emitter->cluster->topics.events, emitter->partition,
                    emitter->taken < 0 ? 0 : emitter->taken, &read_ops, emitter);
}

/* ---- the owner's calls ---- */

void emitter_start(struct emitter *emitter, int64_t emitted_through, int64_t acknowledged)
{
    emitter_stop(emitter);
    assert(emitter->head == emitter->tail);
    emitter->through = emitter->taken = emitted_through;
    emitter->acknowledged = acknowledged;
    begin_reading(emitter);
}

void emitter_stop(struct emitter *emitter)
{
    close_reader(emitter);
    loop_timer_cancel(emitter->cluster->service->loop, &emitter->timer);
    emitter->generation++;
    emitter->head = emitter->tail = 0;
    emitter->mode = MODE_STOPPED;
}

void emitter_offer(struct emitter *emitter, const struct decision *decision, int64_t offset)
{
    if (emitter->mode == MODE_STOPPED)
        return;
    assert(offset > emitter->acknowledged);
    emitter->acknowledged = offset;
    if (emitter->mode == MODE_LIVE && !emit(emitter, decision, offset))
        wait_for_drain(emitter);
}

struct emitter *emitter_new(struct cluster *cluster, int32_t partition, struct view *view)
{
    struct emitter *emitter = calloc(1, sizeof(*emitter));
    assert(emitter != NULL);
    assert(partition >= 0 && view != NULL);
    emitter->cluster = cluster;
    emitter->partition = partition;
    emitter->view = view;
    emitter->slots = calloc(SLOTS, sizeof(struct emitter_slot));
    assert(emitter->slots != NULL);
    heap_arena_init(&emitter->scratch, 16384);
    heap_arena_init(&emitter->bytes, 16384);
    loop_timer_init(&emitter->timer, on_timer, emitter);
    return emitter;
}

void emitter_free(struct emitter *emitter)
{
    if (emitter == NULL)
        return;
    emitter_stop(emitter);
    assert(!emitter->freed);
    heap_arena_deinit(&emitter->scratch);
    heap_arena_deinit(&emitter->bytes);
    buffer_deinit(&emitter->value);
    free(emitter->slots);
    emitter->slots = NULL;
    emitter->freed = true;
    if (emitter->outstanding == 0)
        free(emitter);
}

int64_t emitter_through(const struct emitter *emitter)
{
    return emitter->through;
}

int64_t emitter_backlog(const struct emitter *emitter)
{
    assert(emitter->head <= emitter->tail && emitter->tail - emitter->head <= SLOTS);
    int64_t unread = emitter->mode == MODE_LIVE ? 0 : emitter->acknowledged - emitter->taken;
    return (int64_t)(emitter->tail - emitter->head) + (unread > 0 ? unread : 0);
}
