/* SPDX-License-Identifier: Apache-2.0 */
/* What the schemas of other writers cost, which of them are kept, and how the others come back. */
#include "schemas/avro/schema.h"
#include "tests/unit/schemas/kit.h"

#include <criterion/criterion.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

TestSuite(schemas_learned);

static struct kit kit;

static size_t allocated(void)
{
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

/* The schema of an Attempt with fields of its own before the end of the fields; malloc'ed. */
static struct text attempt_with(const char *fields, size_t size_min)
{
    struct text own = codec_schema(RECORD_COMMAND_GUARD);
    size_t size = own.size + strlen(fields) + size_min + 64;
    char *avsc = malloc(size);
    cr_assert_not_null(avsc);
    const char *end = own.data + own.size - 1;
    while (*end != ']')
        end--;
    int head = (int)(end - own.data);
    int used = snprintf(avsc, size, "%.*s%s], \"about\": \"", head, own.data, fields);
    size_t fill = size_min > (size_t)used ? size_min - (size_t)used : 0;
    memset(avsc + used, 'x', fill);
    memcpy(avsc + used + fill, "\"}", 3);
    return text_of(avsc);
}

/* Small texts, with a record of 40 fields that 95 fields have as their type. */
static struct text big_schema(int number)
{
    static char fields[64 * 1024];
    int at = snprintf(fields, sizeof(fields),
                      ", {\"name\": \"a\", \"type\": {\"type\": \"record\", \"name\": \"R%d\", "
                      "\"fields\": [",
                      number);
    for (int i = 0; i < 40; i++)
        at += snprintf(fields + at, sizeof(fields) - (size_t)at,
                       "%s{\"name\": \"f%d\", \"type\": [\"null\", \"string\", \"long\"]}",
                       i > 0 ? ", " : "", i);
    at += snprintf(fields + at, sizeof(fields) - (size_t)at, "]}}");
    for (int i = 0; i < 95; i++)
        at += snprintf(fields + at, sizeof(fields) - (size_t)at,
                       ", {\"name\": \"b%d\", \"type\": \"R%d\"}", i, number);
    return attempt_with(fields, 0);
}

static struct text numbered(int number, size_t size)
{
    char fields[128];
    snprintf(fields, sizeof(fields), ", {\"name\": \"n%d\", \"type\": \"null\"}", number);
    return attempt_with(fields, size);
}

static uint64_t fingerprint_of(struct text avsc)
{
    const struct avro_type *type = NULL;
    heap_arena_reset(&kit.memory);
    cr_assert_eq(avro_schema_parse(avsc, &kit.memory.arena, &type, &kit.error), ERROR_OK);
    return avro_schema_fingerprint(type, &kit.memory.arena);
}

static void learn_another(struct text avsc)
{
    cr_assert_eq(codec_learn(kit.codec, avsc, NULL, &kit.error), ERROR_OK, "%s", kit.error.message);
    free((char *)(uintptr_t)avsc.data);
}

static uint64_t learn(struct text avsc)
{
    uint64_t fingerprint = fingerprint_of(avsc);
    cr_assert_eq(codec_learn(kit.codec, avsc, NULL, &kit.error), ERROR_OK, "%s", kit.error.message);
    free((char *)(uintptr_t)avsc.data);
    return fingerprint;
}

/* An Attempt, then N zeros. */
static enum error_class use(uint64_t fingerprint, uint32_t zeros)
{
    struct buffer bytes = {0};
    put_marker(&bytes, fingerprint);
    put_bytes(&bytes, "0123456789abcdef", 16);
    put_long(&bytes, 5);
    for (uint32_t i = 0; i < zeros; i++)
        put_long(&bytes, 0);
    enum error_class class = kit_decode(&kit, text_of_buffer(&bytes));
    buffer_deinit(&bytes);
    return class;
}

Test(schemas_learned, keeps_100_schemas_in_a_few_megabytes)
{
    enum { SCHEMAS = 100, MIB = 1024 * 1024 };
    kit_init(&kit);
    uint64_t fingerprints[SCHEMAS];
    learn(big_schema(SCHEMAS)); /* what is needed once */
    size_t before = allocated();
    for (int i = 0; i < SCHEMAS; i++)
        fingerprints[i] = learn(big_schema(i));
    cr_assert_lt(allocated() - before, 2 * MIB, "%zu bytes learned", allocated() - before);
    for (int i = 0; i < SCHEMAS; i++)
        cr_assert_eq(use(fingerprints[i], 40 * 96), ERROR_OK, "%s", kit.error.message);
    cr_assert_lt(allocated() - before, 10 * MIB, "%zu bytes used", allocated() - before);
    kit_deinit(&kit);
}

Test(schemas_learned, learns_a_newer_schema_after_thousands_of_others)
{
    kit_init(&kit);
    for (int i = 0; i < CODEC_LEARNED_MAX + 10; i++)
        learn_another(numbered(i, 0));
    cr_assert_eq(use(learn(numbered(CODEC_LEARNED_MAX + 10, 0)), 0), ERROR_OK, "%s",
                 kit.error.message);
    kit_deinit(&kit);
}

Test(schemas_learned, keeps_what_is_used_and_brings_back_what_had_to_go)
{
    enum { LARGE = 60 * 1024, OTHERS = CODEC_LEARNED_BYTES_MAX / LARGE + 10 };
    kit_init(&kit);
    uint64_t used = learn(numbered(0, 0));
    uint64_t unused = learn(numbered(1, LARGE));
    cr_assert_eq(use(used, 0), ERROR_OK);
    size_t before = allocated();
    for (int i = 2; i < OTHERS; i++)
        learn_another(numbered(i, LARGE));
    cr_assert_lt(allocated() - before, CODEC_LEARNED_BYTES_MAX + CODEC_LEARNED_BYTES_MAX / 4);
    cr_assert_eq(use(used, 0), ERROR_OK);
    cr_assert_not(codec_misses(kit.codec));
    cr_assert_not(codec_knows(kit.codec, unused));
    cr_assert_eq(use(unused, 0), ERROR_REJECT);
    cr_assert_eq(kit.error.code, CODE_UNKNOWN_SCHEMA);
    cr_assert(codec_misses(kit.codec));
    cr_assert_not(codec_misses(kit.codec), "since the last call");
    /* The topic is read again, from its beginning. */
    for (int i = 0; i < OTHERS; i++)
        learn_another(numbered(i, i == 0 ? 0 : LARGE));
    cr_assert_eq(use(unused, 0), ERROR_OK, "%s", kit.error.message);
    cr_assert_eq(use(used, 0), ERROR_OK);
    cr_assert_eq(use(~used, 0), ERROR_REJECT);
    cr_assert_not(codec_misses(kit.codec), "one that was never there");
    kit_deinit(&kit);
}

Test(schemas_learned, forgets_what_was_used_least_recently_when_all_are_used)
{
    enum { LARGE = 60 * 1024, OTHERS = CODEC_LEARNED_BYTES_MAX / LARGE + 10 };
    kit_init(&kit);
    uint64_t often = learn(numbered(0, LARGE));
    uint64_t once = learn(numbered(1, LARGE));
    cr_assert_eq(use(often, 0), ERROR_OK);
    cr_assert_eq(use(once, 0), ERROR_OK);
    for (int i = 2; i < OTHERS; i++) {
        cr_assert_eq(use(learn(numbered(i, LARGE)), 0), ERROR_OK);
        cr_assert_eq(use(often, 0), ERROR_OK);
    }
    cr_assert(codec_knows(kit.codec, often));
    cr_assert_not(codec_knows(kit.codec, once));
    kit_deinit(&kit);
}

/* Each branch of a union in place of a known field has a plan of its own for what is known. */
Test(schemas_learned, refuses_a_small_schema_that_makes_a_large_plan)
{
    static char fields[64 * 1024];
    struct text own = codec_schema(RECORD_STATUS_UPDATE);
    const char *piece = "\"items\": {\"type\": \"record\"";
    cr_assert_not_null(strstr(own.data, piece));
    kit_init(&kit);
    int at = snprintf(fields, sizeof(fields),
                      "{\"type\": \"record\", \"name\": \"Statement\", \"fields\": ["
                      "{\"name\": \"n\", \"type\": {\"type\": \"record\", \"name\": \"N\", "
                      "\"fields\": [");
    for (int i = 0; i < 300; i++)
        at += snprintf(fields + at, sizeof(fields) - (size_t)at,
                       "%s{\"name\": \"z%d\", \"type\": \"null\"}, {\"name\": \"i%d\", \"type\": "
                       "\"int\"}",
                       i > 0 ? ", " : "", i, i);
    at += snprintf(fields + at, sizeof(fields) - (size_t)at,
                   "]}}, {\"name\": \"order\", \"type\": [");
    for (int i = 0; i < 100; i++)
        at += snprintf(fields + at, sizeof(fields) - (size_t)at,
                       "%s{\"type\": \"record\", \"name\": \"O%d\", \"fields\": [{\"name\": "
                       "\"details\", \"type\": \"N\"}]}",
                       i > 0 ? ", " : "", i);
    snprintf(fields + at, sizeof(fields) - (size_t)at, "]}]}");
    size_t before = allocated();
    cr_assert_eq(codec_learn(kit.codec, text_of(fields), NULL, &kit.error), ERROR_REJECT);
    cr_assert_lt(allocated() - before, 4 * 1024 * 1024);
    kit_deinit(&kit);
}
