/* SPDX-License-Identifier: Apache-2.0 */
/* libyaml's events -> nodes. See tree.h. */
#include "workflow/tree.h"

#include "workflow/values.h"

#include <assert.h>
#include <yaml.h>

struct builder {
    struct text source;
    /* A place in it that was looked up, in characters as libyaml counts, and in bytes. */
    size_t character;
    uint32_t byte;
    struct arena *arena;
    struct workflow_problems *problems;
    struct yaml_node *open[TREE_DEPTH_MAX]; /* sequences and mappings that have not ended */
    struct yaml_node
        *keys[TREE_DEPTH_MAX];     /* of the mapping at that depth, waiting for its value */
    bool repeated[TREE_DEPTH_MAX]; /* that key was there before: its value is left out */
    uint32_t depth;
    uint32_t nodes;
    uint32_t documents;
    struct yaml_node *root;
};

static struct mark mark_of(yaml_mark_t mark)
{
    return (struct mark){(uint32_t)mark.line + 1, (uint32_t)mark.column + 1};
}

/* ---- before YAML: is it text at all ---- */

/* Size of the UTF-8 character at `at`; 0: it is not one, or one that no text has. */
static uint32_t character_size(const unsigned char *at, size_t left)
{
    if (at[0] < 0x80)
        return (at[0] >= ' ' && at[0] != 0x7F) || at[0] == '\t' || at[0] == '\n' || at[0] == '\r';
    uint32_t size = at[0] >= 0xF0 ? 4 : at[0] >= 0xE0 ? 3 : 2;
    if (at[0] < 0xC2 || at[0] > 0xF4 || size > left)
        return 0;
    for (uint32_t i = 1; i < size; i++) {
        if ((at[i] & 0xC0) != 0x80)
            return 0;
    }
    bool overlong = (at[0] == 0xE0 && at[1] < 0xA0) || (at[0] == 0xF0 && at[1] < 0x90);
    bool surrogate = at[0] == 0xED && at[1] >= 0xA0;
    bool too_large = at[0] == 0xF4 && at[1] >= 0x90;
    bool control = at[0] == 0xC2 && at[1] < 0xA0 && at[1] != 0x85;
    return overlong || surrogate || too_large || control ? 0 : size;
}

static bool check_text(struct text text, struct workflow_problems *problems)
{
    struct mark mark = {1, 1};
    const unsigned char *bytes = (const unsigned char *)text.data;
    for (uint32_t at = 0; at < text.size;) {
        uint32_t size = character_size(bytes + at, text.size - at);
        if (size == 0) {
            problems_add_error(problems, mark, "byte 0x%02x is %s", bytes[at],
                               bytes[at] < 0x80 ? "a control character: remove it"
                                                : "not UTF-8: save the file as UTF-8");
            return false;
        }
        mark.column++;
        if (bytes[at] == '\n')
            mark = (struct mark){mark.line + 1, 1};
        at += size;
    }
    return true;
}

/* ---- cures ---- */

/* The fields that are expressions: YAML sees its own marks in them unless they are quoted. */
static const struct text expression_fields[] = {TEXT_CONST("When:"),     TEXT_CONST("Until:"),
                                                TEXT_CONST("StopWhen:"), TEXT_CONST("Items:"),
                                                TEXT_CONST("Seconds:"),  TEXT_CONST("Timestamp:")};

static bool begins_with(struct text text, struct text with)
{
    return text.size >= with.size && memcmp(text.data, with.data, with.size) == 0;
}

/* Bytes up to what an expression's field has as its value; 0: none begins at `at`. */
static uint32_t field_size(struct text line, uint32_t at)
{
    struct text rest = text_from(line, at);
    if (at > 0 && strchr(" -{,\t", line.data[at - 1]) == NULL)
        return 0;
    for (size_t i = 0; i < sizeof(expression_fields) / sizeof(expression_fields[0]); i++) {
        uint32_t size = expression_fields[i].size;
        if (!begins_with(rest, expression_fields[i]))
            continue;
        while (size < rest.size && rest.data[size] == ' ')
            size++;
        return size;
    }
    return 0;
}

/* From 0; empty: there is none. */
static struct text line_of(struct text source, size_t line)
{
    while (line-- > 0) {
        const char *end = memchr(source.data, '\n', source.size);
        if (end == NULL)
            return (struct text){0};
        source = text_from(source, (uint32_t)(end + 1 - source.data));
    }
    const char *end = memchr(source.data, '\n', source.size);
    return (struct text){source.data, end != NULL ? (uint32_t)(end - source.data) : source.size};
}

