/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluating the expressions of an order's workflow. Only decisions do this: each result goes into
 * an event, so a fold, an emitter or a page never does it again.
 *
 * All expressions of one step share a budget in a Decision, and the order's Output has one of its
 * own; ctx->units_used bounds how many steps begin. */
#include "engine/decide.h"

#include "engine/message.h"
#include "engine/order_members.h"

#include <assert.h>

/* One evaluation, with what it may read. */
struct step_reading {
    struct expression_step steps[WORKFLOW_STEPS_MAX];
    struct expression_scope scope;
    struct expression_run run;
    uint32_t units; /* of its budget at the beginning */
};

static void begin(struct decide_ctx *ctx, uint32_t units, struct text result,
                  struct step_reading *reading)
{
    const struct order *order = ctx->order;
    assert(order->step_count <= WORKFLOW_STEPS_MAX && units <= EXPRESSION_BUDGET);
    for (uint32_t i = 0; i < order->step_count; i++) {
        const struct step *step = &order->steps[i];
        reading->steps[i] = (struct expression_step){
            .has_output = step->state == STEP_PROCESSED,
            .has_error = step->state == STEP_CAUGHT,
            .output = step->output,
            .error_name = step->error_name,
            .error_message = step->error_message,
        };
    }
    reading->scope = (struct expression_scope){
        .input = order->details.input,
        .order_member = order_member_json,
        .details = &order->details,
        .made = &ctx->order_members,
        .steps = reading->steps,
        .step_count = order->step_count,
        .result = result,
    };
    reading->units = units;
    expression_run_init(&reading->run, &reading->scope, units, ctx->arena);
    reading->run.disabled = ctx->input->no_expressions;
}

/* Of a step's budget. */
static void begin_step(struct decide_ctx *ctx, uint32_t index, struct text result,
                       struct step_reading *reading)
{
    assert(index < ctx->order->step_count && ctx->step_units[index] <= EXPRESSION_BUDGET);
    begin(ctx, EXPRESSION_BUDGET - ctx->step_units[index], result, reading);
}

static void end_step(struct decide_ctx *ctx, uint32_t index, const struct step_reading *reading)
{
    uint32_t used = expression_run_used(&reading->run, reading->units);
    ctx->step_units[index] += used;
    ctx->units_used += used;
    assert(ctx->step_units[index] <= EXPRESSION_BUDGET);
}

static struct decide_fault fault_of(const struct expression_error *error, struct arena *arena)
{
    struct text said = expression_error_message(error, arena);
    assert(error->code != EXPRESSION_OK);
    return (struct decide_fault){expression_error_name(error),
                                 message_format(arena, "%.*s", TEXT_ARG(said))};
}

bool decide_has_units(const struct decide_ctx *ctx)
{
    return ctx->units_used < EXPRESSION_DECISION_BUDGET;
}

bool decide_test_when(struct decide_ctx *ctx, uint32_t index, bool *ret_yes,
                      struct decide_fault *ret_fault)
{
    struct step_reading reading;
    struct expression_error error;
    begin_step(ctx, index, (struct text){0}, &reading);
    bool done =
        expression_test_when(&reading.run, decide_plan_of(ctx, index)->when, ret_yes, &error);
    end_step(ctx, index, &reading);
    if (!done)
        *ret_fault = fault_of(&error, ctx->arena);
    return done;
}

bool decide_test_until(struct decide_ctx *ctx, uint32_t index, struct text result, bool *ret_yes,
                       struct decide_fault *ret_fault)
{
    struct step_reading reading;
    struct expression_error error;
    begin_step(ctx, index, result, &reading);
    bool done = expression_test(&reading.run, decide_plan_of(ctx, index)->until, ret_yes, &error);
    end_step(ctx, index, &reading);
    if (!done)
        *ret_fault = fault_of(&error, ctx->arena);
    return done;
}

bool decide_make_duration(struct decide_ctx *ctx, uint32_t index,
                          const struct expression *expression, int64_t *ret_ms,
                          struct decide_fault *ret_fault)
{
    struct step_reading reading;
    struct expression_error error;
    begin_step(ctx, index, (struct text){0}, &reading);
    bool done = expression_duration(&reading.run, expression, DURATION_MS_MAX, ret_ms, &error);
    end_step(ctx, index, &reading);
    if (!done)
        *ret_fault = fault_of(&error, ctx->arena);
    return done;
}

bool decide_make_moment(struct decide_ctx *ctx, uint32_t index, const struct expression *expression,
                        int64_t *ret_ms, struct decide_fault *ret_fault)
{
    struct step_reading reading;
    struct expression_error error;
    begin_step(ctx, index, (struct text){0}, &reading);
    bool done = expression_moment(&reading.run, expression, ret_ms, &error);
    end_step(ctx, index, &reading);
    if (!done)
        *ret_fault = fault_of(&error, ctx->arena);
    return done;
}

/* Of a budget of its own. */
static void end_item(struct decide_ctx *ctx, const struct step_reading *reading)
{
    ctx->units_used += expression_run_used(&reading->run, reading->units);
}

