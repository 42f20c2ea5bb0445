/* SPDX-License-Identifier: Apache-2.0 */
/* Trees of jansson that lose no digit.
 *
 * jansson has doubles for fractions, and refuses integers beyond int64_t. In the trees here, JSON
 * that has to stay as it is, such as the input of an order, is a string that begins with JSON_MARK
 * (base/json.h). jansson does not print such a tree: json_dumps() gives NULL. */
#ifndef PLATFORM_JSON_TREE_H
#define PLATFORM_JSON_TREE_H

#include "base/json.h"

#include <jansson.h>

/* As json_loadb() with JSON_REJECT_DUPLICATES, of an object or a list; a number that is not an
 * int64_t becomes a marked string of its text, whatever it is. New; NULL: *ret_at says why. */
json_t *json_tree_load(struct text json, size_t flags, json_error_t *ret_at);
/* As json_dumps(); new. What is marked is printed as it is, on one line. */
char *json_tree_print(const json_t *tree, size_t flags);
/* The JSON of a marked string, borrowed; it has no data if `value` is anything else. */
struct text json_tree_marked(const json_t *value);

#endif
