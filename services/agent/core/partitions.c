/* SPDX-License-Identifier: Apache-2.0 */
/* Partitions of <p>.requests.<agent> come and go: where reading begins, and what is forgotten.
 *
 * A partition that comes back right after it was revoked goes on where it was; one that others may
 * have had meanwhile begins anew at the committed offset. Notes of an earlier life (its epoch) are
 * not looked at any more. */
#include "platform/logger.h"
#include "services/agent/core/intake_internal.h"

#include <assert.h>
#include <stdlib.h>

struct agent_partition *intake_partition(struct agent_intake *intake, int32_t number)
{
    assert(number >= 0);
    while (intake->partition_count <= (size_t)number) {
        struct agent_partition *partition = calloc(1, sizeof(*partition));
        size_t count = intake->partition_count + 1;
        intake->partitions = realloc(intake->partitions, count * sizeof(struct agent_partition *));
        assert(partition != NULL && intake->partitions != NULL);
        partition->intake = intake;
        partition->number = (int32_t)intake->partition_count;
        intake->partitions[intake->partition_count++] = partition;
    }
    return intake->partitions[number];
}

static void close_partition(struct agent_partition *partition)
{
    if (partition->state == PARTITION_CLOSED)
        return;
    broker_reader_close(partition->reader);
    partition->reader = NULL;
    partition->state = PARTITION_CLOSED;
    partition->epoch++;
    partition->paused = false;
    partition->parked = false;
    offsets_deinit(&partition->offsets);
}

static void open_partition(struct agent_partition *partition)
{
    assert(partition->state == PARTITION_CLOSED);
    partition->state = PARTITION_LOCATING;
    offsets_init(&partition->offsets);
}

static bool is_open(void *ctx, const struct request_origin *origin)
{
    const struct agent_partition *partition = intake_partition(ctx, origin->partition);
    return partition->state == PARTITION_READING && partition->epoch == origin->epoch;
}

/* After partitions were closed: whoever reads them next reads what waits. */
static void purge(struct agent_intake *intake)
{
    queue_purge(&intake->queue, is_open, intake);
}

static void on_error(void *ctx, const struct error *error);
static const struct broker_reader_ops reader_ops = {intake_on_record, intake_on_end, on_error};

/* `start` = -1: there is no committed offset. */
static void read_from(struct agent_partition *partition, int64_t start)
{
    struct agent *agent = partition->intake->agent;
    assert(partition->state == PARTITION_LOCATING && partition->reader == NULL);
    partition->state = PARTITION_READING;
    partition->end = -1;
    partition->committed = start >= 0 ? start : -1;
    partition->reader = broker_read(agent->cluster->broker, agent->topic, partition->number,
                                    start >= 0 ? start : BROKER_EARLIEST, &reader_ops, partition);
    loop_defer(intake_loop(partition->intake), &partition->intake->flow);
}

/* The log starts after, or ends before, where we wanted to read: requests were removed by
 * retention, or the topic was made anew. What there is is read; steps whose requests are gone will
 * time out and be asked for again. */
static void on_error(void *ctx, const struct error *error)
{
    struct agent_partition *partition = ctx;
    log_warning_limited("reading requests", LOG_STR("topic", partition->intake->agent->topic),
                        LOG_I64("partition", partition->number), LOG_ERR(error));
    if (error->class != ERROR_FATAL)
        return;
    close_partition(partition);
    purge(partition->intake);
    open_partition(partition);
    if (strcmp(error->code, "OffsetOutOfRange") == 0) {
        read_from(partition, -1);
        return;
    }
    loop_timer_after(intake_loop(partition->intake), &partition->intake->locate_timer,
                     INTAKE_LOCATE_MS);
}

static void on_located(void *ctx, int32_t number, int64_t offset, const struct error *error)
{
    struct agent_intake *intake = ctx;
    struct agent_partition *partition = intake_partition(intake, number);
    partition->asked = false;
    if (partition->state != PARTITION_LOCATING)
        return;
    if (error != NULL && error_is(error)) {
        log_warning_limited("where to read from", LOG_STR("topic", intake->agent->topic),
                            LOG_I64("partition", number), LOG_ERR(error));
        loop_timer_after(intake_loop(intake), &intake->locate_timer, INTAKE_LOCATE_MS);
        return;
    }
    read_from(partition, offset);
}

static void locate(struct agent_intake *intake)
{
    for (size_t i = 0; i < intake->partition_count; i++) {
        struct agent_partition *partition = intake->partitions[i];
        if (partition->state != PARTITION_LOCATING || partition->asked)
            continue;
        partition->asked = true;
        broker_group_committed(intake->agent->group, partition->number, on_located, intake);
    }
}

void intake_on_locate_timer(struct loop *loop, struct loop_timer *timer, void *userdata)
{
    struct agent_intake *intake = userdata;
    (void)loop;
    (void)timer;
    if (intake->agent->group != NULL && !intake->suspended)
        locate(intake);
}

static bool contains(const int32_t *partitions, uint32_t count, int32_t number)
{
    for (uint32_t i = 0; i < count; i++)
        if (partitions[i] == number)
            return true;
    return false;
}

void intake_assign(struct agent_intake *intake, const int32_t *partitions, uint32_t count)
{
    intake->suspended = false;
    intake->halted = false;
    for (size_t i = 0; i < intake->partition_count; i++)
        if (!contains(partitions, count, intake->partitions[i]->number))
            close_partition(intake->partitions[i]);
    purge(intake);
    for (uint32_t i = 0; i < count && !intake->draining; i++) {
        struct agent_partition *partition = intake_partition(intake, partitions[i]);
        if (partition->state == PARTITION_CLOSED)
            open_partition(partition);
    }
    locate(intake);
    loop_defer(intake_loop(intake), &intake->flow);
    loop_timer_after(intake_loop(intake), &intake->commit_timer, INTAKE_COMMIT_MS);
}

void intake_revoke(struct agent_intake *intake, bool lost)
{
    /* Whoever gets a partition next must not be asked again for what is settled. */
    if (!lost)
        intake_commit(intake);
    intake->suspended = true;
    for (size_t i = 0; i < intake->partition_count; i++) {
        struct agent_partition *partition = intake->partitions[i];
        /* What waits there waits in vain while nothing is read. */
        if (lost || partition->state == PARTITION_LOCATING || partition->parked)
            close_partition(partition);
        else
            intake_update_flow(intake, partition, true);
    }
    purge(intake);
}

void intake_drain(struct agent_intake *intake)
{
    intake->draining = true;
    intake_halt(intake);
}

void intake_halt(struct agent_intake *intake)
{
    intake->halted = true;
    queue_clear(&intake->queue); /* not committed: it is read again, here or elsewhere */
    for (size_t i = 0; i < intake->partition_count; i++)
        intake_update_flow(intake, intake->partitions[i], true);
}

void intake_close(struct agent_intake *intake)
{
    for (size_t i = 0; i < intake->partition_count; i++) {
        close_partition(intake->partitions[i]);
        intake->partitions[i]->asked = false;
    }
    queue_clear(&intake->queue);
    intake->commits = 0; /* the group is left: no answers come any more */
    intake->suspended = true;
}
