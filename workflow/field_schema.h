/* SPDX-License-Identifier: Apache-2.0 */
/* A table of fields as JSON Schema, for editors: what they complete, explain and underline. */
#ifndef WORKFLOW_FIELD_SCHEMA_H
#define WORKFLOW_FIELD_SCHEMA_H

#include "workflow/field_table.h"

#include <jansson.h>

/* Of files whose root is the first place of the table. Draft 7, which the language servers for YAML
 * know best. It refuses what does not fit the table; what else there is to check is lint's. New. */
json_t *field_table_schema(const struct field_table *table, const char *title);

#endif
