/* SPDX-License-Identifier: Apache-2.0 */
/* One partition of submissions: a window of records between the first that is not settled and the
 * newest that was read. A record is settled when all that follows from it is acknowledged. */
#include "services/submission/partition_internal.h"

#include "platform/failpoint.h"
#include "platform/logger.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <utlist.h>

enum {
    WAITING_BYTES_MAX = 4 << 20,
    WAKE_MAX = 1024, /* records that one turn of the loop processes */
    HELD_UP_MS = 5000,
    AGAIN_MS_MIN = 100,
    AGAIN_MS_MAX = 5000,
    QUEUE_FULL_MS = 5
};

static void open_reader(struct submission_partition *partition);
static void rewind_to_position(struct submission_partition *partition, const struct error *error);

/* ---- the window ---- */

struct window_slot *submission_partition_slot(const struct submission_partition *partition,
                                              uint64_t sequence)
{
    assert(sequence >= partition->first && sequence < partition->next);
    return &partition->slots[sequence % WINDOW_SLOTS];
}

static int64_t now_ms(const struct submission_partition *partition)
{
    return clock_mono_ms(partition->submission->service->clock);
}

static void note_progress(struct submission_partition *partition)
{
    partition->progress_ms = now_ms(partition);
    partition->trouble.class = ERROR_OK;
}

/* Full windows and full queues stop the reader until half of them is settled. */
static bool should_pause(const struct submission_partition *partition)
{
    uint64_t used = partition->next - partition->first;
    uint64_t bytes = partition->submission->in_flight_bytes;
    bool was = partition->paused;
    return partition->suspended || partition->submission->draining || partition->queue_full > 0 ||
           used >= (was ? WINDOW_SLOTS / 2 : WINDOW_SLOTS) ||
           partition->wait_queue.bytes >= WAITING_BYTES_MAX ||
           bytes >= (was ? IN_FLIGHT_BYTES_MAX / 2 : IN_FLIGHT_BYTES_MAX);
}

static void update_pause(struct submission_partition *partition)
{
    bool pause = should_pause(partition);
    if (!pause || partition->wait_queue.count == 0)
        partition->held_since_ms = 0;
    else if (partition->held_since_ms == 0)
        partition->held_since_ms = now_ms(partition);
    if (partition->reader == NULL || pause == partition->paused)
        return;
    partition->paused = pause;
    broker_reader_pause(partition->reader, pause);
}

static void settle(struct submission_partition *partition, struct window_slot *slot)
{
    struct submission *submission = partition->submission;
    metrics_observe_us(submission->metrics.latency,
                       clock_mono_us(submission->service->clock) - slot->received_us);
    while (partition->first < partition->next &&
           submission_partition_slot(partition, partition->first)->pending == 0) {
        struct window_slot *head = submission_partition_slot(partition, partition->first);
        assert(submission->in_flight_bytes >= head->size);
        submission->in_flight_bytes -= head->size;
        partition->position = head->next_offset;
        partition->first++;
        partition->again_ms = AGAIN_MS_MIN;
        note_progress(partition);
    }
    if (partition->paused)
        update_pause(partition);
}

/* A reply topic that acknowledges nothing must not stop the partition: others wait behind it. The
 * dead letter is acknowledged, and says the same. */
static void give_up_status(struct submission_partition *partition)
{
    struct submission *submission = partition->submission;
    int64_t now_us = clock_mono_us(submission->service->clock);
    while (partition->first < partition->next) {
        struct window_slot *head = submission_partition_slot(partition, partition->first);
        if (head->status_to == 0 || head->pending != 1 ||
            now_us - head->received_us < PARTITION_STATUS_MS * INT64_C(1000))
            return;
        log_warning_limited("a Rejected status is not acknowledged: no more are sent to its topic "
                            "for a while; the dead letters have the reasons",
                            LOG_I64("partition", partition->number),
                            LOG_I64("offset", head->next_offset - 1));
        replies_silence(&submission->replies, head->status_to, now_ms(partition));
        head->pending = 0;
        settle(partition, head);
    }
}

