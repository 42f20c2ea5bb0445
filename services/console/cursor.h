/* SPDX-License-Identifier: Apache-2.0 */
/* Where a page of orders ended: the next one goes on behind it. Keyset paging: (updated_at, order
 * id) orders all orders of all partitions, the newest first, equal times by id. An order that
 * changes meanwhile moves to the front; none is skipped that does not change.
 *
 * Opaque to clients: base64url of 1 | updated_at BE8 | order id. */
#ifndef SERVICES_CONSOLE_CURSOR_H
#define SERVICES_CONSOLE_CURSOR_H

#include "base/base64.h"
#include "engine/limits.h"

enum { CURSOR_BYTES_MAX = 1 + 8 + ORDER_ID_BYTES_MAX };
enum { CURSOR_TEXT_SIZE = BASE64_SIZE(CURSOR_BYTES_MAX) + 1 };

struct cursor {
    int64_t updated_at;
    char id[ORDER_ID_BYTES_MAX];
    uint32_t id_size;
};

static inline struct text cursor_id(const struct cursor *cursor)
{
    return (struct text){cursor->id, cursor->id_size};
}

/* The id is a valid one: asserts. */
void cursor_set(struct cursor *cursor, int64_t updated_at, struct text order_id);
void cursor_encode(const struct cursor *cursor, char ret_text[CURSOR_TEXT_SIZE]);
/* False when it is none of ours. */
bool cursor_decode(struct text text, struct cursor *ret_cursor);
/* Negative: a page shows `a` before `b`. */
int cursor_compare(const struct cursor *a, const struct cursor *b);

#endif
