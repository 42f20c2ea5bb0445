/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of a writer whose schema the agent has learned, and has forgotten for others. */
#include "base/bytes.h"
#include "schemas/avro/codec.h"
#include "schemas/avro/schema.h"
#include "tests/lib/site.h"
#include "tests/unit/agent/world.h"

#include <criterion/criterion.h>

enum {
    SOON = 1000000 + 60000,
    LARGE = 59 * 1024,
    OTHERS = CODEC_LEARNED_BYTES_MAX / LARGE + 20,
    FRAME_BYTES = 10
};

/* Our own with one more field, which takes no bytes; returns its fingerprint. */
static uint64_t publish_schema(struct world *world, enum record_kind kind, int number)
{
    static char avsc[LARGE + 1];
    const struct avro_type *type = NULL;
    struct heap_arena heap;
    struct error error;
    struct text own = codec_schema(kind);
    const char *end = own.data + own.size - 1;
    while (*end != ']')
        end--;
    int used = snprintf(avsc, sizeof(avsc),
                        "%.*s, {\"name\": \"n%d\", \"type\": \"null\"}], \"about\": \"",
                        (int)(end - own.data), own.data, number);
    cr_assert_lt(used, LARGE - 2);
    memset(avsc + used, 'x', (size_t)(LARGE - 2 - used));
    memcpy(avsc + LARGE - 2, "\"}", 2);
    struct text text = {avsc, LARGE};
    heap_arena_init(&heap, 64 * 1024);
    cr_assert_eq(avro_schema_parse(text, &heap.arena, &type, &error), ERROR_OK);
    uint64_t fingerprint = avro_schema_fingerprint(type, &heap.arena);
    heap_arena_deinit(&heap);
    broker_memory_append(world->kafka, "t.schemas", 0, TEXT("other"), text);
    world_settle(world);
    return fingerprint;
}

static void append_framed(struct world *world, const char *key, uint64_t fingerprint,
                          struct text body)
{
    char bytes[1024] = "\xc3\x01";
    cr_assert_leq(body.size, sizeof(bytes) - FRAME_BYTES);
    bytes_put_le(bytes + 2, fingerprint, 8);
    memcpy(bytes + FRAME_BYTES, body.data, body.size);
    broker_memory_append(world->kafka, WORLD_REQUESTS, world_partition(key), text_of(key),
                         (struct text){bytes, FRAME_BYTES + body.size});
    world_settle(world);
}

/* The body of the latest request of the order "Q", turned into one of the order "R". */
static struct text body_of_r(const struct world *world)
{
    static char body[1024];
    struct broker_record record;
    int64_t end = site_end(world->kafka, WORLD_REQUESTS, world_partition("Q"));
    cr_assert(
        broker_memory_record(world->kafka, WORLD_REQUESTS, world_partition("Q"), end - 1, &record));
    uint32_t size = record.value.size - FRAME_BYTES;
    cr_assert_leq(size, sizeof(body));
    for (uint32_t i = 0; i < size; i++) {
        char at = record.value.data[FRAME_BYTES + i];
        body[i] = at == 'Q' ? 'R' : at;
    }
    return (struct text){body, size};
}

Test(agent_schemas, reads_a_queued_request_again_when_its_schema_was_forgotten)
{
    static const char *const settings[] = {"agent.in.flight.max", "1", NULL};
    static const char guard[16 + 1];
    struct world *world = world_new(1);
    struct instance *instance = world_add(world, settings);
    world_rebalance(world);
    uint64_t writer = publish_schema(world, RECORD_STEP_REQUEST, 0);
    world_request(world, "Q", DIRECTION_DO, 1, SOON); /* it takes all the capacity */
    append_framed(world, "R", writer, body_of_r(world));
    cr_assert_eq(agent_queued(instance->agent), 1);
    for (int i = 1; i <= OTHERS; i++)
        append_framed(world, "X", publish_schema(world, RECORD_COMMAND_GUARD, i),
                      (struct text){guard, sizeof(guard)});
    cr_assert_eq(world_count(world, "t.dead-letters"), OTHERS, "all are used");
    cr_assert_eq(agent_queued(instance->agent), 1);
    world_succeed(instance, "");
    cr_assert_eq(agent_queued(instance->agent), 0);
    cr_assert_eq(instance->call_count, 0, "its schema is not known any more");
    world_advance(world, 5000);
    cr_assert_eq(instance->call_count, 1);
    world_succeed(instance, "");
    world_advance(world, 1000);
    cr_assert_eq(world_committed(instance, "R"),
                 site_end(world->kafka, WORLD_REQUESTS, world_partition("R")));
    cr_assert_eq(world_count(world, "t.dead-letters"), OTHERS);
    world_free(world);
}
