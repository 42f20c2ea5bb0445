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
    PARKED_MAX = 256,
    PARKED_BYTES_MAX = 4 << 20,
    AGAIN_MS_MIN = 100,
    AGAIN_MS_MAX = 5000,
    QUEUE_FULL_MS = 5
};

/* What an append was, in the low bits of its token. */
enum append_kind { APPEND_COMMAND, APPEND_DEAD_LETTER, APPEND_STATUS, APPEND_KIND_BITS = 2 };

struct slot {
    int64_t offset;
    int64_t received_us;
    uint32_t size;
    uint32_t pending; /* appends not acknowledged, parking included */
};

struct source {
    struct source *prev; /* among those that are closed */
    struct source *next_closed;
    struct submission *submission;
    int32_t partition;
    struct broker_reader *reader;
    struct slot *slots; /* the slot of sequence s is s mod SLOTS */
    uint64_t first;     /* not settled */
    uint64_t next;
    int64_t position;  /* everything before is settled; BROKER_EARLIEST */
    int64_t committed; /* given to the group */
    struct parked_list parked;
    uint32_t queue_full; /* parked ones that wait for the producer's queue */
    uint32_t calls;      /* answers of the broker on their way: they keep this alive */
    bool closed;
    bool suspended;
    bool paused;
    bool at_end;
    int64_t again_ms;
    struct loop_timer again;
    struct loop_timer queue_timer;
};

static void open_reader(struct source *source);
static void rewind_to_position(struct source *source, const struct error *error);

/* ---- the window ---- */

static struct slot *slot_of(const struct source *source, uint64_t sequence)
{
    return &source->slots[sequence % SLOTS];
}

/* Full windows and full queues stop the reader until half of them is settled. */
static bool should_pause(const struct source *source)
{
    uint64_t used = source->next - source->first;
    uint64_t bytes = source->submission->in_flight_bytes;
    bool was = source->paused;
    return source->suspended || source->submission->draining || source->queue_full > 0 ||
           used >= (was ? SLOTS / 2 : SLOTS) ||
           source->parked.count >= (was ? PARKED_MAX / 2 : PARKED_MAX) ||
           source->parked.bytes >= PARKED_BYTES_MAX ||
           bytes >= (was ? IN_FLIGHT_BYTES_MAX / 2 : IN_FLIGHT_BYTES_MAX);
}

static void update_pause(struct source *source)
{
    bool pause = should_pause(source);
    if (source->reader == NULL || pause == source->paused)
        return;
    source->paused = pause;
    broker_reader_pause(source->reader, pause);
}

static void settle(struct source *source, struct slot *slot)
{
    struct submission *submission = source->submission;
    metrics_observe_us(submission->metrics.latency,
                       clock_mono_us(submission->service->clock) - slot->received_us);
    while (source->first < source->next && slot_of(source, source->first)->pending == 0) {
        struct slot *head = slot_of(source, source->first);
        submission->in_flight_bytes -= head->size;
        source->position = head->offset + 1;
        source->first++;
        source->again_ms = AGAIN_MS_MIN;
    }
    if (source->paused)
        update_pause(source);
}

static void free_if_over(struct source *source)
{
    if (!source->closed || source->calls > 0)
        return;
    DL_DELETE2(source->submission->closed_sources, source, prev, next_closed);
    free(source->slots);
    free(source);
}

void sources_free_closed(struct submission *submission)
{
    struct source *source;
    struct source *next;
    DL_FOREACH_SAFE2(submission->closed_sources, source, next, next_closed)
    {
        source->calls = 0;
        free_if_over(source);
    }
}

static void on_appended(void *ctx, uint64_t token, int64_t offset, const struct error *error)
{
    struct source *source = ctx;
    uint64_t sequence = token >> APPEND_KIND_BITS;
    enum append_kind kind = token & ((1U << APPEND_KIND_BITS) - 1);
    (void)offset;
    source->calls--;
    if (source->closed) {
        free_if_over(source);
        return;
    }
    if (sequence < source->first)
        return; /* of a window that was given up */
    if (error->class == ERROR_REJECT && kind == APPEND_STATUS) {
        log_warning_limited("a Rejected status cannot be delivered",
                            LOG_I64("partition", source->partition), LOG_ERR(error));
    } else if (error->class != ERROR_OK) {
        rewind_to_position(source, error);
        return;
    }
    FAILPOINT("submission.acknowledged");
    struct slot *slot = slot_of(source, sequence);
    assert(slot->pending > 0);
    slot->pending--;
    if (slot->pending == 0)
        settle(source, slot);
}

