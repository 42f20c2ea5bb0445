/* SPDX-License-Identifier: Apache-2.0 */
/* See learned.h. */
#include "schemas/avro/learned.h"

#include "schemas/avro/codec.h"

#include <assert.h>
#include <stdlib.h>
#include <utlist.h>

static struct known_schema **bucket_of(const struct learned *learned, uint64_t fingerprint)
{
    return (struct known_schema **)&learned->buckets[fingerprint % LEARNED_BUCKETS];
}

static struct known_schema *find(const struct learned *learned, uint64_t fingerprint)
{
    struct known_schema *known = *bucket_of(learned, fingerprint);
    while (known != NULL && known->fingerprint != fingerprint)
        known = known->chain;
    return known;
}

static void put(struct learned *learned, struct known_schema *known, enum learned_place place)
{
    known->place = place;
    DL_APPEND(learned->lists[place], known);
}

static void move(struct learned *learned, struct known_schema *known, enum learned_place place)
{
    DL_DELETE(learned->lists[known->place], known);
    put(learned, known, place);
}

static void count_again(struct learned *learned, struct known_schema *known)
{
    learned->bytes -= known->counted;
    known->counted = known->text.size + known->memory.allocated;
    learned->bytes += known->counted;
}

/* But for its fingerprint. */
static void forget(struct learned *learned, struct known_schema *known)
{
    assert(known->place != LEARNED_FORGOTTEN);
    free((char *)(uintptr_t)known->text.data);
    known->text = (struct text){0};
    known->plan = known->sender = NULL;
    heap_arena_deinit(&known->memory);
    heap_arena_init(&known->memory, AVRO_PLAN_BLOCK_BYTES);
    count_again(learned, known);
    assert(known->counted == 0);
    move(learned, known, LEARNED_FORGOTTEN);
}

static void drop(struct learned *learned, struct known_schema *known)
{
    struct known_schema **at = bucket_of(learned, known->fingerprint);
    while (*at != known)
        at = &(*at)->chain;
    *at = known->chain;
    DL_DELETE(learned->lists[known->place], known);
    learned->bytes -= known->counted;
    learned->count--;
    heap_arena_deinit(&known->memory);
    free((char *)(uintptr_t)known->text.data);
    free(known);
}

/* The next one to go that is not `kept`; NULL: none is left. */
static struct known_schema *victim(const struct learned *learned, const struct known_schema *kept)
{
    for (int place = LEARNED_UNUSED; place < LEARNED_FORGOTTEN; place++) {
        struct known_schema *first = learned->lists[place];
        if (first == kept && first != NULL)
            first = first->next;
        if (first != NULL)
            return first;
    }
    return NULL;
}

/* Makes room, but not by what `kept` holds. */
static void make_room(struct learned *learned, const struct known_schema *kept)
{
    struct known_schema *known;
    while (learned->bytes > CODEC_LEARNED_BYTES_MAX && (known = victim(learned, kept)) != NULL)
        forget(learned, known);
    while (learned->count > CODEC_LEARNED_MAX) {
        known = learned->lists[LEARNED_FORGOTTEN];
        known = known != NULL ? known : victim(learned, kept);
        assert(known != NULL && known != kept);
        drop(learned, known);
    }
}

void learned_deinit(struct learned *learned)
{
    for (int place = 0; place < LEARNED_PLACE_COUNT; place++)
        while (learned->lists[place] != NULL)
            drop(learned, learned->lists[place]);
    assert(learned->count == 0 && learned->bytes == 0);
}

bool learned_wants(const struct learned *learned, uint64_t fingerprint)
{
    const struct known_schema *known = find(learned, fingerprint);
    return known == NULL || known->wanted;
}

void learned_add(struct learned *learned, uint64_t fingerprint, enum record_kind kind,
                 struct text avsc)
{
    struct known_schema *known = find(learned, fingerprint);
    assert(learned_wants(learned, fingerprint));
    if (known == NULL) {
        known = calloc(1, sizeof(*known));
        assert(known != NULL);
        *known = (struct known_schema){.fingerprint = fingerprint, .kind = kind};
        heap_arena_init(&known->memory, AVRO_PLAN_BLOCK_BYTES);
        known->chain = *bucket_of(learned, fingerprint);
        *bucket_of(learned, fingerprint) = known;
        learned->count++;
        put(learned, known, LEARNED_UNUSED);
    } else {
        move(learned, known, LEARNED_USED); /* what is wanted is not the first to go */
    }
    char *text = malloc(avsc.size);
    assert(text != NULL);
    memcpy(text, avsc.data, avsc.size);
    known->text = (struct text){text, avsc.size};
    known->wanted = false;
    count_again(learned, known);
    make_room(learned, known);
}

bool learned_knows(const struct learned *learned, uint64_t fingerprint)
{
    const struct known_schema *known = find(learned, fingerprint);
    return known != NULL && known->place != LEARNED_FORGOTTEN;
}

struct known_schema *learned_use(struct learned *learned, uint64_t fingerprint)
{
    struct known_schema *known = find(learned, fingerprint);
    if (known != NULL && known->place == LEARNED_FORGOTTEN) {
        known->wanted = learned->missed = true;
        return NULL;
    }
    if (known != NULL)
        move(learned, known, LEARNED_USED);
    return known;
}

void learned_compiled(struct learned *learned, struct known_schema *known)
{
    assert(known->plan != NULL);
    count_again(learned, known);
    make_room(learned, known);
}
