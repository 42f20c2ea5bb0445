/* SPDX-License-Identifier: Apache-2.0 */
/* A workflow file as a whole. See workflow_file.h. */
#include "workflow/compile.h"
#include "base/heap_arena.h"

#include <assert.h>

/* ---- Defaults ---- */

static void read_default_compensate(struct workflow_compiler *compiler,
                                    const struct yaml_node *node)
{
    struct field_values fields;
    struct defaults *defaults = &compiler->defaults;
    if (!workflow_fields_take(node, PLACE_DEFAULTS_COMPENSATE, compiler->values.problems, &fields))
        return;
    if (fields.of[FIELD_COMMENT] != NULL)
        value_text(&compiler->values, fields.of[FIELD_COMMENT], "Comment");
    if (fields.of[FIELD_TIMEOUT_SECONDS] != NULL)
        value_duration(&compiler->values, fields.of[FIELD_TIMEOUT_SECONDS], "TimeoutSeconds",
                       &defaults->compensate_timeout_ms);
    if (fields.of[FIELD_RETRY] != NULL)
        compile_retry(&compiler->values, fields.of[FIELD_RETRY], &defaults->compensate_retry);
}

static void read_defaults(struct workflow_compiler *compiler, const struct yaml_node *node)
{
    struct field_values fields;
    const struct values *values = &compiler->values;
    struct defaults *defaults = &compiler->defaults;
    *defaults = (struct defaults){
        .timeout_ms = DEFAULT_TIMEOUT_MS,
        .on_exhausted = OUTCOME_COMPENSATE,
        .compensate_retry = compile_default_undo_policy(values->arena),
    };
    if (node == NULL || !workflow_fields_take(node, PLACE_DEFAULTS, values->problems, &fields))
        return;
    if (fields.of[FIELD_COMMENT] != NULL)
        value_text(values, fields.of[FIELD_COMMENT], "Comment");
    if (fields.of[FIELD_TIMEOUT_SECONDS] != NULL)
        value_duration(values, fields.of[FIELD_TIMEOUT_SECONDS], "TimeoutSeconds",
                       &defaults->timeout_ms);
    if (fields.of[FIELD_RETRY] != NULL)
        compile_retry(values, fields.of[FIELD_RETRY], &defaults->retry);
    if (fields.of[FIELD_CATCH] != NULL)
        compile_catch(values, fields.of[FIELD_CATCH], PLACE_DEFAULTS, &defaults->catchers,
                      &defaults->catcher_count);
    if (fields.of[FIELD_ON_EXHAUSTED] != NULL)
        compile_on_exhausted(values, fields.of[FIELD_ON_EXHAUSTED], &defaults->on_exhausted);
    if (fields.of[FIELD_COMPENSATE] != NULL)
        read_default_compensate(compiler, fields.of[FIELD_COMPENSATE]);
}

/* ---- the whole ---- */

static void read_head(struct workflow_compiler *compiler, const struct field_values *fields,
                      struct workflow *workflow)
{
    const struct values *values = &compiler->values;
    if (fields->of[FIELD_COMMENT] != NULL)
        value_text(values, fields->of[FIELD_COMMENT], "Comment");
    if (fields->of[FIELD_NAME] != NULL)
        value_name(values, fields->of[FIELD_NAME], "Name", &workflow->name);
    if (fields->of[FIELD_INPUT_SHAPE] != NULL)
        workflow->input_shape = compile_shape(values, fields->of[FIELD_INPUT_SHAPE]);
    int64_t version = 0;
    if (fields->of[FIELD_VERSION] != NULL &&
        value_whole(values, fields->of[FIELD_VERSION], "Version", 1, INT32_MAX, &version))
        workflow->version = (uint32_t)version;
    const struct yaml_node *timeout = fields->of[FIELD_TIMEOUT_SECONDS];
    if (timeout != NULL &&
        value_duration(values, timeout, "TimeoutSeconds", &workflow->timeout_ms)) {
        compiler->timeout_ms = workflow->timeout_ms;
        compiler->timeout_mark = timeout->mark;
    }
}

static void compile(struct workflow_compiler *compiler, const struct yaml_node *root)
{
    struct field_values fields;
    struct workflow *workflow = compiler->workflow;
    if (!workflow_fields_take(root, PLACE_WORKFLOW, compiler->values.problems, &fields))
        return;
    read_head(compiler, &fields, workflow);
    read_defaults(compiler, fields.of[FIELD_DEFAULTS]);
    if (fields.of[FIELD_STEPS] == NULL)
        return;
    const struct expression_shape *input =
        compiler->values.deployed ? NULL
                                  : expression_shape_of(workflow->input_shape, compiler->scratch);
    compile_graph(compiler, fields.of[FIELD_STEPS], fields.of[FIELD_OUTPUT], input);
}

static bool parse(struct text text, enum workflow_format format, bool deployed,
                  struct workflow_notes *notes, struct arena *arena,
                  struct workflow_problems *ret_problems, struct workflow **ret_workflow)
{
    ret_problems->count = 0;
    ret_problems->errors = 0;
    struct heap_arena scratch;
    heap_arena_init(&scratch, 32 * 1024);
    struct workflow *workflow = ARENA_NEW(arena, struct workflow);
    const struct yaml_node *root = NULL;
    if (format != WORKFLOW_JSON || text.size > WORKFLOW_BYTES_MAX ||
        workflow_check_json(text, ret_problems))
        root = yaml_tree_parse(text, &scratch.arena, ret_problems);
    if (root != NULL) {
        uint32_t file_steps = 0;
        struct workflow_compiler compiler = {.values = {arena, ret_problems, deployed, notes},
                                             .scratch = &scratch.arena,
                                             .workflow = workflow,
                                             .depth = 1,
                                             .file_steps = &file_steps,
                                             .pivot = -1};
        compile(&compiler, root);
    }
    heap_arena_deinit(&scratch);
    problems_sort(ret_problems);
    if (ret_problems->errors > 0)
        return false;
    assert(workflow->step_count > 0 && workflow->version > 0 && !text_empty(workflow->name));
    *ret_workflow = workflow;
    return true;
}

bool workflow_parse(struct text text, enum workflow_format format, struct arena *arena,
                    struct workflow_problems *ret_problems, struct workflow **ret_workflow)
{
    return parse(text, format, false, NULL, arena, ret_problems, ret_workflow);
}

bool workflow_parse_with_notes(struct text text, enum workflow_format format, struct arena *arena,
                               struct workflow_problems *ret_problems,
                               struct workflow **ret_workflow)
{
    struct workflow_notes notes = {0};
    return parse(text, format, false, &notes, arena, ret_problems, ret_workflow);
}

bool workflow_parse_deployed(struct text text, enum workflow_format format, struct arena *arena,
                             struct workflow_problems *ret_problems, struct workflow **ret_workflow)
{
    return parse(text, format, true, NULL, arena, ret_problems, ret_workflow);
}

/* ---- formats ---- */

static const char *const format_names[] = {[WORKFLOW_YAML] = "yaml", [WORKFLOW_JSON] = "json"};
_Static_assert(sizeof(format_names) / sizeof(format_names[0]) == WORKFLOW_FORMAT_COUNT,
               "every format has a name");

const char *workflow_format_name(enum workflow_format format)
{
    return (unsigned)format < WORKFLOW_FORMAT_COUNT ? format_names[format] : "?";
}

enum workflow_format workflow_format_of(const char *path)
{
    size_t size = strlen(path);
    return size >= 5 && strcmp(path + size - 5, ".json") == 0 ? WORKFLOW_JSON : WORKFLOW_YAML;
}
