/* SPDX-License-Identifier: Apache-2.0 */
/* One request about one dead letter, from reading it to its answer. */
#include "services/console/dead_letters/internal.h"
#include "services/console/dead_letters/render.h"

#include "base/utf8.h"
#include "platform/failpoint.h"
#include "platform/http/json_answer.h"
#include "schemas/json/json_codec.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <utlist.h>

enum {
    METADATA_MS = 3000,
    ARENA_BYTES = 4096,
    SHOWN_BYTES = 200,
    /* How long the schema registry may take to say what a value was written with. */
    LOOK_AGAIN_MS = 100,
    LOOKS_MAX = 20
};

static void look_again(void *ctx);

static struct operation *operation_of(struct http_pending *pending)
{
    return (struct operation *)pending; /* its first member */
}

struct operation *operation_new(struct dead_letter_api *letters, struct http_exchange *exchange,
                                enum operation_kind kind, int32_t partition, int64_t offset)
{
    if (!http_pendings_admit(&letters->operations, exchange))
        return NULL;
    struct operation *operation = calloc(1, sizeof(*operation));
    assert(operation != NULL);
    *operation = (struct operation){.letters = letters,
                                    .kind = kind,
                                    .partition = partition,
                                    .offset = offset,
                                    .resolution_offset = -1};
    heap_arena_init(&operation->heap, ARENA_BYTES);
    loop_timer_init(&operation->again, look_again, operation);
    http_pending_begin(&letters->operations, &operation->pending, exchange, DEAD_LETTER_WAIT_MS);
    return operation;
}

static void operation_free(struct http_pending *pending)
{
    struct operation *operation = operation_of(pending);
    heap_arena_deinit(&operation->heap);
    free(operation);
}

static void stop_reading(struct http_pending *pending)
{
    struct operation *operation = operation_of(pending);
    loop_timer_cancel(operation->pending.set->loop, &operation->again);
    dead_letter_topic_cancel(operation->letters->topic, operation);
}

/* With the code and the message of `error`. */
static void fail_for(struct operation *operation, int status, const struct error *error)
{
    struct http_exchange *exchange = http_pending_take(&operation->pending);
    if (exchange != NULL)
        http_respond_error_of(exchange, status, error);
}

/* A replay that is being appended goes on: its resolution is to follow. */
static void on_late(struct http_pending *pending)
{
    struct operation *operation = operation_of(pending);
    switch (operation->state) {
    case OPERATION_FETCHES:
    case OPERATION_CATCHES_UP:
        http_pending_fail(pending, 504, CODE_NOT_READ,
                          "partition %" PRId32 " of the dead letters could not be read in time; "
                          "nothing was done",
                          operation->partition);
        break;
    case OPERATION_APPENDS:
        http_pending_fail(pending, 504, CODE_NOT_ACKNOWLEDGED,
                          "the broker has not acknowledged the record yet; list the dead letters "
                          "before you try again, which is harmless");
        return;
    case OPERATION_RESOLVES:
    case OPERATION_CONFIRMS:
    case OPERATION_ENDED: /* impossible: it is answered */
        http_pending_fail(pending, 504, CODE_NOT_ACKNOWLEDGED,
                          "what was done is not confirmed yet; list the dead letters before you "
                          "try again, which is harmless");
        break;
    }
    operation->state = OPERATION_ENDED;
}

const struct http_pending_kind operation_kind = {
    .max = DEAD_LETTER_OPERATIONS_MAX,
    .busy = "too many requests about dead letters are outstanding: try again later",
    .draining = "this instance is shutting down; list the dead letters before you try again, which "
                "is harmless",
    .late = on_late,
    .cancel = stop_reading,
    .free = operation_free};

/* ---- confirming ---- */

static void answer_resolved(struct operation *operation)
{
    char id[48];
    bool replayed = operation->kind == OPERATION_REPLAY;
    json_t *body = json_object();
    snprintf(id, sizeof(id), "%" PRId32 ":%" PRId64, operation->partition, operation->offset);
    json_codec_put(body, "id", json_string(id));
    json_codec_put(body, "partition", json_integer(operation->partition));
    json_codec_put(body, "offset", json_integer(operation->offset));
    json_codec_put(body, "state", json_string(replayed ? "replayed" : "discarded"));
    json_codec_put(body, "resolution", render_dead_letter_resolution(&operation->resolution));
    http_respond_json(http_pending_take(&operation->pending), 200, body);
}

