/* SPDX-License-Identifier: Apache-2.0 */
/* The life of an owner: claims, folds, inspects the commands, gives up. owner_cycle.c decides. */
#include "platform/failpoint.h"
#include "platform/logger.h"
#include "services/scheduler/owner_internal.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

enum {
    RETRY_MS = 100, /* first wait before claiming again; doubles up to */
    RETRY_MS_MAX = 10000,
    CAREFUL_COMMANDS = 16,
    CLAIM_STALL_MS = 5000
};

static const char *const state_names[] = {"checking", "claiming", "folding",   "inspecting",
                                          "running",  "guarding", "appending", "giving_up",
                                          "stopped",  "standby"};
_Static_assert(sizeof(state_names) / sizeof(state_names[0]) == OWNER_STATE_COUNT,
               "every owner state has a name");

#define BIT(state) (1U << (state))

/* One row per state: the states that may follow it. */
static const unsigned may_follow[] = {
    [OWNER_CHECKING] = BIT(OWNER_CLAIMING) | BIT(OWNER_STOPPED) | BIT(OWNER_CHECKING),
    [OWNER_CLAIMING] = BIT(OWNER_FOLDING) | BIT(OWNER_GIVING_UP),
    [OWNER_FOLDING] =
        BIT(OWNER_INSPECTING) | BIT(OWNER_GIVING_UP) | BIT(OWNER_STOPPED) | BIT(OWNER_CHECKING),
    [OWNER_INSPECTING] = BIT(OWNER_RUNNING) | BIT(OWNER_GIVING_UP) | BIT(OWNER_STOPPED),
    [OWNER_RUNNING] = BIT(OWNER_GUARDING) | BIT(OWNER_APPENDING) | BIT(OWNER_GIVING_UP),
    [OWNER_GUARDING] = BIT(OWNER_RUNNING) | BIT(OWNER_GIVING_UP),
    [OWNER_APPENDING] = BIT(OWNER_RUNNING) | BIT(OWNER_GIVING_UP),
    [OWNER_GIVING_UP] = BIT(OWNER_CHECKING),
    [OWNER_STOPPED] = BIT(OWNER_CHECKING) | BIT(OWNER_STOPPED),
    [OWNER_STANDBY] = BIT(OWNER_CHECKING) | BIT(OWNER_CLAIMING),
};

_Static_assert(sizeof(may_follow) / sizeof(may_follow[0]) == OWNER_STATE_COUNT,
               "every owner state has a row");

bool owner_state_may_follow(enum owner_state state, enum owner_state next)
{
    assert((unsigned)state < OWNER_STATE_COUNT);
    assert((unsigned)next < OWNER_STATE_COUNT);
    return (may_follow[state] & BIT(next)) != 0;
}

void owner_set_state(struct owner *owner, enum owner_state state)
{
    assert(owner_state_may_follow(owner->state, state));
    owner->state = state;
}

const char *owner_state_name(enum owner_state state)
{
    assert((unsigned)state < OWNER_STATE_COUNT);
    return state_names[state];
}

/* ---- outstanding answers ---- */

static void free_when_answered(struct owner *owner)
{
    if (!owner->released || owner->outstanding > 0)
        return;
    if (owner->on_released != NULL)
        owner->on_released(owner->released_ctx);
    free(owner);
}

static void check_again(struct owner *owner)
{
    assert(owner->state == OWNER_GIVING_UP && owner->outstanding == 0);
    owner_set_state(owner, OWNER_CHECKING);
    owner->retry_ms = owner->retry_ms == 0 ? RETRY_MS : owner->retry_ms * 2;
    if (owner->retry_ms > RETRY_MS_MAX)
        owner->retry_ms = RETRY_MS_MAX;
    follower_restart(owner->follower, false, owner->retry_ms);
}

bool owner_answered(struct owner *owner, uint64_t token)
{
    assert(owner->outstanding > 0);
    assert(token <= owner->claim_number);
    owner->outstanding--;
    if (owner->released) {
        free_when_answered(owner);
        return false;
    }
    if (owner->state == OWNER_GIVING_UP) {
        if (owner->outstanding == 0)
            check_again(owner);
        return false;
    }
    return token == owner->claim_number;
}

