/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/engine_equal.h"

#include "base/goods.h"

#define SAME(field)               \
    do {                          \
        if (a->field != b->field) \
            return #field;        \
    } while (0)
#define SAME_TEXT(field)                     \
    do {                                     \
        if (!text_equal(a->field, b->field)) \
            return #field;                   \
    } while (0)

static const char *goods_difference(const struct goods *a, const struct goods *b)
{
    SAME_TEXT(currency);
    SAME(line_count);
    for (uint32_t i = 0; i < a->line_count; i++) {
        SAME_TEXT(lines[i].sku);
        SAME_TEXT(lines[i].description);
        SAME(lines[i].quantity);
        SAME(lines[i].unit_price.unscaled);
    }
    return NULL;
}

static const char *details_difference(const struct order_details *a, const struct order_details *b)
{
    SAME_TEXT(order_id);
    SAME_TEXT(customer);
    SAME_TEXT(input);
    SAME(attribute_count);
    SAME(priority);
    SAME_TEXT(reply_to);
    SAME_TEXT(workflow);
    SAME(workflow_version);
    SAME_TEXT(traceparent);
    SAME_TEXT(submitted_by);
    if (memcmp(&a->content_hash, &b->content_hash, sizeof(a->content_hash)) != 0)
        return "content_hash";
    for (uint32_t i = 0; i < a->attribute_count; i++) {
        SAME_TEXT(attributes[i].name);
        SAME_TEXT(attributes[i].value);
    }
    if (!order_parent_equal(a->parent, b->parent))
        return "parent";
    return goods_difference(goods_or_none(a->goods), goods_or_none(b->goods));
}

static const char *awaiting_difference(const struct awaiting *a, const struct awaiting *b)
{
    SAME_TEXT(group);
    SAME_TEXT(question);
    SAME_TEXT(payload);
    SAME_TEXT(by);
    SAME_TEXT(signal_id);
    SAME(signals);
    SAME(options.count);
    for (uint32_t i = 0; i < a->options.count; i++)
        SAME_TEXT(options.items[i]);
    return NULL;
}

static const char *suborders_difference(const struct suborders *a, const struct suborders *b)
{
    SAME_TEXT(workflow);
    SAME_TEXT(list);
    SAME(item_count);
    SAME(quota);
    SAME(priority);
    SAME(asked_since);
    SAME(times_out_at);
    SAME(recalled);
    SAME(stopped);
    SAME(failed);
    SAME(undo_failed);
    SAME_TEXT(error_name);
    SAME_TEXT(error_message);
    for (uint32_t i = 0; i < a->item_count; i++) {
        SAME(items[i].state);
        SAME(items[i].generation);
        SAME(items[i].submitted_at);
        SAME_TEXT(items[i].input);
        SAME_TEXT(items[i].output);
    }
    return NULL;
}

static const char *step_difference(const struct step *a, const struct step *b)
{
    SAME_TEXT(name);
    SAME_TEXT(agent);
    SAME(direction);
    SAME(state);
    SAME(attempt);
    SAME(failure_count);
    SAME_TEXT(locked_by);
    SAME(complete_by);
    SAME(extension_ms);
    SAME(margin_ms);
    SAME(wait.retry_at);
    SAME(wait.queued_at);
    SAME(effect);
    SAME(undo_effect);
    for (int i = 0; i < DIRECTION_COUNT; i++)
        SAME(generation[i]);
    for (int i = 0; i < RETRIERS_MAX; i++)
        SAME(retries_used[i]);
    SAME(started_version);
    SAME(completed_version);
    SAME(started_at);
    SAME(inputs);
    SAME(workflow_version);
    SAME(ended_at);
    SAME_TEXT(input);
    SAME_TEXT(output);
    SAME_TEXT(error_name);
    SAME_TEXT(error_message);
    if ((a->awaiting == NULL) != (b->awaiting == NULL))
        return "awaiting";
    if ((a->suborders == NULL) != (b->suborders == NULL))
        return "suborders";
    const char *difference =
        a->suborders != NULL ? suborders_difference(a->suborders, b->suborders) : NULL;
    if (difference != NULL)
        return difference;
    return a->awaiting != NULL ? awaiting_difference(a->awaiting, b->awaiting) : NULL;
}

const char *order_difference(const struct order *a, const struct order *b)
{
    const char *difference = details_difference(&a->details, &b->details);
    if (difference != NULL)
        return difference;
    SAME(version);
    SAME(state);
    SAME(error_from);
    SAME(accepted_at);
    SAME(accepted_offset);
    SAME(stated_offset);
    SAME(updated_at);
    SAME(complete_by);
    SAME(margin_ms);
    SAME(ended_at);
    SAME(step_count);
    SAME(alert_open);
    SAME(cancelled);
    SAME_TEXT(reason_code);
    SAME_TEXT(reason);
    SAME_TEXT(reason_by);
    SAME_TEXT(paused_by);
    SAME_TEXT(pause_reason);
    SAME_TEXT(output);
    SAME_TEXT(output_problem);
    SAME(held_at);
    for (uint32_t i = 0; i < a->step_count; i++) {
        difference = step_difference(&a->steps[i], &b->steps[i]);
        if (difference != NULL)
            return difference;
    }
    return NULL;
}
