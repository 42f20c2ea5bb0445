/* SPDX-License-Identifier: Apache-2.0 */
/* What came of a case, against what was expected. */
#include "base/json.h"
#include "rehearsal/case_reader.h"
#include "rehearsal/rehearsal.h"

#include <assert.h>
#include <stdio.h>

enum {
    WHAT_SIZE = 32 + 4 * (NAME_BYTES_MAX + 6),
    PLACES_MAX = 12, /* in one value, or among sub-orders, that are shown one by one */
};

struct comparison {
    struct arena *arena;
    struct rehearsal_difference *differences;
    uint32_t count;
    uint32_t capacity;
};

/* "none" where there is nothing. */
static void add(struct comparison *comparison, struct text what, struct text expected,
                struct text actual)
{
    if (comparison->count == comparison->capacity) {
        uint32_t capacity = comparison->capacity > 0 ? 2 * comparison->capacity : 16;
        struct rehearsal_difference *differences =
            ARENA_ARRAY(comparison->arena, struct rehearsal_difference, capacity);
        if (comparison->count > 0)
            memcpy(differences, comparison->differences, comparison->count * sizeof(*differences));
        comparison->differences = differences;
        comparison->capacity = capacity;
    }
    comparison->differences[comparison->count++] =
        (struct rehearsal_difference){.what = what,
                                      .expected = text_empty(expected) ? TEXT("none") : expected,
                                      .actual = text_empty(actual) ? TEXT("none") : actual};
}

/* "Outputs.Price"; `group` alone without a step. */
static struct text what_of(const struct comparison *comparison, const char *group, struct text step)
{
    char what[WHAT_SIZE];
    int size = snprintf(what, sizeof(what), "%s%s%.*s", group, text_empty(step) ? "" : ".",
                        TEXT_ARG(step));
    assert(size > 0 && (size_t)size < sizeof(what));
    return arena_text(comparison->arena, (struct text){what, (uint32_t)size});
}

static void compare(struct comparison *comparison, const char *group, struct text step,
                    struct text expected, struct text actual)
{
    if (!text_equal(expected, actual))
        add(comparison, what_of(comparison, group, step), expected, actual);
}

/* ---- data ---- */

/* The places in which two values differ. */
struct places {
    struct arena *arena;
    struct text root;      /* what the values as a whole are */
    struct json_path path; /* of what is compared */
    struct rehearsal_difference found[PLACES_MAX];
    uint32_t count; /* beyond PLACES_MAX: too many to show */
};

static void add_place(struct places *places, struct text expected, struct text actual)
{
    char path[JSON_PATH_SIZE];
    char what[WHAT_SIZE + JSON_PATH_SIZE];
    if (places->count < PLACES_MAX) {
        json_path_format(&places->path, "", path);
        int size = snprintf(what, sizeof(what), "%.*s%s", TEXT_ARG(places->root), path);
        assert(size > 0 && (size_t)size < sizeof(what));
        places->found[places->count] = (struct rehearsal_difference){
            arena_text(places->arena, (struct text){what, (uint32_t)size}), expected, actual};
    }
    places->count++;
}

static void find_places(struct places *places, struct json_value expected,
                        struct json_value actual);

static void find_in(struct places *places, struct text name, uint32_t index,
                    struct json_value expected, struct json_value actual)
{
    assert(places->path.depth < JSON_ENVELOPE_DEPTH_MAX);
    places->path.levels[places->path.depth++] = (struct json_path_level){name, index};
    find_places(places, expected, actual);
    places->path.depth--;
}

/* Of two members; a map without one is at its end. */
static int compare_names(struct arena *arena, const struct json_items *left, bool in_left,
                         const struct json_items *right, bool in_right)
{
    if (!in_left || !in_right)
        return in_left ? -1 : 1;
    return text_compare(json_unescape(left->name, arena), json_unescape(right->name, arena));
}

/* Both are in the order of their names. */
static void find_in_maps(struct places *places, struct json_value expected,
                         struct json_value actual)
{
    struct json_items left, right;
    struct json_value none = {0};
    json_items_begin(&left, expected);
    json_items_begin(&right, actual);
    bool in_left = json_items_next(&left, NULL), in_right = json_items_next(&right, NULL);
    while (in_left || in_right) {
        int order = compare_names(places->arena, &left, in_left, &right, in_right);
        struct text name = order <= 0 ? left.name : right.name;
        find_in(places, name, 0, order <= 0 ? left.value : none, order >= 0 ? right.value : none);
        in_left = order <= 0 ? json_items_next(&left, NULL) : in_left;
        in_right = order >= 0 ? json_items_next(&right, NULL) : in_right;
    }
}

