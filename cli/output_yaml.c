/* SPDX-License-Identifier: Apache-2.0 */
/* See output_yaml.h. */
#include "cli/output_yaml.h"

#include "base/text.h"
#include "platform/json_tree.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

enum { NUMBER_SIZE = 40 };

/* libyaml takes the event over. It fails for lack of memory, or when `out` does: see ferror(). */
static void emit(yaml_emitter_t *emitter, yaml_event_t *event)
{
    yaml_emitter_emit(emitter, event);
}

/* A word that no reader of YAML 1.1 or 1.2 takes for something else. */
static bool is_plain(const char *text)
{
    static const char *const words[] = {"true", "false", "yes", "no", "on",
                                        "off",  "null",  "y",   "n"};
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    static const char others[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./@ ";
    size_t size = strlen(text);
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strcasecmp(text, words[i]) == 0)
            return false;
    return size > 0 && strspn(text, letters) > 0 && strspn(text, others) == size &&
           text[size - 1] != ' ';
}

static void emit_scalar(yaml_emitter_t *emitter, const char *text, size_t size, bool plain)
{
    yaml_event_t event;
    yaml_scalar_event_initialize(&event, NULL, NULL, (const yaml_char_t *)text, (int)size, plain,
                                 true,
                                 plain ? YAML_PLAIN_SCALAR_STYLE : YAML_DOUBLE_QUOTED_SCALAR_STYLE);
    emit(emitter, &event);
}

static void emit_word(yaml_emitter_t *emitter, const char *word)
{
    emit_scalar(emitter, word, strlen(word), true);
}

static void emit_string(yaml_emitter_t *emitter, const char *text)
{
    emit_scalar(emitter, text, strlen(text), is_plain(text));
}

static void emit_value(yaml_emitter_t *emitter, const json_t *value);

/* JSON as it is: a number, or data, which is YAML as well. */
static void emit_marked(yaml_emitter_t *emitter, struct text json)
{
    json_error_t at;
    json_t *tree = json_tree_load(json, 0, &at);
    if (tree != NULL)
        emit_value(emitter, tree);
    else
        emit_scalar(emitter, json.data, json.size, true);
    json_decref(tree);
}

static void emit_object(yaml_emitter_t *emitter, const json_t *object)
{
    yaml_event_t event;
    const char *name;
    json_t *value;
    yaml_mapping_start_event_initialize(&event, NULL, NULL, true, YAML_BLOCK_MAPPING_STYLE);
    emit(emitter, &event);
    json_object_foreach((json_t *)(uintptr_t)object, name, value) {
        emit_string(emitter, name);
        emit_value(emitter, value);
    }
    yaml_mapping_end_event_initialize(&event);
    emit(emitter, &event);
}

static void begin_list(yaml_emitter_t *emitter)
{
    yaml_event_t event;
    yaml_sequence_start_event_initialize(&event, NULL, NULL, true, YAML_BLOCK_SEQUENCE_STYLE);
    emit(emitter, &event);
}

static void end_list(yaml_emitter_t *emitter)
{
    yaml_event_t event;
    yaml_sequence_end_event_initialize(&event);
    emit(emitter, &event);
}

static void emit_list(yaml_emitter_t *emitter, const json_t *list)
{
    size_t i;
    json_t *value;
    begin_list(emitter);
    json_array_foreach(list, i, value)
        emit_value(emitter, value);
    end_list(emitter);
}

static void emit_value(yaml_emitter_t *emitter, const json_t *value)
{
    char number[NUMBER_SIZE];
    struct text marked = json_tree_marked(value);
    switch (json_typeof(value)) {
    case JSON_STRING:
        if (marked.data != NULL)
            emit_marked(emitter, marked);
        else
            emit_string(emitter, json_string_value(value));
        break;
    case JSON_INTEGER:
        snprintf(number, sizeof(number), "%lld", (long long)json_integer_value(value));
        emit_word(emitter, number);
        break;
    case JSON_REAL:
        snprintf(number, sizeof(number), "%.17g", json_real_value(value));
        emit_word(emitter, number);
        break;
    case JSON_TRUE:
        emit_word(emitter, "true");
        break;
    case JSON_FALSE:
        emit_word(emitter, "false");
        break;
    case JSON_NULL:
        emit_word(emitter, "null");
        break;
    case JSON_OBJECT:
        emit_object(emitter, value);
        break;
    case JSON_ARRAY:
        emit_list(emitter, value);
        break;
    }
}

void output_yaml(FILE *out, const json_t *row, bool item)
{
    yaml_emitter_t emitter;
    yaml_event_t event;
    int made = yaml_emitter_initialize(&emitter);
    assert(made == 1);
    (void)made;
    yaml_emitter_set_output_file(&emitter, out);
    yaml_emitter_set_unicode(&emitter, true);
    yaml_emitter_set_width(&emitter, -1);
    yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING);
    emit(&emitter, &event);
    yaml_document_start_event_initialize(&event, NULL, NULL, NULL, true);
    emit(&emitter, &event);
    if (item)
        begin_list(&emitter);
    emit_value(&emitter, row);
    if (item)
        end_list(&emitter);
    yaml_document_end_event_initialize(&event, true);
    emit(&emitter, &event);
    yaml_stream_end_event_initialize(&event);
    emit(&emitter, &event);
    yaml_emitter_delete(&emitter);
}
