/* SPDX-License-Identifier: Apache-2.0 */
#include "workflow/diff_values.h"

#include "base/json.h"
#include "base/utf8.h"
#include "workflow/fields.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define BIT(index) (UINT64_C(1) << (index))

/* ---- values as text ---- */

struct text diff_value_text(const struct diff_value *value)
{
    return (struct text){value->data, (uint32_t)value->size};
}

void diff_add_text(struct diff_value *value, struct text text)
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
void diff_add(struct diff_value *value, const char *format, ...)
{
    char words[512];
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(words, sizeof(words), format, arguments);
    va_end(arguments);
    assert(size >= 0 && (size_t)size < sizeof(words));
    diff_add_text(value, (struct text){words, (uint32_t)size});
}

/* "0.2 s" */
void diff_add_seconds(struct diff_value *value, int64_t ms)
{
    diff_add(value, "%lld", (long long)(ms / 1000));
    if (ms % 1000 != 0) {
        int digits = 3;
        long long fraction = ms % 1000;
        for (; fraction % 10 == 0; digits--)
            fraction /= 10;
        diff_add(value, ".%0*lld", digits, fraction);
    }
    diff_add(value, " s");
}

static int compare_names(const void *a, const void *b)
{
    return text_compare(*(const struct text *)a, *(const struct text *)b);
}

/* Sorted: as sets, in whichever order the file has them. */
static void add_set(struct diff_value *value, struct text *names, uint32_t count)
{
    if (count > 1)
        qsort(names, count, sizeof(names[0]), compare_names);
    for (uint32_t i = 0; i < count; i++)
        diff_add(value, "%s%.*s", i > 0 ? ", " : "", TEXT_ARG(names[i]));
}

static void add_agents(struct diff_value *value, const struct workflow_step *step)
{
    struct text names[STEP_AGENTS_MAX];
    assert(step->agent_count <= STEP_AGENTS_MAX);
    if (step->agent_count > 0) /* a step without an agent has no list */
        memcpy(names, step->agents, sizeof(names[0]) * step->agent_count);
    add_set(value, names, step->agent_count);
}

static void add_after(struct diff_value *value, const struct workflow *workflow, uint64_t after)
{
    struct text names[WORKFLOW_STEPS_MAX];
    uint32_t count = 0;
    for (uint32_t i = 0; i < workflow->step_count; i++) {
        if ((after & BIT(i)) != 0)
            names[count++] = workflow->steps[i].name;
    }
    add_set(value, names, count);
    if (count == 0)
        diff_add(value, "none");
}

/* In their order: it decides in which one an error that two match is counted. */
static void add_errors(struct diff_value *value, const struct error_set *errors)
{
    for (uint32_t i = 0; i < errors->count; i++)
        diff_add(value, "%s%.*s", i > 0 ? ", " : "", TEXT_ARG(errors->names[i]));
}

static void add_retry(struct diff_value *value, const struct retry_policy *policy)
{
    for (uint32_t i = 0; i < policy->count; i++) {
        const struct retrier *retrier = &policy->retriers[i];
        diff_add(value, "%s", i > 0 ? "; " : "");
        add_errors(value, &retrier->errors);
        diff_add(value, ": %u after ", retrier->max_attempts);
        diff_add_seconds(value, retrier->interval_ms);
        diff_add(value, " x %u.%03u", retrier->backoff_rate_milli / 1000,
                 retrier->backoff_rate_milli % 1000);
        if (retrier->max_delay_ms != 0) {
            diff_add(value, ", at most ");
            diff_add_seconds(value, retrier->max_delay_ms);
        }
        if (retrier->jitter == JITTER_NONE)
            diff_add(value, ", no jitter");
    }
    if (policy->count == 0)
        diff_add(value, "none");
}

