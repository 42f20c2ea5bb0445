/* SPDX-License-Identifier: Apache-2.0 */
/* Reports from outside: the remote service calls back over HTTP, any instance of the agent takes
 * it.
 *
 *     POST /v1/callbacks/AGENT/ORDER/STEP/DIRECTION/ATTEMPT?token=HEX
 *     {"outcome": "done", "output": {...}}
 *     {"outcome": "failed", "error": "Card.Declined", "message": "...",
 *      "effect": "none|applied|unknown"}
 *     {"outcome": "extend", "seconds": 600, "progress": "3 of 5 parcels packed"}
 *
 * Nothing is looked up: what is well-formed and carries the right token is appended to <p>.commands
 * and answered with 202 once the broker has acknowledged it. What comes of it is the scheduler's to
 * decide; a second callback of an attempt, or one that comes too late, it ignores.
 *
 * The token is an HMAC-SHA256 over agent and request id under agent.callback.secret, which all
 * instances share. Without a secret callbacks are taken on a loopback address only. */
#ifndef SERVICES_AGENT_CORE_CALLBACKS_H
#define SERVICES_AGENT_CORE_CALLBACKS_H

#include "services/agent/core/core.h"

struct agent_callbacks;

enum { CALLBACK_TOKEN_SIZE = 65, CALLBACK_BODY_MAX = 64 * 1024, CALLBACKS_PENDING_MAX = 1000 };

/* New. */
struct agent_callbacks *callbacks_new(struct agent *agent);
/* Those that wait get 503. NULL is fine. */
void callbacks_free(struct agent_callbacks *callbacks);
/* No callback waits for its acknowledgement. */
bool callbacks_idle(const struct agent_callbacks *callbacks);
/* The URL for this request, new in the arena; empty: nobody could call back. */
struct text callbacks_url(const struct agent_callbacks *callbacks,
                          const struct step_request *request, struct arena *arena);

/* The hex token of a request id, NUL-terminated. */
void callback_token(struct text secret, struct text agent, struct text order, struct text step,
                    enum direction direction, uint32_t attempt,
                    char ret_token[CALLBACK_TOKEN_SIZE]);

/* What a callback's body says. */
struct callback_said {
    enum { CALLBACK_DONE, CALLBACK_FAILED, CALLBACK_EXTEND } outcome;
    struct text output;
    struct text error_name;
    struct text error_message;
    enum effect effect;
    int64_t extra_ms;
    struct text progress;
};
/* REJECT with a code and what is wrong. Texts are new in the arena. */
enum error_class callback_parse(struct text body, struct arena *arena,
                                struct callback_said *ret_said, struct error *ret_error);

#endif
