/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of remote services, sanitized for reports; outputs: engine/output.h. The results are valid
 * UTF-8 within the engine's limits, whatever the input. Pure. */
#ifndef SERVICES_AGENT_CORE_SANITIZE_H
#define SERVICES_AGENT_CORE_SANITIZE_H

#include "engine/engine.h"

/* At most MESSAGE_BYTES_MAX bytes, cut between characters; control characters become spaces,
 * invalid UTF-8 becomes '?'. New in the arena, or the text itself if it is valid. */
struct text agent_message(struct text message, struct arena *arena);

/* A key as the value of an HTTP header: everything but visible ASCII, and '%', becomes %XX. New in
 * the arena. Different keys stay different. */
struct text agent_header_text(struct text text, struct arena *arena);

#endif
