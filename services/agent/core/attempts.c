/* SPDX-License-Identifier: Apache-2.0 */
/* The state machine of attempts.h. */
#include "services/agent/core/attempts.h"

#include "services/agent/core/active_steps.h"
#include "services/agent/core/attempt_pool.h"

#include <assert.h>
#include <stdlib.h>

struct attempts {
    struct attempts_options options;
    const struct attempts_ops *ops;
    void *ctx;
    struct active_steps steps;
    struct agent_attempt *first; /* all in flight */
    struct attempt_pool pool;
    uint32_t in_flight;
    uint32_t running;
    size_t bytes;
    bool *owned; /* by partition */
    size_t owned_count;
    bool draining;
    struct attempts_counts counts;
};

/* ---- states ---- */

/* clang-format off */
static const bool transitions[ATTEMPT_STATE_COUNT][ATTEMPT_STATE_COUNT] = {
    [ATTEMPT_BLANK] = {[ATTEMPT_WAITING] = true, [ATTEMPT_RUNNING] = true,
                       [ATTEMPT_REPORTING] = true},
    [ATTEMPT_WAITING] = {[ATTEMPT_RUNNING] = true},
    [ATTEMPT_RUNNING] = {[ATTEMPT_BACKOFF] = true, [ATTEMPT_REPORTING] = true},
    [ATTEMPT_BACKOFF] = {[ATTEMPT_RUNNING] = true, [ATTEMPT_REPORTING] = true},
};
/* clang-format on */

static void enter(struct agent_attempt *attempt, enum attempt_state state)
{
    assert(transitions[attempt->state][state]);
    attempt->state = state;
}

/* ---- new attempts and their end ---- */

struct attempts *attempts_new(const struct attempts_options *options,
                              const struct attempts_ops *ops, void *ctx)
{
    assert(options->backoff_ms > 0 && options->backoff_ms_max > 0);
    struct attempts *attempts = calloc(1, sizeof(*attempts));
    assert(attempts != NULL);
    attempts->options = *options;
    attempts->ops = ops;
    attempts->ctx = ctx;
    active_steps_init(&attempts->steps, options->idle_steps_max, options->seed);
    return attempts;
}

void attempts_free(struct attempts *attempts)
{
    if (attempts == NULL)
        return;
    for (struct agent_attempt *attempt = attempts->first; attempt != NULL;) {
        struct agent_attempt *next = attempt->next;
        if (attempt->state == ATTEMPT_BACKOFF && !attempt->wait_over)
            attempts->ops->unwait(attempts->ctx, attempt);
        agent_attempt_free(attempt);
        attempt = next;
    }
    attempt_pool_deinit(&attempts->pool);
    active_steps_deinit(&attempts->steps);
    free(attempts->owned);
    free(attempts);
}

struct agent_attempt *attempts_take(struct attempts *attempts)
{
    return attempt_pool_take(&attempts->pool, attempts);
}

void attempts_put_back(struct attempts *attempts, struct agent_attempt *attempt)
{
    assert(attempt->owner == attempts);
    attempt_pool_put(&attempts->pool, attempt);
}

static void link_in(struct attempts *attempts, struct agent_attempt *attempt)
{
    assert(attempt->prev == NULL && attempt->next == NULL);
    attempt->prev = NULL;
    attempt->next = attempts->first;
    if (attempts->first != NULL)
        attempts->first->prev = attempt;
    attempts->first = attempt;
    attempts->in_flight++;
    attempt->bytes = attempt->memory.arena.used;
    attempts->bytes += attempt->bytes;
}

/* The end of an attempt; its receipts are settled, or left to another instance. */
static void release(struct attempts *attempts, struct agent_attempt *attempt, bool settle)
{
    struct active_step *step = attempt->step;
    assert(attempt != step->running && attempt != step->pending);
    if (step->newest == attempt) {
        step->newest = NULL;
        step->settled = settle;
    }
    for (const struct request_receipt *receipt = &attempt->receipt; receipt != NULL && settle;
         receipt = receipt->next)
        attempts->ops->settled(attempts->ctx, receipt);
    *(attempt->prev != NULL ? &attempt->prev->next : &attempts->first) = attempt->next;
    if (attempt->next != NULL)
        attempt->next->prev = attempt->prev;
    assert(attempts->in_flight > 0 && attempts->bytes >= attempt->bytes);
    attempts->in_flight--;
    attempts->bytes -= attempt->bytes;
    active_steps_release(&attempts->steps, step);
    attempt_pool_recycle(&attempts->pool, attempt);
}