bool decide_make_list(struct decide_ctx *ctx, uint32_t index, struct text *ret_json,
                      struct decide_fault *ret_fault)
{
    const struct workflow_step *plan = decide_plan_of(ctx, index);
    struct step_reading reading;
    struct expression_error error;
    struct text json = {0};
    begin_step(ctx, index, (struct text){0}, &reading);
    bool done = plan->suborders.items != NULL
                    ? expression_json(&reading.run, plan->suborders.items, ORDER_ITEMS_BYTES_MAX,
                                      &json, &error)
                    : template_json(&reading.run, plan->suborders.list, ORDER_ITEMS_BYTES_MAX,
                                    &json, &error);
    end_step(ctx, index, &reading);
    if (!done) {
        *ret_fault = fault_of(&error, ctx->arena);
        return false;
    }
    if (json_value_kind(json_value_of(json)) != JSON_KIND_LIST) {
        *ret_fault = (struct decide_fault){
            TEXT(ERROR_QUERY_EVALUATION),
            message_format(ctx->arena, "Items of step %.*s are not a list", TEXT_ARG(plan->name))};
        return false;
    }
    *ret_json = json;
    return true;
}

bool decide_make_item_input(struct decide_ctx *ctx, uint32_t index, struct text item,
                            int64_t number, struct text *ret_json, struct decide_fault *ret_fault)
{
    struct step_reading reading;
    struct expression_error error;
    begin(ctx, EXPRESSION_BUDGET, (struct text){0}, &reading);
    reading.scope.item = item;
    reading.scope.index = number;
    bool done = template_json(&reading.run, decide_plan_of(ctx, index)->input, STEP_INPUT_BYTES_MAX,
                              ret_json, &error);
    end_item(ctx, &reading);
    if (!done)
        *ret_fault = fault_of(&error, ctx->arena);
    return done;
}

bool decide_test_stop_when(struct decide_ctx *ctx, uint32_t index, struct text result,
                           bool *ret_yes, struct decide_fault *ret_fault)
{
    struct step_reading reading;
    struct expression_error error;
    begin_step(ctx, index, result, &reading);
    bool done = expression_test(&reading.run, decide_plan_of(ctx, index)->suborders.stop_when,
                                ret_yes, &error);
    end_step(ctx, index, &reading);
    if (!done)
        *ret_fault = fault_of(&error, ctx->arena);
    return done;
}

bool decide_make_json(struct decide_ctx *ctx, uint32_t index,
                      const struct expression_template *template, struct text result,
                      uint32_t bytes_max, struct text *ret_json, struct decide_fault *ret_fault)
{
    struct step_reading reading;
    struct expression_error error;
    begin_step(ctx, index, result, &reading);
    bool done = template_json(&reading.run, template, bytes_max, ret_json, &error);
    end_step(ctx, index, &reading);
    if (!done)
        *ret_fault = fault_of(&error, ctx->arena);
    return done;
}

bool decide_make_text(struct decide_ctx *ctx, uint32_t index,
                      const struct expression_template *template, uint32_t bytes_max,
                      struct text *ret_text, struct decide_fault *ret_fault)
{
    struct step_reading reading;
    struct expression_error error;
    begin_step(ctx, index, (struct text){0}, &reading);
    bool done = template_text(&reading.run, template, bytes_max, ret_text, &error);
    end_step(ctx, index, &reading);
    if (!done)
        *ret_fault = fault_of(&error, ctx->arena);
    return done;
}

/* ---- room ---- */

bool decide_keeps_output(const struct decide_ctx *ctx, uint32_t index, struct text output,
                         struct decide_fault *ret_fault)
{
    if (order_takes_output(ctx->order, index, output))
        return true;
    *ret_fault = (struct decide_fault){
        TEXT(ERROR_DATA_LIMIT),
        message_format(ctx->arena,
                       "the output is %u bytes; the outputs of all steps may have %d together",
                       output.size, ORDER_OUTPUTS_BYTES_MAX)};
    return false;
}

bool decide_keeps_input(const struct decide_ctx *ctx, uint32_t index, enum direction direction,
                        struct text input, struct decide_fault *ret_fault)
{
    if (order_takes_input(ctx->order, index, direction, input))
        return true;
    *ret_fault = (struct decide_fault){
        TEXT(ERROR_DATA_LIMIT),
        message_format(ctx->arena,
                       "the input is %u bytes; those of all running steps may have %d together",
                       input.size, ORDER_STEP_INPUTS_BYTES_MAX - STEP_INPUT_BYTES_MAX)};
    return false;
}

/* ---- the order ---- */

struct text decide_without_null(struct text json)
{
    return text_equal(json, TEXT("null")) ? (struct text){0} : json;
}

bool decide_make_order_output(struct decide_ctx *ctx, struct text *ret_json,
                              struct decide_fault *ret_fault)
{
    struct step_reading reading;
    struct expression_error error;
    struct text json;
    begin(ctx, EXPRESSION_BUDGET, (struct text){0}, &reading);
    if (!template_json(&reading.run, ctx->workflow->output, STEP_OUTPUT_BYTES_MAX, &json, &error)) {
        *ret_fault = fault_of(&error, ctx->arena);
        return false;
    }
    *ret_json = decide_without_null(json);
    return true;
}
