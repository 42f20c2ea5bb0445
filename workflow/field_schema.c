/* SPDX-License-Identifier: Apache-2.0 */
/* See field_schema.h. Each place is a definition; one with variants is one of several mappings, so
 * that editors complete only what fits what is there already. */
#include "workflow/field_schema.h"

#include "engine/limits.h"
#include "engine/shape.h"

#include <assert.h>
#include <stdio.h>

#define DIALECT "http://json-schema.org/draft-07/schema#"
#define TYPE "#/definitions/type"
#define NAME_PATTERN "^[A-Za-z0-9._-]+$"
/* With each letter in either case: dialects of patterns differ in flags. */
#define RESERVED_PATTERN "^[Ss][Tt][Aa][Tt][Ee][Ss]\\."

enum { REFERENCE_SIZE = 96 };

/* All of it is built of constants. */
static json_t *made(json_t *json)
{
    assert(json != NULL);
    return json;
}

static void put(json_t *object, const char *name, json_t *value)
{
    int failed = json_object_set_new(object, name, made(value));
    assert(failed == 0);
    (void)failed;
}

static json_t *of_type(const char *type)
{
    return made(json_pack("{s:s}", "type", type));
}

static json_t *reference(const char *definition)
{
    return made(json_pack("{s:s}", "$ref", definition));
}

/* "Compensate of a step" -> "#/definitions/Compensate-of-a-step" */
static const char *definition_of(const struct field_place *place, char ret_text[REFERENCE_SIZE])
{
    int size = snprintf(ret_text, REFERENCE_SIZE, "#/definitions/%s", place->phrase);
    assert(size > 0 && size < REFERENCE_SIZE);
    for (char *at = ret_text; *at != '\0'; at++) {
        if (*at == ' ')
            *at = '-';
    }
    return ret_text;
}

/* ---- values ---- */

static json_t *text_schema(int64_t least, int64_t most)
{
    json_t *schema = of_type("string");
    if (least > 0)
        put(schema, "minLength", json_integer(least));
    if (most > 0)
        put(schema, "maxLength", json_integer(most)); /* characters have a byte at least */
    return schema;
}

static json_t *words_schema(const struct enum_names *words)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < words->count; i++) {
        if (words->names[i] != NULL)
            json_array_append_new(list, made(json_string(words->names[i])));
    }
    return made(json_pack("{s:o}", "enum", list));
}

static json_t *name_schema(void)
{
    json_t *schema = text_schema(1, NAME_BYTES_MAX);
    put(schema, "pattern", json_string(NAME_PATTERN));
    put(schema, "not", json_pack("{s:[s, s]}", "enum", ".", ".."));
    return schema;
}

static json_t *own_error_schema(void)
{
    json_t *schema = text_schema(1, ERROR_NAME_BYTES_MAX);
    put(schema, "pattern", json_string(NAME_PATTERN));
    put(schema, "not", json_pack("{s:s}", "pattern", "^(States|Order)\\."));
    return schema;
}

static json_t *error_schema(const struct enum_names *words)
{
    json_t *own = text_schema(1, ERROR_NAME_BYTES_MAX);
    put(own, "not", json_pack("{s:s}", "pattern", RESERVED_PATTERN));
    return made(json_pack("{s:[o, o]}", "anyOf", words_schema(words), own));
}

static json_t *milli_schema(int64_t least, int64_t most)
{
    json_t *schema = of_type("number");
    if (least % 1000 == 0)
        put(schema, "minimum", json_integer(least / 1000));
    else
        put(schema, "exclusiveMinimum", json_integer(least / 1000));
    put(schema, "maximum", json_integer(most / 1000));
    return schema;
}

static json_t *whole_schema(int64_t least, int64_t most)
{
    return made(json_pack("{s:s, s:I, s:I}", "type", "integer", "minimum", (json_int_t)least,
                          "maximum", (json_int_t)most));
}

/* Of data, or an expression for a list. */
static json_t *list_or_text_schema(int64_t least, int64_t most)
{
    json_t *list = made(json_pack("{s:s, s:I, s:I}", "type", "array", "minItems", (json_int_t)least,
                                  "maxItems", (json_int_t)most));
    return made(json_pack("{s:[o, o]}", "anyOf", text_schema(0, 0), list));
}

static json_t *form_schema(const struct field_table *table, const struct field_form *form);

static json_t *list_schema(const struct field_table *table, const struct field_form *form)
{
    json_t *schema = of_type("array");
    put(schema, "items", form_schema(table, form->element));
    if (form->least > 0)
        put(schema, "minItems", json_integer(form->least));
    if (form->most > 0)
        put(schema, "maxItems", json_integer(form->most));
    return schema;
}

static json_t *form_schema(const struct field_table *table, const struct field_form *form)
{
    char text[REFERENCE_SIZE];
    switch (form->kind) {
    case FORM_ANY:
        return made(json_object());
    case FORM_TEXT:
        return text_schema(form->least, form->most);
    case FORM_NAME:
        return name_schema();
    case FORM_ERROR:
        return error_schema(form->words);
    case FORM_OWN_ERROR:
        return own_error_schema();
    case FORM_WHOLE:
        return whole_schema(form->least, form->most);
    case FORM_MILLI:
        return milli_schema(form->least, form->most);
    case FORM_MILLI_OR_TEXT:
        return made(json_pack("{s:[o, o]}", "anyOf", milli_schema(form->least, form->most),
                              text_schema(0, 0)));
    case FORM_BOOLEAN:
        return of_type("boolean");
    case FORM_WORD:
        return words_schema(form->words);
    case FORM_TYPE:
        return reference(TYPE);
    case FORM_OBJECT:
        return of_type("object");
    case FORM_PLACE:
        return reference(definition_of(&table->places[form->place], text));
    case FORM_LIST:
        return list_schema(table, form);
    case FORM_ONE_OR_LIST:
        return made(json_pack("{s:[o, o]}", "anyOf", form_schema(table, form->element),
                              list_schema(table, form)));
    case FORM_LIST_OR_TEXT:
        return list_or_text_schema(form->least, form->most);
    case FORM_WHOLE_OR_ALL:
        return made(json_pack("{s:[o, {s:[s]}]}", "anyOf", whole_schema(form->least, form->most),
                              "enum", "all"));
    case FORM_BY_NAME:
        return made(json_pack("{s:s, s:o}", "type", "object", "additionalProperties",
                              form_schema(table, form->element)));
    }
    assert(false);
    return NULL;
}

