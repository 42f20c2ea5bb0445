/* SPDX-License-Identifier: Apache-2.0 */
/* The rules for the content of a submission, and its identity. */
#ifndef SCHEMAS_DETAILS_H
#define SCHEMAS_DETAILS_H

#include "base/arena.h"
#include "base/error.h"
#include "engine/order.h"

/* For tests; details_validate_new() asks it. As order_id_validate(), and of a new order: not "." or
 * "..", which are steps of a path, no '-' at its start, which makes it a flag of a command line,
 * and no '~', which is reserved for the ids of sub-orders. Orders that were accepted before this
 * rule stay valid. */
enum error_class order_id_validate_new(struct text order_id, struct error *ret_error);

/* Forms of a submission's values, and the limits of reading; REJECT with one clear line. Also sorts
 * attributes by name and refuses duplicates, and makes the input canonical, which is then borrowed
 * or new in `arena` (null becomes none). For one that a front door has accepted, perhaps of another
 * version: what all versions demand. */
enum error_class details_validate(struct order_details *details, struct arena *arena,
                                  struct error *ret_error);
/* Of an order that is submitted now: the limits of writing, and the rules for new ids. */
enum error_class details_validate_new(struct order_details *details, struct arena *arena,
                                      struct error *ret_error);

/* Identity of a submission: XXH3-128 over its content in canonical values (of the input:
 * details_validate_new() has made it so), before a version is pinned. */
struct content_hash details_content_hash(const struct order_details *details);

#endif