static void find_in_lists(struct places *places, struct json_value expected,
                          struct json_value actual)
{
    struct json_items left, right;
    struct json_value none = {0};
    struct text no_name = {0};
    json_items_begin(&left, expected);
    json_items_begin(&right, actual);
    bool in_left = json_items_next(&left, NULL), in_right = json_items_next(&right, NULL);
    for (uint32_t index = 0; in_left || in_right; index++) {
        find_in(places, no_name, index, in_left ? left.value : none, in_right ? right.value : none);
        in_left = in_left && json_items_next(&left, NULL);
        in_right = in_right && json_items_next(&right, NULL);
    }
}

/* Recurses as deep as JSON may be. */
static void find_places(struct places *places, struct json_value expected, struct json_value actual)
{
    enum json_kind kind = json_value_kind(expected);
    struct text left = expected.at != NULL ? json_value_text(expected, NULL) : TEXT("");
    struct text right = actual.at != NULL ? json_value_text(actual, NULL) : TEXT("");
    if (text_equal(left, right) || places->count > PLACES_MAX)
        return;
    if (kind == JSON_KIND_MAP && json_value_kind(actual) == JSON_KIND_MAP)
        find_in_maps(places, expected, actual);
    else if (kind == JSON_KIND_LIST && json_value_kind(actual) == JSON_KIND_LIST)
        find_in_lists(places, expected, actual);
    else
        add_place(places, left, right);
}

/* Canonical JSON; shown is what differs within it, or all of it where that is much. */
static void compare_data(struct comparison *comparison, const char *group, struct text step,
                         struct text expected, struct text actual)
{
    if (text_equal(expected, actual))
        return;
    struct text what = what_of(comparison, group, step);
    struct places places = {.arena = comparison->arena, .root = what};
    if (text_empty(expected) || text_empty(actual)) {
        add(comparison, what, expected, actual);
        return;
    }
    find_places(&places, json_value_of(expected), json_value_of(actual));
    if (places.count == 0 || places.count > PLACES_MAX)
        add(comparison, what, expected, actual);
    for (uint32_t i = 0; i < places.count && places.count <= PLACES_MAX; i++)
        add(comparison, places.found[i].what, places.found[i].expected, places.found[i].actual);
}

/* ---- what is compared ---- */

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

/* The engine keeps null as an empty text, and only a step that is done has an output. */
static struct text output_of(const struct step *step)
{
    return step->state == STEP_PROCESSED && text_empty(step->output) ? TEXT("null") : step->output;
}

/* At one place; NULL: no order was submitted there. `name` is the step there, or the sub-order. */
static void compare_at(struct comparison *comparison, const struct case_expectation *expectation,
                       const struct rehearsal_place *place, struct text name)
{
    static const struct step no_step = {0};
    const char *group = case_aspect_name(expectation->aspect);
    const struct order *order = place != NULL ? place->order : NULL;
    uint32_t index = expectation->step.step;
    const struct step *step = order != NULL ? &order->steps[index] : &no_step;
    bool splits = expectation->step.suborder.workflow != NULL;
    struct text input = {0};
    switch (expectation->aspect) {
    case ASPECT_STEP_STATE:
        compare(comparison, group, name,
                text_of(step_state_name((enum step_state)expectation->number)),
                order != NULL ? text_of(step_state_name(step->state)) : TEXT(""));
        return;
    case ASPECT_ORDER_STATE:
        compare(comparison, group, name,
                text_of(order_state_name((enum order_state)expectation->number)),
                order != NULL ? text_of(order_state_name(order->state)) : TEXT(""));
        return;
    case ASPECT_INPUT:
        if (splits && order != NULL)
            input = text_empty(order->details.input) ? TEXT("null") : order->details.input;
        else if (!splits && place != NULL)
            input = place->inputs[DIRECTION_DO][index];
        compare_data(comparison, group, name, expectation->text, input);
        return;
    case ASPECT_UNDO_INPUT:
        compare_data(comparison, group, name, expectation->text,
                     place != NULL ? place->inputs[DIRECTION_UNDO][index] : input);
        return;
    case ASPECT_OUTPUT:
        compare_data(comparison, group, name, expectation->text, output_of(step));
        return;
    case ASPECT_ERROR:
        compare(comparison, group, name, expectation->text, step->error_name);
        return;
    case ASPECT_ATTEMPTS:
    case ASPECT_COUNT:
        break;
    }
    assert(false && "an aspect at one place");
}

