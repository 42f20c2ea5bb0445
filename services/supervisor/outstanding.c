/* SPDX-License-Identifier: Apache-2.0 */
#include "services/supervisor/outstanding.h"

#include "platform/hash_table.h"

#include <assert.h>
#include <stdlib.h>
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
    int64_t sent_at;  /* when the last command was sent */
    int64_t asked_at; /* when it got there */
    int64_t next_at;  /* armed: when it is due; else when to repeat; INT64_MAX: on its way */
    int64_t wait_ms;
    int64_t unread_ms;     /* the command is repeated if it was not read for this long */
    uint32_t tries;        /* 0: it is armed */
    uint32_t place;        /* in the heap */
    struct due_heap *heap; /* it is in this one */
    /* its command is on its way: among the others, in the order in which they were sent */
    bool on_its_way;
    struct outstanding_entry *way_prev;
    struct outstanding_entry *way_next;
};

struct due_heap {
    struct outstanding_entry *entries[OUTSTANDING_MAX]; /* the first has the smallest next_at */
    uint32_t count;
};

struct outstanding {
    struct outstanding_order *orders;
    struct outstanding_entry *by_token;
    struct due_heap armed;
    struct due_heap sent;
    struct outstanding_entry *on_their_way;
    uint32_t on_their_way_count;
    int64_t next_command; /* as the caller knew it last */
    uint64_t last_token;
    int64_t given_up;
};

/* ---- the heaps ---- */

static void put(struct due_heap *heap, uint32_t place, struct outstanding_entry *entry)
{
    assert(place < heap->count);
    heap->entries[place] = entry;
    entry->place = place;
}

static void move_up(struct due_heap *heap, struct outstanding_entry *entry)
{
    uint32_t place = entry->place;
    while (place > 0 && heap->entries[(place - 1) / 2]->next_at > entry->next_at) {
        put(heap, place, heap->entries[(place - 1) / 2]);
        place = (place - 1) / 2;
    }
    put(heap, place, entry);
}

static void move_down(struct due_heap *heap, struct outstanding_entry *entry)
{
    uint32_t place = entry->place;
    for (;;) {
        uint32_t child = 2 * place + 1;
        if (child >= heap->count)
            break;
        if (child + 1 < heap->count &&
            heap->entries[child + 1]->next_at < heap->entries[child]->next_at)
            child++;
        if (heap->entries[child]->next_at >= entry->next_at)
            break;
        put(heap, place, heap->entries[child]);
        place = child;
    }
    put(heap, place, entry);
}

static void set_next(struct outstanding_entry *entry, int64_t at)
{
    struct due_heap *heap = entry->heap;
    assert(heap->entries[entry->place] == entry);
    entry->next_at = at;
    move_up(heap, entry);
    move_down(heap, entry);
    assert(heap->entries[entry->place] == entry);
    assert(heap->entries[0]->next_at <= at);
}

static void heap_add(struct due_heap *heap, struct outstanding_entry *entry, int64_t at)
{
    assert(heap->count < OUTSTANDING_MAX && entry->heap == NULL);
    entry->heap = heap;
    put(heap, heap->count++, entry);
    set_next(entry, at);
}

static void heap_remove(struct outstanding_entry *entry)
{
    struct due_heap *heap = entry->heap;
    assert(heap->count > 0);
    assert(heap->entries[entry->place] == entry);
    struct outstanding_entry *last = heap->entries[--heap->count];
    entry->heap = NULL;
    if (last == entry)
        return;
    put(heap, entry->place, last);
    set_next(last, last->next_at);
}

