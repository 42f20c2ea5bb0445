/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/verify/rules.h"

#include "cli/verify/step_data.h"
#include "cli/verify/step_items.h"
#include "cli/verify/undo_rank.h"
#include "kafka/broker.h"
#include "platform/hash_table.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <utlist.h>

/* One direction of one step, according to its events. */
struct attempt_track {
    uint32_t attempt;
    bool running;
    int64_t complete_by;
    int64_t margin_ms;
};

struct step_track {
    char name[NAME_BYTES_MAX + 1];
    struct attempt_track directions[DIRECTION_COUNT];
    struct undo_rank rank;
    struct step_data data;
    struct step_items items;
    bool turned; /* its undo has begun, or waits for an agent */
};

struct order_track {
    UT_hash_handle hh;
    uint64_t version;
    enum order_state state;
    bool alert_open;
    bool paused;
    bool is_suborder;
    struct step_track *steps; /* in the order of its workflow's version */
    uint32_t step_count;
    bool ended; /* it is in the list `ended` */
    int64_t ended_at;
    struct order_track *prev;
    struct order_track *next;
    uint32_t id_size;
    char id[];
};

struct verify_rules {
    int32_t partition;
    int32_t partition_count;
    void (*found)(void *ctx, const char *finding);
    void *ctx;
    struct order_track *orders;
    struct order_track *ended; /* by ended_at, then by id */
    int64_t next_command;      /* -1: unknown (start, or after a reset) */
    int64_t decided_at;
    struct verify_counts counts;
};

static void __attribute__((format(printf, 4, 5)))
find_fault(struct verify_rules *rules, int64_t offset, struct text order_id, const char *format,
           ...)
{
    char text[VERIFY_FINDING_SIZE];
    int size = snprintf(text, sizeof(text),
                        "partition %d, offset %" PRId64 ", order %.*s: ", rules->partition, offset,
                        TEXT_ARG(order_id));
    va_list arguments;
    va_start(arguments, format);
    if (size > 0 && size < (int)sizeof(text))
        vsnprintf(text + size, sizeof(text) - (size_t)size, format, arguments);
    va_end(arguments);
    rules->counts.findings++;
    rules->found(rules->ctx, text);
}

static bool has_ended(const struct order_track *order)
{
    return order->state == ORDER_PROCESSED || order->state == ORDER_COMPENSATED;
}

static struct order_track *find_order(struct verify_rules *rules, struct text order_id, bool create)
{
    struct order_track *order = NULL;
    HASH_FIND(hh, rules->orders, order_id.data, order_id.size, order);
    if (order != NULL || !create)
        return order;
    order = calloc(1, sizeof(*order) + order_id.size);
    assert(order != NULL);
    memcpy(order->id, order_id.data, order_id.size);
    order->id_size = order_id.size;
    HASH_ADD_KEYPTR(hh, rules->orders, order->id, order->id_size, order);
    rules->counts.orders++;
    return order;
}

static void forget_order(struct verify_rules *rules, struct order_track *order)
{
    if (order->ended)
        DL_DELETE(rules->ended, order);
    HASH_DEL(rules->orders, order);
    for (uint32_t i = 0; i < order->step_count; i++)
        step_items_deinit(&order->steps[i].items);
    free(order->steps);
    free(order);
}

static bool ended_by(const struct order_track *order, int64_t ended_at, struct text order_id)
{
    if (order->ended_at != ended_at)
        return order->ended_at < ended_at;
    return text_compare((struct text){order->id, order->id_size}, order_id) <= 0;
}

/* Times rise, but for a reset: the place is near the end of the list. */
static void note_ended(struct verify_rules *rules, struct order_track *order, int64_t ended_at)
{
    struct order_track *before = rules->ended != NULL ? rules->ended->prev : NULL;
    struct text id = {order->id, order->id_size};
    assert(!order->ended);
    order->ended = true;
    order->ended_at = ended_at;
    while (before != NULL && !ended_by(before, ended_at, id))
        before = before == rules->ended ? NULL : before->prev;
    if (before != NULL)
        DL_APPEND_ELEM(rules->ended, before, order);
    else
        DL_PREPEND(rules->ended, order);
}