/* What helps if the line of the mistake has an expression. */
static const char *cure_of(struct text source, size_t line)
{
    struct text text = line_of(source, line);
    for (uint32_t at = 0; at < text.size; at++) {
        uint32_t size = field_size(text, at);
        bool quoted = size > 0 && at + size < text.size &&
                      (text.data[at + size] == '\'' || text.data[at + size] == '"');
        if (quoted)
            return ": put the whole expression in quotes, and texts within it in the other ones";
        if (size > 0)
            return ": put the expression in quotes";
    }
    for (uint32_t at = 0; at < text.size; at++) {
        if (begins_with(text_from(text, at), TEXT("${")))
            return ": put text with ${ } in quotes";
        if (begins_with(text_from(text, at), TEXT("{{")))
            return ": an expression in text is written \"${...}\", with quotes";
    }
    return "";
}

/* ---- building ---- */

static bool refuse(struct builder *builder, struct mark mark, const char *what)
{
    problems_add_error(builder->problems, mark, "%s", what);
    return false;
}

static bool refuse_more(struct builder *builder, struct mark mark, const char *what, int most,
                        const char *parts)
{
    problems_add_error(builder->problems, mark, "%s has at most %d %s", what, most, parts);
    return false;
}

static bool refuse_key(struct builder *builder, struct mark mark)
{
    problems_add_error(builder->problems, mark,
                       "a list or a mapping cannot be the name of a field%s",
                       cure_of(builder->source, mark.line - 1));
    return false;
}

static struct yaml_node *new_node(struct builder *builder, enum yaml_node_kind kind,
                                  yaml_mark_t mark)
{
    struct yaml_node *node = ARENA_NEW(builder->arena, struct yaml_node);
    node->kind = kind;
    node->mark = mark_of(mark);
    builder->nodes++;
    return node;
}

static bool report_duplicate(struct builder *builder, const struct yaml_node *mapping,
                             const struct yaml_node *key)
{
    for (const struct yaml_node *child = mapping->first; child != NULL; child = child->next) {
        if (text_equal(child->key->text, key->text)) {
            problems_add_error(builder->problems, key->mark,
                               "%.*s is given twice, first in line %u", QUOTE_ARG(key->text),
                               child->key->mark.line);
            return true;
        }
    }
    return false;
}

/* Hangs the node below the innermost open one. */
static bool attach(struct builder *builder, struct yaml_node *node)
{
    if (builder->depth == 0) {
        builder->root = node;
        return true;
    }
    struct yaml_node *parent = builder->open[builder->depth - 1];
    struct yaml_node **key = &builder->keys[builder->depth - 1];
    if (parent->kind == NODE_MAPPING && *key == NULL) {
        if (node->kind != NODE_SCALAR)
            return refuse_key(builder, node->mark);
        if (parent->count == TREE_FIELDS_MAX)
            return refuse_more(builder, node->mark, "a mapping", TREE_FIELDS_MAX, "names");
        builder->repeated[builder->depth - 1] = report_duplicate(builder, parent, node);
        *key = node;
        return true;
    }
    bool repeated = *key != NULL && builder->repeated[builder->depth - 1];
    node->key = *key;
    *key = NULL;
    if (repeated)
        return true;
    if (parent->last != NULL)
        parent->last->next = node;
    else
        parent->first = node;
    parent->last = node;
    parent->count++;
    return true;
}

static bool open_node(struct builder *builder, enum yaml_node_kind kind, const yaml_event_t *event)
{
    struct yaml_node *node = new_node(builder, kind, event->start_mark);
    node->flow = kind == NODE_SEQUENCE
                     ? event->data.sequence_start.style == YAML_FLOW_SEQUENCE_STYLE
                     : event->data.mapping_start.style == YAML_FLOW_MAPPING_STYLE;
    if (!attach(builder, node))
        return false;
    if (builder->depth == TREE_DEPTH_MAX)
        return refuse_more(builder, node->mark, "a file", TREE_DEPTH_MAX,
                           "lists and mappings within each other");
    builder->open[builder->depth] = node;
    builder->keys[builder->depth] = NULL;
    builder->depth++;
    return true;
}

/* Places come in the order of the file. */
static uint32_t byte_of(struct builder *builder, yaml_mark_t mark)
{
    while (builder->character < mark.index && builder->byte < builder->source.size) {
        builder->byte++;
        while (builder->byte < builder->source.size &&
               ((unsigned char)builder->source.data[builder->byte] & 0xC0) == 0x80)
            builder->byte++;
        builder->character++;
    }
    return builder->byte;
}

