/* SPDX-License-Identifier: Apache-2.0 */
/* The story of a command, from top to bottom; batches of commands repeat it as long as there is a
 * claim.
 *
 *     queue        commands that were read wait (queue.c); step() looks whether it is time
 *     guard        after a crash, one comes first, alone, and goes on once it is in the log: step()
 *     workflow     what its record says, and the workflows it needs (command.c)
 *     decide       on the state in memory: decide_head()
 *     append       its Decision goes to the log, and to that state: append_decision()
 *     acknowledge  all of the batch, at consecutive offsets (append.c)
 *     emit         the effects of its Decision: emit(); the store follows (store.c)
 *
 * Between two batches, step() gives turns to what else is written to the log. */
#include "platform/failpoint.h"
#include "services/scheduler/owner/internal.h"

#include <assert.h>
#include <stdlib.h>

enum {
    QUEUE_FULL_MS = 5,          /* the producer's queue is full: try again after */
    BLOCKED_MS = 1000,          /* disk or clock: check again after */
    BATCH_BYTES = 256 * 1024,   /* of the memory's first block */
    SCRATCH_BYTES = 128 * 1024, /* a copy of the largest list of items, and of all steps */
    /* A batch that has come to one of these ends: expressions may take a Decision 65 ms, and
     * megabytes. */
    BATCH_US_MAX = 100 * 1000,
    BATCH_BYTES_MAX = 4 * RECORD_BYTES_MAX
};

/* ---- decide and append ---- */

static void emit(struct owner *owner, int64_t offset);

static const struct owner_record decision_record = {
    .kind = RECORD_DECISION, .name = "Decisions", .many = true, .acknowledged = emit};

enum decide_result {
    DECIDED,
    LATER, /* the producer's queue is full, or schemas or workflows are being read */
    BROKEN /* the claim is given up */
};

static enum decide_result append_decision(struct owner *owner, struct batch_item *item)
{
    struct error error;
    struct text value;
    struct decision *decision = &item->decision;
    const struct checkpoint *checkpoint = follower_checkpoint(owner->follower);
    decision->claim_id = owner->claim_id;
    decision->sequence = checkpoint->next_sequence;
    decision->emitted_through = emitter_through(owner->emitter);
    decision->offset = checkpoint->next_event_offset;
    assert(decision->emitted_through < decision->offset - owner->batch.count);
    assert(decision->event_count >= 1 && decision->event_count <= DECISION_EVENTS_MAX);
    FAILPOINT("cycle.append");
    if (!owner_append(owner, &decision_record, decision, decision->order_id, &value))
        return LATER;
    owner->batch.encoded += value.size;
    if (view_decided(owner_view(owner), decision, value, &error) == ERROR_OK)
        return DECIDED;
    owner_failed_store(owner, &error);
    return BROKEN;
}

static enum decide_result decide_head(struct owner *owner)
{
    const struct pending_command *pending = owner_queue_head(owner);
    struct batch_item *item = &owner->batch.items[owner->batch.count];
    struct command cmd;
    struct error error;
    const struct order *order = NULL;
    struct decide_input input = {.margin_ms = owner->options.margin_ms,
                                 .submission_age_ms_max = SUBMISSIONS_KEPT_MS,
                                 .instance = text_of(owner->cluster->service->instance_id),
                                 .command_offset = pending->offset,
                                 .command_time = pending->timestamp,
                                 .scratch = &owner->batch.scratch.arena};
    assert(owner->batch.count < owner->options.batch_max);
    assert(owner->batch.refreshing == NULL);
    item->begun_us = clock_mono_us(owner->cluster->service->clock);
    input.now = owner_now(owner, item->begun_us, pending->timestamp);
    assert(input.now >= follower_checkpoint(owner->follower)->newest_decided_at);
    input.no_expressions = owner_is_to_spare_expressions(owner);
    bool quarantine = owner_is_to_be_quarantined(owner);
    if (quarantine)
        owner_quarantine_command(owner, &cmd);
    else if (!owner_read_command(owner, &cmd))
        return LATER;
    if (!text_empty(cmd.order_id) &&
        view_order(owner_view(owner), cmd.order_id, &order, &error) != ERROR_OK) {
        owner_failed_store(owner, &error);
        return BROKEN;
    }
    if (!owner_find_workflow(owner, &cmd, order, &input.workflow) ||
        !owner_find_target(owner, &cmd, order, &input))
        return LATER;
    if (!quarantine) {
        FAILPOINT("cycle.decide");
        FAILPOINT_OF("cycle.decide", cmd.order_id);
    }
    input.routing = owner_route_routing(owner, &cmd, order,
                                        input.target != NULL ? input.target : input.workflow);
    heap_arena_reset(&owner->batch.scratch);
    engine_decide(order, &cmd, &input, &owner->batch.memory.arena, &item->decision);
    outcomes_of(owner->metrics->outcomes, &item->decision, order, input.workflow,
                &owner->batch.memory.arena, &item->outcomes);
    enum decide_result result = append_decision(owner, item);
    if (result == DECIDED)
        owner_route_decided(owner, &cmd, &item->decision, order);
    return result;
}

