/* SPDX-License-Identifier: Apache-2.0 */
/* A workflow's steps as a picture: text for a terminal, DOT for Graphviz. Pure functions of the
 * workflow: equal workflows give equal bytes. */
#ifndef WORKFLOW_GRAPH_H
#define WORKFLOW_GRAPH_H

#include "base/enum_names.h"
#include "engine/workflow.h"

#include <stddef.h>

enum workflow_graph_format { GRAPH_TEXT, GRAPH_DOT, GRAPH_FORMAT_COUNT };

extern const struct enum_names workflow_graph_format_names; /* "text", "dot" */

/* Writes at most `capacity` bytes, without a final NUL, and returns how many the whole picture has:
 * call it with (NULL, 0) first. Names are escaped as the format asks, invalid UTF-8 and control
 * characters become '?'. */
size_t workflow_graph(const struct workflow *workflow, enum workflow_graph_format format,
                      char *buffer, size_t capacity);

/* "Agent", "Set" ...: the field that makes a step one of its kind. */
struct text workflow_step_kind_word(const struct workflow_step *step);

/* Of a ForEach: the expression for its items, or "3 items", which is in `buffer`; empty: the step
 * has none. */
enum { WORKFLOW_ITEMS_SIZE = 24 };
struct text workflow_step_items(const struct workflow_step *step, char buffer[WORKFLOW_ITEMS_SIZE]);

/* ret_levels[i]: 0 for a step that waits for none, else one more than the last of those that it
 * waits for. Returns the number of levels. */
uint32_t workflow_levels(const struct workflow *workflow, uint32_t ret_levels[WORKFLOW_STEPS_MAX]);

#endif
