/* SPDX-License-Identifier: Apache-2.0 */
/* See offsets.h. */
#include "kafka/embedded/offsets.h"

#include "base/bytes.h"

#include <assert.h>
#include <stdlib.h>

enum { KEY_NUMBERS = 8, KEY_MAX = KEY_NUMBERS + 2 * INT16_MAX };

static size_t key_of(char *key, struct text group, struct text topic, int32_t partition)
{
    char *at = bytes_put_be(key, (uint32_t)partition, 4);
    assert(group.size <= INT16_MAX && topic.size <= INT16_MAX);
    at = bytes_put_be(at, group.size, 4);
    at = bytes_put_text(at, group);
    at = bytes_put_text(at, topic);
    return (size_t)(at - key);
}

static struct offset_row *find(const struct offsets *offsets, const char *key, size_t size)
{
    struct offset_row *row;
    HASH_FIND(hh, offsets->table, key, size, row);
    return row;
}

const struct offset_row *offsets_find(const struct offsets *offsets, struct text group,
                                      struct text topic, int32_t partition)
{
    char key[KEY_MAX];
    return find(offsets, key, key_of(key, group, topic, partition));
}

static char *copy(struct text text)
{
    char *string = strndup(text.data != NULL ? text.data : "", text.size);
    assert(string != NULL);
    return string;
}

bool offsets_set(struct offsets *offsets, struct text group, struct text topic, int32_t partition,
                 int64_t offset, struct text metadata)
{
    char key[KEY_MAX];
    size_t size = key_of(key, group, topic, partition);
    struct offset_row *row = find(offsets, key, size);
    if (row == NULL) {
        if (HASH_COUNT(offsets->table) == OFFSETS_MAX)
            return false;
        row = calloc(1, sizeof(*row) + size);
        assert(row != NULL);
        memcpy(row->names, key, size);
        row->group = (struct text){row->names + KEY_NUMBERS, group.size};
        row->topic = (struct text){row->names + KEY_NUMBERS + group.size, topic.size};
        row->partition = partition;
        HASH_ADD_KEYPTR(hh, offsets->table, row->names, size, row);
    }
    free(row->metadata);
    row->metadata = copy(metadata);
    row->offset = offset;
    return true;
}

const struct offset_row *offsets_next(const struct offsets *offsets, const struct offset_row *after)
{
    return after == NULL ? offsets->table : after->hh.next;
}

static void remove_row(struct offsets *offsets, struct offset_row *row)
{
    HASH_DEL(offsets->table, row);
    free(row->metadata);
    free(row);
}

bool offsets_forget(struct offsets *offsets, struct text group, struct text topic)
{
    bool found = false;
    struct offset_row *row;
    struct offset_row *next;
    HASH_ITER(hh, offsets->table, row, next) {
        if (group.data != NULL ? !text_equal(row->group, group) : !text_equal(row->topic, topic))
            continue;
        remove_row(offsets, row);
        found = true;
    }
    return found;
}

void offsets_deinit(struct offsets *offsets)
{
    struct offset_row *row;
    struct offset_row *next;
    HASH_ITER(hh, offsets->table, row, next)
        remove_row(offsets, row);
}
