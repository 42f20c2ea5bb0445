/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of an order's log (engine_rules.h) over a log of a world: every Decision that counts is
 * the one that its command deserves. That covers the grammar of events (I3), the order of steps
 * (I4), attempts and their outcomes (I5, I6, I7), compensation (I9) and thresholds (I10). */
#include "tests/property/ownership_model.h"

#include <assert.h>
#include <stdlib.h>

/* `cmd` is its submission if it has none yet. */
static struct rules *rules_of(struct model *model, struct model_order *order,
                              const struct command *cmd)
{
    const struct world *world = model->world;
    if (order->rules != NULL)
        return order->rules;
    /* Only some pages of it are touched. */
    order->rules = calloc(1, sizeof(*order->rules));
    assert(order->rules != NULL);
    bool usual = cmd->submit_order.workflow_version == world->workflow->version;
    order->rules->workflow = usual ? world->workflow : world->spare;
    order->rules->rare = model->rare;
    order->rules->routing_unknown = world->routed;
    return order->rules;
}

/* Of an order that was never accepted, whatever is asked of it is refused. */
static const char *follow_unknown(const struct model *model, const struct command *cmd,
                                  const struct decision *decision)
{
    static struct rules nothing;
    static uint64_t rare[RARE_COUNT];
    rules_init(&nothing, model->world->workflow, rare);
    return rules_follow(&nothing, cmd, decision, NULL, 0);
}

const char *model_follow_rules(struct model *model, const struct decision *decision)
{
    struct world *world = model->world;
    struct broker_record bytes;
    struct record record;
    struct error error;
    if (decision->events[0].kind == EVENT_COMMAND_DEAD_LETTERED)
        return NULL;
    bool found = broker_memory_record(world->kafka, "p.commands", model->partition,
                                      decision->command_offset, &bytes);
    if (!found || codec_decode(world->run->codec, bytes.value, true, &world->scratch.arena, &record,
                               &error) != ERROR_OK)
        return wrong("command %lld is decided, and cannot be read",
                     (long long)decision->command_offset);
    struct model_order *order = model_order_of(model, decision->order_id);
    bool accepts = decision->events[0].kind == EVENT_ORDER_ACCEPTED;
    const char *broken = order == NULL || (order->rules == NULL && !accepts)
                             ? follow_unknown(model, &record.command, decision)
                             : rules_follow(rules_of(model, order, &record.command),
                                            &record.command, decision, NULL, 0);
    if (broken == NULL)
        return NULL;
    return wrong("%.*s: command %lld, a %s: %s", TEXT_ARG(decision->order_id),
                 (long long)decision->command_offset, record_kind_name(record.kind), broken);
}