static void respond_resolved_before(struct operation *operation,
                                    const struct dead_letter_resolution *earlier, bool appended)
{
    char message[2 * ERROR_MESSAGE_SIZE];
    const struct dead_letter_resolution *own = &operation->resolution;
    struct text reason = utf8_cut(earlier->reason, SHOWN_BYTES);
    int size = snprintf(message, sizeof(message), "%.*s %s it before%s%.*s", TEXT_ARG(earlier->by),
                        earlier->kind == DEAD_LETTER_REPLAYED ? "replayed" : "discarded",
                        text_empty(reason) ? "" : ": ", TEXT_ARG(reason));
    assert(size > 0 && size < (int)sizeof(message));
    if (appended)
        snprintf(message + size, sizeof(message) - (size_t)size,
                 ". Your replay was appended as well, to %.*s[%" PRId64 "] at offset %" PRId64
                 "; its reader drops the repeat",
                 TEXT_ARG(own->topic), own->replayed_partition, own->replayed_offset);
    http_pending_fail(&operation->pending, 409, CODE_ALREADY_RESOLVED, "%s", message);
}

static void confirm(struct operation *operation)
{
    struct dead_letter_api *letters = operation->letters;
    const struct dead_letter_entry *entry = dead_letter_index_find(
        dead_letter_topic_index(letters->topic), operation->partition, operation->offset);
    const struct dead_letter_resolution *first = entry != NULL ? entry->resolution : NULL;
    if (first != NULL && operation->resolution_offset >= 0 &&
        entry->resolution_offset != operation->resolution_offset)
        respond_resolved_before(operation, first, operation->kind == OPERATION_REPLAY);
    else
        answer_resolved(operation);
}

static void on_resolved(void *ctx, uint64_t token, int64_t offset, const struct error *error)
{
    struct operation *operation = ctx;
    (void)token;
    operation->pending.to_come--;
    if (error != NULL && error_is(error)) {
        struct error shown;
        error_wrap(&shown, error,
                   "%sthe record of it could not be written: %.300s. Trying again is harmless",
                   operation->kind == OPERATION_REPLAY ? "it was replayed, but " : "",
                   error->message);
        fail_for(operation, 503, &shown);
    }
    if (operation->pending.exchange == NULL) {
        http_pending_settle(&operation->pending);
        return;
    }
    operation->resolution_offset = offset;
    operation->until = offset + 1; /* 0: the broker did not report it, nothing to wait for */
    operation->state = OPERATION_CONFIRMS;
    operations_moved(operation->letters, operation->partition); /* may free it */
}

static void resolve(struct operation *operation)
{
    struct cluster *cluster = operation->letters->cluster;
    struct error error;
    char key[48];
    operation->state = OPERATION_RESOLVES;
    snprintf(key, sizeof(key), "%" PRId32 ":%" PRId64, operation->partition, operation->offset);
    operation->resolution.resolved_at = clock_wall_ms(cluster->service->clock);
    if (cluster_append(cluster, BROKER_PRODUCER_EFFECTS, cluster->topics.dead_letters,
                       operation->partition, text_of(key), RECORD_DEAD_LETTER_RESOLUTION,
                       &operation->resolution, on_resolved, operation, 0, &error) == ERROR_OK)
        operation->pending.to_come++;
    else
        fail_for(operation, 503, &error);
}

/* ---- replaying ---- */

static void on_replayed(void *ctx, uint64_t token, int64_t offset, const struct error *error)
{
    struct operation *operation = ctx;
    (void)token;
    operation->pending.to_come--;
    if (operation->letters->operations.drained) {
        http_pending_settle(&operation->pending);
        return;
    }
    if (error == NULL || !error_is(error)) {
        operation->resolution.replayed_offset = offset;
        FAILPOINT("console.dead-letter.replayed");
        resolve(operation);
    } else if (error->class == ERROR_REJECT) {
        struct error shown;
        error_wrap(&shown, error, "%s does not take the record: %.300s", operation->plan.topic,
                   error->message);
        fail_for(operation, 409, &shown);
    } else {
        http_pending_fail(&operation->pending, 503, CODE_UNKNOWN,
                          "the record may or may not have been appended to %s; trying again is "
                          "harmless",
                          operation->plan.topic);
    }
    http_pending_settle(&operation->pending);
}

/* The number of the topic's partitions; 0 after it failed. */
static int32_t count_partitions(struct operation *operation)
{
    struct broker *broker = operation->letters->cluster->broker;
    const char *topic = operation->plan.topic;
    int32_t count = broker_partition_count_known(broker, topic);
    if (count > 0)
        return count;
    count = broker_partition_count(broker, topic, METADATA_MS);
    if (count == 0)
        http_pending_fail(&operation->pending, 409, CODE_UNKNOWN_TOPIC,
                          "the topic %s does not exist any more", topic);
    else if (count < 0)
        http_pending_fail(&operation->pending, 503, CODE_BROKER_UNAVAILABLE,
                          "the broker does not say how many partitions %s has; try again later",
                          topic);
    return count > 0 ? count : 0;
}

