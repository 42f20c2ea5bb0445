/* SPDX-License-Identifier: Apache-2.0 */
#include "workflow/diff.h"

#include "base/json.h"
#include "base/utf8.h"
#include "engine/shape.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define BIT(index) (UINT64_C(1) << (index))

/* ---- values as text ---- */

/* One value, in the arena. */
struct value {
    struct arena *arena;
    char *data;
    size_t size;
    size_t capacity;
};

static struct text text_of_value(const struct value *value)
{
    return (struct text){value->data, (uint32_t)value->size};
}

static void add_text(struct value *value, struct text text)
{
    if (value->size + text.size + 1 > value->capacity) {
        char *before = value->data;
        value->capacity = 2 * (value->size + text.size) + 64;
        value->data = arena_bytes(value->arena, value->capacity);
        if (value->size > 0)
            memcpy(value->data, before, value->size);
    }
    if (text.size > 0)
        memcpy(value->data + value->size, text.data, text.size);
    value->size += text.size;
    value->data[value->size] = '\0';
}

/* Numbers and words: texts of a file are longer. */
__attribute__((format(printf, 2, 3))) static void add(struct value *value, const char *format, ...)
{
    char words[512];
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(words, sizeof(words), format, arguments);
    va_end(arguments);
    assert(size >= 0 && (size_t)size < sizeof(words));
    add_text(value, (struct text){words, (uint32_t)size});
}

/* "0.2 s" */
static void add_seconds(struct value *value, int64_t ms)
{
    add(value, "%lld", (long long)(ms / 1000));
    if (ms % 1000 != 0) {
        int digits = 3;
        long long fraction = ms % 1000;
        for (; fraction % 10 == 0; digits--)
            fraction /= 10;
        add(value, ".%0*lld", digits, fraction);
    }
    add(value, " s");
}

static int compare_names(const void *a, const void *b)
{
    return text_compare(*(const struct text *)a, *(const struct text *)b);
}

/* Sorted: as sets, in whichever order the file has them. */
static void add_set(struct value *value, struct text *names, uint32_t count)
{
    if (count > 1)
        qsort(names, count, sizeof(names[0]), compare_names);
    for (uint32_t i = 0; i < count; i++)
        add(value, "%s%.*s", i > 0 ? ", " : "", TEXT_ARG(names[i]));
}

static void add_agents(struct value *value, const struct workflow_step *step)
{
    struct text names[STEP_AGENTS_MAX];
    assert(step->agent_count <= STEP_AGENTS_MAX);
    if (step->agent_count > 0) /* a step without an agent has no list */
        memcpy(names, step->agents, sizeof(names[0]) * step->agent_count);
    add_set(value, names, step->agent_count);
}

static void add_after(struct value *value, const struct workflow *workflow, uint64_t after)
{
    struct text names[WORKFLOW_STEPS_MAX];
    uint32_t count = 0;
    for (uint32_t i = 0; i < workflow->step_count; i++) {
        if ((after & BIT(i)) != 0)
            names[count++] = workflow->steps[i].name;
    }
    add_set(value, names, count);
    if (count == 0)
        add(value, "none");
}

/* In their order: it decides in which one an error that two match is counted. */
static void add_errors(struct value *value, const struct error_set *errors)
{
    for (uint32_t i = 0; i < errors->count; i++)
        add(value, "%s%.*s", i > 0 ? ", " : "", TEXT_ARG(errors->names[i]));
}

static void add_retry(struct value *value, const struct retry_policy *policy)
{
    for (uint32_t i = 0; i < policy->count; i++) {
        const struct retrier *retrier = &policy->retriers[i];
        add(value, "%s", i > 0 ? "; " : "");
        add_errors(value, &retrier->errors);
        add(value, ": %u after ", retrier->max_attempts);
        add_seconds(value, retrier->interval_ms);
        add(value, " x %u.%03u", retrier->backoff_rate_milli / 1000,
            retrier->backoff_rate_milli % 1000);
        if (retrier->max_delay_ms != 0) {
            add(value, ", at most ");
            add_seconds(value, retrier->max_delay_ms);
        }
        if (retrier->jitter == JITTER_NONE)
            add(value, ", no jitter");
    }
    if (policy->count == 0)
        add(value, "none");
}

