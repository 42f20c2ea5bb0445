/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of <p>.requests.<agent>: offers them to the attempts, and commits what is settled.
 * partitions.c decides where reading begins.
 *
 * A request that finds no free capacity waits in the queue, in memory, so that an urgent request is
 * found behind many others: reading goes on until agent.queue.max of them or BYTES_MAX wait. */
#include "base/names.h"
#include "platform/failpoint.h"
#include "platform/logger.h"
#include "schemas/details.h"
#include "services/agent/core/intake_internal.h"
#include "services/agent/health/breaker.h"

#include <assert.h>
#include <stdlib.h>

enum {
    DEAD_LETTERS_MAX = 1000,     /* undelivered ones, at which reading pauses */
    BYTES_MAX = 64 * 1024 * 1024 /* of requests in memory: dozens of the largest */
};

static void on_flow(void *ctx);
static void on_commit_timer(void *ctx);
static void on_disk_timer(void *ctx);
static void on_dead_letter(void *ctx, const struct request_receipt *receipt);
static void on_schemas_read(void *ctx, const struct broker_record *record,
                            const struct request_receipt *receipt);

static const struct dead_letters_ops letters_ops = {on_dead_letter, on_schemas_read};

struct agent_intake *agent_intake_new(struct agent *agent)
{
    struct agent_intake *intake = calloc(1, sizeof(*intake));
    assert(intake != NULL);
    intake->agent = agent;
    intake->in_flight_max = agent_capacity(agent);
    intake->queue_max = (uint32_t)config_int(agent->service->config, "agent.queue.max");
    request_queue_init(&intake->queue, agent->service->config);
    intake->letters = dead_letters_new(agent, &letters_ops, intake);
    loop_deferred_init(&intake->flow, on_flow, intake);
    loop_timer_init(&intake->commit_timer, on_commit_timer, intake);
    loop_timer_init(&intake->locate_timer, agent_intake_on_locate_timer, intake);
    loop_timer_init(&intake->disk_timer, on_disk_timer, intake);
    return intake;
}

void agent_intake_free(struct agent_intake *intake)
{
    if (intake == NULL)
        return;
    loop_defer_cancel(agent_intake_loop(intake), &intake->flow);
    loop_timer_cancel(agent_intake_loop(intake), &intake->commit_timer);
    loop_timer_cancel(agent_intake_loop(intake), &intake->locate_timer);
    loop_timer_cancel(agent_intake_loop(intake), &intake->disk_timer);
    for (size_t i = 0; i < intake->partition_count; i++)
        free(intake->partitions[i]);
    free(intake->partitions);
    dead_letters_free(intake->letters);
    free(intake);
}

/* ---- commits ---- */

static bool may_commit(const struct agent_partition *partition)
{
    const struct agent_offsets *offsets = &partition->offsets;
    return partition->state == PARTITION_READING && offsets->position >= 0 &&
           (offsets->position > partition->committed ||
            offsets->settled != partition->committed_settled);
}

static void on_committed(void *ctx, int32_t number, int64_t offset, const struct error *error)
{
    struct agent_intake *intake = ctx;
    (void)offset;
    assert(intake->commits > 0);
    assert(number >= 0 && (size_t)number < intake->partition_count);
    intake->commits--;
    if (error != NULL && error_is(error)) {
        struct agent_partition *partition = agent_intake_partition(intake, number);
        log_warning_limited("a commit failed: trying again", LOG_STR("topic", intake->agent->topic),
                            LOG_I64("partition", number), LOG_ERR(error));
        partition->committed = -1;
        if (!loop_timer_armed(&intake->commit_timer))
            loop_timer_after(agent_intake_loop(intake), &intake->commit_timer, INTAKE_RETRY_MS);
    }
    agent_progress(intake->agent);
}

void agent_intake_commit(struct agent_intake *intake)
{
    char note[SETTLED_NOTE_SIZE];
    if (intake->agent->group == NULL || intake->suspended)
        return;
    for (size_t i = 0; i < intake->partition_count; i++) {
        struct agent_partition *partition = intake->partitions[i];
        if (!may_commit(partition))
            continue;
        assert(partition->committed <= partition->offsets.position);
        FAILPOINT("agent.commit");
        settled_note_write(&partition->offsets, &partition->settled, note);
        partition->committed = partition->offsets.position;
        partition->committed_settled = partition->offsets.settled;
        intake->commits++;
        broker_group_commit(intake->agent->group, partition->number, partition->committed, note,
                            on_committed, intake);
    }
}

static void on_commit_timer(void *ctx)
{
    agent_intake_commit(ctx);
}

