/* SPDX-License-Identifier: Apache-2.0 */
/* A process of a world, whatever service it runs: its configuration, loop and connection. */
#ifndef TESTS_PROPERTY_OWNERSHIP_PROCESS_H
#define TESTS_PROPERTY_OWNERSHIP_PROCESS_H

#include "tests/property/ownership_world.h"

/* `name` is borrowed until the process ends; `flags` as of cluster_open(). */
void process_boot(struct world *world, struct process *process, const struct host_clock *host,
                  const char *name, unsigned flags);
/* The service has freed what is its own. */
void process_shut(struct process *process);

#endif
