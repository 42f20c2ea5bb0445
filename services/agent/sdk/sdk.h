/* SPDX-License-Identifier: Apache-2.0 */
/* Between the public callbacks and the core: the parts of reeve_agent_run(), for tests. */
#ifndef SERVICES_AGENT_SDK_SDK_H
#define SERVICES_AGENT_SDK_SDK_H

#include "services/agent/core/agent_ops.h"

struct reeve_agent_ops;

/* For tests: the program's callbacks as the core sees them; of one program at a time. `ops` is
 * borrowed for as long as the result is used. Static. */
const struct agent_ops *sdk_agent_ops(const struct reeve_agent_ops *ops);

/* For tests: the keys of reeve and those of the program; `keys` is new. */
struct config_schema sdk_config_schema(const struct reeve_agent_ops *ops);

#endif
