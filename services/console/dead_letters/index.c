/* SPDX-License-Identifier: Apache-2.0 */
/* See index.h. */
#include "services/console/dead_letters/index.h"

#include "base/numbers.h"
#include "base/utf8.h"
#include "schemas/details.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* The entries of one partition, by offset. */
struct index_partition {
    struct dead_letter_entry **entries;
    uint32_t first; /* those before it were forgotten */
    uint32_t end;
    uint32_t capacity;
    int64_t newest_at;
    bool has_forgotten;
};

struct dead_letter_index {
    struct index_partition *partitions;
    int32_t partition_count;
    uint32_t count;
    uint32_t open;
    uint32_t entries_max;
    uint64_t forgotten;
};

struct dead_letter_index *dead_letter_index_new(int32_t partition_count, uint32_t entries_max)
{
    struct dead_letter_index *index = calloc(1, sizeof(*index));
    assert(index != NULL && partition_count > 0 && entries_max > 0);
    index->partition_count = partition_count;
    index->entries_max = entries_max;
    index->partitions = calloc((size_t)partition_count, sizeof(index->partitions[0]));
    assert(index->partitions != NULL);
    return index;
}

void dead_letter_entry_free(struct dead_letter_entry *entry)
{
    free(entry->resolution);
    free(entry);
}

enum dead_letter_state dead_letter_entry_state(const struct dead_letter_entry *entry)
{
    if (entry->resolution == NULL)
        return DEAD_LETTER_STATE_OPEN;
    return entry->resolution->kind == DEAD_LETTER_REPLAYED ? DEAD_LETTER_STATE_REPLAYED
                                                           : DEAD_LETTER_STATE_DISCARDED;
}

void dead_letter_index_clear(struct dead_letter_index *index, int32_t partition)
{
    assert(partition >= 0 && partition < index->partition_count);
    struct index_partition *at = &index->partitions[partition];
    for (uint32_t i = at->first; i < at->end; i++) {
        index->open -= at->entries[i]->resolution == NULL;
        index->count--;
        dead_letter_entry_free(at->entries[i]);
    }
    free(at->entries);
    *at = (struct index_partition){0};
}

void dead_letter_index_free(struct dead_letter_index *index)
{
    if (index == NULL)
        return;
    for (int32_t i = 0; i < index->partition_count; i++)
        dead_letter_index_clear(index, i);
    assert(index->count == 0 && index->open == 0);
    free(index->partitions);
    free(index);
}

uint32_t dead_letter_index_open(const struct dead_letter_index *index)
{
    return index->open;
}

uint64_t dead_letter_index_forgotten(const struct dead_letter_index *index)
{
    return index->forgotten;
}

/* ---- order ---- */

/* Positive: the list shows `a` before `b`. */
static int compare(const struct dead_letter_cursor *a, const struct dead_letter_cursor *b)
{
    if (a->at != b->at)
        return a->at > b->at ? 1 : -1;
    if (a->partition != b->partition)
        return a->partition > b->partition ? 1 : -1;
    return (a->offset > b->offset) - (a->offset < b->offset);
}

static struct dead_letter_cursor cursor_of(const struct dead_letter_entry *entry)
{
    return (struct dead_letter_cursor){
        .at = entry->at, .partition = entry->partition, .offset = entry->offset};
}

/* ---- entries ---- */

static struct text copy(char **at, struct text text)
{
    char *start = *at;
    if (text.size > 0)
        memcpy(start, text.data, text.size);
    *at += text.size;
    return (struct text){start, text.size};
}

/* The key of reeve's own topics is the order's id. */
static struct text order_id_of(const struct broker_record *record)
{
    struct error error;
    return order_id_validate(record->key, &error) == ERROR_OK ? record->key : (struct text){0};
}

struct dead_letter_entry *dead_letter_entry_new(const struct broker_record *record,
                                                const struct dead_letter_reading *reading)
{
    static const struct dead_letter_reading none = {.partition = -1, .offset = -1};
    const struct dead_letter_reading *of = reading != NULL ? reading : &none;
    struct text order_id = order_id_of(record);
    struct text topic = utf8_cut(of->topic, TOPIC_BYTES_MAX);
    struct text code = utf8_cut(of->code, DEAD_LETTER_CODE_KEPT);
    struct text message = utf8_cut(of->message, DEAD_LETTER_MESSAGE_KEPT);
    struct dead_letter_entry *entry =
        malloc(sizeof(*entry) + order_id.size + topic.size + code.size + message.size);
    assert(entry != NULL);
    char *at = (char *)(entry + 1);
    *entry = (struct dead_letter_entry){
        .partition = record->partition,
        .offset = record->offset,
        .at = record->timestamp,
        .appended_at = record->timestamp,
        .topic = copy(&at, topic),
        .from_partition = of->partition,
        .from_offset = of->offset,
        .code = copy(&at, code),
        .message = copy(&at, message),
        .order_id = copy(&at, order_id),
        .value_bytes = of->value_bytes > 0 ? of->value_bytes : record->value.size,
        .is_cut = of->value_bytes > 0 || of->meta_bytes > 0 || of->unreadable,
        .resolution_offset = -1};
    return entry;
}

