/* SPDX-License-Identifier: Apache-2.0 */
/* The deployed workflows of a process, as <p>.workflows tells them: the FIRST definition of a
 * name:version counts, and the LATEST activation. Owns its memory; a workflow found stays valid
 * until the registry is freed. Loop thread only.
 *
 * One version of a name is active: the one that was activated last, or, if none ever was, the
 * newest. If that one is retired, none is active: new orders have to name another one. */
#ifndef WORKFLOW_REGISTRY_H
#define WORKFLOW_REGISTRY_H

#include "base/error.h"
#include "workflow/workflow_file.h"

struct workflow_registry;

struct workflow_entry {
    struct workflow_definition definition;   /* as deployed */
    const struct workflow *workflow;         /* compiled */
    const struct workflow_problem *warnings; /* of the text, as `reeve workflow lint` has them */
    uint32_t warning_count;
    uint64_t activated; /* the larger, the later it became the active one; 0: never */
    bool chosen;        /* by an activation, at least once */
    bool retired;       /* takes no new orders */
    struct workflow_activation latest; /* version 0: there was none */
};

struct workflow_registry *workflow_registry_new(void);
void workflow_registry_free(struct workflow_registry *registry);

/* Copies and compiles the definition. A name:version that is there already is left as it is (OK).
 * REJECT "BadWorkflow" when the text does not compile or does not say the name and version that the
 * record says; then no later definition of that name:version is taken either. */
enum error_class workflow_registry_add(struct workflow_registry *registry,
                                       const struct workflow_definition *definition,
                                       struct error *ret_error);
/* The latest one about the version counts. REJECT "UnknownWorkflow" when it is not deployed. */
enum error_class workflow_registry_activate(struct workflow_registry *registry,
                                            const struct workflow_activation *activation,
                                            struct error *ret_error);
/* Whether an activation says which version of the name is active. */
bool workflow_registry_is_chosen(const struct workflow_registry *registry, struct text name);
/* The version that was active before the active one and is not retired; NULL: none. */
const struct workflow_entry *workflow_registry_previous(const struct workflow_registry *registry,
                                                        struct text name);
/* Its first definition does not compile: no later one of that version counts. */
bool workflow_registry_refuses(const struct workflow_registry *registry, struct text name,
                               uint32_t version);
/* NULL: there is none. `version` 0: the active one, or the retired one that was. The body of a step
 * is found by its whole name, NAME/STEP. */
const struct workflow *workflow_registry_find(const struct workflow_registry *registry,
                                              struct text name, uint32_t version);
/* The file of a workflow or of a body: it is what is active or retired. */
const struct workflow_entry *workflow_registry_file(const struct workflow_registry *registry,
                                                    struct text name, uint32_t version);
/* Of a whole name that orders may give: there is none with a '/'. */
const struct workflow_entry *workflow_registry_entry(const struct workflow_registry *registry,
                                                     struct text name, uint32_t version);
uint32_t workflow_registry_count(const struct workflow_registry *registry);
/* By name, then version. */
const struct workflow_entry *workflow_registry_at(const struct workflow_registry *registry,
                                                  uint32_t index);

#endif
