/* SPDX-License-Identifier: Apache-2.0 */
/* What has become of a step's sub-orders, as far as the events of its order say. For the rules of
 * `reeve verify`; written apart from the engine. */
#ifndef CLI_VERIFY_STEP_ITEMS_H
#define CLI_VERIFY_STEP_ITEMS_H

#include "engine/event.h"

struct item_track {
    enum item_state state;
    uint32_t generation;
};

struct step_items {
    struct item_track *items; /* NULL: the step has started none */
    uint32_t count;
    bool recalled;
};

void step_items_deinit(struct step_items *items);
/* As a Statement has them; in place of what was known. */
void step_items_take(struct step_items *items, const struct suborders *suborders);
/* An event of the step, or SuborderEnded of it. Returns what is wrong with it, or NULL. */
const char *step_items_follow(struct step_items *items, const struct event *event);

#endif