void owner_give_up(struct owner *owner, const char *code, const char *why)
{
    log_warning("claim given up", LOG_I64("partition", owner->partition), LOG_STR("code", code),
                LOG_STR("reason", why), LOG_STR("state", owner_state_name(owner->state)),
                LOG_U64("outstanding", owner->outstanding));
    metrics_add(owner->metrics->given_up, 1);
    owner_set_state(owner, OWNER_GIVING_UP);
    owner_cycle_end(owner);
    assert(owner->item_count == 0);
    emitter_stop(owner->emitter);
    owner->claim_number++;
    loop_timer_cancel(cluster_loop(owner->cluster), &owner->timer);
    FAILPOINT("owner.given_up");
    if (owner->outstanding == 0)
        check_again(owner);
}

/* A store error: the rows cannot be trusted. The claim goes, the store is dropped, then folded
 * again. */
void owner_failed_store(struct owner *owner, const struct error *error)
{
    assert(error_is(error));
    owner_give_up(owner, error->code, error->message);
    if (owner->state == OWNER_CHECKING)
        follower_restart(owner->follower, true, 0);
}

/* Follows the log meanwhile: the Claim of an operator's reset starts another check. */
void owner_stop(struct owner *owner, const struct error *error)
{
    assert(error_is(error));
    owner_set_state(owner, OWNER_STOPPED);
    owner_cycle_end(owner);
    emitter_stop(owner->emitter);
    owner->claim_number++;
    assert(owner->item_count == 0 && owner->commands == NULL);
    if (strcmp(owner->trouble.message, error->message) != 0) {
        log_error("partition stopped", LOG_I64("partition", owner->partition), LOG_ERR(error));
        cluster_alert(owner->cluster, owner->partition, error->code, error->message);
    }
    owner->trouble = *error;
    follower_run(owner->follower, INT64_MAX);
}

/* ---- claiming ---- */

static void on_timer(struct loop *loop, struct loop_timer *timer, void *userdata)
{
    struct owner *owner = userdata;
    if (owner->state == OWNER_STOPPED) {
        owner_set_state(owner, OWNER_CHECKING);
        follower_restart(owner->follower, false, 0);
        return;
    }
    if (owner->state == OWNER_RUNNING) {
        owner_step_soon(owner);
        return;
    }
    if (owner->state != OWNER_CLAIMING && owner->state != OWNER_APPENDING &&
        owner->state != OWNER_GUARDING)
        return;
    log_warning("partition stalls: the broker does not acknowledge (is its leader running?)",
                LOG_I64("partition", owner->partition),
                LOG_STR("state", owner_state_name(owner->state)),
                LOG_U64("outstanding", owner->outstanding));
    error_set(&owner->trouble, ERROR_RETRY, "Stalled",
              "partition %d waits for acknowledgements from its leader", owner->partition);
    loop_timer_after(loop, timer, CLAIM_STALL_MS);
}

static void on_claimed(void *ctx, uint64_t token, int64_t offset, const struct error *error)
{
    struct owner *owner = ctx;
    if (!owner_answered(owner, token) || owner->state != OWNER_CLAIMING)
        return;
    loop_timer_cancel(cluster_loop(owner->cluster), &owner->timer);
    if (error != NULL && error->class == ERROR_REJECT) {
        owner_give_up(owner, error->code, error->message); /* for one, we may not write there */
        return;
    }
    if ((error != NULL && error_is(error)) || offset < 0) {
        owner_give_up(owner, "ClaimUnknown", "the offset of the claim is unknown");
        return;
    }
    FAILPOINT("claim.acknowledged");
    metrics_add(owner->metrics->claims, 1);
    assert(offset >= 0);
    owner->claim_offset = offset;
    owner->expected_offset = offset + 1;
    owner_set_state(owner, OWNER_FOLDING);
    follower_bound(owner->follower, offset); /* a standby's follower is folding already */
}

static void claim_partition(struct owner *owner)
{
    struct error error;
    assert(!owner->released);
    assert(!owner->suspended && owner->commands == NULL);
    assert(owner->head == NULL && owner->item_count == 0);
    struct claim claim = {.instance = text_of(owner->cluster->service->instance_id),
                          .claimed_at = clock_wall_ms(owner->cluster->service->clock),
                          .partition_count = owner->cluster->partition_count};
    ssize_t random = getrandom(claim.claim_id.bytes, sizeof(claim.claim_id.bytes), 0);
    assert(random == (ssize_t)sizeof(claim.claim_id.bytes));
    owner->claim_id = claim.claim_id;
    owner->claim_number++;
    owner->check_passed = false;
    owner_set_state(owner, OWNER_CLAIMING);
    FAILPOINT("claim.begin");
    enum error_class class = cluster_append(
        owner->cluster, BROKER_PRODUCER_LOG, owner->cluster->topics.events, owner->partition,
        claim.instance, RECORD_CLAIM, &claim, on_claimed, owner, owner->claim_number, &error);
    if (class != ERROR_OK) {
        owner_give_up(owner, error.code, error.message);
        return;
    }
    owner->outstanding++;
    loop_timer_after(cluster_loop(owner->cluster), &owner->timer, CLAIM_STALL_MS);
}