static void free_if_over(struct submission_partition *partition)
{
    if (!partition->closed || partition->calls > 0)
        return;
    assert(partition->reader == NULL && partition->wait_queue.count == 0);
    DL_DELETE2(partition->submission->closed_partitions, partition, prev, next_closed);
    free(partition->slots);
    free(partition);
}

void submission_partitions_free_closed(struct submission *submission)
{
    struct submission_partition *partition;
    struct submission_partition *next;
    DL_FOREACH_SAFE2(submission->closed_partitions, partition, next, next_closed)
    {
        partition->calls = 0;
        free_if_over(partition);
    }
}

void submission_partition_appended(void *ctx, uint64_t token, int64_t offset,
                                   const struct error *error)
{
    struct submission_partition *partition = ctx;
    uint64_t sequence = token >> APPEND_KIND_BITS;
    enum append_kind kind = token & ((1U << APPEND_KIND_BITS) - 1);
    (void)offset;
    partition->calls--;
    if (partition->closed) {
        free_if_over(partition);
        return;
    }
    if (sequence < partition->first)
        return; /* of a window that was read again */
    if (error->class == ERROR_REJECT && kind == APPEND_STATUS) {
        log_warning_limited("a Rejected status cannot be delivered",
                            LOG_I64("partition", partition->number), LOG_ERR(error));
    } else if (error->class != ERROR_OK) {
        rewind_to_position(partition, error);
        return;
    }
    FAILPOINT("submission.acknowledged");
    struct window_slot *slot = submission_partition_slot(partition, sequence);
    if (kind == APPEND_STATUS)
        slot->status_to = 0;
    assert(slot->pending > 0);
    slot->pending--;
    if (slot->pending == 0)
        settle(partition, slot);
}

/* ---- waiting ---- */

static void begin_to_wait(struct submission_partition *partition, struct waiting_record *waiting,
                          enum record_wait wait)
{
    struct submission *submission = partition->submission;
    assert(wait != RECORD_WAIT_NONE);
    waiting->wait = wait;
    switch (wait) {
    case RECORD_WAIT_SCHEMAS:
        waiting->ticket = refresh_ticket(&submission->schemas);
        break;
    case RECORD_WAIT_WORKFLOWS:
        waiting->ticket = refresh_ticket(&submission->workflows);
        break;
    case RECORD_WAIT_REPLY:
        waiting->ticket = refresh_ticket(&submission->topics);
        break;
    case RECORD_WAIT_PRODUCER:
        partition->queue_full++;
        if (!loop_timer_armed(&partition->queue_timer))
            loop_timer_after(cluster_loop(partition->submission->cluster), &partition->queue_timer,
                             QUEUE_FULL_MS);
        break;
    case RECORD_WAIT_REGISTRY: /* it has been asked */
    case RECORD_WAIT_STATUS:
    case RECORD_WAIT_KEY:
    case RECORD_WAIT_NONE:
        break;
    }
}

static void drop_waiting(struct submission_partition *partition)
{
    wait_queue_clear(&partition->wait_queue);
    partition->queue_full = 0;
    partition->held_since_ms = 0;
}

static bool is_fresh(const struct refresh *refresh, struct waiting_record *waiting)
{
    waiting->fresh |= refresh_is_done(refresh, waiting->ticket) ? refresh->bit : 0U;
    return (waiting->fresh & refresh->bit) != 0;
}

/* Whether the wait is over; records what is known now. */
static bool wait_is_over(struct submission_partition *partition, struct waiting_record *waiting)
{
    struct submission *submission = partition->submission;
    switch (waiting->wait) {
    case RECORD_WAIT_SCHEMAS:
        return is_fresh(&submission->schemas, waiting);
    case RECORD_WAIT_WORKFLOWS:
        return is_fresh(&submission->workflows, waiting);
    case RECORD_WAIT_REPLY:
        return is_fresh(&submission->topics, waiting);
    case RECORD_WAIT_REGISTRY:
        return !schema_registry_waits(submission->cluster->registry, waiting->record.value);
    case RECORD_WAIT_STATUS:
        return submission_record_status_is_due(partition, waiting->sequence);
    case RECORD_WAIT_PRODUCER:
        assert(partition->queue_full > 0);
        partition->queue_full--;
        return true;
    case RECORD_WAIT_KEY:
        return !wait_queue_has_key(&partition->wait_queue, waiting->record.key, waiting);
    case RECORD_WAIT_NONE:
        return true;
    }
    return true;
}

