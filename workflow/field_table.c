/* SPDX-License-Identifier: Apache-2.0 */
#include "workflow/field_table.h"

#include "base/names.h"
#include "base/suggest.h"

#include <assert.h>
#include <stdio.h>

#define BIT FIELD_BIT

static bool is_known(const struct field_table *table, uint32_t field, uint32_t place)
{
    return (table->places[place].known & BIT(field)) != 0;
}

static bool report_foreign(const struct field_table *table, struct text name, uint32_t place,
                           struct mark mark, struct workflow_problems *problems)
{
    for (uint32_t i = 0; i < table->foreign_at_count; i++) {
        if (table->foreign_at[i].place == place && text_equal(name, table->foreign_at[i].name)) {
            problems_add_error(problems, mark, "there is no field %.*s here: %s", TEXT_ARG(name),
                               table->foreign_at[i].instead);
            return true;
        }
    }
    for (uint32_t i = 0; i < table->foreign_count; i++) {
        if (text_equal(name, table->foreign[i].name)) {
            problems_add_error(problems, mark, "there is no field %.*s here: %s", TEXT_ARG(name),
                               table->foreign[i].instead);
            return true;
        }
    }
    return false;
}

static bool report_misplaced(const struct field_table *table, struct text name, struct mark mark,
                             struct workflow_problems *problems)
{
    char where[WORKFLOW_PROBLEM_TEXT_SIZE];
    size_t size = 0;
    for (uint32_t field = 0; field < table->count; field++) {
        if (!text_equal(name, table->rows[field].name))
            continue;
        for (uint32_t place = 0; place < table->place_count && size < sizeof(where); place++) {
            if (is_known(table, field, place))
                size += (size_t)snprintf(where + size, sizeof(where) - size, "%s%s",
                                         size > 0 ? " or " : "", table->places[place].phrase);
        }
        problems_add_error(problems, mark, "%.*s does not belong here; it belongs to %s",
                           TEXT_ARG(name), where);
        return true;
    }
    return false;
}

static bool is_word(struct text name)
{
    for (uint32_t i = 0; i < name.size; i++) {
        if (strchr(" ()[]?!=<>&|'\"", name.data[i]) != NULL)
            return false;
    }
    return true;
}

static void report_unknown(const struct field_table *table, const struct yaml_node *key,
                           uint32_t place, struct workflow_problems *problems)
{
    struct text candidates[FIELDS_MAX] = {0};
    for (uint32_t field = 0; field < table->count; field++) {
        if (is_known(table, field, place))
            candidates[field] = table->rows[field].name;
    }
    if (report_foreign(table, key->text, place, key->mark, problems) ||
        report_misplaced(table, key->text, key->mark, problems))
        return;
    const struct text *near = suggest_text(key->text, candidates, table->count);
    if (near != NULL)
        problems_add_error(problems, key->mark,
                           "%.*s is an unknown field of %s: did you mean %.*s?",
                           QUOTE_ARG(key->text), table->places[place].phrase, TEXT_ARG(*near));
    else
        problems_add_error(
            problems, key->mark, "%.*s is an unknown field of %s%s", QUOTE_ARG(key->text),
            table->places[place].phrase,
            is_word(key->text) ? "" : ": put an expression with a comma or a colon in quotes");
}

static int find_field(const struct field_table *table, struct text name, uint32_t place)
{
    for (uint32_t field = 0; field < table->count; field++) {
        if (is_known(table, field, place) && text_equal(name, table->rows[field].name))
            return (int)field;
    }
    return -1;
}

/* "a step has no Agent, Agents, Set, Fail, Wait or Await" */
static void report_none(const struct field_table *table, uint64_t one_of, uint32_t place,
                        struct mark mark, struct workflow_problems *problems)
{
    char list[WORKFLOW_PROBLEM_TEXT_SIZE];
    size_t size = 0;
    list[0] = '\0';
    for (uint32_t field = 0; field < table->count && size < sizeof(list); field++) {
        if ((one_of & BIT(field)) == 0)
            continue;
        one_of &= ~BIT(field);
        size += (size_t)snprintf(list + size, sizeof(list) - size, "%s%.*s",
                                 size == 0     ? ""
                                 : one_of == 0 ? " or "
                                               : ", ",
                                 TEXT_ARG(table->rows[field].name));
    }
    problems_add_error(problems, mark, "%s has no %s", table->places[place].phrase, list);
}

static void report_missing(const struct field_table *table, uint64_t given, uint32_t place,
                           struct mark mark, struct workflow_problems *problems)
{
    uint64_t missing = table->places[place].required & ~given;
    uint64_t one_of = table->places[place].one_of;
    if (one_of != 0 && (one_of & given) == 0)
        report_none(table, one_of, place, mark, problems);
    for (uint32_t field = 0; field < table->count; field++) {
        if ((missing & BIT(field)) != 0)
            problems_add_error(problems, mark, "%s has no %.*s", table->places[place].phrase,
                               TEXT_ARG(table->rows[field].name));
    }
}

/* "must be a mapping of fields, not a text: write {Error: Declined}" */
static void report_no_mapping(const struct field_table *table, const struct yaml_node *node,
                              uint32_t place, struct workflow_problems *problems)
{
    const struct field_row *row = NULL;
    for (uint32_t i = 0; i < table->text_at_count; i++) {
        if (table->texts_at[i].place == place)
            row = &table->rows[table->texts_at[i].field];
    }
    bool short_name = node->text.size <= NAME_BYTES_MAX && name_characters_valid(node->text);
    struct text shown = short_name ? node->text : TEXT("...");
    if (row == NULL || node->kind != NODE_SCALAR || yaml_node_is_null(node))
        problems_add_error(problems, node->mark, "%s must be a mapping of fields, not %s",
                           table->places[place].phrase, yaml_node_phrase(node));
    else
        problems_add_error(problems, node->mark,
                           "%s must be a mapping of fields, not %s: write {%.*s: %.*s}",
                           table->places[place].phrase, yaml_node_phrase(node), TEXT_ARG(row->name),
                           TEXT_ARG(shown));
}

bool fields_take(const struct field_table *table, const struct yaml_node *node, uint32_t place,
                 struct workflow_problems *problems, struct field_values *ret_fields)
{
    assert(place < table->place_count && table->count <= FIELDS_MAX);
    *ret_fields = (struct field_values){.mark = node->mark};
    if (node->kind != NODE_MAPPING) {
        report_no_mapping(table, node, place, problems);
        return false;
    }
    for (const struct yaml_node *child = node->first; child != NULL; child = child->next) {
        int field = find_field(table, child->key->text, place);
        if (field < 0) {
            report_unknown(table, child->key, place, problems);
            continue;
        }
        ret_fields->given |= BIT(field);
        if (yaml_node_is_null(child))
            problems_add_error(problems, child->key->mark,
                               "%.*s has no value: give it one or leave it out",
                               TEXT_ARG(table->rows[field].name));
        else if (ret_fields->of[field] == NULL)
            ret_fields->of[field] = child;
    }
    report_missing(table, ret_fields->given, place, node->mark, problems);
    return true;
}
