/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of an order's log (engine_rules.h) over a log of a world: every Decision that counts is
 * the one that its command deserves. That covers the grammar of events (I3), the order of steps
 * (I4), attempts and their outcomes (I5, I6, I7), compensation (I9) and thresholds (I10). */
#include "tests/property/ownership_model.h"
#include "tests/property/ownership_trees.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

/* The version that a submission gets, if it names none, is the active one. */
static uint32_t version_of(const struct command *cmd, const struct decision *decision)
{
    uint32_t named = cmd->submit_order.workflow_version;
    return named != 0 ? named : decision->events[0].order_accepted.details.workflow_version;
}

/* `cmd` and `decision` are about its submission if it has none yet. */
static struct rules *rules_of(struct model *model, struct model_order *order,
                              const struct command *cmd, const struct decision *decision)
{
    const struct world *world = model->world;
    if (order->rules != NULL)
        return order->rules;
    /* Only some pages of it are touched. */
    order->rules = calloc(1, sizeof(*order->rules));
    assert(order->rules != NULL);
    order->rules->workflow = world_workflow(world, version_of(cmd, decision));
    assert(order->rules->workflow != NULL);
    order->rules->rare = model->rare;
    for (uint32_t i = 0; i + 1 < model->order_count; i++)
        if (model->orders[i].expired && text_equal(model->orders[i].id, order->id))
            world_count(model->world, SOMETIMES_AGAIN);
    order->rules->routing_unknown = world->routed;
    return order->rules;
}

/* ---- what the owner knows of <p>.workflows ---- */

static bool is_rejected_as(const struct decision *decision, struct text code)
{
    const struct event *event = &decision->events[0];
    return event->kind == EVENT_COMMAND_REJECTED && text_equal(event->command_rejected.code, code);
}

/* The other version, as far as the owner can know it. */
static const char *find_target(struct model *model, struct rules *rules, uint32_t version,
                               const struct decision *decision)
{
    bool unknown = is_rejected_as(decision, TEXT("UnknownWorkflow"));
    bool retired = is_rejected_as(decision, TEXT("WorkflowRetired"));
    bool usable = decision->events[0].kind == EVENT_ORDER_MIGRATED ||
                  is_rejected_as(decision, TEXT("StepsDiffer"));
    rules->target = unknown ? NULL : world_workflow(model->world, version);
    rules->target_retired = retired;
    enum version_state state = unknown   ? VERSION_UNKNOWN
                               : retired ? VERSION_RETIRED
                                         : VERSION_USABLE;
    if (!unknown && !retired && !usable)
        return NULL;
    if (!deployments_explain(model->world, &model->reader, version, state))
        return wrong("its owner cannot know of version %u what it says", version);
    return NULL;
}

static const char *check_active(struct model *model, const struct decision *decision)
{
    uint32_t version = decision->events[0].order_accepted.details.workflow_version;
    if (!deployments_explain(model->world, &model->reader, version, VERSION_ACTIVE))
        return wrong("version %u is not active", version);
    if (!deployments_is_newest(model->world, &model->reader, version))
        world_count(model->world, SOMETIMES_ACTIVE_TAKEN);
    return NULL;
}

/* Of an order that was never accepted, whatever is asked of it is refused. */
static const char *follow_unknown(const struct model *model, const struct command *cmd,
                                  const struct decision *decision)
{
    static struct rules nothing;
    static uint64_t rare[RARE_COUNT];
    rules_init(&nothing, model->world->workflow, rare);
    return rules_follow(&nothing, cmd, decision, NULL);
}

/* NULL, or what the Decision must not be. */
static const char *follow(struct model *model, const struct command *cmd,
                          const struct decision *decision)
{
    struct model_order *order = model_order_of(model, decision->order_id);
    bool accepts = decision->events[0].kind == EVENT_ORDER_ACCEPTED;
    if (order == NULL || (order->rules == NULL && !accepts))
        return follow_unknown(model, cmd, decision);
    struct rules *rules = rules_of(model, order, cmd, decision);
    const char *broken = NULL;
    if (accepts && cmd->submit_order.workflow_version == 0)
        broken = check_active(model, decision);
    if (cmd->kind == COMMAND_MIGRATE_ORDER)
        broken = find_target(model, rules, cmd->migrate_order.version, decision);
    return broken != NULL ? broken : rules_follow(rules, cmd, decision, NULL);
}

const char *model_follow_rules(struct model *model, const struct decision *decision)
{
    struct world *world = model->world;
    struct broker_record bytes;
    struct record record;
    struct error error;
    if (decision->events[0].kind == EVENT_COMMAND_DEAD_LETTERED)
        return NULL;
    if (trees_has(decision->order_id)) { /* trees-property follows them */
        trees_see_decision(world, decision);
        return NULL;
    }
    bool found = broker_memory_record(world->kafka, "p.commands", model->partition,
                                      decision->command_offset, &bytes);
    if (!found || codec_decode(world->run->codec, bytes.value, true, &world->scratch.arena, &record,
                               &error) != ERROR_OK)
        return wrong("command %lld is decided, and cannot be read",
                     (long long)decision->command_offset);
    const char *broken = follow(model, &record.command, decision);
    if (broken == NULL)
        return NULL;
    char reason[200];
    snprintf(reason, sizeof(reason), "%s", broken); /* it may be in the memory of wrong() */
    return wrong("%.*s: command %lld, a %s: %s", TEXT_ARG(decision->order_id),
                 (long long)decision->command_offset, record_kind_name(record.kind), reason);
}
