/* SPDX-License-Identifier: Apache-2.0 */
/* Partitions of <p>.requests.<agent> that are assigned and revoked: where reading begins.
 *
 * A partition that comes back right after it was revoked goes on where it was; one that another
 * member may have had in between begins again at the committed offset. Receipts of an earlier epoch
 * are ignored. */
#include "platform/logger.h"
#include "services/agent/core/intake_internal.h"

#include <assert.h>
#include <stdlib.h>

struct agent_partition *agent_intake_partition(struct agent_intake *intake, int32_t number)
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
    assert((partition->reader != NULL) == (partition->state == PARTITION_READING));
    broker_reader_close(partition->reader);
    partition->reader = NULL;
    partition->state = PARTITION_CLOSED;
    partition->epoch++;
    partition->paused = false;
    partition->waits_for_schema = partition->waits_for_version = false;
    agent_offsets_deinit(&partition->offsets);
}

static void open_partition(struct agent_partition *partition)
{
    assert(partition->state == PARTITION_CLOSED);
    assert(partition->reader == NULL);
    assert(!partition->waits_for_schema && !partition->waits_for_version);
    partition->state = PARTITION_LOCATING;
    agent_offsets_init(&partition->offsets);
}

static bool is_open(void *ctx, const struct request_receipt *receipt)
{
    const struct agent_partition *partition = agent_intake_partition(ctx, receipt->partition);
    return partition->state == PARTITION_READING && partition->epoch == receipt->epoch;
}

static void on_error(void *ctx, const struct error *error);
static const struct broker_reader_ops reader_ops = {.record = agent_intake_on_record,
                                                    .error = on_error};

/* `start` = -1: there is no committed offset. `note`: of the commit. */
static void read_from(struct agent_partition *partition, int64_t start, const char *note)
{
    struct agent *agent = partition->intake->agent;
    assert(partition->state == PARTITION_LOCATING && partition->reader == NULL);
    partition->state = PARTITION_READING;
    partition->committed = start >= 0 ? start : -1;
    partition->committed_settled = 0;
    settled_note_read(note, start, &partition->settled);
    partition->reader = broker_read(agent->cluster->broker, agent->topic, partition->number,
                                    start >= 0 ? start : BROKER_EARLIEST, &reader_ops, partition);
    loop_defer(agent_intake_loop(partition->intake), &partition->intake->flow);
}

static void open_again(struct agent_partition *partition)
{
    close_partition(partition);
    request_queue_purge(&partition->intake->queue, is_open, partition->intake);
    open_partition(partition);
}

static void locate_later(struct agent_intake *intake)
{
    loop_timer_after(agent_intake_loop(intake), &intake->locate_timer, INTAKE_RETRY_MS);
}

static void warn(const struct agent_partition *partition, const struct error *error)
{
    log_warning_limited("requests cannot be read",
                        LOG_STR("topic", partition->intake->agent->topic),
                        LOG_I64("partition", partition->number), LOG_ERR(error));
}

/* OffsetOutOfRange: requests were removed by retention, or the topic was recreated. Reading goes
 * on with the earliest request; steps whose requests are gone time out and are requested again. */
static void on_error(void *ctx, const struct error *error)
{
    struct agent_partition *partition = ctx;
    warn(partition, error);
    if (error->class != ERROR_FATAL)
        return;
    open_again(partition);
    if (error->code == CODE_OFFSET_OUT_OF_RANGE)
        read_from(partition, -1, "");
    else
        locate_later(partition->intake);
}

void agent_intake_read_again(struct agent_intake *intake, int32_t number, const struct error *why)
{
    struct agent_partition *partition = agent_intake_partition(intake, number);
    assert(partition->state == PARTITION_READING);
    warn(partition, why);
    agent_intake_commit(intake); /* what is settled is not to be repeated */
    open_again(partition);
    locate_later(intake);
}

static void on_located(void *ctx, int32_t number, int64_t offset, const char *note,
                       const struct error *error)
{
    struct agent_intake *intake = ctx;
    struct agent_partition *partition = agent_intake_partition(intake, number);
    partition->locating = false;
    if (partition->state != PARTITION_LOCATING)
        return;
    if (error != NULL && error_is(error)) {
        log_warning_limited("the committed offset is not available: trying again",
                            LOG_STR("topic", intake->agent->topic), LOG_I64("partition", number),
                            LOG_ERR(error));
        locate_later(intake);
        return;
    }
    read_from(partition, offset, note);
}

static void locate(struct agent_intake *intake)
{
    assert(intake->agent->group != NULL && !intake->suspended);
    for (size_t i = 0; i < intake->partition_count; i++) {
        struct agent_partition *partition = intake->partitions[i];
        if (partition->state != PARTITION_LOCATING || partition->locating)
            continue;
        partition->locating = true;
        broker_group_committed(intake->agent->group, partition->number, on_located, intake);
    }
}

void agent_intake_on_locate_timer(void *ctx)
{
    struct agent_intake *intake = ctx;
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

void agent_intake_assign(struct agent_intake *intake, const int32_t *partitions, uint32_t count)
{
    intake->suspended = false;
    intake->halted = false;
    for (size_t i = 0; i < intake->partition_count; i++)
        if (!contains(partitions, count, intake->partitions[i]->number))
            close_partition(intake->partitions[i]);
    /* Their next owners read the queued requests again. */
    request_queue_purge(&intake->queue, is_open, intake);
    for (uint32_t i = 0; i < count && !intake->draining; i++) {
        struct agent_partition *partition = agent_intake_partition(intake, partitions[i]);
        if (partition->state == PARTITION_CLOSED)
            open_partition(partition);
    }
    locate(intake);
    loop_defer(agent_intake_loop(intake), &intake->flow);
    loop_timer_after(agent_intake_loop(intake), &intake->commit_timer, INTAKE_COMMIT_MS);
}

void agent_intake_revoke(struct agent_intake *intake, bool lost)
{
    /* The next owner of a partition must not repeat what is settled. */
    if (!lost)
        agent_intake_commit(intake);
    intake->suspended = true;
    for (size_t i = 0; i < intake->partition_count; i++) {
        struct agent_partition *partition = intake->partitions[i];
        /* Reading could not continue where it was. */
        if (lost || partition->state == PARTITION_LOCATING || partition->waits_for_schema)
            close_partition(partition);
        else
            agent_intake_update_flow(intake, partition, true);
    }
    request_queue_purge(&intake->queue, is_open, intake);
}

void agent_intake_drain(struct agent_intake *intake)
{
    intake->draining = true;
    agent_intake_halt(intake);
}

void agent_intake_halt(struct agent_intake *intake)
{
    intake->halted = true;
    request_queue_clear(&intake->queue); /* not committed: read again, here or elsewhere */
    for (size_t i = 0; i < intake->partition_count; i++)
        agent_intake_update_flow(intake, intake->partitions[i], true);
}

void agent_intake_close(struct agent_intake *intake)
{
    for (size_t i = 0; i < intake->partition_count; i++) {
        close_partition(intake->partitions[i]);
        intake->partitions[i]->locating = false;
    }
    dead_letters_stop_waiting(intake->letters);
    request_queue_clear(&intake->queue);
    intake->commits = 0; /* the group is left: no acknowledgements come any more */
    intake->suspended = true;
}
