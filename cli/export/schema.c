/* SPDX-License-Identifier: Apache-2.0 */
/* See schema.h. */
#include "cli/export/schema.h"

#include "schemas/avro/codec.h"

#include <assert.h>
#include <jansson.h>

/* In the order of the union's branches, which files keep: a new kind of the log is the last one.
 * The check sees that none is missing. */
static const enum record_kind log_kinds[] = {
    RECORD_CLAIM, RECORD_COMMAND_GUARD, RECORD_DECISION, RECORD_CONTINUATION,
    RECORD_RESET, RECORD_STATEMENT,     RECORD_EXPIRY};
_Static_assert(sizeof(log_kinds) / sizeof(log_kinds[0]) == RECORD_EXPIRY - RECORD_CLAIM + 1 &&
                   (int)RECORD_EXPIRY + 1 == (int)RECORD_STEP_REQUEST,
               "all records of the log");
const uint32_t export_log_kind_count = sizeof(log_kinds) / sizeof(log_kinds[0]);

uint32_t export_branch(enum record_kind kind)
{
    uint32_t branch = 0;
    while (branch < export_log_kind_count && log_kinds[branch] != kind)
        branch++;
    return branch;
}

static json_t *parse(struct text text)
{
    json_t *json = json_loadb(text.data, text.size, JSON_DECODE_ANY, NULL);
    assert(json != NULL); /* compiled in */
    return json;
}

/* A schema may define a name once: later definitions of the same name become the name. `names`:
 * what is defined so far. Steals `schema`. */
static json_t *define_once(json_t *schema, json_t *names)
{
    json_t *name = json_object_get(schema, "name");
    json_t *part, *fields = json_object_get(schema, "fields");
    static const char *const inner[] = {"type", "items", "values"};
    size_t index;
    if (json_is_array(schema)) { /* a union */
        json_array_foreach(schema, index, part)
            json_array_set_new(schema, index, define_once(json_incref(part), names));
        return schema;
    }
    if (!json_is_object(schema))
        return schema;
    if (name != NULL && json_object_get(names, json_string_value(name)) != NULL) {
        json_incref(name);
        json_decref(schema);
        return name;
    }
    if (name != NULL)
        json_object_set_new(names, json_string_value(name), json_true());
    json_array_foreach(fields, index, part)
        json_object_set_new(part, "type",
                            define_once(json_incref(json_object_get(part, "type")), names));
    for (size_t i = 0; i < sizeof(inner) / sizeof(inner[0]); i++) {
        part = json_object_get(schema, inner[i]);
        if (part != NULL)
            json_object_set_new(schema, inner[i], define_once(json_incref(part), names));
    }
    return schema;
}

/* Stolen: `names`, `schema`. */
static char *finish(json_t *schema, json_t *names)
{
    assert(schema != NULL);
    char *text = json_dumps(schema, JSON_COMPACT);
    assert(text != NULL);
    json_decref(schema);
    json_decref(names);
    return text;
}

char *export_events_schema(void)
{
    static const char undecoded[] =
        "{\"type\": \"record\", \"name\": \"Undecoded\","
        " \"doc\": \"What is not a record of reeve, or of a version newer than the export's.\","
        " \"fields\": ["
        "  {\"name\": \"reason\", \"type\": \"string\", \"doc\": \"Why it cannot be decoded.\"},"
        "  {\"name\": \"key\", \"type\": \"bytes\", \"doc\": \"As it is in the topic.\"},"
        "  {\"name\": \"value\", \"type\": \"bytes\", \"doc\": \"As it is in the topic.\"}]}";
    json_t *names = json_object();
    json_t *branches = json_array();
    for (uint32_t i = 0; i < export_log_kind_count; i++)
        json_array_append_new(branches, define_once(parse(codec_schema(log_kinds[i])), names));
    json_array_append_new(branches, parse(text_of(undecoded)));
    json_t *schema = json_pack(
        "{s:s, s:s, s:s, s:s, s:[{s:s, s:s}, {s:s, s:s}, {s:s, s:{s:s, s:s}, s:s}, {s:s, s:o}]}",
        "type", "record", "name", "LoggedRecord", "namespace", "reeve", "doc",
        "A record of the events topic, with where it was.", "fields", "name", "partition", "type",
        "int", "name", "offset", "type", "long", "name", "time", "type", "type", "long",
        "logicalType", "timestamp-millis", "doc", "When it was appended.", "name", "record", "type",
        branches);
    return finish(schema, names);
}

char *export_orders_schema(void)
{
    json_t *names = json_object();
    json_t *row = define_once(parse(codec_schema(RECORD_ORDER_ROW)), names);
    json_t *schema = json_pack(
        "{s:s, s:s, s:s, s:s, s:[{s:s, s:s}, {s:s, s:s, s:s}, {s:s, s:o}]}", "type", "record",
        "name", "EndedOrder", "namespace", "reeve", "doc", "An order at its end.", "fields", "name",
        "partition", "type", "int", "name", "offset", "type", "long", "doc",
        "Of the Decision that ended it, in this partition of the events topic.", "name", "order",
        "type", row);
    return finish(schema, names);
}