static void add_catch(struct diff_value *value, const struct workflow_step *step)
{
    for (uint32_t i = 0; i < step->catcher_count; i++) {
        diff_add(value, "%s", i > 0 ? "; " : "");
        add_errors(value, &step->catchers[i].errors);
        diff_add(value, " -> %s", next_words.names[step->catchers[i].next]);
    }
    if (step->catcher_count == 0)
        diff_add(value, "none");
}

/* In quotes, with escapes, so that it stands in one line and ends where it seems to end. */
static void add_quoted(struct diff_value *value, struct text text)
{
    struct json_writer writer;
    struct text json = {0};
    json_writer_init(&writer, UINT32_MAX, value->arena);
    json_write_text(&writer, text);
    bool done = json_writer_done(&writer, &json);
    assert(done); /* a file has no other texts */
    (void)done;
    diff_add_text(value, json);
}

/* As it stands in a file, if that is one line. */
static void add_expression(struct diff_value *value, const struct expression *expression)
{
    if (expression == NULL)
        diff_add(value, "none");
    else if (utf8_printable(expression->source))
        diff_add_text(value, expression->source);
    else
        add_quoted(value, expression->source);
}

/* "${" as a file has it, where it begins no expression. */
static void add_literal(struct diff_value *value, struct text text)
{
    for (uint32_t i = 0; i < text.size; i++) {
        if (text.size - i >= 2 && text.data[i] == '$' && text.data[i + 1] == '{')
            diff_add(value, "$");
        diff_add_text(value, (struct text){text.data + i, 1});
    }
}

/* A text with expressions in it, before it is quoted. */
static void add_parts(struct diff_value *value, const struct expression_template *template)
{
    if (template->kind == TEMPLATE_DATA) {
        add_literal(value, template->data);
    } else if (template->kind == TEMPLATE_EXPRESSION) {
        diff_add(value, "${");
        diff_add_text(value, template->expression->source);
        diff_add(value, "}");
    } else {
        for (const struct expression_template *at = template->first; at != NULL; at = at->next)
            add_parts(value, at);
    }
}

static void add_text_template(struct diff_value *value, const struct expression_template *template)
{
    struct diff_value text = {.arena = value->arena};
    add_parts(&text, template);
    add_quoted(value, diff_value_text(&text));
}

/* As JSON, which is what may stand in a file. As deep as a file may be. */
void diff_add_template(struct diff_value *value, const struct expression_template *template)
{
    if (template == NULL) {
        diff_add(value, "none");
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
        diff_add(value, "%s", template->kind == TEMPLATE_MAP ? "{" : "[");
        for (const struct expression_template *at = template->first; at != NULL; at = at->next) {
            if (template->kind == TEMPLATE_MAP) {
                add_quoted(value, at->name);
                diff_add(value, ":");
            }
            diff_add_template(value, at);
            diff_add(value, "%s", at->next != NULL ? "," : "");
        }
        diff_add(value, "%s", template->kind == TEMPLATE_MAP ? "}" : "]");
        return;
    }
    assert(false && "a kind of template");
}

/* LoanDeclined: "too risky" */
static void add_fail(struct diff_value *value, const struct workflow_step *step)
{
    diff_add(value, "%s%.*s", text_empty(step->fail.error) ? "none" : "",
             TEXT_ARG(step->fail.error));
    if (step->fail.message != NULL) {
        diff_add(value, ": ");
        add_text_template(value, step->fail.message);
    }
}

/* "60 s", "until input.due, spread over 300 s" */
static void add_wait(struct diff_value *value, const struct workflow_step *step)
{
    if (step->kind != STEP_KIND_WAIT) {
        diff_add(value, "none");
        return;
    }
    if (step->wait.timestamp != NULL)
        diff_add(value, "until %.*s", TEXT_ARG(step->wait.timestamp->source));
    else
        diff_add(value, "%.*s s", TEXT_ARG(step->wait.seconds->source));
    if (step->wait.spread_ms > 0) {
        diff_add(value, ", spread over ");
        diff_add_seconds(value, step->wait.spread_ms);
    }
}

