/* SPDX-License-Identifier: Apache-2.0 */
/* Domain structs as JSON, for the API. Texts from outside are hostile: invalid UTF-8 is
 * replaced, bytes are base64url, outputs of steps stay texts.
 *
 * Times are texts of RFC 3339, null where there is none; empty texts are null as well. Names are
 * those of the .avsc files. All results are new. */
#ifndef SERVICES_CONSOLE_RENDER_H
#define SERVICES_CONSOLE_RENDER_H

#include "kafka/topics/topics.h"
#include "platform/http/json_answer.h"
#include "replica/agent_table.h"
#include "schemas/json/json_codec.h"
#include "workflow/registry.h"

#include <jansson.h>

/* object[name] = value, which is stolen. */
void render_put(json_t *object, const char *name, json_t *value);

/* null when 0 */
json_t *render_time(int64_t at);

/* What a list shows of an order. */
json_t *render_order_summary(const struct order *order, int32_t partition);
/* All fields. */
json_t *render_order(const struct order *order, int32_t partition);
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
/* `active`: new orders that name no version take this one. */
json_t *render_workflow(const struct workflow_entry *entry, bool active);
/* What `reeve workflow lint` says of a text: line, column, severity, message of each. */
json_t *render_problems(const struct workflow_problem *problems, uint32_t count);
/* The live instances of one agent, or of all if `agent` is empty; by agent and instance. */
json_t *render_agents(const struct agent_table *table, struct text agent);
/* {"by", "reason", "at"}; null for NULL. */
json_t *render_agent_pause(const struct agent_pause_entry *pause);
/* All pauses, also of agents without a live instance; each with its "agent". */
json_t *render_agent_pauses(const struct agent_table *table);

#endif