static void end_without_report(struct attempts *attempts, struct agent_attempt *attempt)
{
    assert(attempt->state != ATTEMPT_REPORTING);
    attempts->counts.silent++;
    release(attempts, attempt, true);
}

/* ---- trying ---- */

static int64_t wall_now(const struct attempts *attempts)
{
    return clock_wall_ms(attempts->options.clock);
}

static bool may_start(const struct attempts *attempts, const struct agent_attempt *attempt)
{
    int32_t partition = attempt->receipt.partition;
    return !attempts->draining && (size_t)partition < attempts->owned_count &&
           attempts->owned[partition];
}

static uint64_t salt_of(const struct agent_attempt *attempt)
{
    const struct step_request *request = &attempt->request;
    return retry_salt(request->order_id, request->ref.step, (int)request->ref.direction,
                      request->ref.attempt * 1000 + attempt->call.try_number);
}

int64_t attempts_backoff_ms(const struct attempts_options *options, uint32_t retry, uint64_t salt)
{
    assert(retry > 0);
    int64_t wait = options->backoff_ms;
    for (uint32_t i = 1; i < retry && wait < options->backoff_ms_max; i++)
        wait *= 2;
    if (wait > options->backoff_ms_max)
        wait = options->backoff_ms_max;
    /* Half is fixed, so that the waits grow; half is spread, so that calls do not come in step. */
    int64_t fixed = wait - wait / 2;
    return fixed + (int64_t)(salt % (uint64_t)(wait / 2 + 1));
}

/* Starts a try, or ends the attempt if it is too late for one. It may be gone afterwards. */
static void begin(struct attempts *attempts, struct agent_attempt *attempt)
{
    struct active_step *step = attempt->step;
    int64_t now = wall_now(attempts);
    assert(may_start(attempts, attempt) && step->running == NULL);
    if (step->pending == attempt)
        step->pending = NULL;
    assert(step->pending == NULL);
    if (now >= attempt->request.complete_by) {
        end_without_report(attempts, attempt);
        return;
    }
    attempts->counts.tries++;
    attempts->counts.retries += attempt->call.try_number > 0;
    attempts->running++;
    step->running = attempt;
    enter(attempt, ATTEMPT_RUNNING);
    attempt->wait_over = false;
    attempt->try_started_us = clock_mono_us(attempts->options.clock);
    attempt->call = (struct agent_call){
        .request = &attempt->request,
        .try_number = attempt->call.try_number + 1,
        .started_at = now,
        .time_left_ms = attempt->request.complete_by - now,
    };
    if (attempt->call.time_left_ms > DURATION_MS_MAX)
        attempt->call.time_left_ms = DURATION_MS_MAX;
    attempts->ops->start(attempts->ctx, attempt);
}

static void report(struct attempts *attempts, struct agent_attempt *attempt)
{
    assert(attempt->step->running != attempt && attempt->step->pending != attempt);
    enter(attempt, ATTEMPT_REPORTING);
    if (attempt->answer.accepted)
        attempts->counts.accepted++;
    else
        attempts->counts.reported[attempt->answer.succeeded]++;
    attempts->ops->report(attempts->ctx, attempt);
}

/* The attempt is not running and will not run here: a failure that may have had an effect is
 * reported, everything else is left to the next owner of the partition. */
static void give_up(struct attempts *attempts, struct agent_attempt *attempt)
{
    assert(attempt->state == ATTEMPT_WAITING || attempt->state == ATTEMPT_BACKOFF);
    assert(attempt->step->pending == attempt);
    attempt->step->pending = NULL;
    if (attempt->state == ATTEMPT_BACKOFF && !attempt->wait_over)
        attempts->ops->unwait(attempts->ctx, attempt);
    if (attempt->answer.effect != EFFECT_NONE &&
        wall_now(attempts) < attempt->request.complete_by) {
        report(attempts, attempt);
        return;
    }
    attempts->counts.given_up++;
    release(attempts, attempt, false);
}

