/* SPDX-License-Identifier: Apache-2.0 */
/* See waiting_commands.h. */
#include "services/supervisor/waiting_commands.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

enum { LOOK_MS = 5000 };

struct waiting_commands {
    struct cluster *cluster;
    struct loop *loop;
    int32_t partition;
    struct follower *follower;
    struct lag_window window;
    bool current;
    bool asked; /* the broker, which has not answered */
    int64_t asked_ms;
    bool raised;
    /* An earlier supervisor may have raised it, and is gone. */
    bool may_be_raised;
    char reason[VERDICT_REASON_SIZE];
    bool freed;
};

static void set_raised(struct waiting_commands *waiting, bool raised, const char *message)
{
    waiting->raised = raised;
    waiting->may_be_raised = false;
    cluster_service_alert(waiting->cluster, waiting->partition, raised, CODE_COMMANDS_WAITING,
                          message);
}

static void assess(struct waiting_commands *waiting)
{
    char reason[VERDICT_REASON_SIZE];
    if (!lag_window_is_stalled(&waiting->window, loop_now_ms(waiting->loop), reason)) {
        if (waiting->raised) /* an operator's reset has skipped them */
            set_raised(waiting, false, "no command waits any more");
        return;
    }
    memcpy(waiting->reason, reason, sizeof(reason));
    if (!waiting->raised)
        set_raised(waiting, true, reason);
}

static void on_offsets(void *ctx, int64_t low, int64_t high, const struct error *error)
{
    struct waiting_commands *waiting = ctx;
    assert(waiting->asked);
    waiting->asked = false;
    if (waiting->freed) {
        free(waiting);
        return;
    }
    if (error_is(error) || !waiting->current)
        return;
    int64_t next = follower_checkpoint(waiting->follower)->next_command_offset;
    int64_t from = next > low ? next : low;
    int64_t lag = high > from ? high - from : 0;
    lag_window_add(&waiting->window, loop_now_ms(waiting->loop), lag, next);
    if (lag == 0) /* all Decisions are folded: one that came late has closed it */
        waiting->may_be_raised = false;
    assess(waiting);
}

void waiting_commands_look(struct waiting_commands *waiting, bool current)
{
    int64_t now_ms = loop_now_ms(waiting->loop);
    waiting->current = current;
    if (!current || waiting->asked || now_ms - waiting->asked_ms < LOOK_MS)
        return;
    waiting->asked = true;
    waiting->asked_ms = now_ms;
    broker_offsets(waiting->cluster->broker, waiting->cluster->topics.commands, waiting->partition,
                   on_offsets, waiting);
}

/* A supervisor that cannot close it any more may have reported a command that was decided so late.
 * Only the first such Decision counts: a backlog has many of them. What this one has raised it
 * closes at once: its successor would not see the Decision again. */
void waiting_commands_decided(struct waiting_commands *waiting, const struct decision *decision,
                              int64_t decided_ms)
{
    bool late = decided_ms - decision->command_time >= LAG_STALLED_MS;
    if (waiting->raised || (waiting->may_be_raised && late))
        set_raised(waiting, false, "commands are decided again");
}

int64_t waiting_commands_ms(const struct waiting_commands *waiting)
{
    return lag_window_waited_ms(&waiting->window, waiting->window.measured_ms);
}

bool waiting_commands_trouble(const struct waiting_commands *waiting, char *ret_text, size_t size)
{
    if (waiting->raised)
        snprintf(ret_text, size, "partition %d: %.500s", waiting->partition, waiting->reason);
    return waiting->raised;
}

struct waiting_commands *waiting_commands_new(struct cluster *cluster, int32_t partition,
                                              struct follower *follower)
{
    struct waiting_commands *waiting = calloc(1, sizeof(*waiting));
    assert(waiting != NULL && follower != NULL);
    waiting->cluster = cluster;
    waiting->loop = cluster_loop(cluster);
    waiting->partition = partition;
    waiting->follower = follower;
    waiting->asked_ms = loop_now_ms(waiting->loop) - LOOK_MS;
    waiting->may_be_raised = true;
    return waiting;
}

void waiting_commands_free(struct waiting_commands *waiting)
{
    assert(!waiting->freed);
    waiting->freed = true;
    if (!waiting->asked)
        free(waiting);
}