static int64_t heap_next(const struct due_heap *heap)
{
    return heap->count > 0 ? heap->entries[0]->next_at : INT64_MAX;
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

static void arrive(struct outstanding *outstanding, struct outstanding_entry *entry)
{
    if (!entry->on_its_way)
        return;
    assert(outstanding->on_their_way_count > 0);
    DL_DELETE2(outstanding->on_their_way, entry, way_prev, way_next);
    outstanding->on_their_way_count--;
    entry->on_its_way = false;
}

static void drop(struct outstanding *outstanding, struct outstanding_entry *entry)
{
    struct outstanding_order *order = entry->order;
    arrive(outstanding, entry);
    heap_remove(entry);
    HASH_DEL(outstanding->by_token, entry);
    DL_DELETE(order->entries, entry);
    free(entry);
    if (order->entries != NULL)
        return;
    HASH_DEL(outstanding->orders, order);
    free(order);
}

static void sending(struct outstanding *outstanding, struct outstanding_entry *entry, int64_t now)
{
    arrive(outstanding, entry);
    entry->sent_at = now;
    entry->tries++;
    entry->offset = -1;
    entry->on_its_way = true;
    DL_APPEND2(outstanding->on_their_way, entry, way_prev, way_next);
    outstanding->on_their_way_count++;
    set_next(entry, INT64_MAX);
}

static void wait_longer(struct outstanding_entry *entry, int64_t now)
{
    assert(entry->tries > 0); /* it was sent */
    entry->wait_ms = entry->wait_ms < REPEAT_MS ? REPEAT_MS : 2 * entry->wait_ms;
    if (entry->wait_ms > REPEAT_MS_MAX)
        entry->wait_ms = REPEAT_MS_MAX;
    set_next(entry, now + entry->wait_ms);
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
    while (outstanding->armed.count > 0)
        drop(outstanding, outstanding->armed.entries[outstanding->armed.count - 1]);
    while (outstanding->sent.count > 0)
        drop(outstanding, outstanding->sent.entries[outstanding->sent.count - 1]);
    assert(outstanding->orders == NULL && outstanding->by_token == NULL);
    assert(outstanding->on_their_way == NULL && outstanding->on_their_way_count == 0);
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
    return outstanding->armed.count + outstanding->sent.count == OUTSTANDING_MAX;
}

bool outstanding_has(const struct outstanding *outstanding, struct text order_id,
                     const struct deadline *deadline)
{
    return find(outstanding, order_id, deadline) != NULL;
}

void outstanding_arm(struct outstanding *outstanding, struct text order_id,
                     const struct deadline *deadline)
{
    struct outstanding_entry *entry = calloc(1, sizeof(*entry));
    assert(entry != NULL && !outstanding_is_full(outstanding));
    assert(!outstanding_has(outstanding, order_id, deadline));
    entry->order = find_or_add_order(outstanding, order_id);
    entry->deadline = *deadline;
    entry->token = ++outstanding->last_token;
    entry->unread_ms = REPEAT_UNREAD_MS;
    DL_APPEND(entry->order->entries, entry);
    HASH_ADD(hh, outstanding->by_token, token, sizeof(entry->token), entry);
    heap_add(&outstanding->armed, entry, deadline->due_at);
}

uint32_t outstanding_armed(const struct outstanding *outstanding)
{
    return outstanding->armed.count;
}

int64_t outstanding_next_due(const struct outstanding *outstanding)
{
    return heap_next(&outstanding->armed);
}

int64_t outstanding_next_repeat(const struct outstanding *outstanding)
{
    return heap_next(&outstanding->sent);
}

bool outstanding_take_due(struct outstanding *outstanding, int64_t scheduler_now, int64_t now,
                          struct outstanding_command *ret_command)
{
    if (outstanding->armed.count == 0 || heap_next(&outstanding->armed) > scheduler_now)
        return false;
    struct outstanding_entry *entry = outstanding->armed.entries[0];
    assert(entry->tries == 0);
    heap_remove(entry);
    heap_add(&outstanding->sent, entry, INT64_MAX);
    sending(outstanding, entry, now);
    *ret_command =
        (struct outstanding_command){entry->order->order_id, entry->deadline, entry->token};
    return true;
}

void outstanding_forget(struct outstanding *outstanding, uint64_t token)
{
    struct outstanding_entry *entry = NULL;
    HASH_FIND(hh, outstanding->by_token, &token, sizeof(token), entry);
    if (entry != NULL)
        drop(outstanding, entry);
}

void outstanding_sent(struct outstanding *outstanding, uint64_t token, int64_t offset, int64_t now)
{
    struct outstanding_entry *entry = NULL;
    HASH_FIND(hh, outstanding->by_token, &token, sizeof(token), entry);
    if (entry == NULL || entry->next_at != INT64_MAX) /* it has its outcome, or it was early */
        return;
    assert(entry->tries > 0);
    entry->offset = offset;
    entry->asked_at = now;
    if (offset < 0)
        arrive(outstanding, entry);
    wait_longer(entry, now);
}

static bool is_read(const struct outstanding_entry *entry, int64_t now, int64_t next_command)
{
    return entry->offset >= 0 &&
           (entry->offset < next_command || now >= entry->asked_at + entry->unread_ms);
}

static void note_unread(struct outstanding_entry *entry, int64_t next_command)
{
    if (entry->offset < next_command)
        entry->unread_ms = REPEAT_UNREAD_MS;
    else if (entry->unread_ms < REPEAT_UNREAD_MS_MAX)
        entry->unread_ms *= 2;
    if (entry->unread_ms > REPEAT_UNREAD_MS_MAX)
        entry->unread_ms = REPEAT_UNREAD_MS_MAX;
}

uint32_t outstanding_on_their_way(struct outstanding *outstanding, int64_t now,
                                  int64_t next_command)
{
    bool is_reset = next_command < outstanding->next_command;
    outstanding->next_command = next_command;
    while (outstanding->on_their_way != NULL &&
           (is_reset || is_read(outstanding->on_their_way, now, next_command)))
        arrive(outstanding, outstanding->on_their_way);
    return outstanding->on_their_way_count;
}

bool outstanding_repeat(struct outstanding *outstanding, int64_t now, int64_t next_command,
                        struct outstanding_command *ret_command)
{
    const struct due_heap *sent = &outstanding->sent;
    while (sent->count > 0 && sent->entries[0]->next_at <= now) {
        struct outstanding_entry *entry = sent->entries[0];
        if (entry->offset >= 0 && !is_read(entry, now, next_command)) {
            /* It may be lost. The time grows, as the scheduler may just as well be away. */
            set_next(entry, entry->asked_at + entry->unread_ms);
        } else if (entry->tries >= REPEAT_TRIES && outstanding_is_full(outstanding)) {
            if (entry->deadline.due_at < outstanding->given_up)
                outstanding->given_up = entry->deadline.due_at;
            drop(outstanding, entry);
        } else {
            note_unread(entry, next_command);
            sending(outstanding, entry, now);
            assert(entry->tries > 1); /* the first time is outstanding_take_due() */
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

/* A Decision may come before the acknowledgement of its command. */
bool outstanding_was_asked(const struct outstanding *outstanding, struct text order_id,
                           const struct deadline *deadline, int64_t offset, int64_t *ret_sent_at)
{
    const struct outstanding_entry *entry = find(outstanding, order_id, deadline);
    assert(offset >= 0);
    if (entry == NULL || entry->tries == 0)
        return false;
    if (entry->offset != offset && (entry->offset >= 0 || entry->tries > 1))
        return false;
    *ret_sent_at = entry->sent_at;
    return true;
}

bool outstanding_postpone(struct outstanding *outstanding, struct text order_id,
                          const struct deadline *deadline, int64_t early_ms, int64_t now)
{
    struct outstanding_entry *entry = find(outstanding, order_id, deadline);
    if (entry == NULL)
        return false;
    if (entry->tries == 0) /* it will be requested when it is due */
        return true;
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
    arrive(outstanding, entry);
    entry->offset = -1;
    set_next(entry, now + early_ms);
    return true;
}

int64_t outstanding_take_given_up(struct outstanding *outstanding)
{
    int64_t due_at = outstanding->given_up;
    outstanding->given_up = INT64_MAX;
    return due_at;
}
