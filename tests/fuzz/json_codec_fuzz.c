/* SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer: feeds untrusted JSON to the tables of records, as the bodies of requests are. The
 * first byte chooses the record. What is accepted is printed, and read again as the same; an order
 * is held against what is demanded of new ones. */
#include "base/heap_arena.h"
#include "platform/json_tree.h"
#include "schemas/avro/codec.h"
#include "schemas/details.h"
#include "schemas/json/json_codec.h"

#include <assert.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Those that operators and applications send as JSON. */
static const enum record_kind kinds[] = {
    RECORD_SUBMIT_ORDER,  RECORD_CANCEL_ORDER, RECORD_REPORT_STEP,   RECORD_RESUBMIT_STEP,
    RECORD_COMPLETE_STEP, RECORD_STEP_REQUEST, RECORD_STATUS_UPDATE, RECORD_OPERATOR_ALERT,
};
enum { KIND_COUNT = sizeof(kinds) / sizeof(kinds[0]) };

static void *struct_of(struct record *record)
{
    return record_kind_is_command(record->kind) ? (void *)&record->command.submit_order
                                                : (void *)&record->claim;
}

static bool read(struct text json, unsigned flags, struct arena *arena, struct record *record)
{
    struct json_value object;
    struct error error = {0};
    bool good = json_codec_parse(json, "body", arena, &object, &error) == ERROR_OK &&
                json_codec_decode(record_kind_info(record->kind)->binding, NULL, flags, object,
                                  arena, struct_of(record), &error) == ERROR_OK;
    assert(good || error.message[0] != '\0');
    return good;
}

static char *print(const struct record_binding *binding, struct record *record)
{
    json_t *json = json_codec_encode(binding, struct_of(record), 0);
    char *text = json_tree_print(json, JSON_COMPACT);
    assert(text != NULL);
    json_decref(json);
    return text;
}

static void check_same(struct record *record, unsigned flags, struct arena *arena)
{
    const struct record_binding *binding = record_kind_info(record->kind)->binding;
    struct record again = {.kind = record->kind};
    char *once = print(binding, record);
    bool good = read(text_of(once), flags, arena, &again);
    assert(good);
    char *twice = print(binding, &again);
    assert(strcmp(once, twice) == 0);
    free(once);
    free(twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0 || size > INPUT_BYTES_MAX)
        return 0;
    struct heap_arena heap;
    struct error error = {0};
    struct record record = {.kind = kinds[(data[0] >> 1) % KIND_COUNT]};
    unsigned flags = (data[0] & 1) != 0 ? JSON_CODEC_ANY_SIZE : 0;
    heap_arena_init(&heap, 32 * 1024);
    if (read((struct text){(const char *)data + 1, (uint32_t)size - 1}, flags, &heap.arena,
             &record)) {
        check_same(&record, flags, &heap.arena);
        if (record.kind == RECORD_SUBMIT_ORDER &&
            details_validate_new(&record.command.submit_order, &heap.arena, &error) == ERROR_OK)
            check_same(&record, flags, &heap.arena);
    }
    heap_arena_deinit(&heap);
    return 0;
}