static uint64_t token_of(uint64_t sequence, enum append_kind kind)
{
    return sequence << APPEND_KIND_BITS | kind;
}

/* RETRY leaves no trace. */
static enum error_class appended(struct source *source, uint64_t sequence, enum error_class class)
{
    if (class == ERROR_OK) {
        slot_of(source, sequence)->pending++;
        source->calls++;
    }
    return class;
}

/* ---- what follows from a judgement ---- */

static enum wait accept_record(struct source *source, uint64_t sequence,
                               struct judgement *judgement)
{
    struct submission *submission = source->submission;
    enum error_class class =
        appended(source, sequence,
                 submission_append(submission, &judgement->command, on_appended, source,
                                   token_of(sequence, APPEND_COMMAND), &judgement->error));
    if (class != ERROR_OK)
        return WAIT_QUEUE;
    metrics_add(submission->metrics.accepted_topic, 1);
    return WAIT_NONE;
}

static enum error_class send_status(struct source *source, uint64_t sequence,
                                    const struct broker_record *record,
                                    const struct judgement *judgement)
{
    struct submission *submission = source->submission;
    char topic[TOPIC_NAME_SIZE];
    struct status_update status = {
        .order_id = judgement->order_id,
        .kind = STATUS_REJECTED,
        .order_state = ORDER_PENDING,
        .decided_at = clock_wall_ms(submission->service->clock),
        .command_partition = -1 - record->partition,
        .command_offset = record->offset,
        .code = text_of(judgement->error.code),
        .message = utf8_clean(text_of(judgement->error.message), MESSAGE_BYTES_MAX,
                              &submission->scratch.arena),
    };
    snprintf(topic, sizeof(topic), "%.*s", TEXT_ARG(judgement->reply_to));
    int32_t count = replies_partition_count(submission->replies, judgement->reply_to);
    return appended(source, sequence,
                    cluster_append(submission->cluster, BROKER_PRODUCER_EFFECTS, topic,
                                   broker_partition_of(judgement->order_id, count),
                                   judgement->order_id, RECORD_STATUS_UPDATE, &status, on_appended,
                                   source, token_of(sequence, APPEND_STATUS), NULL));
}

static enum wait refuse_record(struct source *source, uint64_t sequence,
                               const struct broker_record *record, struct judgement *judgement)
{
    struct submission *submission = source->submission;
    enum error_class class = ERROR_OK;
    if (!text_empty(judgement->order_id) && !text_empty(judgement->reply_to))
        class = send_status(source, sequence, record, judgement);
    if (class == ERROR_OK)
        class = appended(source, sequence,
                         cluster_dead_letter(submission->cluster, record, judgement->error.code,
                                             judgement->error.message, on_appended, source,
                                             token_of(sequence, APPEND_DEAD_LETTER), NULL));
    if (class != ERROR_OK)
        return WAIT_QUEUE; /* a status may be sent twice: receivers deduplicate */
    metrics_add(submission->metrics.refused_topic, 1);
    log_info_limited("refused a submission", LOG_TEXT("order", judgement->order_id),
                     LOG_STR("topic", record->topic), LOG_I64("partition", record->partition),
                     LOG_I64("offset", record->offset), LOG_ERR(&judgement->error));
    return WAIT_NONE;
}

/* What the record has to wait for, or nothing: then it is on its way. */
static enum wait process(struct source *source, uint64_t sequence,
                         const struct broker_record *record, unsigned fresh)
{
    struct submission *submission = source->submission;
    struct judgement judgement;
    heap_arena_reset(&submission->scratch);
    judge_record(&submission->judge, record->key, record->value, fresh, &submission->scratch.arena,
                 &judgement);
    switch (judgement.verdict) {
    case VERDICT_ACCEPT:
        return accept_record(source, sequence, &judgement);
    case VERDICT_REFUSE:
        return refuse_record(source, sequence, record, &judgement);
    case VERDICT_WAIT_SCHEMAS:
        return WAIT_SCHEMAS;
    case VERDICT_WAIT_WORKFLOWS:
        return WAIT_WORKFLOWS;
    case VERDICT_WAIT_REPLY:
    case VERDICT_COUNT:
        return WAIT_REPLY;
    }
    return WAIT_NONE;
}

/* ---- parking ---- */