bool agent_intake_idle(const struct agent_intake *intake)
{
    if (intake->commits > 0 || dead_letters_count(intake->letters) > 0)
        return false;
    if (intake->suspended)
        return true; /* it cannot commit: the next owner repeats those calls */
    for (size_t i = 0; i < intake->partition_count; i++)
        if (may_commit(intake->partitions[i]))
            return false;
    return true;
}

void agent_intake_call_ended(struct agent_intake *intake)
{
    if (intake->queue.count > 0)
        loop_defer(agent_intake_loop(intake), &intake->flow);
}

void agent_intake_settled(struct agent_intake *intake, const struct request_receipt *receipt)
{
    struct agent_partition *partition = agent_intake_partition(intake, receipt->partition);
    assert(receipt->epoch <= partition->epoch);
    if (intake->held_back)
        loop_defer(agent_intake_loop(intake), &intake->flow);
    agent_intake_call_ended(intake);
    if (partition->epoch != receipt->epoch || partition->state != PARTITION_READING)
        return;
    agent_offsets_settle(&partition->offsets, receipt->place);
    if (may_commit(partition) && !loop_timer_armed(&intake->commit_timer))
        loop_timer_after(agent_intake_loop(intake), &intake->commit_timer, INTAKE_COMMIT_MS);
}

/* ---- requests ---- */

static struct request_receipt receipt_of(const struct agent_partition *partition, uint64_t place)
{
    return (struct request_receipt){
        .partition = partition->number, .epoch = partition->epoch, .place = place};
}

static bool request_fits(const struct agent *agent, const struct record *decoded,
                         struct error *ret_error)
{
    const struct step_request *request = &decoded->step_request;
    if (decoded->kind != RECORD_STEP_REQUEST) {
        error_set(ret_error, CODE_UNEXPECTED_RECORD, "%s is not a StepRequest",
                  record_kind_name(decoded->kind));
        return false;
    }
    if (!text_equal(request->agent, text_of(agent->name))) {
        error_set(ret_error, CODE_WRONG_AGENT,
                  "the request is for agent %.*s; this is the topic of %s",
                  TEXT_ARG(request->agent), agent->name);
        return false;
    }
    if (order_id_validate(request->order_id, ret_error) != ERROR_OK)
        return false;
    if (!name_valid(request->ref.step) || !name_valid(request->action) ||
        request->ref.attempt == 0 || text_empty(request->do_key) || request->order == NULL) {
        error_set(ret_error, CODE_BAD_VALUE,
                  "step and action must be names, attempt at least 1, do_key and order present");
        return false;
    }
    return true;
}

/* Decodes a request into a blank attempt, whose memory then holds its bytes. RETRY: only a newer
 * version can read it. */
static bool decode(const struct agent *agent, struct agent_attempt *attempt, struct text value,
                   struct error *ret_error)
{
    struct record decoded;
    struct arena *arena = &attempt->memory.arena;
    struct text bytes = arena_text(arena, value);
    if (codec_decode(agent->cluster->codec, bytes, true, arena, &decoded, ret_error) != ERROR_OK) {
        if (ret_error->code != CODE_UNKNOWN_SCHEMA && codec_is_newer(agent->cluster->codec, bytes))
            ret_error->class = ERROR_RETRY;
        return false;
    }
    if (!request_fits(agent, &decoded, ret_error))
        return false;
    attempt->request = decoded.step_request;
    return true;
}

static void on_disk_timer(void *ctx)
{
    struct agent_intake *intake = ctx;
    loop_defer(agent_intake_loop(intake), &intake->flow);
}

/* One more call may begin, as far as the circuit allows. */
static bool has_free_capacity(const struct agent_intake *intake)
{
    const struct agent *agent = intake->agent;
    return !intake->suspended && !intake->draining && !intake->halted &&
           attempts_in_flight(agent->attempts) < intake->in_flight_max &&
           agent_clock_is_measured(agent) && !disk_guard_is_low(agent->service->disk);
}

/* Orders that failed before leave half of the capacity to others between their tries. */
static bool may_begin_last(const struct agent_intake *intake)
{
    const struct agent *agent = intake->agent;
    uint32_t waiting = attempts_in_flight(agent->attempts) - attempts_running(agent->attempts);
    return waiting < (intake->in_flight_max + 1) / 2 && agent_breaker_allows_last(agent->breaker);
}

/* The next request that may begin; NULL = none. */
static struct queued_request *next_queued(struct agent_intake *intake)
{
    const struct agent_breaker *breaker = intake->agent->breaker;
    struct queued_request *queued = NULL;
    if (intake->queue.count == 0 || !has_free_capacity(intake))
        return NULL;
    bool allowed = agent_breaker_allows_call(breaker);
    if (allowed && agent_breaker_state(breaker) != AGENT_CIRCUIT_HALF_OPEN)
        queued = request_queue_pop_last(&intake->queue); /* they have waited for this */
    if (queued == NULL && allowed)
        queued = request_queue_pop(&intake->queue);
    if (queued == NULL && may_begin_last(intake))
        queued = request_queue_pop_last(&intake->queue);
    return queued;
}

