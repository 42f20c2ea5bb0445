/* SPDX-License-Identifier: Apache-2.0 */
/* Do commands wait in a partition although none is decided? The scheduler cannot report that it is
 * dead, so each supervisor measures the partitions that it follows, and raises and closes the alert
 * CommandsWaiting in the name of all supervisors. */
#ifndef SERVICES_SUPERVISOR_WAITING_COMMANDS_H
#define SERVICES_SUPERVISOR_WAITING_COMMANDS_H

#include "replica/follow/follower.h"
#include "replica/follow/verdict.h"

struct waiting_commands;

/* New. `follower` is borrowed until waiting_commands_free(). */
struct waiting_commands *waiting_commands_new(struct cluster *cluster, int32_t partition,
                                              struct follower *follower);
/* An alert stays as it is: the next supervisor of the partition closes it. */
void waiting_commands_free(struct waiting_commands *waiting);
/* To be called every second or so. `current`: the log is folded to its end, so that what it does
 * not show is not decided. */
void waiting_commands_look(struct waiting_commands *waiting, bool current);
/* An admitted Decision was folded, which was appended at `decided_ms`. */
void waiting_commands_decided(struct waiting_commands *waiting, const struct decision *decision,
                              int64_t decided_ms);
/* As of the last measurement. 0: nothing waits. */
int64_t waiting_commands_ms(const struct waiting_commands *waiting);
/* Whether the alert is raised; then the reason. */
bool waiting_commands_trouble(const struct waiting_commands *waiting, char *ret_text, size_t size);

#endif
