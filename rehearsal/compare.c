/* SPDX-License-Identifier: Apache-2.0 */
/* What came of a case, against what was expected. */
#include "rehearsal/fields.h"
#include "rehearsal/rehearsal.h"

#include <assert.h>
#include <stdio.h>

enum {
    DIFFERENCES_MAX = 8 + WORKFLOW_STEPS_MAX * 6,
    WHAT_SIZE = 32 + NAME_BYTES_MAX,
};

struct comparison {
    struct arena *arena;
    struct rehearsal_difference *differences;
    uint32_t count;
};

/* "none" where there is nothing. `group` is that of `step`; NULL: none. */
static void compare(struct comparison *comparison, const char *group, struct text step,
                    struct text expected, struct text actual)
{
    char what[WHAT_SIZE];
    if (text_equal(expected, actual))
        return;
    assert(comparison->count < DIFFERENCES_MAX);
    int size = snprintf(what, sizeof(what), "%s%s%.*s", group, text_empty(step) ? "" : ".",
                        TEXT_ARG(step));
    assert(size > 0 && (size_t)size < sizeof(what));
    comparison->differences[comparison->count++] = (struct rehearsal_difference){
        .what = arena_text(comparison->arena, (struct text){what, (uint32_t)size}),
        .expected = text_empty(expected) ? TEXT("none") : expected,
        .actual = text_empty(actual) ? TEXT("none") : actual};
}

static struct text number_text(struct comparison *comparison, int64_t number)
{
    char text[24];
    int size = snprintf(text, sizeof(text), "%lld", (long long)number);
    return arena_text(comparison->arena, (struct text){text, (uint32_t)size});
}

/* "A, undo B" */
static struct text join(struct comparison *comparison, const struct text *items, uint32_t count)
{
    uint32_t size = 0;
    for (uint32_t i = 0; i < count; i++)
        size += items[i].size + 2;
    char *joined = arena_bytes(comparison->arena, size + 1);
    uint32_t at = 0;
    for (uint32_t i = 0; i < count; i++)
        at += (uint32_t)snprintf(joined + at, size + 1 - at, "%s%.*s", i > 0 ? ", " : "",
                                 TEXT_ARG(items[i]));
    return (struct text){joined, at};
}

static void compare_step(struct comparison *comparison, const struct rehearsal *rehearsal,
                         uint32_t index, struct text name,
                         const struct case_step_expected *expected)
{
    static const enum case_field inputs[] = {
        [DIRECTION_DO] = CASE_FIELD_INPUTS, [DIRECTION_UNDO] = CASE_FIELD_UNDO_INPUTS};
    static const struct step none = {0};
    const struct step *step = rehearsal->accepted ? &rehearsal->order.steps[index] : &none;
    struct text state = rehearsal->accepted ? text_of(step_state_name(step->state)) : TEXT("");
    if (expected->state >= 0)
        compare(comparison, case_field_name(CASE_FIELD_STEPS), name,
                text_of(step_state_name((enum step_state)expected->state)), state);
    if (expected->attempts >= 0)
        compare(comparison, case_field_name(CASE_FIELD_ATTEMPTS), name,
                number_text(comparison, expected->attempts),
                number_text(comparison, rehearsal->attempts[index]));
    for (int direction = 0; direction < DIRECTION_COUNT; direction++) {
        if (!text_empty(expected->input[direction]))
            compare(comparison, case_field_name(inputs[direction]), name,
                    expected->input[direction], rehearsal->inputs[direction][index]);
    }
    /* The engine keeps null as an empty text, and only a step that is done has an output. */
    struct text output =
        step->state == STEP_PROCESSED && text_empty(step->output) ? TEXT("null") : step->output;
    if (!text_empty(expected->output))
        compare(comparison, case_field_name(CASE_FIELD_OUTPUTS), name, expected->output, output);
    if (!text_empty(expected->error_name))
        compare(comparison, case_field_name(CASE_FIELD_ERRORS), name, expected->error_name,
                step->error_name);
}

static void compare_list(struct comparison *comparison, const char *what,
                         const struct case_list *expected, const struct rehearsal_texts *actual)
{
    struct text none = {0};
    compare(comparison, what, none, join(comparison, expected->items, expected->count),
            join(comparison, actual->items, actual->count));
}

static void compare_order(struct comparison *comparison, const struct case_expected *expected,
                          const struct rehearsal *rehearsal)
{
    const struct order *order = &rehearsal->order;
    struct text none = {0};
    struct text state = rehearsal->accepted ? text_of(order_state_name(order->state)) : none;
    if (expected->state >= 0)
        compare(comparison, case_field_name(CASE_FIELD_STATE), none,
                text_of(order_state_name((enum order_state)expected->state)), state);
    if (!text_empty(expected->reason_code))
        compare(comparison, case_field_name(CASE_FIELD_REASON), none, expected->reason_code,
                order->reason_code);
    if (expected->path.given)
        compare_list(comparison, case_field_name(CASE_FIELD_PATH), &expected->path,
                     &rehearsal->path);
    if (!text_empty(expected->output))
        compare(comparison, case_field_name(CASE_FIELD_OUTPUT), none, expected->output,
                text_empty(order->output) ? order->output_problem : order->output);
    compare_list(comparison, case_field_name(CASE_FIELD_REFUSED), &expected->refused,
                 &rehearsal->refused);
    if (rehearsal->endless)
        compare(comparison, "Decisions", none, TEXT("an end"), TEXT("no end of them"));
}

const struct rehearsal_difference *rehearsal_compare(const struct test_case *test,
                                                     const struct workflow *workflow,
                                                     const struct rehearsal *rehearsal,
                                                     struct arena *arena, uint32_t *ret_count)
{
    struct comparison comparison = {
        .arena = arena,
        .differences = ARENA_ARRAY(arena, struct rehearsal_difference, DIFFERENCES_MAX)};
    compare_order(&comparison, &test->expected, rehearsal);
    for (uint32_t i = 0; i < workflow->step_count; i++)
        compare_step(&comparison, rehearsal, i, workflow->steps[i].name, &test->expected.steps[i]);
    *ret_count = comparison.count;
    return comparison.differences;
}
