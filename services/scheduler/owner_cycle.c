/* SPDX-License-Identifier: Apache-2.0 */
/* The cycle of one owned partition: commands waiting -> decide each on the state in memory ->
 * append the Decisions -> all acknowledged at consecutive offsets -> one WriteBatch -> emit. */
#include "platform/failpoint.h"
#include "platform/logger.h"
#include "services/scheduler/owner_internal.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    PENDING_BYTES_MAX = 16 * 1024 * 1024,
    QUEUE_FULL_MS = 5, /* the producer's queue is full: try again after */
    BLOCKED_MS = 1000, /* disk or clock: check again after */
    STALL_MS = 5000
};

static struct view *view_of(const struct owner *owner)
{
    return follower_view(owner->follower);
}

/* ---- the queue of commands ---- */

static void bound_queue(struct owner *owner)
{
    assert((owner->pending_count == 0) == (owner->head == NULL));
    assert(owner->pending_count > 0 || owner->pending_bytes == 0);
    bool full = owner->pending_count > 4 * owner->options.batch_max ||
                owner->pending_bytes > PENDING_BYTES_MAX;
    bool low = owner->pending_count < 2 * owner->options.batch_max &&
               owner->pending_bytes < PENDING_BYTES_MAX / 2;
    if (owner->commands == NULL || (owner->paused ? !low : !full))
        return;
    owner->paused = full;
    broker_reader_pause(owner->commands, full);
}

static void on_command(void *ctx, const struct broker_record *record)
{
    struct owner *owner = ctx;
    size_t size = record->key.size + record->value.size;
    struct pending_command *pending = malloc(sizeof(*pending) + size);
    assert(pending != NULL);
    *pending = (struct pending_command){.offset = record->offset, .timestamp = record->timestamp};
    if (record->key.size > 0)
        memcpy(pending->bytes, record->key.data, record->key.size);
    if (record->value.size > 0)
        memcpy(pending->bytes + record->key.size, record->value.data, record->value.size);
    pending->key = (struct text){pending->bytes, record->key.size};
    pending->value = (struct text){pending->bytes + record->key.size, record->value.size};
    assert(owner->head == NULL || owner->tail != NULL);
    if (owner->head == NULL)
        owner->head = pending;
    else
        owner->tail->next = pending;
    owner->tail = pending;
    owner->pending_count++;
    owner->pending_bytes += size;
    if (owner->commands_at_end && broker_has_append_time(owner->cluster->broker))
        clock_guard_observe(&owner->clock_guard, clock_wall_ms(owner->cluster->service->clock),
                            record->timestamp);
    owner->commands_at_end = false;
    bound_queue(owner);
    owner_step_soon(owner);
}

static void on_commands_end(void *ctx, int64_t next_offset)
{
    struct owner *owner = ctx;
    (void)next_offset;
    owner->commands_at_end = true;
}

static void on_commands_error(void *ctx, const struct error *error)
{
    struct owner *owner = ctx;
    log_warning_limited("cannot read commands", LOG_I64("partition", owner->partition),
                        LOG_ERR(error));
    if (error->class == ERROR_FATAL)
        owner_give_up(owner, error->code, error->message);
}

const struct broker_reader_ops owner_command_ops = {on_command, on_commands_end, on_commands_error};

/* The head leaves the queue; its bytes stay until the batch is through. */
static void pop(struct owner *owner)
{
    struct pending_command *pending = owner->head;
    assert(pending != NULL);
    assert(owner->pending_count > 0);
    assert(owner->pending_bytes >= pending->key.size + pending->value.size);
    owner->head = pending->next;
    owner->pending_count--;
    owner->pending_bytes -= pending->key.size + pending->value.size;
    pending->next = owner->decided;
    owner->decided = pending;
}

static void free_decided(struct owner *owner)
{
    while (owner->decided != NULL) {
        struct pending_command *pending = owner->decided;
        owner->decided = pending->next;
        free(pending);
    }
}

/* ---- answers ---- */

/* Other owners may guard their commands now. */
static void end_guard(struct owner *owner)
{
    if (owner->metrics->guarding == owner)
        owner->metrics->guarding = NULL;
}