/* Begins queued requests while there is free capacity. One that could be read, and cannot any more,
 * is read again from its topic, as its partition's others: the schema of its writer was forgotten
 * meanwhile. */
static void begin_queued(struct agent_intake *intake)
{
    struct attempts *attempts = intake->agent->attempts;
    struct queued_request *queued;
    struct error error;
    while ((queued = next_queued(intake)) != NULL) {
        struct agent_attempt *attempt = attempts_take(attempts);
        struct text value = {queued->bytes, queued->size};
        if (decode(intake->agent, attempt, value, &error)) {
            attempts_offer(attempts, attempt, &queued->receipt);
        } else {
            attempts_put_back(attempts, attempt);
            agent_intake_read_again(intake, queued->receipt.partition, &error);
        }
        free(queued);
    }
}

/* Begins the request, or queues it. */
static void begin_or_queue(struct agent_intake *intake, struct agent_attempt *attempt,
                           struct text value, const struct request_receipt *receipt)
{
    struct attempts *attempts = intake->agent->attempts;
    const struct agent_breaker *breaker = intake->agent->breaker;
    const struct step_request *request = &attempt->request;
    bool last = agent_breaker_puts_last(breaker, request->order_id);
    /* A request for an attempt in flight begins no call, and more time must not come too late. */
    if (attempts_has(attempts, request) ||
        (!last && intake->queue.count == 0 && has_free_capacity(intake) &&
         agent_breaker_allows_call(breaker))) {
        attempts_offer(attempts, attempt, receipt);
        return;
    }
    request_queue_push(&intake->queue, last ? REQUEST_QUEUE_LAST : (int)request->order->priority,
                       receipt, value);
    attempts_put_back(attempts, attempt);
    loop_defer(agent_intake_loop(intake), &intake->flow);
}

static void wait_for_schema(struct agent_partition *partition, const struct broker_record *record,
                            const struct request_receipt *receipt)
{
    assert(!partition->waits_for_schema);
    partition->waits_for_schema = true;
    dead_letters_await_schema(partition->intake->letters, record, receipt);
}

/* Another instance, or this one when it is upgraded, reads it again: no request is lost. */
static void wait_for_version(struct agent_partition *partition, const struct broker_record *record,
                             const struct error *why)
{
    assert(!partition->waits_for_version);
    partition->waits_for_version = true;
    log_warning("a newer version wrote the next request, and this one cannot read it: the "
                "partition waits; upgrade this agent",
                LOG_STR("topic", record->topic), LOG_I64("partition", record->partition),
                LOG_I64("offset", record->offset), LOG_TEXT("key", record->key), LOG_ERR(why));
}

/* `fresh`: the schemas have been read to their end since the request was appended. */
static void handle(struct agent_partition *partition, const struct broker_record *record,
                   uint64_t place, bool fresh)
{
    struct agent_intake *intake = partition->intake;
    struct agent *agent = intake->agent;
    struct request_receipt receipt = receipt_of(partition, place);
    struct agent_attempt *attempt = attempts_take(agent->attempts);
    struct error error = {.class = ERROR_OK};
    if (decode(agent, attempt, record->value, &error)) {
        begin_or_queue(intake, attempt, record->value, &receipt);
        return;
    }
    attempts_put_back(agent->attempts, attempt);
    if (!fresh && error.code == CODE_UNKNOWN_SCHEMA) {
        wait_for_schema(partition, record, &receipt);
        return;
    }
    if (error.class == ERROR_RETRY) {
        wait_for_version(partition, record, &error);
        return;
    }
    log_warning_limited("a request is not usable: sending it to the dead letters",
                        LOG_STR("topic", record->topic), LOG_I64("partition", record->partition),
                        LOG_I64("offset", record->offset), LOG_TEXT("key", record->key),
                        LOG_ERR(&error));
    agent_metrics_dead_letter(agent->metrics);
    dead_letters_send(intake->letters, record, &receipt, &error);
}

void agent_intake_update_flow(struct agent_intake *intake, struct agent_partition *partition,
                              bool full)
{
    assert(partition->reader != NULL || partition->state != PARTITION_READING);
    bool pause = full || partition->waits_for_schema || partition->waits_for_version ||
                 agent_offsets_full(&partition->offsets);
    if (partition->reader != NULL && pause != partition->paused) {
        partition->paused = pause;
        broker_reader_pause(partition->reader, pause);
    }
    intake->held_back |= partition->paused;
}

