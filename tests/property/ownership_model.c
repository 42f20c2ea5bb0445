/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/property/ownership_model.h"
#include "tests/property/ownership_trees.h"
#include "tests/property/ownership_upgrade.h"
#include "tests/property/ownership_versions.h"

#include <assert.h>
#include <stdlib.h>

/* ---- what is known so far ---- */

static bool same_attempt(const struct attempt_ref *a, const struct attempt_ref *b)
{
    return a->attempt == b->attempt && a->direction == b->direction && text_equal(a->step, b->step);
}

/* The latest one of its order; NULL: it was never started. */
static struct model_attempt *find_attempt(const struct model *model, uint32_t order,
                                          const struct attempt_ref *ref)
{
    for (uint32_t i = model->attempt_count; i-- > 0;)
        if (model->attempts[i].order == order && same_attempt(&model->attempts[i].ref, ref))
            return &model->attempts[i];
    return NULL;
}

struct model_request *model_find_request(const struct model *model,
                                         const struct step_request *request)
{
    uint32_t low = 0;
    uint32_t high = model->request_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (model->requests[middle].decision_offset < request->decision_offset)
            low = middle + 1;
        else
            high = middle;
    }
    for (uint32_t i = low; i < model->request_count; i++) {
        struct model_request *found = &model->requests[i];
        const struct model_attempt *attempt = &model->attempts[found->attempt];
        if (found->decision_offset != request->decision_offset)
            break;
        if (same_attempt(&attempt->ref, &request->ref) &&
            text_equal(model->orders[attempt->order].id, request->order_id))
            return found;
    }
    return NULL;
}

/* The latest of that id. */
const struct model_order *model_find_order(const struct model *model, struct text order_id)
{
    for (uint32_t i = model->order_count; i-- > 0;)
        if (text_equal(model->orders[i].id, order_id))
            return model->orders[i].expired ? NULL : &model->orders[i];
    return NULL;
}

void *model_grow(void *elements, uint32_t count, uint32_t *size, size_t element_size)
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
        model_grow(model->orders, model->order_count, &model->order_size, sizeof(*model->orders));
    struct model_order *order = &model->orders[model->order_count++];
    *order = (struct model_order){.id = order_id};
    return order;
}

/* ---- events ---- */

struct text model_output(const struct model_order *order, struct text step)
{
    for (uint32_t i = 0; i < order->output_count; i++)
        if (text_equal(order->outputs[i].step, step))
            return order->outputs[i].output;
    return (struct text){0};
}

/* Under the step's name, which other versions of the workflow have elsewhere. */
static void add_output(struct model *model, struct text order_id, struct text step,
                       struct text output)
{
    struct model_order *order = add_order(model, order_id);
    uint32_t at = 0;
    while (at < order->output_count && !text_equal(order->outputs[at].step, step))
        at++;
    assert(at < WORKFLOW_STEPS_MAX);
    order->outputs[at] = (struct step_output){step, output};
    if (at == order->output_count)
        order->output_count++;
}

/* The version that the order has from now on is deployed. */
static const char *set_version(struct model *model, const struct decision *decision,
                               uint32_t version)
{
    struct model_order *order = add_order(model, decision->order_id);
    if (!trees_has(decision->order_id))
        order->workflow = world_workflow(model->world, version);
    return order->workflow != NULL ? NULL
                                   : wrong("%.*s has version %u, which is not deployed",
                                           TEXT_ARG(decision->order_id), version);
}

static const char *accept(struct model *model, const struct decision *decision, int64_t offset,
                          const struct order_details *details)
{
    struct model_order *order = add_order(model, decision->order_id);
    order->accepted_offset = offset;
    order->parent = details->parent;
    if (trees_has(decision->order_id))
        order->workflow = trees_workflow(model->world, details);
    return set_version(model, decision, details->workflow_version);
}

