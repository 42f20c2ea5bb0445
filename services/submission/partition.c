/* SPDX-License-Identifier: Apache-2.0 */
/* One partition of submissions: a window of records between the first that is not settled and the
 * newest that was read. A record is settled when all that follows from it is acknowledged. */
#include "services/submission/submission.h"
#include "services/submission/wait_queue.h"

#include "base/utf8.h"
#include "platform/failpoint.h"
#include "platform/logger.h"

#include <assert.h>
#include <stdlib.h>
#include <utlist.h>

enum {
    SLOTS = 8192, /* a power of two */
    WAITING_MAX = 256,
    WAITING_BYTES_MAX = 4 << 20,
    AGAIN_MS_MIN = 100,
    AGAIN_MS_MAX = 5000,
    QUEUE_FULL_MS = 5
};

/* What an append was, in the low bits of its token. */
enum append_kind { APPEND_COMMAND, APPEND_DEAD_LETTER, APPEND_STATUS, APPEND_KIND_BITS = 2 };

struct window_slot {
    int64_t offset;
    int64_t received_us;
    uint32_t size;
    uint32_t pending; /* appends not acknowledged; waiting counts as one */
};

struct submission_partition {
    struct submission_partition *prev; /* among those that are closed */
    struct submission_partition *next_closed;
    struct submission *submission;
    int32_t number;
    struct broker_reader *reader;
    struct window_slot *slots; /* the slot of sequence s is s mod SLOTS */
    uint64_t first;            /* not settled */
    uint64_t next;
    int64_t position;  /* everything before is settled; BROKER_EARLIEST */
    int64_t committed; /* given to the group */
    struct wait_queue wait_queue;
    uint32_t queue_full; /* records that wait for the producer's queue */
    uint32_t calls;      /* outstanding answers of the broker: they keep this allocated */
    bool closed;
    bool suspended;
    bool paused;
    bool at_end;
    int64_t again_ms;
    struct loop_timer again;
    struct loop_timer queue_timer;
};

static void open_reader(struct submission_partition *partition);
static void rewind_to_position(struct submission_partition *partition, const struct error *error);

/* ---- the window ---- */

static struct window_slot *slot_of(const struct submission_partition *partition, uint64_t sequence)
{
    assert(sequence >= partition->first && sequence < partition->next);
    return &partition->slots[sequence % SLOTS];
}

/* Full windows and full queues stop the reader until half of them is settled. */
static bool should_pause(const struct submission_partition *partition)
{
    uint64_t used = partition->next - partition->first;
    uint64_t bytes = partition->submission->in_flight_bytes;
    bool was = partition->paused;
    return partition->suspended || partition->submission->draining || partition->queue_full > 0 ||
           used >= (was ? SLOTS / 2 : SLOTS) ||
           partition->wait_queue.count >= (was ? WAITING_MAX / 2 : WAITING_MAX) ||
           partition->wait_queue.bytes >= WAITING_BYTES_MAX ||
           bytes >= (was ? IN_FLIGHT_BYTES_MAX / 2 : IN_FLIGHT_BYTES_MAX);
}

static void update_pause(struct submission_partition *partition)
{
    bool pause = should_pause(partition);
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
           slot_of(partition, partition->first)->pending == 0) {
        struct window_slot *head = slot_of(partition, partition->first);
        assert(submission->in_flight_bytes >= head->size);
        submission->in_flight_bytes -= head->size;
        partition->position = head->offset + 1;
        partition->first++;
        partition->again_ms = AGAIN_MS_MIN;
    }
    if (partition->paused)
        update_pause(partition);
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

static void on_appended(void *ctx, uint64_t token, int64_t offset, const struct error *error)
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
    struct window_slot *slot = slot_of(partition, sequence);
    assert(slot->pending > 0);
    slot->pending--;
    if (slot->pending == 0)
        settle(partition, slot);
}

static uint64_t token_of(uint64_t sequence, enum append_kind kind)
{
    return sequence << APPEND_KIND_BITS | kind;
}

