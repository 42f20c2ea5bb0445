/* SPDX-License-Identifier: Apache-2.0 */
/* The consumer group of an export: its committed offsets tell the schedulers, and every tool that
 * shows lag, how far the archive goes. */
#ifndef CLI_EXPORT_GROUP_H
#define CLI_EXPORT_GROUP_H

#include "cli/session.h"

struct export_group;

/* New. Joins and waits until the group has assigned partitions. RETRY "GroupUnavailable", or the
 * broker's reason. */
enum error_class export_group_join(struct cli_session *session, const char *name,
                                   struct export_group **ret_group, struct error *ret_error);
/* NULL does nothing. */
void export_group_leave(struct export_group *group);
/* Whether this member has the partition. True for NULL. */
bool export_group_has(const struct export_group *group, int32_t partition);
/* Commits what is exported and waits for it. NULL does nothing. RETRY "PartitionLost": another
 * member has it now. */
enum error_class export_group_commit(struct export_group *group, int32_t partition, int64_t next,
                                     struct error *ret_error);

#endif
