/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes that are data -> canonical JSON. */
#ifndef WORKFLOW_DATA_H
#define WORKFLOW_DATA_H

#include "workflow/values.h"

/* The JSON of a text that a tree has; new in `arena`. */
struct text data_of_text(struct text text, struct arena *arena);
/* A plain scalar: what JSON takes it for, if every YAML reader agrees. False after a problem. */
bool data_of_plain(const struct values *values, const struct yaml_node *node,
                   struct text *ret_json);
/* Any node. False after a problem. */
bool data_of_node(const struct values *values, const struct yaml_node *node, struct text *ret_json);

#endif