static const char *outcome_word(enum outcome outcome)
{
    static const char *const words[] = {[OUTCOME_COMPENSATE] = "compensate",
                                        [OUTCOME_ERROR] = "error",
                                        [OUTCOME_CONTINUE] = "continue"};
    _Static_assert(sizeof(words) / sizeof(words[0]) == OUTCOME_COUNT, "every outcome has a word");
    return words[outcome];
}

static void add_catch(struct value *value, const struct workflow_step *step)
{
    for (uint32_t i = 0; i < step->catcher_count; i++) {
        add(value, "%s", i > 0 ? "; " : "");
        add_errors(value, &step->catchers[i].errors);
        add(value, " -> %s", outcome_word(step->catchers[i].next));
    }
    if (step->catcher_count == 0)
        add(value, "none");
}

/* In quotes, with escapes, so that it stands in one line and ends where it seems to end. */
static void add_quoted(struct value *value, struct text text)
{
    struct json_writer writer;
    struct text json = {0};
    json_writer_init(&writer, UINT32_MAX, value->arena);
    json_write_text(&writer, text);
    bool done = json_writer_done(&writer, &json);
    assert(done); /* a file has no other texts */
    (void)done;
    add_text(value, json);
}

/* As it stands in a file, if that is one line. */
static void add_expression(struct value *value, const struct expression *expression)
{
    if (expression == NULL)
        add(value, "none");
    else if (utf8_printable(expression->source))
        add_text(value, expression->source);
    else
        add_quoted(value, expression->source);
}

/* "${" as a file has it, where it begins no expression. */
static void add_literal(struct value *value, struct text text)
{
    for (uint32_t i = 0; i < text.size; i++) {
        if (text.size - i >= 2 && text.data[i] == '$' && text.data[i + 1] == '{')
            add(value, "$");
        add_text(value, (struct text){text.data + i, 1});
    }
}

/* A text with expressions in it, before it is quoted. */
static void add_parts(struct value *value, const struct expression_template *template)
{
    if (template->kind == TEMPLATE_DATA) {
        add_literal(value, template->data);
    } else if (template->kind == TEMPLATE_EXPRESSION) {
        add(value, "${");
        add_text(value, template->expression->source);
        add(value, "}");
    } else {
        for (const struct expression_template *at = template->first; at != NULL; at = at->next)
            add_parts(value, at);
    }
}

static void add_text_template(struct value *value, const struct expression_template *template)
{
    struct value text = {.arena = value->arena};
    add_parts(&text, template);
    add_quoted(value, text_of_value(&text));
}

/* As JSON, which is what may stand in a file. As deep as a file may be. */
static void add_template(struct value *value, const struct expression_template *template)
{
    if (template == NULL) {
        add(value, "none");
        return;
    }
    switch (template->kind) {
    case TEMPLATE_DATA:
        add_literal(value, template->data); /* JSON has "${" in texts alone */
        return;
    case TEMPLATE_EXPRESSION:
    case TEMPLATE_TEXT:
        add_text_template(value, template);
        return;
    case TEMPLATE_LIST:
    case TEMPLATE_MAP:
        add(value, "%s", template->kind == TEMPLATE_MAP ? "{" : "[");
        for (const struct expression_template *at = template->first; at != NULL; at = at->next) {
            if (template->kind == TEMPLATE_MAP) {
                add_quoted(value, at->name);
                add(value, ":");
            }
            add_template(value, at);
            add(value, "%s", at->next != NULL ? "," : "");
        }
        add(value, "%s", template->kind == TEMPLATE_MAP ? "}" : "]");
        return;
    }
    assert(false && "a kind of template");
}

/* LoanDeclined: "too risky" */
static void add_fail(struct value *value, const struct workflow_step *step)
{
    add(value, "%s%.*s", text_empty(step->fail.error) ? "none" : "", TEXT_ARG(step->fail.error));
    if (step->fail.message != NULL) {
        add(value, ": ");
        add_text_template(value, step->fail.message);
    }
}

/* "60 s", "until input.due, spread over 300 s" */
static void add_wait(struct value *value, const struct workflow_step *step)
{
    if (step->kind != STEP_KIND_WAIT) {
        add(value, "none");
        return;
    }
    if (step->wait.timestamp != NULL)
        add(value, "until %.*s", TEXT_ARG(step->wait.timestamp->source));
    else
        add(value, "%.*s s", TEXT_ARG(step->wait.seconds->source));
    if (step->wait.spread_ms > 0) {
        add(value, ", spread over ");
        add_seconds(value, step->wait.spread_ms);
    }
}