void submission_partition_wake(struct submission_partition *partition)
{
    struct waiting_record *waiting;
    struct waiting_record *next;
    uint32_t processed = 0;
    DL_FOREACH_SAFE(partition->wait_queue.first, waiting, next) {
        if (processed == WAKE_MAX) {
            loop_timer_after(cluster_loop(partition->submission->cluster), &partition->queue_timer,
                             0);
            break;
        }
        if (!wait_is_over(partition, waiting))
            continue;
        processed++;
        uint64_t sequence = waiting->sequence;
        waiting->record.topic = partition->submission->cluster->topics.submissions;
        enum record_wait wait = submission_record_process(partition, sequence, &waiting->record,
                                                          &waiting->large, waiting->fresh);
        if (wait != RECORD_WAIT_NONE) {
            begin_to_wait(partition, waiting, wait);
            continue;
        }
        wait_queue_remove(&partition->wait_queue, waiting);
        /* Waiting counted as one; its appends count themselves. */
        submission_partition_slot(partition, sequence)->pending--;
        assert(submission_partition_slot(partition, sequence)->pending > 0);
    }
    update_pause(partition);
}

static void on_queue_timer(void *ctx)
{
    submission_partition_wake(ctx);
}

/* ---- reading ---- */

/* `record`: what is kept of it. */
static void take(struct submission_partition *partition, const struct broker_record *record,
                 const struct large_record *large, int64_t next_offset)
{
    struct submission *submission = partition->submission;
    assert(partition->next - partition->first < WINDOW_SLOTS);
    if (partition->first == partition->next && !error_is(&partition->trouble))
        partition->progress_ms = now_ms(partition);
    uint64_t sequence = partition->next++;
    struct window_slot *slot = submission_partition_slot(partition, sequence);
    *slot = (struct window_slot){.next_offset = next_offset,
                                 .received_us = clock_mono_us(submission->service->clock),
                                 .size = record->value.size + record->meta_bytes};
    submission->in_flight_bytes += slot->size;
    enum record_wait wait = RECORD_WAIT_KEY;
    if (!wait_queue_has_key(&partition->wait_queue, record->key, NULL))
        wait = submission_record_process(partition, sequence, record, large, 0);
    if (wait != RECORD_WAIT_NONE) {
        slot->pending++;
        begin_to_wait(partition, wait_queue_add(&partition->wait_queue, sequence, record, large),
                      wait);
    }
    if (should_pause(partition))
        update_pause(partition);
}

static void on_record(void *ctx, const struct broker_record *record)
{
    static const struct large_record whole;
    struct submission_partition *partition = ctx;
    if (dead_letter_fits(record)) {
        take(partition, record, &whole, record->offset + 1);
        return;
    }
    struct broker_record kept = *record;
    struct large_record large;
    submission_record_cut(partition, &kept, &large);
    take(partition, &kept, &large, record->offset + 1);
}

static void on_unreadable(void *ctx, int64_t offset, int64_t next_offset)
{
    struct submission_partition *partition = ctx;
    struct broker_record record = {.topic = partition->submission->cluster->topics.submissions,
                                   .partition = partition->number,
                                   .offset = offset};
    struct large_record large = {.cut = {.next_offset = next_offset}};
    take(partition, &record, &large, next_offset);
}

static void close_reader(struct submission_partition *partition)
{
    broker_reader_close(partition->reader);
    partition->reader = NULL;
    partition->paused = false;
}

