/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/failpoint.h"
#include "services/supervisor/order_spans.h"
#include "services/supervisor/partition_internal.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    COMMIT_MS = 500, /* most orders are begun and ended between two commits: one row each */
    COMMIT_RECORDS = 2000,
    AHEAD_MS = 2000,        /* deadlines are armed this long before they are due, at most */
    LOAD_MS = 1000,         /* and those in the index at least this long before */
    ARMED_MAX = 5000,       /* by reading the index: the rest of the table is for new ones */
    ARMED_FEW = 2500,       /* no more are left: it is read on, which costs a commit */
    VISITS_PER_TURN = 5000, /* rows of the index, most of which are requested already */
    TURN_MS = 20,           /* between two turns while there is more to do */
    BLOCKED_MS = 50,        /* and while something has to change first */
    WAKE_MS = 1000,         /* between two turns at most: a clock may be set meanwhile */
    SWEEP_MS = 60000,       /* between two looks at what gave way to others */
    STALL_MS = 5000,        /* without an acknowledgement */
    OLD_NEWS_MS = 10000     /* folding what was appended before that: the view is behind */
};

int64_t partition_mono_ms(const struct supervisor_partition *partition)
{
    return clock_mono_ms(partition->cluster->service->clock);
}

/* The scheduler's. This machine's clock counts as far as neither the brokers nor the scheduler are
 * known to show another time: one that is slow makes no command late once something is decided, and
 * one that is fast makes only the first one early, which measures it. So a supervisor with a wrong
 * clock may stay in its group. */
static int64_t time_now(const struct supervisor_partition *partition)
{
    const struct clock *clock = partition->cluster->service->clock;
    int64_t wall = clock_wall_ms(clock);
    int64_t brokers = clock_guard_broker_ms(&partition->clock_guard, clock_mono_us(clock));
    return scheduler_clock_now(&partition->scheduler_clock, wall < brokers ? wall : brokers,
                               partition_mono_ms(partition));
}

static int64_t at_least(int64_t delay_ms, int64_t floor_ms)
{
    return delay_ms > floor_ms ? delay_ms : floor_ms;
}

static void move_cursor(struct supervisor_partition *partition, int64_t due_at,
                        struct text order_id)
{
    assert(order_id.size <= sizeof(partition->cursor.order_id));
    partition->cursor.due_at = due_at;
    partition->cursor.order_id_size = order_id.size;
    if (order_id.size > 0)
        memcpy(partition->cursor.order_id, order_id.data, order_id.size);
}

void partition_wake_in(struct supervisor_partition *partition, int64_t delay_ms)
{
    int64_t at = partition_mono_ms(partition) + (delay_ms > 0 ? delay_ms : 0);
    if (!loop_timer_armed(&partition->timer) || at < partition->timer.due_ms)
        loop_timer_set(cluster_loop(partition->cluster), &partition->timer, at);
}

/* ---- the index ---- */

static bool has_room(const struct supervisor_partition *partition)
{
    return outstanding_armed(partition->outstanding) < ARMED_MAX &&
           !outstanding_is_full(partition->outstanding);
}

/* Whatever is armed is due before the rest of the index, which may wait then. */
static bool has_few(const struct supervisor_partition *partition)
{
    return outstanding_armed(partition->outstanding) <= ARMED_FEW &&
           !outstanding_is_full(partition->outstanding);
}

/* When the index has to be read next, by the scheduler's time. */
static int64_t load_at(const struct supervisor_partition *partition)
{
    return partition->cursor.due_at == INT64_MAX ? INT64_MAX : partition->cursor.due_at - LOAD_MS;
}

static bool visit_stored(void *ctx, struct text order_id, const struct deadline *deadline)
{
    struct supervisor_partition *partition = ctx;
    FAILPOINT("supervisor.visit");
    partition->cut = deadline->due_at > partition->now + AHEAD_MS ||
                     ++partition->visits > VISITS_PER_TURN || !has_room(partition);
    if (partition->cut) {
        move_cursor(partition, deadline->due_at, order_id);
        return false;
    }
    if (!outstanding_has(partition->outstanding, order_id, deadline))
        outstanding_arm(partition->outstanding, order_id, deadline);
    return true;
}

/* Those that gave way to others are before the cursor. */
static void sweep(struct supervisor_partition *partition)
{
    if (load_at(partition) <= partition->now || partition_mono_ms(partition) < partition->sweep_at)
        return;
    int64_t given_up = outstanding_take_given_up(partition->outstanding);
    partition->sweep_at = partition_mono_ms(partition) + SWEEP_MS;
    if (given_up < partition->cursor.due_at)
        move_cursor(partition, given_up, TEXT(""));
}

