/* SPDX-License-Identifier: Apache-2.0 */
/* See lifecycle.h. */
#include "workflow/lifecycle.h"

#include "workflow/bodies.h"
#include "workflow/problems.h"

#include <assert.h>
#include <stdio.h>

bool workflow_lifecycle_is_active(const struct workflow_registry *registry,
                                  const struct workflow_entry *entry)
{
    return !entry->retired && workflow_registry_entry(registry, entry->definition.name, 0) == entry;
}

bool workflow_lifecycle_retired_active(const struct workflow_registry *registry,
                                       const struct workflow_entry *entry, char *buffer,
                                       size_t size)
{
    struct text name = entry->definition.name;
    if (!entry->retired || workflow_registry_entry(registry, name, 0) != entry)
        return false;
    snprintf(buffer, size,
             "%.*s:%u was the active version: new orders that name no version are refused until "
             "`reeve workflow rollback %.*s` or `activate` chooses another one",
             TEXT_ARG(name), entry->definition.version, TEXT_ARG(name));
    return true;
}

static enum error_class unknown(struct text name, uint32_t version, struct error *ret_error)
{
    if (version == 0)
        return error_set(ret_error, CODE_UNKNOWN_WORKFLOW,
                         "no version of workflow %.*s is deployed", QUOTE_ARG(name));
    return error_set(ret_error, CODE_UNKNOWN_WORKFLOW, "workflow %.*s:%u is not deployed",
                     QUOTE_ARG(name), version);
}

enum error_class workflow_lifecycle_check(const struct workflow_registry *registry,
                                          enum workflow_change change, struct text name,
                                          uint32_t version, const struct workflow_entry **ret_entry,
                                          struct error *ret_error)
{
    bool rolls_back = change == WORKFLOW_ROLLBACK;
    const struct workflow_entry *entry =
        workflow_registry_entry(registry, name, rolls_back ? 0 : version);
    if (entry == NULL)
        return unknown(name, rolls_back ? 0 : version, ret_error);
    if (rolls_back)
        entry = workflow_registry_previous(registry, name);
    if (entry == NULL)
        return error_set(ret_error, CODE_NO_PREVIOUS_VERSION,
                         "no other version of %.*s was active before, or all are retired: `reeve "
                         "workflow list` shows them, `reeve workflow activate` chooses one",
                         TEXT_ARG(name));
    /* An activation of the active version changes something only where none has chosen it yet. */
    if (change == WORKFLOW_ACTIVATE && workflow_lifecycle_is_active(registry, entry) &&
        entry->chosen)
        return error_set(ret_error, CODE_ALREADY_ACTIVE, "%.*s:%u is the active version already",
                         TEXT_ARG(name), version);
    if (change == WORKFLOW_RETIRE && entry->retired)
        return error_set(ret_error, CODE_ALREADY_RETIRED, "%.*s retired %.*s:%u already: %.*s",
                         TEXT_ARG(entry->latest.by), TEXT_ARG(name), version,
                         TEXT_ARG(entry->latest.reason));
    *ret_entry = entry;
    return ERROR_OK;
}

/* ---- deploying ---- */

static enum error_class other_content(const struct workflow *workflow, struct error *ret_error)
{
    return error_set(ret_error, CODE_OTHER_CONTENT,
                     "%.*s version %u is deployed with other content: increase Version in the file",
                     TEXT_ARG(workflow->name), workflow->version);
}

static enum error_class broken_definition(const struct workflow *workflow, struct error *ret_error)
{
    return error_set(ret_error, CODE_BAD_WORKFLOW,
                     "the first definition of %.*s version %u in the topic does not compile, and "
                     "the first one counts: increase Version in the file",
                     TEXT_ARG(workflow->name), workflow->version);
}

/* Before the definition is appended: which version new orders take is chosen first, if that one is
 * to stay active. */
static enum workflow_deployment_step begin(const struct workflow_registry *registry,
                                           const struct workflow_deployment *deployment,
                                           uint32_t *ret_version)
{
    struct text name = deployment->workflow->name;
    const struct workflow_entry *active = workflow_registry_entry(registry, name, 0);
    if (deployment->activate || active == NULL || workflow_registry_is_chosen(registry, name))
        return DEPLOYMENT_DEFINE;
    *ret_version = active->definition.version;
    return DEPLOYMENT_KEEP_ACTIVE;
}