static bool add_scalar(struct builder *builder, const yaml_event_t *event)
{
    struct yaml_node *node = new_node(builder, NODE_SCALAR, event->start_mark);
    if (memchr(event->data.scalar.value, 0, event->data.scalar.length) != NULL)
        return refuse(builder, node->mark, "a text cannot have the character \\0");
    struct text text = {(const char *)event->data.scalar.value,
                        (uint32_t)event->data.scalar.length};
    node->text = arena_text(builder->arena, text);
    node->plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    node->flow = builder->depth > 0 && builder->open[builder->depth - 1]->flow;
    uint32_t begin = byte_of(builder, event->start_mark);
    node->raw =
        (struct text){builder->source.data + begin, byte_of(builder, event->end_mark) - begin};
    return attach(builder, node);
}

/* What an event holds besides its content. */
static bool check_properties(struct builder *builder, const yaml_event_t *event,
                             const yaml_char_t *anchor, const yaml_char_t *tag)
{
    struct mark mark = mark_of(event->start_mark);
    if (anchor != NULL)
        return refuse(builder, mark,
                      "anchors (&) are not allowed: what steps share belongs in Defaults");
    if (tag != NULL)
        return refuse(
            builder, mark,
            "tags (!) are not allowed: put a text or an expression that begins with ! in quotes");
    if (builder->nodes >= TREE_NODES_MAX)
        return refuse_more(builder, mark, "a file", TREE_NODES_MAX, "names and values");
    return true;
}

/* False: stop, a problem was reported. */
static bool take_event(struct builder *builder, const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT:
    case YAML_STREAM_END_EVENT:
    case YAML_DOCUMENT_END_EVENT:
        return true;
    case YAML_DOCUMENT_START_EVENT:
        if (builder->documents++ == 0)
            return true;
        return refuse(builder, mark_of(event->start_mark),
                      "a second document begins here: one file is one workflow");
    case YAML_ALIAS_EVENT:
        return refuse(builder, mark_of(event->start_mark),
                      "aliases (*) are not allowed: what steps share belongs in Defaults");
    case YAML_SCALAR_EVENT:
        return check_properties(builder, event, event->data.scalar.anchor,
                                event->data.scalar.tag) &&
               add_scalar(builder, event);
    case YAML_SEQUENCE_START_EVENT:
        return check_properties(builder, event, event->data.sequence_start.anchor,
                                event->data.sequence_start.tag) &&
               open_node(builder, NODE_SEQUENCE, event);
    case YAML_MAPPING_START_EVENT:
        return check_properties(builder, event, event->data.mapping_start.anchor,
                                event->data.mapping_start.tag) &&
               open_node(builder, NODE_MAPPING, event);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        assert(builder->depth > 0);
        builder->depth--;
        return true;
    }
    return true;
}

static void report_syntax(struct builder *builder, const yaml_parser_t *parser)
{
    struct workflow_problems *problems = builder->problems;
    uint32_t at = byte_of(builder, parser->problem_mark);
    bool optional = at > 0 && at < builder->source.size && builder->source.data[at] == '?' &&
                    strchr("]}", builder->source.data[at - 1]) != NULL;
    const char *cure = optional
                           ? ": write the ? of a list or a map behind its name, notes?: [string]"
                           : cure_of(builder->source, parser->problem_mark.line);
    struct mark mark = mark_of(parser->problem_mark);
    if (parser->problem == NULL)
        problems_add_error(problems, mark, "this is not YAML");
    else if (parser->context != NULL && parser->context_mark.line + 1 < mark.line)
        problems_add_error(problems, mark, "%s %s that begins in line %u%s", parser->problem,
                           parser->context, (uint32_t)parser->context_mark.line + 1, cure);
    else if (parser->context != NULL)
        problems_add_error(problems, mark, "%s %s%s", parser->problem, parser->context, cure);
    else
        problems_add_error(problems, mark, "%s%s", parser->problem, cure);
}

static bool build(struct builder *builder, yaml_parser_t *parser)
{
    for (bool ended = false; !ended;) {
        yaml_event_t event;
        if (yaml_parser_parse(parser, &event) == 0) {
            report_syntax(builder, parser);
            return false;
        }
        ended = event.type == YAML_STREAM_END_EVENT;
        bool go_on = take_event(builder, &event);
        yaml_event_delete(&event);
        if (!go_on)
            return false;
    }
    return true;
}

