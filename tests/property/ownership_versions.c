/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/property/ownership_versions.h"

#include "base/bytes.h"
#include "base/heap_arena.h"
#include "replica/fold/admission.h"
#include "schemas/avro/schema.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OLDER_MAX = 8, NAME_MAX_BYTES = 64, LATER_GROWTH = 1024, FINGERPRINT_AT = 2 };

/* Kinds of which the newer version has a schema of its own. */
static const enum record_kind later_kinds[] = {
    RECORD_DECISION,    RECORD_COMPLETE_STEP, RECORD_SKIP_STEP,     RECORD_FAIL_STEP,
    RECORD_PAUSE_ORDER, RECORD_RESUME_ORDER,  RECORD_MIGRATE_ORDER, RECORD_WORKFLOW_ACTIVATION};
enum { LATER_KINDS = sizeof(later_kinds) / sizeof(later_kinds[0]) };

/* Records, events and symbols that the older version does not have. */
static const char *const later_names[] = {"CompleteStep",      "SkipStep",
                                          "FailStep",          "PauseOrder",
                                          "ResumeOrder",       "OrderPaused",
                                          "OrderPauseEnded",   "StepCompletedByHand",
                                          "StepSkippedByHand", "StepFailedUnstarted",
                                          "MigrateOrder",      "OrderMigrated",
                                          "WorkflowActivation"};

/* It belongs to no world, because the codec knows none. */
static struct versions {
    bool mixed; /* else nothing is done */
    struct heap_arena memory;
    struct text schemas[LATER_KINDS];
    uint64_t usual[LATER_KINDS]; /* fingerprints */
    uint64_t later[LATER_KINDS];
    const struct codec *older[OLDER_MAX];
    uint32_t older_count;
    struct uuid *claims; /* of newer instances */
    uint32_t claim_count;
    uint32_t claim_size;
} versions;

/* ---- schemas ---- */

/* "PauseOrder" -> "LaterPauseOrder", wherever it stands as a whole name. */
static struct text rename_all(struct text schema, const char *name)
{
    char quoted[NAME_MAX_BYTES];
    snprintf(quoted, sizeof(quoted), "\"%s\"", name);
    char *bytes = arena_bytes(&versions.memory.arena, schema.size + LATER_GROWTH);
    uint32_t size = 0;
    for (uint32_t at = 0; at < schema.size; at++) {
        bytes[size++] = schema.data[at];
        if (schema.size - at >= strlen(quoted) &&
            memcmp(schema.data + at, quoted, strlen(quoted)) == 0) {
            memcpy(bytes + size, "Later", 5);
            size += 5;
        }
        assert(size < schema.size + LATER_GROWTH);
    }
    return (struct text){bytes, size};
}

static void make_schema(const struct codec *codec, uint32_t number)
{
    const struct avro_type *type = NULL;
    struct error error;
    struct text schema = codec_schema(later_kinds[number]);
    for (size_t i = 0; i < sizeof(later_names) / sizeof(later_names[0]); i++)
        schema = rename_all(schema, later_names[i]);
    enum error_class class = avro_schema_parse(schema, &versions.memory.arena, &type, &error);
    assert(class == ERROR_OK);
    versions.schemas[number] = schema;
    versions.usual[number] = codec_fingerprint(codec, later_kinds[number]);
    versions.later[number] = avro_schema_fingerprint(type, &versions.memory.arena);
    assert(versions.usual[number] != versions.later[number]);
}

bool versions_schema(uint32_t number, struct text *ret_schema)
{
    assert(versions.mixed);
    if (number >= LATER_KINDS)
        return false;
    *ret_schema = versions.schemas[number];
    return true;
}

/* ---- who is older ---- */

void versions_begin(const struct codec *codec)
{
    assert(!versions.mixed);
    versions = (struct versions){.mixed = true};
    heap_arena_init(&versions.memory, 64 * 1024);
    for (uint32_t i = 0; i < LATER_KINDS; i++)
        make_schema(codec, i);
}

void versions_end(void)
{
    heap_arena_deinit(&versions.memory);
    free(versions.claims);
    versions = (struct versions){.mixed = false};
}

