/* SPDX-License-Identifier: Apache-2.0 */
/* Partitions of <p>.requests.<agent>: where reading begins, each request to the attempts, and what
 * may be committed.
 *
 * What finds no place for its call waits in the queue, in memory, so that an urgent request is
 * found behind many others: reading goes on until agent.queue.max of them or BYTES_MAX wait.
 *
 * A partition that comes back right after it was revoked goes on where it was; one that others may
 * have had meanwhile begins anew at the committed offset. Notes of an earlier life (its epoch) are
 * not looked at any more. */
#include "runtime/failpoint.h"
#include "runtime/logger.h"
#include "services/agent/agent_breaker.h"
#include "services/agent/agent_core.h"
#include "services/agent/agent_letters.h"
#include "services/agent/agent_offsets.h"
#include "services/agent/agent_queue.h"

#include <assert.h>
#include <stdlib.h>

enum {
    COMMIT_MS = 100,             /* commits are at most so far behind, and so frequent */
    LOCATE_MS = 1000,            /* before the committed offset is asked for again */
    LETTERS_MAX = 1000,          /* dead letters on their way; more of them and reading waits */
    BYTES_MAX = 64 * 1024 * 1024 /* of requests in hand: a hundred of the largest, at least */
};

enum partition_state {
    PARTITION_CLOSED,
    PARTITION_LOCATING, /* the committed offset is asked for */
    PARTITION_READING
};

struct agent_partition {
    struct agent_intake *intake;
    int32_t number;
    enum partition_state state;
    uint32_t epoch; /* counts its lives */
    bool asked;     /* the committed offset, and no answer yet */
    struct broker_reader *reader;
    bool paused;
    bool parked; /* a record waits for its writer's schema */
    struct offsets offsets;
    int64_t committed; /* the last position given to the group, -1 = none */
    int64_t end;       /* the partition ended here when we looked last; -1 = unknown */
};

struct agent_intake {
    struct agent *agent;
    struct agent_partition **partitions; /* each stays put: readers point to it */
    size_t partition_count;
    bool suspended; /* revoked: nothing is read until the next assignment */
    bool draining;
    bool halted;    /* nothing is read or begun until it has left and comes back */
    bool held_back; /* some reader is paused */
    uint32_t in_hand_max;
    uint32_t queue_max;
    struct agent_queue queue; /* read, not begun */
    uint32_t commits;         /* on their way */
    struct agent_letters *letters;
    struct loop_work flow;
    struct loop_timer commit_timer;
    struct loop_timer locate_timer;
    struct loop_timer disk_timer; /* while there is no room for answers */
};

static void on_flow(struct loop *loop, struct loop_work *work, void *userdata);
static void on_commit_timer(struct loop *loop, struct loop_timer *timer, void *userdata);
static void on_locate_timer(struct loop *loop, struct loop_timer *timer, void *userdata);
static void on_disk_timer(struct loop *loop, struct loop_timer *timer, void *userdata);
static void on_letter(void *ctx, const struct request_origin *origin);
static void on_schemas(void *ctx);

static struct loop *loop_of(const struct agent_intake *intake)
{
    return intake->agent->service->loop;
}

struct agent_intake *intake_new(struct agent *agent)
{
    struct agent_intake *intake = calloc(1, sizeof(*intake));
    assert(intake != NULL);
    intake->agent = agent;
    intake->in_hand_max = agent_capacity(agent);
    intake->queue_max = (uint32_t)config_int(agent->service->config, "agent.queue.max");
    queue_init(&intake->queue, agent->service->config);
    intake->letters = letters_new(agent, on_letter, on_schemas, intake);
    loop_work_init(&intake->flow, on_flow, intake);
    loop_timer_init(&intake->commit_timer, on_commit_timer, intake);
    loop_timer_init(&intake->locate_timer, on_locate_timer, intake);
    loop_timer_init(&intake->disk_timer, on_disk_timer, intake);
    return intake;
}

