/* SPDX-License-Identifier: Apache-2.0 */
#include "workflow/graph.h"

#include "base/json.h"
#include "base/utf8.h"
#include "workflow/fields.h"
#include "workflow/step_compiler.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#define BIT(index) (UINT64_C(1) << (index))

static const char *const format_names[] = {"text", "dot"};
const struct enum_names workflow_graph_format_names = {format_names, GRAPH_FORMAT_COUNT};

/* ---- writing ---- */

/* Bytes beyond the end of the buffer are counted, not written. */
struct picture {
    char *data;
    size_t capacity;
    size_t size;
};

static void picture_put(struct picture *picture, struct text text)
{
    for (uint32_t i = 0; i < text.size; i++, picture->size++) {
        if (picture->size < picture->capacity)
            picture->data[picture->size] = text.data[i];
    }
}

__attribute__((format(printf, 2, 3))) static void picture_format(struct picture *picture,
                                                                 const char *format, ...)
{
    char line[256];
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    assert(size >= 0 && (size_t)size < sizeof(line)); /* only numbers and short words */
    picture_put(picture, (struct text){line, (uint32_t)size});
}

/* The next character; a '?' instead of one that is malformed or a control character. */
static struct text next_character(struct text text, uint32_t *at)
{
    struct text rest = text_from(text, *at);
    uint32_t size = utf8_character_size((const uint8_t *)rest.data, rest.size);
    struct text character = {rest.data, size};
    *at += size == 0 ? 1 : size;
    return size == 0 || !utf8_printable(character) ? TEXT("?") : character;
}

/* Of a DOT string in quotes. */
static void picture_put_quoted(struct picture *picture, struct text text)
{
    for (uint32_t at = 0; at < text.size;) {
        struct text character = next_character(text, &at);
        if (character.data[0] == '"' || character.data[0] == '\\')
            picture_put(picture, TEXT("\\"));
        picture_put(picture, character);
    }
}

static void put_plain(struct picture *picture, struct text text)
{
    for (uint32_t at = 0; at < text.size;)
        picture_put(picture, next_character(text, &at));
}

/* ---- the steps ---- */

uint32_t workflow_levels(const struct workflow *workflow, uint32_t ret_levels[WORKFLOW_STEPS_MAX])
{
    uint32_t count = 0;
    assert(workflow->step_count >= 1 && workflow->step_count <= WORKFLOW_STEPS_MAX);
    memset(ret_levels, 0, sizeof(ret_levels[0]) * WORKFLOW_STEPS_MAX);
    /* Each round settles one more level: the graph has no cycle. */
    for (uint32_t round = 0; round < workflow->step_count; round++) {
        for (uint32_t i = 0; i < workflow->step_count; i++) {
            for (uint32_t j = 0; j < workflow->step_count; j++) {
                bool waits = (workflow->steps[i].after & BIT(j)) != 0;
                if (waits && ret_levels[i] <= ret_levels[j])
                    ret_levels[i] = ret_levels[j] + 1;
            }
        }
    }
    for (uint32_t i = 0; i < workflow->step_count; i++)
        count = ret_levels[i] >= count ? ret_levels[i] + 1 : count;
    assert(count <= workflow->step_count);
    return count;
}

/* ---- text ---- */

enum { LEVEL_WIDTH = 5 }; /* of a level's number */

/* One width for a column of all steps. */
struct widths {
    uint32_t name;
    uint32_t agents;
};

struct text workflow_step_kind_word(const struct workflow_step *step)
{
    uint64_t marks = step_compilers[step->kind].marks;
    assert(marks != 0);
    return text_of(workflow_field_name((enum field)__builtin_ctzll(marks)));
}

static uint64_t count_items(const struct expression_template *list)
{
    uint64_t count = 0;
    if (list->kind == TEMPLATE_DATA)
        return json_value_count(json_value_of(list->data), NULL);
    for (const struct expression_template *at = list->first; at != NULL; at = at->next)
        count++;
    return count;
}

