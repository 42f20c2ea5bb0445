/* SPDX-License-Identifier: Apache-2.0 */
/* See schedules.h. Every LOOK_MS the leader takes what is due of each schedule, as due_ticks.h has
 * it, and appends it. A tick whose workflow takes no orders waits for it, and is missed in the end;
 * one that makes no order at all is refused. */
#include "services/supervisor/schedules.h"

#include "leader/leader.h"
#include "platform/logger.h"
#include "replica/schedules/schedule_topic.h"
#include "schedule/tick_order.h"
#include "services/supervisor/due_ticks.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    LOOK_MS = 200,
    AGAIN_MS = 2000, /* after a submission that failed */
    TURN_US = 20000, /* of a look: partitions and the lease of this process wait meanwhile */
    NEXT_TURN_MS = 5
};

enum tick_outcome { SUBMITTED, MADE_UP, MISSED, REFUSED, TICK_OUTCOME_COUNT };
static const char *const outcome_names[] = {
    [SUBMITTED] = "submitted", [MADE_UP] = "made_up", [MISSED] = "missed", [REFUSED] = "refused"};
_Static_assert(sizeof(outcome_names) / sizeof(outcome_names[0]) == TICK_OUTCOME_COUNT,
               "all outcomes");

enum schedule_state { ACTIVE, PAUSED, UNUSABLE, SCHEDULE_STATE_COUNT };
static const char *const state_names[] = {
    [ACTIVE] = "active", [PAUSED] = "paused", [UNUSABLE] = "unusable"};
_Static_assert(sizeof(state_names) / sizeof(state_names[0]) == SCHEDULE_STATE_COUNT, "all states");

struct schedules {
    struct cluster *cluster;
    struct leader *leader;
    struct schedule_topic *topic; /* while it leads, else NULL */
    struct due_ticks due;         /* likewise */
    uint64_t term;                /* counts the terms, so that late answers are not mixed up */
    struct loop_timer timer;
    struct heap_arena scratch; /* of an order */
    uint32_t in_flight;
    int64_t wait_until_ms; /* monotonic: nothing is submitted before */
    bool answered;         /* since the last look */
    int64_t turn_end_us;   /* monotonic: the look under way submits nothing after it */
    bool cut;              /* the look left something for the next one */
    uint32_t at;           /* the schedule with which that begins */
    bool freed;
    uint32_t counts[SCHEDULE_STATE_COUNT]; /* as of the last look */
    struct metrics_counter *outcomes[TICK_OUTCOME_COUNT];
    struct metrics_gauge *states[SCHEDULE_STATE_COUNT];
};

/* A submission without an answer. */
struct tick_append {
    struct schedules *schedules;
    uint64_t term;
    uint64_t number; /* of the schedule's record */
    int64_t tick;
    bool late;
    uint32_t name_size;
    char name[NAME_BYTES_MAX];
};

/* ---- submitting ---- */

static void on_appended(void *ctx, uint64_t token, int64_t offset, const struct error *error)
{
    struct tick_append *append = ctx;
    struct schedules *schedules = append->schedules;
    struct text name = {append->name, append->name_size};
    bool failed = error != NULL && error_is(error);
    (void)token;
    (void)offset;
    assert(schedules->in_flight > 0);
    schedules->in_flight--;
    schedules->answered = true;
    if (schedules->freed) {
        if (schedules->in_flight == 0)
            free(schedules);
    } else if (!failed) {
        metrics_add(schedules->outcomes[append->late ? MADE_UP : SUBMITTED], 1);
    } else {
        schedules->wait_until_ms = cluster_now_ms(schedules->cluster) + AGAIN_MS;
        log_warning_limited("the order of a schedule was not acknowledged: it is sent again",
                            LOG_TEXT("schedule", name),
                            LOG_STR("topic", schedules->cluster->topics.submissions),
                            LOG_ERR(error));
        if (append->term == schedules->term && schedules->topic != NULL)
            due_ticks_give_back(&schedules->due, name, append->number, append->tick);
    }
    free(append);
}

/* False: the queue is full; nothing was sent. */
static bool submit(struct schedules *schedules, const struct schedule_entry *entry, int64_t tick,
                   const struct order_details *details, int64_t now)
{
    struct error error;
    struct text name = entry->definition.name;
    const struct command cmd = {
        .kind = COMMAND_SUBMIT_ORDER, .order_id = details->order_id, .submit_order = *details};
    struct tick_append *append = calloc(1, sizeof(*append));
    assert(append != NULL && name.size <= sizeof(append->name));
    *append = (struct tick_append){.schedules = schedules,
                                   .term = schedules->term,
                                   .number = entry->number,
                                   .tick = tick,
                                   .late = now - tick > SCHEDULES_LATE_S,
                                   .name_size = name.size};
    memcpy(append->name, name.data, name.size);
    if (cluster_append(schedules->cluster, BROKER_PRODUCER_LOG,
                       schedules->cluster->topics.submissions, BROKER_BY_KEY, details->order_id,
                       RECORD_SUBMIT_ORDER, &cmd, on_appended, append, 0, &error) == ERROR_OK) {
        schedules->in_flight++;
        return true;
    }
    log_warning_limited("the order of a schedule was not sent: trying again",
                        LOG_TEXT("schedule", name), LOG_ERR(&error));
    free(append);
    return false;
}