void intake_free(struct agent_intake *intake)
{
    if (intake == NULL)
        return;
    intake_close(intake);
    loop_defer_cancel(loop_of(intake), &intake->flow);
    loop_timer_cancel(loop_of(intake), &intake->commit_timer);
    loop_timer_cancel(loop_of(intake), &intake->locate_timer);
    loop_timer_cancel(loop_of(intake), &intake->disk_timer);
    for (size_t i = 0; i < intake->partition_count; i++)
        free(intake->partitions[i]);
    free(intake->partitions);
    letters_free(intake->letters);
    free(intake);
}

static struct agent_partition *get_partition(struct agent_intake *intake, int32_t number)
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

/* ---- commits ---- */

static bool may_commit(const struct agent_partition *partition)
{
    return partition->state == PARTITION_READING &&
           partition->offsets.position > partition->committed;
}

static void on_committed(void *ctx, int32_t number, int64_t offset, const struct error *error)
{
    struct agent_intake *intake = ctx;
    (void)offset;
    assert(intake->commits > 0);
    intake->commits--;
    if (error != NULL && error_is(error)) {
        struct agent_partition *partition = get_partition(intake, number);
        log_warning_limited("a commit failed, trying again", LOG_STR("topic", intake->agent->topic),
                            LOG_I64("partition", number), LOG_ERR(error));
        partition->committed = -1;
        if (!loop_timer_armed(&intake->commit_timer))
            loop_timer_after(loop_of(intake), &intake->commit_timer, LOCATE_MS);
    }
    agent_progress(intake->agent);
}

void intake_commit(struct agent_intake *intake)
{
    if (intake->agent->group == NULL || intake->suspended)
        return;
    for (size_t i = 0; i < intake->partition_count; i++) {
        struct agent_partition *partition = intake->partitions[i];
        if (!may_commit(partition))
            continue;
        FAILPOINT("agent.commit");
        partition->committed = partition->offsets.position;
        intake->commits++;
        broker_group_commit(intake->agent->group, partition->number, partition->committed,
                            on_committed, intake);
    }
}

static void on_commit_timer(struct loop *loop, struct loop_timer *timer, void *userdata)
{
    (void)loop;
    (void)timer;
    intake_commit(userdata);
}

bool intake_idle(const struct agent_intake *intake)
{
    if (intake->commits > 0 || letters_count(intake->letters) > 0)
        return false;
    if (intake->suspended)
        return true; /* nobody takes our commits now: others will do some of it again */
    for (size_t i = 0; i < intake->partition_count; i++)
        if (may_commit(intake->partitions[i]))
            return false;
    return true;
}

void intake_settled(struct agent_intake *intake, const struct request_origin *origin)
{
    struct agent_partition *partition = get_partition(intake, origin->partition);
    if (intake->held_back || intake->queue.count > 0)
        loop_defer(loop_of(intake), &intake->flow);
    if (partition->epoch != origin->epoch || partition->state != PARTITION_READING)
        return;
    offsets_settle(&partition->offsets, origin->place);
    if (may_commit(partition) && !loop_timer_armed(&intake->commit_timer))
        loop_timer_after(loop_of(intake), &intake->commit_timer, COMMIT_MS);
}

/* ---- requests ---- */

static struct request_origin origin_of(const struct agent_partition *partition, uint64_t place)
{
    return (struct request_origin){
        .partition = partition->number, .epoch = partition->epoch, .place = place};
}