const struct yaml_node *yaml_tree_parse(struct text text, struct arena *arena,
                                        struct workflow_problems *problems)
{
    if (text.size > WORKFLOW_BYTES_MAX) {
        problems_add_error(problems, (struct mark){0}, "the file has %u bytes; the limit is %d",
                           text.size, WORKFLOW_BYTES_MAX);
        return NULL;
    }
    if (!check_text(text, problems))
        return NULL;
    if (text.size >= 3 && memcmp(text.data, "\xef\xbb\xbf", 3) == 0)
        text = (struct text){text.data + 3, text.size - 3}; /* a byte order mark */
    if (text_empty(text)) /* libyaml asserts that there are bytes */
        text = TEXT("\n");
    yaml_parser_t parser;
    int initialized = yaml_parser_initialize(&parser);
    assert(initialized == 1);
    yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser, (const unsigned char *)text.data, text.size);
    struct builder builder = {.source = text, .arena = arena, .problems = problems};
    bool built = build(&builder, &parser);
    yaml_parser_delete(&parser);
    if (built && (builder.root == NULL || yaml_node_is_null(builder.root))) {
        problems_add_error(problems, (struct mark){0}, "the file is empty");
        return NULL;
    }
    return built ? builder.root : NULL;
}

/* ---- places within a scalar ---- */

/* The scalar's own text, walked along with what stands in the file. */
struct scalar_walk {
    struct text raw;
    uint32_t at;
    struct mark mark;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void step(struct scalar_walk *walk)
{
    bool line = walk->raw.data[walk->at] == '\n';
    walk->at++;
    while (walk->at < walk->raw.size && ((unsigned char)walk->raw.data[walk->at] & 0xC0) == 0x80)
        walk->at++;
    walk->mark = line ? (struct mark){walk->mark.line + 1, 1}
                      : (struct mark){walk->mark.line, walk->mark.column + 1};
}

/* Characters of the escape at the walk, in double quotes; 0: there is none. */
static uint32_t escape_size(const struct scalar_walk *walk)
{
    if (walk->raw.data[0] == '\'' && walk->raw.size - walk->at >= 2 &&
        memcmp(walk->raw.data + walk->at, "\'\'", 2) == 0)
        return 2;
    if (walk->raw.data[0] != '"' || walk->raw.data[walk->at] != '\\' ||
        walk->raw.size - walk->at < 2)
        return 0;
    char c = walk->raw.data[walk->at + 1];
    return c == 'x' ? 4 : c == 'u' ? 6 : c == 'U' ? 10 : 2;
}

/* Lines are folded, and blanks may be written as escapes, so blanks match any number of them. */
static void skip_blanks(struct scalar_walk *walk)
{
    while (walk->at < walk->raw.size) {
        uint32_t size = escape_size(walk);
        bool escaped = size == 2 && walk->raw.data[0] == '"' &&
                       memchr("ntr \t\n", walk->raw.data[walk->at + 1], 7) != NULL;
        if (!escaped && !is_blank(walk->raw.data[walk->at]))
            break;
        for (uint32_t i = 0; i < (escaped ? 2 : 1) && walk->at < walk->raw.size; i++)
            step(walk);
    }
}

struct mark yaml_node_mark_at(const struct yaml_node *node, uint32_t at)
{
    struct scalar_walk walk = {.raw = node->raw, .mark = node->mark};
    if (node->raw.size == 0)
        return node->mark;
    bool block = node->raw.data[0] == '|' || node->raw.data[0] == '>';
    if (!node->plain && block) {
        while (walk.at < walk.raw.size && walk.raw.data[walk.at] != '\n')
            step(&walk);
    } else if (!node->plain) {
        step(&walk); /* the quote */
    }
    for (uint32_t i = 0; i < at && i < node->text.size && walk.at < walk.raw.size; i++) {
        unsigned char c = (unsigned char)node->text.data[i];
        if (is_blank((char)c) || (c & 0xC0) == 0x80)
            continue;
        skip_blanks(&walk);
        uint32_t size = walk.at < walk.raw.size ? escape_size(&walk) : 0;
        for (uint32_t j = 0; j < (size > 0 ? size : 1) && walk.at < walk.raw.size; j++)
            step(&walk);
    }
    skip_blanks(&walk);
    return walk.mark;
}

/* ---- nodes ---- */

bool yaml_node_is_null(const struct yaml_node *node)
{
    if (node->kind != NODE_SCALAR || !node->plain)
        return false;
    return text_empty(node->text) || text_equal(node->text, TEXT("~")) ||
           text_equal(node->text, TEXT("null")) || text_equal(node->text, TEXT("Null")) ||
           text_equal(node->text, TEXT("NULL"));
}

const char *yaml_node_phrase(const struct yaml_node *node)
{
    switch (node->kind) {
    case NODE_SEQUENCE:
        return "a list";
    case NODE_MAPPING:
        return "a mapping";
    case NODE_SCALAR:
        break;
    }
    if (yaml_node_is_null(node))
        return "nothing";
    if (node->plain && value_looks_like_number(node->text))
        return "a number";
    if (node->plain && value_looks_like_boolean(node->text))
        return "true or false";
    return "a text";
}
