/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of remote services, sanitized for reports: messages, outputs. The results are valid
 * UTF-8 within the engine's limits, whatever the input. Pure. */
#ifndef SERVICES_AGENT_CORE_SANITIZE_H
#define SERVICES_AGENT_CORE_SANITIZE_H

#include "engine/engine.h"

/* At most MESSAGE_BYTES_MAX bytes, cut between characters; control characters become spaces,
 * invalid UTF-8 becomes '?'. New in the arena, or the text itself if it is valid. */
struct text agent_message(struct text message, struct arena *arena);

/* The JSON text `json` as a step's output: canonical (base/json.h), at most STEP_OUTPUT_BYTES_MAX
 * bytes. Longer ones become {"truncated":true,"bytes":N}; null and invalid JSON become empty. New in
 * the arena, or the text itself if it is canonical. */
struct text agent_output(struct text json, struct arena *arena);
/* The same for a body that was longer than what was kept of it. */
struct text agent_output_truncated(size_t bytes, struct arena *arena);

/* A key as the value of an HTTP header: everything but visible ASCII, and '%', becomes %XX. New in
 * the arena. Different keys stay different. */
struct text agent_header_text(struct text text, struct arena *arena);

#endif