static void store_and_emit(struct owner *owner)
{
    struct error error;
    assert(owner->state == OWNER_APPENDING);
    assert(owner->item_count > 0 && owner->acknowledged == owner->item_count);
    assert(owner->items[owner->item_count - 1].offset == owner->expected_offset - 1);
    FAILPOINT("cycle.acknowledged");
    loop_timer_cancel(cluster_loop(owner->cluster), &owner->timer);
    owner->trouble = (struct error){0};
    if (FAILPOINT_ERROR("cycle.store")) {
        error_set(&error, ERROR_FATAL, "StoreIo", "planted by a failpoint");
        owner_failed_store(owner, &error);
        return;
    }
    if (view_commit(view_of(owner), false, &error) != ERROR_OK) {
        owner_failed_store(owner, &error);
        return;
    }
    FAILPOINT("cycle.stored");
    assert(view_committed(view_of(owner))->next_event_offset == owner->expected_offset);
    int64_t now_us = clock_mono_us(owner->cluster->service->clock);
    for (uint32_t i = 0; i < owner->item_count; i++) {
        emitter_offer(owner->emitter, &owner->items[i].decision, owner->items[i].offset);
        metrics_observe_us(owner->metrics->cycle, now_us - owner->items[i].begun_us);
        if (!decision_changes_order(&owner->items[i].decision))
            metrics_add(owner->metrics->rejections, 1);
    }
    FAILPOINT("cycle.emitted");
    metrics_add(owner->metrics->decisions, owner->item_count);
    metrics_add(owner->metrics->batches, 1);
    view_hold(view_of(owner), false);
    view_tidy(view_of(owner));
    free_decided(owner);
    end_guard(owner);
    owner->retry_ms = 0;
    owner->item_count = 0;
    owner_set_state(owner, OWNER_RUNNING);
    owner_route_stored(owner);
    owner_step_soon(owner);
}

/* The only legitimate writer sees consecutive offsets. Anything else means that another process
 * writes here, or that it is unknown what was written. */
static bool as_expected(struct owner *owner, int64_t offset, const struct error *error)
{
    assert(owner->claim_offset >= 0 && owner->expected_offset > owner->claim_offset);
    if (error != NULL && error_is(error))
        owner_give_up(owner, error->code, error->message);
    else if (offset < 0)
        owner_give_up(owner, "OffsetUnknown", "acknowledged without an offset");
    else if (offset != owner->expected_offset)
        owner_give_up(owner, "NotAlone", "another process has written to the log");
    else {
        owner->expected_offset++;
        return true;
    }
    return false;
}

static void on_decision_appended(void *ctx, uint64_t token, int64_t offset,
                                 const struct error *error)
{
    struct owner *owner = ctx;
    if (!owner_answered(owner, token) || owner->state != OWNER_APPENDING)
        return;
    assert(owner->acknowledged < owner->item_count);
    if (as_expected(owner, offset, error) && ++owner->acknowledged == owner->item_count)
        store_and_emit(owner);
}

static void on_guard_appended(void *ctx, uint64_t token, int64_t offset, const struct error *error)
{
    struct owner *owner = ctx;
    if (!owner_answered(owner, token) || owner->state != OWNER_GUARDING ||
        !as_expected(owner, offset, error))
        return;
    loop_timer_cancel(cluster_loop(owner->cluster), &owner->timer);
    FAILPOINT("attempt.acknowledged");
    assert(owner->item_count == 0 && !owner->guarded);
    assert(owner->metrics->guarding == owner);
    owner->guarded = true;
    owner_set_state(owner, OWNER_RUNNING);
    owner_step_soon(owner);
}

/* ---- deciding ---- */

enum decide_result {
    DECIDED,
    LATER, /* the producer's queue is full, or schemas or workflows are being read */
    BROKEN /* the claim is given up */
};

static void on_refreshed(void *ctx, bool fresh)
{
    struct owner *owner = ctx;
    (void)fresh;
    if (!owner_answered(owner, owner->claim_number))
        return;
    owner->refreshing = false;
    owner_step_soon(owner);
}

static void dead_command(struct command *cmd, const struct pending_command *pending,
                         bool quarantined, struct text reason)
{
    *cmd = (struct command){.kind = COMMAND_UNDECODABLE,
                            .undecodable = {.bytes = pending->value,
                                            .key = pending->key,
                                            .reason = reason,
                                            .quarantined = quarantined}};
}