static void replay(struct operation *operation)
{
    struct replay_plan *plan = &operation->plan;
    struct error error;
    int32_t count = count_partitions(operation);
    if (count == 0)
        return;
    int32_t partition = plan->by_key ? broker_partition_of(plan->key, count) : plan->partition;
    if (partition >= count) {
        http_pending_fail(&operation->pending, 409, CODE_UNKNOWN_PARTITION,
                          "%s has %" PRId32 " partitions; the record was in partition %" PRId32,
                          plan->topic, count, partition);
        return;
    }
    struct broker_append append = {.producer = BROKER_PRODUCER_EFFECTS,
                                   .topic = plan->topic,
                                   .partition = partition,
                                   .key = plan->key,
                                   .value = plan->value,
                                   .headers = operation->headers,
                                   .header_count = operation->header_count,
                                   .done = on_replayed,
                                   .ctx = operation};
    operation->resolution.topic = text_of(plan->topic);
    operation->resolution.replayed_partition = partition;
    operation->resolution.corrected = plan->corrected;
    operation->state = OPERATION_APPENDS;
    if (broker_append(operation->letters->cluster->broker, &append, &error) == ERROR_OK)
        operation->pending.to_come++;
    else
        fail_for(operation, 503, &error);
}

/* ---- catching up ---- */

static void act(struct operation *operation)
{
    const struct dead_letter_entry *entry =
        dead_letter_index_find(dead_letter_topic_index(operation->letters->topic),
                               operation->partition, operation->offset);
    enum dead_letter_state state =
        dead_letter_topic_state(operation->letters->topic, operation->partition, operation->offset);
    if (entry != NULL && entry->resolution != NULL) {
        respond_resolved_before(operation, entry->resolution, false);
    } else if (state == DEAD_LETTER_STATE_REPLAYED || state == DEAD_LETTER_STATE_DISCARDED) {
        http_pending_fail(&operation->pending, 409, CODE_ALREADY_RESOLVED, "it was %s before",
                          dead_letter_state_name(state));
    } else if (operation->kind == OPERATION_REPLAY) {
        replay(operation);
    } else {
        resolve(operation);
    }
}

void operations_moved(struct dead_letter_api *letters, int32_t partition)
{
    struct http_pending *pending, *next;
    int64_t position = dead_letter_topic_position(letters->topic, partition);
    DL_FOREACH_SAFE(letters->operations.list, pending, next) {
        struct operation *operation = operation_of(pending);
        if (operation->partition != partition || pending->to_come > 0 ||
            position < operation->until)
            continue;
        if (operation->state == OPERATION_CATCHES_UP)
            act(operation);
        else if (operation->state == OPERATION_CONFIRMS)
            confirm(operation);
        http_pending_settle(pending);
    }
}

static void on_offsets(void *ctx, int64_t low, int64_t high, const struct error *error)
{
    struct operation *operation = ctx;
    (void)low;
    operation->pending.to_come--;
    if (error != NULL && error_is(error))
        fail_for(operation, 503, error);
    if (operation->pending.exchange == NULL) {
        http_pending_settle(&operation->pending);
        return;
    }
    operation->until = high;
    operations_moved(operation->letters, operation->partition); /* may free it */
}

static void catch_up(struct operation *operation)
{
    struct cluster *cluster = operation->letters->cluster;
    operation->state = OPERATION_CATCHES_UP;
    operation->pending.to_come++;
    broker_offsets(cluster->broker, cluster->topics.dead_letters, operation->partition, on_offsets,
                   operation);
}

/* ---- the dead letter ---- */

static bool is_resolution(struct operation *operation, const struct broker_record *record)
{
    struct record decoded;
    struct error error;
    return codec_decode(operation->letters->cluster->codec, record->value, true,
                        &operation->heap.arena, &decoded, &error) == ERROR_OK &&
           decoded.kind == RECORD_DEAD_LETTER_RESOLUTION;
}

/* The other topics have single-object encoding always. */
static bool is_of_application(const struct operation *operation,
                              const struct dead_letter_reading *reading)
{
    const struct topics *topics = &operation->letters->cluster->topics;
    return text_equal(reading->topic, text_of(topics->submissions)) ||
           topics_is_reply(topics, reading->topic);
}

static void answer_get(struct operation *operation, const struct broker_record *record,
                       const struct dead_letter_reading *reading)
{
    struct dead_letter_api *letters = operation->letters;
    struct replay_plan plan;
    struct error error;
    struct codec *codec = letters->cluster->codec;
    struct arena *arena = &operation->heap.arena;
    bool replayable =
        replay_plan(record, reading, (struct text){0}, (struct text){0}, &letters->cluster->topics,
                    codec, arena, &plan, &error) == ERROR_OK;
    struct dead_letter_whole whole = {
        .record = record,
        .reading = reading,
        .entry = dead_letter_index_find(dead_letter_topic_index(letters->topic),
                                        operation->partition, operation->offset),
        .state = dead_letter_topic_state(letters->topic, operation->partition, operation->offset),
        .refusal = replayable ? NULL : error.message,
        .bytes = operation->with_bytes,
        .of_application = is_of_application(operation, reading)};
    owners_respond(letters->owners, http_pending_take(&operation->pending),
                   render_dead_letter(&whole, letters->cluster->registry, codec, arena));
}

