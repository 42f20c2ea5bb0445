/* SPDX-License-Identifier: Apache-2.0 */
/* YAML text (thus JSON too) -> a tree of nodes that know where they stand.
 *
 * The text is hostile until proven otherwise. Bounded: size, number of nodes, depth, fields of a
 * mapping. Refused: what is not UTF-8, control characters, \0 in quotes, anchors and aliases (a few
 * lines of them expand to gigabytes), tags, a second document, keys that are not plain words, keys
 * given twice. */
#ifndef WORKFLOW_TREE_H
#define WORKFLOW_TREE_H

#include "workflow/problems.h"

enum { TREE_DEPTH_MAX = 16, TREE_NODES_MAX = 50000, TREE_FIELDS_MAX = 64 };

enum yaml_node_kind { NODE_SCALAR, NODE_SEQUENCE, NODE_MAPPING };

struct yaml_node {
    enum yaml_node_kind kind;
    struct mark mark;
    bool plain;       /* a scalar without quotes: a number, true, false, null or a text */
    bool flow;        /* written with { } or [ ], or a scalar directly within them */
    struct text text; /* of a scalar */
    struct text raw;  /* of a scalar, as it stands in the file, with its quotes; borrowed from it */
    const struct yaml_node *key; /* within a mapping: the key that this is the value of, a scalar */
    struct yaml_node *first;     /* of a sequence or mapping */
    struct yaml_node *last;
    struct yaml_node *next; /* in its parent */
    uint32_t count;         /* children */
};

/* NULL: the problems tell why. The tree lives in `arena`, its texts too. */
const struct yaml_node *yaml_tree_parse(struct text text, struct arena *arena,
                                        struct workflow_problems *problems);

/* Of a .json file: whether the text is JSON at all; false: a problem tells where it is not. */
bool workflow_check_json(struct text text, struct workflow_problems *problems);

/* A plain scalar that says nothing: `Field:`, `~` or `null`. */
bool yaml_node_is_null(const struct yaml_node *node);
/* Where byte `at` of a scalar's text stands; of its end, where the text ends. */
struct mark yaml_node_mark_at(const struct yaml_node *node, uint32_t at);
/* "a text", "a number", "a list" ... for messages. */
const char *yaml_node_phrase(const struct yaml_node *node);

#endif