static struct text reason_text(struct owner *owner, const char *format, const char *detail)
{
    char text[MESSAGE_BYTES_MAX];
    int size = snprintf(text, sizeof(text), format, detail);
    assert(size >= 0);
    if (size >= (int)sizeof(text))
        size = (int)sizeof(text) - 1;
    return arena_text(&owner->batch.arena, (struct text){text, (uint32_t)size});
}

/* Decodes and validates the first command. What is not a command becomes an undecodable one, never
 * an error. */
static enum decide_result read_command(struct owner *owner, struct pending_command *pending,
                                       struct command *cmd)
{
    struct error error;
    struct record record;
    enum error_class class = codec_decode(owner->cluster->codec, pending->value, true,
                                          &owner->batch.arena, &record, &error);
    if (class != ERROR_OK && strcmp(error.code, "UnknownSchema") == 0 &&
        !pending->schemas_refreshed) {
        pending->schemas_refreshed = true;
        owner->refreshing = true;
        owner->outstanding++;
        cluster_refresh_schemas(owner->cluster, on_refreshed, owner);
        return LATER;
    }
    if (class != ERROR_OK) {
        dead_command(cmd, pending, false, reason_text(owner, "%s", error.message));
        return DECIDED;
    }
    if (!record_kind_is_command(record.kind)) {
        dead_command(cmd, pending, false,
                     reason_text(owner, "a %s is not a command", record_kind_name(record.kind)));
        return DECIDED;
    }
    *cmd = record.command;
    if (!text_equal(cmd->order_id, pending->key))
        dead_command(cmd, pending, false,
                     reason_text(owner, "%s", "the key is not the order id of the command"));
    else if (broker_partition_of(pending->key, owner->cluster->partition_count) != owner->partition)
        dead_command(cmd, pending, false,
                     reason_text(owner, "%s",
                                 "wrong partition: it must be murmur2(order id) modulo the "
                                 "number of partitions"));
    return DECIDED;
}

/* The workflow of the order, or the one that a submission names. LATER while <p>.workflows is read
 * again. */
static enum decide_result find_workflow(struct owner *owner, struct pending_command *pending,
                                        const struct command *cmd, const struct order *order,
                                        const struct workflow **ret_workflow)
{
    const struct order_details *details = NULL;
    *ret_workflow = NULL;
    if (order != NULL)
        details = &order->details;
    else if (cmd->kind == COMMAND_SUBMIT_ORDER)
        details = &cmd->submit_order;
    if (details == NULL)
        return DECIDED;
    *ret_workflow = workflow_registry_find(owner->cluster->workflows, details->workflow,
                                           details->workflow_version);
    if (*ret_workflow != NULL || pending->workflows_refreshed)
        return DECIDED;
    pending->workflows_refreshed = true;
    owner->refreshing = true;
    owner->outstanding++;
    cluster_refresh_workflows(owner->cluster, on_refreshed, owner);
    return LATER;
}

static enum decide_result append_decision(struct owner *owner, struct batch_item *item)
{
    struct error error;
    struct decision *decision = &item->decision;
    const struct checkpoint *checkpoint = view_checkpoint(view_of(owner));
    decision->claim_id = owner->claim_id;
    decision->sequence = checkpoint->next_sequence;
    decision->emitted_through = emitter_through(owner->emitter);
    item->offset = checkpoint->next_event_offset;
    assert(item->offset == owner->expected_offset + owner->item_count);
    assert(decision->event_count >= 1 && decision->event_count <= DECISION_EVENTS_MAX);
    owner->value.size = 0;
    codec_encode(owner->cluster->codec, RECORD_DECISION, decision, &owner->value);
    struct text value = {(const char *)owner->value.data, (uint32_t)owner->value.size};
    struct broker_append append = {.producer = BROKER_PRODUCER_LOG,
                                   .topic = owner->cluster->topics.events,
                                   .partition = owner->partition,
                                   .key = decision->order_id,
                                   .value = value,
                                   .done = on_decision_appended,
                                   .ctx = owner,
                                   .token = owner->claim_number};
    FAILPOINT("cycle.append");
    if (broker_append(owner->cluster->broker, &append, &error) != ERROR_OK)
        return LATER;
    owner->outstanding++;
    if (view_decided(view_of(owner), decision, value, item->offset, &error) == ERROR_OK)
        return DECIDED;
    owner_failed_store(owner, &error);
    return BROKEN;
}