/* Arms what will be due soon, and moves the cursor to the first that will not. What is folded is
 * committed first: a deadline that is not yet in the index would end up before the cursor, unseen.
 */
static void load(struct supervisor_partition *partition)
{
    const struct supervisor_cursor *cursor = &partition->cursor;
    struct text from = {cursor->order_id, cursor->order_id_size};
    struct view *view = follower_view(partition->follower);
    struct error error;
    assert(cursor->order_id_size <= sizeof(cursor->order_id));
    sweep(partition);
    if (load_at(partition) > partition->now || !has_few(partition) || error_is(&partition->error))
        return;
    follower_commit(partition->follower);
    if (!partition->caught_up || view_dirty(view) > 0)
        return;
    partition->cut = false;
    partition->visits = 0;
    if (store_scan_deadlines(view_store(view), cursor->due_at, from, INT64_MAX, visit_stored,
                             partition, &error) != ERROR_OK)
        partition->error = error;
    else if (!partition->cut)
        move_cursor(partition, INT64_MAX, TEXT(""));
}

/* ---- turns ---- */

static void wake_for_next(struct supervisor_partition *partition)
{
    int64_t due_at = outstanding_next_due(partition->outstanding);
    int64_t repeat_at = outstanding_next_repeat(partition->outstanding);
    bool blocked = error_is(&partition->error) || !has_few(partition);
    partition->held_back = partition_window_is_full(partition);
    partition_wake_in(partition, WAKE_MS);
    if (partition->held_back) /* what is folded next wakes it */
        return;
    if (blocked)
        partition_wake_in(partition, BLOCKED_MS);
    if (repeat_at != INT64_MAX && !error_is(&partition->error))
        partition_wake_in(partition, at_least(repeat_at - partition_mono_ms(partition), TURN_MS));
    if (due_at != INT64_MAX && !partition_waits_for_clock(partition))
        partition_wake_in(partition, due_at <= partition->now ? TURN_MS : due_at - partition->now);
    if (load_at(partition) != INT64_MAX && !blocked)
        partition_wake_in(partition, at_least(load_at(partition) - partition->now, TURN_MS));
}

static void on_turn(void *ctx)
{
    struct supervisor_partition *partition = ctx;
    assert(!partition->freed);
    partition_wake_in(partition, WAKE_MS);
    waiting_commands_look(partition->waiting, supervisor_partition_is_ready(partition));
    if (partition->suspended || !partition->caught_up ||
        follower_is_stopped(partition->follower, NULL))
        return;
    partition->now = time_now(partition);
    partition->error = (struct error){0};
    partition_send_again(partition);
    load(partition);
    if (partition->caught_up)
        partition_send_due(partition);
    if (partition->error.class == ERROR_FATAL) {
        partition->caught_up = false;
        follower_restart(partition->follower, true, 0);
        return;
    }
    view_tidy(follower_view(partition->follower));
    wake_for_next(partition);
}

/* ---- what the log shows ---- */

/* The scheduler answers an early command with the time when it is due: the deadline is armed again,
 * by the scheduler's clock. Other early commands, and steps for which the owner found no capacity,
 * have the same event. */
static void learn_not_due(struct supervisor_partition *partition, struct text order_id,
                          const struct decision *decision, const struct command_rejected *rejected,
                          const struct deadline *deadlines, uint32_t count)
{
    int64_t sent_at = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (deadlines[i].due_at != rejected->due_at)
            continue;
        if (outstanding_was_asked(partition->outstanding, order_id, &deadlines[i],
                                  decision->command_offset, &sent_at)) {
            metrics_add(partition->metrics->early, 1);
            scheduler_clock_refused(&partition->scheduler_clock, decision->decided_at, sent_at);
        }
        outstanding_postpone(partition->outstanding, order_id, &deadlines[i],
                             rejected->due_at - decision->decided_at, partition_mono_ms(partition));
    }
}

static int64_t newest_decided_at(const struct supervisor_partition *partition)
{
    return follower_checkpoint(partition->follower)->newest_decided_at;
}

static void learn_time(struct supervisor_partition *partition, enum record_kind kind)
{
    int64_t mono_ms = partition_mono_ms(partition);
    if (kind == RECORD_RESET)
        scheduler_clock_reset(&partition->scheduler_clock, newest_decided_at(partition), mono_ms);
    else
        scheduler_clock_decided(&partition->scheduler_clock, newest_decided_at(partition), mono_ms);
}

