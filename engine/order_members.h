/* SPDX-License-Identifier: Apache-2.0 */
/* What order.NAME gives in an expression. */
#ifndef ENGINE_ORDER_MEMBERS_H
#define ENGINE_ORDER_MEMBERS_H

#include "base/json.h"
#include "engine/expression/expression.h"
#include "engine/order.h"

/* See struct expression_scope. Of lines and attributes, each costs a unit. */
struct text order_member_json(const struct order_details *details,
                              enum expression_order_member member, struct arena *arena,
                              uint32_t *ret_units);

#endif