void verify_rules_expiry(struct verify_rules *rules, const struct expiry *expiry, int64_t offset)
{
    if (expiry->decided_at < rules->decided_at)
        find_fault(rules, offset, expiry->order_id,
                   "an Expiry is decided earlier than the Decision before");
    if (expiry->ended_at > expiry->decided_at)
        find_fault(rules, offset, expiry->order_id, "orders expire before they have ended");
    rules->decided_at = expiry->decided_at;
    while (rules->ended != NULL && ended_by(rules->ended, expiry->ended_at, expiry->order_id))
        forget_order(rules, rules->ended);
}

static struct step_track *find_step(struct order_track *order, struct text step_name)
{
    char name[NAME_BYTES_MAX + 1];
    snprintf(name, sizeof(name), "%.*s", TEXT_ARG(step_name));
    for (uint32_t i = 0; i < order->step_count; i++)
        if (strcmp(order->steps[i].name, name) == 0)
            return &order->steps[i];
    order->steps = realloc(order->steps, (order->step_count + 1) * sizeof(order->steps[0]));
    assert(order->steps != NULL);
    struct step_track *step = &order->steps[order->step_count++];
    *step = (struct step_track){0};
    memcpy(step->name, name, sizeof(name));
    return step;
}

static struct attempt_track *find_attempt(struct order_track *order, const struct attempt_ref *ref)
{
    return &find_step(order, ref->step)->directions[ref->direction];
}

struct verify_rules *verify_rules_new(int32_t partition, int32_t partition_count,
                                      void (*found)(void *ctx, const char *finding), void *ctx)
{
    struct verify_rules *rules = calloc(1, sizeof(*rules));
    assert(rules != NULL);
    *rules = (struct verify_rules){.partition = partition,
                                   .partition_count = partition_count,
                                   .found = found,
                                   .ctx = ctx,
                                   .next_command = -1};
    return rules;
}

void verify_rules_restart(struct verify_rules *rules)
{
    struct order_track *order;
    struct order_track *next;
    HASH_ITER(hh, rules->orders, order, next) {
        forget_order(rules, order);
    }
    rules->counts = (struct verify_counts){0};
    rules->next_command = -1;
    rules->decided_at = 0;
}

void verify_rules_free(struct verify_rules *rules)
{
    if (rules == NULL)
        return;
    verify_rules_restart(rules);
    free(rules);
}

void verify_rules_claim(struct verify_rules *rules, const struct claim *claim)
{
    if (claim->has_reset)
        rules->next_command = claim->reset.next_command_offset;
}

void verify_rules_reset(struct verify_rules *rules, const struct partition_reset *reset)
{
    if (reset->next_command_offset >= 0)
        rules->next_command = reset->next_command_offset;
    if (reset->newest_decided_at > 0 && reset->newest_decided_at < rules->decided_at)
        rules->decided_at = reset->newest_decided_at;
}

/* The latest is undone first. Which steps have a Compensate the log does not say: those that are
 * undone have one. */
static void check_turn(struct verify_rules *rules, struct order_track *order,
                       const struct attempt_ref *ref, struct text id, int64_t offset)
{
    struct step_track *step = find_step(order, ref->step);
    if (ref->direction != DIRECTION_UNDO || step->turned)
        return;
    step->turned = true;
    for (uint32_t i = 0; i < order->step_count; i++) {
        const struct step_track *other = &order->steps[i];
        if (other != step && other->turned && undo_rank_is_later(&step->rank, &other->rank))
            find_fault(rules, offset, id, "%s is undone after %s, which was done before it",
                       step->name, other->name);
    }
}

/* ---- turns: a step begins when those before it have finished, and is skipped for a reason ---- */

/* Those before it are those whose outputs the request may carry: the log says no more of After. A
 * step with an Input has none. */
static void check_before(struct verify_rules *rules, const struct order_track *order,
                         const struct step_started *started, struct text id, int64_t offset)
{
    if (started->inputs == STEP_INPUTS_ALL || started->ref.direction != DIRECTION_DO)
        return;
    for (uint32_t i = 0; i < order->step_count && i < WORKFLOW_STEPS_MAX; i++)
        if (((uint64_t)started->inputs >> i & 1) != 0 && !order->steps[i].data.finished)
            find_fault(rules, offset, id, "%.*s starts before %s has finished",
                       TEXT_ARG(started->ref.step), order->steps[i].name);
}