static void forget_oldest(struct dead_letter_index *index)
{
    struct index_partition *oldest = NULL;
    assert(index->count > 0);
    for (int32_t i = 0; i < index->partition_count; i++) {
        struct index_partition *partition = &index->partitions[i];
        if (partition->first == partition->end)
            continue;
        if (oldest != NULL) {
            struct dead_letter_cursor a = cursor_of(partition->entries[partition->first]);
            struct dead_letter_cursor b = cursor_of(oldest->entries[oldest->first]);
            if (compare(&a, &b) >= 0)
                continue;
        }
        oldest = partition;
    }
    assert(oldest != NULL);
    struct dead_letter_entry *entry = oldest->entries[oldest->first++];
    oldest->has_forgotten = true;
    index->open -= entry->resolution == NULL;
    index->count--;
    index->forgotten++;
    dead_letter_entry_free(entry);
}

static void make_room(struct index_partition *partition)
{
    if (partition->end < partition->capacity)
        return;
    uint32_t count = partition->end - partition->first;
    if (partition->first > 0 && partition->first >= partition->capacity / 2) {
        memmove(partition->entries, partition->entries + partition->first,
                count * sizeof(partition->entries[0]));
        partition->first = 0;
        partition->end = count;
        return;
    }
    partition->capacity = partition->capacity == 0 ? 16 : 2 * partition->capacity;
    partition->entries =
        realloc(partition->entries, partition->capacity * sizeof(partition->entries[0]));
    assert(partition->entries != NULL);
}

void dead_letter_index_add(struct dead_letter_index *index, const struct broker_record *record,
                           const struct dead_letter_reading *reading)
{
    assert(record->partition >= 0 && record->partition < index->partition_count);
    struct index_partition *partition = &index->partitions[record->partition];
    if (partition->end > partition->first &&
        record->offset <= partition->entries[partition->end - 1]->offset)
        return;
    struct dead_letter_entry *entry = dead_letter_entry_new(record, reading);
    if (entry->at < partition->newest_at)
        entry->at = partition->newest_at;
    partition->newest_at = entry->at;
    make_room(partition);
    partition->entries[partition->end++] = entry;
    index->count++;
    index->open++;
    if (index->count > index->entries_max)
        forget_oldest(index);
}

