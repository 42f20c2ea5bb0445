/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/property/engine_mappings.h"

#include "engine/expression/evaluate.h"
#include "tests/property/engine_data.h"
#include "workflow/expression.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define BIT(index) (UINT64_C(1) << (index))

enum { YAML_SIZE = TERM_SIZE + 16 };

/* One workflow in the making. */
struct drawing {
    struct dice *dice;
    struct arena *arena;
    struct mapped_workflow *mapped;
    struct workflow_step *steps; /* its steps */
    struct expression_known_step known[WORKFLOW_STEPS_MAX];
    bool through; /* Sets read the input, and what is asked of agents reads these */
    bool strict;  /* whatever does not compile is a mistake of these tests */
};

/* ---- places ---- */

static uint64_t steps_before(const struct workflow *workflow, uint32_t index)
{
    uint64_t before = index < workflow->step_count ? workflow->steps[index].after : UINT64_MAX;
    for (uint64_t seen = 0; seen != before;) {
        seen = before;
        for (uint32_t i = 0; i < workflow->step_count; i++)
            before |= (seen >> i & 1) != 0 ? workflow->steps[i].after : 0;
    }
    return before;
}

static bool continues(const struct workflow_step *step)
{
    bool does = false;
    for (uint32_t i = 0; i < step->catcher_count; i++)
        does = does || step->catchers[i].next == OUTCOME_CONTINUE;
    return does;
}

/* Of a step; beyond the last one: of the workflow as a whole. */
static struct expression_names names_at(struct drawing *drawing, uint32_t index, bool result)
{
    const struct workflow *workflow = &drawing->mapped->workflow;
    uint64_t before = steps_before(workflow, index);
    for (uint32_t i = 0; i < workflow->step_count; i++)
        drawing->known[i] = (struct expression_known_step){.name = drawing->steps[i].name,
                                                           .before = (before >> i & 1) != 0,
                                                           .fails = continues(&drawing->steps[i])};
    bool signal = result && drawing->steps[index].kind == STEP_KIND_AWAIT;
    uint32_t of_steps = signal ? 1U << NAME_OUTPUT | 1U << NAME_ERROR : 0;
    return (struct expression_names){
        .allowed = (EXPRESSION_NAMES_ALWAYS | (result ? 1U << NAME_RESULT : 0)) & ~of_steps,
        .steps = drawing->known,
        .step_count = workflow->step_count,
    };
}

static struct term_place place_at(struct drawing *drawing, uint32_t index, bool result)
{
    struct term_place place = {.dice = drawing->dice,
                               .arena = drawing->arena,
                               .through = drawing->through,
                               .result = result};
    uint64_t before = steps_before(&drawing->mapped->workflow, index);
    for (uint32_t i = 0; i < drawing->mapped->workflow.step_count; i++) {
        const struct workflow_step *step = &drawing->steps[i];
        if ((before >> i & 1) == 0)
            continue;
        place.outputs[place.output_count++] = step->name;
        if (continues(step))
            place.errors[place.error_count++] = step->name;
    }
    return place;
}

/* As a signal arrives, nothing is known of other steps. */
static struct term_place place_of_signal(const struct drawing *drawing, uint32_t index)
{
    return (struct term_place){.dice = drawing->dice,
                               .arena = drawing->arena,
                               .result = true,
                               .choice = drawing->steps[index].await.options.count > 0};
}

/* ---- compiling ---- */

/* NULL, and no tree, where it reads what it may not. */
static void check(const struct drawing *drawing, const void *compiled, struct text text,
                  const char *problem, const struct term **tree)
{
    if (compiled == NULL && drawing->strict) {
        fprintf(stderr, "%.*s\n%s\n", TEXT_ARG(text), problem);
        abort();
    }
    if (compiled == NULL)
        *tree = NULL;
}

static const struct expression *compile_plain(struct drawing *drawing, uint32_t index, bool result,
                                              uint8_t kinds, const struct term **tree)
{
    struct expression_problems problems;
    struct expression_names names = names_at(drawing, index, result);
    if (*tree == NULL)
        return NULL;
    struct text text = term_print(*tree, drawing->arena);
    const struct expression *compiled =
        expression_compile(text, &names, kinds, drawing->arena, &problems);
    check(drawing, compiled, text, problems.items[0].text, tree);
    return compiled;
}

static const struct expression *compile_time(struct drawing *drawing, struct text timestamp)
{
    struct expression_problems problems;
    struct expression_names names = {.allowed = EXPRESSION_NAMES_ALWAYS};
    if (text_empty(timestamp))
        return NULL;
    const struct expression *compiled =
        expression_compile(timestamp, &names, KIND_SET(TEXT), drawing->arena, &problems);
    assert(compiled != NULL);
    return compiled;
}