/* Without the '/' at its end, the path of a sub-order is its name. */
static struct text name_at(const struct comparison *comparison, const struct rehearsal_place *place,
                           const struct case_expectation *expectation, bool of_order)
{
    char name[WHAT_SIZE];
    struct text path = place->path;
    if (of_order)
        return (struct text){path.data, path.size - 1};
    int size = snprintf(name, sizeof(name), "%.*s%.*s", TEXT_ARG(path),
                        TEXT_ARG(place->at.workflow->steps[expectation->step.step].name));
    assert(size > 0 && (size_t)size < sizeof(name));
    return arena_text(comparison->arena, (struct text){name, (uint32_t)size});
}

static void compare_attempts(struct comparison *comparison, const struct rehearsal *rehearsal,
                             const struct case_expectation *expectation)
{
    int64_t attempts = 0;
    for (uint32_t i = 0; i < rehearsal->place_count; i++) {
        const struct rehearsal_place *place = rehearsal->places[i];
        if (case_order_is_among(&place->at, &expectation->step.order))
            attempts += place->attempts[expectation->step.step];
    }
    compare(comparison, case_aspect_name(ASPECT_ATTEMPTS), expectation->step.name,
            number_text(comparison, expectation->number), number_text(comparison, attempts));
}

/* At each place that it names, of which there has to be one. */
static void compare_step(struct comparison *comparison, const struct rehearsal *rehearsal,
                         const struct case_expectation *expectation)
{
    const struct case_step *step = &expectation->step;
    bool of_order = expectation->aspect == ASPECT_ORDER_STATE ||
                    (expectation->aspect == ASPECT_INPUT && step->suborder.workflow != NULL);
    const struct case_order *these = of_order ? &step->suborder : &step->order;
    uint32_t before = comparison->count;
    bool found = false;
    if (expectation->aspect == ASPECT_ATTEMPTS) {
        compare_attempts(comparison, rehearsal, expectation);
        return;
    }
    for (uint32_t i = 0; i < rehearsal->place_count; i++) {
        const struct rehearsal_place *place = rehearsal->places[i];
        if (!case_order_is_among(&place->at, these) || comparison->count - before >= PLACES_MAX)
            continue;
        found = true;
        compare_at(comparison, expectation, place,
                   name_at(comparison, place, expectation, of_order));
    }
    if (!found)
        compare_at(comparison, expectation, NULL, step->name);
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
    static const struct order no_order = {0};
    const struct order *accepted = rehearsal_order(rehearsal);
    const struct order *order = accepted != NULL ? accepted : &no_order;
    struct text none = {0};
    struct text state = accepted != NULL ? text_of(order_state_name(order->state)) : none;
    if (expected->state >= 0)
        compare(comparison, case_field_name(CASE_FIELD_STATE), none,
                text_of(order_state_name((enum order_state)expected->state)), state);
    if (!text_empty(expected->reason_code))
        compare(comparison, case_field_name(CASE_FIELD_REASON), none, expected->reason_code,
                order->reason_code);
    if (expected->path.given)
        compare_list(comparison, case_field_name(CASE_FIELD_PATH), &expected->path,
                     &rehearsal->path);
    if (!text_empty(expected->output) && text_empty(order->output))
        compare(comparison, case_field_name(CASE_FIELD_OUTPUT), none, expected->output,
                order->output_problem);
    else if (!text_empty(expected->output))
        compare_data(comparison, case_field_name(CASE_FIELD_OUTPUT), none, expected->output,
                     order->output);
    compare_list(comparison, case_field_name(CASE_FIELD_REFUSED), &expected->refused,
                 &rehearsal->refused);
    if (rehearsal->endless)
        compare(comparison, "Decisions", none, TEXT("an end"), TEXT("no end of them"));
}

const struct rehearsal_difference *rehearsal_compare(const struct test_case *test,
                                                     const struct rehearsal *rehearsal,
                                                     struct arena *arena, uint32_t *ret_count)
{
    struct comparison comparison = {.arena = arena};
    compare_order(&comparison, &test->expected, rehearsal);
    for (uint32_t i = 0; i < test->expected.of_steps_count; i++)
        compare_step(&comparison, rehearsal, &test->expected.of_steps[i]);
    *ret_count = comparison.count;
    return comparison.differences;
}
