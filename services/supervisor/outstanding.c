/* SPDX-License-Identifier: Apache-2.0 */
#include "services/supervisor/outstanding.h"

#include <assert.h>
#include <stdlib.h>
#include <uthash.h>
#include <utlist.h>

/* What an order waits for: few entries. */
struct outstanding_order {
    UT_hash_handle hh;
    struct outstanding_entry *entries;
    struct text order_id; /* in `bytes` */
    char bytes[];
};

struct outstanding_entry {
    UT_hash_handle hh; /* by token */
    struct outstanding_entry *prev;
    struct outstanding_entry *next;
    struct outstanding_order *order;
    struct deadline deadline;
    uint64_t token;
    int64_t offset;   /* of the last command; -1: unknown */
    int64_t asked_at; /* when it got there */
    int64_t next_at;  /* INT64_MAX: on its way */
    int64_t wait_ms;
    uint32_t tries;
    uint32_t place; /* in the heap */
};

struct outstanding {
    struct outstanding_order *orders;
    struct outstanding_entry *by_token;
    struct outstanding_entry *heap[OUTSTANDING_MAX]; /* the first is due first */
    uint32_t count;
    uint64_t last_token;
    int64_t given_up;
};

/* ---- the heap ---- */

static void put(struct outstanding *outstanding, uint32_t place, struct outstanding_entry *entry)
{
    assert(place < outstanding->count);
    outstanding->heap[place] = entry;
    entry->place = place;
}

static void move_up(struct outstanding *outstanding, struct outstanding_entry *entry)
{
    uint32_t place = entry->place;
    while (place > 0 && outstanding->heap[(place - 1) / 2]->next_at > entry->next_at) {
        put(outstanding, place, outstanding->heap[(place - 1) / 2]);
        place = (place - 1) / 2;
    }
    put(outstanding, place, entry);
}

static void move_down(struct outstanding *outstanding, struct outstanding_entry *entry)
{
    uint32_t place = entry->place;
    for (;;) {
        uint32_t child = 2 * place + 1;
        if (child >= outstanding->count)
            break;
        if (child + 1 < outstanding->count &&
            outstanding->heap[child + 1]->next_at < outstanding->heap[child]->next_at)
            child++;
        if (outstanding->heap[child]->next_at >= entry->next_at)
            break;
        put(outstanding, place, outstanding->heap[child]);
        place = child;
    }
    put(outstanding, place, entry);
}

static void set_next(struct outstanding *outstanding, struct outstanding_entry *entry, int64_t at)
{
    assert(outstanding->heap[entry->place] == entry);
    entry->next_at = at;
    move_up(outstanding, entry);
    move_down(outstanding, entry);
    assert(outstanding->heap[entry->place] == entry);
    assert(outstanding->heap[0]->next_at <= at);
}

/* ---- entries ---- */

static struct outstanding_order *find_order(const struct outstanding *outstanding,
                                            struct text order_id)
{
    struct outstanding_order *order = NULL;
    HASH_FIND(hh, outstanding->orders, order_id.data, order_id.size, order);
    return order;
}

static struct outstanding_order *find_or_add_order(struct outstanding *outstanding,
                                                   struct text order_id)
{
    struct outstanding_order *order = find_order(outstanding, order_id);
    if (order != NULL)
        return order;
    order = calloc(1, sizeof(*order) + order_id.size);
    assert(order != NULL);
    memcpy(order->bytes, order_id.data, order_id.size);
    order->order_id = (struct text){order->bytes, order_id.size};
    HASH_ADD_KEYPTR(hh, outstanding->orders, order->bytes, order_id.size, order);
    return order;
}

static bool same(const struct deadline *a, const struct deadline *b)
{
    return a->kind == b->kind && a->due_at == b->due_at && a->step == b->step;
}

static struct outstanding_entry *find(const struct outstanding *outstanding, struct text order_id,
                                      const struct deadline *deadline)
{
    const struct outstanding_order *order = find_order(outstanding, order_id);
    struct outstanding_entry *entry = NULL;
    if (order != NULL) {
        DL_FOREACH(order->entries, entry)
            if (same(&entry->deadline, deadline))
                break;
    }
    return entry;
}

static void drop(struct outstanding *outstanding, struct outstanding_entry *entry)
{
    struct outstanding_order *order = entry->order;
    assert(outstanding->count > 0);
    assert(outstanding->heap[entry->place] == entry);
    struct outstanding_entry *last = outstanding->heap[--outstanding->count];
    if (last != entry) {
        put(outstanding, entry->place, last);
        set_next(outstanding, last, last->next_at);
    }
    HASH_DEL(outstanding->by_token, entry);
    DL_DELETE(order->entries, entry);
    free(entry);
    if (order->entries != NULL)
        return;
    HASH_DEL(outstanding->orders, order);
    free(order);
}

static void sending(struct outstanding *outstanding, struct outstanding_entry *entry)
{
    entry->tries++;
    entry->offset = -1;
    set_next(outstanding, entry, INT64_MAX);
}