static void begin_to_wait(struct source *source, struct parked *parked, enum wait wait)
{
    struct submission *submission = source->submission;
    parked->wait = wait;
    switch (wait) {
    case WAIT_SCHEMAS:
        parked->ticket = refresh_ticket(&submission->schemas);
        break;
    case WAIT_WORKFLOWS:
        parked->ticket = refresh_ticket(&submission->workflows);
        break;
    case WAIT_QUEUE:
        source->queue_full++;
        if (!loop_timer_armed(&source->queue_timer))
            loop_timer_after(cluster_loop(source->submission->cluster), &source->queue_timer,
                             QUEUE_FULL_MS);
        break;
    case WAIT_REPLY:
    case WAIT_KEY:
    case WAIT_NONE:
        break;
    }
}

static void park(struct source *source, uint64_t sequence, const struct broker_record *record,
                 enum wait wait)
{
    begin_to_wait(source, parked_add(&source->parked, sequence, record), wait);
}

static void drop_parked(struct source *source)
{
    parked_clear(&source->parked);
    source->queue_full = 0;
}

/* Whether waiting is over; notes what is known now. */
static bool may_go_on(struct source *source, struct parked *parked)
{
    struct submission *submission = source->submission;
    switch (parked->wait) {
    case WAIT_SCHEMAS:
        parked->fresh |= refresh_is_done(&submission->schemas, parked->ticket) ? FRESH_SCHEMAS : 0U;
        return (parked->fresh & FRESH_SCHEMAS) != 0;
    case WAIT_WORKFLOWS:
        parked->fresh |=
            refresh_is_done(&submission->workflows, parked->ticket) ? FRESH_WORKFLOWS : 0U;
        return (parked->fresh & FRESH_WORKFLOWS) != 0;
    case WAIT_QUEUE:
        source->queue_full--;
        return true;
    case WAIT_KEY:
        return !parked_has_key(&source->parked, parked->record.key, parked);
    case WAIT_REPLY:
    case WAIT_NONE:
        return true;
    }
    return true;
}

void source_wake(struct source *source)
{
    struct parked *parked;
    struct parked *next;
    DL_FOREACH_SAFE(source->parked.first, parked, next) {
        if (!may_go_on(source, parked))
            continue;
        uint64_t sequence = parked->sequence;
        parked->record.topic = source->submission->cluster->topics.submissions;
        enum wait wait = process(source, sequence, &parked->record, parked->fresh);
        if (wait != WAIT_NONE) {
            begin_to_wait(source, parked, wait);
            continue;
        }
        parked_remove(&source->parked, parked);
        /* Parking counted as one; what was appended meanwhile counts by itself. */
        slot_of(source, sequence)->pending--;
        assert(slot_of(source, sequence)->pending > 0);
    }
    update_pause(source);
}

static void on_queue_timer(struct loop *loop, struct loop_timer *timer, void *userdata)
{
    (void)loop;
    (void)timer;
    source_wake(userdata);
}

/* ---- reading ---- */

static void observe_clock(struct source *source, const struct broker_record *record)
{
    struct submission *submission = source->submission;
    if (!source->at_end || !broker_has_append_time(submission->cluster->broker))
        return;
    bool was_bad = submission->clock_guard.bad;
    clock_guard_observe(&submission->clock_guard, clock_wall_ms(submission->service->clock),
                        record->timestamp);
    source->at_end = false;
    if (submission->clock_guard.bad && !was_bad)
        log_error("this machine's clock is too far from the broker's",
                  LOG_I64("skew_ms", submission->clock_guard.skew_ms));
}

static void on_record(void *ctx, const struct broker_record *record)
{
    struct source *source = ctx;
    struct submission *submission = source->submission;
    assert(source->next - source->first < SLOTS);
    uint64_t sequence = source->next++;
    struct slot *slot = slot_of(source, sequence);
    *slot = (struct slot){.offset = record->offset,
                          .received_us = clock_mono_us(submission->service->clock),
                          .size = record->value.size};
    submission->in_flight_bytes += record->value.size;
    observe_clock(source, record);
    enum wait wait = WAIT_KEY;
    if (!parked_has_key(&source->parked, record->key, NULL))
        wait = process(source, sequence, record, 0);
    if (wait != WAIT_NONE) {
        slot->pending++;
        park(source, sequence, record, wait);
    }
    if (should_pause(source))
        update_pause(source);
}

static void on_end(void *ctx, int64_t next_offset)
{
    struct source *source = ctx;
    (void)next_offset;
    source->at_end = true;
}

static void close_reader(struct source *source)
{
    broker_reader_close(source->reader);
    source->reader = NULL;
    source->paused = false;
    source->at_end = false;
}