static void add_request(struct model *model, const struct model_attempt *attempt, int64_t offset,
                        bool extension)
{
    model->requests = model_grow(model->requests, model->request_count, &model->request_size,
                                 sizeof(*model->requests));
    model->requests[model->request_count++] =
        (struct model_request){.decision_offset = offset,
                               .attempt = (uint32_t)(attempt - model->attempts),
                               .complete_by = attempt->complete_by,
                               .extension = extension};
}

static uint32_t place_of(struct model *model, struct text order_id)
{
    return (uint32_t)(add_order(model, order_id) - model->orders);
}

/* I5: each attempt starts once. */
static const char *start(struct model *model, const struct decision *decision, int64_t offset,
                         const struct step_started *started)
{
    uint32_t order = place_of(model, decision->order_id);
    if (find_attempt(model, order, &started->ref) != NULL)
        return wrong("%.*s/%.*s attempt %u starts twice", TEXT_ARG(decision->order_id),
                     TEXT_ARG(started->ref.step), started->ref.attempt);
    if (started->complete_by <= decision->decided_at || started->margin_ms != MARGIN_MS)
        return wrong("%.*s/%.*s: complete by %lld", TEXT_ARG(decision->order_id),
                     TEXT_ARG(started->ref.step), (long long)started->complete_by);
    model->attempts = model_grow(model->attempts, model->attempt_count, &model->attempt_size,
                                 sizeof(*model->attempts));
    struct model_attempt *attempt = &model->attempts[model->attempt_count++];
    *attempt = (struct model_attempt){.order = order,
                                      .ref = started->ref,
                                      .generation = started->generation,
                                      .agent = started->agent,
                                      .workflow = model->orders[order].workflow,
                                      .complete_by = started->complete_by,
                                      .margin_ms = started->margin_ms};
    add_request(model, attempt, offset, false);
    return NULL;
}

/* Its service is asked with the new time. */
static const char *extend(struct model *model, const struct decision *decision, int64_t offset,
                          const struct step_extended *extended)
{
    struct model_attempt *attempt =
        find_attempt(model, place_of(model, decision->order_id), &extended->ref);
    if (attempt == NULL || attempt->ended || extended->complete_by <= attempt->complete_by)
        return wrong("%.*s/%.*s attempt %u gets more time", TEXT_ARG(decision->order_id),
                     TEXT_ARG(extended->ref.step), extended->ref.attempt);
    attempt->complete_by = extended->complete_by;
    add_request(model, attempt, offset, true);
    return NULL;
}

/* The step has no attempts, but sub-orders. */
static bool has_suborders(const struct model_order *order, struct text step)
{
    for (uint32_t i = 0; order->workflow != NULL && i < order->workflow->step_count; i++)
        if (text_equal(order->workflow->steps[i].name, step))
            return order->workflow->steps[i].kind == STEP_KIND_SUBORDERS;
    return false;
}

/* I6: at most one end; I8: no timeout before its time. */
static const char *end_attempt(struct model *model, const struct decision *decision,
                               const struct event *event)
{
    const struct attempt_ref *ref = event_ref(event);
    if (event->kind == EVENT_STEP_SUCCEEDED && ref->direction == DIRECTION_DO)
        add_output(model, decision->order_id, ref->step, event->step_succeeded.output);
    if (has_suborders(add_order(model, decision->order_id), ref->step))
        return NULL;
    struct model_attempt *attempt = find_attempt(model, place_of(model, decision->order_id), ref);
    if (attempt == NULL || attempt->ended)
        return wrong("%.*s/%.*s attempt %u ends and does not run", TEXT_ARG(decision->order_id),
                     TEXT_ARG(ref->step), ref->attempt);
    attempt->ended = true;
    if (event->kind == EVENT_STEP_TIMED_OUT &&
        decision->decided_at < attempt->complete_by + attempt->margin_ms)
        return wrong("%.*s/%.*s times out %lld ms early", TEXT_ARG(decision->order_id),
                     TEXT_ARG(ref->step),
                     (long long)(attempt->complete_by + attempt->margin_ms - decision->decided_at));
    return NULL;
}

