/* SPDX-License-Identifier: Apache-2.0 */
/* See dead_letter.h. */
#include "replica/cluster/dead_letter.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <xxhash.h>

_Static_assert(DEAD_LETTER_CUT_BYTES <= DEAD_LETTER_WHOLE_MAX, "a cut makes it smaller");
_Static_assert(DEAD_LETTER_KEY_BYTES <= DEAD_LETTER_META_MAX, "here as well");
_Static_assert(DEAD_LETTER_HEADERS_MAX + (int)DEAD_LETTER_OWN_HEADERS_MAX <=
                   (int)BROKER_HEADERS_MAX,
               "a reader of a dead letter gets all of its headers");

/* `meta_bytes` is what a reader counted; records from elsewhere have none. */
static uint32_t meta_bytes_of(const struct broker_record *record)
{
    uint64_t bytes = record->key.size;
    for (uint32_t i = 0; i < record->header_count; i++)
        bytes += record->headers[i].name.size + (uint64_t)record->headers[i].value.size;
    if (bytes < record->meta_bytes)
        bytes = record->meta_bytes;
    return bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX;
}

bool dead_letter_fits(const struct broker_record *record)
{
    return record->value.size <= DEAD_LETTER_WHOLE_MAX &&
           meta_bytes_of(record) <= DEAD_LETTER_META_MAX;
}

void dead_letter_cut(struct broker_record *record, struct dead_letter_cut *ret_cut)
{
    struct dead_letter_cut cut = {0};
    uint32_t meta_bytes = meta_bytes_of(record);
    if (record->header_count > DEAD_LETTER_HEADERS_MAX)
        record->header_count = DEAD_LETTER_HEADERS_MAX;
    if (record->value.size > DEAD_LETTER_WHOLE_MAX) {
        XXH128_hash_t hash = XXH3_128bits(record->value.data, record->value.size);
        cut.value_bytes = record->value.size;
        snprintf(cut.value_xxh128, sizeof(cut.value_xxh128), "%016" PRIx64 "%016" PRIx64,
                 (uint64_t)hash.high64, (uint64_t)hash.low64);
        record->value.size = DEAD_LETTER_CUT_BYTES;
    }
    if (meta_bytes > DEAD_LETTER_META_MAX) {
        cut.meta_bytes = meta_bytes;
        record->header_count = 0;
        if (record->key.size > DEAD_LETTER_KEY_BYTES)
            record->key.size = DEAD_LETTER_KEY_BYTES;
        record->meta_bytes = record->key.size;
    }
    assert(dead_letter_fits(record));
    *ret_cut = cut;
}

static void add(struct dead_letter *letter, const char *name, struct text value)
{
    assert(letter->header_count < DEAD_LETTER_OWN_HEADERS_MAX);
    letter->headers[letter->header_count++] = (struct broker_header){text_of(name), value};
}

static void add_number(struct dead_letter *letter, uint32_t slot, const char *name, int64_t number)
{
    char *text = letter->numbers[slot];
    snprintf(text, sizeof(letter->numbers[slot]), "%" PRId64, number);
    add(letter, name, text_of(text));
}

void dead_letter_build(const struct broker_record *record, const struct dead_letter_cut *cut,
                       const char *code, const char *message, struct dead_letter *ret_letter)
{
    struct dead_letter *letter = ret_letter;
    struct broker_record kept = *record;
    struct dead_letter_cut now = {0};
    if (cut == NULL)
        dead_letter_cut(&kept, &now);
    else
        now = *cut;
    assert(dead_letter_fits(&kept));
    letter->key = kept.key;
    letter->value = kept.value;
    letter->header_count = 0;
    add(letter, "__streams.errors.exception", text_of(code));
    add(letter, "__streams.errors.message", text_of(message));
    add(letter, "__streams.errors.topic", text_of(record->topic));
    add_number(letter, 0, "__streams.errors.partition", record->partition);
    add_number(letter, 1, "__streams.errors.offset", record->offset);
    if (now.value_bytes > 0) {
        add_number(letter, 2, "reeve.errors.value_bytes", now.value_bytes);
        memcpy(letter->value_xxh128, now.value_xxh128, sizeof(letter->value_xxh128));
        add(letter, "reeve.errors.value_xxh128", text_of(letter->value_xxh128));
    }
    if (now.meta_bytes > 0)
        add_number(letter, 3, "reeve.errors.meta_bytes", now.meta_bytes);
    if (now.next_offset > 0)
        add_number(letter, 4, "reeve.errors.next_offset", now.next_offset);
    for (uint32_t i = 0; i < kept.header_count && i < DEAD_LETTER_HEADERS_MAX; i++)
        letter->headers[letter->header_count++] = kept.headers[i];
}
