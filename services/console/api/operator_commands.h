/* SPDX-License-Identifier: Apache-2.0 */
/* Operators' commands about an order: cancel, resubmit, pause it, end its steps by hand. Each
 * request becomes a command; its answer is the Decision, read from the log.
 *
 *     POST /api/orders/{id}/{verb}    {"by": "ann", "reason": "bank is back", ...}
 *
 * The verbs are those of engine/commands.def; a body holds what the command's record holds.
 * 200 with the Decision; 409 with its code and reason when the command was rejected or became a
 * dead letter; 504 when no Decision came in time: the command stays in the log and will be
 * decided. */
#ifndef SERVICES_CONSOLE_API_OPERATOR_COMMANDS_H
#define SERVICES_CONSOLE_API_OPERATOR_COMMANDS_H

#include "engine/limits.h"
#include "platform/http/server.h"
#include "replica/cluster/cluster.h"

struct awaited_commands;
struct operator_commands;
struct tree_commands;

enum {
    OPERATOR_COMMANDS_MAX = 1000, /* outstanding */
    OPERATOR_COMMAND_WAIT_MS = 30000,
    SIGNAL_BODY_MAX = 16 * 1024 + 2 * SIGNAL_BYTES_MAX,               /* with blanks */
    OPERATOR_COMMAND_BODY_MAX = 16 * 1024 + 2 * ORDER_INPUT_BYTES_MAX /* with blanks */
};

/* `settled` is called when nothing is outstanding any more after operator_commands_drain(). */
struct operator_commands *operator_commands_new(struct cluster *cluster,
                                                struct awaited_commands *awaited,
                                                struct tree_commands *trees,
                                                void (*settled)(void *ctx), void *ctx);
/* After cluster_close(): outstanding commands are answered and forgotten. */
void operator_commands_free(struct operator_commands *commands);
void operator_commands_drain(struct operator_commands *commands);

/* Answers the exchange later; at once when it is wrong. The path's {id} is the order. `fields`:
 * those that the body may have; ends with NULL. One of them may be `tree`, which is not the
 * command's: if it is true, the command is about the order's whole tree (tree_commands.h). */
void operator_commands_serve(struct operator_commands *commands, enum command_kind kind,
                             const char *const fields[], struct http_exchange *exchange);
/* The same for POST /api/orders/{id}/signals/{step} (schemas/json/signal_json.h), which is not only
 * for operators. 200 also for a signal that the step has had; 403 when it is for another group; 404
 * when there is no such order, or no such step that waits for signals. */
void operator_commands_serve_signal(struct operator_commands *commands, const char *const fields[],
                                    struct http_exchange *exchange);
/* The same for POST /api/orders/{id}/settle, which is answered as what operators do. */
void operator_commands_serve_settle(struct operator_commands *commands, const char *const fields[],
                                    struct http_exchange *exchange);
uint32_t operator_commands_outstanding(const struct operator_commands *commands);

#endif
