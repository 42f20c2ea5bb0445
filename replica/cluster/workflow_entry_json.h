/* SPDX-License-Identifier: Apache-2.0 */
/* Deployed workflows, and what `reeve workflow lint` says of a text, as the console's API and
 * `reeve workflow` show them. All results are new. */
#ifndef REPLICA_CLUSTER_WORKFLOW_ENTRY_JSON_H
#define REPLICA_CLUSTER_WORKFLOW_ENTRY_JSON_H

#include "workflow/diff.h"
#include "workflow/registry.h"

#include <jansson.h>

/* The entry is one of the registry's: schemas/json/workflow_json.h. */
json_t *workflow_entry_json(const struct workflow_registry *registry,
                            const struct workflow_entry *entry);
/* {"line", "column", "severity", "message"} */
json_t *workflow_problem_json(const struct workflow_problem *problem);
json_t *workflow_problems_json(const struct workflow_problem *problems, uint32_t count);
/* {"step", "field", "left", "right", "warning"} */
json_t *workflow_difference_json(const struct workflow_difference *difference);

#endif
