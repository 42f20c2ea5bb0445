/* SPDX-License-Identifier: Apache-2.0 */
#include "services/console/cursor.h"

#include "schemas/codec.h"

#include <assert.h>

enum { FORMAT = 1 };

void cursor_set(struct cursor *cursor, int64_t updated_at, struct text order_id)
{
    assert(order_id.size > 0 && order_id.size <= ORDER_ID_BYTES_MAX);
    cursor->updated_at = updated_at;
    memcpy(cursor->id, order_id.data, order_id.size);
    cursor->id_size = order_id.size;
}

void cursor_encode(const struct cursor *cursor, char ret_text[CURSOR_TEXT_SIZE])
{
    char bytes[CURSOR_BYTES_MAX] = {FORMAT};
    for (int i = 0; i < 8; i++)
        bytes[1 + i] = (char)((uint64_t)cursor->updated_at >> (8 * (7 - i)));
    memcpy(bytes + 9, cursor->id, cursor->id_size);
    base64_encode((struct text){bytes, 9 + cursor->id_size}, ret_text);
}

bool cursor_decode(struct text text, struct cursor *ret_cursor)
{
    char bytes[CURSOR_BYTES_MAX];
    struct error error;
    uint32_t size = 0;
    uint64_t updated_at = 0;
    if (!base64_decode(text, bytes, sizeof(bytes), &size) || size < 10 || bytes[0] != FORMAT)
        return false;
    struct text id = {bytes + 9, size - 9};
    if (order_id_validate(id, &error) != ERROR_OK)
        return false;
    for (int i = 0; i < 8; i++)
        updated_at = updated_at << 8 | (uint8_t)bytes[1 + i];
    cursor_set(ret_cursor, (int64_t)updated_at, id);
    return true;
}

int cursor_compare(const struct cursor *a, const struct cursor *b)
{
    if (a->updated_at != b->updated_at)
        return a->updated_at > b->updated_at ? -1 : 1;
    return text_compare(cursor_id(a), cursor_id(b));
}