void versions_add_older(const struct codec *codec)
{
    assert(versions.mixed && versions.older_count < OLDER_MAX);
    versions.older[versions.older_count++] = codec;
}

void versions_remove_older(const struct codec *codec)
{
    for (uint32_t i = 0; i < versions.older_count; i++)
        if (versions.older[i] == codec)
            versions.older[i--] = versions.older[--versions.older_count];
}

static bool is_older(const struct codec *codec)
{
    bool older = false;
    for (uint32_t i = 0; i < versions.older_count; i++)
        older = older || versions.older[i] == codec;
    return older;
}

bool versions_is_newer(const char *instance)
{
    return strncmp(instance, VERSIONS_NEWER, strlen(VERSIONS_NEWER)) == 0;
}

bool versions_is_newer_claim(const struct uuid *claim_id)
{
    bool newer = false;
    for (uint32_t i = 0; i < versions.claim_count && !newer; i++)
        newer = uuid_equal(&versions.claims[i], claim_id);
    return newer;
}

static void note_claim(const struct claim *claim)
{
    size_t size = strlen(VERSIONS_NEWER);
    if (claim->instance.size < size || memcmp(claim->instance.data, VERSIONS_NEWER, size) != 0 ||
        versions_is_newer_claim(&claim->claim_id))
        return;
    if (versions.claim_count == versions.claim_size) {
        versions.claim_size = versions.claim_size > 0 ? 2 * versions.claim_size : 64;
        versions.claims =
            realloc(versions.claims, versions.claim_size * sizeof(versions.claims[0]));
        assert(versions.claims != NULL);
    }
    versions.claims[versions.claim_count++] = claim->claim_id;
}

/* ---- what it cannot read ---- */

static bool is_later_event(const struct event *event)
{
    switch ((int)event->kind) {
    case EVENT_ORDER_PAUSED:
    case EVENT_ORDER_PAUSE_ENDED:
    case EVENT_STEP_COMPLETED_BY_HAND:
    case EVENT_STEP_SKIPPED_BY_HAND:
    case EVENT_STEP_FAILED_UNSTARTED:
    case EVENT_ORDER_MIGRATED:
        return true;
    default:
        return false;
    }
}

/* The number of the schema that a newer process has for it; LATER_KINDS: the usual one. */
static uint32_t later_number(const struct record *record)
{
    uint32_t number = 0;
    while (number < LATER_KINDS && later_kinds[number] != record->kind)
        number++;
    if (record->kind == RECORD_DECISION && !versions_is_newer_claim(&record->decision.claim_id))
        return LATER_KINDS;
    return number;
}

static bool has_later_schema(enum record_kind kind)
{
    bool later = false;
    for (uint32_t i = 0; i < LATER_KINDS; i++)
        later = later || later_kinds[i] == kind;
    return later;
}

static bool is_later_kind(enum record_kind kind)
{
    return kind != RECORD_DECISION && has_later_schema(kind);
}

bool versions_is_unreadable(const struct record *record)
{
    if (record->kind != RECORD_DECISION)
        return is_later_kind(record->kind);
    bool later = false;
    for (uint32_t i = 0; i < record->decision.event_count; i++) {
        const struct event *event = &record->decision.events[i];
        later = later || is_later_event(event) ||
                (event->kind == EVENT_COMMAND_REJECTED &&
                 is_later_kind((enum record_kind)event->command_rejected.command));
    }
    return later;
}

bool versions_is_later_command(struct codec *codec, struct text value, struct arena *arena)
{
    struct record record;
    struct error error;
    return codec_decode(codec, value, true, arena, &record, &error) == ERROR_OK &&
           is_later_kind(record.kind);
}

/* ---- formats ---- */

static int32_t *format_of(struct record *record)
{
    switch ((int)record->kind) {
    case RECORD_CLAIM:
        return &record->claim.format;
    case RECORD_CONTINUATION:
        return &record->continuation.format;
    case RECORD_STATEMENT:
        return &record->statement.format;
    default:
        return NULL;
    }
}

/* An older process counts one more than the log says: its own format is STATE_FORMAT to it, and
 * ours a newer one. */
static void shift_format(struct record *record, int32_t by)
{
    int32_t *format = format_of(record);
    if (format != NULL)
        *format += by;
}

