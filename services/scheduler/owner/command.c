/* SPDX-License-Identifier: Apache-2.0 */
/* The first command of the queue, as it is decided: what its record says, and the workflows that it
 * needs. What is not known yet may be in a side topic, which is read to its end once. */
#include "services/scheduler/owner/internal.h"

#include <assert.h>

/* ---- what is not known yet ---- */

static void on_refreshed(void *ctx)
{
    struct owner *owner = ctx;
    assert(owner_is_running(owner) && owner_queue_head(owner) != NULL);
    assert(owner->batch.refreshing != NULL && !*owner->batch.refreshing);
    *owner->batch.refreshing = true;
    owner->batch.refreshing = NULL;
    owner_step_soon(owner);
}

/* For the first command. False: the topic was read to its end for it already. */
static bool refresh(struct owner *owner, bool *fresh, const char *topic,
                    void (*read)(struct cluster *cluster, cluster_refreshed done, void *ctx))
{
    assert(owner->batch.refreshing == NULL);
    assert(fresh == &owner_queue_head(owner)->schemas_fresh ||
           fresh == &owner_queue_head(owner)->workflows_fresh);
    if (*fresh)
        return false;
    owner->batch.refreshing = fresh;
    owner->blocked_by = topic;
    read(owner->cluster, on_refreshed, owner);
    return true;
}

bool owner_is_refreshing(const struct owner *owner)
{
    return owner->batch.refreshing != NULL;
}

/* ---- its record ---- */

static enum error_class read_head(struct owner *owner, struct command *cmd, struct error *ret_error)
{
    struct cluster *cluster = owner->cluster;
    return pending_command_read(owner_queue_head(owner), cluster->codec, &cluster->topics,
                                owner->partition, cluster->partition_count,
                                &owner->batch.memory.arena, cmd, ret_error);
}

/* A record that is not a valid command becomes an undecodable one, never an error. */
bool owner_read_command(struct owner *owner, struct command *ret_cmd)
{
    struct error error;
    struct pending_command *pending = owner_queue_head(owner);
    if (read_head(owner, ret_cmd, &error) == ERROR_OK)
        return true;
    if (error.code == CODE_UNKNOWN_SCHEMA &&
        refresh(owner, &pending->schemas_fresh, owner->cluster->topics.schemas,
                cluster_refresh_schemas))
        return false;
    if (error.class == ERROR_RETRY)
        return false; /* the owner stops when it is the first one */
    *ret_cmd = pending_command_dead(pending, &error, false, &owner->batch.memory.arena);
    return true;
}

/* Only a newer owner may decide it, or an operator's reset pass it. Commands are not lost. */
bool owner_stops_at_newer_command(struct owner *owner)
{
    struct error why;
    struct error error;
    struct command cmd;
    if (owner_queue_head(owner) == NULL ||
        !codec_is_newer(owner->cluster->codec, owner_queue_head(owner)->value))
        return false;
    heap_arena_reset(&owner->batch.memory);
    if (read_head(owner, &cmd, &why) != ERROR_RETRY)
        return false;
    error_set(&error, CODE_UNKNOWN_COMMAND,
              "%s[%d]@%lld is a command of a newer version (%.200s): upgrade this instance; if it "
              "is a third-party client's, stop that client and pass the command with `reeve "
              "partition reset --partition %d --next-command %lld`",
              owner->cluster->topics.commands, owner->partition,
              (long long)owner_queue_head(owner)->offset, why.message, owner->partition,
              (long long)owner_queue_head(owner)->offset + 1);
    owner_stop(owner, &error);
    return true;
}

void owner_quarantine_command(struct owner *owner, struct command *ret_cmd)
{
    struct error error;
    assert(owner_queue_head(owner) != NULL && !owner_guard_stands(owner));
    error_set(&error, CODE_QUARANTINED,
              "quarantined: five schedulers crashed while they decided this command");
    *ret_cmd =
        pending_command_dead(owner_queue_head(owner), &error, true, &owner->batch.memory.arena);
}

/* ---- its workflows ---- */

bool owner_find_workflow(struct owner *owner, const struct command *cmd, const struct order *order,
                         const struct workflow **ret_workflow)
{
    struct pending_command *pending = owner_queue_head(owner);
    const struct order_details *details = NULL;
    *ret_workflow = NULL;
    if (order != NULL)
        details = &order->details;
    else if (cmd->kind == COMMAND_SUBMIT_ORDER)
        details = &cmd->submit_order;
    if (details == NULL)
        return true;
    *ret_workflow = workflow_registry_find(owner->cluster->workflows, details->workflow,
                                           details->workflow_version);
    assert(*ret_workflow == NULL || text_equal((*ret_workflow)->name, details->workflow));
    return *ret_workflow != NULL ||
           !refresh(owner, &pending->workflows_fresh, owner->cluster->topics.workflows,
                    cluster_refresh_workflows);
}

bool owner_find_target(struct owner *owner, const struct command *cmd, const struct order *order,
                       struct decide_input *input)
{
    struct pending_command *pending = owner_queue_head(owner);
    assert(input->target == NULL && !input->target_retired);
    if (cmd->kind != COMMAND_MIGRATE_ORDER || order == NULL || cmd->migrate_order.version == 0)
        return true;
    const struct workflow_registry *workflows = owner->cluster->workflows;
    struct text name = order->details.workflow;
    uint32_t version = cmd->migrate_order.version;
    const struct workflow_entry *entry = workflow_registry_file(workflows, name, version);
    if (entry != NULL) {
        input->target = workflow_registry_find(workflows, name, version); /* of a body, its own */
        input->target_retired = entry->retired;
        return true;
    }
    return !refresh(owner, &pending->workflows_fresh, owner->cluster->topics.workflows,
                    cluster_refresh_workflows);
}
