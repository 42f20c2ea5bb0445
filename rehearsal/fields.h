/* SPDX-License-Identifier: Apache-2.0 */
/* The mappings of a file of tests and their fields. Inside rehearsal/ only. */
#ifndef REHEARSAL_FIELDS_H
#define REHEARSAL_FIELDS_H

#include "workflow/field_table.h"

enum case_place {
    CASE_PLACE_FILE,
    CASE_PLACE_CASE,
    CASE_PLACE_ANSWER,
    CASE_PLACE_ACT,
    CASE_PLACE_SIGNAL,
    CASE_PLACE_EXPECT,
    CASE_PLACE_COUNT
};

enum case_field {
#define FIELD(constant, name, form, description) CASE_FIELD_##constant,
#include "rehearsal/fields.def"
    CASE_FIELD_COUNT
};
_Static_assert((int)CASE_FIELD_COUNT <= (int)FIELDS_MAX, "a set of fields fits a uint64_t");

extern const struct enum_names command_names; /* of acts.def, by row */

const char *case_field_name(enum case_field field);
/* fields_take() of a file of tests. */
bool case_fields_take(const struct yaml_node *node, enum case_place place,
                      struct workflow_problems *problems, struct field_values *ret_fields);

#endif