static const struct expression_template *compile(struct drawing *drawing, uint32_t index,
                                                 bool result, bool as_text,
                                                 const struct term **tree)
{
    static struct workflow_problems problems;
    char yaml[YAML_SIZE];
    struct values values = {drawing->arena, &problems, false, NULL};
    struct expression_names names = names_at(drawing, index, result);
    if (*tree == NULL)
        return NULL;
    problems.count = 0;
    struct text text = term_print_template(*tree, drawing->arena);
    int size = snprintf(yaml, sizeof(yaml), "Field: %.*s\n", TEXT_ARG(text));
    const struct yaml_node *root =
        yaml_tree_parse((struct text){yaml, (uint32_t)size}, drawing->arena, &problems);
    const struct expression_template *compiled =
        root == NULL
            ? NULL
            : compile_template(&values, root->first, "Field", &names, as_text ? 0 : UINT32_MAX);
    check(drawing, compiled, text, problems.items[0].text, tree);
    return compiled;
}

static void compile_step(struct drawing *drawing, uint32_t index)
{
    struct workflow_step *step = &drawing->steps[index];
    struct mappings *trees = &drawing->mapped->steps[index];
    step->when = compile_plain(drawing, index, false, KIND_SET(BOOL), &trees->when);
    step->until = compile_plain(drawing, index, true, KIND_SET(BOOL), &trees->until);
    step->wait.seconds = compile_plain(drawing, index, false, KINDS_NUMBER, &trees->seconds);
    step->wait.timestamp = compile_time(drawing, trees->timestamp);
    step->input = compile(drawing, index, false, false, &trees->input);
    step->output = compile(drawing, index, true, false, &trees->output);
    step->compensate.input = compile(drawing, index, true, false, &trees->undo_input);
    step->fail.message = compile(drawing, index, false, true, &trees->message);
    step->await.question = compile(drawing, index, false, true, &trees->question);
    step->set = compile(drawing, index, false, false, &trees->set);
}

/* ---- drawing ---- */

static const struct term *draw(struct drawing *drawing, uint32_t index, uint32_t percent,
                               bool result)
{
    struct term_place place = place_at(drawing, index, result);
    return dice_percent(drawing->dice, percent) ? term_template(&place) : NULL;
}

static void draw_set(struct drawing *drawing, uint32_t index)
{
    drawing->mapped->steps[index].set = draw(drawing, index, 100, false);
}

static void draw_fail(struct drawing *drawing, uint32_t index)
{
    struct term_place place = place_at(drawing, index, false);
    if (dice_percent(drawing->dice, 70))
        drawing->mapped->steps[index].message = term_message(&place);
    drawing->steps[index].fail.error = random_error(drawing->dice);
}

/* Within a minute of the beginning of histories, as a clock somewhere shows it. */
static void draw_time(struct drawing *drawing, struct mappings *trees)
{
    enum { BEGIN_MS = 1000000, TEXT_SIZE = 48 };
    static const int minutes[] = {0, 120, -210};
    char day[24];
    char *text = arena_bytes(drawing->arena, TEXT_SIZE);
    int offset = minutes[dice_roll(drawing->dice, 3)];
    trees->moment = BEGIN_MS - 5000 + dice_roll(drawing->dice, 60000);
    time_t there = (time_t)(trees->moment / 1000 + 60 * offset);
    struct tm tm;
    gmtime_r(&there, &tm);
    strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &tm);
    int size = snprintf(text, TEXT_SIZE, "'%s.%03d%c%02d:%02d'", day, (int)(trees->moment % 1000),
                        offset < 0 ? '-' : '+', abs(offset) / 60, abs(offset) % 60);
    assert(size > 0 && size < TEXT_SIZE);
    if (dice_percent(drawing->dice, 10)) {
        text[6] = '9'; /* the month */
        text[7] = '9';
        trees->moment = -1;
    }
    trees->timestamp = (struct text){text, (uint32_t)size};
}

static void draw_wait(struct drawing *drawing, uint32_t index)
{
    struct mappings *trees = &drawing->mapped->steps[index];
    struct term_place place = place_at(drawing, index, false);
    drawing->steps[index].wait.spread_ms =
        dice_percent(drawing->dice, 30) ? dice_roll(drawing->dice, 5000) : 0;
    if (dice_percent(drawing->dice, 40))
        draw_time(drawing, trees);
    else
        trees->seconds = term_seconds(&place);
}

struct text mappings_group(struct dice *dice)
{
    return dice_percent(dice, 50) ? TEXT("managers") : TEXT("clerks");
}