/* The output that an operator gave is that of the step. */
static const char *complete_by_hand(struct model *model, const struct decision *decision,
                                    const struct step_completed_by_hand *completed)
{
    if (completed->ref.direction == DIRECTION_DO)
        add_output(model, decision->order_id, completed->ref.step, completed->output);
    return NULL;
}

static const char *end_order(struct model *model, const struct decision *decision)
{
    struct model_order *order = add_order(model, decision->order_id);
    if (order->ended)
        return wrong("%.*s ends twice", TEXT_ARG(decision->order_id));
    order->ended = true;
    order->ended_at = decision->decided_at;
    return NULL;
}

/* Every submission of these worlds names a workflow that was deployed before, so each order's own
 * is known. */
static const char *reject(const struct decision *decision, const struct command_rejected *rejected)
{
    if (rejected->command != COMMAND_MIGRATE_ORDER &&
        text_equal(rejected->code, TEXT("UnknownWorkflow")))
        return wrong("command %lld: the deployed workflow is unknown",
                     (long long)decision->command_offset);
    return NULL;
}

static const char *take_event(struct model *model, const struct decision *decision, int64_t offset,
                              const struct event *event)
{
    switch ((int)event->kind) {
    case EVENT_ORDER_ACCEPTED:
        return accept(model, decision, offset, &event->order_accepted.details);
    case EVENT_ORDER_MIGRATED:
        return set_version(model, decision, event->order_migrated.workflow_version);
    case EVENT_ORDER_PROCESSED:
    case EVENT_ORDER_COMPENSATED:
        return end_order(model, decision);
    case EVENT_STEP_EXTENDED:
        return extend(model, decision, offset, &event->step_extended);
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
    return event_is_of_step(kind) && kind != EVENT_STEP_QUEUED &&
           kind != EVENT_SUBORDERS_SUBMITTED && kind != EVENT_SUBORDERS_ASKED;
}

static enum status_kind status_of(const struct decision *decision)
{
    enum status_kind status = STATUS_KIND_COUNT;
    bool steps = false;
    /* Unless it ends at once: without expressions no step with sub-orders begins. */
    bool received =
        decision->events[0].kind == EVENT_ORDER_ACCEPTED &&
        (decision->order_state == ORDER_PENDING || decision->order_state == ORDER_PROCESSING);
    if (decision->reply_to.size == 0)
        return STATUS_KIND_COUNT;
    if (received)
        return STATUS_RECEIVED;
    for (uint32_t i = 0; i < decision->event_count; i++) {
        const struct event *event = &decision->events[i];
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
    model->reader.partition = model->partition;
    model->reader.command_offset = decision->command_offset;
    model->reader.asked_at = command_ms;
    model->reader.appended_at = record.timestamp;
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
    model_note_sender(model, decision, offset);
    model->next_sequence++;
    model->last_command = decision->command_offset;
    model->newest_decided_at = decision->decided_at;
    return NULL;
}

/* ---- Statements ---- */

/* It says of an order what the last Decision about it has left, and nothing by a version that does
 * not know all of it. */
static const char *check_statement(const struct model *model, const struct statement *statement,
                                   int64_t offset)
{
    const struct model_order *order = model_find_order(model, statement->order.details.order_id);
    if (order == NULL || order->version != statement->order.version)
        return wrong("events@%lld states an order at version %llu, it is at %llu",
                     (long long)offset, (unsigned long long)statement->order.version,
                     (unsigned long long)(order != NULL ? order->version : 0));
    if (model->format > statement->format)
        return wrong("events@%lld is a Statement of format %d in a log of format %d",
                     (long long)offset, statement->format, model->format);
    return NULL;
}

/* ---- Expiries ---- */

/* The next order under such an id is another one. */
static const char *take_expiry(struct model *model, const struct expiry *expiry, int64_t offset)
{
    struct broker_record record;
    uint32_t count = 0;
    if (!model->claimed || !uuid_equal(&model->claim_id, &expiry->claim_id) ||
        expiry->sequence != model->next_sequence)
        return NULL;
    model->next_sequence++;
    if (model->world->retention_ms == 0 ||
        expiry->decided_at < expiry->ended_at + model->world->retention_ms)
        return wrong("events@%lld has orders expire early", (long long)offset);
    if (!broker_memory_record(model->world->kafka, "p.events", model->partition, offset, &record))
        return wrong("events@%lld does not exist", (long long)offset);
    if (expiry->decided_at < model->newest_decided_at ||
        expiry->decided_at > record.timestamp + MARGIN_MS / 2)
        return wrong("events@%lld is decided at a time that is not possible", (long long)offset);
    model->newest_decided_at = expiry->decided_at;
    for (uint32_t i = 0; i < model->order_count; i++) {
        struct model_order *order = &model->orders[i];
        bool goes = order->ended && !order->expired && order->ended_at <= expiry->ended_at;
        if (goes && order->ended_at == expiry->ended_at)
            goes = text_compare(order->id, expiry->order_id) <= 0;
        order->expired = order->expired || goes;
        count += goes;
    }
    return count > 0 ? NULL : wrong("events@%lld has no order expire", (long long)offset);
}

/* ---- Resets ---- */

/* It is where its operator has found the log. Commands before the next one are gone. */
static void take_reset(struct model *model, const struct partition_reset *reset)
{
    model->claimed = false;
    for (int64_t i = model->last_command + 1; i < reset->next_command_offset; i++)
        if (i < model->outcome_count)
            model->outcomes[i].purged = true;
    if (reset->next_command_offset >= 0)
        model->last_command = reset->next_command_offset - 1;
}

/* ---- the walk ---- */

/* The same for what says where the log is to begin. */
static const char *take_continuation(struct model *model, const struct continuation *continuation,
                                     int64_t offset)
{
    if (!model->claimed || !uuid_equal(&model->claim_id, &continuation->claim_id) ||
        continuation->sequence != model->next_sequence)
        return NULL;
    model->next_sequence++;
    if (continuation->trimmed >= 0 && model->format > model->own_format)
        return wrong("events@%lld trims a log of format %d, its owner has format %d",
                     (long long)offset, model->format, model->own_format);
    return NULL;
}

/* Instances have the same number in both versions. */
static void begin_claim(struct model *model, const struct claim *claim)
{
    assert(claim->instance.size > 0);
    uint32_t number = (uint32_t)(claim->instance.data[claim->instance.size - 1] - '0');
    model->claimed = true;
    model->claim_id = claim->claim_id;
    model->next_sequence = 0;
    model->own_format = claim->format;
    if (claim->format > model->format)
        model->format = claim->format;
    model->reader = (struct deployments_reader){
        .instance = number,
        .older = model->world->upgrade != NULL && !versions_is_newer_claim(&claim->claim_id)};
}

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
            begin_claim(ret_model, &record.claim);
        } else if (record.kind == RECORD_CONTINUATION) {
            failed = take_continuation(ret_model, &record.continuation, at);
        } else if (record.kind == RECORD_STATEMENT &&
                   record.statement.sequence == ret_model->next_sequence && ret_model->claimed &&
                   uuid_equal(&ret_model->claim_id, &record.statement.claim_id)) {
            ret_model->next_sequence++;
            failed = check_statement(ret_model, &record.statement, at);
        } else if (record.kind == RECORD_EXPIRY) {
            failed = take_expiry(ret_model, &record.expiry, at);
        } else if (record.kind == RECORD_RESET && record.reset.expected_offset == at) {
            take_reset(ret_model, &record.reset);
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
    free(model->requests);
    free(model->senders);
    for (uint32_t i = 0; i < model->order_count; i++)
        free(model->orders[i].rules);
    free(model->orders);
}