enum error_class workflow_deployment_next(const struct workflow_registry *registry,
                                          const struct workflow_deployment *deployment,
                                          enum workflow_deployment_step *ret_step,
                                          uint32_t *ret_version, struct error *ret_error)
{
    const struct workflow *workflow = deployment->workflow;
    const struct workflow_entry *entry =
        workflow_registry_entry(registry, workflow->name, workflow->version);
    *ret_version = workflow->version;
    if (entry == NULL && (deployment->is_new ||
                          workflow_registry_refuses(registry, workflow->name, workflow->version)))
        return broken_definition(workflow, ret_error);
    if (entry == NULL) {
        *ret_step = begin(registry, deployment, ret_version);
        return ERROR_OK;
    }
    /* Another client may have been faster: the first definition counts. */
    if (!text_equal(entry->definition.text, deployment->text))
        return other_content(workflow, ret_error);
    if (!deployment->is_new ||
        workflow_lifecycle_is_active(registry, entry) == deployment->activate)
        *ret_step = DEPLOYMENT_DONE;
    else
        *ret_step = deployment->activate ? DEPLOYMENT_ACTIVATE : DEPLOYMENT_RETIRE;
    return ERROR_OK;
}

const struct workflow *workflow_deployment_before(const struct workflow_registry *registry,
                                                  const struct workflow *workflow)
{
    if (workflow_registry_find(registry, workflow->name, workflow->version) != NULL)
        return NULL;
    return workflow_registry_find(registry, workflow->name, 0);
}

const struct workflow *workflow_activation_before(const struct workflow_registry *registry,
                                                  const struct workflow_entry *entry)
{
    const struct workflow *before = workflow_registry_find(registry, entry->definition.name, 0);
    return before == entry->workflow ? NULL : before;
}

struct text workflow_deployment_reason(enum workflow_deployment_step step)
{
    assert(step != DEPLOYMENT_DEFINE && step != DEPLOYMENT_DONE);
    if (step == DEPLOYMENT_KEEP_ACTIVE)
        return TEXT("stays active while another version is deployed");
    return step == DEPLOYMENT_ACTIVATE ? TEXT("deployed") : TEXT("deployed, not activated yet");
}

const char *workflow_deployment_result(const struct workflow_registry *registry,
                                       const struct workflow_deployment *deployment)
{
    const struct workflow *workflow = deployment->workflow;
    const struct workflow_entry *entry =
        workflow_registry_entry(registry, workflow->name, workflow->version);
    bool active = entry != NULL && workflow_lifecycle_is_active(registry, entry);
    if (deployment->is_new)
        return active ? "deployed, active" : "deployed, not active";
    return active ? "already deployed, active" : "already deployed, not active";
}

/* ---- names ---- */

/* True: it was not among them. */
static bool add_name(struct text name, struct text names[], size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (text_equal(names[i], name))
            return false;
    }
    names[count] = name;
    return true;
}

size_t workflow_agents(const struct workflow *workflow, struct text ret_names[])
{
    size_t count = 0;
    const struct workflow *workflows[WORKFLOW_FILE_STEPS_MAX];
    uint32_t workflow_count = workflow_list_file(workflow, workflows);
    for (uint32_t w = 0; w < workflow_count; w++) {
        for (uint32_t i = 0; i < workflows[w]->step_count; i++) {
            const struct workflow_step *step = &workflows[w]->steps[i];
            for (uint32_t j = 0; j < step->agent_count; j++)
                count += add_name(step->agents[j], ret_names, count);
        }
    }
    return count;
}

struct text workflow_key(struct text name, uint32_t version, char buffer[WORKFLOW_KEY_SIZE])
{
    assert(name.size <= NAME_BYTES_MAX);
    int size = snprintf(buffer, WORKFLOW_KEY_SIZE, "%.*s:%u", TEXT_ARG(name), version);
    return (struct text){buffer, (uint32_t)size};
}