/* RETRY leaves no trace. */
static enum error_class appended(struct submission_partition *partition, uint64_t sequence,
                                 enum error_class class)
{
    if (class == ERROR_OK) {
        slot_of(partition, sequence)->pending++;
        partition->calls++;
    }
    return class;
}

/* ---- acting on a validation ---- */

static enum wait accept_record(struct submission_partition *partition, uint64_t sequence,
                               struct validation *validation)
{
    struct submission *submission = partition->submission;
    enum error_class class =
        appended(partition, sequence,
                 submission_append(submission, &validation->command, on_appended, partition,
                                   token_of(sequence, APPEND_COMMAND), &validation->error));
    if (class != ERROR_OK)
        return WAIT_PRODUCER;
    metrics_add(submission->metrics.accepted_kafka, 1);
    return WAIT_NONE;
}

static enum error_class send_status(struct submission_partition *partition, uint64_t sequence,
                                    const struct broker_record *record,
                                    const struct validation *validation)
{
    struct submission *submission = partition->submission;
    char topic[TOPIC_NAME_SIZE];
    struct status_update status = {
        .order_id = validation->order_id,
        .kind = STATUS_REJECTED,
        .order_state = ORDER_PENDING,
        .decided_at = clock_wall_ms(submission->service->clock),
        .command_partition = -1 - record->partition,
        .command_offset = record->offset,
        .code = text_of(validation->error.code),
        .message = utf8_clean(text_of(validation->error.message), MESSAGE_BYTES_MAX,
                              &submission->scratch.arena),
    };
    snprintf(topic, sizeof(topic), "%.*s", TEXT_ARG(validation->reply_to));
    int32_t count = replies_partition_count(submission->replies, validation->reply_to);
    return appended(partition, sequence,
                    cluster_append(submission->cluster, BROKER_PRODUCER_EFFECTS, topic,
                                   broker_partition_of(validation->order_id, count),
                                   validation->order_id, RECORD_STATUS_UPDATE, &status, on_appended,
                                   partition, token_of(sequence, APPEND_STATUS), NULL));
}

static enum wait refuse_record(struct submission_partition *partition, uint64_t sequence,
                               const struct broker_record *record, struct validation *validation)
{
    struct submission *submission = partition->submission;
    enum error_class class = ERROR_OK;
    if (!text_empty(validation->order_id) && !text_empty(validation->reply_to))
        class = send_status(partition, sequence, record, validation);
    if (class == ERROR_OK)
        class = appended(partition, sequence,
                         cluster_dead_letter(submission->cluster, record, validation->error.code,
                                             validation->error.message, on_appended, partition,
                                             token_of(sequence, APPEND_DEAD_LETTER), NULL));
    if (class != ERROR_OK)
        return WAIT_PRODUCER; /* a status may be sent twice: receivers deduplicate */
    metrics_add(submission->metrics.refused_kafka, 1);
    log_info_limited("refused a submission", LOG_TEXT("order", validation->order_id),
                     LOG_STR("topic", record->topic), LOG_I64("partition", record->partition),
                     LOG_I64("offset", record->offset), LOG_ERR(&validation->error));
    return WAIT_NONE;
}

/* What the record has to wait for; WAIT_NONE: its appends are outstanding. */
static enum wait process(struct submission_partition *partition, uint64_t sequence,
                         const struct broker_record *record, unsigned fresh)
{
    struct submission *submission = partition->submission;
    struct validation validation;
    heap_arena_reset(&submission->scratch);
    validate_record(&submission->validator, record->key, record->value, fresh,
                    &submission->scratch.arena, &validation);
    switch (validation.outcome) {
    case VALIDATION_ACCEPT:
        return accept_record(partition, sequence, &validation);
    case VALIDATION_REFUSE:
        return refuse_record(partition, sequence, record, &validation);
    case VALIDATION_WAIT_SCHEMAS:
        return WAIT_SCHEMAS;
    case VALIDATION_WAIT_WORKFLOWS:
        return WAIT_WORKFLOWS;
    case VALIDATION_WAIT_REPLY:
    case VALIDATION_OUTCOME_COUNT:
        return WAIT_REPLY;
    }
    return WAIT_NONE;
}

