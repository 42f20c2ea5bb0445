/* SPDX-License-Identifier: Apache-2.0 */
/* The mappings of a workflow file and their fields: one table that says what is known where. */
#ifndef WORKFLOW_FIELDS_H
#define WORKFLOW_FIELDS_H

#include "workflow/tree.h"

enum workflow_place {
    PLACE_WORKFLOW,
    PLACE_DEFAULTS,
    PLACE_DEFAULTS_COMPENSATE,
    PLACE_STEP,
    PLACE_COMPENSATE,
    PLACE_FAIL,
    PLACE_RETRIER,
    PLACE_CATCHER,
    PLACE_COUNT
};

enum field {
#define FIELD(constant, name) FIELD_##constant,
#include "workflow/fields.def"
    FIELD_COUNT
};

/* Sets of fields are a uint64_t, a bit for each. */
#define FIELD_BIT(field) (UINT64_C(1) << (field))
_Static_assert(FIELD_COUNT <= 64, "a set of fields fits a uint64_t");

/* The values of a mapping by field; NULL: not given. */
struct workflow_fields {
    struct mark mark; /* of the mapping */
    const struct yaml_node *of[FIELD_COUNT];
    uint64_t given; /* these and those that have no value */
};

const char *workflow_field_name(enum field field);
/* Sorts out the fields of `node`, which stands at `place`, and tells what is unknown, missing or
 * empty. False: it is not a mapping. */
bool workflow_fields_take(const struct yaml_node *node, enum workflow_place place,
                          struct workflow_problems *problems, struct workflow_fields *ret_fields);

#endif