static void read_again_later(struct submission_partition *partition, const struct error *error)
{
    if (partition->trouble.class == ERROR_OK)
        partition->trouble = *error;
    loop_timer_after(cluster_loop(partition->submission->cluster), &partition->again,
                     partition->again_ms);
    partition->again_ms =
        2 * partition->again_ms < AGAIN_MS_MAX ? 2 * partition->again_ms : AGAIN_MS_MAX;
}

static void on_reader_error(void *ctx, const struct error *error)
{
    struct submission_partition *partition = ctx;
    log_warning_limited("cannot read submissions", LOG_I64("partition", partition->number),
                        LOG_I64("offset", partition->position), LOG_ERR(error));
    if (error->class != ERROR_FATAL)
        return;
    if (error->code == CODE_OFFSET_OUT_OF_RANGE && partition->position >= 0) {
        log_error("submissions expired before they were read; continuing with the oldest",
                  LOG_STR("topic", partition->submission->cluster->topics.submissions),
                  LOG_I64("partition", partition->number), LOG_I64("offset", partition->position));
        partition->position = BROKER_EARLIEST;
    }
    struct error again = *error;
    rewind_to_position(partition, &again);
}

static const struct broker_reader_ops reader_ops = {.record = on_record, .error = on_reader_error};

static void open_reader(struct submission_partition *partition)
{
    partition->reader = broker_read(partition->submission->cluster->broker,
                                    partition->submission->cluster->topics.submissions,
                                    partition->number, partition->position, &reader_ops, partition);
    broker_reader_skip_unreadable(partition->reader, on_unreadable);
    update_pause(partition);
}

/* An append was not acknowledged: everything that is not settled is read and sent again. */
static void rewind_to_position(struct submission_partition *partition, const struct error *error)
{
    struct submission *submission = partition->submission;
    log_warning_limited("reading submissions again from the first one that is not acknowledged",
                        LOG_I64("partition", partition->number),
                        LOG_I64("offset", partition->position), LOG_ERR(error));
    metrics_add(submission->metrics.rewinds, 1);
    close_reader(partition);
    drop_waiting(partition);
    for (; partition->first < partition->next; partition->first++)
        submission->in_flight_bytes -= submission_partition_slot(partition, partition->first)->size;
    read_again_later(partition, error);
}

/* ---- life ---- */

static void fetch_committed(struct submission_partition *partition);

static void on_committed_offset(void *ctx, int32_t number, int64_t offset, const char *note,
                                const struct error *error)
{
    struct submission_partition *partition = ctx;
    (void)number;
    (void)note;
    partition->calls--;
    if (partition->closed) {
        free_if_over(partition);
        return;
    }
    if (error->class != ERROR_OK) {
        log_warning_limited("cannot fetch the committed offset",
                            LOG_I64("partition", partition->number), LOG_ERR(error));
        read_again_later(partition, error);
        return;
    }
    partition->position = offset >= 0 ? offset : BROKER_EARLIEST;
    partition->committed = offset;
    open_reader(partition);
}

static void fetch_committed(struct submission_partition *partition)
{
    partition->calls++;
    broker_group_committed(partition->submission->group, partition->number, on_committed_offset,
                           partition);
}

static void on_again(void *ctx)
{
    struct submission_partition *partition = ctx;
    if (partition->position == -1)
        fetch_committed(partition);
    else
        open_reader(partition);
}

struct submission_partition *submission_partition_new(struct submission *submission, int32_t number)
{
    struct submission_partition *partition = calloc(1, sizeof(*partition));
    assert(partition != NULL);
    *partition =
        (struct submission_partition){.submission = submission,
                                      .number = number,
                                      .slots = calloc(WINDOW_SLOTS, sizeof(struct window_slot)),
                                      .position = -1,
                                      .committed = -1,
                                      .again_ms = AGAIN_MS_MIN,
                                      .progress_ms = clock_mono_ms(submission->service->clock)};
    assert(partition->slots != NULL);
    loop_timer_init(&partition->again, on_again, partition);
    loop_timer_init(&partition->queue_timer, on_queue_timer, partition);
    fetch_committed(partition);
    return partition;
}