/* "a signal of managers, approve or decline: Refund ${input.amount} EUR?" */
static void add_await(struct diff_value *value, const struct workflow_step *step)
{
    const struct text_list *options = &step->await.options;
    if (step->kind != STEP_KIND_AWAIT) {
        diff_add(value, "none");
        return;
    }
    diff_add(value, "a signal");
    if (!text_empty(step->await.from))
        diff_add(value, " of %.*s", TEXT_ARG(step->await.from));
    for (uint32_t i = 0; i < options->count; i++)
        diff_add(value, "%s%.*s",
                 i == 0                   ? ", "
                 : i + 1 < options->count ? ", "
                                          : " or ",
                 TEXT_ARG(options->items[i]));
    if (step->await.question != NULL) {
        diff_add(value, ": ");
        add_text_template(value, step->await.question);
    }
}

/* ---- fields ---- */

static const char *const step_fields[DIFF_FIELD_COUNT] = {
    [DIFF_AGENT] = "Agent",
    [DIFF_AFTER] = "After",
    [DIFF_WHEN] = "When",
    [DIFF_SET] = "Set",
    [DIFF_FAIL] = "Fail",
    [DIFF_WAIT] = "Wait",
    [DIFF_AWAIT] = "Await",
    [DIFF_ITEMS] = "ForEach.Items",
    [DIFF_MAX_CONCURRENCY] = "ForEach.MaxConcurrency",
    [DIFF_TOLERATED_FAILURES] = "ForEach.ToleratedFailureCount",
    [DIFF_STOP_WHEN] = "ForEach.StopWhen",
    [DIFF_PRIORITY] = "ForEach.Priority",
    [DIFF_INPUT] = "Input",
    [DIFF_OUTPUT] = "Output",
    [DIFF_UNTIL] = "Until",
    [DIFF_TIMEOUT] = "TimeoutSeconds",
    [DIFF_MAX_EXTENSION] = "MaxExtensionSeconds",
    [DIFF_RETRY] = "Retry",
    [DIFF_CATCH] = "Catch",
    [DIFF_ON_EXHAUSTED] = "OnExhausted",
    [DIFF_PIVOT] = "Pivot",
    [DIFF_UNDO_ACTION] = "Compensate.Action",
    [DIFF_UNDO_TIMEOUT] = "Compensate.TimeoutSeconds",
    [DIFF_UNDO_MAX_EXTENSION] = "Compensate.MaxExtensionSeconds",
    [DIFF_UNDO_RETRY] = "Compensate.Retry",
    [DIFF_UNDO_INPUT] = "Compensate.Input",
};

const char *diff_field_name(enum diff_field field)
{
    assert((unsigned)field < DIFF_FIELD_COUNT);
    return step_fields[field];
}

/* A step without ForEach has no such fields. */
static void add_for_each(struct diff_value *value, const struct workflow_step *step,
                         enum diff_field field)
{
    if (!step->suborders.for_each)
        diff_add(value, "none");
    else if (field == DIFF_STOP_WHEN)
        add_expression(value, step->suborders.stop_when);
    else if (field == DIFF_ITEMS && step->suborders.items != NULL)
        add_expression(value, step->suborders.items);
    else if (field == DIFF_ITEMS)
        diff_add_template(value, step->suborders.list);
    else if (field == DIFF_PRIORITY && step->suborders.has_priority)
        diff_add(value, "%s", priority_names.names[step->suborders.priority]);
    else if (field == DIFF_PRIORITY)
        diff_add(value, "that of the order");
    else if (field == DIFF_MAX_CONCURRENCY && step->suborders.max_concurrency == 0)
        diff_add(value, "no limit");
    else if (field == DIFF_MAX_CONCURRENCY)
        diff_add(value, "%u", step->suborders.max_concurrency);
    else if (step->suborders.tolerated_failures == UINT32_MAX)
        diff_add(value, "all");
    else
        diff_add(value, "%u", step->suborders.tolerated_failures);
}

