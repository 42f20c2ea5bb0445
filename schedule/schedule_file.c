/* SPDX-License-Identifier: Apache-2.0 */
/* See schedule_file.h. Below: the file; the order of a tick. */
#include "schedule/schedule_file.h"

#include "base/heap_arena.h"
#include "base/json.h"
#include "engine/expression/evaluate.h"
#include "schedule/fields.h"
#include "schedule/zone_files.h"
#include "schemas/details.h"
#include "schemas/json/submission_json.h"
#include "workflow/data.h"
#include "workflow/expression.h"

#include <assert.h>
#include <stdio.h>

/* ---- when ---- */

static void read_cron(const struct values *values, const struct yaml_node *node,
                      struct schedule *schedule)
{
    struct cron_problem problem;
    if (!value_text(values, node, "Cron"))
        return;
    if (cron_parse(node->text, &schedule->ticks.cron, &problem))
        schedule->cron = arena_text(values->arena, node->text);
    else
        problems_add_error(values->problems, yaml_node_mark_at(node, problem.at), "Cron: %s",
                           problem.text);
}

static void read_zone(const struct values *values, const struct yaml_node *node,
                      struct schedule *schedule)
{
    struct error error;
    if (!value_text(values, node, "TimeZone"))
        return;
    schedule->zone = arena_text(values->arena, node->text);
    if (zone_read(node->text, values->arena, &schedule->ticks.zone, &error) != ERROR_OK)
        problems_add_error(values->problems, node->mark, "TimeZone: %s", error.message);
}

static void read_when(const struct values *values, const struct field_values *fields,
                      struct schedule *schedule)
{
    const struct yaml_node *cron = fields->of[SCHEDULE_FIELD_CRON];
    const struct yaml_node *every = fields->of[SCHEDULE_FIELD_EVERY_SECONDS];
    const struct yaml_node *zone = fields->of[SCHEDULE_FIELD_TIME_ZONE];
    const struct yaml_node *catch_up = fields->of[SCHEDULE_FIELD_CATCH_UP_SECONDS];
    schedule->zone = TEXT("UTC");
    schedule->catch_up_s = SCHEDULE_CATCH_UP_S;
    if (cron != NULL && every != NULL)
        problems_add_error(values->problems, every->key->mark,
                           "the schedule has Cron or EverySeconds, not both");
    if (every != NULL && cron == NULL && zone != NULL)
        problems_add_error(values->problems, zone->key->mark,
                           "TimeZone belongs to Cron: EverySeconds counts in UTC");
    if (cron != NULL)
        read_cron(values, cron, schedule);
    if (zone != NULL)
        read_zone(values, zone, schedule);
    if (every != NULL)
        value_whole(values, every, "EverySeconds", 1, SCHEDULE_EVERY_S_MAX,
                    &schedule->ticks.every_s);
    if (catch_up != NULL)
        value_whole(values, catch_up, "CatchUpSeconds", 0, SCHEDULE_CATCH_UP_S_MAX,
                    &schedule->catch_up_s);
}

/* ---- Order ---- */

/* What stands in the file for the fields of an order; the others are made for each tick. */
#define COPIED                                                                         \
    (FIELD_BIT(SCHEDULE_FIELD_WORKFLOW) | FIELD_BIT(SCHEDULE_FIELD_WORKFLOW_VERSION) | \
     FIELD_BIT(SCHEDULE_FIELD_CUSTOMER) | FIELD_BIT(SCHEDULE_FIELD_CURRENCY) |         \
     FIELD_BIT(SCHEDULE_FIELD_LINES) | FIELD_BIT(SCHEDULE_FIELD_ATTRIBUTES) |          \
     FIELD_BIT(SCHEDULE_FIELD_PRIORITY) | FIELD_BIT(SCHEDULE_FIELD_REPLY_TO))

