/* SPDX-License-Identifier: Apache-2.0 */
#include "services/supervisor/outstanding.h"

#include <assert.h>
#include <stdlib.h>
#include <uthash.h>

enum { KEY_MAX = ORDER_ID_BYTES_MAX + 24 };

struct entry {
    UT_hash_handle hh;
    int64_t next_at;
    int64_t wait_ms;
    char key[];
};

struct asked {
    struct entry *entries; /* in order of their first asking */
    uint32_t count;
};

/* order id | due_at | step | kind: a new attempt has a new due time, so it is a new entry. */
static size_t key_of(struct text order_id, const struct deadline *deadline, char key[KEY_MAX])
{
    char *at = key;
    assert(order_id.size <= ORDER_ID_BYTES_MAX);
    memcpy(at, order_id.data, order_id.size);
    at += order_id.size;
    memcpy(at, &deadline->due_at, sizeof(deadline->due_at));
    at += sizeof(deadline->due_at);
    memcpy(at, &deadline->step, sizeof(deadline->step));
    at += sizeof(deadline->step);
    *at++ = (char)deadline->kind;
    return (size_t)(at - key);
}

static struct entry *find(struct asked *asked, struct text order_id,
                          const struct deadline *deadline)
{
    char key[KEY_MAX];
    struct entry *entry = NULL;
    size_t size = key_of(order_id, deadline, key);
    HASH_FIND(hh, asked->entries, key, size, entry);
    return entry;
}

static void drop(struct asked *asked, struct entry *entry)
{
    HASH_DEL(asked->entries, entry);
    asked->count--;
    free(entry);
}

static struct entry *add(struct asked *asked, struct text order_id, const struct deadline *deadline)
{
    char key[KEY_MAX];
    size_t size = key_of(order_id, deadline, key);
    if (asked->count >= ASKED_MAX)
        drop(asked, asked->entries);
    struct entry *entry = calloc(1, sizeof(*entry) + size);
    assert(entry != NULL);
    memcpy(entry->key, key, size);
    HASH_ADD_KEYPTR(hh, asked->entries, entry->key, size, entry);
    asked->count++;
    return entry;
}

struct asked *asked_new(void)
{
    struct asked *asked = calloc(1, sizeof(*asked));
    assert(asked != NULL);
    return asked;
}

void asked_free(struct asked *asked)
{
    if (asked == NULL)
        return;
    while (asked->entries != NULL)
        drop(asked, asked->entries);
    free(asked);
}

bool asked_take(struct asked *asked, struct text order_id, const struct deadline *deadline,
                int64_t now)
{
    struct entry *entry = find(asked, order_id, deadline);
    if (entry == NULL)
        entry = add(asked, order_id, deadline);
    else if (now < entry->next_at)
        return false;
    entry->wait_ms = entry->wait_ms == 0 ? ASK_AGAIN_MS : entry->wait_ms * 2;
    if (entry->wait_ms > ASK_AGAIN_MS_MAX)
        entry->wait_ms = ASK_AGAIN_MS_MAX;
    entry->next_at = now + entry->wait_ms;
    return true;
}

void asked_postpone(struct asked *asked, struct text order_id, const struct deadline *deadline,
                    int64_t at)
{
    struct entry *entry = find(asked, order_id, deadline);
    if (entry == NULL)
        entry = add(asked, order_id, deadline);
    entry->next_at = at;
    entry->wait_ms = 0;
}

uint32_t asked_count(const struct asked *asked)
{
    return asked->count;
}
