/* SPDX-License-Identifier: Apache-2.0 */
/* Between an owner and the router: the agents' capacities for each decision, and StartStep commands
 * to the owner's own partition for the steps that the router picks. */
#include "platform/failpoint.h"
#include "platform/logger.h"
#include "services/scheduler/owner/internal.h"

#include <assert.h>

static struct router *router_of(const struct owner *owner)
{
    return owner->options.router;
}

/* ---- deciding ---- */

/* A StartStep that this owner sent itself. */
static bool is_own_start(const struct owner *owner, const struct command *cmd)
{
    return cmd->kind == COMMAND_START_STEP &&
           text_equal(cmd->start_step.by, text_of(owner->cluster->service->instance_id));
}

/* Its step, or -1. */
static int own_start_step(const struct owner *owner, const struct command *cmd,
                          const struct order *order)
{
    assert(router_of(owner) != NULL);
    return order != NULL && is_own_start(owner, cmd) ? order_find_step(order, cmd->start_step.step)
                                                     : -1;
}

const struct routing *owner_route_routing(struct owner *owner, const struct command *cmd,
                                          const struct order *order,
                                          const struct workflow *workflow)
{
    if (router_of(owner) == NULL)
        return NULL;
    int step = own_start_step(owner, cmd, order);
    assert(step < 0 || (uint32_t)step < order->step_count);
    const struct route_agent *reserved =
        step < 0 ? NULL : router_reserved(&owner->starts.routed, cmd->order_id, (uint32_t)step);
    return router_routing(router_of(owner), workflow, reserved);
}

/* The order's steps may have other indexes now: what was picked is no longer found by them. Its
 * StartStep is decided like anyone's, without the capacity that was reserved for it. */
static void forget_starts(struct owner *owner, struct text order_id)
{
    for (uint32_t step = 0; step < WORKFLOW_STEPS_MAX; step++)
        router_start_decided(router_of(owner), &owner->starts.routed, order_id, step, false);
}

/* For the agents' turnover: what they reported counts, what timed out does not. A step that has
 * started again at another agent counts there. */
static void note_completed(const struct owner *owner, const struct decision *decision,
                           const struct order *order)
{
    int64_t now_ms = cluster_now_ms(owner->cluster);
    for (uint32_t i = 0; i < decision->event_count; i++) {
        const struct event *event = &decision->events[i];
        if (event->kind != EVENT_STEP_SUCCEEDED && event->kind != EVENT_STEP_FAILED)
            continue;
        int step = order_find_step(order, event_ref(event)->step);
        assert(step >= 0 && (uint32_t)step < order->step_count);
        router_completed(router_of(owner), order->steps[step].agent, now_ms);
    }
}

void owner_route_decided(struct owner *owner, const struct command *cmd,
                         const struct decision *decision, const struct order *order)
{
    if (router_of(owner) == NULL)
        return;
    assert(owner->starts.routed.ctx == owner);
    if (order != NULL && cmd->kind == COMMAND_REPORT_STEP)
        note_completed(owner, decision, order);
    int step = own_start_step(owner, cmd, order);
    /* Also when it has expired since: it is not there, or another one is. */
    if (cmd->kind == COMMAND_MIGRATE_ORDER || (step < 0 && is_own_start(owner, cmd)))
        forget_starts(owner, cmd->order_id);
    if (step < 0)
        return;
    assert(order != NULL && (uint32_t)step < order->step_count);
    bool waits = order_step_queued(order, &order->steps[step]);
    router_start_decided(router_of(owner), &owner->starts.routed, cmd->order_id, (uint32_t)step,
                         waits);
}

void owner_route_acknowledged(struct owner *owner)
{
    if (router_of(owner) != NULL)
        router_acknowledged(router_of(owner), &owner->starts.routed);
}

/* ---- starting what waits ---- */

/* Others get the capacity for a while after a failure: at once it would fail again. */
static void note_answer(struct owner *owner, bool failed)
{
    int64_t now = cluster_now_ms(owner->cluster);
    owner->starts.failed_ms = failed ? now : 0;
    if (!failed)
        owner->starts.since_ms = now;
}

