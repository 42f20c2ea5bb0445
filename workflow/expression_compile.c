/* SPDX-License-Identifier: Apache-2.0 */
/* Texts -> expressions. See expression.h. */
#include "workflow/expression_parse.h"

#include "base/utf8.h"

#include <assert.h>

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f';
}

static struct text trimmed(struct text text, uint32_t *ret_begin)
{
    uint32_t begin = 0, end = text.size;
    while (begin < end && is_blank(text.data[begin]))
        begin++;
    while (end > begin && is_blank(text.data[end - 1]))
        end--;
    *ret_begin = begin;
    return (struct text){text.data != NULL ? text.data + begin : NULL, end - begin};
}

static const struct expression *copy(const struct expression_draft *draft, struct arena *arena)
{
    struct expression *expression = ARENA_NEW(arena, struct expression);
    struct expression_node *nodes = ARENA_ARRAY(arena, struct expression_node, draft->node_count);
    memcpy(nodes, draft->nodes, draft->node_count * sizeof(nodes[0]));
    *expression = (struct expression){
        .source = draft->source,
        .nodes = nodes,
        .node_count = draft->node_count,
        .slot_count = draft->slot_count,
    };
    return expression;
}

const struct expression *expression_compile(struct text source,
                                            const struct expression_names *names, uint8_t kinds,
                                            struct arena *arena,
                                            struct expression_problems *ret_problems)
{
    struct expression_draft draft;
    uint32_t begin;
    struct text text = trimmed(source, &begin);
    ret_problems->count = 0;
    ret_problems->errors = 0;
    if (text.size > EXPRESSION_BYTES_MAX) {
        expression_report(ret_problems, WORKFLOW_ERROR, begin,
                          "an expression has %u bytes; the limit is %d: let a Set before it "
                          "compute a part",
                          text.size, EXPRESSION_BYTES_MAX);
        return NULL;
    }
    if (text.size > 0 && (!utf8_valid(text) || memchr(text.data, '\0', text.size) != NULL)) {
        expression_report(ret_problems, WORKFLOW_ERROR, begin,
                          "an expression must be UTF-8 without a NUL");
        return NULL;
    }
    draft.source = arena_text(arena, text);
    draft.names = names;
    draft.arena = arena;
    draft.problems = ret_problems;
    if (expression_parse(&draft) && !names->deployed)
        expression_check(&draft, kinds);
    if (ret_problems->errors == 0 && !names->deployed && names->guards != NULL)
        expression_check_guards(&draft);
    for (uint32_t i = 0; i < ret_problems->count; i++)
        ret_problems->items[i].at += begin;
    return ret_problems->errors == 0 ? copy(&draft, arena) : NULL;
}

uint32_t expression_find_brace(struct text text)
{
    uint32_t depth = 0;
    for (uint32_t at = 0; at < text.size;) {
        char c = text.data[at];
        if (c == '\'' || c == '"') {
            at = lexer_skip_text(text, at);
            continue;
        }
        if (c == '}' && depth == 0)
            return at;
        if (c == '{' || c == '[' || c == '(')
            depth++;
        else if ((c == '}' || c == ']' || c == ')') && depth > 0)
            depth--;
        at++;
    }
    return text.size;
}