static struct dead_letter_entry *find(const struct dead_letter_index *index, int32_t number,
                                      int64_t offset)
{
    if (number < 0 || number >= index->partition_count)
        return NULL;
    const struct index_partition *partition = &index->partitions[number];
    uint32_t low = partition->first;
    uint32_t high = partition->end;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (partition->entries[middle]->offset < offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low < partition->end && partition->entries[low]->offset == offset
               ? partition->entries[low]
               : NULL;
}

const struct dead_letter_entry *dead_letter_index_find(const struct dead_letter_index *index,
                                                       int32_t partition, int64_t offset)
{
    return find(index, partition, offset);
}

bool dead_letter_index_has_forgotten(const struct dead_letter_index *index, int32_t partition)
{
    assert(partition >= 0 && partition < index->partition_count);
    return index->partitions[partition].has_forgotten;
}

const struct dead_letter_entry *dead_letter_index_oldest(const struct dead_letter_index *index,
                                                         int32_t partition)
{
    assert(partition >= 0 && partition < index->partition_count);
    const struct index_partition *at = &index->partitions[partition];
    return at->first < at->end ? at->entries[at->first] : NULL;
}

void dead_letter_index_resolve(struct dead_letter_index *index,
                               const struct dead_letter_resolution *resolution, int64_t offset)
{
    struct dead_letter_entry *entry = find(index, resolution->partition, resolution->offset);
    if (entry == NULL || entry->resolution != NULL)
        return;
    struct dead_letter_resolution *own = malloc(sizeof(*own) + resolution->topic.size +
                                                resolution->by.size + resolution->reason.size);
    assert(own != NULL);
    char *at = (char *)(own + 1);
    *own = *resolution;
    own->topic = copy(&at, resolution->topic);
    own->by = copy(&at, resolution->by);
    own->reason = copy(&at, resolution->reason);
    entry->resolution = own;
    entry->resolution_offset = offset;
    assert(index->open > 0);
    index->open--;
}

/* ---- pages ---- */

void dead_letter_cursor_encode(const struct dead_letter_cursor *cursor,
                               char ret_text[DEAD_LETTER_CURSOR_SIZE])
{
    int size = snprintf(ret_text, DEAD_LETTER_CURSOR_SIZE, "%" PRId64 ".%" PRId32 ".%" PRId64,
                        cursor->at, cursor->partition, cursor->offset);
    if (cursor->is_beyond)
        snprintf(ret_text + size, DEAD_LETTER_CURSOR_SIZE - (size_t)size, ".%" PRId32 ".%" PRId64,
                 cursor->older_partition, cursor->before);
}

static bool take_number(struct text *text, int64_t max, int64_t *ret_number)
{
    uint64_t number;
    if (!number_take(text, (uint64_t)max, &number))
        return false;
    *ret_number = (int64_t)number;
    return true;
}

static bool take_dot(struct text *text)
{
    if (text->size == 0 || text->data[0] != '.')
        return false;
    *text = text_from(*text, 1);
    return true;
}

bool dead_letter_cursor_decode(struct text text, struct dead_letter_cursor *ret_cursor)
{
    int64_t at, partition, offset;
    int64_t older = 0;
    int64_t before = 0;
    if (!take_number(&text, INT64_MAX, &at) || !take_dot(&text) ||
        !take_number(&text, INT32_MAX, &partition) || !take_dot(&text) ||
        !take_number(&text, INT64_MAX, &offset))
        return false;
    bool is_beyond = text.size > 0;
    if (is_beyond && (!take_dot(&text) || !take_number(&text, INT32_MAX, &older) ||
                      !take_dot(&text) || !take_number(&text, INT64_MAX, &before) || text.size > 0))
        return false;
    *ret_cursor = (struct dead_letter_cursor){at,        (int32_t)partition, offset,
                                              is_beyond, (int32_t)older,     before};
    return true;
}

bool dead_letter_filter_takes(const struct dead_letter_filter *filter,
                              const struct dead_letter_entry *entry, bool is_open)
{
    struct dead_letter_cursor at = cursor_of(entry);
    return (filter->all || is_open) && entry->appended_at >= filter->since &&
           (filter->until == 0 || entry->appended_at < filter->until) &&
           (!filter->has_after || compare(&at, &filter->after) < 0) &&
           (text_empty(filter->topic) || text_equal(filter->topic, entry->topic)) &&
           (text_empty(filter->code) || text_equal(filter->code, entry->code));
}

/* Moves *end down to the newest entry that matches and is behind the cursor; it is at end - 1. */
static const struct dead_letter_entry *candidate(const struct index_partition *partition,
                                                 const struct dead_letter_filter *filter,
                                                 uint32_t *end)
{
    for (; *end > partition->first; --*end) {
        const struct dead_letter_entry *entry = partition->entries[*end - 1];
        if (dead_letter_filter_takes(filter, entry, entry->resolution == NULL))
            return entry;
    }
    return NULL;
}

uint32_t dead_letter_index_page(const struct dead_letter_index *index,
                                const struct dead_letter_filter *filter, uint32_t limit,
                                const struct dead_letter_entry *ret_entries[], bool *ret_more)
{
    uint32_t count = 0;
    uint32_t *ends = calloc((size_t)index->partition_count, sizeof(ends[0]));
    assert(ends != NULL);
    for (int32_t i = 0; i < index->partition_count; i++)
        ends[i] = index->partitions[i].end;
    *ret_more = false;
    for (;;) {
        const struct dead_letter_entry *newest = NULL;
        for (int32_t i = 0; i < index->partition_count; i++) {
            const struct dead_letter_entry *entry =
                candidate(&index->partitions[i], filter, &ends[i]);
            if (entry == NULL)
                continue;
            struct dead_letter_cursor a = cursor_of(entry);
            struct dead_letter_cursor b = newest != NULL ? cursor_of(newest) : a;
            if (newest == NULL || compare(&a, &b) > 0)
                newest = entry;
        }
        if (newest == NULL || count == limit) {
            *ret_more = newest != NULL;
            break;
        }
        ret_entries[count++] = newest;
        ends[newest->partition]--;
    }
    free(ends);
    return count;
}
