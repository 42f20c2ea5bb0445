/* SPDX-License-Identifier: Apache-2.0 */
/* What the answers of a schema registry say about a schema. */
#include "replica/cluster/schema_registry.h"
#include "schemas/avro/schema.h"

#include <criterion/criterion.h>
#include <stdlib.h>

static struct codec *codec;
static struct error error;

static void set_up(void)
{
    codec = codec_new();
}

static void tear_down(void)
{
    codec_free(codec);
}

TestSuite(schema_registry, .init = set_up, .fini = tear_down);

static const char order[] =
    "{\\\"type\\\":\\\"record\\\",\\\"name\\\":\\\"CancelOrder\\\",\\\"fields\\\":"
    "[{\\\"name\\\":\\\"order_id\\\",\\\"type\\\":\\\"string\\\"}]}";

static enum error_class read(const char *format, const char *schema)
{
    char json[4096];
    uint64_t fingerprint = 0;
    int size = snprintf(json, sizeof(json), format, schema);
    cr_assert(size >= 0 && (size_t)size < sizeof(json));
    enum error_class class =
        schema_registry_read_schema(codec, 9, text_of(json), &fingerprint, &error);
    cr_assert(class != ERROR_OK || codec_knows(codec, fingerprint));
    return class;
}

static void refuses(const char *format, const char *schema, const char *why)
{
    cr_assert_eq(read(format, schema), ERROR_REJECT, "%s", format);
    cr_assert_eq(error.code, CODE_BAD_SCHEMA);
    cr_assert_not_null(strstr(error.message, "schema 9 of the schema registry cannot be used"));
    cr_assert_not_null(strstr(error.message, why), "%s", error.message);
}

Test(schema_registry, learns_an_avro_schema)
{
    cr_assert_eq(read("{\"schema\":\"%s\"}", order), ERROR_OK, "%s", error.message);
    cr_assert_eq(read("{\"schemaType\":\"AVRO\",\"references\":[],\"schema\":\"%s\"}", order),
                 ERROR_OK, "%s", error.message);
    cr_assert_eq(read("{\"schemaType\":null,\"schema\":\"%s\",\"maxId\":12}", order), ERROR_OK);
}

Test(schema_registry, refuses_what_records_cannot_be_read_with)
{
    refuses("{\"schemaType\":\"JSON\",\"schema\":\"%s\"}", "{}", "it is JSON; expected AVRO");
    refuses("{\"schema\":\"%s\",\"references\":[{\"name\":\"a\"}]}", order, "refers to other");
    refuses("{\"schema\":\"%s\"}", "{", "");
    refuses("{\"schema\":\"%s\"}", "\\\"string\\\"", "is not a record");
    refuses("{\"schema\":\"%s\\u0000\"}", order, "");
}

Test(schema_registry, refuses_a_schema_that_is_too_long)
{
    size_t size = AVRO_SCHEMA_BYTES_MAX + 64;
    char *json = malloc(size);
    uint64_t fingerprint;
    cr_assert_not_null(json);
    memset(json, 'x', size);
    memcpy(json, "{\"schema\":\"", 11);
    memcpy(json + size - 2, "\"}", 2);
    struct text text = {json, (uint32_t)size};
    cr_assert_eq(schema_registry_read_schema(codec, 9, text, &fingerprint, &error), ERROR_REJECT);
    cr_assert_not_null(strstr(error.message, "the limit is 131072"), "%s", error.message);
    free(json);
}

Test(schema_registry, does_not_believe_what_is_not_the_answer_of_a_registry)
{
    const char *answers[] = {"",
                             "<html>",
                             "[]",
                             "{}",
                             "{\"schema\":{}}",
                             "{\"schema\":null}",
                             "{\"schema\":\"\\\"int\\\"\",\"schemaType\":7}"};
    for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
        cr_assert_eq(read("%s", answers[i]), ERROR_RETRY, "%s", answers[i]);
        cr_assert_eq(error.code, CODE_NO_ANSWER);
    }
}