static bool may_pass(const struct error *error)
{
    return error->code == CODE_UNKNOWN_WORKFLOW || error->code == CODE_WORKFLOW_RETIRED;
}

/* The next tick of a schedule, which is due. False: it has to wait. */
static bool take_tick(struct schedules *schedules, const struct schedule_entry *entry,
                      struct due_schedule *due, int64_t now)
{
    struct order_details details;
    struct error error;
    heap_arena_reset(&schedules->scratch);
    enum error_class class = tick_order(entry->schedule, schedules->cluster->workflows, due->next,
                                        &schedules->scratch.arena, &details, &error);
    if (class != ERROR_OK && may_pass(&error)) {
        if (!due->told)
            log_warning("a schedule waits for its workflow",
                        LOG_TEXT("schedule", entry->definition.name), LOG_ERR(&error));
        due->told = true;
        return false;
    }
    due->told = false;
    if (class != ERROR_OK) {
        log_warning_limited("a tick of a schedule makes no order",
                            LOG_TEXT("schedule", entry->definition.name),
                            LOG_I64("tick", due->next), LOG_ERR(&error));
        metrics_add(schedules->outcomes[REFUSED], 1);
    } else if (!submit(schedules, entry, due->next, &details, now)) {
        return false;
    }
    due_ticks_take(due, entry);
    return true;
}

static void on_missed(void *ctx, struct text name, uint64_t count)
{
    struct schedules *schedules = ctx;
    log_warning_limited("ticks of a schedule were missed, and are too old to be made up",
                        LOG_TEXT("schedule", name), LOG_I64("ticks", (int64_t)count));
    metrics_add(schedules->outcomes[MISSED], count);
}

/* ---- looking ---- */

static bool may_submit(const struct schedules *schedules)
{
    return schedules->in_flight < SCHEDULES_IN_FLIGHT_MAX &&
           cluster_now_ms(schedules->cluster) >= schedules->wait_until_ms &&
           leader_leads(schedules->leader);
}

static bool is_turn_over(struct schedules *schedules)
{
    const struct clock *clock = schedules->cluster->service->clock;
    schedules->cut = schedules->cut || clock_mono_us(clock) >= schedules->turn_end_us;
    return schedules->cut;
}

static enum schedule_state look_at(struct schedules *schedules, const struct schedule_entry *entry,
                                   int64_t now)
{
    struct due_schedule *due = due_ticks_of(&schedules->due, entry, now);
    while (due != NULL && due->next <= now && may_submit(schedules) && !is_turn_over(schedules) &&
           take_tick(schedules, entry, due, now))
        continue;
    bool waits = due != NULL && due->told;
    return entry->schedule == NULL || waits ? UNUSABLE : entry->definition.paused ? PAUSED : ACTIVE;
}

static void look_at_all(struct schedules *schedules)
{
    const struct schedule_registry *registry = schedule_topic_registry(schedules->topic);
    int64_t now = leader_brokers_now(schedules->leader) / 1000;
    uint32_t count = schedule_registry_count(registry);
    uint32_t first = schedules->at;
    memset(schedules->counts, 0, sizeof(schedules->counts));
    schedules->turn_end_us = clock_mono_us(schedules->cluster->service->clock) + TURN_US;
    schedules->cut = false;
    for (uint32_t i = 0; i < count; i++) {
        if (!schedules->cut)
            schedules->at = (first + i) % count;
        const struct schedule_entry *entry = schedule_registry_at(registry, (first + i) % count);
        schedules->counts[look_at(schedules, entry, now)]++;
    }
    for (int i = 0; i < SCHEDULE_STATE_COUNT; i++)
        metrics_set(schedules->states[i], schedules->counts[i]);
}

static void on_timer(void *ctx)
{
    struct schedules *schedules = ctx;
    assert(schedules->topic != NULL);
    if (schedule_topic_is_complete(schedules->topic))
        look_at_all(schedules);
    /* Where no submission is answered, another supervisor may be closer to the brokers. */
    if (schedules->in_flight == 0 || schedules->answered)
        leader_progress(schedules->leader);
    schedules->answered = false;
    loop_timer_after(cluster_loop(schedules->cluster), &schedules->timer,
                     schedules->cut ? NEXT_TURN_MS : LOOK_MS);
}