static void on_checked(void *ctx)
{
    struct owner *owner = ctx;
    if (owner->state == OWNER_STANDBY) {
        follower_run(owner->follower, INT64_MAX);
        return;
    }
    if (owner->state == OWNER_FOLDING) { /* the follower checked the log again on the way */
        follower_run(owner->follower, owner->claim_offset);
        return;
    }
    if (owner->state == OWNER_STOPPED)
        owner_set_state(owner, OWNER_CHECKING);
    if (owner->state != OWNER_CHECKING)
        return;
    owner->check_passed = true;
    if (!owner->suspended)
        claim_partition(owner);
}

/* ---- inspecting: does commands[p] hold the commands that the log consumed? ---- */

static void begin_running(struct owner *owner)
{
    const struct checkpoint *checkpoint = view_checkpoint(follower_view(owner->follower));
    assert(owner->commands == NULL);
    assert(owner->head == NULL && owner->item_count == 0);
    assert(checkpoint->next_event_offset == owner->expected_offset);
    owner_set_state(owner, OWNER_RUNNING);
    owner->trouble = (struct error){0};
    owner->careful = checkpoint->previous_claim_decisions == 0 ? CAREFUL_COMMANDS : 0;
    emitter_start(owner->emitter, checkpoint->emitted_through, owner->claim_offset);
    log_info("partition claimed", LOG_I64("partition", owner->partition),
             LOG_I64("claim_offset", owner->claim_offset),
             LOG_I64("next_command", checkpoint->next_command_offset),
             LOG_I64("emitted_through", checkpoint->emitted_through),
             LOG_U64("folded", owner->folded), LOG_U64("commands_to_guard", owner->careful));
    FAILPOINT("claim.running");
    owner_cycle_begin(owner);
}

static void inspected_record(void *ctx, const struct broker_record *record)
{
    struct owner *owner = ctx;
    const struct checkpoint *checkpoint = view_checkpoint(follower_view(owner->follower));
    assert(owner->state == OWNER_INSPECTING && owner->commands != NULL);
    bool same = record->offset != checkpoint->last_command_offset ||
                record->timestamp == checkpoint->last_command_time;
    struct error error;
    broker_reader_close(owner->commands);
    owner->commands = NULL;
    if (same) {
        begin_running(owner);
        return;
    }
    error_set(&error, ERROR_FATAL, "CommandsDiffer",
              "%s[%d]@%" PRId64 " is not the command that the log consumed there: the topic was "
              "created anew. Continue from its start with `reeve partition reset --partition %d "
              "--next-command 0`",
              owner->cluster->topics.commands, owner->partition, record->offset, owner->partition);
    owner_stop(owner, &error);
}

static void inspected_end(void *ctx, int64_t next_offset)
{
    struct owner *owner = ctx;
    assert(owner->state == OWNER_INSPECTING && owner->commands != NULL);
    (void)next_offset;
    broker_reader_close(owner->commands);
    owner->commands = NULL;
    begin_running(owner); /* that record was deleted by retention */
}

static void inspected_error(void *ctx, const struct error *error)
{
    struct owner *owner = ctx;
    if (error->class == ERROR_FATAL)
        owner_give_up(owner, error->code, error->message);
}

static const struct broker_reader_ops inspect_ops = {inspected_record, inspected_end,
                                                     inspected_error};

static void inspect_offsets(struct owner *owner, int64_t low, int64_t high)
{
    const struct checkpoint *checkpoint = view_checkpoint(follower_view(owner->follower));
    assert(owner->state == OWNER_INSPECTING && owner->commands == NULL);
    int64_t next = checkpoint->next_command_offset;
    struct error error;
    if (next < low || next > high) {
        error_set(&error, ERROR_FATAL, "CommandsOutOfRange",
                  "the next command of %s[%d] is %" PRId64 ", but the topic holds %" PRId64
                  " to %" PRId64 ". Was it created anew, or were commands deleted before they were "
                  "decided? Choose where to continue: `reeve partition reset --partition %d "
                  "--next-command OFFSET`",
                  owner->cluster->topics.commands, owner->partition, next, low, high,
                  owner->partition);
        owner_stop(owner, &error);
        return;
    }
    if (checkpoint->last_command_offset < low) {
        begin_running(owner);
        return;
    }
    owner->commands =
        broker_read(owner->cluster->broker, owner->cluster->topics.commands, owner->partition,
                    checkpoint->last_command_offset, &inspect_ops, owner);
}