/* By an operator it is another event. */
static void check_skipped(struct verify_rules *rules, const struct order_track *order,
                          const struct step_marked *skipped, struct text id, int64_t offset)
{
    struct text when = TEXT("When: ");
    bool asked =
        skipped->reason.size > when.size && memcmp(skipped->reason.data, when.data, when.size) == 0;
    if (order->state != ORDER_COMPENSATING && !asked)
        find_fault(rules, offset, id,
                   "%.*s is skipped, and neither its When nor a compensation is why",
                   TEXT_ARG(skipped->ref.step));
}

static void check_processed(struct verify_rules *rules, const struct order_track *order,
                            const char *state, struct text id, int64_t offset)
{
    for (uint32_t i = 0; i < order->step_count; i++)
        if (!order->steps[i].data.finished)
            find_fault(rules, offset, id, "it is %s, but %s has not finished", state,
                       order->steps[i].name);
}

/* Its parent keeps what it did, or has it undone. */
static void check_held(struct verify_rules *rules, const struct order_track *order,
                       const struct decision *decision, const struct order_held *held,
                       int64_t offset)
{
    struct text id = decision->order_id;
    check_processed(rules, order, "Held", id, offset);
    if (!order->is_suborder)
        find_fault(rules, offset, id, "it is Held, and has no parent");
    if (held->complete_by <= decision->decided_at)
        find_fault(rules, offset, id, "it is Held, and does not report again");
}

static void check_item_ended(struct verify_rules *rules, struct order_track *order,
                             const struct event *event, struct text id, int64_t offset)
{
    struct text name = event->suborder_ended.step;
    const char *problem = step_items_follow(&find_step(order, name)->items, event);
    if (problem != NULL)
        find_fault(rules, offset, id, "%.*s %s", TEXT_ARG(name), problem);
}

/* ---- attempts: started once, 1 2 3 ..., one outcome, no early timeout ---- */

static void check_started(struct verify_rules *rules, struct order_track *order,
                          const struct decision *decision, const struct event *event,
                          int64_t offset)
{
    const struct step_started *started = &event->step_started;
    struct text id = decision->order_id;
    struct attempt_track *track = find_attempt(order, &started->ref);
    check_turn(rules, order, &started->ref, id, offset);
    check_before(rules, order, started, id, offset);
    if (started->ref.attempt != track->attempt + 1)
        find_fault(rules, offset, id, "%.*s starts attempt %u after attempt %u",
                   TEXT_ARG(started->ref.step), started->ref.attempt, track->attempt);
    if (track->running)
        find_fault(rules, offset, id, "%.*s starts while attempt %u is running",
                   TEXT_ARG(started->ref.step), track->attempt);
    for (uint32_t i = 0; i < order->step_count && started->ref.direction == DIRECTION_UNDO; i++)
        if (order->steps[i].directions[DIRECTION_DO].running)
            find_fault(rules, offset, id, "an undo starts while %s may still be running",
                       order->steps[i].name);
    if (order->paused)
        find_fault(rules, offset, id, "%.*s starts while the order is paused",
                   TEXT_ARG(started->ref.step));
    track->attempt = started->ref.attempt;
    track->running = true;
    track->complete_by = started->complete_by;
    track->margin_ms = started->margin_ms;
}

/* The attempt of a step with sub-orders: its start, and, of an undo, their recall. */
static void check_split(struct verify_rules *rules, struct order_track *order,
                        const struct decision *decision, const struct event *event, int64_t offset)
{
    const struct attempt_ref *ref = event_ref(event);
    struct text id = decision->order_id;
    struct attempt_track *track = find_attempt(order, ref);
    bool recalls = event->kind == EVENT_SUBORDERS_RECALLED;
    if (recalls && ref->direction == DIRECTION_DO)
        return;
    check_turn(rules, order, ref, id, offset);
    if (ref->attempt != track->attempt + 1)
        find_fault(rules, offset, id, "%.*s starts attempt %u after attempt %u",
                   TEXT_ARG(ref->step), ref->attempt, track->attempt);
    if (track->running)
        find_fault(rules, offset, id, "%.*s starts while attempt %u is running",
                   TEXT_ARG(ref->step), track->attempt);
    if (order->paused)
        find_fault(rules, offset, id, "%.*s starts while the order is paused", TEXT_ARG(ref->step));
    track->attempt = ref->attempt;
    track->running = true;
    track->complete_by =
        recalls ? event->suborders_recalled.complete_by : event->suborders_started.times_out_at;
    track->margin_ms = 0;
}

