/* SPDX-License-Identifier: Apache-2.0 */
#include "services/supervisor/outstanding.h"

#include <assert.h>
#include <stdlib.h>
#include <uthash.h>

enum { KEY_MAX = ORDER_ID_BYTES_MAX + 24 };

struct outstanding_entry {
    UT_hash_handle hh;
    int64_t next_at;
    int64_t wait_ms;
    char key[];
};

struct outstanding {
    struct outstanding_entry *entries; /* in the order of their first request */
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

static struct outstanding_entry *find(struct outstanding *outstanding, struct text order_id,
                                      const struct deadline *deadline)
{
    char key[KEY_MAX];
    struct outstanding_entry *entry = NULL;
    size_t size = key_of(order_id, deadline, key);
    HASH_FIND(hh, outstanding->entries, key, size, entry);
    return entry;
}

static void drop(struct outstanding *outstanding, struct outstanding_entry *entry)
{
    HASH_DEL(outstanding->entries, entry);
    outstanding->count--;
    free(entry);
}

static struct outstanding_entry *add(struct outstanding *outstanding, struct text order_id,
                                     const struct deadline *deadline)
{
    char key[KEY_MAX];
    size_t size = key_of(order_id, deadline, key);
    if (outstanding->count >= OUTSTANDING_ENTRIES_MAX)
        drop(outstanding, outstanding->entries);
    struct outstanding_entry *entry = calloc(1, sizeof(*entry) + size);
    assert(entry != NULL);
    memcpy(entry->key, key, size);
    HASH_ADD_KEYPTR(hh, outstanding->entries, entry->key, size, entry);
    outstanding->count++;
    return entry;
}

struct outstanding *outstanding_new(void)
{
    struct outstanding *outstanding = calloc(1, sizeof(*outstanding));
    assert(outstanding != NULL);
    return outstanding;
}

void outstanding_free(struct outstanding *outstanding)
{
    if (outstanding == NULL)
        return;
    while (outstanding->entries != NULL)
        drop(outstanding, outstanding->entries);
    free(outstanding);
}

bool outstanding_take(struct outstanding *outstanding, struct text order_id,
                      const struct deadline *deadline, int64_t now)
{
    struct outstanding_entry *entry = find(outstanding, order_id, deadline);
    if (entry == NULL)
        entry = add(outstanding, order_id, deadline);
    else if (now < entry->next_at)
        return false;
    entry->wait_ms = entry->wait_ms == 0 ? REPEAT_MS : entry->wait_ms * 2;
    if (entry->wait_ms > REPEAT_MS_MAX)
        entry->wait_ms = REPEAT_MS_MAX;
    entry->next_at = now + entry->wait_ms;
    return true;
}

void outstanding_postpone(struct outstanding *outstanding, struct text order_id,
                          const struct deadline *deadline, int64_t at)
{
    struct outstanding_entry *entry = find(outstanding, order_id, deadline);
    if (entry == NULL)
        entry = add(outstanding, order_id, deadline);
    entry->next_at = at;
    entry->wait_ms = 0;
}
