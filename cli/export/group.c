/* SPDX-License-Identifier: Apache-2.0 */
/* See group.h. */
#include "cli/export/group.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { ASSIGNED_MS = 60000, COMMITTED_MS = 30000 };

struct export_group {
    struct cli_session *session;
    struct broker_group *group;
    int32_t *partitions;
    uint32_t count;
    bool assigned;
    bool committed;
    struct error error; /* of joining, or of the commit under way */
};

static void on_assigned(void *ctx, const int32_t *partitions, uint32_t count)
{
    struct export_group *group = ctx;
    assert(count <= (uint32_t)group->session->cluster->partition_count);
    memcpy(group->partitions, partitions, sizeof(*partitions) * count);
    group->count = count;
    group->assigned = true;
}

static void on_revoked(void *ctx, bool lost)
{
    struct export_group *group = ctx;
    (void)lost;
    group->count = 0;
}

static void on_error(void *ctx, const struct error *error)
{
    struct export_group *group = ctx;
    if (error->class != ERROR_RETRY)
        group->error = *error;
}

static const struct broker_group_ops group_ops = {on_assigned, on_revoked, on_error};

static bool is_assigned(void *ctx)
{
    const struct export_group *group = ctx;
    return group->assigned || error_is(&group->error);
}

enum error_class export_group_join(struct cli_session *session, const char *name,
                                   struct export_group **ret_group, struct error *ret_error)
{
    struct export_group *group = calloc(1, sizeof(*group));
    assert(group != NULL);
    group->session = session;
    group->partitions =
        calloc((size_t)session->cluster->partition_count, sizeof(*group->partitions));
    assert(group->partitions != NULL);
    group->group = broker_join(session->cluster->broker, name, session->cluster->topics.events,
                               &group_ops, group);
    if (!cli_session_wait(session, is_assigned, group, ASSIGNED_MS))
        error_set(&group->error, CODE_GROUP_UNAVAILABLE,
                  "the consumer group %s has assigned no partition within %d s", name,
                  ASSIGNED_MS / 1000);
    if (!error_is(&group->error)) {
        *ret_group = group;
        return ERROR_OK;
    }
    *ret_error = group->error;
    export_group_leave(group);
    return ret_error->class;
}

void export_group_leave(struct export_group *group)
{
    if (group == NULL)
        return;
    broker_leave(group->group, NULL, NULL);
    free(group->partitions);
    free(group);
}

bool export_group_has(const struct export_group *group, int32_t partition)
{
    for (uint32_t i = 0; group != NULL && i < group->count; i++)
        if (group->partitions[i] == partition)
            return true;
    return group == NULL;
}

static void on_committed(void *ctx, int32_t partition, int64_t offset, const struct error *error)
{
    struct export_group *group = ctx;
    (void)partition;
    (void)offset;
    if (error != NULL)
        group->error = *error;
    group->committed = true;
}

static bool is_committed(void *ctx)
{
    const struct export_group *group = ctx;
    return group->committed;
}

enum error_class export_group_commit(struct export_group *group, int32_t partition, int64_t next,
                                     struct error *ret_error)
{
    if (group == NULL)
        return ERROR_OK;
    if (!export_group_has(group, partition))
        return error_set(ret_error, CODE_PARTITION_LOST,
                         "partition %d is with another member of the group now", partition);
    group->committed = false;
    group->error = (struct error){0};
    broker_group_commit(group->group, partition, next, NULL, on_committed, group);
    if (!cli_session_wait(group->session, is_committed, group, COMMITTED_MS))
        return error_set(ret_error, CODE_NO_ANSWER,
                         "the offset of partition %d was not committed within %d s", partition,
                         COMMITTED_MS / 1000);
    if (error_is(&group->error))
        *ret_error = group->error;
    return group->error.class;
}
