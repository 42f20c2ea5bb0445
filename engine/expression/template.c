/* SPDX-License-Identifier: Apache-2.0 */
/* Templates -> canonical JSON, or a text. See evaluate.h. They are as deep as a workflow file may
 * be, so they are walked by recursion. */
#include "engine/expression/evaluation.h"

static bool fail(struct expression_error *ret_error, enum expression_error_code code,
                 int64_t number)
{
    *ret_error = (struct expression_error){.code = code, .number = number};
    return false;
}

static bool spend(struct expression_run *run, uint64_t cost, struct expression_error *ret_error)
{
    struct json_walk *budget = &run->budget;
    if (run->disabled)
        return fail(ret_error, EXPRESSION_DISABLED, 0);
    if (!budget->spent && budget->left >= cost) {
        budget->left -= cost;
        return true;
    }
    budget->left = 0;
    budget->spent = true;
    return fail(ret_error, EXPRESSION_BUDGET_SPENT, 0);
}

/* ---- texts ---- */

static bool part_text(struct expression_run *run, const struct expression_template *part,
                      struct text *ret_text, struct expression_error *ret_error)
{
    if (part->kind == TEMPLATE_EXPRESSION)
        return expression_fill(run, part->expression, ret_text, ret_error);
    assert(part->kind == TEMPLATE_DATA);
    *ret_text = part->data;
    return true;
}

/* The parts of `template` one after the other. */
static bool join_parts(struct expression_run *run, const struct expression_template *template,
                       uint32_t bytes_max, struct text *ret_text,
                       struct expression_error *ret_error)
{
    uint32_t count = 0, done = 0;
    uint64_t size = 0;
    for (const struct expression_template *part = template->first; part != NULL; part = part->next)
        count++;
    if (!spend(run, count * (COST_NODE + sizeof(struct text) * (uint64_t)COST_MADE), ret_error))
        return false;
    struct text *texts = ARENA_ARRAY(run->arena, struct text, count);
    for (const struct expression_template *part = template->first; part != NULL;
         part = part->next) {
        if (!part_text(run, part, &texts[done], ret_error))
            return false;
        size += texts[done++].size;
        if (size > bytes_max)
            return fail(ret_error, EXPRESSION_TOO_LARGE, bytes_max);
    }
    if (!spend(run, size * COST_MADE, ret_error))
        return false;
    char *joined = arena_bytes(run->arena, size);
    char *at = joined;
    for (uint32_t i = 0; i < count; i++) {
        if (texts[i].size > 0)
            memcpy(at, texts[i].data, texts[i].size);
        at += texts[i].size;
    }
    *ret_text = (struct text){joined, (uint32_t)size};
    return true;
}

bool template_text(struct expression_run *run, const struct expression_template *template,
                   uint32_t bytes_max, struct text *ret_text, struct expression_error *ret_error)
{
    struct text text;
    if (!spend(run, COST_NODE, ret_error))
        return false;
    bool done = template->kind == TEMPLATE_TEXT
                    ? join_parts(run, template, bytes_max, &text, ret_error)
                    : part_text(run, template, &text, ret_error);
    if (!done)
        return false;
    if (text.size > bytes_max)
        return fail(ret_error, EXPRESSION_TOO_LARGE, bytes_max);
    *ret_text = text;
    return true;
}

/* ---- JSON ---- */

static bool write_template(struct expression_run *run, const struct expression_template *template,
                           struct json_writer *writer, struct expression_error *ret_error);

static bool write_children(struct expression_run *run, const struct expression_template *template,
                           struct json_writer *writer, struct expression_error *ret_error)
{
    bool map = template->kind == TEMPLATE_MAP;
    if (map)
        json_write_map(writer);
    else
        json_write_list(writer);
    for (const struct expression_template *child = template->first; child != NULL;
         child = child->next) {
        if (map && !spend(run, (uint64_t)child->name.size * COST_MADE, ret_error))
            return false;
        if (map)
            json_write_name(writer, child->name);
        if (!write_template(run, child, writer, ret_error))
            return false;
    }
    json_write_close(writer);
    return true;
}

static bool write_template(struct expression_run *run, const struct expression_template *template,
                           struct json_writer *writer, struct expression_error *ret_error)
{
    struct text text;
    if (!spend(run, COST_NODE, ret_error))
        return false;
    switch (template->kind) {
    case TEMPLATE_DATA:
        if (!spend(run, (uint64_t) template->data.size * COST_MADE, ret_error))
            return false;
        json_write_canonical(writer, template->data);
        return true;
    case TEMPLATE_EXPRESSION:
        return expression_write(run, template->expression, writer, ret_error);
    case TEMPLATE_TEXT:
        if (!join_parts(run, template, writer->size_max, &text, ret_error))
            return false;
        json_write_text(writer, text);
        return true;
    case TEMPLATE_LIST:
    case TEMPLATE_MAP:
        return write_children(run, template, writer, ret_error);
    }
    assert(false); /* a kind that is none */
    return false;
}

bool template_json(struct expression_run *run, const struct expression_template *template,
                   uint32_t bytes_max, struct text *ret_json, struct expression_error *ret_error)
{
    struct json_writer writer;
    json_writer_init(&writer, bytes_max, run->arena);
    if (!write_template(run, template, &writer, ret_error))
        return false;
    if (json_writer_done(&writer, ret_json))
        return true;
    return fail(ret_error,
                writer.fault == JSON_FAULT_SIZE    ? EXPRESSION_TOO_LARGE
                : writer.fault == JSON_FAULT_DEPTH ? EXPRESSION_TOO_DEEP
                                                   : EXPRESSION_NOT_JSON,
                bytes_max);
}
