/* SPDX-License-Identifier: Apache-2.0 */
/* The mappings of a kind of file and their fields: one table that says what is known where.
 * workflow/fields.h has that of workflow files. */
#ifndef WORKFLOW_FIELD_TABLE_H
#define WORKFLOW_FIELD_TABLE_H

#include "workflow/tree.h"

/* Sets of fields are a uint64_t, a bit for each. */
enum { FIELDS_MAX = 64 };
#define FIELD_BIT(field) (UINT64_C(1) << (field))

struct field_place {
    const char *phrase; /* "an unknown field of ..." */
    uint64_t known;
    uint64_t required;
    uint64_t one_of; /* at least one of these; the first one is missed where there is none */
};

/* A field that people try because others have it, and what there is instead. */
struct foreign_field {
    struct text name;
    const char *instead;
};

struct field_table {
    const struct text *names; /* by field */
    uint32_t count;
    const struct field_place *places;
    uint32_t place_count;
    const struct foreign_field *foreign;
    uint32_t foreign_count;
};

/* The values of a mapping by field; NULL: not given. */
struct field_values {
    struct mark mark; /* of the mapping */
    const struct yaml_node *of[FIELDS_MAX];
    uint64_t given; /* these and those that have no value */
};

/* Sorts out the fields of `node`, which stands at `place`, and tells what is unknown, missing or
 * empty. False: it is not a mapping. */
bool fields_take(const struct field_table *table, const struct yaml_node *node, uint32_t place,
                 struct workflow_problems *problems, struct field_values *ret_fields);

#endif
