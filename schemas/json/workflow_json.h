/* SPDX-License-Identifier: Apache-2.0 */
/* A deployed workflow as JSON, as the console's API and `reeve workflow` show it. */
#ifndef SCHEMAS_JSON_WORKFLOW_JSON_H
#define SCHEMAS_JSON_WORKFLOW_JSON_H

#include "engine/workflow.h"

#include <jansson.h>

/* New. `latest`: its activation or retirement, with version 0 if there was none; `active`: new
 * orders that name no version take this one; `retired`: it takes no new orders. */
json_t *workflow_json(const struct workflow *workflow, const struct workflow_definition *definition,
                      const struct workflow_activation *latest, bool active, bool retired);

#endif