/* Two or three. */
static struct text_list draw_options(const struct drawing *drawing)
{
    struct text *options = ARENA_ARRAY(drawing->arena, struct text, DATA_WORDS);
    uint32_t first = dice_roll(drawing->dice, DATA_WORDS);
    uint32_t count = DATA_WORDS - dice_roll(drawing->dice, 2);
    for (uint32_t i = 0; i < count; i++)
        options[i] = data_word_at(first + i);
    return (struct text_list){options, count};
}

static void draw_await(struct drawing *drawing, uint32_t index)
{
    struct workflow_step *step = &drawing->steps[index];
    struct mappings *trees = &drawing->mapped->steps[index];
    struct term_place place = place_at(drawing, index, false);
    bool limited = drawing->mapped->workflow.timeout_ms > 0; /* as a whole */
    memset(&step->await, 0, sizeof(step->await));
    if (dice_percent(drawing->dice, 45))
        step->await.from = mappings_group(drawing->dice);
    if (dice_percent(drawing->dice, 45))
        step->await.options = draw_options(drawing);
    if (dice_percent(drawing->dice, 50))
        trees->question = term_message(&place);
    step->timeout_ms =
        limited && dice_percent(drawing->dice, 40) ? 0 : 500 + dice_roll(drawing->dice, 20000);
    struct term_place of_signal = place_of_signal(drawing, index);
    if (dice_percent(drawing->dice, 40))
        trees->until = term_condition(&of_signal);
    if (dice_percent(drawing->dice, 30))
        trees->output = term_template(&of_signal);
}

static void draw_until(struct drawing *drawing, uint32_t index)
{
    struct mappings *trees = &drawing->mapped->steps[index];
    struct term_place place = place_at(drawing, index, true);
    if (!drawing->steps[index].has_compensate && !drawing->steps[index].pivot &&
        dice_percent(drawing->dice, 40))
        trees->until = term_condition(&place);
}

static void draw_task(struct drawing *drawing, uint32_t index)
{
    struct mappings *trees = &drawing->mapped->steps[index];
    draw_until(drawing, index);
    trees->input = draw(drawing, index, drawing->through ? 100 : 45, false);
    trees->output = draw(drawing, index, 25, true);
    if (drawing->steps[index].has_compensate)
        trees->undo_input = draw(drawing, index, 30, true);
}

static void draw_step(struct drawing *drawing, uint32_t index)
{
    const struct workflow_step *step = &drawing->steps[index];
    struct mappings *trees = &drawing->mapped->steps[index];
    struct term_place place = place_at(drawing, index, false);
    *trees = (struct mappings){0};
    if (dice_percent(drawing->dice, 35))
        trees->when = term_condition(&place);
    if (step->kind == STEP_KIND_SET)
        draw_set(drawing, index);
    else if (step->kind == STEP_KIND_FAIL)
        draw_fail(drawing, index);
    else if (step->kind == STEP_KIND_WAIT)
        draw_wait(drawing, index);
    else if (step->kind == STEP_KIND_AWAIT)
        draw_await(drawing, index);
    else
        draw_task(drawing, index);
}

/* Nothing is asked of an agent. */
static void take_agents(struct drawing *drawing, uint32_t index, enum step_kind kind)
{
    struct workflow_step *step = &drawing->steps[index];
    step->kind = kind;
    step->agents = NULL;
    step->agent_count = 0;
    step->timeout_ms = step->max_extension_ms = 0;
    step->retry.count = 0;
    step->has_compensate = false;
    memset(&step->await, 0, sizeof(step->await));
}

static void draw_kind(struct drawing *drawing, uint32_t index)
{
    uint32_t roll = dice_roll(drawing->dice, 100);
    if (drawing->steps[index].pivot || roll >= 44)
        return;
    take_agents(drawing, index,
                roll < 13 || drawing->through ? STEP_KIND_SET
                : roll < 20                   ? STEP_KIND_FAIL
                : roll < 34                   ? STEP_KIND_WAIT
                                              : STEP_KIND_AWAIT);
}

/* Most steps take all the time that they have, and what follows goes on. */
static void be_greedy(struct drawing *drawing)
{
    static const struct catcher all = {.errors = {.names = {TEXT_CONST(ERROR_ALL)}, .count = 1},
                                       .next = OUTCOME_CONTINUE};
    for (uint32_t i = 0; i < drawing->mapped->workflow.step_count; i++) {
        struct workflow_step *step = &drawing->steps[i];
        if (step->pivot || dice_percent(drawing->dice, 30))
            continue;
        step->has_compensate = false;
        step->catchers = &all;
        step->catcher_count = 1;
        drawing->mapped->steps[i] =
            (struct mappings){.set = drawing->mapped->steps[i].set,
                              .seconds = drawing->mapped->steps[i].seconds,
                              .timestamp = drawing->mapped->steps[i].timestamp,
                              .moment = drawing->mapped->steps[i].moment};
        if (step->kind == STEP_KIND_TASK && dice_percent(drawing->dice, 50))
            drawing->mapped->steps[i].input = term_endless(drawing->arena);
        else
            drawing->mapped->steps[i].when = term_endless(drawing->arena);
    }
}

