/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/verify/step_items.h"

#include <assert.h>
#include <stdlib.h>

void step_items_deinit(struct step_items *items)
{
    free(items->items);
    *items = (struct step_items){0};
}

static void make(struct step_items *items, uint32_t count)
{
    step_items_deinit(items);
    items->items = calloc(count + 1, sizeof(items->items[0]));
    assert(items->items != NULL);
    items->count = count;
}

void step_items_take(struct step_items *items, const struct suborders *suborders)
{
    step_items_deinit(items);
    if (suborders == NULL)
        return;
    make(items, suborders->item_count);
    items->recalled = suborders->recalled;
    for (uint32_t i = 0; i < suborders->item_count; i++)
        items->items[i] =
            (struct item_track){suborders->items[i].state, suborders->items[i].generation};
}

/* NULL: there is no such item. */
static struct item_track *find(const struct step_items *items, int64_t number)
{
    int64_t place = number < 0 ? 0 : number;
    return items->items != NULL && place < items->count ? &items->items[place] : NULL;
}

static bool any_unanswered(const struct step_items *items)
{
    for (uint32_t i = 0; i < items->count; i++) {
        enum item_state state = items->items[i].state;
        if (state == ITEM_SUBMITTED || (state == ITEM_HELD && items->recalled))
            return true;
    }
    return false;
}

static const char *start(struct step_items *items, const struct suborders_started *started)
{
    if (items->items != NULL && items->count != started->count)
        return "begins again with another number of sub-orders";
    if (items->items != NULL && any_unanswered(items))
        return "begins again, and one of its sub-orders has not answered";
    if (items->items == NULL)
        make(items, started->count);
    for (uint32_t i = 0; i < items->count; i++) {
        if (items->items[i].state == ITEM_FAILED)
            items->items[i].state = ITEM_TO_DO;
    }
    items->recalled = false;
    return NULL;
}

static const char *submit(struct step_items *items, const struct suborders_submitted *submitted)
{
    if (submitted->item_count > 0 && items->recalled)
        return "submits a sub-order after it was recalled";
    for (uint32_t i = 0; i < submitted->item_count; i++) {
        struct item_track *item = find(items, submitted->items[i].item);
        if (item == NULL || item->state != ITEM_TO_DO)
            return "submits a sub-order that is not to be done";
        item->state = text_empty(submitted->items[i].error_name) ? ITEM_SUBMITTED : ITEM_FAILED;
        item->generation = submitted->generation;
    }
    return NULL;
}

static const char *end_item(struct step_items *items, const struct suborder_ended *ended)
{
    struct item_track *item = find(items, ended->item);
    if (item == NULL || (item->state != ITEM_SUBMITTED && item->state != ITEM_HELD))
        return "has a sub-order end that was not to";
    if (item->generation != ended->generation)
        return "has a sub-order of another generation end";
    item->state = ended->outcome == SUBORDER_HELD    ? ITEM_HELD
                  : ended->outcome == SUBORDER_FINAL ? ITEM_FINAL
                                                     : ITEM_FAILED;
    return NULL;
}

const char *step_items_follow(struct step_items *items, const struct event *event)
{
    bool ends = event->kind == EVENT_STEP_SUCCEEDED || event->kind == EVENT_STEP_FAILED;
    if (event->kind == EVENT_SUBORDERS_STARTED)
        return start(items, &event->suborders_started);
    if (event->kind == EVENT_SUBORDERS_SUBMITTED)
        return submit(items, &event->suborders_submitted);
    if (event->kind == EVENT_SUBORDER_ENDED)
        return end_item(items, &event->suborder_ended);
    if (event->kind == EVENT_SUBORDERS_RECALLED)
        items->recalled = true;
    return ends && any_unanswered(items) ? "ends, and one of its sub-orders has not answered"
                                         : NULL;
}
