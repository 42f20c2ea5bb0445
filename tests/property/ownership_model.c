/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/property/ownership_model.h"
#include "tests/property/ownership_upgrade.h"

#include <assert.h>
#include <stdlib.h>

/* ---- what is known so far ---- */

struct model_attempt *model_find_attempt(const struct model *model, struct text order_id,
                                         const struct attempt_ref *ref)
{
    for (uint32_t i = model->attempt_count; i-- > 0;) {
        struct model_attempt *attempt = &model->attempts[i];
        if (attempt->ref.attempt == ref->attempt && attempt->ref.direction == ref->direction &&
            text_equal(attempt->ref.step, ref->step) && text_equal(attempt->order_id, order_id))
            return attempt;
    }
    return NULL;
}

const struct model_order *model_find_order(const struct model *model, struct text order_id)
{
    for (uint32_t i = 0; i < model->order_count; i++)
        if (text_equal(model->orders[i].id, order_id))
            return &model->orders[i];
    return NULL;
}

/* Room for one more element behind `count`. */
static void *grow(void *elements, uint32_t count, uint32_t *size, size_t element_size)
{
    if (count < *size)
        return elements;
    *size = *size > 0 ? 2 * *size : 64;
    elements = realloc(elements, *size * element_size);
    assert(elements != NULL);
    return elements;
}

struct model_order *model_order_of(struct model *model, struct text order_id)
{
    const struct model_order *found = model_find_order(model, order_id);
    return found != NULL ? &model->orders[found - model->orders] : NULL;
}

static struct model_order *add_order(struct model *model, struct text order_id)
{
    struct model_order *found = model_order_of(model, order_id);
    if (found != NULL)
        return found;
    model->orders =
        grow(model->orders, model->order_count, &model->order_size, sizeof(*model->orders));
    struct model_order *order = &model->orders[model->order_count++];
    *order = (struct model_order){.id = order_id};
    return order;
}

/* ---- events ---- */

static int step_index(const struct model *model, struct text step)
{
    const struct workflow *workflow = model->world->workflow;
    for (uint32_t i = 0; i < workflow->step_count; i++)
        if (text_equal(workflow->steps[i].name, step))
            return (int)i;
    return -1;
}

/* I5: each attempt starts once. */
static const char *start(struct model *model, const struct decision *decision, int64_t offset,
                         const struct step_started *started)
{
    if (model_find_attempt(model, decision->order_id, &started->ref) != NULL)
        return wrong("%.*s/%.*s attempt %u starts twice", TEXT_ARG(decision->order_id),
                     TEXT_ARG(started->ref.step), started->ref.attempt);
    if (started->complete_by <= decision->decided_at || started->margin_ms != MARGIN_MS)
        return wrong("%.*s/%.*s: complete by %lld", TEXT_ARG(decision->order_id),
                     TEXT_ARG(started->ref.step), (long long)started->complete_by);
    model->attempts =
        grow(model->attempts, model->attempt_count, &model->attempt_size, sizeof(*model->attempts));
    model->attempts[model->attempt_count++] =
        (struct model_attempt){.order_id = decision->order_id,
                               .ref = started->ref,
                               .generation = started->generation,
                               .agent = started->agent,
                               .complete_by = started->complete_by,
                               .margin_ms = started->margin_ms,
                               .decision_offset = offset};
    return NULL;
}

/* I6: at most one end; I8: no timeout before its time. */
static const char *end_attempt(struct model *model, const struct decision *decision,
                               const struct event *event)
{
    const struct attempt_ref *ref = &event->step_marked.ref;
    struct model_attempt *attempt = model_find_attempt(model, decision->order_id, ref);
    if (attempt == NULL || attempt->ended)
        return wrong("%.*s/%.*s attempt %u ends and does not run", TEXT_ARG(decision->order_id),
                     TEXT_ARG(ref->step), ref->attempt);
    attempt->ended = true;
    if (event->kind == EVENT_STEP_TIMED_OUT &&
        decision->decided_at < attempt->complete_by + attempt->margin_ms)
        return wrong("%.*s/%.*s times out %lld ms early", TEXT_ARG(decision->order_id),
                     TEXT_ARG(ref->step),
                     (long long)(attempt->complete_by + attempt->margin_ms - decision->decided_at));
    int index = step_index(model, ref->step);
    if (event->kind == EVENT_STEP_SUCCEEDED && ref->direction == DIRECTION_DO && index >= 0)
        add_order(model, decision->order_id)->outputs[index] = event->step_succeeded.output;
    return NULL;
}

