/* SPDX-License-Identifier: Apache-2.0 */
/* The deployed workflows of a process, as <p>.workflows tells them: the FIRST definition of a
 * name:version counts. Owns its memory; a workflow found stays valid until the registry is freed.
 * Loop thread only. */
#ifndef WORKFLOW_REGISTRY_H
#define WORKFLOW_REGISTRY_H

#include "base/error.h"
#include "engine/workflow.h"

struct workflow_registry;

struct workflow_entry {
    struct workflow_definition definition; /* as deployed */
    const struct workflow *workflow;       /* compiled */
};

struct workflow_registry *workflow_registry_new(void);
void workflow_registry_free(struct workflow_registry *registry);

/* Copies and compiles the definition. A name:version that is there already is left as it is (OK).
 * REJECT "BadWorkflow" when the text does not compile or does not say the name and version that the
 * record says; then no later definition of that name:version is taken either. */
enum error_class workflow_registry_add(struct workflow_registry *registry,
                                       const struct workflow_definition *definition,
                                       struct error *ret_error);
/* NULL: there is none. `version` 0: the newest. */
const struct workflow *workflow_registry_find(const struct workflow_registry *registry,
                                              struct text name, uint32_t version);
const struct workflow_entry *workflow_registry_entry(const struct workflow_registry *registry,
                                                     struct text name, uint32_t version);
uint32_t workflow_registry_count(const struct workflow_registry *registry);
/* By name, then version. */
const struct workflow_entry *workflow_registry_at(const struct workflow_registry *registry,
                                                  uint32_t index);

#endif
