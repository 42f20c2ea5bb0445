/* SPDX-License-Identifier: Apache-2.0 */
/* What the API says of orders, events and agents, besides the JSON of their records
 * (schemas/json/), whose forms it shares: texts that are not UTF-8 are replaced, bytes are
 * base64url, times are texts of RFC 3339; empty texts and times are null. Names are those of the
 * .avsc files. All results are new. */
#ifndef SERVICES_CONSOLE_RENDER_RENDER_H
#define SERVICES_CONSOLE_RENDER_RENDER_H

#include "kafka/topics/topics.h"
#include "replica/agents/agent_table.h"

#include <jansson.h>

/* An order with an open alert, as a list of alerts shows it. */
json_t *render_order_alert(const struct order *order, int32_t partition);

/* For tests: {"kind", "words", "data": {...}}; the arena is for the text of "words", which is one
 * sentence. */
json_t *render_event(const struct event *event, struct arena *arena);
/* An entry of a history, but for its `updates`. `by` and `reason` are those of the first event that
 * names who acted; null: none does. */
json_t *render_decision(const struct decision *decision, int32_t partition, int64_t offset,
                        struct arena *arena);
/* The StatusUpdates that follow from the Decision, whose offset is known; a list. */
json_t *render_updates(const struct decision *decision, int32_t partition,
                       const struct topics *topics, struct arena *arena);

/* {"Processing": 3, ...}: every state. */
json_t *render_by_state(const uint64_t by_state[ORDER_STATE_COUNT]);
/* The live instances of one agent, or of all if `agent` is empty; by agent and instance. */
json_t *render_agents(const struct agent_table *table, struct text agent);
/* {"by", "reason", "at"}; null for NULL. */
json_t *render_agent_pause(const struct agent_pause_entry *pause);
/* All pauses, also of agents without a live instance; each with its "agent". */
json_t *render_agent_pauses(const struct agent_table *table);

#endif
