/* SPDX-License-Identifier: Apache-2.0 */
/* What is ordered: lines with prices, in a currency. Submission validates it and agents read it;
 * the engine in between carries it unread. */
#ifndef BASE_GOODS_H
#define BASE_GOODS_H

#include "base/arena.h"
#include "base/decimal.h"

struct order_line {
    struct text sku;
    struct text description;
    int64_t quantity;
    struct decimal unit_price;
};

struct goods {
    struct text currency;
    struct order_line *lines;
    uint32_t line_count;
};

/* NULL is an order without any. */
static inline const struct goods *goods_or_none(const struct goods *goods)
{
    static const struct goods none;
    return goods != NULL ? goods : &none;
}

/* A deep copy that lives wholly in `arena`; NULL of NULL. */
const struct goods *goods_copy(const struct goods *goods, struct arena *arena);

#endif