static void read_again_later(struct source *source)
{
    loop_timer_after(cluster_loop(source->submission->cluster), &source->again, source->again_ms);
    source->again_ms = 2 * source->again_ms < AGAIN_MS_MAX ? 2 * source->again_ms : AGAIN_MS_MAX;
}

static void on_reader_error(void *ctx, const struct error *error)
{
    struct source *source = ctx;
    log_warning_limited("reading submissions", LOG_I64("partition", source->partition),
                        LOG_I64("offset", source->position), LOG_ERR(error));
    if (error->class != ERROR_FATAL)
        return;
    if (strcmp(error->code, "OffsetOutOfRange") == 0 && source->position >= 0) {
        log_error("submissions were removed before they were read; going on with the oldest",
                  LOG_STR("topic", source->submission->cluster->topics.submissions),
                  LOG_I64("partition", source->partition), LOG_I64("offset", source->position));
        source->position = BROKER_EARLIEST;
    }
    struct error again = *error;
    rewind_to_position(source, &again);
}

static const struct broker_reader_ops reader_ops = {on_record, on_end, on_reader_error};

static void open_reader(struct source *source)
{
    source->reader = broker_read(source->submission->cluster->broker,
                                 source->submission->cluster->topics.submissions, source->partition,
                                 source->position, &reader_ops, source);
    update_pause(source);
}

/* Something was not acknowledged: everything that is not settled is read and sent again. */
static void rewind_to_position(struct source *source, const struct error *error)
{
    struct submission *submission = source->submission;
    log_warning_limited("reading submissions again", LOG_I64("partition", source->partition),
                        LOG_I64("offset", source->position), LOG_ERR(error));
    metrics_add(submission->metrics.rewinds, 1);
    close_reader(source);
    drop_parked(source);
    for (; source->first < source->next; source->first++)
        submission->in_flight_bytes -= slot_of(source, source->first)->size;
    read_again_later(source);
}

/* ---- beginning and end ---- */

static void ask_committed(struct source *source);

static void on_committed_offset(void *ctx, int32_t partition, int64_t offset,
                                const struct error *error)
{
    struct source *source = ctx;
    (void)partition;
    source->calls--;
    if (source->closed) {
        free_if_over(source);
        return;
    }
    if (error->class != ERROR_OK) {
        log_warning_limited("asking for the committed offset",
                            LOG_I64("partition", source->partition), LOG_ERR(error));
        read_again_later(source);
        return;
    }
    source->position = offset >= 0 ? offset : BROKER_EARLIEST;
    source->committed = offset;
    open_reader(source);
}

static void ask_committed(struct source *source)
{
    source->calls++;
    broker_group_committed(source->submission->group, source->partition, on_committed_offset,
                           source);
}

static void on_again(struct loop *loop, struct loop_timer *timer, void *userdata)
{
    struct source *source = userdata;
    (void)loop;
    (void)timer;
    if (source->position == -1)
        ask_committed(source);
    else
        open_reader(source);
}

struct source *source_new(struct submission *submission, int32_t partition)
{
    struct source *source = calloc(1, sizeof(*source));
    assert(source != NULL);
    *source = (struct source){.submission = submission,
                              .partition = partition,
                              .slots = calloc(SLOTS, sizeof(struct slot)),
                              .position = -1,
                              .committed = -1,
                              .again_ms = AGAIN_MS_MIN};
    assert(source->slots != NULL);
    loop_timer_init(&source->again, on_again, source);
    loop_timer_init(&source->queue_timer, on_queue_timer, source);
    ask_committed(source);
    return source;
}

void source_close(struct source *source)
{
    close_reader(source);
    drop_parked(source);
    for (; source->first < source->next; source->first++)
        source->submission->in_flight_bytes -= slot_of(source, source->first)->size;
    loop_timer_cancel(cluster_loop(source->submission->cluster), &source->again);
    loop_timer_cancel(cluster_loop(source->submission->cluster), &source->queue_timer);
    source->closed = true;
    DL_APPEND2(source->submission->closed_sources, source, prev, next_closed);
    free_if_over(source);
}

void source_suspend(struct source *source, bool suspended)
{
    source->suspended = suspended;
    update_pause(source);
}

int64_t source_take_commit(struct source *source)
{
    if (source->position < 0 || source->position == source->committed)
        return -1;
    source->committed = source->position;
    return source->position;
}

void source_commit_failed(struct source *source)
{
    source->committed = -1;
}

uint32_t source_in_flight(const struct source *source)
{
    return (uint32_t)(source->next - source->first) - source->parked.count;
}

uint32_t source_parked(const struct source *source)
{
    return source->parked.count;
}
