/* SPDX-License-Identifier: Apache-2.0 */
/* Command guards: after a claim that was followed by no Decision, an owner decides one command at a
 * time, and first leaves a trace of it in the log. Meanwhile no other partition of the process
 * decides: a crash would leave the trace of an innocent command behind. */
#include "platform/failpoint.h"
#include "services/scheduler/owner/internal.h"

#include <assert.h>
#include <utlist.h>

/* ---- turns ---- */

static void turns_leave(struct owner *owner)
{
    assert(!owner->guard.waits || owner->metrics->waiting != NULL);
    if (owner->guard.waits)
        DL_DELETE2(owner->metrics->waiting, owner, guard.prev, guard.next);
    owner->guard.waits = false;
}

void owner_turns_resume(struct owner *owner)
{
    if (owner->metrics->guarding != owner)
        return;
    assert(!owner->guard.waits);
    owner->metrics->guarding = NULL;
    while (owner->metrics->waiting != NULL) {
        struct owner *next = owner->metrics->waiting;
        turns_leave(next);
        owner_step_soon(next);
    }
}

void owner_turns_hold(struct owner *owner)
{
    if (owner->metrics->guarding == owner)
        return;
    assert(owner->metrics->guarding == NULL);
    assert(!owner->guard.waits);
    owner->metrics->guarding = owner;
    owner->metrics->guarding_since_ms = cluster_now_ms(owner->cluster);
}

/* While another partition guards a command, until it stalls: then a crash here may cost its command
 * one of its tries, and waiting would cost this partition all the time that its leader is away. */
bool owner_turns_wait(struct owner *owner)
{
    struct owner_metrics *shared = owner->metrics;
    assert(owner->state == OWNER_RUNNING && owner_queue_head(owner) != NULL);
    turns_leave(owner);
    if (shared->guarding == NULL || shared->guarding == owner)
        return false;
    int64_t until = shared->guarding_since_ms + OWNER_STALL_MS;
    if (cluster_now_ms(owner->cluster) >= until) {
        shared->guarding = NULL;
        return false;
    }
    DL_APPEND2(shared->waiting, owner, guard.prev, guard.next);
    owner->guard.waits = true;
    owner->blocked_by = "another partition of this process, which guards a command";
    loop_timer_set(cluster_loop(owner->cluster), &owner->timer, until);
    return true;
}

/* ---- the guard ---- */

void owner_guard_begin(struct owner *owner, uint32_t careful)
{
    assert(!owner->guard.waits && owner->metrics->guarding != owner);
    owner->guard.careful = careful;
    owner->guard.guarded = false;
}

void owner_guard_end(struct owner *owner)
{
    turns_leave(owner);
    owner_turns_resume(owner);
    owner->guard.guarded = false;
}

bool owner_guard_stands(const struct owner *owner)
{
    return owner->guard.guarded;
}

bool owner_guard_is_missing(const struct owner *owner)
{
    return owner->guard.careful > 0 && !owner->guard.guarded && !owner_is_to_be_quarantined(owner);
}

uint32_t owner_guard_batch_max(const struct owner *owner)
{
    return owner->guard.careful > 0 ? 1 : owner->options.batch_max;
}

void owner_guard_decided(struct owner *owner)
{
    owner->guard.guarded = false;
    if (owner->guard.careful > 0)
        owner->guard.careful--;
}

bool owner_is_to_be_quarantined(const struct owner *owner)
{
    const struct checkpoint *checkpoint = follower_checkpoint(owner->follower);
    const struct pending_command *head = owner_queue_head(owner);
    assert(head != NULL);
    return checkpoint->guarded_offset == head->offset && checkpoint->guards >= COMMAND_TRIES_MAX &&
           !owner->guard.guarded;
}

bool owner_is_to_spare_expressions(const struct owner *owner)
{
    const struct checkpoint *checkpoint = follower_checkpoint(owner->follower);
    const struct pending_command *head = owner_queue_head(owner);
    assert(head != NULL);
    return checkpoint->guarded_offset == head->offset && checkpoint->guards > EXPRESSION_TRIES_MAX;
}

static void on_guarded(struct owner *owner, int64_t offset)
{
    (void)offset;
    FAILPOINT("attempt.acknowledged");
    assert(!owner->guard.guarded && owner->guard.careful > 0);
    owner->guard.guarded = true;
    owner_step_soon(owner);
}

static const struct owner_record guard_record = {
    .kind = RECORD_COMMAND_GUARD, .name = "an Attempt", .acknowledged = on_guarded};

/* Before each command of a careful phase: a scheduler that crashes while deciding it leaves a
 * trace. */
void owner_guard_append(struct owner *owner)
{
    const struct pending_command *head = owner_queue_head(owner);
    assert(owner->state == OWNER_RUNNING && head != NULL);
    assert(owner->guard.careful > 0 && !owner->guard.guarded);
    struct command_guard guard = {.claim_id = owner->claim_id, .command_offset = head->offset};
    int64_t offset = follower_checkpoint(owner->follower)->next_event_offset;
    struct text value;
    if (!owner_append(owner, &guard_record, &guard, head->key, &value)) {
        owner_wait_for_producer(owner);
        return;
    }
    owner_turns_hold(owner);
    view_guarded(owner_view(owner), &guard, value, offset);
}
