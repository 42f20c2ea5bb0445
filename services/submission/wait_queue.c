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

/* Two keys with the same hash wait for each other needlessly: rare and harmless. */
bool wait_queue_has_key(const struct wait_queue *queue, struct text key,
                        const struct waiting_record *until)
{
    if (queue->first == NULL || text_empty(key))
        return false;
    uint64_t key_hash = hash_of(key);
    const struct waiting_record *at = queue->buckets[key_hash % WAIT_BUCKETS];
    while (at != NULL && at != until && at->key_hash != key_hash)
        at = at->bucket_next;
    return at != NULL && at != until;
}

static struct waiting_record **bucket_of(struct wait_queue *queue,
                                         const struct waiting_record *waiting)
{
    return &queue->buckets[waiting->key_hash % WAIT_BUCKETS];
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

static size_t size_of(const struct broker_record *record, const struct large_record *large)
{
    size_t size =
        record->key.size + (size_t)record->value.size + large->order_id.size + large->reply_to.size;
    for (uint32_t i = 0; i < record->header_count; i++)
        size += record->headers[i].name.size + (size_t)record->headers[i].value.size;
    return size;
}

struct waiting_record *wait_queue_add(struct wait_queue *queue, uint64_t sequence,
                                      const struct broker_record *record,
                                      const struct large_record *large)
{
    size_t size = size_of(record, large);
    struct waiting_record *waiting = calloc(1, sizeof(*waiting) + size);
    assert(waiting != NULL);
    assert(queue->first == NULL || queue->first->prev->sequence < sequence);
    char *at = waiting->bytes;
    waiting->sequence = sequence;
    waiting->key_hash = hash_of(record->key);
    waiting->record = *record;
    waiting->record.topic = NULL; /* borrowed from a callback */
    waiting->record.key = copy_text(&at, record->key);
    waiting->record.value = copy_text(&at, record->value);
    for (uint32_t i = 0; i < record->header_count; i++) {
        waiting->record.headers[i].name = copy_text(&at, record->headers[i].name);
        waiting->record.headers[i].value = copy_text(&at, record->headers[i].value);
    }
    waiting->large = *large;
    waiting->large.order_id = copy_text(&at, large->order_id);
    waiting->large.reply_to = copy_text(&at, large->reply_to);
    assert(at == waiting->bytes + size);
    waiting->size = size;
    DL_APPEND(queue->first, waiting);
    if (!text_empty(record->key))
        DL_APPEND2(*bucket_of(queue, waiting), waiting, bucket_prev, bucket_next);
    queue->count++;
    queue->bytes += size;
    return waiting;
}

void wait_queue_remove(struct wait_queue *queue, struct waiting_record *waiting)
{
    assert(queue->count > 0 && queue->bytes >= waiting->size);
    DL_DELETE(queue->first, waiting);
    if (!text_empty(waiting->record.key))
        DL_DELETE2(*bucket_of(queue, waiting), waiting, bucket_prev, bucket_next);
    queue->count--;
    queue->bytes -= waiting->size;
    free(waiting);
}

void wait_queue_clear(struct wait_queue *queue)
{
    while (queue->first != NULL)
        wait_queue_remove(queue, queue->first);
    assert(queue->count == 0 && queue->bytes == 0);
}