/* That of Steps is their body's. */
static const struct expression_template *output_of(const struct workflow_step *step)
{
    return step->suborders.body != NULL ? step->suborders.body->output : step->output;
}

static void add_timeout(struct diff_value *value, const struct workflow_step *step)
{
    if (step->suborders.body != NULL && step->timeout_ms == DURATION_MS_MAX)
        diff_add(value, "none"); /* as without one */
    else
        diff_add_seconds(value, step->timeout_ms);
}

/* A step that nothing undoes has no such fields. */
static void add_undo_field(struct diff_value *value, const struct workflow_step *step,
                           enum diff_field field)
{
    if (!step->has_compensate)
        return;
    if (field == DIFF_UNDO_ACTION)
        diff_add(value, "%.*s", TEXT_ARG(step->compensate.action));
    else if (field == DIFF_UNDO_TIMEOUT)
        diff_add_seconds(value, step->compensate.timeout_ms);
    else if (field == DIFF_UNDO_MAX_EXTENSION)
        diff_add_seconds(value, step->compensate.max_extension_ms);
    else if (field == DIFF_UNDO_RETRY)
        add_retry(value, &step->compensate.retry);
    else if (step->compensate.input != NULL)
        diff_add_template(value, step->compensate.input);
}

/* Of its ForEach, or of what undoes it. */
static void add_part_field(struct diff_value *value, const struct workflow_step *step,
                           enum diff_field field)
{
    if (field <= DIFF_PRIORITY)
        add_for_each(value, step, field);
    else
        add_undo_field(value, step, field);
}

static void add_field(struct diff_value *value, const struct workflow *workflow, uint32_t index,
                      enum diff_field field)
{
    const struct workflow_step *step = &workflow->steps[index];
    switch (field) {
    case DIFF_AGENT:
        add_agents(value, step);
        return;
    case DIFF_AFTER:
        add_after(value, workflow, step->after);
        return;
    case DIFF_WHEN:
        add_expression(value, step->when);
        return;
    case DIFF_SET:
        diff_add_template(value, step->set);
        return;
    case DIFF_FAIL:
        add_fail(value, step);
        return;
    case DIFF_WAIT:
        add_wait(value, step);
        return;
    case DIFF_AWAIT:
        add_await(value, step);
        return;
    case DIFF_INPUT:
        diff_add_template(value, step->input);
        return;
    case DIFF_OUTPUT:
        diff_add_template(value, output_of(step));
        return;
    case DIFF_UNTIL:
        add_expression(value, step->until);
        return;
    case DIFF_TIMEOUT:
        add_timeout(value, step);
        return;
    case DIFF_MAX_EXTENSION:
        diff_add_seconds(value, step->max_extension_ms);
        return;
    case DIFF_RETRY:
        add_retry(value, &step->retry);
        return;
    case DIFF_CATCH:
        add_catch(value, step);
        return;
    case DIFF_ON_EXHAUSTED:
        diff_add(value, "%s", on_exhausted_words.names[step->on_exhausted]);
        return;
    case DIFF_PIVOT:
        diff_add(value, "%s", step->pivot ? "yes" : "no");
        return;
    case DIFF_ITEMS:
    case DIFF_MAX_CONCURRENCY:
    case DIFF_TOLERATED_FAILURES:
    case DIFF_STOP_WHEN:
    case DIFF_PRIORITY:
    case DIFF_UNDO_ACTION:
    case DIFF_UNDO_TIMEOUT:
    case DIFF_UNDO_MAX_EXTENSION:
    case DIFF_UNDO_RETRY:
    case DIFF_UNDO_INPUT:
        add_part_field(value, step, field);
        return;
    case DIFF_FIELD_COUNT:
        break;
    }
    assert(false && "a field of a step");
}

struct text diff_field_of(const struct workflow *workflow, uint32_t index, enum diff_field field,
                          struct arena *arena)
{
    struct diff_value value = {.arena = arena};
    add_field(&value, workflow, index, field);
    return diff_value_text(&value);
}
