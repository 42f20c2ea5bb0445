/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/property/ownership_bytes.h"

#include "tests/lib/site.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { NOISE_MAX = 300, FRAME_BYTES = 10, LARGE_PERCENT = 2 };

enum strange {
    STRANGE_NOISE,
    STRANGE_EMPTY,
    STRANGE_TOMBSTONE,
    STRANGE_CUT,            /* the end of a command is missing */
    STRANGE_LONGER,         /* bytes follow it */
    STRANGE_FLIPPED,        /* a bit of it is wrong */
    STRANGE_UNKNOWN_SCHEMA, /* our framing, and a fingerprint without a schema */
    STRANGE_NO_COMMAND,     /* a record of another topic */
    STRANGE_KEY,            /* of another order, empty, or with a NUL */
    STRANGE_PARTITION,      /* not the order's */
    STRANGE_ORDER_ID,       /* empty, or with control characters */
    STRANGE_REPLY_TO,       /* the log itself, for instance */
    STRANGE_LARGE,          /* up to what the topic takes */
    STRANGE_COUNT
};

/* The dice of the faults, so that old seeds keep their histories. */
static uint32_t roll(struct world *world, uint32_t n)
{
    return dice_roll(&world->chaos.dice, n);
}

static struct text noise(struct world *world, uint32_t size)
{
    char *bytes = arena_bytes(&world->scratch.arena, size + 1);
    for (uint32_t i = 0; i < size; i++)
        bytes[i] = (char)dice_next(&world->chaos.dice);
    return (struct text){bytes, size};
}

static struct text encoded(struct world *world, enum record_kind kind, const void *record)
{
    world->bytes.size = 0;
    codec_encode(world->run->codec, kind, record, &world->bytes);
    char *bytes = arena_bytes(&world->scratch.arena, (uint32_t)world->bytes.size + NOISE_MAX);
    memcpy(bytes, world->bytes.data, world->bytes.size);
    return (struct text){bytes, (uint32_t)world->bytes.size};
}

static struct text cancel_of(struct world *world, struct text order_id)
{
    struct command cmd = {.kind = COMMAND_CANCEL_ORDER, .order_id = order_id};
    cmd.cancel_order = (struct cancel_order){.order_id = order_id,
                                             .by = TEXT("bytes"),
                                             .reason = TEXT("strange"),
                                             .reply_to = TEXT("p.replies.app")};
    return encoded(world, RECORD_CANCEL_ORDER, &cmd);
}

/* The encoder takes only what is valid: the strange text takes the place of one as long. */
static struct text placeholder(struct world *world, uint32_t size)
{
    char *bytes = arena_bytes(&world->scratch.arena, size + 1);
    memset(bytes, 'X', size);
    return (struct text){bytes, size};
}

static void replace(struct text record, struct text from, struct text to)
{
    char *at = (char *)record.data;
    const char *end = at + record.size;
    while (from.size > 0 && (at = memmem(at, (size_t)(end - at), from.data, from.size)) != NULL)
        memcpy(at, to.data, to.size);
}

/* A submission of an order that no other actor knows. */
static struct text submission_of(struct world *world, struct text order_id, struct text reply_to)
{
    struct command cmd = site_submission(order_id, world->workflow->name, world->workflow->version);
    cmd.submit_order.reply_to = reply_to;
    return encoded(world, RECORD_SUBMIT_ORDER, &cmd);
}

static struct text status(struct world *world, struct text order_id)
{
    struct status_update update = {.order_id = order_id, .kind = STATUS_RECEIVED};
    return encoded(world, RECORD_STATUS_UPDATE, &update);
}

static const struct text strange_ids[] = {
    {"", 0}, {"a\0b", 3}, {"a/b", 3}, {"a\x1b[2J", 5}, {"\xff\xfe", 2}};
static const struct text strange_replies[] = {{"p.events", 8}, {"p.commands", 10}, {"", 0},
                                              {"nowhere", 7},  {"p.replies.", 10}, {"a\0b", 3}};

static struct text one_of(struct world *world, const struct text *texts, size_t count)
{
    return texts[roll(world, (uint32_t)count)];
}