struct text workflow_step_items(const struct workflow_step *step, char buffer[WORKFLOW_ITEMS_SIZE])
{
    if (step->suborders.items != NULL)
        return step->suborders.items->source;
    if (step->suborders.list == NULL)
        return (struct text){0};
    unsigned long long count = (unsigned long long)count_items(step->suborders.list);
    snprintf(buffer, WORKFLOW_ITEMS_SIZE, "%llu item%s", count, count == 1 ? "" : "s");
    return text_of(buffer);
}

/* What a step without agents is: its kind, what it is about, such as an error or a moment, and the
 * unit of that. All are empty for a step with agents. */
struct kind_words {
    struct text word;
    struct text detail;
    struct text unit;
    char items[WORKFLOW_ITEMS_SIZE]; /* what `detail` may be */
};

static void find_kind_words(const struct workflow_step *step, struct kind_words *ret_words)
{
    *ret_words = (struct kind_words){0};
    if (step->agent_count > 0)
        return;
    ret_words->word = workflow_step_kind_word(step);
    ret_words->detail = step->fail.error;
    if (step->wait.seconds != NULL) {
        ret_words->detail = step->wait.seconds->source;
        ret_words->unit = TEXT(" s");
    } else if (step->wait.timestamp != NULL) {
        ret_words->detail = step->wait.timestamp->source;
    } else if (!text_empty(step->await.from)) {
        ret_words->detail = step->await.from;
    } else if (step->suborders.for_each) {
        ret_words->word = text_of(workflow_field_name(FIELD_FOR_EACH));
        ret_words->detail = workflow_step_items(step, ret_words->items);
    }
}

static uint32_t agents_width(const struct workflow_step *step)
{
    struct kind_words words;
    find_kind_words(step, &words);
    uint32_t width = words.word.size;
    if (!text_empty(words.detail))
        width += 2 + words.detail.size + words.unit.size;
    for (uint32_t i = 0; i < step->agent_count; i++)
        width += step->agents[i].size + (i > 0);
    return width;
}

static struct widths widths_of(const struct workflow *workflow)
{
    struct widths widths = {0};
    for (uint32_t i = 0; i < workflow->step_count; i++) {
        const struct workflow_step *step = &workflow->steps[i];
        uint32_t agents = agents_width(step);
        widths.name = step->name.size > widths.name ? step->name.size : widths.name;
        widths.agents = agents > widths.agents ? agents : widths.agents;
    }
    return widths;
}

static void put_spaces(struct picture *picture, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        picture_put(picture, TEXT(" "));
}

/* "Fail: LoanDeclined", "Wait: 60 s", "ForEach: input.parts" */
static void put_kind(struct picture *picture, const struct workflow_step *step,
                     void (*put)(struct picture *picture, struct text text))
{
    struct kind_words words;
    find_kind_words(step, &words);
    picture_put(picture, words.word);
    if (!text_empty(words.detail)) {
        picture_put(picture, TEXT(": "));
        put(picture, words.detail);
        picture_put(picture, words.unit);
    }
}

static void put_agents(struct picture *picture, const struct workflow_step *step)
{
    put_kind(picture, step, put_plain);
    for (uint32_t i = 0; i < step->agent_count; i++) {
        picture_put(picture, i > 0 ? TEXT("|") : (struct text){0});
        put_plain(picture, step->agents[i]);
    }
}

static void put_predecessors(struct picture *picture, const struct workflow *workflow,
                             const struct workflow_step *step)
{
    const char *before = "  <- ";
    for (uint32_t j = 0; j < workflow->step_count; j++) {
        if ((step->after & BIT(j)) == 0)
            continue;
        picture_put(picture, text_of(before));
        put_plain(picture, workflow->steps[j].name);
        before = ", ";
    }
}

