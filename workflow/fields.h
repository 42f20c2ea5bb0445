/* SPDX-License-Identifier: Apache-2.0 */
/* The mappings of a workflow file and their fields. */
#ifndef WORKFLOW_FIELDS_H
#define WORKFLOW_FIELDS_H

#include "workflow/field_table.h"

enum workflow_place {
    PLACE_WORKFLOW,
    PLACE_DEFAULTS,
    PLACE_DEFAULTS_COMPENSATE,
    PLACE_STEP,
    PLACE_COMPENSATE,
    PLACE_FAIL,
    PLACE_WAIT,
    PLACE_AWAIT,
    PLACE_FOR_EACH,
    PLACE_RETRIER,
    PLACE_CATCHER,
    PLACE_COUNT
};

enum field {
#define FIELD(constant, name, form, description) FIELD_##constant,
#include "workflow/fields.def"
    FIELD_COUNT
};

_Static_assert((int)FIELD_COUNT <= (int)FIELDS_MAX, "a set of fields fits a uint64_t");

/* The words of fields. */
extern const struct enum_names next_words;         /* by enum outcome */
extern const struct enum_names on_exhausted_words; /* the first ones of enum outcome */
extern const struct enum_names jitter_words;       /* by enum jitter */
/* The names of errors that begin with "States.", and those that may be retried, the first ones. */
extern const struct enum_names reserved_errors;
extern const struct enum_names retried_errors;

/* Those of workflow files. */
extern const struct field_table workflow_fields;

const char *workflow_field_name(enum field field);
/* fields_take() of a workflow file. */
bool workflow_fields_take(const struct yaml_node *node, enum workflow_place place,
                          struct workflow_problems *problems, struct field_values *ret_fields);

#endif