/* A newer attempt came: the log holds an outcome of this one already. */
static void supersede(struct attempts *attempts, struct agent_attempt *attempt)
{
    assert(attempt->step->pending == attempt);
    attempt->step->pending = NULL;
    if (attempt->state == ATTEMPT_BACKOFF && !attempt->wait_over)
        attempts->ops->unwait(attempts->ctx, attempt);
    end_without_report(attempts, attempt);
}

static void wait_or_report(struct attempts *attempts, struct agent_attempt *attempt,
                           int64_t retry_after_ms)
{
    assert(attempt->state == ATTEMPT_RUNNING && attempt->step->pending == NULL);
    int64_t now = wall_now(attempts);
    int64_t wait =
        attempts_backoff_ms(&attempts->options, attempt->call.try_number, salt_of(attempt));
    if (retry_after_ms > wait)
        wait = retry_after_ms;
    int64_t left = attempt->request.complete_by - now;
    if (wait > left || left - wait < attempts->options.try_ms_min) {
        report(attempts, attempt);
        return;
    }
    enter(attempt, ATTEMPT_BACKOFF);
    attempt->wait_over = false;
    attempt->step->pending = attempt;
    attempts->ops->wait(attempts->ctx, attempt, wait);
    if (attempts->draining)
        give_up(attempts, attempt);
}

/* ---- requests ---- */

static enum offer_outcome settle_at_once(struct attempts *attempts, struct agent_attempt *attempt,
                                         const struct request_receipt *receipt,
                                         enum offer_outcome outcome)
{
    attempts->ops->settled(attempts->ctx, receipt);
    attempt_pool_recycle(&attempts->pool, attempt);
    return outcome;
}

static enum offer_outcome merge(struct attempts *attempts, struct agent_attempt *into,
                                struct agent_attempt *attempt,
                                const struct request_receipt *receipt)
{
    assert(into != attempt && into->state != ATTEMPT_BLANK);
    struct request_receipt *more = ARENA_NEW(&into->memory.arena, struct request_receipt);
    *more = *receipt;
    more->next = into->receipt.next;
    into->receipt.next = more;
    attempt_pool_recycle(&attempts->pool, attempt);
    return OFFER_MERGED;
}

/* The attempt is the newest of its step. */
static void join(struct attempts *attempts, struct active_step *step, struct agent_attempt *attempt)
{
    assert(attempt->step == NULL && attempt->state == ATTEMPT_BLANK);
    attempt->step = step;
    active_steps_hold(&attempts->steps, step);
    link_in(attempts, attempt);
    if (step->pending != NULL)
        supersede(attempts, step->pending);
    active_step_note_newest(step, attempt);
    assert(step->newest == attempt);
}

static enum offer_outcome admit(struct attempts *attempts, struct active_step *step,
                                struct agent_attempt *attempt)
{
    join(attempts, step, attempt);
    if (step->running != NULL) {
        enter(attempt, ATTEMPT_WAITING);
        step->pending = attempt;
        return OFFER_WAITS;
    }
    begin(attempts, attempt);
    return OFFER_STARTED;
}

/* The attempt in flight has more time; its state stays as it is. */
static void extend(struct attempts *attempts, struct active_step *step,
                   const struct step_request *request)
{
    struct agent_attempt *attempt = step->newest;
    assert(attempt == NULL || attempt->step == step);
    step->decision = attempt_decision_of(request);
    if (attempt == NULL || request->complete_by <= attempt->request.complete_by)
        return;
    attempt->request.complete_by = request->complete_by;
    if (attempt->state == ATTEMPT_RUNNING && attempts->ops->extended != NULL)
        attempts->ops->extended(attempts->ctx, attempt);
}

/* The report that the answer cache remembers is sent again. */
static enum offer_outcome report_again(struct attempts *attempts, struct agent_attempt *attempt,
                                       const struct request_receipt *receipt)
{
    const struct step_request *request = &attempt->request;
    struct active_step *step =
        active_steps_get(&attempts->steps, request->order_id, request->ref.step);
    attempt->receipt = *receipt;
    attempt->receipt.next = NULL;
    join(attempts, step, attempt);
    if (attempt->answer.accepted)
        release(attempts, attempt, true);
    else
        report(attempts, attempt);
    return OFFER_REMEMBERED;
}

