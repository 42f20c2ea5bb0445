/* SPDX-License-Identifier: Apache-2.0 */
/* The commands of a partition that are read and not yet decided, and those of the batch under
 * way. */
#include "platform/logger.h"
#include "services/scheduler/owner_internal.h"

#include <assert.h>

enum { PENDING_BYTES_MAX = 16 * 1024 * 1024 };

void owner_queue_bound(struct owner *owner)
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

static void take_command(struct owner *owner, struct pending_command *pending)
{
    assert(owner_is_running(owner));
    assert(owner->head == NULL || owner->tail->next == NULL);
    if (owner->head == NULL)
        owner->head = pending;
    else
        owner->tail->next = pending;
    owner->tail = pending;
    owner->pending_count++;
    owner->pending_bytes += pending_command_size(pending);
    owner_queue_bound(owner);
    owner_step_soon(owner);
}

static void on_command(void *ctx, const struct broker_record *record)
{
    struct owner *owner = ctx;
    if (owner->state == OWNER_INSPECTING)
        owner_inspected(owner, record);
    else
        take_command(owner, pending_command_new(record));
}

static void on_commands_unreadable(void *ctx, int64_t offset, int64_t next_offset)
{
    struct owner *owner = ctx;
    if (owner->state == OWNER_INSPECTING)
        owner_inspected(owner, NULL);
    else
        take_command(owner, pending_command_unreadable(offset, next_offset));
}

static void on_commands_end(void *ctx, int64_t next_offset)
{
    struct owner *owner = ctx;
    (void)next_offset;
    if (owner->state == OWNER_INSPECTING)
        owner_inspected(owner, NULL);
}

static void on_commands_error(void *ctx, const struct error *error)
{
    struct owner *owner = ctx;
    assert(owner->commands != NULL);
    if (owner->state == OWNER_INSPECTING) {
        owner_inspection_failed(owner, error);
        return;
    }
    assert(owner_is_running(owner));
    log_warning_limited("cannot read commands", LOG_I64("partition", owner->partition),
                        LOG_ERR(error));
    if (error->class == ERROR_FATAL)
        owner_give_up_for(owner, error);
}

static const struct broker_reader_ops command_ops = {on_command, on_commands_end,
                                                     on_commands_error};

void owner_queue_open(struct owner *owner, int64_t from)
{
    assert(owner->commands == NULL && owner->head == NULL);
    owner->commands = broker_read(owner->cluster->broker, owner->cluster->topics.commands,
                                  owner->partition, from, &command_ops, owner);
    broker_reader_skip_unreadable(owner->commands, on_commands_unreadable);
}

void owner_queue_close(struct owner *owner)
{
    broker_reader_close(owner->commands);
    owner->commands = NULL;
}

void owner_queue_pop(struct owner *owner)
{
    struct pending_command *pending = owner->head;
    assert(pending != NULL);
    assert(owner->pending_count > 0);
    assert(owner->pending_bytes >= pending_command_size(pending));
    owner->head = pending->next;
    owner->pending_count--;
    owner->pending_bytes -= pending_command_size(pending);
    assert((owner->head == NULL) == (owner->pending_count == 0));
    pending->next = owner->decided;
    owner->decided = pending;
}

void owner_queue_free_decided(struct owner *owner)
{
    while (owner->decided != NULL) {
        struct pending_command *pending = owner->decided;
        owner->decided = pending->next;
        pending_command_free(pending);
    }
}
