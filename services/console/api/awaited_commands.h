/* SPDX-License-Identifier: Apache-2.0 */
/* Commands about orders whose Decisions are awaited: each is appended, and its Decision is read
 * from the log. The Decision may be folded before the append is acknowledged, that is, before it is
 * known which one it is: those about the same order are kept until then. Loop thread only. */
#ifndef SERVICES_CONSOLE_API_AWAITED_COMMANDS_H
#define SERVICES_CONSOLE_API_AWAITED_COMMANDS_H

#include "replica/cluster/cluster.h"

#include <jansson.h>

struct awaited_commands;
struct awaited_command;

/* Once, and the command is gone then. `decision`: as the API shows it, borrowed; NULL: the append
 * failed, and the command may or may not have been accepted. A Decision may be being folded. */
typedef void awaited_command_cb(void *ctx, uint64_t token, const json_t *decision);

/* Why a command changed nothing; borrowed from its Decision. No code: it was carried out. */
struct refusal {
    const char *code;
    const char *reason;
};

struct awaited_commands *awaited_commands_new(struct cluster *cluster);
/* After cluster_close(); calls nothing. NULL does nothing. */
void awaited_commands_free(struct awaited_commands *commands);

/* Appends it; its order_id is set. *ret_command is borrowed until `decided` was called, or until it
 * is forgotten. */
enum error_class awaited_commands_send(struct awaited_commands *commands, const struct command *cmd,
                                       awaited_command_cb *decided, void *ctx, uint64_t token,
                                       struct awaited_command **ret_command,
                                       struct error *ret_error);
/* `decided` is not called any more. NULL does nothing. */
void awaited_command_forget(struct awaited_command *command);
/* False: its append is not acknowledged yet. */
bool awaited_command_position(const struct awaited_command *command, int32_t *ret_partition,
                              int64_t *ret_offset);

/* An admitted Decision, just folded from events[partition]@offset. */
void awaited_commands_decided(struct awaited_commands *commands, int32_t partition, int64_t offset,
                              const struct decision *decision);
struct refusal awaited_command_refusal(const json_t *decision);

#endif