static bool request_fits(const struct agent *agent, const struct record *decoded,
                         struct error *ret_error)
{
    const struct step_request *request = &decoded->step_request;
    if (decoded->kind != RECORD_STEP_REQUEST) {
        (void)error_set(ret_error, ERROR_REJECT, "UnexpectedRecord", "%s is no StepRequest",
                        record_kind_name(decoded->kind));
        return false;
    }
    if (!text_equal(request->agent, text_of(agent->name))) {
        (void)error_set(ret_error, ERROR_REJECT, "WrongAgent",
                        "the request is for agent %.*s, this is %s's topic",
                        TEXT_ARG(request->agent), agent->name);
        return false;
    }
    if (text_empty(request->order_id) || text_empty(request->ref.step) ||
        request->ref.attempt == 0 || text_empty(request->do_key) || request->order == NULL) {
        (void)error_set(ret_error, ERROR_REJECT, "BadValue",
                        "order, step, attempt and key must be there");
        return false;
    }
    return true;
}

/* Decodes a request into a blank attempt, which then owns its bytes. */
static bool decode(const struct agent *agent, struct agent_attempt *attempt, struct text value,
                   struct error *ret_error)
{
    struct record decoded;
    struct arena *arena = &attempt->memory.arena;
    struct text bytes = arena_text(arena, value);
    if (codec_decode(agent->node->codec, bytes, true, arena, &decoded, ret_error) != ERROR_OK ||
        !request_fits(agent, &decoded, ret_error))
        return false;
    attempt->request = decoded.step_request;
    return true;
}

/* No room for the answers that calls would bring. */
static bool disk_is_low(const struct agent_intake *intake)
{
    return disk_guard_is_low(intake->agent->service->disk);
}

static void on_disk_timer(struct loop *loop, struct loop_timer *timer, void *userdata)
{
    struct agent_intake *intake = userdata;
    (void)timer;
    loop_defer(loop, &intake->flow);
}

/* One more call may begin. */
static bool has_room(const struct agent_intake *intake)
{
    const struct agent *agent = intake->agent;
    return !intake->suspended && !intake->draining && !intake->halted &&
           attempts_in_hand(agent->attempts) < intake->in_hand_max &&
           breaker_has_room(agent->breaker) && !disk_is_low(intake);
}

/* Begins what waits, while there is room. */
static void begin_queued(struct agent_intake *intake)
{
    struct attempts *attempts = intake->agent->attempts;
    struct error error;
    while (intake->queue.count > 0 && has_room(intake)) {
        struct queued *queued = queue_pop(&intake->queue);
        struct agent_attempt *attempt = attempts_take(attempts);
        struct text value = {queued->bytes, queued->size};
        bool decoded = decode(intake->agent, attempt, value, &error);
        assert(decoded); /* as when it was read */
        (void)decoded;
        (void)attempts_offer(attempts, attempt, &queued->origin);
        free(queued);
    }
}

/* Begins it, or lets it wait behind what waits already. */
static void take_in(struct agent_intake *intake, struct agent_attempt *attempt, struct text value,
                    const struct request_origin *origin)
{
    struct attempts *attempts = intake->agent->attempts;
    /* What concerns an attempt in hand begins no call, and more time must not come too late. */
    if (attempts_has(attempts, &attempt->request) ||
        (intake->queue.count == 0 && has_room(intake))) {
        (void)attempts_offer(attempts, attempt, origin);
        return;
    }
    queue_push(&intake->queue, attempt->request.order->priority, origin, value);
    attempts_put_back(attempts, attempt);
    loop_defer(loop_of(intake), &intake->flow);
}

/* A request in its place. False: its writer's schema is not known. */
static bool handle(struct agent_partition *partition, const struct broker_record *record,
                   uint64_t place, bool may_wait)
{
    struct agent_intake *intake = partition->intake;
    struct agent *agent = intake->agent;
    struct request_origin origin = origin_of(partition, place);
    struct agent_attempt *attempt = attempts_take(agent->attempts);
    struct error error = {.class = ERROR_OK};
    if (decode(agent, attempt, record->value, &error)) {
        take_in(intake, attempt, record->value, &origin);
        return true;
    }
    attempts_put_back(agent->attempts, attempt);
    if (may_wait && strcmp(error.code, "UnknownSchema") == 0)
        return false;
    log_warning_limited("a request is not usable: dead letter", LOG_STR("topic", record->topic),
                        LOG_I64("partition", record->partition), LOG_I64("offset", record->offset),
                        LOG_TEXT("key", record->key), LOG_ERR(&error));
    agent_metrics_dead_letter(agent->metrics);
    letters_send(intake->letters, record, &origin, &error);
    return true;
}

