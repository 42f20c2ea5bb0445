/* SPDX-License-Identifier: Apache-2.0 */
/* The mappings of a file of a schedule and their fields. Inside schedule/ only. */
#ifndef SCHEDULE_FIELDS_H
#define SCHEDULE_FIELDS_H

#include "workflow/field_table.h"

enum schedule_place { SCHEDULE_PLACE_FILE, SCHEDULE_PLACE_ORDER, SCHEDULE_PLACE_COUNT };

enum schedule_field {
#define FIELD(constant, name, form, description) SCHEDULE_FIELD_##constant,
#include "schedule/fields.def"
    SCHEDULE_FIELD_COUNT
};
_Static_assert((int)SCHEDULE_FIELD_COUNT <= (int)FIELDS_MAX, "a set of fields fits a uint64_t");

/* fields_take() of a file of a schedule. */
bool schedule_fields_take(const struct yaml_node *node, enum schedule_place place,
                          struct workflow_problems *problems, struct field_values *ret_fields);

#endif