/* The output that an operator gave is that of the step. */
static const char *complete_by_hand(struct model *model, const struct decision *decision,
                                    const struct step_completed_by_hand *completed)
{
    int index = step_index(model, completed->ref.step);
    if (index >= 0 && completed->ref.direction == DIRECTION_DO)
        add_order(model, decision->order_id)->outputs[index] = completed->output;
    return NULL;
}

/* Every submission of these worlds names a workflow that was deployed before. */
static const char *reject(const struct decision *decision, const struct command_rejected *rejected)
{
    if (text_equal(rejected->code, TEXT("UnknownWorkflow")))
        return wrong("command %lld: the deployed workflow is unknown",
                     (long long)decision->command_offset);
    return NULL;
}

static const char *take_event(struct model *model, const struct decision *decision, int64_t offset,
                              const struct event *event)
{
    switch ((int)event->kind) {
    case EVENT_STEP_STARTED:
        return start(model, decision, offset, &event->step_started);
    case EVENT_STEP_SUCCEEDED:
    case EVENT_STEP_FAILED:
    case EVENT_STEP_TIMED_OUT:
        return end_attempt(model, decision, event);
    case EVENT_STEP_COMPLETED_BY_HAND:
        return complete_by_hand(model, decision, &event->step_completed_by_hand);
    case EVENT_COMMAND_REJECTED:
        return reject(decision, &event->command_rejected);
    default:
        return NULL;
    }
}

/* ---- what applications and operators learn ---- */

static bool changes_nothing(enum event_kind kind)
{
    return kind == EVENT_COMMAND_REJECTED || kind == EVENT_REPORT_IGNORED ||
           kind == EVENT_SUBMISSION_REPEATED || kind == EVENT_COMMAND_DEAD_LETTERED;
}

/* The order as a whole; STATUS_KIND_COUNT: the event says nothing about it. */
static enum status_kind status_of_order(const struct event *event)
{
    switch ((int)event->kind) {
    case EVENT_ORDER_PROCESSED:
        return STATUS_PROCESSED;
    case EVENT_COMPENSATION_STARTED:
        return STATUS_COMPENSATING;
    case EVENT_ORDER_COMPENSATED:
        return STATUS_COMPENSATED;
    case EVENT_ORDER_FAILED:
        return STATUS_ERROR;
    case EVENT_ORDER_RESUMED:
        return STATUS_RESUMED;
    case EVENT_SUBMISSION_REPEATED:
        return STATUS_REPEATED;
    case EVENT_COMMAND_REJECTED:
        return event->command_rejected.command == COMMAND_SUBMIT_ORDER ||
                       event->command_rejected.command == COMMAND_CANCEL_ORDER
                   ? STATUS_REJECTED
                   : STATUS_KIND_COUNT;
    default:
        return STATUS_KIND_COUNT;
    }
}

static bool is_about_a_step(enum event_kind kind)
{
    return (kind >= EVENT_STEP_STARTED && kind <= EVENT_STEP_RESUBMITTED) ||
           kind == EVENT_STEP_EXTENDED || kind == EVENT_STEP_COMPLETED_BY_HAND ||
           kind == EVENT_STEP_SKIPPED_BY_HAND || kind == EVENT_STEP_FAILED_BY_HAND;
}