static void on_start_appended(void *ctx, uint64_t token, int64_t offset, const struct error *error)
{
    struct owner *owner = ctx;
    (void)offset;
    assert(owner->starts.outstanding > 0);
    assert(owner->starts.outstanding <= owner->outstanding);
    owner->starts.outstanding--;
    if (!owner->released)
        note_answer(owner, error != NULL && error_is(error));
    if (!owner_answered(owner, (uint32_t)token) || error == NULL || !error_is(error))
        return;
    assert(router_of(owner) != NULL);
    log_warning_limited("a StartStep of a queued step was not delivered",
                        LOG_I64("partition", owner->partition), LOG_ERR(error));
    router_start_failed(router_of(owner), &owner->starts.routed, (uint32_t)(token >> 32));
}

/* The router has picked the step. An unreadable store is left to the next decision to notice. The
 * token of the append: the number of the pick above that of the claim. */
static enum route_answer start_step(void *ctx, const struct route_pick *pick)
{
    struct owner *owner = ctx;
    const struct order *order = NULL;
    struct error error;
    assert(owner_is_running(owner) && !owner->suspended);
    assert(pick->order_id.size <= ORDER_ID_BYTES_MAX);
    if (view_order(owner_view(owner), pick->order_id, &order, &error) != ERROR_OK)
        return ROUTE_LATER;
    if (order == NULL || !backlog_waits_in(order, pick->step, pick->queue))
        return ROUTE_GONE;
    const struct step *step = &order->steps[pick->step];
    struct command cmd = {.kind = COMMAND_START_STEP,
                          .order_id = pick->order_id,
                          .start_step = {.order_id = pick->order_id,
                                         .step = step->name,
                                         .direction = step->direction,
                                         .attempt = step->attempt,
                                         .retry_at = step_wait(step).until,
                                         .by = text_of(owner->cluster->service->instance_id)}};
    FAILPOINT("owner.pick");
    if (cluster_append(owner->cluster, BROKER_PRODUCER_LOG, owner->cluster->topics.commands,
                       owner->partition, pick->order_id, RECORD_START_STEP, &cmd, on_start_appended,
                       owner, (uint64_t)pick->number << 32 | owner->claim_number,
                       &error) != ERROR_OK)
        return ROUTE_LATER;
    owner->outstanding++;
    assert(owner->starts.outstanding < owner->outstanding);
    if (owner->starts.outstanding++ == 0 && owner->starts.failed_ms == 0)
        owner->starts.since_ms = cluster_now_ms(owner->cluster);
    return ROUTE_SENT;
}

/* ---- begin and end ---- */

void owner_route_begin(struct owner *owner)
{
    if (router_of(owner) == NULL)
        return;
    assert(owner->state == OWNER_RUNNING);
    assert(owner->backlog != NULL);
    assert(owner->starts.routed.ctx == NULL && owner->starts.routed.starts == NULL);
    owner->starts.routed = (struct route_partition){.start = start_step,
                                                    .ctx = owner,
                                                    .view = owner_view(owner),
                                                    .backlog = owner->backlog,
                                                    .suspended = owner->suspended};
    backlog_set_active(owner->backlog, true);
    router_join(router_of(owner), &owner->starts.routed);
}

void owner_route_end(struct owner *owner)
{
    if (router_of(owner) != NULL && owner->starts.routed.ctx != NULL)
        router_leave(router_of(owner), &owner->starts.routed);
    if (owner->backlog != NULL)
        backlog_set_active(owner->backlog, false);
    assert(owner->starts.routed.starts == NULL);
    owner->starts.routed = (struct route_partition){0};
}

uint32_t owner_route_starts(const struct owner *owner)
{
    return owner->starts.outstanding;
}

bool owner_route_starts_stall(const struct owner *owner)
{
    int64_t now = cluster_now_ms(owner->cluster);
    assert(owner->starts.outstanding <= owner->outstanding);
    bool failed = owner->starts.failed_ms != 0 && now - owner->starts.failed_ms < OWNER_STALL_MS;
    return (owner->starts.outstanding > 0 || failed) &&
           now - owner->starts.since_ms >= OWNER_STALL_MS;
}

bool owner_route_any_running(const struct owner *owner)
{
    return router_of(owner) != NULL && owner->backlog != NULL &&
           backlog_any_running(owner->backlog);
}

void owner_route_hold(struct owner *owner, bool held)
{
    if (router_of(owner) != NULL && owner->starts.routed.ctx != NULL)
        router_hold(router_of(owner), &owner->starts.routed, held);
}

void owner_route_suspend(struct owner *owner)
{
    assert(owner->starts.routed.ctx == NULL || owner->starts.routed.ctx == owner);
    owner->starts.routed.suspended = owner->suspended;
    if (router_of(owner) != NULL)
        router_pick_soon(router_of(owner));
}
