/* SPDX-License-Identifier: Apache-2.0 */
/* Finished orders leave the stores when they have ended for orders.retention.ms: the owner appends
 * an Expiry, one record for many orders. They leave as fast as orders end, whatever that rate is,
 * and a busy partition decides in between. */
#include "platform/failpoint.h"
#include "services/scheduler/owner/internal.h"

#include <assert.h>

enum {
    TURN_MS = 20,       /* after a record that took out as many */
    BUSY_TURN_MS = 100, /* the same, while commands wait: 10,000 orders per second */
    LOOK_MS = 10000,    /* else: so that a record is about many orders */
    LOOK_SHARE = 16     /* of the retention, where that is shorter */
};

static void turn_after(struct owner *owner, int64_t ms)
{
    loop_timer_after(cluster_loop(owner->cluster), &owner->expiry.timer, ms);
}

static void look_later(struct owner *owner)
{
    int64_t share = owner->options.retention_ms / LOOK_SHARE + 1;
    turn_after(owner, share < LOOK_MS ? share : LOOK_MS);
}

static void on_expired(struct owner *owner, int64_t offset)
{
    (void)offset;
    FAILPOINT("expiry.acknowledged");
    metrics_add(owner->metrics->expired, owner->expiry.count);
    if (owner->expiry.more)
        turn_after(owner, owner_queue_head(owner) != NULL ? BUSY_TURN_MS : TURN_MS);
    else
        look_later(owner);
    if (owner_store_acknowledged(owner))
        owner_step_soon(owner);
}

static const struct owner_record expiry_record = {
    .kind = RECORD_EXPIRY, .name = "an Expiry", .acknowledged = on_expired};

/* False: the producer's queue is full. */
static bool append_expiry(struct owner *owner, const struct view_ended *ended, int64_t now)
{
    const struct checkpoint *checkpoint = follower_checkpoint(owner->follower);
    int64_t offset = checkpoint->next_event_offset;
    struct text value;
    struct error error;
    struct expiry expiry = {.claim_id = owner->claim_id,
                            .sequence = checkpoint->next_sequence,
                            .decided_at = now,
                            .ended_at = ended->ended_at,
                            .order_id = {ended->order_id.data, ended->order_id.size}};
    FAILPOINT("expiry.append");
    if (!owner_append(owner, &expiry_record, &expiry, text_of(owner->cluster->service->instance_id),
                      &value))
        return false;
    owner->expiry.more = ended->count == owner->options.expiry_max;
    if (view_expired(owner_view(owner), &expiry, value, offset, &owner->expiry.count, &error) !=
        ERROR_OK)
        owner_failed_store(owner, &error);
    return true;
}

bool owner_expire_turn(struct owner *owner)
{
    struct view_ended ended;
    struct error error;
    assert(owner->state == OWNER_RUNNING && owner_has_appended(owner));
    assert(!owner_clock(owner)->bad);
    if (!owner->expiry.due || owner_guard_stands(owner))
        return false;
    owner->expiry.due = false;
    int64_t now = owner_now(owner, clock_mono_us(owner->cluster->service->clock), 0);
    if (view_find_ended(owner_view(owner), now - owner->options.retention_ms,
                        owner->options.expiry_max, &ended, &error) != ERROR_OK) {
        owner_failed_store(owner, &error);
        return true;
    }
    if (ended.count == 0) {
        look_later(owner);
        return false;
    }
    if (append_expiry(owner, &ended, now))
        return true;
    turn_after(owner, TURN_MS);
    return false;
}

static void on_timer(void *ctx)
{
    struct owner *owner = ctx;
    owner->expiry.due = true;
    owner_step_soon(owner); /* else after the batch that is on its way */
}

void owner_expire_init(struct owner *owner)
{
    loop_timer_init(&owner->expiry.timer, on_timer, owner);
}

void owner_expire_begin(struct owner *owner)
{
    assert(!owner->expiry.due);
    if (owner->options.retention_ms > 0)
        look_later(owner);
}

void owner_expire_end(struct owner *owner)
{
    loop_timer_cancel(cluster_loop(owner->cluster), &owner->expiry.timer);
    owner->expiry.due = false;
}