void owner_wait_for_producer(struct owner *owner)
{
    owner->blocked_by = "the brokers: the producer's queue is full";
    loop_timer_after(cluster_loop(owner->cluster), &owner->timer, QUEUE_FULL_MS);
}

/* What else the process does, such as its polls of Kafka, has its turn before the next batch. */
static bool batch_is_full(const struct owner *owner, uint32_t count_max)
{
    const struct owner_batch *batch = &owner->batch;
    if (batch->count == 0)
        return false;
    int64_t now_us = clock_mono_us(owner->cluster->service->clock);
    return batch->count == count_max || now_us - batch->items[0].begun_us >= BATCH_US_MAX ||
           batch->memory.arena.used + batch->encoded >= BATCH_BYTES_MAX;
}

static void decide_batch(struct owner *owner)
{
    assert(owner->state == OWNER_RUNNING && !owner->suspended);
    assert(owner->batch.count == 0 && owner_queue_head(owner) != NULL);
    assert(!owner_guard_is_missing(owner));
    uint32_t count_max = owner_guard_batch_max(owner);
    enum decide_result result = DECIDED;
    heap_arena_reset(&owner->batch.memory);
    owner->batch.encoded = 0;
    view_hold(owner_view(owner), true);
    while (owner_queue_head(owner) != NULL && !batch_is_full(owner, count_max)) {
        result = decide_head(owner);
        if (result == BROKEN)
            return;
        if (result == LATER)
            break;
        owner->batch.count++;
        owner_queue_pop(owner);
        owner_guard_decided(owner);
    }
    assert(owner->batch.count <= count_max);
    owner_queue_bound(owner);
    if (owner->batch.count > 0)
        return;
    view_hold(owner_view(owner), false);
    if (result != LATER || owner->batch.refreshing != NULL)
        return;
    owner_wait_for_producer(owner);
}

/* ---- acknowledged: emit ---- */

static void emit(struct owner *owner, int64_t offset)
{
    assert(owner->batch.count > 0);
    assert(owner->batch.items[owner->batch.count - 1].decision.offset == offset);
    FAILPOINT("cycle.acknowledged");
    owner->trouble = (struct error){0};
    int64_t now_us = clock_mono_us(owner->cluster->service->clock);
    for (uint32_t i = 0; i < owner->batch.count; i++) {
        emitter_offer(owner->emitter, &owner->batch.items[i].decision);
        metrics_observe_us(owner->metrics->cycle, now_us - owner->batch.items[i].begun_us);
        outcomes_count(&owner->batch.items[i].outcomes);
        if (!decision_changes_order(&owner->batch.items[i].decision))
            metrics_add(owner->metrics->rejections, 1);
    }
    FAILPOINT("cycle.emitted");
    metrics_add(owner->metrics->decisions, owner->batch.count);
    metrics_add(owner->metrics->batches, 1);
    view_hold(owner_view(owner), false);
    owner_queue_free_decided(owner);
    owner_turns_resume(owner);
    assert(!owner_guard_stands(owner));
    owner->retry_ms = 0;
    owner->batch.count = 0;
    if (!owner_store_acknowledged(owner))
        return;
    owner_route_acknowledged(owner);
    owner_step_soon(owner);
}

/* ---- the next step ---- */