/* The fields of the set as JSON, as POST /orders takes them. False after a problem. */
static bool write_fields(const struct values *values, const struct field_values *fields,
                         uint64_t set, struct text *ret_json)
{
    struct json_writer writer;
    json_writer_init(&writer, UINT32_MAX, values->arena);
    json_write_map(&writer);
    for (uint32_t field = 0; field < SCHEDULE_FIELD_COUNT; field++) {
        const struct yaml_node *node = fields->of[field];
        struct text json;
        if ((set & FIELD_BIT(field)) == 0 || node == NULL)
            continue;
        if (!data_of_node(values, node, &json))
            return false;
        json_write_name(&writer, node->key->text);
        json_write_canonical(&writer, json);
    }
    json_write_close(&writer);
    bool done = json_writer_done(&writer, ret_json);
    assert(done); /* a tree is less deep than JSON may be, and has no name twice */
    return done;
}

/* Each field alone first, so that a problem has its place. */
static bool read_fields(const struct values *values, const struct field_values *fields,
                        struct order_details *ret_details)
{
    struct text json;
    struct error error;
    bool good = true;
    for (uint32_t field = 0; field < SCHEDULE_FIELD_COUNT; field++) {
        const struct yaml_node *node = fields->of[field];
        if ((COPIED & FIELD_BIT(field)) == 0 || node == NULL)
            continue;
        if (!write_fields(values, fields, FIELD_BIT(field), &json)) {
            good = false;
        } else if (submission_json_read(json, values->arena, ret_details, &error) != ERROR_OK) {
            problems_add_error(values->problems, node->mark, "Order: %s", error.message);
            good = false;
        }
    }
    return good && write_fields(values, fields, COPIED, &json) &&
           submission_json_read(json, values->arena, ret_details, &error) == ERROR_OK;
}

static bool check_words(const struct values *values, const struct field_values *fields)
{
    const struct yaml_node *workflow = fields->of[SCHEDULE_FIELD_WORKFLOW];
    const struct yaml_node *version = fields->of[SCHEDULE_FIELD_WORKFLOW_VERSION];
    const struct yaml_node *priority = fields->of[SCHEDULE_FIELD_PRIORITY];
    struct text name;
    int64_t number;
    uint32_t index;
    bool good = workflow != NULL && value_name(values, workflow, "workflow", &name);
    if (version != NULL && !value_whole(values, version, "workflow_version", 1, INT32_MAX, &number))
        good = false;
    if (priority != NULL && !value_word(values, priority, "priority", &priority_names, &index))
        good = false;
    return good;
}

static void read_order(const struct values *values, const struct yaml_node *node,
                       struct schedule *schedule)
{
    const struct expression_names names = {.allowed = 1U << NAME_TICK,
                                           .deployed = values->deployed};
    struct field_values fields;
    struct values quiet = *values;
    quiet.notes = NULL;
    if (!schedule_fields_take(node, SCHEDULE_PLACE_ORDER, values->problems, &fields))
        return;
    const struct yaml_node *comment = fields.of[SCHEDULE_FIELD_COMMENT];
    const struct yaml_node *input = fields.of[SCHEDULE_FIELD_INPUT];
    if (comment != NULL)
        value_text(values, comment, "Comment");
    if (check_words(values, &fields))
        read_fields(values, &fields, &schedule->order);
    if (input != NULL)
        schedule->input = compile_template(&quiet, input, "input", &names, ORDER_INPUT_BYTES_MAX);
}

/* ---- the whole ---- */

/* A tick like any other shows what is wrong with the order of each of them. */
static void try_order(const struct values *values, const struct yaml_node *node,
                      const struct schedule *schedule)
{
    struct order_details details;
    struct error error;
    struct heap_arena scratch;
    int64_t tick = ticks_next(&schedule->ticks, 0);
    heap_arena_init(&scratch, 16 * 1024);
    if (schedule_order(schedule, tick != TICK_NEVER ? tick : 0, &scratch.arena, &details, &error) !=
        ERROR_OK)
        problems_add_error(values->problems, node->mark, "Order: %s", error.message);
    heap_arena_deinit(&scratch);
}

static void compile(const struct values *values, const struct yaml_node *root,
                    struct schedule *schedule)
{
    struct field_values fields;
    if (!schedule_fields_take(root, SCHEDULE_PLACE_FILE, values->problems, &fields))
        return;
    const struct yaml_node *comment = fields.of[SCHEDULE_FIELD_COMMENT];
    const struct yaml_node *name = fields.of[SCHEDULE_FIELD_SCHEDULE];
    const struct yaml_node *order = fields.of[SCHEDULE_FIELD_ORDER];
    if (comment != NULL)
        value_text(values, comment, "Comment");
    if (name != NULL && value_name(values, name, "Schedule", &schedule->name) &&
        schedule->name.data[0] == '-')
        problems_add_error(values->problems, name->mark,
                           "Schedule must not begin with '-': the ids of its orders would");
    read_when(values, &fields, schedule);
    if (order != NULL)
        read_order(values, order, schedule);
    if (order != NULL && values->problems->errors == 0)
        try_order(values, order, schedule);
}