static void learn_from_decision(struct supervisor_partition *partition,
                                const struct decision *decision, const struct deadline *deadlines,
                                uint32_t count)
{
    for (uint32_t i = 0; i < decision->event_count; i++)
        if (decision->events[i].kind == EVENT_COMMAND_REJECTED)
            learn_not_due(partition, decision->order_id, decision,
                          &decision->events[i].command_rejected, deadlines, count);
}

/* One that the cursor has passed already: armed, or else the index is read again from there on. */
static void see_deadline(struct supervisor_partition *partition, struct text order_id,
                         const struct deadline *deadline)
{
    int64_t left_ms = deadline->due_at - time_now(partition);
    if (left_ms > AHEAD_MS || outstanding_is_full(partition->outstanding)) {
        move_cursor(partition, deadline->due_at, TEXT(""));
        left_ms -= LOAD_MS;
    } else {
        outstanding_arm(partition->outstanding, order_id, deadline);
    }
    if (partition->caught_up && left_ms < WAKE_MS)
        partition_wake_in(partition, left_ms);
}

static void on_folded(void *ctx, const struct broker_record *record,
                      const struct view_folded *folded)
{
    struct supervisor_partition *partition = ctx;
    struct deadline deadlines[DEADLINES_MAX];
    partition->folded_ms = record->timestamp;
    if (folded->admission != ADMITTED && folded->admission != SKIPPED_REPEAT)
        metrics_add(partition->metrics->skipped, 1);
    bool decided = folded->kind == RECORD_DECISION;
    if (folded->admission == ADMITTED)
        learn_time(partition, folded->kind);
    if (folded->admission != ADMITTED || (!decided && folded->kind != RECORD_STATEMENT))
        return;
    struct text order_id = decided ? folded->record->decision.order_id
                                   : folded->record->statement.order.details.order_id;
    uint32_t count = folded->order != NULL ? deadlines_of(folded->order, deadlines) : 0;
    assert(count <= DEADLINES_MAX);
    outstanding_settle(partition->outstanding, order_id, count > 0 ? deadlines : NULL, count);
    if (partition->held_back)
        partition_wake_in(partition, 0);
    if (decided) {
        waiting_commands_decided(partition->waiting, &folded->record->decision, record->timestamp);
        learn_from_decision(partition, &folded->record->decision, deadlines, count);
        order_spans_add(partition->spans, &folded->record->decision, folded->order);
    }
    for (uint32_t i = 0; i < count; i++)
        if (deadlines[i].due_at <= partition->cursor.due_at &&
            !outstanding_has(partition->outstanding, order_id, &deadlines[i]))
            see_deadline(partition, order_id, &deadlines[i]);
}

/* The fold may have been rolled back: the index is read again. */
static void on_checked(void *ctx)
{
    struct supervisor_partition *partition = ctx;
    partition->caught_up = false;
    move_cursor(partition, 0, TEXT(""));
    scheduler_clock_decided(&partition->scheduler_clock, newest_decided_at(partition),
                            partition_mono_ms(partition));
    follower_run(partition->follower, INT64_MAX);
}

static void on_caught_up(void *ctx)
{
    struct supervisor_partition *partition = ctx;
    if (partition->caught_up)
        return;
    partition->caught_up = true;
    partition_wake_in(partition, 0);
}

/* The view grows old: nothing is requested until the rest is folded. */
static void on_paused(void *ctx)
{
    struct supervisor_partition *partition = ctx;
    partition->caught_up = false;
}

static void on_dropped(void *ctx)
{
    struct supervisor_partition *partition = ctx;
    partition->caught_up = false;
    outstanding_clear(partition->outstanding);
    move_cursor(partition, 0, TEXT(""));
}

static const struct follower_ops follower_ops = {.checked = on_checked,
                                                 .folded = on_folded,
                                                 .caught_up = on_caught_up,
                                                 .dropped = on_dropped,
                                                 .paused = on_paused};

/* ---- life ---- */

void supervisor_metrics_init(struct supervisor_metrics *ret_metrics, struct metrics *all)
{
    for (int kind = 0; kind < DEADLINE_KIND_COUNT; kind++)
        ret_metrics->commands[kind] =
            metrics_counter(all, "reeve_supervisor_commands_total", "Commands to the scheduler.",
                            METRICS_LABEL("kind", deadline_kind_name((enum deadline_kind)kind)));
    ret_metrics->early =
        metrics_counter(all, "reeve_supervisor_early_commands_total",
                        "Commands that the scheduler found not yet due.", METRICS_NO_LABELS);
    ret_metrics->skipped =
        metrics_counter(all, "reeve_records_skipped_total",
                        "Records of the log that were not admitted.", METRICS_NO_LABELS);
    ret_metrics->late = metrics_histogram(all, "reeve_supervisor_delay_seconds",
                                          "From a deadline until its command.", METRICS_NO_LABELS);
}