void submission_partition_close(struct submission_partition *partition)
{
    close_reader(partition);
    drop_waiting(partition);
    for (; partition->first < partition->next; partition->first++)
        partition->submission->in_flight_bytes -=
            submission_partition_slot(partition, partition->first)->size;
    loop_timer_cancel(cluster_loop(partition->submission->cluster), &partition->again);
    loop_timer_cancel(cluster_loop(partition->submission->cluster), &partition->queue_timer);
    partition->closed = true;
    DL_APPEND2(partition->submission->closed_partitions, partition, prev, next_closed);
    free_if_over(partition);
}

void submission_partition_suspend(struct submission_partition *partition, bool suspended)
{
    partition->suspended = suspended;
    update_pause(partition);
}

int64_t submission_partition_take_commit(struct submission_partition *partition)
{
    give_up_status(partition);
    if (partition->position < 0 || partition->position == partition->committed)
        return -1;
    partition->committed = partition->position;
    return partition->position;
}

void submission_partition_commit_failed(struct submission_partition *partition)
{
    partition->committed = -1;
}

uint32_t submission_partition_in_flight(const struct submission_partition *partition)
{
    uint64_t window = partition->next - partition->first;
    assert(window <= WINDOW_SLOTS && window >= partition->wait_queue.count);
    return (uint32_t)window - partition->wait_queue.count;
}

uint32_t submission_partition_waiting(const struct submission_partition *partition)
{
    return partition->wait_queue.count;
}

static const char *waits_for(const struct waiting_record *waiting)
{
    switch (waiting->wait) {
    case RECORD_WAIT_SCHEMAS:
        return "it waits until the schemas topic can be read";
    case RECORD_WAIT_WORKFLOWS:
        return "it waits until the workflows topic can be read";
    case RECORD_WAIT_REPLY:
        return "it waits until its reply topic is found";
    case RECORD_WAIT_REGISTRY:
    case RECORD_WAIT_STATUS:
        return "it waits for the schema registry";
    case RECORD_WAIT_PRODUCER:
        return "the producer's queue is full";
    case RECORD_WAIT_KEY:
    case RECORD_WAIT_NONE:
        break;
    }
    return "it waits";
}

static const char *what_holds_head(const struct submission_partition *partition)
{
    const struct waiting_record *waiting = partition->wait_queue.first;
    if (waiting == NULL || waiting->sequence != partition->first)
        return "the brokers do not acknowledge what follows from it";
    return waits_for(waiting);
}

bool submission_partition_stuck(const struct submission_partition *partition, char *ret_reason,
                                size_t reason_size)
{
    bool trouble = error_is(&partition->trouble);
    bool busy = trouble || partition->first < partition->next;
    if (!busy || partition->suspended || partition->submission->draining ||
        now_ms(partition) - partition->progress_ms < PARTITION_STUCK_MS)
        return false;
    snprintf(ret_reason, reason_size,
             "partition %d of %s makes no progress at offset %" PRId64 ": %s", partition->number,
             partition->submission->cluster->topics.submissions, partition->position,
             trouble ? partition->trouble.message : what_holds_head(partition));
    return true;
}

bool submission_partition_held_up(const struct submission_partition *partition, char *ret_reason,
                                  size_t reason_size)
{
    const struct waiting_record *waiting = partition->wait_queue.first;
    int64_t held_ms = now_ms(partition) - partition->held_since_ms;
    if (waiting == NULL || partition->held_since_ms == 0 || held_ms < HELD_UP_MS ||
        partition->suspended || partition->submission->draining)
        return false;
    snprintf(ret_reason, reason_size,
             "partition %d of %s is held up for %" PRId64 " s: %u submissions wait; of the first, "
             "%s",
             partition->number, partition->submission->cluster->topics.submissions, held_ms / 1000,
             partition->wait_queue.count, waits_for(waiting));
    return true;
}