static void update_flow(struct agent_intake *intake, struct agent_partition *partition, bool full)
{
    bool pause = full || partition->parked || offsets_full(&partition->offsets);
    if (partition->reader != NULL && pause != partition->paused) {
        partition->paused = pause;
        partition->end = -1; /* what comes after the pause may have waited for long */
        broker_reader_pause(partition->reader, pause);
    }
    intake->held_back |= partition->paused;
}

/* Nothing more is to be read, now that so many requests wait, or need so much memory with those in
 * hand. */
static bool is_full(const struct agent_intake *intake, uint32_t queued, size_t bytes)
{
    size_t used = attempts_bytes(intake->agent->attempts) + intake->queue.bytes;
    return intake->suspended || intake->draining || intake->halted ||
           letters_count(intake->letters) >= LETTERS_MAX || intake->queue.count >= queued ||
           used >= bytes || disk_is_low(intake);
}

/* Begins what may begin; pauses what must wait and resumes what need not: not before a part of the
 * queue is free, so that it does not happen at every request. */
static void on_flow(struct loop *loop, struct loop_work *work, void *userdata)
{
    struct agent_intake *intake = userdata;
    uint32_t most = intake->queue_max;
    (void)work;
    if (disk_is_low(intake))
        loop_timer_after(loop, &intake->disk_timer, DISK_GUARD_LOOK_MS);
    begin_queued(intake);
    bool full = is_full(intake, most > 4 ? most / 4 * 3 : most, BYTES_MAX / 4 * 3);
    intake->held_back = false;
    for (size_t i = 0; i < intake->partition_count; i++)
        update_flow(intake, intake->partitions[i], full);
}

static void hold_back_if_full(struct agent_intake *intake, struct agent_partition *partition)
{
    if (disk_is_low(intake))
        loop_defer(loop_of(intake), &intake->flow);
    if (is_full(intake, intake->queue_max, BYTES_MAX)) {
        for (size_t i = 0; i < intake->partition_count; i++)
            update_flow(intake, intake->partitions[i], true);
    } else if (partition->parked || offsets_full(&partition->offsets)) {
        update_flow(intake, partition, false);
    }
}

static void on_record(void *ctx, const struct broker_record *record)
{
    struct agent_partition *partition = ctx;
    struct agent_intake *intake = partition->intake;
    bool fresh = record->offset == partition->end;
    assert(partition->state == PARTITION_READING && !partition->paused);
    if (!agent_clock_is_right(intake->agent, record->timestamp, fresh))
        return; /* the partition is closed now */
    uint64_t place = offsets_add(&partition->offsets, record->offset);
    if (!handle(partition, record, place, true)) {
        struct request_origin origin = origin_of(partition, place);
        partition->parked = true;
        letters_park(intake->letters, record, &origin);
    }
    hold_back_if_full(intake, partition);
}

static void on_end(void *ctx, int64_t next_offset)
{
    struct agent_partition *partition = ctx;
    partition->end = next_offset;
}

/* A dead letter was delivered. */
static void on_letter(void *ctx, const struct request_origin *origin)
{
    struct agent_intake *intake = ctx;
    intake_settled(intake, origin);
    agent_progress(intake->agent);
}

