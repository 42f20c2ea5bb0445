/* SPDX-License-Identifier: Apache-2.0 */
/* The topics of effects against the model: what an effect's topic refused counts as delivered when
 * it is among the dead letters. */
#include "tests/property/ownership_model.h"
#include "tests/property/ownership_tail.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Requests carry only what is settled when they are decided; 0: not compared. */
enum { SETTLED_OUTPUTS = 1 };

/* ---- one effect ---- */

static struct model_outcome *outcome_of(struct model *model, int64_t command_offset)
{
    bool decided = command_offset >= 0 && command_offset < model->outcome_count &&
                   model->outcomes[command_offset].decision_offset >= 0;
    return decided ? &model->outcomes[command_offset] : NULL;
}

/* Of a Decision that the log has lost. */
static const char *explained_by_tail(const struct model *model)
{
    world_count(model->world, SOMETIMES_TAIL_EFFECT);
    return NULL;
}

static const char *check_status(const struct model_outcome *outcome,
                                const struct status_update *status)
{
    long long command = (long long)status->command_offset;
    if (outcome == NULL || outcome->status == STATUS_KIND_COUNT)
        return wrong("no Decision explains the status of command %lld", command);
    if (status->kind != outcome->status || status->order_version != outcome->order_version ||
        status->order_state != outcome->order_state || status->decided_at != outcome->decided_at ||
        status->decision_offset != outcome->decision_offset ||
        !text_equal(status->order_id, outcome->order_id))
        return wrong("the status of command %lld is another Decision's", command);
    return NULL;
}

static const char *take_status(struct model *model, const struct status_update *status)
{
    if (status->command_partition != model->partition)
        return NULL;
    struct model_outcome *outcome = outcome_of(model, status->command_offset);
    const char *failed = check_status(outcome, status);
    if (failed != NULL && tail_explains_status(model->world, model->partition, status))
        return explained_by_tail(model);
    if (failed != NULL)
        return failed;
    if (outcome->status_seen)
        world_count(model->world, SOMETIMES_STATUS_AGAIN);
    outcome->status_seen = true;
    return NULL;
}

static const char *check_alert(const struct model_outcome *outcome,
                               const struct operator_alert *alert, bool quarantine)
{
    long long command = (long long)alert->command_offset;
    if (outcome == NULL || outcome->alert == MODEL_NO_ALERT)
        return wrong("no Decision explains the alert of command %lld", command);
    if (quarantine != (outcome->alert == MODEL_QUARANTINE) ||
        alert->raised != (outcome->alert != MODEL_CLOSED) ||
        alert->decided_at != outcome->decided_at ||
        alert->decision_offset != outcome->decision_offset ||
        (outcome->alert == MODEL_RAISED && !text_equal(alert->code, outcome->alert_code)))
        return wrong("the alert of command %lld is another Decision's", command);
    return NULL;
}

/* Alerts without an order are a partition's or an instance's own, but for quarantined commands. */
static const char *take_alert(struct model *model, const struct operator_alert *alert)
{
    bool quarantine = text_equal(alert->code, TEXT("CommandQuarantined"));
    if (alert->partition != model->partition || (text_empty(alert->order_id) && !quarantine))
        return NULL;
    struct model_outcome *outcome = outcome_of(model, alert->command_offset);
    const char *failed = check_alert(outcome, alert, quarantine);
    if (failed != NULL && tail_explains_alert(model->world, model->partition, alert))
        return explained_by_tail(model);
    if (failed != NULL)
        return failed;
    outcome->alert_seen = true;
    return NULL;
}

/* ---- requests ---- */

static bool is_key(struct text key, struct text order_id, const struct model_attempt *attempt,
                   enum direction direction)
{
    char expected[256];
    snprintf(expected, sizeof(expected), "%.*s/%.*s/%s/", TEXT_ARG(order_id),
             TEXT_ARG(attempt->ref.step), direction == DIRECTION_DO ? "do" : "undo");
    size_t size = strlen(expected);
    if (direction == attempt->ref.direction)
        size +=
            (size_t)snprintf(expected + size, sizeof(expected) - size, "%u", attempt->generation);
    return key.size >= size && memcmp(key.data, expected, size) == 0 &&
           (direction != attempt->ref.direction || key.size == size);
}

