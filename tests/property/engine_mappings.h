/* SPDX-License-Identifier: Apache-2.0 */
/* Random conditions and mappings for the steps of a random workflow. */
#ifndef TESTS_PROPERTY_ENGINE_MAPPINGS_H
#define TESTS_PROPERTY_ENGINE_MAPPINGS_H

#include "engine/workflow.h"
#include "tests/property/engine_terms.h"

/* The trees of what the workflow compiler made a step's fields of; NULL: the step has none. */
struct mappings {
    const struct term *when;
    const struct term *input;
    const struct term *output;
    const struct term *undo_input;
    const struct term *set;
    const struct term *message;
    const struct term *until;
    const struct term *question;
    const struct term *seconds;
    struct text timestamp; /* a time as an expression; empty: none */
    int64_t moment;        /* the same; -1: it is not a time */
};

/* Every workflow of these histories is the first member of one. */
struct mapped_workflow {
    struct workflow workflow;
    struct mappings steps[WORKFLOW_STEPS_MAX];
    const struct term *output;
};

static inline const struct mapped_workflow *mapped_of(const struct workflow *workflow)
{
    return (const struct mapped_workflow *)workflow;
}

/* A group of users that an Await may ask: there are two. */
struct text mappings_group(struct dice *dice);
/* The workflow, some of whose steps have conditions and mappings, and some are without agents. In
 * the arena. */
const struct workflow *mappings_draw(struct dice *dice, struct arena *arena,
                                     const struct workflow *workflow);
/* `other` with the mappings that the steps of these names have in `before`. Those that read what
 * may no longer be read are gone, and some are drawn again: mostly those of the step `corrected`,
 * unless that is empty. */
const struct workflow *mappings_of_version(struct dice *dice, struct arena *arena,
                                           const struct workflow *other,
                                           const struct workflow *before, struct text corrected);
/* Whether two Inputs, Untils or Outputs say the same. */
bool mappings_same_input(const struct term *a, const struct term *b, struct arena *arena);

#endif