static enum status_kind status_of(const struct decision *decision)
{
    enum status_kind status = STATUS_KIND_COUNT;
    bool steps = false;
    if (decision->reply_to.size == 0)
        return STATUS_KIND_COUNT;
    for (uint32_t i = 0; i < decision->event_count; i++) {
        const struct event *event = &decision->events[i];
        if (event->kind == EVENT_ORDER_ACCEPTED)
            return STATUS_RECEIVED;
        enum status_kind kind = status_of_order(event);
        status = kind != STATUS_KIND_COUNT ? kind : status;
        steps = steps || is_about_a_step(event->kind);
    }
    return status == STATUS_KIND_COUNT && steps ? STATUS_STEP_CHANGED : status;
}

/* An alert that is raised outranks one that is closed in the same Decision. */
static void expect_alert(struct model_outcome *outcome, const struct event *event)
{
    if (event->kind == EVENT_ALERT_RAISED) {
        outcome->alert = MODEL_RAISED;
        outcome->alert_code = event->order_marked.code;
    } else if (event->kind == EVENT_ALERT_CLOSED && outcome->alert == MODEL_NO_ALERT) {
        outcome->alert = MODEL_CLOSED;
    } else if (event->kind == EVENT_COMMAND_DEAD_LETTERED) {
        outcome->dead = true;
        if (event->command_dead_lettered.quarantined)
            outcome->alert = MODEL_QUARANTINE;
    }
}

static void expect(struct model *model, const struct decision *decision, int64_t offset)
{
    struct model_outcome *outcome = &model->outcomes[decision->command_offset];
    *outcome = (struct model_outcome){.decision_offset = offset,
                                      .order_id = decision->order_id,
                                      .order_version = decision->order_version,
                                      .order_state = decision->order_state,
                                      .decided_at = decision->decided_at,
                                      .status = status_of(decision)};
    for (uint32_t i = 0; i < decision->event_count; i++)
        expect_alert(outcome, &decision->events[i]);
}

/* ---- Decisions ---- */

/* I12: the next command, with the time of its record. */
static const char *check_command(const struct model *model, const struct decision *decision,
                                 int64_t offset)
{
    struct broker_record command;
    if (decision->command_offset != model->last_command + 1)
        return wrong("events@%lld decides command %lld after %lld", (long long)offset,
                     (long long)decision->command_offset, (long long)model->last_command);
    if (!broker_memory_record(model->world->kafka, "p.commands", model->partition,
                              decision->command_offset, &command))
        return wrong("events@%lld decides command %lld, which does not exist", (long long)offset,
                     (long long)decision->command_offset);
    if (command.timestamp != decision->command_time)
        return wrong("command %lld has another time than its Decision",
                     (long long)decision->command_offset);
    return NULL;
}

/* I8 and the clock rule: the time of a Decision does not run backwards, whatever the clocks of the
 * hosts do, and is at most half the margin after the true time, which is the brokers'. */
static const char *check_time(struct model *model, const struct decision *decision, int64_t offset)
{
    struct broker_record record;
    int64_t command_ms = decision->command_time;
    if (decision->decided_at < model->newest_decided_at)
        return wrong("events@%lld is decided before the one before it", (long long)offset);
    if (!broker_memory_record(model->world->kafka, "p.events", model->partition, offset, &record))
        return wrong("events@%lld does not exist", (long long)offset);
    if (decision->decided_at < command_ms - MARGIN_MS / 2)
        return wrong("events@%lld is decided %lld ms before its command", (long long)offset,
                     (long long)(command_ms - decision->decided_at));
    if (decision->decided_at > record.timestamp + MARGIN_MS / 2)
        return wrong("events@%lld is decided %lld ms after it was appended", (long long)offset,
                     (long long)(decision->decided_at - record.timestamp));
    return NULL;
}