static enum decide_result decide_head(struct owner *owner)
{
    struct pending_command *pending = owner->head;
    const struct checkpoint *checkpoint = view_checkpoint(view_of(owner));
    struct batch_item *item = &owner->items[owner->item_count];
    struct command cmd;
    struct error error;
    const struct order *order = NULL;
    struct decide_input input = {.now = clock_wall_ms(owner->cluster->service->clock),
                                 .margin_ms = owner->options.margin_ms,
                                 .instance = text_of(owner->cluster->service->instance_id),
                                 .command_offset = pending->offset,
                                 .command_time = pending->timestamp};
    assert(pending != NULL && !owner->refreshing);
    assert(owner->item_count < owner->options.batch_max);
    item->begun_us = clock_mono_us(owner->cluster->service->clock);
    if (input.now < checkpoint->newest_decided_at)
        input.now = checkpoint->newest_decided_at;
    bool quarantine = checkpoint->guarded_offset == pending->offset &&
                      checkpoint->guards >= COMMAND_TRIES_MAX && !owner->guarded;
    enum decide_result result = DECIDED;
    if (quarantine)
        dead_command(&cmd, pending, true,
                     TEXT("quarantined: five schedulers crashed while they decided this command"));
    else
        result = read_command(owner, pending, &cmd);
    if (result != DECIDED)
        return result;
    if (!text_empty(cmd.order_id) &&
        view_order(view_of(owner), cmd.order_id, &order, &error) != ERROR_OK) {
        owner_failed_store(owner, &error);
        return BROKEN;
    }
    result = find_workflow(owner, pending, &cmd, order, &input.workflow);
    if (result != DECIDED)
        return result;
    if (!quarantine) {
        FAILPOINT("cycle.decide");
        FAILPOINT_OF("cycle.decide", cmd.order_id);
    }
    input.routing = owner_route_routing(owner, &cmd, order, input.workflow);
    engine_decide(order, &cmd, &input, &owner->batch.arena, &item->decision);
    result = append_decision(owner, item);
    if (result == DECIDED)
        owner_route_decided(owner, &cmd, order);
    return result;
}

/* Before each command of a careful phase: a scheduler that crashes while deciding it leaves a
 * trace. */
static void append_guard(struct owner *owner)
{
    assert(owner->state == OWNER_RUNNING && owner->head != NULL);
    assert(owner->careful > 0 && !owner->guarded);
    if (owner->metrics->guarding != NULL && owner->metrics->guarding != owner) {
        loop_timer_after(cluster_loop(owner->cluster), &owner->timer, QUEUE_FULL_MS);
        return;
    }
    struct command_guard guard = {.claim_id = owner->claim_id,
                                  .command_offset = owner->head->offset};
    int64_t offset = view_checkpoint(view_of(owner))->next_event_offset;
    owner->value.size = 0;
    codec_encode(owner->cluster->codec, RECORD_COMMAND_GUARD, &guard, &owner->value);
    struct text value = {(const char *)owner->value.data, (uint32_t)owner->value.size};
    struct broker_append append = {.producer = BROKER_PRODUCER_LOG,
                                   .topic = owner->cluster->topics.events,
                                   .partition = owner->partition,
                                   .key = owner->head->key,
                                   .value = value,
                                   .done = on_guard_appended,
                                   .ctx = owner,
                                   .token = owner->claim_number};
    if (broker_append(owner->cluster->broker, &append, NULL) != ERROR_OK) {
        loop_timer_after(cluster_loop(owner->cluster), &owner->timer, QUEUE_FULL_MS);
        return;
    }
    assert(offset == owner->expected_offset);
    owner->outstanding++;
    owner->metrics->guarding = owner;
    owner_set_state(owner, OWNER_GUARDING);
    view_guarded(view_of(owner), &guard, value, offset);
    loop_timer_after(cluster_loop(owner->cluster), &owner->timer, STALL_MS);
}

