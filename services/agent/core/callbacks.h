/* SPDX-License-Identifier: Apache-2.0 */
/* Callbacks: the remote service reports an outcome over HTTP, to any instance of the agent.
 *
 *     POST /v1/callbacks/AGENT/ORDER/STEP/DIRECTION/ATTEMPT?token=HEX
 *     {"outcome": "done", "output": {...}}
 *     {"outcome": "failed", "error": "Card.Declined", "message": "...",
 *      "effect": "none|applied|unknown"}
 *     {"outcome": "extend", "seconds": 600, "progress": "3 of 5 parcels packed"}
 *
 * No state is read: a well-formed callback with the right token is appended to <p>.commands and
 * answered with 202 once the broker has acknowledged it. The scheduler decides about it, and
 * ignores a second callback of an attempt or one that comes too late.
 *
 * The token is an HMAC-SHA256 over agent and request id under agent.callback.secret, which all
 * instances share. Without a secret callbacks are accepted on a loopback address only. */
#ifndef SERVICES_AGENT_CORE_CALLBACKS_H
#define SERVICES_AGENT_CORE_CALLBACKS_H

#include "services/agent/core/agent_internal.h"

struct agent_callbacks;

enum {
    AGENT_CALLBACK_TOKEN_SIZE = 65,
    AGENT_CALLBACK_BODY_MAX = REPORT_OUTPUT_BYTES_MAX + 8 * 1024, /* an output, and the rest */
    AGENT_CALLBACKS_PENDING_MAX = 1000
};

extern const struct http_routes agent_callback_routes;

/* New. */
struct agent_callbacks *agent_callbacks_new(struct agent *agent);
/* Pending callbacks are answered with 503. NULL does nothing. */
void agent_callbacks_free(struct agent_callbacks *callbacks);
/* No callback waits for its acknowledgement. */
bool agent_callbacks_idle(const struct agent_callbacks *callbacks);

/* The hex token of a request id, NUL-terminated. */
void agent_callback_token(struct text secret, struct text agent, struct text order,
                          struct text step, enum direction direction, uint32_t attempt,
                          char ret_token[AGENT_CALLBACK_TOKEN_SIZE]);

/* The body of a callback. */
struct agent_callback_body {
    enum { AGENT_CALLBACK_DONE, AGENT_CALLBACK_FAILED, AGENT_CALLBACK_EXTEND } outcome;
    struct text output;
    struct text error_name;
    struct text error_message;
    enum effect effect;
    int64_t extra_ms;
    struct text progress;
};
/* REJECT with a code and a message. Texts are new in the arena. */
enum error_class agent_callback_parse(struct text body, struct arena *arena,
                                      struct agent_callback_body *ret_body,
                                      struct error *ret_error);

#endif