/* ---- in front of the codec ---- */

enum error_class __real_codec_decode(struct codec *codec, struct text bytes, bool borrow,
                                     struct arena *arena, struct record *ret_record,
                                     struct error *ret_error);
enum error_class __wrap_codec_decode(struct codec *codec, struct text bytes, bool borrow,
                                     struct arena *arena, struct record *ret_record,
                                     struct error *ret_error);
void __real_codec_encode(struct codec *codec, enum record_kind kind, const void *fields,
                         struct buffer *buffer);
void __wrap_codec_encode(struct codec *codec, enum record_kind kind, const void *fields,
                         struct buffer *buffer);
bool __real_codec_knows(const struct codec *codec, uint64_t fingerprint);
bool __wrap_codec_knows(const struct codec *codec, uint64_t fingerprint);
bool __real_codec_is_newer(const struct codec *codec, struct text bytes);
bool __wrap_codec_is_newer(const struct codec *codec, struct text bytes);
uint64_t __real_codec_fingerprint(const struct codec *codec, enum record_kind kind);
uint64_t __wrap_codec_fingerprint(const struct codec *codec, enum record_kind kind);

enum error_class __wrap_codec_decode(struct codec *codec, struct text bytes, bool borrow,
                                     struct arena *arena, struct record *ret_record,
                                     struct error *ret_error)
{
    struct record record;
    enum error_class class = __real_codec_decode(codec, bytes, borrow, arena, &record, ret_error);
    if (class != ERROR_OK)
        return class;
    if (versions.mixed && record.kind == RECORD_CLAIM)
        note_claim(&record.claim);
    uint32_t number =
        versions.mixed && is_older(codec) ? later_number(&record) : (uint32_t)LATER_KINDS;
    if (number == LATER_KINDS) {
        if (versions.mixed && is_older(codec))
            shift_format(&record, 1);
        *ret_record = record;
        return class;
    }
    char *copy = arena_bytes(arena, bytes.size);
    memcpy(copy, bytes.data, bytes.size);
    bytes_put_le(copy + FINGERPRINT_AT, versions.later[number], 8);
    return __real_codec_decode(codec, (struct text){copy, bytes.size}, borrow, arena, ret_record,
                               ret_error);
}

void __wrap_codec_encode(struct codec *codec, enum record_kind kind, const void *fields,
                         struct buffer *buffer)
{
    struct record record = {.kind = kind};
    if (!versions.mixed || !is_older(codec) || format_of(&record) == NULL) {
        __real_codec_encode(codec, kind, fields, buffer);
        return;
    }
    if (kind == RECORD_CLAIM)
        record.claim = *(const struct claim *)fields;
    else if (kind == RECORD_CONTINUATION)
        record.continuation = *(const struct continuation *)fields;
    else
        record.statement = *(const struct statement *)fields;
    shift_format(&record, -1);
    assert(*format_of(&record) >= 0);
    __real_codec_encode(codec, kind, &record.claim, buffer); /* or another member: in one place */
}

bool __wrap_codec_knows(const struct codec *codec, uint64_t fingerprint)
{
    for (uint32_t i = 0; i < LATER_KINDS && versions.mixed && is_older(codec); i++)
        if (versions.usual[i] == fingerprint)
            fingerprint = versions.later[i];
    return __real_codec_knows(codec, fingerprint);
}

bool __wrap_codec_is_newer(const struct codec *codec, struct text bytes)
{
    uint64_t fingerprint = 0;
    bool newer = false;
    if (versions.mixed && is_older(codec) && codec_peek(bytes, &fingerprint))
        for (uint32_t i = 0; i < LATER_KINDS; i++)
            newer = newer || versions.usual[i] == fingerprint;
    return newer || __real_codec_is_newer(codec, bytes);
}

/* The bytes in the topics are framed as usual, which is not the older version's frame. */
uint64_t __wrap_codec_fingerprint(const struct codec *codec, enum record_kind kind)
{
    uint64_t fingerprint = __real_codec_fingerprint(codec, kind);
    bool own = !versions.mixed || !is_older(codec) || !has_later_schema(kind);
    return own ? fingerprint : ~fingerprint;
}
