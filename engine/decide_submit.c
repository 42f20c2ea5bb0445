/* SPDX-License-Identifier: Apache-2.0 */
/* SubmitOrder: accept once, answer repeats, refuse what differs. */
#include "engine/decide.h"
#include "engine/shape.h"

#include <assert.h>

static void repeat(struct decide_ctx *ctx, const struct order_details *details)
{
    assert(ctx->exists);
    assert(text_equal(ctx->order->details.order_id, details->order_id));
    struct content_hash known = ctx->order->details.content_hash;
    if (memcmp(known.bytes, details->content_hash.bytes, sizeof(known.bytes)) == 0) {
        decide_emit(ctx, &(struct event){.kind = EVENT_SUBMISSION_REPEATED});
        return;
    }
    /* A parent is not told: it asks until the id is free. */
    decide_reject(ctx, CODE_CONTENT_DIFFERS,
                  "order %.*s was submitted before with different content; it continues unchanged",
                  TEXT_ARG(details->order_id));
}

/* False after it rejected. The door has checked this, perhaps with an older version's rules. */
static bool has_the_shape(struct decide_ctx *ctx, const struct order_details *details)
{
    struct error error;
    const struct shape *shape = ctx->workflow->input_shape;
    if (shape == NULL || shape_check(shape, details->input, &error) == ERROR_OK)
        return true;
    decide_reject(ctx, CODE_INVALID_INPUT, "%s", error.message);
    return false;
}

static void accept(struct decide_ctx *ctx, const struct order_details *details)
{
    const struct workflow *workflow = ctx->workflow;
    assert(workflow->step_count >= 1 && workflow->step_count <= WORKFLOW_STEPS_MAX);
    assert(!ctx->exists && ctx->order->version == 0);
    struct step_plan *plans = ARENA_ARRAY(ctx->arena, struct step_plan, workflow->step_count);
    for (uint32_t i = 0; i < workflow->step_count; i++)
        plans[i] = (struct step_plan){.name = workflow->steps[i].name,
                                      .agent = workflow_step_agent(&workflow->steps[i])};
    struct event accepted = {.kind = EVENT_ORDER_ACCEPTED};
    accepted.order_accepted.details = *details;
    accepted.order_accepted.details.workflow_version = workflow->version;
    accepted.order_accepted.details.submitted_at = 0;
    accepted.order_accepted.steps = plans;
    accepted.order_accepted.step_count = workflow->step_count;
    if (workflow->timeout_ms > 0) {
        accepted.order_accepted.complete_by = ctx->input->now + workflow->timeout_ms;
        accepted.order_accepted.margin_ms = ctx->input->margin_ms;
    }
    decide_emit(ctx, &accepted);
    assert(ctx->order->version == 1 && ctx->next_version == 1);
    assert(ctx->order->state == ORDER_PENDING);
    assert(ctx->order->step_count == workflow->step_count);
    decide_emit(ctx, &(struct event){.kind = EVENT_ORDER_STARTED});
    decide_advance(ctx);
}

/* An order of this id may have ended and expired since: read again, it would run again. */
static bool too_old(const struct decide_ctx *ctx, const struct order_details *details)
{
    int64_t age_ms_max = ctx->input->submission_age_ms_max;
    return age_ms_max > 0 && details->submitted_at > 0 &&
           ctx->input->now - age_ms_max > details->submitted_at;
}

void decide_submit(struct decide_ctx *ctx)
{
    const struct order_details *details = &ctx->cmd->submit_order;
    assert(details->attribute_count <= ORDER_ATTRIBUTES_READ_MAX);
    assert(details->input.size <= ORDER_INPUT_BYTES_READ_MAX);
    if (!text_equal(ctx->cmd->order_id, details->order_id)) {
        decide_reject(ctx, CODE_KEY_DIFFERS, "the record's key is not the order's id");
    } else if (ctx->exists) {
        repeat(ctx, details);
    } else if (too_old(ctx, details)) {
        decide_reject_of_parent(
            ctx, CODE_TOO_OLD, details->parent, SETTLE_NONE,
            "the submission is %lld hours old, and its order may have ended and expired "
            "meanwhile; the limit is %lld hours. Submit it again if it is new",
            (long long)((ctx->input->now - details->submitted_at) / 3600000),
            (long long)(ctx->input->submission_age_ms_max / 3600000));
    } else if (ctx->workflow == NULL) { /* a parent, which knows it, asks again */
        decide_reject(ctx, CODE_UNKNOWN_WORKFLOW, "workflow %.*s version %u is not deployed",
                      TEXT_ARG(details->workflow), (unsigned)details->workflow_version);
    } else if (has_the_shape(ctx, details)) {
        accept(ctx, details);
    }
}