/* ---- waiting ---- */

static void begin_to_wait(struct submission_partition *partition, struct waiting_record *waiting,
                          enum wait wait)
{
    struct submission *submission = partition->submission;
    assert(wait != WAIT_NONE);
    waiting->wait = wait;
    switch (wait) {
    case WAIT_SCHEMAS:
        waiting->ticket = refresh_ticket(&submission->schemas);
        break;
    case WAIT_WORKFLOWS:
        waiting->ticket = refresh_ticket(&submission->workflows);
        break;
    case WAIT_PRODUCER:
        partition->queue_full++;
        if (!loop_timer_armed(&partition->queue_timer))
            loop_timer_after(cluster_loop(partition->submission->cluster), &partition->queue_timer,
                             QUEUE_FULL_MS);
        break;
    case WAIT_REPLY:
    case WAIT_KEY:
    case WAIT_NONE:
        break;
    }
}

static void add_waiting(struct submission_partition *partition, uint64_t sequence,
                        const struct broker_record *record, enum wait wait)
{
    begin_to_wait(partition, wait_queue_add(&partition->wait_queue, sequence, record), wait);
}

static void drop_waiting(struct submission_partition *partition)
{
    wait_queue_clear(&partition->wait_queue);
    partition->queue_full = 0;
}

/* Whether the wait is over; records what is known now. */
static bool wait_is_over(struct submission_partition *partition, struct waiting_record *waiting)
{
    struct submission *submission = partition->submission;
    switch (waiting->wait) {
    case WAIT_SCHEMAS:
        waiting->fresh |=
            refresh_is_done(&submission->schemas, waiting->ticket) ? FRESH_SCHEMAS : 0U;
        return (waiting->fresh & FRESH_SCHEMAS) != 0;
    case WAIT_WORKFLOWS:
        waiting->fresh |=
            refresh_is_done(&submission->workflows, waiting->ticket) ? FRESH_WORKFLOWS : 0U;
        return (waiting->fresh & FRESH_WORKFLOWS) != 0;
    case WAIT_PRODUCER:
        assert(partition->queue_full > 0);
        partition->queue_full--;
        return true;
    case WAIT_KEY:
        return !wait_queue_has_key(&partition->wait_queue, waiting->record.key, waiting);
    case WAIT_REPLY:
    case WAIT_NONE:
        return true;
    }
    return true;
}

void submission_partition_wake(struct submission_partition *partition)
{
    struct waiting_record *waiting;
    struct waiting_record *next;
    DL_FOREACH_SAFE(partition->wait_queue.first, waiting, next) {
        if (!wait_is_over(partition, waiting))
            continue;
        uint64_t sequence = waiting->sequence;
        waiting->record.topic = partition->submission->cluster->topics.submissions;
        enum wait wait = process(partition, sequence, &waiting->record, waiting->fresh);
        if (wait != WAIT_NONE) {
            begin_to_wait(partition, waiting, wait);
            continue;
        }
        wait_queue_remove(&partition->wait_queue, waiting);
        /* Waiting counted as one; its appends count themselves. */
        slot_of(partition, sequence)->pending--;
        assert(slot_of(partition, sequence)->pending > 0);
    }
    update_pause(partition);
}

static void on_queue_timer(struct loop *loop, struct loop_timer *timer, void *userdata)
{
    (void)loop;
    (void)timer;
    submission_partition_wake(userdata);
}

/* ---- reading ---- */

static void observe_clock(struct submission_partition *partition,
                          const struct broker_record *record)
{
    struct submission *submission = partition->submission;
    if (!partition->at_end || !broker_has_append_time(submission->cluster->broker))
        return;
    bool was_bad = submission->clock_guard.bad;
    clock_guard_observe(&submission->clock_guard, clock_wall_ms(submission->service->clock),
                        record->timestamp);
    partition->at_end = false;
    if (submission->clock_guard.bad && !was_bad)
        log_error("this machine's clock is too far from the broker's",
                  LOG_I64("skew_ms", submission->clock_guard.skew_ms));
}