static void put_step_line(struct picture *picture, const struct workflow *workflow, uint32_t index,
                          const struct widths *widths)
{
    const struct workflow_step *step = &workflow->steps[index];
    put_plain(picture, step->name);
    put_spaces(picture, widths->name - step->name.size + 2);
    picture_put(picture, TEXT("["));
    put_agents(picture, step);
    picture_put(picture, TEXT("]"));
    if (step->after != 0 || step->has_compensate || step->pivot || step->when != NULL)
        put_spaces(picture, widths->agents - agents_width(step));
    put_predecessors(picture, workflow, step);
    if (step->when != NULL) {
        picture_put(picture, TEXT("  (when: "));
        put_plain(picture, step->when->source);
        picture_put(picture, TEXT(")"));
    }
    if (step->pivot)
        picture_put(picture, TEXT("  (pivot)"));
    if (step->has_compensate) {
        picture_put(picture, TEXT("  (undo: "));
        put_plain(picture, step->compensate.action);
        picture_put(picture, TEXT(")"));
    }
    picture_put(picture, TEXT("\n"));
}

/* Steps of one level may run at the same time; the level's number stands before its first one. The
 * steps of a body stand below their step, as deep as ORDER_DEPTH_MAX. */
static void put_steps(struct picture *picture, const struct workflow *workflow, uint32_t indent)
{
    uint32_t levels[WORKFLOW_STEPS_MAX];
    uint32_t count = workflow_levels(workflow, levels);
    struct widths widths = widths_of(workflow);
    for (uint32_t level = 0; level < count; level++) {
        bool first = true;
        for (uint32_t i = 0; i < workflow->step_count; i++) {
            if (levels[i] != level)
                continue;
            put_spaces(picture, first ? indent : indent + LEVEL_WIDTH);
            if (first)
                picture_format(picture, "%3u  ", level + 1);
            put_step_line(picture, workflow, i, &widths);
            first = false;
            if (workflow->steps[i].suborders.body != NULL)
                put_steps(picture, workflow->steps[i].suborders.body, indent + LEVEL_WIDTH);
        }
    }
}

static void picture_text(struct picture *picture, const struct workflow *workflow)
{
    put_plain(picture, workflow->name);
    picture_format(picture, ":%u\n", workflow->version);
    put_steps(picture, workflow, 0);
}

/* ---- DOT ---- */

/* A Fail is a stop sign; an Await takes something in. */
static struct text shape_of(enum step_kind kind)
{
    switch (kind) {
    case STEP_KIND_SET:
        return TEXT(", shape=hexagon");
    case STEP_KIND_FAIL:
        return TEXT(", shape=octagon");
    case STEP_KIND_WAIT:
        return TEXT(", shape=oval");
    case STEP_KIND_AWAIT:
        return TEXT(", shape=parallelogram");
    case STEP_KIND_SUBORDERS:
        return TEXT(", shape=folder");
    case STEP_KIND_TASK:
    case STEP_KIND_COUNT:
        break;
    }
    return (struct text){0};
}

/* The steps of a body are known as STEP/STEP: '/' is in no name. */
struct dot {
    struct picture *picture;
    uint32_t
        root_size; /* of the name of what is drawn, which that of each body in it begins with */
    uint32_t indent;
};

static void put_dot_indent(const struct dot *dot)
{
    put_spaces(dot->picture, dot->indent);
}

static void put_dot_id(const struct dot *dot, const struct workflow *workflow, uint32_t index)
{
    picture_put(dot->picture, TEXT("\""));
    if (workflow->name.size > dot->root_size) {
        picture_put_quoted(dot->picture, text_from(workflow->name, dot->root_size + 1));
        picture_put(dot->picture, TEXT("/"));
    }
    picture_put_quoted(dot->picture, workflow->steps[index].name);
    picture_put(dot->picture, TEXT("\""));
}

static void put_dot_step(const struct dot *dot, const struct workflow *workflow, uint32_t index)
{
    struct picture *picture = dot->picture;
    const struct workflow_step *step = &workflow->steps[index];
    put_dot_indent(dot);
    put_dot_id(dot, workflow, index);
    picture_put(picture, TEXT(" [label=\""));
    picture_put_quoted(picture, step->name);
    picture_put(picture, TEXT("\\n"));
    put_kind(picture, step, picture_put_quoted);
    for (uint32_t i = 0; i < step->agent_count; i++) {
        picture_put(picture, i > 0 ? TEXT(", ") : (struct text){0});
        picture_put_quoted(picture, step->agents[i]);
    }
    if (step->has_compensate) {
        picture_put(picture, TEXT("\\nundo: "));
        picture_put_quoted(picture, step->compensate.action);
    }
    if (step->when != NULL) {
        picture_put(picture, TEXT("\\nwhen: "));
        picture_put_quoted(picture, step->when->source);
    }
    picture_put(picture, step->pivot ? TEXT("\\npivot\", penwidth=2") : TEXT("\""));
    picture_put(picture, shape_of(step->kind));
    if (step->when != NULL)
        picture_put(picture, TEXT(", style=\"rounded,dashed\""));
    picture_put(picture, TEXT("];\n"));
}