/* All schemas that there are have been read: what waited for one is handled, or a dead letter. */
static void on_schemas(void *ctx)
{
    struct agent_intake *intake = ctx;
    struct letter *letter;
    while ((letter = letters_next_parked(intake->letters)) != NULL) {
        const struct request_origin *origin = letter_origin(letter);
        struct agent_partition *partition = get_partition(intake, origin->partition);
        bool alive = partition->epoch == origin->epoch && partition->state == PARTITION_READING &&
                     partition->parked && !intake->suspended && !intake->draining &&
                     !intake->halted;
        if (alive) {
            partition->parked = false;
            (void)handle(partition, letter_record(letter), origin->place, false);
        }
        letter_free(letter);
    }
    loop_defer(loop_of(intake), &intake->flow);
}

/* ---- partitions come and go ---- */

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

static bool is_open(void *ctx, const struct request_origin *origin)
{
    const struct agent_partition *partition = get_partition(ctx, origin->partition);
    return partition->state == PARTITION_READING && partition->epoch == origin->epoch;
}

/* After partitions were closed: whoever reads them next reads what waits. */
static void purge(struct agent_intake *intake)
{
    queue_purge(&intake->queue, is_open, intake);
}

static void on_error(void *ctx, const struct error *error);
static const struct broker_reader_ops reader_ops = {on_record, on_end, on_error};

static void read_from(struct agent_partition *partition, int64_t offset)
{
    struct agent *agent = partition->intake->agent;
    partition->state = PARTITION_READING;
    partition->end = -1;
    partition->committed = offset >= 0 ? offset : -1;
    partition->reader = broker_read(agent->node->broker, agent->topic, partition->number,
                                    offset >= 0 ? offset : BROKER_EARLIEST, &reader_ops, partition);
    loop_defer(loop_of(partition->intake), &partition->intake->flow);
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
    if (strcmp(error->code, "OffsetOutOfRange") == 0) {
        offsets_init(&partition->offsets);
        read_from(partition, BROKER_EARLIEST);
        return;
    }
    partition->state = PARTITION_LOCATING;
    offsets_init(&partition->offsets);
    loop_timer_after(loop_of(partition->intake), &partition->intake->locate_timer, LOCATE_MS);
}

static void on_located(void *ctx, int32_t number, int64_t offset, const struct error *error)
{
    struct agent_intake *intake = ctx;
    struct agent_partition *partition = get_partition(intake, number);
    partition->asked = false;
    if (partition->state != PARTITION_LOCATING)
        return;
    if (error != NULL && error_is(error)) {
        log_warning_limited("where to read from", LOG_STR("topic", intake->agent->topic),
                            LOG_I64("partition", number), LOG_ERR(error));
        loop_timer_after(loop_of(intake), &intake->locate_timer, LOCATE_MS);
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

static void on_locate_timer(struct loop *loop, struct loop_timer *timer, void *userdata)
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
        struct agent_partition *partition = get_partition(intake, partitions[i]);
        if (partition->state != PARTITION_CLOSED)
            continue;
        partition->state = PARTITION_LOCATING;
        offsets_init(&partition->offsets);
    }
    locate(intake);
    loop_defer(loop_of(intake), &intake->flow);
    loop_timer_after(loop_of(intake), &intake->commit_timer, COMMIT_MS);
}

void intake_revoke(struct agent_intake *intake, bool lost)
{
    /* Whoever gets a partition next must not be asked again for what is settled. */
    if (!lost)
        intake_commit(intake);
    intake->suspended = true;
    for (size_t i = 0; i < intake->partition_count; i++) {
        struct agent_partition *partition = intake->partitions[i];
        if (lost || partition->state == PARTITION_LOCATING)
            close_partition(partition);
        else
            update_flow(intake, partition, true);
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
        update_flow(intake, intake->partitions[i], true);
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

/* ---- figures ---- */

uint32_t intake_queued(const struct agent_intake *intake)
{
    return intake->queue.count;
}

uint32_t intake_partitions(const struct agent_intake *intake)
{
    uint32_t count = 0;
    for (size_t i = 0; i < intake->partition_count && !intake->suspended && !intake->halted; i++)
        count += intake->partitions[i]->state != PARTITION_CLOSED;
    return count;
}