static void on_command_offsets(void *ctx, int64_t low, int64_t high, const struct error *error)
{
    struct owner *owner = ctx;
    if (!owner_answered(owner, owner->claim_number) || owner->state != OWNER_INSPECTING)
        return;
    if (error != NULL && error_is(error))
        owner_give_up(owner, error->code, error->message);
    else
        inspect_offsets(owner, low, high);
}

static void on_caught_up(void *ctx)
{
    struct owner *owner = ctx;
    owner->warm = true;
    if (owner->state != OWNER_FOLDING)
        return;
    const struct checkpoint *checkpoint = view_checkpoint(follower_view(owner->follower));
    if (checkpoint->next_event_offset != owner->claim_offset + 1 ||
        !uuid_equal(&checkpoint->claim_id, &owner->claim_id)) {
        owner_give_up(owner, "ClaimNotFound", "the log does not hold our claim at its offset");
        return;
    }
    FAILPOINT("claim.folded");
    owner_set_state(owner, OWNER_INSPECTING);
    owner->outstanding++;
    broker_offsets(owner->cluster->broker, owner->cluster->topics.commands, owner->partition,
                   on_command_offsets, owner);
}

static void on_folded(void *ctx, const struct broker_record *record,
                      const struct view_folded *folded)
{
    struct owner *owner = ctx;
    (void)record;
    owner->folded++;
    if (folded->admission != ADMITTED && folded->admission != SKIPPED_REPEAT)
        metrics_add(owner->metrics->skipped, 1);
    if (owner->state == OWNER_STOPPED && folded->kind == RECORD_CLAIM &&
        folded->record->claim.has_reset)
        loop_timer_after(cluster_loop(owner->cluster), &owner->timer, 0);
}

static void on_dropped(void *ctx)
{
    struct owner *owner = ctx;
    owner->warm = false;
    if (owner->state == OWNER_FOLDING)
        owner_set_state(owner, OWNER_CHECKING);
}

static void on_stopped(void *ctx, const struct error *error)
{
    struct owner *owner = ctx;
    if (owner->state == OWNER_STANDBY) /* the follower reports it and checks again */
        return;
    owner->trouble = *error;
    if (owner->state == OWNER_CHECKING || owner->state == OWNER_FOLDING)
        owner_set_state(owner, OWNER_STOPPED);
}

static const struct follower_ops follower_ops = {.checked = on_checked,
                                                 .folded = on_folded,
                                                 .caught_up = on_caught_up,
                                                 .dropped = on_dropped,
                                                 .stopped = on_stopped};

/* ---- life ---- */

enum error_class owner_new(struct cluster *cluster, int32_t partition,
                           const struct owner_options *options, struct owner_metrics *metrics,
                           struct owner **ret_owner, struct error *ret_error)
{
    struct owner *owner = calloc(1, sizeof(*owner));
    assert(owner != NULL && options->batch_max > 0);
    assert(partition >= 0 && partition < cluster->partition_count);
    owner->cluster = cluster;
    owner->partition = partition;
    owner->options = *options;
    owner->metrics = metrics;
    if (options->router != NULL) {
        owner->backlog = backlog_new(options->router, !options->standby);
        owner->options.view.index = &backlog_index;
        owner->options.view.index_ctx = owner->backlog;
    }
    enum error_class class = follower_new(cluster, partition, &owner->options.view, &follower_ops,
                                          owner, &owner->follower, ret_error);
    owner->options.view.path = NULL; /* the caller may free it */
    if (class != ERROR_OK) {
        backlog_free(owner->backlog);
        free(owner);
        return class;
    }
    owner->emitter = emitter_new(cluster, partition, follower_view(owner->follower));
    owner->items = calloc(options->batch_max, sizeof(owner->items[0]));
    assert(owner->items != NULL);
    heap_arena_init(&owner->batch, 256 * 1024);
    loop_timer_init(&owner->timer, on_timer, owner);
    clock_guard_init(&owner->clock_guard, options->margin_ms / 2);
    owner->state = options->standby ? OWNER_STANDBY : OWNER_CHECKING;
    *ret_owner = owner;
    return ERROR_OK;
}

