/* SPDX-License-Identifier: Apache-2.0 */
/* See wait_queue.h. */
#include "services/submission/wait_queue.h"

#include <assert.h>
#include <stdlib.h>
#include <utlist.h>
#include <xxhash.h>

static uint64_t hash_of(struct text key)
{
    return XXH3_64bits(key.data != NULL ? key.data : "", key.size);
}

/* Two keys with the same hash wait for each other without need: rare, and harmless. */
bool parked_has_key(const struct parked_list *list, struct text key, const struct parked *until)
{
    if (list->first == NULL || text_empty(key))
        return false;
    uint64_t key_hash = hash_of(key);
    for (const struct parked *at = list->first; at != NULL && at != until; at = at->next) {
        if (at->key_hash == key_hash)
            return true;
    }
    return false;
}

static struct text copy_text(char **at, struct text text)
{
    if (text.data == NULL)
        return text;
    char *copy = *at;
    memcpy(copy, text.data, text.size);
    *at += text.size;
    return (struct text){copy, text.size};
}

static size_t size_of(const struct broker_record *record)
{
    size_t size = record->key.size + (size_t)record->value.size;
    for (uint32_t i = 0; i < record->header_count; i++)
        size += record->headers[i].name.size + (size_t)record->headers[i].value.size;
    return size;
}

struct parked *parked_add(struct parked_list *list, uint64_t sequence,
                          const struct broker_record *record)
{
    struct parked *parked = calloc(1, sizeof(*parked) + size_of(record));
    assert(parked != NULL);
    char *at = parked->bytes;
    parked->sequence = sequence;
    parked->key_hash = hash_of(record->key);
    parked->record = *record;
    parked->record.topic = NULL; /* borrowed from a callback */
    parked->record.key = copy_text(&at, record->key);
    parked->record.value = copy_text(&at, record->value);
    for (uint32_t i = 0; i < record->header_count; i++) {
        parked->record.headers[i].name = copy_text(&at, record->headers[i].name);
        parked->record.headers[i].value = copy_text(&at, record->headers[i].value);
    }
    DL_APPEND(list->first, parked);
    list->count++;
    list->bytes += record->value.size;
    return parked;
}

void parked_remove(struct parked_list *list, struct parked *parked)
{
    DL_DELETE(list->first, parked);
    list->count--;
    list->bytes -= parked->record.value.size;
    free(parked);
}

void parked_clear(struct parked_list *list)
{
    while (list->first != NULL)
        parked_remove(list, list->first);
}