static void plan_replay(struct operation *operation, const struct broker_record *record,
                        const struct dead_letter_reading *reading)
{
    struct cluster *cluster = operation->letters->cluster;
    struct arena *arena = &operation->heap.arena;
    struct replay_plan *plan = &operation->plan;
    struct error error;
    if (replay_plan(record, reading, operation->corrected, operation->resolution.by,
                    &cluster->topics, cluster->codec, arena, plan, &error) != ERROR_OK) {
        int status = error.code == CODE_BAD_VALUE ? 400 : 409;
        fail_for(operation, status, &error);
        return;
    }
    plan->key = arena_text(arena, plan->key);
    if (!plan->corrected)
        plan->value = arena_text(arena, plan->value);
    operation->header_count = reading->header_count;
    for (uint32_t i = 0; i < reading->header_count; i++)
        operation->headers[i] =
            (struct broker_header){arena_text(arena, reading->headers[i].name),
                                   arena_text(arena, reading->headers[i].value)};
    catch_up(operation);
}

/* It is read again once the schema registry may have said what it was written with. */
static bool waits_for_schema(struct operation *operation, const struct broker_record *record,
                             const struct dead_letter_reading *reading)
{
    struct cluster *cluster = operation->letters->cluster;
    struct record decoded;
    if (operation->looks == LOOKS_MAX || !is_of_application(operation, reading) ||
        schema_registry_decode(cluster->registry, cluster->codec, record->value, true,
                               &operation->heap.arena, &decoded, NULL) != ERROR_RETRY)
        return false;
    operation->looks++;
    loop_timer_after(cluster_loop(cluster), &operation->again, LOOK_AGAIN_MS);
    return true;
}

static void go_on_with(struct operation *operation, const struct broker_record *record)
{
    static const struct broker_header none[1];
    struct dead_letter_reading reading = {.partition = -1, .offset = -1, .headers = none};
    if (!dead_letter_read(record, &reading)) {
        if (record->value.data == NULL || is_resolution(operation, record)) {
            http_pending_fail(&operation->pending, 404, CODE_UNKNOWN_DEAD_LETTER,
                              "%" PRId32 ":%" PRId64 " is not a dead letter", operation->partition,
                              operation->offset);
            return;
        }
        reading.headers = record->headers;
        reading.header_count = record->header_count;
    }
    switch (operation->kind) {
    case OPERATION_GET:
        if (!waits_for_schema(operation, record, &reading))
            answer_get(operation, record, &reading);
        break;
    case OPERATION_REPLAY:
        plan_replay(operation, record, &reading);
        break;
    case OPERATION_DISCARD:
        catch_up(operation);
        break;
    }
}

static void on_fetched(void *ctx, const struct broker_record *record, const struct error *error)
{
    struct operation *operation = ctx;
    assert(operation->state == OPERATION_FETCHES);
    if (record != NULL)
        go_on_with(operation, record);
    else
        fail_for(operation, error->class == ERROR_REJECT ? 404 : 503, error);
    http_pending_settle(&operation->pending);
}

static void look_again(void *ctx)
{
    struct operation *operation = ctx;
    dead_letter_topic_fetch(operation->letters->topic, operation->partition, operation->offset,
                            on_fetched, operation);
}

/* Another request of this console that changes the same dead letter. */
static bool is_contested(const struct operation *operation)
{
    struct http_pending *pending;
    DL_FOREACH(operation->letters->operations.list, pending) {
        const struct operation *other = operation_of(pending);
        if (other != operation && other->kind != OPERATION_GET && other->state != OPERATION_ENDED &&
            other->partition == operation->partition && other->offset == operation->offset)
            return true;
    }
    return false;
}

void operation_begin(struct operation *operation)
{
    if (operation->partition >= dead_letter_topic_partitions(operation->letters->topic)) {
        http_pending_fail(
            &operation->pending, 404, CODE_UNKNOWN_DEAD_LETTER,
            "there is no such dead letter: the last partition of their topic is %" PRId32,
            dead_letter_topic_partitions(operation->letters->topic) - 1);
        return;
    }
    if (operation->kind != OPERATION_GET && is_contested(operation)) {
        http_pending_fail(&operation->pending, 409, CODE_IN_PROGRESS,
                          "another request is dealing with this dead letter; list it again");
        return;
    }
    operation->state = OPERATION_FETCHES;
    dead_letter_topic_fetch(operation->letters->topic, operation->partition, operation->offset,
                            on_fetched, operation);
}