/* I2: dense versions on the order's own partition. */
static const char *check_order(struct model *model, const struct decision *decision, int64_t offset)
{
    bool changes = !changes_nothing(decision->events[0].kind);
    if (decision->order_id.size == 0)
        return changes ? wrong("events@%lld changes no order", (long long)offset) : NULL;
    const struct model_order *before = model_find_order(model, decision->order_id);
    uint64_t version = before != NULL ? before->version : 0;
    if (decision->order_version != version + changes)
        return wrong("%.*s is at %llu, events@%lld says %llu", TEXT_ARG(decision->order_id),
                     (unsigned long long)version, (long long)offset,
                     (unsigned long long)decision->order_version);
    if (decision->events[0].kind != EVENT_COMMAND_DEAD_LETTERED &&
        partition_of(model->world, decision->order_id) != model->partition)
        return wrong("%.*s is on partition %d", TEXT_ARG(decision->order_id), model->partition);
    if (changes)
        add_order(model, decision->order_id)->version = decision->order_version;
    return NULL;
}

static const char *take_decision(struct model *model, const struct decision *decision,
                                 int64_t offset)
{
    bool counts = model->claimed && uuid_equal(&decision->claim_id, &model->claim_id) &&
                  decision->sequence == model->next_sequence &&
                  decision->command_offset > model->last_command;
    if (!counts)
        return NULL;
    const char *failed = check_command(model, decision, offset);
    if (failed == NULL)
        failed = check_time(model, decision, offset);
    if (failed == NULL)
        failed = check_order(model, decision, offset);
    if (failed == NULL)
        failed = upgrade_check_decision(model->world, model->partition, decision);
    if (failed == NULL && model->rare != NULL)
        failed = model_follow_rules(model, decision);
    for (uint32_t i = 0; i < decision->event_count && failed == NULL; i++)
        failed = take_event(model, decision, offset, &decision->events[i]);
    if (failed != NULL)
        return failed;
    expect(model, decision, offset);
    model->next_sequence++;
    model->last_command = decision->command_offset;
    model->newest_decided_at = decision->decided_at;
    return NULL;
}

/* ---- the walk ---- */

static void begin(struct model *model, struct world *world, int32_t partition, uint64_t *rare)
{
    *model = (struct model){.world = world,
                            .partition = partition,
                            .last_command = -1,
                            .rare = rare,
                            .outcome_count = log_end(world, "p.commands", partition)};
    model->outcomes = calloc((size_t)model->outcome_count + 1, sizeof(*model->outcomes));
    assert(model->outcomes != NULL);
    for (int64_t i = 0; i < model->outcome_count; i++)
        model->outcomes[i] =
            (struct model_outcome){.decision_offset = -1, .status = STATUS_KIND_COUNT};
    heap_arena_reset(&world->scratch);
}

const char *model_walk(struct world *world, int32_t partition, uint64_t *rare,
                       struct model *ret_model)
{
    const char *failed = NULL;
    int64_t end = log_end(world, "p.events", partition);
    begin(ret_model, world, partition, rare);
    for (int64_t at = 0; at < end && failed == NULL; at++) {
        struct record record;
        if (is_foreign(world, "p.events", partition, at))
            continue;
        failed = read_log(world, "p.events", partition, at, &record);
        if (failed != NULL)
            break;
        if (record.kind == RECORD_CLAIM &&
            !(ret_model->claimed && uuid_equal(&ret_model->claim_id, &record.claim.claim_id))) {
            ret_model->claimed = true;
            ret_model->claim_id = record.claim.claim_id;
            ret_model->next_sequence = 0;
        } else if (record.kind == RECORD_CONTINUATION &&
                   record.continuation.sequence == ret_model->next_sequence) {
            ret_model->next_sequence +=
                ret_model->claimed &&
                uuid_equal(&ret_model->claim_id, &record.continuation.claim_id);
        } else if (record.kind == RECORD_RESET && record.reset.expected_offset == at) {
            ret_model->claimed = false;
        } else if (record.kind == RECORD_DECISION) {
            failed = take_decision(ret_model, &record.decision, at);
        }
    }
    return failed;
}

void model_free(struct model *model)
{
    free(model->outcomes);
    free(model->attempts);
    for (uint32_t i = 0; i < model->order_count; i++)
        free(model->orders[i].rules);
    free(model->orders);
}