/* Only a step whose orders run submits or asks them. */
static void check_split_runs(struct verify_rules *rules, struct order_track *order,
                             const struct decision *decision, const struct event *event,
                             int64_t offset)
{
    const struct attempt_ref *ref = event_ref(event);
    const struct attempt_track *track = find_attempt(order, ref);
    if (!track->running || track->attempt != ref->attempt)
        find_fault(rules, offset, decision->order_id,
                   "%.*s has sub-orders, but attempt %u is not running", TEXT_ARG(ref->step),
                   ref->attempt);
}

static void check_extended(struct verify_rules *rules, struct order_track *order,
                           const struct decision *decision, const struct event *event,
                           int64_t offset)
{
    const struct step_extended *extended = &event->step_extended;
    struct text id = decision->order_id;
    struct attempt_track *track = find_attempt(order, &extended->ref);
    if (!track->running || track->attempt != extended->ref.attempt)
        find_fault(rules, offset, id, "attempt %u of %.*s has more time, but it is not running",
                   extended->ref.attempt, TEXT_ARG(extended->ref.step));
    if (extended->complete_by <= track->complete_by)
        find_fault(rules, offset, id, "attempt %u of %.*s has less time than before",
                   extended->ref.attempt, TEXT_ARG(extended->ref.step));
    track->complete_by = extended->complete_by;
}

static void check_queued(struct verify_rules *rules, struct order_track *order,
                         const struct decision *decision, const struct event *event, int64_t offset)
{
    const struct attempt_ref *ref = event_ref(event);
    struct text id = decision->order_id;
    const struct attempt_track *track = find_attempt(order, ref);
    check_turn(rules, order, ref, id, offset);
    if (track->running || track->attempt != ref->attempt)
        find_fault(rules, offset, id, "%.*s is queued after attempt %u, but attempt %u %s",
                   TEXT_ARG(ref->step), ref->attempt, track->attempt,
                   track->running ? "is running" : "was the last one");
}

static void check_unstarted(struct verify_rules *rules, struct order_track *order,
                            const struct decision *decision, const struct event *event,
                            int64_t offset)
{
    const struct attempt_ref *ref = event_ref(event);
    const struct attempt_track *track = find_attempt(order, ref);
    check_turn(rules, order, ref, decision->order_id, offset);
    if (track->running || track->attempt != ref->attempt)
        find_fault(rules, offset, decision->order_id,
                   "%.*s fails without an attempt after attempt %u, but attempt %u %s",
                   TEXT_ARG(ref->step), ref->attempt, track->attempt,
                   track->running ? "is running" : "was the last one");
}

static void check_by_hand(struct verify_rules *rules, struct order_track *order,
                          const struct decision *decision, const struct event *event,
                          int64_t offset)
{
    const struct attempt_ref *ref = event_ref(event);
    const struct attempt_track *track = find_attempt(order, ref);
    if (track->running || track->attempt != ref->attempt)
        find_fault(rules, offset, decision->order_id,
                   "%.*s is ended by hand after attempt %u, but attempt %u %s", TEXT_ARG(ref->step),
                   ref->attempt, track->attempt,
                   track->running ? "is running" : "was the last one");
}

static void check_ended(struct verify_rules *rules, struct order_track *order,
                        const struct decision *decision, const struct event *event, int64_t offset)
{
    const struct attempt_ref *ref = event_ref(event);
    struct text id = decision->order_id;
    struct attempt_track *track = find_attempt(order, ref);
    if (event->kind == EVENT_STEP_TIMED_OUT &&
        decision->decided_at < track->complete_by + track->margin_ms)
        find_fault(rules, offset, id, "attempt %u of %.*s is timed out too early", ref->attempt,
                   TEXT_ARG(ref->step));
    if (!track->running || track->attempt != ref->attempt)
        find_fault(rules, offset, id, "attempt %u of %.*s ends, but it is not running",
                   ref->attempt, TEXT_ARG(ref->step));
    track->running = false;
}

