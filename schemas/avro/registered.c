/* SPDX-License-Identifier: Apache-2.0 */
/* See registered.h. */
#include "schemas/avro/registered.h"

#include "base/bytes.h"

#include <assert.h>
#include <stdlib.h>
#include <utlist.h>

enum { MAGIC = 0x00, SINGLE_OBJECT_BYTES = 10, BUCKETS = 1024 };

enum place {
    PLACE_WANTED,  /* to be asked for, the first that was needed first */
    PLACE_DOUBTED, /* unknown by one answer: to be asked for again, the first due first */
    PLACE_ASKED,
    PLACE_ANSWERED, /* the least recently used first */
    PLACE_COUNT
};

struct registered_id {
    struct registered_id *prev, *next; /* in its place */
    struct registered_id *chain;       /* in its bucket */
    uint32_t id;
    enum place place;
    bool doubted;     /* unknown by one answer */
    int64_t until_ms; /* DOUBTED: when it is due; ANSWERED: when a refusal ends */
    struct error why; /* ANSWERED: OK, or the refusal */
    uint64_t fingerprint;
};

struct registered {
    struct registered_id *buckets[BUCKETS];
    struct registered_id *places[PLACE_COUNT];
    uint32_t count;
    uint32_t asked; /* of them, not answered */
};

/* ---- framing ---- */

bool registered_peek(struct text bytes, uint32_t *ret_id)
{
    if (bytes.size < REGISTERED_FRAME_BYTES || bytes.data[0] != MAGIC)
        return false;
    *ret_id = (uint32_t)bytes_get_be(bytes.data + 1, 4);
    return true;
}

void registered_frame(struct buffer *buffer, size_t start, uint32_t id)
{
    uint8_t *at = buffer->data + start;
    assert(buffer->size - start >= SINGLE_OBJECT_BYTES);
    size_t body = buffer->size - start - SINGLE_OBJECT_BYTES;
    at[0] = MAGIC;
    bytes_put_be(at + 1, id, 4);
    memmove(at + REGISTERED_FRAME_BYTES, at + SINGLE_OBJECT_BYTES, body);
    buffer->size = start + REGISTERED_FRAME_BYTES + body;
}

/* ---- the table ---- */

struct registered *registered_new(void)
{
    struct registered *table = calloc(1, sizeof(*table));
    assert(table != NULL);
    return table;
}

void registered_free(struct registered *table)
{
    struct registered_id *entry;
    struct registered_id *next;
    if (table == NULL)
        return;
    for (int place = 0; place < PLACE_COUNT; place++)
        DL_FOREACH_SAFE(table->places[place], entry, next)
            free(entry);
    free(table);
}

static struct registered_id *find(const struct registered *table, uint32_t id)
{
    struct registered_id *entry = table->buckets[id % BUCKETS];
    while (entry != NULL && entry->id != id)
        entry = entry->chain;
    return entry;
}

static void move(struct registered *table, struct registered_id *entry, enum place place)
{
    table->asked += entry->place == PLACE_ANSWERED && place != PLACE_ANSWERED;
    table->asked -= entry->place != PLACE_ANSWERED && place == PLACE_ANSWERED;
    DL_DELETE(table->places[entry->place], entry);
    entry->place = place;
    DL_APPEND(table->places[place], entry);
    assert(table->asked <= table->count);
}

static void drop(struct registered *table, struct registered_id *entry)
{
    struct registered_id **at = &table->buckets[entry->id % BUCKETS];
    assert(entry->place == PLACE_ANSWERED);
    while (*at != entry)
        at = &(*at)->chain;
    *at = entry->chain;
    DL_DELETE(table->places[entry->place], entry);
    table->count--;
    free(entry);
}