static void on_record(void *ctx, const struct broker_record *record)
{
    struct submission_partition *partition = ctx;
    struct submission *submission = partition->submission;
    assert(partition->next - partition->first < SLOTS);
    uint64_t sequence = partition->next++;
    struct window_slot *slot = slot_of(partition, sequence);
    *slot = (struct window_slot){.offset = record->offset,
                                 .received_us = clock_mono_us(submission->service->clock),
                                 .size = record->value.size};
    submission->in_flight_bytes += record->value.size;
    observe_clock(partition, record);
    enum wait wait = WAIT_KEY;
    if (!wait_queue_has_key(&partition->wait_queue, record->key, NULL))
        wait = process(partition, sequence, record, 0);
    if (wait != WAIT_NONE) {
        slot->pending++;
        add_waiting(partition, sequence, record, wait);
    }
    if (should_pause(partition))
        update_pause(partition);
}

static void on_end(void *ctx, int64_t next_offset)
{
    struct submission_partition *partition = ctx;
    (void)next_offset;
    partition->at_end = true;
}

static void close_reader(struct submission_partition *partition)
{
    broker_reader_close(partition->reader);
    partition->reader = NULL;
    partition->paused = false;
    partition->at_end = false;
}

static void read_again_later(struct submission_partition *partition)
{
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
    if (strcmp(error->code, "OffsetOutOfRange") == 0 && partition->position >= 0) {
        log_error("submissions expired before they were read; continuing with the oldest",
                  LOG_STR("topic", partition->submission->cluster->topics.submissions),
                  LOG_I64("partition", partition->number), LOG_I64("offset", partition->position));
        partition->position = BROKER_EARLIEST;
    }
    struct error again = *error;
    rewind_to_position(partition, &again);
}

static const struct broker_reader_ops reader_ops = {on_record, on_end, on_reader_error};

static void open_reader(struct submission_partition *partition)
{
    partition->reader = broker_read(partition->submission->cluster->broker,
                                    partition->submission->cluster->topics.submissions,
                                    partition->number, partition->position, &reader_ops, partition);
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
        submission->in_flight_bytes -= slot_of(partition, partition->first)->size;
    read_again_later(partition);
}

/* ---- life ---- */

static void fetch_committed(struct submission_partition *partition);

static void on_committed_offset(void *ctx, int32_t number, int64_t offset,
                                const struct error *error)
{
    struct submission_partition *partition = ctx;
    (void)number;
    partition->calls--;
    if (partition->closed) {
        free_if_over(partition);
        return;
    }
    if (error->class != ERROR_OK) {
        log_warning_limited("cannot fetch the committed offset",
                            LOG_I64("partition", partition->number), LOG_ERR(error));
        read_again_later(partition);
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

static void on_again(struct loop *loop, struct loop_timer *timer, void *userdata)
{
    struct submission_partition *partition = userdata;
    (void)loop;
    (void)timer;
    if (partition->position == -1)
        fetch_committed(partition);
    else
        open_reader(partition);
}

struct submission_partition *submission_partition_new(struct submission *submission, int32_t number)
{
    struct submission_partition *partition = calloc(1, sizeof(*partition));
    assert(partition != NULL);
    *partition = (struct submission_partition){.submission = submission,
                                               .number = number,
                                               .slots = calloc(SLOTS, sizeof(struct window_slot)),
                                               .position = -1,
                                               .committed = -1,
                                               .again_ms = AGAIN_MS_MIN};
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
        partition->submission->in_flight_bytes -= slot_of(partition, partition->first)->size;
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
    assert(window <= SLOTS && window >= partition->wait_queue.count);
    return (uint32_t)window - partition->wait_queue.count;
}

uint32_t submission_partition_waiting(const struct submission_partition *partition)
{
    return partition->wait_queue.count;
}
