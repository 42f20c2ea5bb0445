/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve export events`: the records of the log as they are, whether or not readers count them.
 * A record that cannot be decoded is kept as bytes, so that nothing is missing. */
#include "base/heap_arena.h"
#include "cli/export/container.h"
#include "cli/export/export.h"
#include "cli/export/schema.h"
#include "schemas/json/json_codec.h"

#include <assert.h>
#include <inttypes.h>

enum {
    FRAME_BYTES = 10, /* of Avro's single-object encoding: a marker and the fingerprint */
    /* Defaults of new fields make a record of an older version longer. */
    REENCODED_BYTES_MAX = RECORD_BYTES_MAX / 2
};

struct events_export {
    struct export_partition *partition;
    struct codec *codec;
    struct heap_arena arena; /* of the record under way */
    struct buffer body;
    struct buffer framed;
};

/* The member of the union. */
static const void *member_of(const struct record *record)
{
    assert(export_branch(record->kind) < export_log_kind_count);
    return &record->claim; /* all begin at the same place */
}

/* OK: it can be written as a record of its kind. */
static enum error_class decode(struct events_export *events, const struct broker_record *from,
                               struct record *ret_record, struct error *ret_error)
{
    uint64_t fingerprint = 0;
    enum error_class class =
        codec_decode(events->codec, from->value, true, &events->arena.arena, ret_record, ret_error);
    if (class != ERROR_OK)
        return class;
    if (export_branch(ret_record->kind) == export_log_kind_count)
        return error_set(ret_error, CODE_NOT_ACCEPTED, "a %s is not a record of a log",
                         record_kind_name(ret_record->kind));
    codec_peek(from->value, &fingerprint);
    if (fingerprint != codec_fingerprint(events->codec, ret_record->kind) &&
        from->value.size > REENCODED_BYTES_MAX)
        return error_set(ret_error, CODE_TOO_LONG,
                         "a record of another version is %u bytes; the limit is %d",
                         from->value.size, REENCODED_BYTES_MAX);
    return ERROR_OK;
}

/* ---- Avro ---- */

/* The schema of the file is this version's: records of other versions are encoded again. */
static void put_body(struct events_export *events, const struct record *record, struct text value)
{
    uint64_t fingerprint = 0;
    codec_peek(value, &fingerprint);
    if (fingerprint != codec_fingerprint(events->codec, record->kind)) {
        events->framed.size = 0;
        codec_encode(events->codec, record->kind, member_of(record), &events->framed);
        value = (struct text){(const char *)events->framed.data, (uint32_t)events->framed.size};
    }
    assert(value.size >= FRAME_BYTES);
    buffer_append(&events->body, value.data + FRAME_BYTES, value.size - FRAME_BYTES);
}

static void add_avro(struct events_export *events, const struct broker_record *from,
                     const struct record *record, const struct error *error)
{
    struct buffer *body = &events->body;
    body->size = 0;
    container_put_long(body, from->partition);
    container_put_long(body, from->offset);
    container_put_long(body, from->timestamp);
    if (record != NULL) {
        container_put_long(body, export_branch(record->kind));
        put_body(events, record, from->value);
    } else {
        container_put_long(body, export_log_kind_count);
        container_put_bytes(body, error->message, strlen(error->message));
        container_put_bytes(body, from->key.data, from->key.size);
        container_put_bytes(body, from->value.data, from->value.size);
    }
    segment_add_avro(events->partition->segment, body->data, body->size);
}

/* ---- JSON ---- */

enum { ANY_BYTES_MAX = INT32_MAX, ANY_BYTES_READ_MAX = INT32_MAX };
static const struct field_binding undecoded_fields[] = {
    F_BYTES(OPTIONAL, struct broker_record, key, ANY_BYTES),
    F_BYTES(OPTIONAL, struct broker_record, value, ANY_BYTES),
};
static const struct record_binding undecoded_binding =
    BINDING(struct broker_record, undecoded_fields);

static json_t *undecoded_json(const struct broker_record *from, const struct error *error)
{
    json_t *object = json_object();
    json_object_set_new(object, "reason", json_codec_text(text_of(error->message)));
    json_codec_add(object, &undecoded_binding, from, NULL, 0);
    return object;
}

static void add_json(struct events_export *events, const struct broker_record *from,
                     const struct record *record, const struct error *error)
{
    json_t *content = record != NULL ? json_codec_encode(record_kind_info(record->kind)->binding,
                                                         member_of(record), 0)
                                     : undecoded_json(from, error);
    json_t *line =
        json_pack("{s:i, s:I, s:o, s:s, s:o}", "partition", from->partition, "offset",
                  (json_int_t)from->offset, "time", json_codec_time(from->timestamp), "kind",
                  record != NULL ? record_kind_name(record->kind) : "Undecoded", "record", content);
    segment_add_json(events->partition->segment, line);
    json_decref(line);
}

/* ---- reading ---- */

static void add(struct events_export *events, const struct broker_record *from,
                const struct record *record, const struct error *error, int64_t next)
{
    struct export_partition *partition = events->partition;
    if (!export_begin_record(partition))
        return;
    if (partition->run->series.format == EXPORT_AVRO)
        add_avro(events, from, record, error);
    else
        add_json(events, from, record, error);
    partition->undecoded += record == NULL;
    export_end_record(partition, next);
}

static void on_record(void *ctx, const struct broker_record *from)
{
    struct events_export *events = ctx;
    struct export_partition *partition = events->partition;
    struct record record;
    struct error error = {0};
    if (partition->done)
        return;
    if (from->offset >= partition->end || from->timestamp >= partition->run->until_ms) {
        partition->done = true;
        return;
    }
    bool decoded = decode(events, from, &record, &error) == ERROR_OK;
    add(events, from, decoded ? &record : NULL, &error, from->offset + 1);
    heap_arena_reset(&events->arena);
}

static void on_end(void *ctx, int64_t next_offset)
{
    struct events_export *events = ctx;
    struct export_partition *partition = events->partition;
    if (partition->done || next_offset < partition->end)
        return;
    partition->next = partition->end;
    partition->done = true;
}

static void on_unreadable(void *ctx, int64_t offset, int64_t next_offset)
{
    struct events_export *events = ctx;
    struct export_partition *partition = events->partition;
    struct error error;
    const struct broker_record nothing = {.partition = partition->run->series.partition,
                                          .offset = offset};
    if (partition->done)
        return;
    error_set(&error, CODE_UNREADABLE,
              "the batch of the offsets %" PRId64 " to %" PRId64 " cannot be decompressed", offset,
              next_offset - 1);
    add(events, &nothing, NULL, &error, next_offset);
}

static void on_error(void *ctx, const struct error *error)
{
    struct events_export *events = ctx;
    if (error->class != ERROR_FATAL || events->partition->done)
        return;
    events->partition->error = *error;
    events->partition->done = true;
}

static const struct broker_reader_ops reader_ops = {on_record, on_end, on_error};

static void read_on(struct events_export *events)
{
    struct export_partition *partition = events->partition;
    struct cluster *cluster = partition->run->session->cluster;
    struct broker_reader *reader =
        broker_read(cluster->broker, cluster->topics.events, partition->run->series.partition,
                    partition->next, &reader_ops, events);
    broker_reader_skip_unreadable(reader, on_unreadable);
    export_wait(partition, export_is_done, partition);
    broker_reader_close(reader);
}

/* The log was trimmed under the reader, and the rest of it is still to be read. */
static bool goes_on(struct export_partition *partition)
{
    struct export_run *run = partition->run;
    int64_t low = 0, high = 0;
    struct error error;
    if (partition->error.code != CODE_OFFSET_OUT_OF_RANGE ||
        cli_session_offsets(run->session, run->session->cluster->topics.events,
                            run->series.partition, &low, &high, &error) != ERROR_OK ||
        low <= partition->next)
        return false;
    export_note_start(partition, low);
    partition->error = (struct error){0};
    partition->done = partition->next == partition->end;
    return !partition->done;
}

enum error_class export_events_of(struct export_partition *partition, struct error *ret_error)
{
    struct events_export events = {.partition = partition,
                                   .codec = partition->run->session->cluster->codec};
    heap_arena_init(&events.arena, 64 * 1024);
    do
        read_on(&events);
    while (goes_on(partition));
    heap_arena_deinit(&events.arena);
    buffer_deinit(&events.body);
    buffer_deinit(&events.framed);
    if (error_is(&partition->error))
        *ret_error = partition->error;
    return partition->error.class;
}

int export_events(struct cli *cli)
{
    return export_run(cli, "events", export_events_schema(), export_events_of);
}