static enum offer_outcome offer(struct attempts *attempts, struct agent_attempt *attempt,
                                const struct request_receipt *receipt)
{
    const struct step_request *request = &attempt->request;
    struct active_step *step =
        active_steps_find(&attempts->steps, request->order_id, request->ref.step);
    if (step != NULL) {
        switch (active_step_compare(step, request)) {
        case REQUEST_EXTENDS:
            extend(attempts, step, request);
            if (step->newest != NULL) {
                merge(attempts, step->newest, attempt, receipt);
                return OFFER_EXTENDED;
            }
            if (step->settled)
                return settle_at_once(attempts, attempt, receipt, OFFER_REPEATED);
            break;
        case REQUEST_OLDER:
            return settle_at_once(attempts, attempt, receipt, OFFER_STALE);
        case REQUEST_SAME:
            if (step->newest != NULL)
                return merge(attempts, step->newest, attempt, receipt);
            if (step->settled)
                return settle_at_once(attempts, attempt, receipt, OFFER_REPEATED);
            break;
        case REQUEST_NEWER:
            break;
        }
    }
    /* Its attempt has ended, here or elsewhere: the first request would have come before it, and
     * was reported then if its answer was remembered. */
    if (request->extension)
        return settle_at_once(attempts, attempt, receipt, OFFER_STALE);
    if (attempts->ops->recall != NULL && attempts->ops->recall(attempts->ctx, attempt))
        return report_again(attempts, attempt, receipt);
    if (wall_now(attempts) >= request->complete_by)
        return settle_at_once(attempts, attempt, receipt, OFFER_EXPIRED);
    attempt->receipt = *receipt;
    attempt->receipt.next = NULL;
    assert(may_start(attempts, attempt));
    if (step == NULL)
        step = active_steps_get(&attempts->steps, request->order_id, request->ref.step);
    return admit(attempts, step, attempt);
}

bool attempts_has(const struct attempts *attempts, const struct step_request *request)
{
    const struct active_step *step =
        active_steps_find(&attempts->steps, request->order_id, request->ref.step);
    if (step == NULL || step->newest == NULL)
        return false;
    enum request_relation relation = active_step_compare(step, request);
    return relation == REQUEST_SAME || relation == REQUEST_EXTENDS;
}

enum offer_outcome attempts_offer(struct attempts *attempts, struct agent_attempt *attempt,
                                  const struct request_receipt *receipt)
{
    assert(attempt->state == ATTEMPT_BLANK && attempt->owner == attempts);
    assert(!text_empty(attempt->request.order_id) && attempt->request.ref.attempt > 0);
    enum offer_outcome outcome = offer(attempts, attempt, receipt);
    attempts->counts.offers[outcome]++;
    return outcome;
}

/* The call has ended; returns the attempt that waited for it, or NULL. */
static struct agent_attempt *end_try(struct attempts *attempts, struct agent_attempt *attempt)
{
    struct active_step *step = attempt->step;
    assert(attempt->state == ATTEMPT_RUNNING && step->running == attempt);
    assert(attempts->running > 0);
    attempts->running--;
    step->running = NULL;
    return step->pending;
}

static void begin_next(struct attempts *attempts, struct agent_attempt *next)
{
    if (next != NULL && may_start(attempts, next))
        begin(attempts, next);
}

void attempts_succeeded(struct attempts *attempts, struct agent_attempt *attempt,
                        struct text output)
{
    struct agent_attempt *next = end_try(attempts, attempt);
    assert(output.size <= REPORT_OUTPUT_BYTES_MAX);
    assert(next == NULL || next->state == ATTEMPT_WAITING);
    attempt->answer.succeeded = true;
    attempt->answer.effect = EFFECT_APPLIED;
    attempt->answer.output = arena_text(&attempt->memory.arena, output);
    report(attempts, attempt);
    begin_next(attempts, next);
}

void attempts_accepted(struct attempts *attempts, struct agent_attempt *attempt)
{
    struct agent_attempt *next = end_try(attempts, attempt);
    assert(!attempt->answer.succeeded);
    attempt->answer.accepted = true;
    attempt->answer.effect = EFFECT_UNKNOWN;
    report(attempts, attempt);
    begin_next(attempts, next);
}