/* The steps before `step` in the graph, however far; for an undo also the step itself. */
static uint64_t settled_steps(const struct workflow *workflow, uint32_t step,
                              enum direction direction)
{
    uint64_t settled = workflow->steps[step].after;
    for (uint32_t round = 0; round < workflow->step_count; round++)
        for (uint32_t i = 0; i < workflow->step_count; i++)
            if ((settled >> i & 1) != 0)
                settled |= workflow->steps[i].after;
    return direction == DIRECTION_UNDO ? settled | UINT64_C(1) << step : settled;
}

/* The place of a step in a workflow, or -1. */
static int step_of(const struct workflow *workflow, struct text name)
{
    for (uint32_t i = 0; i < workflow->step_count; i++)
        if (text_equal(workflow->steps[i].name, name))
            return (int)i;
    return -1;
}

/* I13: outputs of steps that are settled when the request is decided, and no others. Whatever
 * version the order has got since, they are those of the one that it had then. */
static const char *check_outputs(const struct model *model, const struct model_attempt *attempt,
                                 const struct step_request *request)
{
    const struct workflow *workflow = attempt->workflow;
    const struct model_order *order = &model->orders[attempt->order];
    int step = workflow != NULL ? step_of(workflow, request->ref.step) : -1;
    if (step < 0 || request->order->workflow_version != workflow->version)
        return wrong("the request %.*s is not of the version that its order had",
                     TEXT_ARG(request->idempotency_key));
    for (uint32_t i = 0; i < request->output_count && SETTLED_OUTPUTS; i++) {
        int from = step_of(workflow, request->outputs[i].step);
        if (from < 0 ||
            (settled_steps(workflow, (uint32_t)step, request->ref.direction) >> from & 1) == 0 ||
            !text_equal(request->outputs[i].output, model_output(order, request->outputs[i].step)))
            return wrong("the request %.*s carries an output of %.*s",
                         TEXT_ARG(request->idempotency_key), TEXT_ARG(request->outputs[i].step));
    }
    return NULL;
}

static const char *take_request(struct model *model, const struct step_request *request)
{
    if (partition_of(model->world, request->order_id) != model->partition)
        return NULL;
    if (tail_explains_request(model->world, model->partition, request))
        return explained_by_tail(model);
    struct model_request *expected = model_find_request(model, request);
    if (expected == NULL)
        return wrong("no Decision explains the request %.*s", TEXT_ARG(request->idempotency_key));
    const struct model_attempt *attempt = &model->attempts[expected->attempt];
    struct text order_id = model->orders[attempt->order].id;
    if (request->generation != attempt->generation || !text_equal(request->agent, attempt->agent) ||
        request->extension != expected->extension ||
        request->complete_by != expected->complete_by ||
        !text_equal(request->order->order_id, order_id) ||
        !is_key(request->idempotency_key, order_id, attempt, attempt->ref.direction) ||
        !is_key(request->do_key, order_id, attempt, DIRECTION_DO))
        return wrong("the request %.*s is not as it was decided",
                     TEXT_ARG(request->idempotency_key));
    expected->seen = true;
    return check_outputs(model, attempt, request);
}

/* ---- dead letters ---- */

static struct text header_of(const struct broker_record *record, const char *name)
{
    for (uint32_t i = 0; i < record->header_count; i++)
        if (text_equal(record->headers[i].name, text_of(name)))
            return record->headers[i].value;
    return (struct text){0};
}

static int64_t number_in(struct text text)
{
    char digits[32];
    snprintf(digits, sizeof(digits), "%.*s", TEXT_ARG(text));
    return strtoll(digits, NULL, 10);
}

/* I17: with its coordinates, reason and bytes, or the beginning of them. */
static const char *take_dead_command(struct model *model, const struct broker_record *letter)
{
    struct broker_record command;
    int64_t offset = number_in(header_of(letter, "__streams.errors.offset"));
    if (number_in(header_of(letter, "__streams.errors.partition")) != model->partition)
        return NULL;
    struct model_outcome *outcome = outcome_of(model, offset);
    bool dead = outcome != NULL && outcome->dead;
    if (!dead && tail_explains_letter(model->world, model->partition, offset))
        return explained_by_tail(model);
    if (!dead)
        return wrong("no Decision explains the dead letter of command %lld", (long long)offset);
    bool found =
        broker_memory_record(model->world->kafka, "p.commands", model->partition, offset, &command);
    if (!found || letter->value.size > command.value.size ||
        (letter->value.size > 0 &&
         memcmp(letter->value.data, command.value.data, letter->value.size) != 0) ||
        text_empty(header_of(letter, "__streams.errors.exception")))
        return wrong("the dead letter of command %lld has other bytes", (long long)offset);
    outcome->dead_seen = true;
    return NULL;
}

