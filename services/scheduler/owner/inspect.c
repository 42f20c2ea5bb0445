/* SPDX-License-Identifier: Apache-2.0 */
/* Does commands[p] hold the commands that the log consumed? The reader of commands begins with the
 * last of them: if that is the one that the log names, the same reader goes on with those that are
 * to be decided. It is opened when the claim is acknowledged, and waits with what it has fetched
 * until the claim is folded: orders wait for the fetch. Only where the last command is not found
 * is the topic asked for its ends. */
#include "services/scheduler/owner/internal.h"

#include <assert.h>
#include <inttypes.h>

enum { QUERY_AGAIN_MS = 500 };

void owner_inspect_ahead(struct owner *owner)
{
    assert(owner->state == OWNER_FOLDING && !owner_queue_is_open(owner));
    if (follower_checkpoint(owner->follower)->last_command_offset < 0)
        return;
    owner_queue_open(owner, follower_checkpoint(owner->follower)->last_command_offset);
    owner_queue_pause(owner, true);
}

void owner_inspect(struct owner *owner)
{
    int64_t last = follower_checkpoint(owner->follower)->last_command_offset;
    assert(owner->state == OWNER_INSPECTING);
    owner->claim.commands_in_range = false;
    if (owner_queue_is_open(owner)) /* not at the last one, if another owner has decided since */
        owner_queue_pause(owner, false);
    else if (last >= 0)
        owner_queue_open(owner, last);
    else
        owner_ask_for_commands(owner);
}

static void stop_differing(struct owner *owner, int64_t offset)
{
    struct error error;
    error_set(&error, CODE_COMMANDS_DIFFER,
              "%s[%d]@%" PRId64 " is not the command that the log consumed there: the topic was "
              "recreated. Continue from its start with `reeve partition reset --partition %d "
              "--next-command 0`",
              owner->cluster->topics.commands, owner->partition, offset, owner->partition);
    owner_stop(owner, &error);
}

void owner_inspected(struct owner *owner, const struct broker_record *record)
{
    const struct checkpoint *checkpoint = follower_checkpoint(owner->follower);
    int64_t last = checkpoint->last_command_offset;
    assert(owner->state == OWNER_INSPECTING && owner_queue_is_open(owner));
    bool found = record != NULL && record->offset == last;
    if (found && record->timestamp != checkpoint->last_command_time) {
        stop_differing(owner, last);
        return;
    }
    if (!found || checkpoint->next_command_offset != last + 1)
        owner_queue_close(owner);
    /* In range and not found: nothing can read it, or retention deleted it. */
    if (found || owner->claim.commands_in_range)
        owner_begin_running(owner);
    else
        owner_ask_for_commands(owner);
}

void owner_inspection_failed(struct owner *owner, const struct error *error)
{
    assert(owner->state == OWNER_INSPECTING && owner_queue_is_open(owner));
    if (error->class != ERROR_FATAL)
        return;
    if (error->code != CODE_OFFSET_OUT_OF_RANGE || owner->claim.commands_in_range) {
        owner_give_up_for(owner, error);
        return;
    }
    owner_queue_close(owner);
    owner_ask_for_commands(owner);
}

static void inspect_offsets(struct owner *owner, int64_t low, int64_t high)
{
    const struct checkpoint *checkpoint = follower_checkpoint(owner->follower);
    assert(owner->state == OWNER_INSPECTING && !owner_queue_is_open(owner));
    int64_t next = checkpoint->next_command_offset;
    struct error error;
    if (next < low || next > high) {
        error_set(&error, CODE_COMMANDS_OUT_OF_RANGE,
                  "the next command of %s[%d] is %" PRId64 ", but the topic holds %" PRId64
                  " to %" PRId64 ". Was it recreated, or were commands deleted before they were "
                  "decided? Choose where to continue: `reeve partition reset --partition %d "
                  "--next-command OFFSET`",
                  owner->cluster->topics.commands, owner->partition, next, low, high,
                  owner->partition);
        owner_stop(owner, &error);
        return;
    }
    owner->claim.commands_in_range = true;
    if (checkpoint->last_command_offset < low)
        owner_begin_running(owner);
    else
        owner_queue_open(owner, checkpoint->last_command_offset);
}

static void on_command_offsets(void *ctx, int64_t low, int64_t high, const struct error *error)
{
    struct owner *owner = ctx;
    if (!owner_answered(owner, owner->claim_number) || owner->state != OWNER_INSPECTING)
        return;
    if (error != NULL && error_is(error))
        loop_timer_after(cluster_loop(owner->cluster), &owner->timer, QUERY_AGAIN_MS);
    else
        inspect_offsets(owner, low, high);
}

void owner_ask_for_commands(struct owner *owner)
{
    assert(owner->state == OWNER_INSPECTING && !owner_queue_is_open(owner));
    owner->outstanding++;
    broker_offsets(owner->cluster->broker, owner->cluster->topics.commands, owner->partition,
                   on_command_offsets, owner);
}