static void on_changed(void *ctx, struct text name)
{
    struct schedules *schedules = ctx;
    const struct schedule_registry *registry = schedule_topic_registry(schedules->topic);
    if (schedule_registry_find(registry, name) == NULL)
        due_ticks_forget(&schedules->due, name);
}

static const struct schedule_topic_ops topic_ops = {.changed = on_changed};

/* ---- leading ---- */

/* Of an ended order its scheduler forgets that it was there: a tick that is submitted after that
 * would run again. */
static int64_t window_max(const struct schedules *schedules)
{
    int64_t kept_ms = config_ms(schedules->cluster->service->config, "orders.retention.ms");
    return kept_ms == 0 ? SCHEDULE_CATCH_UP_S_MAX : kept_ms / 1000 - 1;
}

static void on_begin(void *ctx, int64_t token)
{
    struct schedules *schedules = ctx;
    (void)token;
    assert(schedules->topic == NULL);
    schedules->term++;
    due_ticks_init(&schedules->due, leader_brokers_now(schedules->leader) / 1000,
                   window_max(schedules), on_missed, schedules);
    schedules->topic = schedule_topic_follow(schedules->cluster, &topic_ops, schedules);
    loop_timer_after(cluster_loop(schedules->cluster), &schedules->timer, 0);
}

static void end_term(struct schedules *schedules)
{
    if (schedules->topic == NULL)
        return;
    loop_timer_cancel(cluster_loop(schedules->cluster), &schedules->timer);
    schedule_topic_free(schedules->topic);
    schedules->topic = NULL;
    due_ticks_deinit(&schedules->due);
    for (int i = 0; i < SCHEDULE_STATE_COUNT; i++)
        metrics_unset(schedules->states[i]);
}

static void on_cancel(void *ctx, enum election_reason reason)
{
    struct schedules *schedules = ctx;
    (void)reason;
    end_term(schedules);
    leader_ended(schedules->leader);
}

static const struct leader_ops leader_ops = {.begin = on_begin, .cancel = on_cancel};

/* ---- life ---- */

static void add_metrics(struct schedules *schedules)
{
    struct metrics *all = schedules->cluster->service->metrics;
    for (int i = 0; i < TICK_OUTCOME_COUNT; i++)
        schedules->outcomes[i] =
            metrics_counter(all, "reeve_schedule_ticks_total",
                            "Ticks of schedules, as this instance has dealt with them.",
                            METRICS_LABEL("outcome", outcome_names[i]));
    for (int i = 0; i < SCHEDULE_STATE_COUNT; i++)
        schedules->states[i] = metrics_gauge(
            all, "reeve_schedules", "Schedules, at the instance that submits their orders.",
            METRICS_LABEL("state", state_names[i]));
}

enum error_class schedules_new(struct cluster *cluster, struct schedules **ret_schedules,
                               struct error *ret_error)
{
    static const struct reeve_leader_options options = {.role = "schedules"};
    struct schedules *schedules = calloc(1, sizeof(*schedules));
    assert(schedules != NULL && cluster->ready && cluster->workflows != NULL);
    schedules->cluster = cluster;
    heap_arena_init(&schedules->scratch, 16 * 1024);
    loop_timer_init(&schedules->timer, on_timer, schedules);
    enum error_class class =
        leader_new(cluster, &options, &leader_ops, schedules, &schedules->leader, ret_error);
    if (class != ERROR_OK) {
        heap_arena_deinit(&schedules->scratch);
        free(schedules);
        return class;
    }
    add_metrics(schedules);
    *ret_schedules = schedules;
    return ERROR_OK;
}

bool schedules_trouble(const struct schedules *schedules, char *ret_reason, size_t reason_size)
{
    const struct error *error =
        schedules->topic != NULL ? schedule_topic_trouble(schedules->topic) : NULL;
    if (error == NULL)
        return false;
    snprintf(ret_reason, reason_size, "cannot read %s, so no schedule is submitted: %s",
             schedules->cluster->topics.schedules, error->message);
    return true;
}

void schedules_stop(struct schedules *schedules, void (*stopped)(void *ctx), void *ctx)
{
    leader_stop(schedules->leader, stopped, ctx);
}

void schedules_free(struct schedules *schedules)
{
    if (schedules == NULL)
        return;
    end_term(schedules);
    leader_free(schedules->leader);
    heap_arena_deinit(&schedules->scratch);
    schedules->freed = true;
    if (schedules->in_flight == 0)
        free(schedules);
}