/* The diamond of a decision stands where the step decides whether it begins. */
static void put_dot_edge(const struct dot *dot, const struct workflow *workflow, uint32_t from,
                         uint32_t to)
{
    put_dot_indent(dot);
    put_dot_id(dot, workflow, from);
    picture_put(dot->picture, TEXT(" -> "));
    put_dot_id(dot, workflow, to);
    picture_put(dot->picture,
                workflow->steps[to].when != NULL ? TEXT(" [arrowhead=odiamond];\n") : TEXT(";\n"));
}

static void put_dot_steps(const struct dot *dot, const struct workflow *workflow);

/* A box around a step and its body, whose first steps begin with it. */
static void put_dot_body(const struct dot *dot, const struct workflow *workflow, uint32_t index)
{
    struct dot inner = {dot->picture, dot->root_size, dot->indent + 2};
    const struct workflow *body = workflow->steps[index].suborders.body;
    put_dot_indent(dot);
    picture_put(dot->picture, TEXT("subgraph \"cluster_"));
    picture_put_quoted(dot->picture, text_from(body->name, dot->root_size + 1));
    picture_put(dot->picture, TEXT("\" {\n"));
    put_dot_step(&inner, workflow, index);
    put_dot_steps(&inner, body);
    for (uint32_t i = 0; i < body->step_count; i++) {
        if (body->steps[i].after != 0)
            continue;
        put_dot_indent(&inner);
        put_dot_id(&inner, workflow, index);
        picture_put(dot->picture, TEXT(" -> "));
        put_dot_id(&inner, body, i);
        picture_put(dot->picture, TEXT(" [style=dotted];\n"));
    }
    put_dot_indent(dot);
    picture_put(dot->picture, TEXT("}\n"));
}

/* As deep as ORDER_DEPTH_MAX. */
static void put_dot_steps(const struct dot *dot, const struct workflow *workflow)
{
    for (uint32_t i = 0; i < workflow->step_count; i++) {
        if (workflow->steps[i].suborders.body != NULL)
            put_dot_body(dot, workflow, i);
        else
            put_dot_step(dot, workflow, i);
    }
    for (uint32_t i = 0; i < workflow->step_count; i++) {
        for (uint32_t j = 0; j < workflow->step_count; j++) {
            if ((workflow->steps[i].after & BIT(j)) != 0)
                put_dot_edge(dot, workflow, j, i);
        }
    }
}

static void picture_dot(struct picture *picture, const struct workflow *workflow)
{
    struct dot dot = {picture, workflow->name.size, 2};
    picture_put(picture, TEXT("digraph \""));
    picture_put_quoted(picture, workflow->name);
    picture_format(picture, ":%u\" {\n  rankdir=LR;\n", workflow->version);
    picture_put(picture, TEXT("  node [shape=box, style=rounded];\n"));
    put_dot_steps(&dot, workflow);
    picture_put(picture, TEXT("}\n"));
}

size_t workflow_graph(const struct workflow *workflow, enum workflow_graph_format format,
                      char *buffer, size_t capacity)
{
    struct picture picture = {.data = buffer, .capacity = capacity};
    assert(buffer != NULL || capacity == 0);
    switch (format) {
    case GRAPH_TEXT:
        picture_text(&picture, workflow);
        break;
    case GRAPH_DOT:
        picture_dot(&picture, workflow);
        break;
    case GRAPH_FORMAT_COUNT:
        assert(false && "a format");
    }
    return picture.size;
}