/* Reasons not to decide now; the timer steps again. */
static bool blocked(struct owner *owner)
{
    assert(owner->state == OWNER_RUNNING);
    assert(owner->batch.count == 0);
    if (owner_clock(owner)->bad && owner_pause_for_clock(owner))
        return true;
    if (owner_clock(owner)->bad)
        owner->blocked_by = "this machine's clock to be right";
    else if (owner_queue_head(owner) != NULL && disk_guard_is_low(owner->cluster->service->disk))
        owner->blocked_by = "free space on its disk"; /* the guard logs it */
    else
        return false;
    owner_turns_resume(owner); /* it may take long: others decide meanwhile */
    loop_timer_after(cluster_loop(owner->cluster), &owner->timer, BLOCKED_MS);
    return true;
}

static void step(void *ctx)
{
    struct owner *owner = ctx;
    if (owner->state != OWNER_RUNNING || owner->suspended || owner->batch.refreshing != NULL)
        return;
    if (owner_has_lost_its_producer(owner)) {
        owner_give_up(owner, CODE_PRODUCER_FATAL, "the producer that wrote the claim died");
        return;
    }
    if (owner_is_ahead(owner)) { /* the next claim will stop */
        owner_give_up(owner, CODE_CLOCK_AHEAD, "the brokers' clocks were set back");
        return;
    }
    owner->blocked_by = NULL;
    if (blocked(owner) || owner_trim_turn(owner) || owner_expire_turn(owner))
        return;
    if (owner_queue_head(owner) == NULL || owner_stops_at_newer_command(owner) ||
        owner_turns_wait(owner))
        return;
    assert(owner_queue_is_open(owner));
    assert(owner_has_appended(owner));
    if (owner_guard_is_missing(owner)) {
        owner_guard_append(owner);
        return;
    }
    if (owner_guard_stands(owner))
        owner_turns_hold(owner);
    decide_batch(owner);
}

void owner_step_soon(struct owner *owner)
{
    if (owner->state == OWNER_RUNNING)
        loop_defer(cluster_loop(owner->cluster), &owner->batch.stepping);
}

/* ---- begin and end ---- */

void owner_cycle_init(struct owner *owner)
{
    owner->batch.items = calloc(owner->options.batch_max, sizeof(owner->batch.items[0]));
    assert(owner->batch.items != NULL);
    heap_arena_init(&owner->batch.memory, BATCH_BYTES);
    heap_arena_init(&owner->batch.scratch, SCRATCH_BYTES);
}

void owner_cycle_free(struct owner *owner)
{
    assert(owner_cycle_has_ended(owner));
    heap_arena_deinit(&owner->batch.memory);
    heap_arena_deinit(&owner->batch.scratch);
    free(owner->batch.items);
}

void owner_batch_shrink(struct owner *owner)
{
    assert(owner->batch.count == 0);
    heap_arena_deinit(&owner->batch.memory);
    heap_arena_deinit(&owner->batch.scratch);
    heap_arena_init(&owner->batch.memory, BATCH_BYTES);
    heap_arena_init(&owner->batch.scratch, SCRATCH_BYTES);
}

void owner_cycle_begin(struct owner *owner, uint32_t careful)
{
    assert(owner->state == OWNER_RUNNING);
    assert(owner_queue_head(owner) == NULL && owner->batch.count == 0);
    loop_deferred_init(&owner->batch.stepping, step, owner);
    owner->batch.refreshing = NULL;
    owner->blocked_by = NULL;
    owner_guard_begin(owner, careful);
    if (!owner_queue_is_open(owner)) /* else it has read the command before the next one */
        owner_queue_open(owner, follower_checkpoint(owner->follower)->next_command_offset);
    owner_route_begin(owner);
    owner_trim_begin(owner);
    owner_expire_begin(owner);
    owner_step_soon(owner); /* a wrong clock is measured again although no command waits */
}

void owner_cycle_end(struct owner *owner)
{
    owner_queue_close(owner);
    loop_defer_cancel(cluster_loop(owner->cluster), &owner->batch.stepping);
    owner_store_end(owner);
    owner_trim_end(owner);
    owner_expire_end(owner);
    owner_route_end(owner);
    owner_guard_end(owner);
    owner_queue_clear(owner);
    owner_append_end(owner);
    owner->batch.count = 0;
    owner->batch.refreshing = NULL;
    cluster_refresh_cancel(owner->cluster, owner);
    if (owner_view(owner) != NULL)
        view_hold(owner_view(owner), false);
}

bool owner_cycle_has_ended(const struct owner *owner)
{
    return !owner_queue_is_open(owner) && owner_queue_head(owner) == NULL &&
           owner->batch.count == 0;
}