static void want(struct registered *table, uint32_t id)
{
    _Static_assert(REGISTERED_ASKED_MAX < REGISTERED_MAX, "one that is answered can go");
    if (table->asked >= REGISTERED_ASKED_MAX)
        return;
    if (table->count == REGISTERED_MAX)
        drop(table, table->places[PLACE_ANSWERED]);
    struct registered_id *entry = calloc(1, sizeof(*entry));
    assert(entry != NULL);
    entry->id = id;
    entry->place = PLACE_WANTED;
    entry->chain = table->buckets[id % BUCKETS];
    table->buckets[id % BUCKETS] = entry;
    DL_APPEND(table->places[PLACE_WANTED], entry);
    table->count++;
    table->asked++;
}

enum error_class registered_find(struct registered *table, uint32_t id, int64_t now_ms,
                                 uint64_t *ret_fingerprint, struct error *ret_error)
{
    struct registered_id *entry = find(table, id);
    if (entry != NULL && error_is(&entry->why) && now_ms >= entry->until_ms)
        registered_ask_again(table, id);
    if (entry == NULL)
        want(table, id);
    if (entry == NULL || entry->place != PLACE_ANSWERED)
        return error_set(ret_error, CODE_NO_ANSWER,
                         "the schema registry has not answered what schema %u is", id);
    move(table, entry, PLACE_ANSWERED);
    if (error_is(&entry->why)) {
        if (ret_error != NULL)
            *ret_error = entry->why;
        return entry->why.class;
    }
    *ret_fingerprint = entry->fingerprint;
    return ERROR_OK;
}

bool registered_waits(const struct registered *table, uint32_t id)
{
    const struct registered_id *entry = find(table, id);
    return entry != NULL ? entry->place != PLACE_ANSWERED : table->asked >= REGISTERED_ASKED_MAX;
}

/* ---- asking ---- */

bool registered_next(struct registered *table, int64_t now_ms, uint32_t *ret_id)
{
    struct registered_id *entry = table->places[PLACE_DOUBTED];
    if (entry == NULL || now_ms < entry->until_ms)
        entry = table->places[PLACE_WANTED];
    if (entry == NULL)
        return false;
    move(table, entry, PLACE_ASKED);
    *ret_id = entry->id;
    return true;
}

int64_t registered_next_ms(const struct registered *table)
{
    if (table->places[PLACE_WANTED] != NULL)
        return INT64_MIN;
    return table->places[PLACE_DOUBTED] != NULL ? table->places[PLACE_DOUBTED]->until_ms
                                                : INT64_MAX;
}

uint32_t registered_asked(const struct registered *table)
{
    return table->asked;
}

/* ---- answers ---- */

static struct registered_id *answered(struct registered *table, uint32_t id)
{
    struct registered_id *entry = find(table, id);
    assert(entry != NULL && entry->place == PLACE_ASKED);
    move(table, entry, PLACE_ANSWERED);
    return entry;
}

void registered_known(struct registered *table, uint32_t id, uint64_t fingerprint)
{
    struct registered_id *entry = answered(table, id);
    entry->why = (struct error){.class = ERROR_OK};
    entry->fingerprint = fingerprint;
}

void registered_refuse(struct registered *table, uint32_t id, int64_t now_ms,
                       const struct error *why)
{
    struct registered_id *entry = answered(table, id);
    assert(error_is(why));
    entry->why = *why;
    entry->until_ms = now_ms + REGISTERED_REFUSED_MS;
}

void registered_unknown(struct registered *table, uint32_t id, int64_t now_ms)
{
    struct error why;
    struct registered_id *entry = find(table, id);
    assert(entry != NULL && entry->place == PLACE_ASKED);
    if (!entry->doubted) {
        entry->doubted = true;
        entry->until_ms = now_ms + REGISTERED_DOUBT_MS;
        move(table, entry, PLACE_DOUBTED);
        return;
    }
    error_set(&why, CODE_UNKNOWN_SCHEMA, "the schema registry has no schema %u", id);
    registered_refuse(table, id, now_ms, &why);
}

void registered_ask_again(struct registered *table, uint32_t id)
{
    struct registered_id *entry = find(table, id);
    if (entry == NULL || entry->place == PLACE_WANTED || entry->place == PLACE_DOUBTED)
        return;
    entry->doubted = false;
    entry->why = (struct error){.class = ERROR_OK};
    move(table, entry, PLACE_WANTED);
}
