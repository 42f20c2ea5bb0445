/* SPDX-License-Identifier: Apache-2.0 */
/* Parsing Canonical Form, fingerprints, and the .avsc files themselves. */
#include "schemas/avro/schema.h"
#include "schemas/avro/schema_texts.h"
#include "schemas/binding.h"
#include "tests/unit/schemas/fixture.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

TestSuite(schemas_schema, .init = open_kit, .fini = close_kit);

struct form {
    const char *schema;
    const char *canonical;
};

/* From the specification and its test data. */
static const struct form forms[] = {
    {"\"null\"", "\"null\""},
    {"{\"type\":\"long\",\"logicalType\":\"timestamp-millis\"}", "\"long\""},
    {"[ \"int\", \"boolean\" ]", "[\"int\",\"boolean\"]"},
    {"{\"fields\":[], \"type\":\"record\", \"name\":\"foo\", \"namespace\":\"x.y\"}",
     "{\"name\":\"x.y.foo\",\"type\":\"record\",\"fields\":[]}"},
    {"{\"type\":\"record\", \"name\":\"a.b.foo\", \"namespace\":\"x.y\", \"fields\":[]}",
     "{\"name\":\"a.b.foo\",\"type\":\"record\",\"fields\":[]}"},
    {"{\"type\":\"record\", \"name\":\"foo\", \"doc\":\"Useful info\", "
     "\"fields\":[{\"name\":\"f1\", "
     "\"type\":\"boolean\", \"default\":true, \"aliases\":[\"x\"]}]}",
     "{\"name\":\"foo\",\"type\":\"record\",\"fields\":[{\"name\":\"f1\",\"type\":\"boolean\"}]}"},
    {"{\"symbols\":[\"A1\",\"B\"], \"type\":\"enum\", \"name\":\"x.foo\", \"default\":\"B\"}",
     "{\"name\":\"x.foo\",\"type\":\"enum\",\"symbols\":[\"A1\",\"B\"]}"},
    {"{\"size\":15, \"name\":\"foo\", \"type\":\"fixed\"}",
     "{\"name\":\"foo\",\"type\":\"fixed\",\"size\":15}"},
    {"{\"items\":{\"values\":\"bytes\", \"type\":\"map\"}, \"type\":\"array\"}",
     "{\"type\":\"array\",\"items\":{\"type\":\"map\",\"values\":\"bytes\"}}"},
    /* A type is defined once; inherited namespaces are spelled out. */
    {"{\"type\":\"record\",\"name\":\"R\",\"namespace\":\"n\",\"fields\":[{\"name\":\"a\",\"type\":"
     "{\"type\":\"fixed\",\"name\":\"F\",\"size\":2}},{\"name\":\"b\",\"type\":\"F\"},{\"name\":"
     "\"c\","
     "\"type\":[\"null\",\"n.F\"]}]}",
     "{\"name\":\"n.R\",\"type\":\"record\",\"fields\":[{\"name\":\"a\",\"type\":{\"name\":\"n.F\","
     "\"type\":\"fixed\",\"size\":2}},{\"name\":\"b\",\"type\":\"n.F\"},{\"name\":\"c\",\"type\":"
     "[\"null\",\"n.F\"]}]}"},
};

Test(schemas_schema, computes_canonical_forms_as_specified)
{
    for (uint32_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        const struct avro_type *type = NULL;
        cr_assert_eq(
            avro_schema_parse(text_of(forms[i].schema), &kit.memory.arena, &type, &kit.error),
            ERROR_OK, "%s: %s", forms[i].schema, kit.error.message);
        struct text canonical = avro_schema_canonical(type, &kit.memory.arena);
        cr_assert(text_equal(canonical, text_of(forms[i].canonical)), "%.*s instead of %s",
                  TEXT_ARG(canonical), forms[i].canonical);
        /* A canonical form is its own canonical form. */
        const struct avro_type *again = NULL;
        cr_assert_eq(avro_schema_parse(canonical, &kit.memory.arena, &again, &kit.error), ERROR_OK);
        cr_assert_eq(avro_schema_fingerprint(again, &kit.memory.arena),
                     avro_schema_fingerprint(type, &kit.memory.arena));
    }
}

/* schema-tests.txt of Avro. */
/* Each part is short enough; the canonical form has them in one. */
Test(schemas_schema, refuses_a_full_name_that_is_too_long)
{
    char part[129];
    char schema[512];
    const struct avro_type *type = NULL;
    memset(part, 'a', sizeof(part) - 1);
    part[sizeof(part) - 1] = '\0';
    snprintf(schema, sizeof(schema),
             "{\"type\":\"record\",\"name\":\"%s\",\"namespace\":\"%s\",\"fields\":[]}", part,
             part);
    cr_expect_eq(avro_schema_parse(text_of(schema), &kit.memory.arena, &type, &kit.error),
                 ERROR_REJECT);
    cr_expect_eq(kit.error.code, CODE_BAD_SCHEMA);
}