/* ---- topics ---- */

static const char *take_effect(struct model *model, struct text value)
{
    struct record record;
    struct error error;
    if (codec_decode(model->world->run->codec, value, true, &model->world->scratch.arena, &record,
                     &error) != ERROR_OK)
        return wrong("an effect cannot be decoded: %s", error.message);
    if (record.kind == RECORD_STATUS_UPDATE)
        return take_status(model, &record.status_update);
    if (record.kind == RECORD_OPERATOR_ALERT)
        return take_alert(model, &record.operator_alert);
    if (record.kind == RECORD_STEP_REQUEST)
        return take_request(model, &record.step_request);
    return wrong("a %s is not an effect", record_kind_name(record.kind));
}

static const char *take_record(struct model *model, const struct broker_record *record)
{
    struct text topic = header_of(record, "__streams.errors.topic");
    if (text_equal(topic, TEXT("p.commands")))
        return take_dead_command(model, record);
    return take_effect(model, record->value);
}

static const char *take_topic(struct model *model, const char *topic)
{
    const char *failed = NULL;
    for (int32_t p = 0; p < model->world->partitions; p++) {
        int64_t end = log_end(model->world, topic, p);
        for (int64_t at = 0; at < end && failed == NULL; at++) {
            struct broker_record record;
            if (broker_memory_record(model->world->kafka, topic, p, at, &record))
                failed = take_record(model, &record);
        }
    }
    return failed;
}

static const char *check_complete(const struct model *model)
{
    for (int64_t i = 0; i < model->outcome_count; i++) {
        const struct model_outcome *outcome = &model->outcomes[i];
        if (outcome->decision_offset < 0 && !outcome->purged)
            return wrong("command %lld was never decided", (long long)i);
        if (outcome->status != STATUS_KIND_COUNT && !outcome->status_seen)
            return wrong("the status of command %lld was never sent", (long long)i);
        if (outcome->alert != MODEL_NO_ALERT && !outcome->alert_seen)
            return wrong("the alert of command %lld was never sent", (long long)i);
        if (outcome->dead && !outcome->dead_seen)
            return wrong("the dead letter of command %lld was never sent", (long long)i);
    }
    return NULL;
}

static const char *check_requested(const struct model *model)
{
    for (uint32_t i = 0; i < model->request_count; i++) {
        const struct model_request *request = &model->requests[i];
        const struct model_attempt *attempt = &model->attempts[request->attempt];
        if (!attempt->ended && !request->seen)
            return wrong("%.*s/%.*s attempt %u is under way, and its %s was never sent",
                         TEXT_ARG(model->orders[attempt->order].id), TEXT_ARG(attempt->ref.step),
                         attempt->ref.attempt, request->extension ? "extension" : "request");
    }
    return NULL;
}

const char *model_check(struct world *world, int32_t partition)
{
    static const char *const topics[] = {"p.replies.app",    "p.replies.dead",   "p.alerts",
                                         "p.requests.agent", "p.requests.spare", "p.dead-letters"};
    struct model model;
    const char *failed = model_walk(world, partition, world->run->sometimes.rare, &model);
    for (size_t i = 0; i < sizeof(topics) / sizeof(topics[0]) && failed == NULL; i++)
        failed = take_topic(&model, topics[i]);
    if (failed == NULL)
        failed = model_check_messages(&model);
    if (failed == NULL)
        failed = check_complete(&model);
    if (failed == NULL)
        failed = check_requested(&model);
    model_free(&model);
    return failed;
}

const char *model_check_requests(struct world *world, int32_t partition)
{
    struct model model;
    const char *failed = model_walk(world, partition, NULL, &model);
    if (failed == NULL)
        failed = take_topic(&model, "p.requests.agent");
    if (failed == NULL)
        failed = take_topic(&model, "p.dead-letters");
    if (failed == NULL)
        failed = check_requested(&model);
    model_free(&model);
    return failed;
}