static uint32_t window_of(int32_t partition_count)
{
    int32_t share = SUPERVISOR_WINDOW / partition_count;
    assert(partition_count > 0);
    return (uint32_t)(share > SUPERVISOR_WINDOW_MIN ? share : SUPERVISOR_WINDOW_MIN);
}

enum error_class supervisor_partition_new(struct cluster *cluster, int32_t number,
                                          const struct view_options *options,
                                          struct supervisor_metrics *metrics,
                                          struct order_spans *spans,
                                          struct supervisor_partition **ret_partition,
                                          struct error *ret_error)
{
    struct supervisor_partition *partition = calloc(1, sizeof(*partition));
    assert(partition != NULL && options->deadlines);
    partition->cluster = cluster;
    partition->number = number;
    partition->metrics = metrics;
    partition->spans = spans;
    scheduler_clock_init(&partition->scheduler_clock);
    clock_guard_init(&partition->clock_guard,
                     config_ms(cluster->service->config, "clock.skew.max.ms"));
    enum error_class class = follower_new(cluster, number, options, &follower_ops, partition,
                                          &partition->follower, ret_error);
    if (class != ERROR_OK) {
        free(partition);
        return class;
    }
    partition->outstanding = outstanding_new();
    partition->waiting = waiting_commands_new(cluster, number, partition->follower);
    partition->window = window_of(cluster->partition_count);
    follower_commit_behind(partition->follower, COMMIT_MS, COMMIT_RECORDS);
    loop_timer_init(&partition->timer, on_turn, partition);
    *ret_partition = partition;
    return ERROR_OK;
}

void supervisor_partition_free(struct supervisor_partition *partition)
{
    assert(!partition->freed);
    loop_timer_cancel(partition->cluster->service->loop, &partition->timer);
    follower_flush(partition->follower);
    follower_free(partition->follower);
    outstanding_free(partition->outstanding);
    waiting_commands_free(partition->waiting);
    partition->freed = true;
    if (partition->unanswered == 0)
        free(partition);
}

void supervisor_partition_suspend(struct supervisor_partition *partition, bool suspended)
{
    partition->suspended = suspended;
    if (!suspended)
        partition_wake_in(partition, 0);
}

bool supervisor_partition_is_ready(const struct supervisor_partition *partition)
{
    return partition->caught_up && !follower_is_stopped(partition->follower, NULL);
}

bool supervisor_partition_trouble(const struct supervisor_partition *partition, char *ret_text,
                                  size_t size)
{
    const struct error *error = NULL;
    char what[ERROR_MESSAGE_SIZE];
    int64_t waited = partition_mono_ms(partition) - partition->answered_ms;
    if (follower_is_stopped(partition->follower, &error)) {
        snprintf(ret_text, size, "partition %d: %s", partition->number, error->message);
        return true;
    }
    if (!partition->caught_up) {
        follower_waits_for(partition->follower, what, sizeof(what));
        snprintf(ret_text, size, "partition %d waits for %.500s", partition->number, what);
        return true;
    }
    if (partition->unanswered == 0 || waited < STALL_MS)
        return false;
    snprintf(ret_text, size,
             "partition %d has waited %lld s for the leader of %s[%d] to acknowledge %llu commands",
             partition->number, (long long)(waited / 1000), partition->cluster->topics.commands,
             partition->number, (unsigned long long)partition->unanswered);
    return true;
}

const struct waiting_commands *supervisor_partition_waiting(
    const struct supervisor_partition *partition)
{
    return partition->waiting;
}

int32_t supervisor_partition_number(const struct supervisor_partition *partition)
{
    return partition->number;
}

struct follower *supervisor_partition_follower(const struct supervisor_partition *partition,
                                               bool *ret_current)
{
    *ret_current =
        partition->caught_up && (follower_is_at_end(partition->follower) ||
                                 time_now(partition) - partition->folded_ms <= OLD_NEWS_MS);
    return partition->follower;
}

struct view *supervisor_partition_view(const struct supervisor_partition *partition)
{
    return follower_view(partition->follower);
}

int64_t supervisor_partition_next_offset(const struct supervisor_partition *partition)
{
    return follower_checkpoint(partition->follower)->next_event_offset;
}

int64_t supervisor_partition_lag(const struct supervisor_partition *partition)
{
    return follower_lag(partition->follower);
}