static struct drawing begin(struct dice *dice, struct arena *arena, const struct workflow *workflow)
{
    struct mapped_workflow *mapped = ARENA_NEW(arena, struct mapped_workflow);
    struct workflow_step *steps = ARENA_ARRAY(arena, struct workflow_step, workflow->step_count);
    mapped->workflow = *workflow;
    mapped->workflow.steps = steps;
    memcpy(steps, workflow->steps, workflow->step_count * sizeof(steps[0]));
    return (struct drawing){.dice = dice, .arena = arena, .mapped = mapped, .steps = steps};
}

static const struct workflow *compile_all(struct drawing *drawing)
{
    struct mapped_workflow *mapped = drawing->mapped;
    for (uint32_t i = 0; i < mapped->workflow.step_count; i++)
        compile_step(drawing, i);
    mapped->workflow.output =
        compile(drawing, mapped->workflow.step_count, false, false, &mapped->output);
    return &mapped->workflow;
}

const struct workflow *mappings_draw(struct dice *dice, struct arena *arena,
                                     const struct workflow *workflow)
{
    struct drawing drawing = begin(dice, arena, workflow);
    uint32_t count = workflow->step_count;
    bool greedy = count >= 4 && count < 12 && dice_roll(dice, 150) == 0;
    if (!greedy && dice_percent(dice, 40))
        return compile_all(&drawing);
    drawing.strict = true;
    drawing.through = dice_percent(dice, 25);
    for (uint32_t i = 0; i < count; i++)
        draw_kind(&drawing, i);
    for (uint32_t i = 0; i < count; i++)
        draw_step(&drawing, i);
    drawing.mapped->output = draw(&drawing, count, 50, false);
    if (greedy)
        be_greedy(&drawing);
    return compile_all(&drawing);
}

/* ---- another version ---- */

static const struct mappings *find(const struct workflow *workflow, struct text name)
{
    for (uint32_t i = 0; i < workflow->step_count; i++) {
        if (text_equal(workflow->steps[i].name, name))
            return &mapped_of(workflow)->steps[i];
    }
    return NULL;
}

const struct workflow *mappings_of_version(struct dice *dice, struct arena *arena,
                                           const struct workflow *other,
                                           const struct workflow *before, struct text corrected)
{
    struct drawing drawing = begin(dice, arena, other);
    drawing.mapped->output = mapped_of(before)->output;
    for (uint32_t i = 0; i < other->step_count; i++) {
        const struct mappings *known = find(before, other->steps[i].name);
        if (known != NULL)
            drawing.mapped->steps[i] = *known;
        else
            draw_step(&drawing, i);
    }
    uint32_t index = dice_roll(dice, other->step_count);
    for (uint32_t i = 0; i < other->step_count; i++) {
        if (text_equal(other->steps[i].name, corrected))
            index = i;
    }
    bool again = dice_percent(dice, text_empty(corrected) ? 30 : 70);
    if (dice_percent(dice, 15) && !drawing.steps[index].pivot)
        take_agents(&drawing, index, STEP_KIND_SET);
    if (again || drawing.steps[index].kind != other->steps[index].kind)
        draw_step(&drawing, index);
    compile_all(&drawing);
    for (uint32_t i = 0; i < other->step_count; i++) {
        struct term_place nowhere = {.dice = dice, .arena = arena};
        struct mappings *trees = &drawing.mapped->steps[i];
        if (drawing.steps[i].kind == STEP_KIND_SET && drawing.steps[i].set == NULL)
            trees->set = term_template(&nowhere);
        else if (drawing.steps[i].kind == STEP_KIND_WAIT && drawing.steps[i].wait.seconds == NULL &&
                 drawing.steps[i].wait.timestamp == NULL)
            trees->seconds = term_seconds(&nowhere);
        else
            continue;
        compile_step(&drawing, i);
    }
    return &drawing.mapped->workflow;
}

bool mappings_same_input(const struct term *a, const struct term *b, struct arena *arena)
{
    if (a == b || a == NULL || b == NULL)
        return a == b;
    return text_equal(term_print_template(a, arena), term_print_template(b, arena));
}