Test(schemas_schema, computes_fingerprints_as_specified)
{
    cr_assert_eq((int64_t)avro_crc64(TEXT("\"null\"")), INT64_C(7195948357588979594));
    cr_assert_eq((int64_t)avro_crc64(TEXT("\"boolean\"")), INT64_C(-6970731678124411036));
    cr_assert_eq((int64_t)avro_crc64(TEXT("\"int\"")), INT64_C(8247732601305521295));
    cr_assert_eq((int64_t)avro_crc64(TEXT("\"long\"")), INT64_C(-3434872931120570953));
    cr_assert_eq(avro_crc64(TEXT("")), UINT64_C(0xc15d213aa4d7a795));
}

Test(schemas_schema, has_a_schema_for_every_kind)
{
    cr_assert_eq(schema_text_count, RECORD_KIND_COUNT - 1);
    for (int i = RECORD_SUBMIT_ORDER; i < RECORD_KIND_COUNT; i++) {
        enum record_kind kind = (enum record_kind)i;
        struct text text = codec_schema(kind);
        const struct avro_type *type = NULL;
        cr_assert_eq(avro_schema_parse(text, &kit.memory.arena, &type, &kit.error), ERROR_OK);
        cr_assert_eq(strncmp(type->name, "reeve.", 6), 0);
        cr_assert_str_eq(avro_short_name(type->name), record_kind_name(kind));
        uint64_t fingerprint = codec_fingerprint(kit.codec, kind);
        cr_assert_eq(avro_schema_fingerprint(type, &kit.memory.arena), fingerprint);
        cr_assert(codec_knows(kit.codec, fingerprint));
        cr_assert_eq(codec_learn(kit.codec, text, NULL, &kit.error), ERROR_OK);
        struct text golden = kit_golden(&kit, record_kind_name(kind));
        uint64_t theirs;
        cr_assert(codec_peek(golden, &theirs));
        cr_assert_eq(theirs, fingerprint, "%s", record_kind_name(kind));
    }
}

static void assert_has_symbols(const struct avro_type *type, const struct record_binding *binding);

/* The field's own type, or that of the elements of a list. */
static void assert_field_has_symbols(const struct avro_type *type,
                                     const struct field_binding *field)
{
    bool events = field->kind == FIELD_EVENTS;
    while (type->kind == AVRO_KIND_ARRAY || (type->kind == AVRO_KIND_UNION && !events))
        type = type->members[type->count - 1];
    for (uint32_t i = 0; events && i < type->count; i++)
        assert_has_symbols(type->members[i],
                           event_binding(event_kind_of(avro_short_name(type->members[i]->name))));
    if (!events && field->sub != NULL)
        assert_has_symbols(type, field->sub);
    for (uint32_t i = 0; field->kind == FIELD_ENUM && i < field->symbols->count; i++) {
        uint32_t found = 0;
        while (found < type->count && strcmp(type->symbols[found], field->symbols->names[i]) != 0)
            found++;
        cr_assert_lt(found, type->count, "%s has no symbol %s", type->name,
                     field->symbols->names[i]);
    }
}

static void assert_has_symbols(const struct avro_type *type, const struct record_binding *binding)
{
    cr_assert_eq(type->kind, AVRO_KIND_RECORD);
    for (uint32_t i = 0; i < binding->count; i++) {
        const struct field_binding *field = &binding->fields[i];
        uint32_t at = 0;
        while (at < type->count && strcmp(type->fields[at].name, field->name) != 0)
            at++;
        if (at < type->count)
            assert_field_has_symbols(type->fields[at].type, field);
    }
}

/* A value without a symbol could not be written: that of a new command is in Decision.avsc. */
Test(schemas_schema, has_a_symbol_for_every_value_of_an_enum)
{
    for (int i = 1; i < RECORD_KIND_COUNT; i++) {
        const struct avro_type *type = NULL;
        cr_assert_eq(avro_schema_parse(codec_schema((enum record_kind)i), &kit.memory.arena, &type,
                                       &kit.error),
                     ERROR_OK);
        assert_has_symbols(type, record_kind_info((enum record_kind)i)->binding);
    }
}

/* The compiled-in text equals the file byte for byte. */
Test(schemas_schema, compiles_in_the_schema_files_byte_for_byte)
{
    const char *root = getenv("REEVE_SOURCE_DIR");
    for (uint32_t i = 0; i < schema_text_count; i++) {
        char path[512];
        static char bytes[1 << 16];
        snprintf(path, sizeof(path), "%s/schemas/%s.avsc", root != NULL ? root : ".",
                 schema_texts[i].name);
        FILE *file = fopen(path, "rb");
        cr_assert_not_null(file, "%s", path);
        size_t size = fread(bytes, 1, sizeof(bytes), file);
        fclose(file);
        cr_assert(text_equal((struct text){bytes, (uint32_t)size}, schema_texts[i].text));
    }
}

Test(schemas_schema, orders_events_by_their_numbers)
{
    const struct avro_type *type = NULL;
    cr_assert_eq(
        avro_schema_parse(codec_schema(RECORD_DECISION), &kit.memory.arena, &type, &kit.error),
        ERROR_OK);
    const struct avro_type *events = type->fields[type->count - 1].type->members[0];
    cr_assert_eq(events->count, EVENT_KIND_COUNT - 1);
    for (uint32_t i = 0; i < events->count; i++)
        cr_assert_str_eq(avro_short_name(events->members[i]->name),
                         event_kind_name((enum event_kind)(i + 1)));
}
