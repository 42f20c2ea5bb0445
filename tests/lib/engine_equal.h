/* SPDX-License-Identifier: Apache-2.0 */
/* Deep equality of orders: two folds of one log must be identical. */
#ifndef TESTS_LIB_ENGINE_EQUAL_H
#define TESTS_LIB_ENGINE_EQUAL_H

#include "engine/order.h"

/* NULL if the orders are equal, else the name of the first field that differs. */
const char *order_difference(const struct order *a, const struct order *b);

#endif