static bool parse(struct text text, enum workflow_format format, bool deployed, struct arena *arena,
                  struct workflow_problems *ret_problems, struct schedule **ret_schedule)
{
    struct values values = {arena, ret_problems, deployed, NULL};
    struct schedule *schedule = ARENA_NEW(arena, struct schedule);
    struct heap_arena scratch;
    const struct yaml_node *root = NULL;
    ret_problems->count = ret_problems->errors = 0;
    heap_arena_init(&scratch, 16 * 1024);
    if (text.size > (deployed ? SCHEDULE_BYTES_READ_MAX : SCHEDULE_BYTES_MAX))
        problems_add_error(ret_problems, (struct mark){0, 0},
                           "the file has %u bytes; the limit is %d", text.size, SCHEDULE_BYTES_MAX);
    else if (format != WORKFLOW_JSON || workflow_check_json(text, ret_problems))
        root = yaml_tree_parse(text, &scratch.arena, ret_problems);
    if (root != NULL)
        compile(&values, root, schedule);
    heap_arena_deinit(&scratch);
    problems_sort(ret_problems);
    if (ret_problems->errors > 0)
        return false;
    assert(!text_empty(schedule->name) && !text_empty(schedule->order.workflow));
    assert((schedule->ticks.every_s > 0) == text_empty(schedule->cron));
    *ret_schedule = schedule;
    return true;
}

bool schedule_parse(struct text text, enum workflow_format format, struct arena *arena,
                    struct workflow_problems *ret_problems, struct schedule **ret_schedule)
{
    return parse(text, format, false, arena, ret_problems, ret_schedule);
}

bool schedule_parse_deployed(struct text text, enum workflow_format format, struct arena *arena,
                             struct workflow_problems *ret_problems, struct schedule **ret_schedule)
{
    return parse(text, format, true, arena, ret_problems, ret_schedule);
}

/* ---- the order of a tick ---- */

void schedule_order_id(const struct schedule *schedule, int64_t tick,
                       char ret_id[SCHEDULE_ORDER_ID_SIZE])
{
    char text[TICK_TEXT_SIZE];
    tick_short_text(tick, text);
    snprintf(ret_id, SCHEDULE_ORDER_ID_SIZE, "%.*s@%s", TEXT_ARG(schedule->name), text);
}

static enum error_class evaluate(const struct expression_template *template, struct text tick,
                                 struct arena *arena, struct text *ret_json,
                                 struct error *ret_error)
{
    const struct expression_scope scope = {.tick = tick};
    struct expression_run run;
    struct expression_error error;
    expression_run_init(&run, &scope, EXPRESSION_BUDGET, arena);
    if (template_json(&run, template, ORDER_INPUT_BYTES_MAX, ret_json, &error))
        return ERROR_OK;
    struct text message = expression_error_message(&error, arena);
    return error_set(ret_error, CODE_BAD_SCHEDULE, "input: %.*s", TEXT_ARG(message));
}

enum error_class schedule_order(const struct schedule *schedule, int64_t tick, struct arena *arena,
                                struct order_details *ret_details, struct error *ret_error)
{
    char id[SCHEDULE_ORDER_ID_SIZE];
    char text[TICK_TEXT_SIZE];
    struct order_details details = schedule->order;
    schedule_order_id(schedule, tick, id);
    tick_text(tick, text);
    details.order_id = arena_text(arena, text_of(id));
    if (schedule->input != NULL && evaluate(schedule->input, arena_text(arena, text_of(text)),
                                            arena, &details.input, ret_error) != ERROR_OK)
        return ERROR_REJECT;
    /* It sorts the attributes where they are, which is the same each time. */
    if (details_validate_new(&details, arena, ret_error) != ERROR_OK)
        return ERROR_REJECT;
    *ret_details = details;
    return ERROR_OK;
}
