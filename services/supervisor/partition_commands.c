/* SPDX-License-Identifier: Apache-2.0 */
/* What a supervisor requests from the scheduler, and what it learns from the acknowledgements. */
#include "platform/failpoint.h"
#include "platform/logger.h"
#include "services/supervisor/partition_internal.h"

#include <assert.h>
#include <stdlib.h>

static void measure_clock(struct supervisor_partition *partition)
{
    struct clock_guard *guard = &partition->clock_guard;
    bool was_bad = guard->bad;
    clock_guard_measure(guard, partition->cluster->service->clock, partition->sent_us,
                        broker_appended_at(partition->cluster->broker));
    if (guard->bad && !was_bad)
        log_warning("this machine's clock is wrong: deadlines follow the brokers' time",
                    LOG_I64("partition", partition->number), LOG_I64("skew_ms", guard->skew_ms));
}

bool partition_waits_for_clock(const struct supervisor_partition *partition)
{
    return partition->unanswered > 0 && !partition->clock_guard.known;
}

static void on_appended(void *ctx, uint64_t token, int64_t offset, const struct error *error)
{
    struct supervisor_partition *partition = ctx;
    bool failed = error != NULL && error_is(error);
    assert(partition->unanswered > 0);
    partition->unanswered--;
    partition->answered_ms = partition_mono_ms(partition);
    if (failed) /* repeated by itself: the log shows no outcome */
        log_warning_limited("a command to the scheduler was not delivered",
                            LOG_I64("partition", partition->number), LOG_ERR(error));
    if (partition->freed) {
        if (partition->unanswered == 0)
            free(partition);
        return;
    }
    if (token == partition->measuring) {
        partition->measuring = 0;
        if (!failed)
            measure_clock(partition);
        partition_wake_in(partition, 0);
    }
    outstanding_sent(partition->outstanding, token, failed ? -1 : offset,
                     partition_mono_ms(partition));
    if (failed && partition->held_back)
        partition_wake_in(partition, 0);
}

static bool has_deadline(const struct order *order, const struct deadline *deadline)
{
    struct deadline deadlines[DEADLINES_MAX];
    bool has = false;
    uint32_t count = order != NULL ? deadlines_of(order, deadlines) : 0;
    assert(count <= DEADLINES_MAX);
    for (uint32_t i = 0; i < count && !has; i++)
        has = deadlines[i].kind == deadline->kind && deadlines[i].due_at == deadline->due_at &&
              deadlines[i].step == deadline->step;
    return has;
}

static bool append_command(struct supervisor_partition *partition, const struct order *order,
                           const struct outstanding_command *due)
{
    struct command cmd;
    deadline_command(order, &due->deadline, text_of(partition->cluster->service->instance_id),
                     &cmd);
    return cluster_append(partition->cluster, BROKER_PRODUCER_LOG,
                          partition->cluster->topics.commands, partition->number, due->order_id,
                          (enum record_kind)cmd.kind, &cmd, on_appended, partition, due->token,
                          &partition->error) == ERROR_OK;
}

/* The log decides about the order, not the entry that remembers it. */
static void send_command(struct supervisor_partition *partition,
                         const struct outstanding_command *due)
{
    const struct order *order = NULL;
    assert(due->token != 0); /* which says that no command measures the clock */
    assert(partition->caught_up && !partition->suspended);
    if (view_order(follower_view(partition->follower), due->order_id, &order, &partition->error) !=
        ERROR_OK) {
        outstanding_sent(partition->outstanding, due->token, -1, partition_mono_ms(partition));
        return;
    }
    FAILPOINT("supervisor.command");
    if (!has_deadline(order, &due->deadline)) {
        outstanding_forget(partition->outstanding, due->token);
        return;
    }
    int64_t sent_us = clock_mono_us(partition->cluster->service->clock);
    /* The failpoint: the auditor finds what this one misses. */
    if (FAILPOINT_ERROR("supervisor.blind") || !append_command(partition, order, due)) {
        outstanding_sent(partition->outstanding, due->token, -1, partition_mono_ms(partition));
        return;
    }
    if (partition->measuring == 0) {
        partition->measuring = due->token;
        partition->sent_us = sent_us;
    }
    if (partition->unanswered++ == 0)
        partition->answered_ms = partition_mono_ms(partition);
    metrics_add(partition->metrics->commands[due->deadline.kind], 1);
    metrics_observe_us(partition->metrics->late, (partition->now - due->deadline.due_at) * 1000);
}

bool partition_window_is_full(const struct supervisor_partition *partition)
{
    return outstanding_on_their_way(
               partition->outstanding, partition_mono_ms(partition),
               follower_checkpoint(partition->follower)->next_command_offset) >= partition->window;
}

static bool may_send(const struct supervisor_partition *partition)
{
    return !error_is(&partition->error) && !partition_window_is_full(partition);
}

void partition_send_again(struct supervisor_partition *partition)
{
    struct outstanding_command due;
    while (may_send(partition) &&
           outstanding_repeat(partition->outstanding, partition_mono_ms(partition),
                              follower_checkpoint(partition->follower)->next_command_offset, &due))
        send_command(partition, &due);
}

void partition_send_due(struct supervisor_partition *partition)
{
    struct outstanding_command due;
    while (may_send(partition) && !partition_waits_for_clock(partition) &&
           outstanding_take_due(partition->outstanding, partition->now,
                                partition_mono_ms(partition), &due))
        send_command(partition, &due);
}
