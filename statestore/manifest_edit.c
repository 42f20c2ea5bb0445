/* SPDX-License-Identifier: Apache-2.0 */
/* See manifest_edit.h. The tags and their fields are RocksDB's (db/version_edit.h of 7.8). */
#include "statestore/manifest_edit.h"

#include <stdbool.h>

enum tag {
    TAG_COMPARATOR = 1,
    TAG_LOG_NUMBER = 2,
    TAG_NEXT_FILE = 3,
    TAG_LAST_SEQUENCE = 4,
    TAG_COMPACT_CURSOR = 5,
    TAG_DELETED_FILE = 6,
    TAG_PREVIOUS_LOG = 9,
    TAG_OLDEST_LOG = 10,
    TAG_NEW_FILE = 103,
    TAG_FAMILY = 200,
    TAG_FAMILY_ADD = 201,
    TAG_FAMILY_DROP = 202,
    TAG_FAMILY_MAX = 203,
    TAG_GROUP = 300,
    TAG_IGNORABLE = 1 << 13 /* and above: a text that older readers pass over */
};

enum { NEW_FILE_END = 1 };

struct manifest_fields {
    const uint8_t *at;
    const uint8_t *end;
};

static bool take_varint(struct manifest_fields *fields, uint64_t *ret_value)
{
    uint64_t value = 0;
    for (int shift = 0; shift < 64 && fields->at < fields->end; shift += 7) {
        uint8_t byte = *fields->at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *ret_value = value;
            return true;
        }
    }
    return false;
}

static bool skip_varints(struct manifest_fields *fields, int count)
{
    uint64_t value;
    bool whole = true;
    for (int i = 0; i < count && whole; i++)
        whole = take_varint(fields, &value);
    return whole;
}

static bool skip_text(struct manifest_fields *fields)
{
    uint64_t size;
    if (!take_varint(fields, &size) || size > (uint64_t)(fields->end - fields->at))
        return false;
    fields->at += size;
    return true;
}

/* level, number, size | first key, last key | first sequence, last sequence | more, up to an end */
static bool skip_new_file(struct manifest_fields *fields)
{
    uint64_t tag;
    if (!skip_varints(fields, 3) || !skip_text(fields) || !skip_text(fields) ||
        !skip_varints(fields, 2))
        return false;
    while (take_varint(fields, &tag)) {
        if (tag == NEW_FILE_END)
            return true;
        if (!skip_text(fields))
            return false;
    }
    return false;
}

static bool skip_field(struct manifest_fields *fields, uint64_t tag)
{
    switch (tag) {
    case TAG_LOG_NUMBER:
    case TAG_NEXT_FILE:
    case TAG_LAST_SEQUENCE:
    case TAG_PREVIOUS_LOG:
    case TAG_FAMILY:
    case TAG_FAMILY_MAX:
    case TAG_GROUP:
        return skip_varints(fields, 1);
    case TAG_DELETED_FILE:
        return skip_varints(fields, 2);
    case TAG_COMPARATOR:
    case TAG_FAMILY_ADD:
        return skip_text(fields);
    case TAG_COMPACT_CURSOR:
        return skip_varints(fields, 1) && skip_text(fields);
    case TAG_FAMILY_DROP:
        return true;
    case TAG_NEW_FILE:
        return skip_new_file(fields);
    default:
        return tag >= TAG_IGNORABLE && skip_text(fields);
    }
}

void manifest_edit_oldest_log(const uint8_t *edit, size_t size, uint64_t *oldest_log)
{
    struct manifest_fields fields = {edit, edit + size};
    uint64_t tag, number;
    while (take_varint(&fields, &tag)) {
        if (tag != TAG_OLDEST_LOG) {
            if (!skip_field(&fields, tag))
                return;
            continue;
        }
        if (!take_varint(&fields, &number))
            return;
        if (number > *oldest_log)
            *oldest_log = number;
    }
}