/* "a signal of managers, approve or decline: Refund ${input.amount} EUR?" */
static void add_await(struct value *value, const struct workflow_step *step)
{
    const struct text_list *options = &step->await.options;
    if (step->kind != STEP_KIND_AWAIT) {
        add(value, "none");
        return;
    }
    add(value, "a signal");
    if (!text_empty(step->await.from))
        add(value, " of %.*s", TEXT_ARG(step->await.from));
    for (uint32_t i = 0; i < options->count; i++)
        add(value, "%s%.*s",
            i == 0                   ? ", "
            : i + 1 < options->count ? ", "
                                     : " or ",
            TEXT_ARG(options->items[i]));
    if (step->await.question != NULL) {
        add(value, ": ");
        add_text_template(value, step->await.question);
    }
}

/* ---- fields ---- */

enum diff_field {
    AGENT,
    AFTER,
    WHEN,
    SET,
    FAIL,
    WAIT,
    AWAIT,
    INPUT,
    OUTPUT,
    UNTIL,
    TIMEOUT,
    MAX_EXTENSION,
    RETRY,
    CATCH,
    ON_EXHAUSTED,
    PIVOT,
    UNDO_ACTION,
    UNDO_TIMEOUT,
    UNDO_MAX_EXTENSION,
    UNDO_RETRY,
    UNDO_INPUT,
    FIELDS
};

static const char *const step_fields[FIELDS] = {
    [AGENT] = "Agent",
    [AFTER] = "After",
    [WHEN] = "When",
    [SET] = "Set",
    [FAIL] = "Fail",
    [WAIT] = "Wait",
    [AWAIT] = "Await",
    [INPUT] = "Input",
    [OUTPUT] = "Output",
    [UNTIL] = "Until",
    [TIMEOUT] = "TimeoutSeconds",
    [MAX_EXTENSION] = "MaxExtensionSeconds",
    [RETRY] = "Retry",
    [CATCH] = "Catch",
    [ON_EXHAUSTED] = "OnExhausted",
    [PIVOT] = "Pivot",
    [UNDO_ACTION] = "Compensate.Action",
    [UNDO_TIMEOUT] = "Compensate.TimeoutSeconds",
    [UNDO_MAX_EXTENSION] = "Compensate.MaxExtensionSeconds",
    [UNDO_RETRY] = "Compensate.Retry",
    [UNDO_INPUT] = "Compensate.Input",
};

/* A step that nothing undoes has no such fields. */
static void add_undo_field(struct value *value, const struct workflow_step *step,
                           enum diff_field field)
{
    if (!step->has_compensate)
        return;
    if (field == UNDO_ACTION)
        add(value, "%.*s", TEXT_ARG(step->compensate.action));
    else if (field == UNDO_TIMEOUT)
        add_seconds(value, step->compensate.timeout_ms);
    else if (field == UNDO_MAX_EXTENSION)
        add_seconds(value, step->compensate.max_extension_ms);
    else if (field == UNDO_RETRY)
        add_retry(value, &step->compensate.retry);
    else if (step->compensate.input != NULL)
        add_template(value, step->compensate.input);
}

static void add_field(struct value *value, const struct workflow *workflow, uint32_t index,
                      enum diff_field field)
{
    const struct workflow_step *step = &workflow->steps[index];
    switch (field) {
    case AGENT:
        add_agents(value, step);
        return;
    case AFTER:
        add_after(value, workflow, step->after);
        return;
    case WHEN:
        add_expression(value, step->when);
        return;
    case SET:
        add_template(value, step->set);
        return;
    case FAIL:
        add_fail(value, step);
        return;
    case WAIT:
        add_wait(value, step);
        return;
    case AWAIT:
        add_await(value, step);
        return;
    case INPUT:
        add_template(value, step->input);
        return;
    case OUTPUT:
        add_template(value, step->output);
        return;
    case UNTIL:
        add_expression(value, step->until);
        return;
    case TIMEOUT:
        add_seconds(value, step->timeout_ms);
        return;
    case MAX_EXTENSION:
        add_seconds(value, step->max_extension_ms);
        return;
    case RETRY:
        add_retry(value, &step->retry);
        return;
    case CATCH:
        add_catch(value, step);
        return;
    case ON_EXHAUSTED:
        add(value, "%s", outcome_word(step->on_exhausted));
        return;
    case PIVOT:
        add(value, "%s", step->pivot ? "yes" : "no");
        return;
    case UNDO_ACTION:
    case UNDO_TIMEOUT:
    case UNDO_MAX_EXTENSION:
    case UNDO_RETRY:
    case UNDO_INPUT:
        add_undo_field(value, step, field);
        return;
    case FIELDS:
        break;
    }
    assert(false && "a field of a step");
}

