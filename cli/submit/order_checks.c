/* SPDX-License-Identifier: Apache-2.0 */
/* See order_checks.h. */
#include "cli/submit/order_checks.h"

#include "base/utf8.h"
#include "engine/shape.h"

#include <stdio.h>

enum { METADATA_MS = 5000 };

void order_checks_init(struct order_checks *checks, struct cluster *cluster)
{
    *checks = (struct order_checks){.cluster = cluster};
}

static enum error_class unknown_workflow(const struct order_checks *checks,
                                         const struct order_details *details,
                                         struct error *ret_error)
{
    char names[200];
    size_t used = 0;
    const struct workflow_registry *registry = checks->cluster->workflows;
    names[0] = '\0';
    for (uint32_t i = 0; i < workflow_registry_count(registry) && used < sizeof(names); i++) {
        const struct workflow *workflow = workflow_registry_at(registry, i)->workflow;
        used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%.*s:%u",
                                 used > 0 ? ", " : "", TEXT_ARG(workflow->name), workflow->version);
    }
    if (used == 0)
        return error_set(ret_error, CODE_UNKNOWN_WORKFLOW,
                         "no workflow is deployed: deploy one with `reeve workflow deploy FILE`");
    char version[24] = "";
    if (details->workflow_version > 0)
        snprintf(version, sizeof(version), " version %u", details->workflow_version);
    return error_set(ret_error, CODE_UNKNOWN_WORKFLOW,
                     "workflow \"%.*s\"%s is not deployed; deployed workflows: %s%s",
                     TEXT_ARG(details->workflow), version, names,
                     used >= sizeof(names) ? "..." : "");
}

static enum error_class check_reply(struct order_checks *checks, struct text topic,
                                    struct error *ret_error)
{
    char name[TOPIC_NAME_SIZE];
    if (text_empty(topic) || text_equal(text_of(checks->reply_to), topic))
        return ERROR_OK;
    if (!topics_is_reply(&checks->cluster->topics, topic))
        return error_set(ret_error, CODE_BAD_REPLY_TOPIC,
                         "reply_to must be empty or %s.replies.APPLICATION",
                         checks->cluster->topics.prefix);
    snprintf(name, sizeof(name), "%.*s", TEXT_ARG(topic));
    if (broker_partition_count(checks->cluster->broker, name, METADATA_MS) == 0)
        return error_set(ret_error, CODE_UNKNOWN_REPLY_TOPIC,
                         "topic %s does not exist: create it with `reeve topics apply --app NAME`",
                         name);
    memcpy(checks->reply_to, name, sizeof(name));
    return ERROR_OK;
}

enum error_class order_checks_pass(struct order_checks *checks, const struct order_details *details,
                                   struct error *ret_error)
{
    bool known = text_equal(text_of(checks->workflow), details->workflow) &&
                 checks->workflow_version == details->workflow_version;
    const struct workflow_entry *entry = workflow_registry_entry(
        checks->cluster->workflows, details->workflow, details->workflow_version);
    if (!known && entry == NULL)
        return unknown_workflow(checks, details, ret_error);
    if (!known && entry->retired)
        return error_set(ret_error, CODE_WORKFLOW_RETIRED,
                         "version %u of workflow \"%.*s\" takes no new orders: %.*s",
                         entry->definition.version, TEXT_ARG(details->workflow),
                         TEXT_ARG(utf8_cut(entry->latest.reason, 200)));
    snprintf(checks->workflow, sizeof(checks->workflow), "%.*s", TEXT_ARG(details->workflow));
    checks->workflow_version = details->workflow_version;
    return check_reply(checks, details->reply_to, ret_error);
}

enum error_class order_checks_input(const struct order_checks *checks,
                                    const struct order_details *details, struct error *ret_error)
{
    const struct workflow_entry *entry = workflow_registry_entry(
        checks->cluster->workflows, details->workflow, details->workflow_version);
    const struct shape *shape =
        entry != NULL && entry->workflow != NULL ? entry->workflow->input_shape : NULL;
    return shape == NULL ? ERROR_OK : shape_check(shape, details->input, ret_error);
}