static void put(struct world *world, int32_t partition, struct text key, struct text value)
{
    broker_memory_append(world->kafka, "p.commands", partition, key, value);
}

/* What has the shape of a command, and is not one, or not there. */
static void put_command(struct world *world, enum strange strange, struct text id)
{
    struct text value = cancel_of(world, id);
    int32_t partition = partition_of(world, id);
    struct text key = id;
    char *bytes = (char *)value.data;
    if (strange == STRANGE_CUT)
        value.size -= 1 + roll(world, value.size - 1);
    else if (strange == STRANGE_LONGER)
        value.size += 1 + roll(world, NOISE_MAX - 1);
    else if (strange == STRANGE_FLIPPED)
        bytes[roll(world, value.size)] ^= (char)(1U << roll(world, 8));
    else if (strange == STRANGE_UNKNOWN_SCHEMA)
        bytes[2 + roll(world, FRAME_BYTES - 2)] ^= (char)(1 + roll(world, 255));
    else if (strange == STRANGE_KEY)
        key = one_of(world, strange_ids, sizeof(strange_ids) / sizeof(strange_ids[0]));
    else if (strange == STRANGE_PARTITION)
        partition = (int32_t)roll(world, (uint32_t)world->partitions);
    put(world, partition, key, value);
}

/* Texts in it are nothing that the front door would let in. */
static void put_invalid(struct world *world, enum strange strange, struct text id)
{
    struct text reply = TEXT("p.replies.app");
    if (strange == STRANGE_ORDER_ID)
        id = roll(world, 4) == 0
                 ? noise(world, ORDER_ID_BYTES_MAX)
                 : one_of(world, strange_ids, sizeof(strange_ids) / sizeof(strange_ids[0]));
    else
        reply =
            one_of(world, strange_replies, sizeof(strange_replies) / sizeof(strange_replies[0]));
    struct text shape = placeholder(world, id.size);
    struct text value = submission_of(world, shape, reply);
    replace(value, shape, id);
    put(world, partition_of(world, id), id, value);
}

static void put_large(struct world *world, struct text id)
{
    uint32_t size = INPUT_BYTES_MAX - 100 + roll(world, RECORD_BYTES_MAX - INPUT_BYTES_MAX);
    char *bytes = calloc(1, size);
    assert(bytes != NULL);
    if (roll(world, 2) == 0)
        memcpy(bytes, cancel_of(world, id).data, FRAME_BYTES);
    put(world, partition_of(world, id), id, (struct text){bytes, size});
    free(bytes);
}

void bytes_act(struct world *world)
{
    heap_arena_reset(&world->scratch);
    struct text id = order_name(world, roll(world, 6));
    enum strange strange = (enum strange)roll(world, STRANGE_LARGE);
    if (dice_percent(&world->chaos.dice, LARGE_PERCENT))
        strange = STRANGE_LARGE;
    world_count(world, SOMETIMES_STRANGE_COMMAND);
    switch (strange) {
    case STRANGE_NOISE:
        put(world, partition_of(world, id), noise(world, roll(world, 20)),
            noise(world, roll(world, NOISE_MAX)));
        break;
    case STRANGE_EMPTY:
        put(world, partition_of(world, id), id, TEXT(""));
        break;
    case STRANGE_TOMBSTONE:
        put(world, partition_of(world, id), id, (struct text){0});
        break;
    case STRANGE_NO_COMMAND:
        put(world, partition_of(world, id), id, status(world, id));
        break;
    case STRANGE_CUT:
    case STRANGE_LONGER:
    case STRANGE_FLIPPED:
    case STRANGE_UNKNOWN_SCHEMA:
    case STRANGE_KEY:
    case STRANGE_PARTITION:
        put_command(world, strange, id);
        break;
    case STRANGE_ORDER_ID:
    case STRANGE_REPLY_TO:
        put_invalid(world, strange, id);
        break;
    case STRANGE_LARGE:
        put_large(world, id);
        break;
    case STRANGE_COUNT:
        break;
    }
}
