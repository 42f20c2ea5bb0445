/* SPDX-License-Identifier: Apache-2.0 */
/* The life cycle of a workflow's versions, as `reeve workflow` and the console's API change it:
 * what the next record of a change is, and why a change is refused. Pure functions of the registry;
 * the caller appends the record and reads <p>.workflows back before it asks again. */
#ifndef WORKFLOW_LIFECYCLE_H
#define WORKFLOW_LIFECYCLE_H

#include "workflow/registry.h"

enum workflow_change { WORKFLOW_ACTIVATE, WORKFLOW_ROLLBACK, WORKFLOW_RETIRE };

/* Which version `change` is about; of a rollback it is found, and `version` is ignored. REJECT
 * "UnknownWorkflow", "NoPreviousVersion", "AlreadyActive", "AlreadyRetired". *ret_entry is borrowed
 * from the registry. */
enum error_class workflow_lifecycle_check(const struct workflow_registry *registry,
                                          enum workflow_change change, struct text name,
                                          uint32_t version, const struct workflow_entry **ret_entry,
                                          struct error *ret_error);

/* New orders that name no version take this one. None of a name is active once the active one is
 * retired. */
bool workflow_lifecycle_is_active(const struct workflow_registry *registry,
                                  const struct workflow_entry *entry);
/* Whether the version was retired while it was the active one, with what to warn of then; ends with
 * NUL. */
bool workflow_lifecycle_retired_active(const struct workflow_registry *registry,
                                       const struct workflow_entry *entry, char *buffer,
                                       size_t size);

/* ---- deploying ---- */

struct workflow_deployment {
    const struct workflow *workflow; /* compiled from `text` */
    struct text text;
    bool activate;
    bool is_new; /* its definition was appended: by workflow_deployment_next()'s caller */
};

enum workflow_deployment_step {
    DEPLOYMENT_KEEP_ACTIVE, /* activate `version`: it is to stay active */
    DEPLOYMENT_DEFINE,      /* append the definition; then `is_new` is true */
    DEPLOYMENT_ACTIVATE,    /* activate `version` */
    DEPLOYMENT_RETIRE,      /* retire `version`, the first one, until it is activated */
    DEPLOYMENT_DONE
};

/* The next record; DEPLOYMENT_DONE at once for a version that is deployed with the same text.
 * REJECT "OtherContent", or "BadWorkflow" if the first definition in the topic does not compile. */
enum error_class workflow_deployment_next(const struct workflow_registry *registry,
                                          const struct workflow_deployment *deployment,
                                          enum workflow_deployment_step *ret_step,
                                          uint32_t *ret_version, struct error *ret_error);
/* The version that new orders take before this one is deployed; NULL: there is none, or this one is
 * deployed already. */
const struct workflow *workflow_deployment_before(const struct workflow_registry *registry,
                                                  const struct workflow *workflow);
/* The same before this one is activated; NULL: there is none, or this is the one. */
const struct workflow *workflow_activation_before(const struct workflow_registry *registry,
                                                  const struct workflow_entry *entry);
/* The reason that the topic keeps with the activation or retirement of a step. */
struct text workflow_deployment_reason(enum workflow_deployment_step step);
/* "deployed, active", "already deployed, not active" ... */
const char *workflow_deployment_result(const struct workflow_registry *registry,
                                       const struct workflow_deployment *deployment);

/* The agents of the workflow and of its bodies, each once; *ret_names (at least
 * WORKFLOW_FILE_AGENTS_MAX) borrow. */
size_t workflow_agents(const struct workflow *workflow, struct text ret_names[]);

enum { WORKFLOW_KEY_SIZE = NAME_BYTES_MAX + 16 };

/* The key "name:version" of a record about a version; borrows `buffer`. */
struct text workflow_key(struct text name, uint32_t version, char buffer[WORKFLOW_KEY_SIZE]);

#endif
