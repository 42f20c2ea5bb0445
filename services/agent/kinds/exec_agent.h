/* SPDX-License-Identifier: Apache-2.0 */
/* The exec agent: one run of a program for each try. docs/use/agents.md says what the program
 * finds and what its exit code means. */
#ifndef SERVICES_AGENT_KINDS_EXEC_AGENT_H
#define SERVICES_AGENT_KINDS_EXEC_AGENT_H

#include "services/agent/core/agent_ops.h"

extern const struct agent_ops exec_agent_ops;

/* Exit codes with a meaning (those of sysexits.h where it has one). Every other code, and an end by
 * a signal, is a failure of unknown effect that may be retried. */
enum exec_code {
    EXEC_DONE = 0,
    EXEC_REFUSED = 65,  /* a business error: nothing was applied, a retry will not help */
    EXEC_LATER = 75,    /* nothing was applied, a retry may help */
    EXEC_ACCEPTED = 79, /* the outcome is reported later, at $REEVE_CALLBACK */
};

#endif
