/* SPDX-License-Identifier: Apache-2.0 */
/* Between the public callbacks and the core, for reeve_agent_run() and its tests. */
#ifndef SERVICES_AGENT_SDK_SDK_H
#define SERVICES_AGENT_SDK_SDK_H

#include "services/agent/core/agent_ops.h"

struct reeve_agent_ops;

/* The program's callbacks as the core sees them; of one program at a time. `ops` is borrowed for as
 * long as the result is used. Static. */
const struct agent_ops *sdk_agent_ops(const struct reeve_agent_ops *ops);

/* The keys of reeve and those of the program; `keys` is new. */
struct config_schema sdk_config_schema(const struct reeve_agent_ops *ops);

#endif
