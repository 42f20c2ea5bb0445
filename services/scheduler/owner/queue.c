/* SPDX-License-Identifier: Apache-2.0 */
/* The commands of a partition that are read and not yet decided, and those of the batch under
 * way. */
#include "platform/logger.h"
#include "services/scheduler/owner/internal.h"

#include <assert.h>

enum { PENDING_BYTES_MAX = 16 * 1024 * 1024 };

void owner_queue_bound(struct owner *owner)
{
    assert((owner->queue.count == 0) == (owner->queue.head == NULL));
    assert(owner->queue.count > 0 || owner->queue.bytes == 0);
    bool full =
        owner->queue.count > 4 * owner->options.batch_max || owner->queue.bytes > PENDING_BYTES_MAX;
    bool low = owner->queue.count < 2 * owner->options.batch_max &&
               owner->queue.bytes < PENDING_BYTES_MAX / 2;
    if (owner->queue.reader == NULL || (owner->queue.paused ? !low : !full))
        return;
    owner->queue.paused = full;
    broker_reader_pause(owner->queue.reader, full);
}

static void take_command(struct owner *owner, struct pending_command *pending)
{
    assert(owner_is_running(owner));
    assert(owner->queue.head == NULL || owner->queue.tail->next == NULL);
    if (owner->queue.head == NULL)
        owner->queue.head = pending;
    else
        owner->queue.tail->next = pending;
    owner->queue.tail = pending;
    owner->queue.count++;
    owner->queue.bytes += pending_command_size(pending);
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
    assert(owner->queue.reader != NULL);
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
    assert(owner->queue.reader == NULL && owner->queue.head == NULL);
    assert(owner->queue.decided == NULL && owner->queue.count == 0);
    owner->queue.reader = broker_read(owner->cluster->broker, owner->cluster->topics.commands,
                                      owner->partition, from, &command_ops, owner);
    owner->queue.paused = false;
    broker_reader_skip_unreadable(owner->queue.reader, on_commands_unreadable);
}

bool owner_queue_is_open(const struct owner *owner)
{
    return owner->queue.reader != NULL;
}

void owner_queue_pause(struct owner *owner, bool paused)
{
    broker_reader_pause(owner->queue.reader, paused);
}

struct pending_command *owner_queue_head(const struct owner *owner)
{
    return owner->queue.head;
}

void owner_queue_close(struct owner *owner)
{
    broker_reader_close(owner->queue.reader);
    owner->queue.reader = NULL;
}

void owner_queue_pop(struct owner *owner)
{
    struct pending_command *pending = owner->queue.head;
    assert(pending != NULL);
    assert(owner->queue.count > 0);
    assert(owner->queue.bytes >= pending_command_size(pending));
    owner->queue.head = pending->next;
    owner->queue.count--;
    owner->queue.bytes -= pending_command_size(pending);
    assert((owner->queue.head == NULL) == (owner->queue.count == 0));
    pending->next = owner->queue.decided;
    owner->queue.decided = pending;
}

void owner_queue_free_decided(struct owner *owner)
{
    while (owner->queue.decided != NULL) {
        struct pending_command *pending = owner->queue.decided;
        owner->queue.decided = pending->next;
        pending_command_free(pending);
    }
}

void owner_queue_clear(struct owner *owner)
{
    assert(owner->queue.reader == NULL);
    while (owner->queue.head != NULL)
        owner_queue_pop(owner);
    owner->queue.tail = NULL;
    assert(owner->queue.bytes == 0);
    owner_queue_free_decided(owner);
}
