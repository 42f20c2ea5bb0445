/* SPDX-License-Identifier: Apache-2.0 */
/* Signals that come by HTTP: who sends them, and which of them the console knows to be too late. */
#ifndef SERVICES_SUBMISSION_SIGNALS_H
#define SERVICES_SUBMISSION_SIGNALS_H

#include "base/arena.h"
#include "engine/command.h"
#include "platform/http/server.h"

#include <jansson.h>

extern const char *const signal_fields[]; /* of the body; ends with NULL */

/* The signal of the exchange, with its sender: `by`, groups and token are those that the server
 * knows. Texts are new in `arena`. REJECT: the body is malformed. */
enum error_class signal_read(const struct http_exchange *exchange, struct text order_id,
                             struct arena *arena, struct signal_order *ret_signal,
                             struct error *ret_error);

/* By what the console says of the order: 0 if the scheduler is to decide, else the status of the
 * answer, with the reason. */
int signal_status_by(const json_t *order, const struct signal_order *signal,
                     const struct http_exchange *exchange, struct error *ret_error);

#endif