/* As the version has them. */
static void order_steps(struct order_track *order, const struct step_plan *plans, uint32_t count)
{
    struct order_track ordered = {0};
    for (uint32_t i = 0; i < count; i++) {
        struct step_track *before = find_step(order, plans[i].name);
        struct step_track kept = *before;
        before->items = (struct step_items){0};
        if (!kept.directions[DIRECTION_DO].running)
            step_data_forget_input(&kept.data);
        undo_rank_note_generation(&kept.rank, kept.rank.generation + plans[i].new_key);
        *find_step(&ordered, plans[i].name) = kept;
    }
    for (uint32_t i = 0; i < order->step_count; i++)
        step_items_deinit(&order->steps[i].items);
    free(order->steps);
    order->steps = ordered.steps;
    order->step_count = ordered.step_count;
}

/* No step that was ever started is missing in the other version. */
static void check_migrated(struct verify_rules *rules, struct order_track *order,
                           const struct order_migrated *migrated, struct text id, int64_t offset)
{
    if (order->state == ORDER_COMPENSATING)
        find_fault(rules, offset, id, "it gets version %u while it is being undone",
                   migrated->workflow_version);
    for (uint32_t i = 0; i < order->step_count; i++) {
        const struct attempt_track *forward = &order->steps[i].directions[DIRECTION_DO];
        bool kept = false;
        for (uint32_t j = 0; j < migrated->step_count && !kept; j++)
            kept = text_equal(migrated->steps[j].name, text_of(order->steps[i].name));
        if (!kept && forward->attempt > 0)
            find_fault(rules, offset, id, "version %u lacks %s, which was started",
                       migrated->workflow_version, order->steps[i].name);
    }
    order_steps(order, migrated->steps, migrated->step_count);
}

/* Of what has begun, only what had no effect begins again. */
static void check_amended(struct verify_rules *rules, struct order_track *order,
                          const struct order_amended *amended, struct text id, int64_t offset)
{
    if (order->state != ORDER_ERROR)
        find_fault(rules, offset, id, "it is amended in %s", order_state_name(order->state));
    for (uint32_t i = 0; i < order->step_count; i++) {
        if (order->steps[i].directions[DIRECTION_DO].running)
            find_fault(rules, offset, id, "it is amended while attempt %u of %s runs",
                       order->steps[i].directions[DIRECTION_DO].attempt, order->steps[i].name);
    }
    for (uint32_t i = 0; i < amended->step_count; i++) {
        struct step_track *step = find_step(order, amended->steps[i].name);
        uint32_t attempt = step->directions[DIRECTION_DO].attempt;
        if (step->data.finished && attempt > 0)
            find_fault(rules, offset, id, "%s begins again, but an attempt has finished it",
                       step->name);
        if (step->turned)
            find_fault(rules, offset, id, "%s begins again, but is being undone", step->name);
        step_data_begin_again(&step->data);
        undo_rank_note_generation(&step->rank, amended->steps[i].generation);
    }
}

typedef void (*attempt_rule)(struct verify_rules *rules, struct order_track *order,
                             const struct decision *decision, const struct event *event,
                             int64_t offset);

static const attempt_rule attempt_rules[ATTEMPT_CHANGE_COUNT] = {
    [ATTEMPT_STARTS] = check_started,   [ATTEMPT_WAITS] = check_queued,
    [ATTEMPT_GOES_ON] = check_extended, [ATTEMPT_ENDS] = check_ended,
    [ATTEMPT_BY_HAND] = check_by_hand,  [ATTEMPT_UNSTARTED] = check_unstarted,
    [ATTEMPT_SPLITS] = check_split,     [ATTEMPT_RUNS] = check_split_runs,
    [ATTEMPT_RECALLS] = check_split,
};