/* Reasons not to decide now, though commands wait. */
static bool blocked(struct owner *owner)
{
    struct error error = {0};
    if (disk_guard_is_low(owner->cluster->service->disk)) { /* the guard logs it */
        loop_timer_after(cluster_loop(owner->cluster), &owner->timer, BLOCKED_MS);
        return true;
    }
    if (owner->clock_guard.bad)
        error_set(&error, ERROR_RETRY, "ClockSkew",
                  "this clock is %lld ms away from the broker's: fix the clock; no commands are "
                  "decided until then",
                  (long long)owner->clock_guard.skew_ms);
    if (!error_is(&error))
        return false;
    log_warning_limited("no commands are decided", LOG_I64("partition", owner->partition),
                        LOG_ERR(&error));
    owner->trouble = error;
    loop_timer_after(cluster_loop(owner->cluster), &owner->timer, BLOCKED_MS);
    return true;
}

static void decide_batch(struct owner *owner)
{
    assert(owner->state == OWNER_RUNNING && !owner->suspended);
    assert(owner->decided == NULL && owner->head != NULL);
    uint32_t bound = owner->careful > 0 ? 1 : owner->options.batch_max;
    enum decide_result result = DECIDED;
    heap_arena_reset(&owner->batch);
    view_hold(view_of(owner), true);
    owner->item_count = owner->acknowledged = 0;
    while (owner->head != NULL && owner->item_count < bound) {
        result = decide_head(owner);
        if (result == BROKEN)
            return;
        if (result == LATER)
            break;
        owner->item_count++;
        pop(owner);
        owner->guarded = false;
        if (owner->careful > 0)
            owner->careful--;
    }
    assert(owner->item_count <= bound);
    bound_queue(owner);
    if (owner->item_count > 0) {
        owner_set_state(owner, OWNER_APPENDING);
        loop_timer_after(cluster_loop(owner->cluster), &owner->timer, STALL_MS);
        return;
    }
    view_hold(view_of(owner), false);
    if (result == LATER && !owner->refreshing)
        loop_timer_after(cluster_loop(owner->cluster), &owner->timer, QUEUE_FULL_MS);
}

static void step(struct loop *loop, struct loop_deferred *deferred, void *userdata)
{
    struct owner *owner = userdata;
    (void)loop;
    (void)deferred;
    if (owner->state != OWNER_RUNNING || owner->suspended || owner->refreshing ||
        owner->head == NULL || blocked(owner))
        return;
    const struct checkpoint *checkpoint = view_checkpoint(view_of(owner));
    assert(owner->commands != NULL);
    assert(owner->item_count == 0);
    assert(checkpoint->next_event_offset == owner->expected_offset);
    bool quarantined = checkpoint->guarded_offset == owner->head->offset &&
                       checkpoint->guards >= COMMAND_TRIES_MAX;
    if (owner->careful > 0 && !owner->guarded && !quarantined)
        append_guard(owner);
    else
        decide_batch(owner);
}

void owner_step_soon(struct owner *owner)
{
    if (owner->state == OWNER_RUNNING)
        loop_defer(cluster_loop(owner->cluster), &owner->stepping);
}

/* ---- begin and end ---- */

void owner_cycle_begin(struct owner *owner)
{
    assert(owner->state == OWNER_RUNNING);
    assert(owner->head == NULL && owner->decided == NULL);
    assert(owner->commands == NULL && owner->pending_count == 0);
    loop_deferred_init(&owner->stepping, step, owner);
    owner->paused = owner->commands_at_end = owner->guarded = owner->refreshing = false;
    owner->commands = broker_read(
        owner->cluster->broker, owner->cluster->topics.commands, owner->partition,
        view_checkpoint(view_of(owner))->next_command_offset, &owner_command_ops, owner);
    owner_route_begin(owner);
}

void owner_cycle_end(struct owner *owner)
{
    broker_reader_close(owner->commands);
    owner->commands = NULL;
    loop_defer_cancel(cluster_loop(owner->cluster), &owner->stepping);
    owner_route_end(owner);
    end_guard(owner);
    while (owner->head != NULL)
        pop(owner);
    assert(owner->pending_count == 0 && owner->pending_bytes == 0);
    free_decided(owner);
    owner->tail = NULL;
    owner->item_count = owner->acknowledged = 0;
    owner->guarded = owner->refreshing = false;
    if (view_of(owner) != NULL)
        view_hold(view_of(owner), false);
}