/* string, string? ..., a list of one type, or a map of names to types. */
static json_t *type_schema(void)
{
    json_t *words = json_array();
    for (uint32_t i = 0; i < SHAPE_LIST; i++) {
        const char *word = shape_kind_name((enum shape_kind)i);
        json_array_append_new(words, made(json_string(word)));
        json_array_append_new(words, made(json_sprintf("%s?", word)));
    }
    json_t *list = json_pack("{s:s, s:o, s:i, s:i}", "type", "array", "items", reference(TYPE),
                             "minItems", 1, "maxItems", 1);
    json_t *map =
        json_pack("{s:s, s:o}", "type", "object", "additionalProperties", reference(TYPE));
    return made(json_pack("{s:[{s:o}, o, o]}", "anyOf", "enum", words, made(list), made(map)));
}

/* ---- mappings ---- */

static const struct field_row_at *find_row_at(const struct field_table *table, uint32_t place,
                                              uint32_t field)
{
    for (uint32_t i = 0; i < table->row_at_count; i++) {
        if (table->rows_at[i].place == place && table->rows_at[i].field == field)
            return &table->rows_at[i];
    }
    return NULL;
}

/* The description stands next to a "$ref" as well: editors show it, validators skip it. */
static json_t *field_schema(const struct field_table *table, uint32_t place, uint32_t field)
{
    const struct field_row *row = &table->rows[field];
    const struct field_row_at *here = find_row_at(table, place, field);
    json_t *schema = form_schema(table, here != NULL ? &here->form : &row->form);
    put(schema, "description", json_string(here != NULL ? here->description : row->description));
    return schema;
}

static json_t *names_of(const struct field_table *table, uint64_t fields)
{
    json_t *names = json_array();
    for (uint32_t field = 0; field < table->count; field++) {
        if ((fields & FIELD_BIT(field)) != 0)
            json_array_append_new(names, made(json_string(table->rows[field].name.data)));
    }
    return made(names);
}

/* {"oneOf": [{"required": ["Agent"]}, {"required": ["Agents"]}]} */
static void put_one_of(json_t *schema, const struct field_table *table, uint64_t fields)
{
    json_t *choices = json_array();
    for (uint64_t rest = fields; rest != 0; rest &= rest - 1)
        json_array_append_new(
            choices, made(json_pack("{s:o}", "required", names_of(table, rest & (~rest + 1)))));
    put(schema, "oneOf", choices);
}

static json_t *mapping_schema(const struct field_table *table, uint32_t place, uint64_t known,
                              uint64_t required, uint64_t one_of)
{
    json_t *schema = of_type("object");
    json_t *properties = json_object();
    for (uint32_t field = 0; field < table->count; field++) {
        if ((known & FIELD_BIT(field)) != 0)
            put(properties, table->rows[field].name.data, field_schema(table, place, field));
    }
    bool single = (one_of & (one_of - 1)) == 0;
    put(schema, "properties", properties);
    put(schema, "required", names_of(table, single ? required | one_of : required));
    if (!single)
        put_one_of(schema, table, one_of);
    put(schema, "additionalProperties", json_false());
    return schema;
}

static json_t *variant_schema(const struct field_table *table, uint32_t place, uint64_t common,
                              const struct field_variant *variant)
{
    json_t *schema =
        mapping_schema(table, place, common | variant->known,
                       table->places[place].required | variant->required, variant->one_of);
    if (variant->word == NULL)
        return schema;
    json_t *chooser = json_object_get(json_object_get(schema, "properties"),
                                      table->rows[variant->chooser].name.data);
    put(chooser, "enum", json_pack("[s]", variant->word));
    return schema;
}

static json_t *place_schema(const struct field_table *table, uint32_t place)
{
    const struct field_place *at = &table->places[place];
    uint64_t common = at->known;
    if (at->variant_count == 0)
        return mapping_schema(table, place, at->known, at->required, at->one_of);
    for (uint32_t i = 0; i < at->variant_count; i++)
        common &= ~at->variants[i].known;
    json_t *variants = json_array();
    for (uint32_t i = 0; i < at->variant_count; i++)
        json_array_append_new(variants, variant_schema(table, place, common, &at->variants[i]));
    return made(json_pack("{s:o}", "oneOf", variants));
}

json_t *field_table_schema(const struct field_table *table, const char *title)
{
    char text[REFERENCE_SIZE];
    json_t *schema = made(json_pack("{s:s, s:s}", "$schema", DIALECT, "title", title));
    json_t *root = place_schema(table, 0);
    json_t *definitions = made(json_pack("{s:o}", "type", type_schema()));
    json_object_update(schema, root);
    json_decref(root);
    for (uint32_t place = 1; place < table->place_count; place++)
        put(definitions, definition_of(&table->places[place], text) + strlen("#/definitions/"),
            place_schema(table, place));
    put(schema, "definitions", definitions);
    return schema;
}
