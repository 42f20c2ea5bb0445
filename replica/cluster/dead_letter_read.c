/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a dead letter back: the reverse of dead_letter_build(). */
#include "replica/cluster/dead_letter.h"

#include "base/numbers.h"

/* The header that is next, if it has this name. */
static bool take(const struct broker_record *record, uint32_t *at, const char *name,
                 struct text *ret_value)
{
    if (*at >= record->header_count || !text_equal(record->headers[*at].name, text_of(name)))
        return false;
    *ret_value = record->headers[(*at)++].value;
    return true;
}

static int64_t number_of(struct text text, int64_t max, int64_t fallback)
{
    int64_t number = fallback;
    number_parse(text, -1, max, &number);
    return number;
}

/* A number that may be in the header; it is left where it is if it is below `min`. */
static bool take_size(const struct broker_record *record, uint32_t *at, const char *name,
                      uint64_t min, uint64_t *ret_size)
{
    struct text text;
    uint32_t next = *at;
    int64_t size = -1;
    if (!take(record, &next, name, &text) || !number_parse(text, 1, INT64_MAX, &size) ||
        (uint64_t)size < min)
        return false;
    *at = next;
    *ret_size = (uint64_t)size;
    return true;
}

bool dead_letter_read(const struct broker_record *record, struct dead_letter_reading *ret_reading)
{
    struct dead_letter_reading reading = {.partition = -1, .offset = -1};
    struct text partition = {0};
    struct text offset = {0};
    uint64_t next_offset;
    uint32_t at = 0;
    if (!take(record, &at, "__streams.errors.exception", &reading.code) ||
        !take(record, &at, "__streams.errors.message", &reading.message) ||
        !take(record, &at, "__streams.errors.topic", &reading.topic) ||
        !take(record, &at, "__streams.errors.partition", &partition) ||
        !take(record, &at, "__streams.errors.offset", &offset))
        return false;
    reading.partition = (int32_t)number_of(partition, INT32_MAX, -1);
    reading.offset = number_of(offset, INT64_MAX, -1);
    bool may_be_cut = record->value.size == DEAD_LETTER_CUT_BYTES || record->value.size == 0;
    if (may_be_cut && take_size(record, &at, "reeve.errors.value_bytes", record->value.size + 1ull,
                                &reading.value_bytes))
        take(record, &at, "reeve.errors.value_xxh128", &reading.value_xxh128);
    if (record->key.size <= DEAD_LETTER_KEY_BYTES)
        take_size(record, &at, "reeve.errors.meta_bytes", DEAD_LETTER_META_MAX + 1ull,
                  &reading.meta_bytes);
    if (record->value.size == 0)
        reading.unreadable = take_size(record, &at, "reeve.errors.next_offset", 1, &next_offset) ||
                             take_size(record, &at, "reeve.errors.first_offset", 1, &next_offset) ||
                             text_equal(reading.code, error_code_text(CODE_UNREADABLE));
    reading.headers = record->headers + at;
    reading.header_count = record->header_count - at;
    *ret_reading = reading;
    return true;
}