/* A standby that follows the log need not check it again: a contradiction would have shown. */
void owner_promote(struct owner *owner)
{
    assert(owner->state == OWNER_STANDBY);
    assert(!owner->released && !owner->suspended);
    log_info("standby takes over", LOG_I64("partition", owner->partition),
             LOG_STR("follower", follower_is_folding(owner->follower) ? "folding" : "checking"),
             LOG_I64("lag", owner_lag(owner)));
    owner->folded = 0;
    if (owner->backlog != NULL)
        backlog_set_active(owner->backlog, true);
    if (follower_is_folding(owner->follower)) {
        claim_partition(owner);
        return;
    }
    owner_set_state(owner, OWNER_CHECKING);
    follower_restart(owner->follower, false, 0);
}

void owner_release(struct owner *owner, void (*released)(void *ctx), void *ctx)
{
    assert(!owner->released);
    owner->claim_number++;
    owner_cycle_end(owner);
    loop_timer_cancel(cluster_loop(owner->cluster), &owner->timer);
    emitter_free(owner->emitter);
    follower_free(owner->follower);
    backlog_free(owner->backlog);
    heap_arena_deinit(&owner->batch);
    buffer_deinit(&owner->value);
    free(owner->items);
    owner->released = true;
    owner->on_released = released;
    owner->released_ctx = ctx;
    free_when_answered(owner);
}

void owner_suspend(struct owner *owner, bool suspended)
{
    assert(!owner->released);
    owner->suspended = suspended;
    owner_route_suspend(owner);
    if (suspended)
        return;
    if (owner->state == OWNER_CHECKING && owner->check_passed)
        claim_partition(owner);
    else if (owner->state == OWNER_RUNNING)
        owner_step_soon(owner);
}

struct view *owner_view(const struct owner *owner)
{
    return follower_view(owner->follower);
}

int32_t owner_partition(const struct owner *owner)
{
    return owner->partition;
}

enum owner_state owner_state(const struct owner *owner)
{
    return owner->state;
}

bool owner_is_running(const struct owner *owner)
{
    return owner->state == OWNER_RUNNING || owner->state == OWNER_GUARDING ||
           owner->state == OWNER_APPENDING;
}

bool owner_is_busy(const struct owner *owner)
{
    return owner->state == OWNER_GUARDING || owner->state == OWNER_APPENDING ||
           (owner->state == OWNER_RUNNING && emitter_backlog(owner->emitter) > 0);
}

int64_t owner_next_command(const struct owner *owner)
{
    return owner_is_running(owner)
               ? view_checkpoint(follower_view(owner->follower))->next_command_offset
               : -1;
}

int64_t owner_lag(const struct owner *owner)
{
    return follower_lag(owner->follower);
}

bool owner_is_warm(const struct owner *owner)
{
    return owner->state == OWNER_STANDBY && owner->warm && follower_is_folding(owner->follower);
}

bool owner_trouble(const struct owner *owner, char *ret_text, size_t size)
{
    if (!error_is(&owner->trouble))
        return false;
    snprintf(ret_text, size, "partition %d: %s", owner->partition, owner->trouble.message);
    return true;
}

struct owner_metrics *owner_metrics_new(struct metrics *metrics)
{
    struct owner_metrics *owner = calloc(1, sizeof(*owner));
    assert(owner != NULL);
    owner->decisions = metrics_counter(metrics, "reeve_decisions_total",
                                       "Decisions acknowledged and stored.", METRICS_NO_LABELS);
    owner->rejections =
        metrics_counter(metrics, "reeve_decisions_without_change_total",
                        "Decisions that rejected or ignored their command.", METRICS_NO_LABELS);
    owner->claims = metrics_counter(metrics, "reeve_claims_total",
                                    "Claims acknowledged by the broker.", METRICS_NO_LABELS);
    owner->given_up = metrics_counter(metrics, "reeve_claims_given_up_total",
                                      "Claims given up after a surprise.", METRICS_NO_LABELS);
    owner->batches = metrics_counter(metrics, "reeve_batches_total", "Batches of Decisions stored.",
                                     METRICS_NO_LABELS);
    owner->skipped =
        metrics_counter(metrics, "reeve_records_skipped_total",
                        "Records of the log that were not admitted.", METRICS_NO_LABELS);
    owner->cycle = metrics_histogram(metrics, "reeve_cycle_seconds",
                                     "From the first decision of a batch until it is stored.",
                                     METRICS_NO_LABELS);
    return owner;
}

void owner_metrics_free(struct owner_metrics *metrics)
{
    free(metrics);
}