/* Nothing more is read while `queued_max` requests wait, or use `bytes_max` together with those in
 * flight. */
static bool is_full(const struct agent_intake *intake, uint32_t queued_max, size_t bytes_max)
{
    size_t used = attempts_bytes(intake->agent->attempts) + intake->queue.bytes;
    return intake->suspended || intake->draining || intake->halted ||
           dead_letters_count(intake->letters) >= DEAD_LETTERS_MAX ||
           intake->queue.count >= queued_max || used >= bytes_max ||
           disk_guard_is_low(intake->agent->service->disk);
}

/* Begins what may begin; pauses or resumes the partitions. Resumes only when a quarter of the queue
 * is free, so that it does not happen at every request. */
static void on_flow(void *ctx)
{
    struct agent_intake *intake = ctx;
    uint32_t max = intake->queue_max;
    if (disk_guard_is_low(intake->agent->service->disk))
        loop_timer_after(agent_intake_loop(intake), &intake->disk_timer, DISK_GUARD_CHECK_MS);
    begin_queued(intake);
    bool full = is_full(intake, max > 4 ? max / 4 * 3 : max, BYTES_MAX / 4 * 3);
    intake->held_back = false;
    for (size_t i = 0; i < intake->partition_count; i++)
        agent_intake_update_flow(intake, intake->partitions[i], full);
}

void agent_intake_continue(struct agent_intake *intake)
{
    loop_defer(agent_intake_loop(intake), &intake->flow);
}

static void hold_back_if_full(struct agent_intake *intake, struct agent_partition *partition)
{
    if (disk_guard_is_low(intake->agent->service->disk))
        loop_defer(agent_intake_loop(intake), &intake->flow);
    if (is_full(intake, intake->queue_max, BYTES_MAX)) {
        for (size_t i = 0; i < intake->partition_count; i++)
            agent_intake_update_flow(intake, intake->partitions[i], true);
    } else if (partition->waits_for_schema || partition->waits_for_version ||
               agent_offsets_full(&partition->offsets)) {
        agent_intake_update_flow(intake, partition, false);
    }
}

void agent_intake_on_record(void *ctx, const struct broker_record *record)
{
    struct agent_partition *partition = ctx;
    struct agent_intake *intake = partition->intake;
    assert(partition->state == PARTITION_READING && !partition->paused);
    if (!agent_offsets_expects(&partition->offsets, record->offset)) {
        log_warning_limited(
            "the broker delivered a request again: ignored", LOG_STR("topic", record->topic),
            LOG_I64("partition", record->partition), LOG_I64("offset", record->offset));
        return;
    }
    uint64_t place = agent_offsets_add(&partition->offsets, record->offset);
    struct request_receipt receipt = receipt_of(partition, place);
    if (settled_ranges_pass(&partition->settled, record->offset))
        agent_intake_settled(intake, &receipt);
    else
        handle(partition, record, place, false);
    hold_back_if_full(intake, partition);
}

static void on_dead_letter(void *ctx, const struct request_receipt *receipt)
{
    struct agent_intake *intake = ctx;
    agent_intake_settled(intake, receipt);
    agent_progress(intake->agent);
}

/* The request is handled again, if its partition is still open. */
static void on_schemas_read(void *ctx, const struct broker_record *record,
                            const struct request_receipt *receipt)
{
    struct agent_intake *intake = ctx;
    struct agent_partition *partition = agent_intake_partition(intake, receipt->partition);
    if (partition->epoch == receipt->epoch && partition->state == PARTITION_READING &&
        !intake->draining && !intake->halted) {
        assert(partition->waits_for_schema && !intake->suspended);
        partition->waits_for_schema = false;
        handle(partition, record, receipt->place, true);
    }
    loop_defer(agent_intake_loop(intake), &intake->flow);
}

/* ---- figures ---- */

bool agent_intake_ready(const struct agent_intake *intake, char *ret_reason, size_t reason_size)
{
    for (size_t i = 0; i < intake->partition_count; i++) {
        if (!intake->partitions[i]->waits_for_version)
            continue;
        snprintf(ret_reason, reason_size,
                 "a newer version wrote the next request of %s[%d]: upgrade this agent",
                 intake->agent->topic, intake->partitions[i]->number);
        return false;
    }
    return true;
}

uint32_t agent_queued(const struct agent *agent)
{
    return agent->intake->queue.count;
}

uint32_t agent_intake_partitions(const struct agent_intake *intake)
{
    uint32_t count = 0;
    for (size_t i = 0; i < intake->partition_count && !intake->suspended && !intake->halted; i++)
        count += intake->partitions[i]->state != PARTITION_CLOSED;
    return count;
}
