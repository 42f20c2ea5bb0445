/* SPDX-License-Identifier: Apache-2.0 */
/* The ready-made HTTP agent: each try is a POST of JSON to <agent.http.url>/<action>.
 * docs/use/remote-services.md says what a remote service gets, and what it has to promise. */
#ifndef SERVICES_AGENT_KINDS_HTTP_AGENT_H
#define SERVICES_AGENT_KINDS_HTTP_AGENT_H

#include "services/agent/core/agent_ops.h"

extern const struct agent_ops http_agent_ops;

#endif
