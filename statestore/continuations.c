/* SPDX-License-Identifier: Apache-2.0 */
/* See continuations.h. The row in `meta`: offset and appended_at, 8 bytes each, little-endian. */
#include "statestore/continuations.h"

#include "base/bytes.h"
#include "statestore/store_internal.h"

#include <assert.h>

enum { PLACE_BYTES = 2 * 8 };

static const struct text row_key = {"continuations", sizeof("continuations") - 1};

/* Forgets every second one; the latest stays. */
static void thin(struct continuations *list)
{
    uint32_t kept = 0;
    for (uint32_t i = 1; i < list->count; i += 2)
        list->places[kept++] = list->places[i];
    assert(list->count % 2 == 0 && kept == list->count / 2);
    list->count = kept;
}

void continuations_add(struct continuations *list, struct continuation_place place)
{
    assert(list->count <= CONTINUATIONS_MAX);
    assert(list->count == 0 || list->places[list->count - 1].offset < place.offset);
    if (list->count == CONTINUATIONS_MAX)
        thin(list);
    list->places[list->count++] = place;
}

void continuations_forget(struct continuations *list, int64_t offset)
{
    uint32_t gone = 0;
    while (gone < list->count && list->places[gone].offset < offset)
        gone++;
    list->count -= gone;
    memmove(list->places, list->places + gone, list->count * sizeof(list->places[0]));
}

void store_batch_put_continuations(struct store *store, struct store_batch *batch,
                                   const struct continuations *list)
{
    uint8_t bytes[CONTINUATIONS_MAX * PLACE_BYTES];
    assert(list->count <= CONTINUATIONS_MAX);
    for (uint32_t i = 0; i < list->count; i++) {
        bytes_put_le(bytes + i * PLACE_BYTES, (uint64_t)list->places[i].offset, 8);
        bytes_put_le(bytes + i * PLACE_BYTES + 8, (uint64_t)list->places[i].appended_at, 8);
    }
    store_batch_put_meta(store, batch, row_key,
                         (struct text){(const char *)bytes, list->count * PLACE_BYTES});
}

static bool decode(struct text row, struct continuations *list)
{
    if (row.size % PLACE_BYTES != 0 || row.size / PLACE_BYTES > CONTINUATIONS_MAX)
        return false;
    for (uint32_t at = 0; at < row.size; at += PLACE_BYTES) {
        const uint8_t *bytes = (const uint8_t *)row.data + at;
        struct continuation_place place = {(int64_t)bytes_get_le(bytes, 8),
                                           (int64_t)bytes_get_le(bytes + 8, 8)};
        int64_t before = list->count > 0 ? list->places[list->count - 1].offset : -1;
        if (place.offset <= before)
            return false;
        list->places[list->count++] = place;
    }
    return true;
}

enum error_class store_get_continuations(struct store *store, struct continuations *ret_list,
                                         struct error *ret_error)
{
    struct continuations list = {.count = 0};
    struct text row = {0};
    enum error_class class = store_get_meta(store, row_key, &row, ret_error);
    if (class != ERROR_OK)
        return class;
    bool good = decode(row, &list);
    store_row_free(row);
    if (!good)
        return store_corrupt(store, "a list of Continuations that cannot be one", ret_error);
    *ret_list = list;
    return ERROR_OK;
}