static struct text field_of(const struct workflow *workflow, uint32_t index, enum diff_field field,
                            struct arena *arena)
{
    struct value value = {.arena = arena};
    add_field(&value, workflow, index, field);
    return text_of_value(&value);
}

/* ---- comparing ---- */

struct differences {
    struct workflow_difference *items;
    uint32_t count;
    struct arena *arena;
};

static void differ(struct differences *differences, struct text step, const char *field,
                   struct text left, struct text right)
{
    differences->items[differences->count++] =
        (struct workflow_difference){step, field, left, right, NULL};
}

static int find_step(const struct workflow *workflow, struct text name)
{
    for (uint32_t i = 0; i < workflow->step_count; i++) {
        if (text_equal(workflow->steps[i].name, name))
            return (int)i;
    }
    return -1;
}

static void compare_timeouts(struct differences *differences, const struct workflow *left,
                             const struct workflow *right)
{
    struct value values[2] = {{.arena = differences->arena}, {.arena = differences->arena}};
    struct text none = {0};
    if (left->timeout_ms == right->timeout_ms)
        return;
    add_seconds(&values[0], left->timeout_ms);
    add_seconds(&values[1], right->timeout_ms);
    differ(differences, none, "TimeoutSeconds",
           left->timeout_ms == 0 ? none : text_of_value(&values[0]),
           right->timeout_ms == 0 ? none : text_of_value(&values[1]));
}

static void compare_outputs(struct differences *differences, const struct workflow *left,
                            const struct workflow *right)
{
    struct text texts[2], none = {0};
    const struct expression_template *const templates[2] = {left->output, right->output};
    for (int i = 0; i < 2; i++) {
        struct value value = {.arena = differences->arena};
        add_template(&value, templates[i]);
        texts[i] = text_of_value(&value);
    }
    if (!text_equal(texts[0], texts[1]))
        differ(differences, none, "Output", left->output == NULL ? none : texts[0],
               right->output == NULL ? none : texts[1]);
}

/* With Input, the requests of a step carry its data instead of the order's. */
static const char *warning_of(const struct workflow_step *left, const struct workflow_step *right,
                              enum diff_field field)
{
    if (left->agent_count == 0 || right->agent_count == 0)
        return NULL;
    if (field == INPUT && left->input == NULL)
        return "the agent no longer gets outputs and lines, nor the order's input: put all that "
               "its service reads into Input";
    if (field == INPUT && right->input == NULL)
        return "the agent gets the whole order again, with lines, input and outputs, instead of "
               "what Input makes: have its service read from those";
    /* An undo without an Input of its own gets that of its step. */
    if (field != UNDO_INPUT || left->input != NULL || right->input != NULL ||
        !left->has_compensate || !right->has_compensate)
        return NULL;
    if (left->compensate.input == NULL)
        return "the undo no longer gets lines, the order's input and the outputs of other steps: "
               "put all that its service reads into Compensate.Input";
    if (right->compensate.input == NULL)
        return "the undo gets the whole order again, with lines, input and outputs, instead of "
               "what Compensate.Input makes: have its service read from those";
    return NULL;
}

static void compare_steps(struct differences *differences, const struct workflow *left, uint32_t i,
                          const struct workflow *right, uint32_t j)
{
    for (uint32_t field = 0; field < FIELDS; field++) {
        struct text a = field_of(left, i, (enum diff_field)field, differences->arena);
        struct text b = field_of(right, j, (enum diff_field)field, differences->arena);
        if (text_equal(a, b))
            continue;
        differ(differences, left->steps[i].name, step_fields[field], a, b);
        differences->items[differences->count - 1].warning =
            warning_of(&left->steps[i], &right->steps[j], (enum diff_field)field);
    }
}

/* ---- InputShape ---- */

