/* SPDX-License-Identifier: Apache-2.0 */
/* Events as text for operators: one sentence for each. The text may change from version to version;
 * programs read the event's data. */
#ifndef SCHEMAS_EVENT_TEXT_H
#define SCHEMAS_EVENT_TEXT_H

#include "engine/engine.h"

/* New in the arena; at most MESSAGE_BYTES_MAX bytes. Texts from elsewhere are in it as they are,
 * cut to a few hundred bytes. */
struct text event_text(const struct event *event, struct arena *arena);

/* All events of a Decision in one line, the foremost ones where they do not fit. */
struct text event_text_of_decision(const struct decision *decision, struct arena *arena);

#endif
