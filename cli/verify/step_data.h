/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a step has finished, until when it waits, and what its attempts get, as far as its events
 * say. For the rules
 * of `reeve verify`; written apart from the engine. */
#ifndef CLI_VERIFY_STEP_DATA_H
#define CLI_VERIFY_STEP_DATA_H

#include "engine/event.h"

/* What the attempts of a generation get, where the step has an Input. */
struct step_input {
    bool made;
    uint32_t generation;
    uint64_t hash;
};

struct step_data {
    bool finished; /* Processed, Skipped or Caught: the steps after it may begin */
    struct step_input inputs[DIRECTION_COUNT];
    int64_t due_at; /* the moment that it waits for, or until which it awaits a signal; 0: none */
    bool awaits;    /* it waits for a signal */
    bool asks;      /* of a group, whose signals alone count */
};

struct step_data step_data_of(const struct step *step);
/* An event of the step. Returns what is wrong with it, or NULL. */
const char *step_data_follow(struct step_data *data, const struct event *event, int64_t decided_at);
/* Its order has another version, whose Input may be another one. */
void step_data_forget_input(struct step_data *data);
/* Its order has another input, of which nothing has been made for it yet. */
void step_data_begin_again(struct step_data *data);

#endif