static void wait_longer(struct outstanding *outstanding, struct outstanding_entry *entry,
                        int64_t now)
{
    assert(entry->tries > 0); /* it was sent */
    entry->wait_ms = entry->wait_ms < REPEAT_MS ? REPEAT_MS : 2 * entry->wait_ms;
    if (entry->wait_ms > REPEAT_MS_MAX)
        entry->wait_ms = REPEAT_MS_MAX;
    set_next(outstanding, entry, now + entry->wait_ms);
}

/* ---- the table ---- */

struct outstanding *outstanding_new(void)
{
    struct outstanding *outstanding = calloc(1, sizeof(*outstanding));
    assert(outstanding != NULL);
    outstanding->given_up = INT64_MAX;
    return outstanding;
}

void outstanding_clear(struct outstanding *outstanding)
{
    while (outstanding->count > 0)
        drop(outstanding, outstanding->heap[outstanding->count - 1]);
    assert(outstanding->orders == NULL && outstanding->by_token == NULL);
    outstanding->given_up = INT64_MAX;
}

void outstanding_free(struct outstanding *outstanding)
{
    if (outstanding == NULL)
        return;
    outstanding_clear(outstanding);
    free(outstanding);
}

bool outstanding_is_full(const struct outstanding *outstanding)
{
    return outstanding->count == OUTSTANDING_MAX;
}

bool outstanding_has(const struct outstanding *outstanding, struct text order_id,
                     const struct deadline *deadline)
{
    return find(outstanding, order_id, deadline) != NULL;
}

uint64_t outstanding_add(struct outstanding *outstanding, struct text order_id,
                         const struct deadline *deadline)
{
    struct outstanding_entry *entry = calloc(1, sizeof(*entry));
    assert(entry != NULL && outstanding->count < OUTSTANDING_MAX);
    assert(!outstanding_has(outstanding, order_id, deadline));
    entry->order = find_or_add_order(outstanding, order_id);
    entry->deadline = *deadline;
    entry->token = ++outstanding->last_token;
    DL_APPEND(entry->order->entries, entry);
    HASH_ADD(hh, outstanding->by_token, token, sizeof(entry->token), entry);
    put(outstanding, outstanding->count++, entry);
    sending(outstanding, entry);
    return entry->token;
}

void outstanding_sent(struct outstanding *outstanding, uint64_t token, int64_t offset, int64_t now)
{
    struct outstanding_entry *entry = NULL;
    HASH_FIND(hh, outstanding->by_token, &token, sizeof(token), entry);
    if (entry == NULL || entry->next_at != INT64_MAX) /* it has its outcome, or it was early */
        return;
    entry->offset = offset;
    entry->asked_at = now;
    wait_longer(outstanding, entry, now);
}

bool outstanding_repeat(struct outstanding *outstanding, int64_t now, int64_t next_command,
                        struct outstanding_command *ret_command)
{
    while (outstanding->count > 0 && outstanding->heap[0]->next_at <= now) {
        struct outstanding_entry *entry = outstanding->heap[0];
        if (entry->offset >= next_command && now < entry->asked_at + REPEAT_UNREAD_MS) {
            wait_longer(outstanding, entry, now);
        } else if (entry->tries >= REPEAT_TRIES && outstanding_is_full(outstanding)) {
            if (entry->deadline.due_at < outstanding->given_up)
                outstanding->given_up = entry->deadline.due_at;
            drop(outstanding, entry);
        } else {
            sending(outstanding, entry);
            assert(entry->tries > 1); /* the first time is outstanding_add() */
            *ret_command =
                (struct outstanding_command){entry->order->order_id, entry->deadline, entry->token};
            return true;
        }
    }
    return false;
}

void outstanding_settle(struct outstanding *outstanding, struct text order_id,
                        const struct deadline *deadlines, uint32_t count)
{
    const struct outstanding_order *order = find_order(outstanding, order_id);
    struct outstanding_entry *entry = order != NULL ? order->entries : NULL;
    while (entry != NULL) {
        struct outstanding_entry *next = entry->next;
        uint32_t i = 0;
        while (i < count && !same(&entry->deadline, &deadlines[i]))
            i++;
        if (i == count)
            drop(outstanding, entry);
        entry = next;
    }
}

bool outstanding_postpone(struct outstanding *outstanding, struct text order_id,
                          const struct deadline *deadline, int64_t early_ms, int64_t now)
{
    struct outstanding_entry *entry = find(outstanding, order_id, deadline);
    if (entry == NULL)
        return false;
    if (early_ms > REPEAT_MS_MAX) {
        drop(outstanding, entry);
        return false;
    }
    /* The first time, to the point; if that is early again, the clocks do not agree. */
    int64_t floor_ms = entry->tries > 1 ? REPEAT_EARLY_MS : 0;
    for (uint32_t tries = 2; tries < entry->tries && floor_ms < REPEAT_MS_MAX; tries++)
        floor_ms *= 2;
    if (early_ms < floor_ms)
        early_ms = floor_ms;
    assert(early_ms >= 0);
    entry->offset = -1;
    set_next(outstanding, entry, now + early_ms);
    return true;
}

int64_t outstanding_take_given_up(struct outstanding *outstanding)
{
    int64_t due_at = outstanding->given_up;
    outstanding->given_up = INT64_MAX;
    return due_at;
}