/* Copies a text over the one that was kept before if it fits, so that many tries need little
 * memory. */
static void keep_text(struct agent_attempt *attempt, struct text *kept, struct text text)
{
    if (text.size > kept->size || kept->size == 0) {
        *kept = arena_text(&attempt->memory.arena, text);
        return;
    }
    if (text.size > 0)
        memcpy((char *)(uintptr_t)kept->data, text.data, text.size);
    kept->size = text.size;
}

void attempts_failed(struct attempts *attempts, struct agent_attempt *attempt,
                     const struct agent_failure *failure)
{
    struct agent_attempt *next = end_try(attempts, attempt);
    assert(failure->name.size > 0 && failure->name.size <= ERROR_NAME_BYTES_MAX);
    assert(failure->message.size <= MESSAGE_BYTES_MAX);
    if (failure->effect == EFFECT_APPLIED || attempt->answer.effect == EFFECT_NONE)
        attempt->answer.effect = failure->effect;
    keep_text(attempt, &attempt->answer.error_name, failure->name);
    keep_text(attempt, &attempt->answer.error_message, failure->message);
    if (next != NULL || wall_now(attempts) >= attempt->request.complete_by)
        end_without_report(attempts, attempt);
    else if (!failure->retriable)
        report(attempts, attempt);
    else
        wait_or_report(attempts, attempt, failure->retry_after_ms);
    begin_next(attempts, next);
}

void attempts_resume(struct attempts *attempts, struct agent_attempt *attempt)
{
    assert(attempt->state == ATTEMPT_BACKOFF && attempt->step->pending == attempt);
    attempt->wait_over = true;
    if (may_start(attempts, attempt))
        begin(attempts, attempt);
}

void attempts_reported(struct attempts *attempts, struct agent_attempt *attempt)
{
    assert(attempt->state == ATTEMPT_REPORTING);
    release(attempts, attempt, true);
}

/* ---- partitions ---- */

void attempts_revoke(struct attempts *attempts)
{
    for (size_t i = 0; i < attempts->owned_count; i++)
        attempts->owned[i] = false;
}

static void note_owned(struct attempts *attempts, int32_t partition)
{
    assert(partition >= 0);
    size_t need = (size_t)partition + 1;
    if (need > attempts->owned_count) {
        attempts->owned = realloc(attempts->owned, need * sizeof(bool));
        assert(attempts->owned != NULL);
        memset(attempts->owned + attempts->owned_count, 0, need - attempts->owned_count);
        attempts->owned_count = need;
    }
    attempts->owned[partition] = true;
}

void attempts_own(struct attempts *attempts, const int32_t *partitions, uint32_t count)
{
    attempts_revoke(attempts);
    for (uint32_t i = 0; i < count; i++)
        note_owned(attempts, partitions[i]);
    struct agent_attempt *next;
    for (struct agent_attempt *attempt = attempts->first; attempt != NULL; attempt = next) {
        next = attempt->next; /* stays valid: only this attempt ends or begins below */
        bool waits = attempt->state == ATTEMPT_WAITING && attempt->step->running == NULL;
        bool due = attempt->state == ATTEMPT_BACKOFF && attempt->wait_over;
        if (attempt->step->pending == attempt && !may_start(attempts, attempt))
            give_up(attempts, attempt);
        else if (waits || due)
            begin(attempts, attempt);
    }
}

void attempts_drain(struct attempts *attempts)
{
    attempts->draining = true;
    struct agent_attempt *next;
    for (struct agent_attempt *attempt = attempts->first; attempt != NULL; attempt = next) {
        next = attempt->next;
        if (attempt->step->pending == attempt)
            give_up(attempts, attempt);
    }
}

void attempts_continue(struct attempts *attempts)
{
    attempts->draining = false;
}

/* ---- figures ---- */

void *attempts_ctx(const struct attempts *attempts)
{
    return attempts->ctx;
}

uint32_t attempts_in_flight(const struct attempts *attempts)
{
    return attempts->in_flight;
}

uint32_t attempts_running(const struct attempts *attempts)
{
    return attempts->running;
}

size_t attempts_bytes(const struct attempts *attempts)
{
    return attempts->bytes;
}

const struct attempts_counts *attempts_counts(const struct attempts *attempts)
{
    return &attempts->counts;
}