/* It and all that it consists of. */
static uint32_t shape_size(const struct shape *shape)
{
    if (shape == NULL)
        return 0;
    uint32_t size = 1 + shape_size(shape->element);
    for (uint32_t i = 0; i < shape->member_count; i++)
        size += shape_size(&shape->members[i]);
    return size;
}

/* "number?"; NULL: it is not there. */
static struct text shape_word(const struct shape *shape, struct arena *arena)
{
    struct value value = {.arena = arena};
    if (shape != NULL)
        add(&value, "%s%s", shape_kind_name(shape->kind), shape->optional ? "?" : "");
    return text_of_value(&value);
}

/* "InputShape.items[].sku" */
static const char *shape_path(const char *parent, const struct shape *member, struct arena *arena)
{
    struct value value = {.arena = arena};
    add_text(&value, text_of(parent));
    if (member != NULL) {
        add(&value, ".");
        add_text(&value, member->name);
    } else {
        add(&value, "[]");
    }
    return value.data;
}

static void compare_shapes(struct differences *differences, const char *path,
                           const struct shape *left, const struct shape *right);

/* Both are sorted. */
static void compare_members(struct differences *differences, const char *path,
                            const struct shape *left, const struct shape *right)
{
    uint32_t l = 0, r = 0;
    while (l < left->member_count || r < right->member_count) {
        const struct shape *a = l < left->member_count ? &left->members[l] : NULL;
        const struct shape *b = r < right->member_count ? &right->members[r] : NULL;
        int order = a == NULL ? 1 : b == NULL ? -1 : text_compare(a->escaped, b->escaped);
        a = order <= 0 ? a : NULL;
        b = order >= 0 ? b : NULL;
        compare_shapes(differences, shape_path(path, a != NULL ? a : b, differences->arena), a, b);
        l += order <= 0;
        r += order >= 0;
    }
}

/* As deep as a shape may be. NULL: it is not there. */
static void compare_shapes(struct differences *differences, const char *path,
                           const struct shape *left, const struct shape *right)
{
    static const struct text whole = {0};
    struct text a = shape_word(left, differences->arena);
    struct text b = shape_word(right, differences->arena);
    if (!text_equal(a, b))
        differ(differences, whole, path, a, b);
    if (left == NULL || right == NULL || left->kind != right->kind)
        return;
    if (left->kind == SHAPE_MAP)
        compare_members(differences, path, left, right);
    else if (left->kind == SHAPE_LIST)
        compare_shapes(differences, shape_path(path, NULL, differences->arena), left->element,
                       right->element);
}

uint32_t workflow_diff(const struct workflow *left, const struct workflow *right,
                       struct arena *arena, const struct workflow_difference **ret_differences)
{
    uint32_t most = 2 + left->step_count * FIELDS + right->step_count +
                    shape_size(left->input_shape) + shape_size(right->input_shape);
    struct differences differences = {ARENA_ARRAY(arena, struct workflow_difference, most), 0,
                                      arena};
    struct text none = {0};
    compare_timeouts(&differences, left, right);
    compare_shapes(&differences, "InputShape", left->input_shape, right->input_shape);
    compare_outputs(&differences, left, right);
    for (uint32_t i = 0; i < left->step_count; i++) {
        int j = find_step(right, left->steps[i].name);
        if (j < 0)
            differ(&differences, left->steps[i].name, "Step", TEXT("present"), none);
        else
            compare_steps(&differences, left, i, right, (uint32_t)j);
    }
    for (uint32_t j = 0; j < right->step_count; j++) {
        if (find_step(left, right->steps[j].name) < 0)
            differ(&differences, right->steps[j].name, "Step", none, TEXT("present"));
    }
    assert(differences.count <= most);
    *ret_differences = differences.items;
    return differences.count;
}

uint32_t workflow_diff_warnings(const struct workflow *left, const struct workflow *right,
                                struct arena *arena, const struct text **ret_texts)
{
    const struct workflow_difference *differences;
    uint32_t count = workflow_diff(left, right, arena, &differences);
    uint32_t warned = 0;
    struct text *texts = ARENA_ARRAY(arena, struct text, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        struct value value = {.arena = arena};
        if (differences[i].warning == NULL)
            continue;
        add(&value, "step %.*s, from version %u to %u: %s", TEXT_ARG(differences[i].step),
            left->version, right->version, differences[i].warning);
        texts[warned++] = text_of_value(&value);
    }
    *ret_texts = texts;
    return warned;
}