static void check_step_event(struct verify_rules *rules, struct order_track *order,
                             const struct decision *decision, const struct event *event,
                             int64_t offset)
{
    attempt_rule rule = attempt_rules[event_attempt_change(event->kind)];
    struct text name = event_ref(event)->step;
    struct step_track *step = find_step(order, name);
    const char *problems[] = {step_data_follow(&step->data, event, decision->decided_at),
                              step_items_follow(&step->items, event)};
    for (uint32_t i = 0; i < sizeof(problems) / sizeof(problems[0]); i++)
        if (problems[i] != NULL)
            find_fault(rules, offset, decision->order_id, "%.*s %s", TEXT_ARG(name), problems[i]);
    undo_rank_follow(&step->rank, event, decision->order_version);
    if (event->kind == EVENT_STEP_SKIPPED)
        check_skipped(rules, order, &event->step_marked, decision->order_id, offset);
    if (rule != NULL)
        rule(rules, order, decision, event, offset);
}

static void check_order_event(struct verify_rules *rules, struct order_track *order,
                              const struct decision *decision, const struct event *event,
                              int64_t offset)
{
    struct text id = decision->order_id;
    if (event->kind == EVENT_ORDER_PAUSED || event->kind == EVENT_ORDER_PAUSE_ENDED) {
        order->paused = event->kind == EVENT_ORDER_PAUSED;
    } else if (event->kind == EVENT_ORDER_ACCEPTED) {
        order_steps(order, event->order_accepted.steps, event->order_accepted.step_count);
        order->is_suborder = event->order_accepted.details.parent != NULL;
    } else if (event->kind == EVENT_COMPENSATION_STARTED) {
        order->state = ORDER_COMPENSATING;
    } else if (event->kind == EVENT_ORDER_PROCESSED) {
        check_processed(rules, order, "Processed", id, offset);
    } else if (event->kind == EVENT_ORDER_HELD) {
        check_held(rules, order, decision, &event->order_held, offset);
    } else if (event->kind == EVENT_SUBORDER_ENDED) {
        check_item_ended(rules, order, event, id, offset);
    } else if (event->kind == EVENT_ORDER_MIGRATED) {
        check_migrated(rules, order, &event->order_migrated, id, offset);
    } else if (event->kind == EVENT_ORDER_AMENDED) {
        check_amended(rules, order, &event->order_amended, id, offset);
    } else if (event->kind == EVENT_ALERT_RAISED) {
        if (order->alert_open)
            find_fault(rules, offset, id, "a second alert is raised");
        order->alert_open = true;
    } else if (event->kind == EVENT_ALERT_CLOSED) {
        if (!order->alert_open)
            find_fault(rules, offset, id, "an alert is closed that was not open");
        order->alert_open = false;
    }
}

static void check_event(struct verify_rules *rules, struct order_track *order,
                        const struct decision *decision, const struct event *event, int64_t offset)
{
    if (event_is_of_step(event->kind))
        check_step_event(rules, order, decision, event, offset);
    else
        check_order_event(rules, order, decision, event, offset);
}

static void check_order(struct verify_rules *rules, const struct decision *decision, int64_t offset)
{
    struct text id = decision->order_id;
    bool changes = decision_changes_order(decision);
    struct order_track *order = find_order(rules, id, changes);
    if (order == NULL)
        return;
    if (broker_partition_of(id, rules->partition_count) != rules->partition)
        find_fault(rules, offset, id, "the order does not belong to this partition");
    if (decision->order_version != order->version + (changes ? 1 : 0))
        find_fault(rules, offset, id, "version %" PRIu64 " follows version %" PRIu64,
                   decision->order_version, order->version);
    if (changes && has_ended(order))
        find_fault(rules, offset, id, "it ended %s, but changes", order_state_name(order->state));
    for (uint32_t i = 0; i < decision->event_count; i++)
        check_event(rules, order, decision, &decision->events[i], offset);
    if (!changes)
        return;
    order->version = decision->order_version;
    order->state = decision->order_state;
    order->paused = order->paused && !has_ended(order); /* an attempt may end during a pause */
    if (has_ended(order) && !order->ended)
        note_ended(rules, order, decision->decided_at);
    /* A held order has an alert where its parent is unknown. */
    if ((order->state == ORDER_ERROR) != order->alert_open && order->state != ORDER_HELD)
        find_fault(rules, offset, id, "it is %s with %s alert", order_state_name(order->state),
                   order->alert_open ? "an open" : "no open");
}

void verify_rules_decision(struct verify_rules *rules, const struct decision *decision, bool unseen,
                           int64_t offset)
{
    rules->counts.decisions++;
    if (rules->next_command >= 0 && decision->command_offset != rules->next_command)
        find_fault(rules, offset, decision->order_id,
                   "command %" PRId64 " is decided where %" PRId64 " was next",
                   decision->command_offset, rules->next_command);
    rules->next_command = decision->command_offset + 1;
    if (decision->decided_at < rules->decided_at)
        find_fault(rules, offset, decision->order_id,
                   "decided_at is earlier than that of the Decision before");
    rules->decided_at = decision->decided_at;
    if (!text_empty(decision->order_id) && !unseen)
        check_order(rules, decision, offset);
}

/* ---- orders in full ---- */

static struct attempt_track attempt_of(const struct step *step)
{
    return (struct attempt_track){.attempt = step->attempt,
                                  .running = step->state == STEP_PROCESSING,
                                  .complete_by = step->complete_by,
                                  .margin_ms = step->margin_ms};
}

static void check_restated(struct verify_rules *rules, struct order_track *order,
                           const struct order *stated, int64_t offset)
{
    struct text id = stated->details.order_id;
    if (stated->version != order->version || stated->state != order->state)
        find_fault(rules, offset, id,
                   "it is restated as %s in version %" PRIu64 ", but is %s in version %" PRIu64,
                   order_state_name(stated->state), stated->version, order_state_name(order->state),
                   order->version);
    if (stated->alert_open != order->alert_open || (stated->paused_at != 0) != order->paused)
        find_fault(rules, offset, id, "it is restated with another alert or pause");
    for (uint32_t i = 0; i < stated->step_count; i++) {
        const struct step *step = &stated->steps[i];
        struct attempt_ref ref = {step->name, step->direction, step->attempt};
        const struct attempt_track *track = find_attempt(order, &ref);
        if (find_step(order, step->name)->data.due_at != step_data_of(step).due_at)
            find_fault(rules, offset, id, "%.*s is restated with another moment to wait for",
                       TEXT_ARG(step->name));
        if (track->attempt != step->attempt || track->running != attempt_of(step).running)
            find_fault(rules, offset, id, "%.*s is restated with attempt %u, but had attempt %u%s",
                       TEXT_ARG(step->name), step->attempt, track->attempt,
                       track->running ? ", which is running" : "");
    }
}

void verify_rules_statement(struct verify_rules *rules, const struct statement *statement,
                            int64_t offset)
{
    const struct order *stated = &statement->order;
    struct order_track *order = find_order(rules, stated->details.order_id, false);
    if (order != NULL)
        check_restated(rules, order, stated, offset);
    else
        order = find_order(rules, stated->details.order_id, true);
    order->version = stated->version;
    order->state = stated->state;
    if (has_ended(order) && !order->ended)
        note_ended(rules, order, stated->ended_at);
    order->alert_open = stated->alert_open;
    order->paused = stated->paused_at != 0;
    order->is_suborder = stated->details.parent != NULL;
    for (uint32_t i = 0; i < stated->step_count; i++) {
        const struct step *step = &stated->steps[i];
        bool done = step->state == STEP_PROCESSED || step->direction == DIRECTION_UNDO;
        if (!done && !text_empty(step->output))
            find_fault(rules, offset, stated->details.order_id,
                       "%.*s is restated with an output, but is %s", TEXT_ARG(step->name),
                       step_state_name(step->state));
        struct step_track *track = find_step(order, step->name);
        track->directions[step->direction] = attempt_of(step);
        track->rank = undo_rank_of(step);
        track->data = step_data_of(step);
        step_items_take(&track->items, step->suborders);
        track->turned = step->direction == DIRECTION_UNDO;
    }
}

void verify_rules_end(struct verify_rules *rules, struct verify_counts *ret_counts)
{
    struct order_track *order;
    struct order_track *next;
    HASH_ITER(hh, rules->orders, order, next) {
        struct text id = {order->id, order->id_size};
        bool ended = has_ended(order);
        rules->counts.by_state[order->state]++;
        for (uint32_t i = 0; i < order->step_count && ended; i++)
            if (order->steps[i].directions[DIRECTION_DO].running ||
                order->steps[i].directions[DIRECTION_UNDO].running)
                find_fault(rules, -1, id, "it ended, but %s is still running",
                           order->steps[i].name);
    }
    *ret_counts = rules->counts;
}
