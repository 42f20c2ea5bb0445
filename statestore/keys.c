/* SPDX-License-Identifier: Apache-2.0 */
/* Keys. See keys.h for the layouts. */
#include "statestore/keys.h"

#include "base/bytes.h"

#include <assert.h>
#include <xxhash.h>

_Static_assert(KEY_BYTES_MAX >= 3 + INDEX_VALUE_BYTES_MAX + 8 + ORDER_ID_BYTES_MAX,
               "the largest index key fits");
_Static_assert(STORE_INDEX_COUNT <= 255 && DEADLINE_KIND_COUNT <= 255, "enums fit a byte");

enum { DEADLINE_TAIL_BYTES = 1 + 1 + 4 }; /* 0 | kind | step BE4 */

static void add_bytes(struct key *key, const void *data, size_t size)
{
    assert(size <= KEY_BYTES_MAX - key->size);
    if (size > 0)
        memcpy(key->data + key->size, data, size);
    key->size += (uint32_t)size;
}

static void add_number(struct key *key, uint64_t value, size_t size)
{
    uint8_t bytes[8];
    bytes_put_be(bytes, value, size);
    add_bytes(key, bytes, size);
}

static void add_rising(struct key *key, int64_t value)
{
    uint8_t bytes[8];
    bytes_put_rising(bytes, value);
    add_bytes(key, bytes, sizeof(bytes));
}

bool key_may_hold(struct text order_id)
{
    return order_id.size <= ORDER_ID_BYTES_MAX;
}

static void add_order_id(struct key *key, struct text order_id)
{
    assert(key_may_hold(order_id));
    add_bytes(key, order_id.data, order_id.size);
}

/* ---- deadlines ---- */

void key_of_due_time(int64_t due_at, struct key *ret_key)
{
    ret_key->size = 0;
    add_rising(ret_key, due_at);
}

void key_of_due_order(int64_t due_at, struct text order_id, struct key *ret_key)
{
    key_of_due_time(due_at, ret_key);
    add_order_id(ret_key, order_id);
}

void key_of_deadline(struct text order_id, const struct deadline *deadline, struct key *ret_key)
{
    key_of_due_order(deadline->due_at, order_id, ret_key);
    add_number(ret_key, 0, 1);
    add_number(ret_key, (uint64_t)deadline->kind, 1);
    add_number(ret_key, deadline->step, 4);
}

bool key_to_deadline(struct text key, struct text *ret_order_id, struct deadline *ret_deadline)
{
    if (key.size < 8 + DEADLINE_TAIL_BYTES)
        return false;
    const char *tail = key.data + key.size - DEADLINE_TAIL_BYTES;
    if (tail[0] != 0 || (uint8_t)tail[1] >= DEADLINE_KIND_COUNT)
        return false;
    *ret_order_id = (struct text){key.data + 8, key.size - 8 - DEADLINE_TAIL_BYTES};
    *ret_deadline = (struct deadline){
        .kind = (enum deadline_kind)(uint8_t)tail[1],
        .due_at = bytes_get_rising(key.data),
        .step = (uint32_t)bytes_get_be(tail + 2, 4),
    };
    return true;
}

/* ---- history ---- */

void key_of_history(struct text order_id, int64_t offset, struct key *ret_key)
{
    ret_key->size = 0;
    add_order_id(ret_key, order_id);
    add_number(ret_key, 0, 1);
    add_rising(ret_key, offset);
}

bool key_to_history(struct text key, uint32_t order_id_size, int64_t *ret_offset)
{
    if (key.size != order_id_size + 1 + 8 || key.data[order_id_size] != 0)
        return false;
    *ret_offset = bytes_get_rising(key.data + order_id_size + 1);
    return true;
}

/* ---- index ---- */

enum { HASH_BYTES = 16, HASHED_PREFIX_BYTES = INDEX_VALUE_BYTES_MAX - HASH_BYTES };

static void hash_parts(const struct text parts[], uint32_t count, char ret_hash[HASH_BYTES])
{
    XXH3_state_t *state = XXH3_createState();
    assert(state != NULL);
    XXH3_128bits_reset(state);
    for (uint32_t i = 0; i < count; i++)
        if (parts[i].size > 0)
            XXH3_128bits_update(state, parts[i].data, parts[i].size);
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(state));
    _Static_assert(sizeof(canonical.digest) == HASH_BYTES, "128 bits");
    memcpy(ret_hash, canonical.digest, HASH_BYTES);
    XXH3_freeState(state);
}

void index_value_of(const struct text parts[], uint32_t count, struct index_value *ret_value)
{
    uint64_t size = 0;
    for (uint32_t i = 0; i < count; i++)
        size += parts[i].size;
    uint32_t room = size < INDEX_VALUE_BYTES_MAX ? INDEX_VALUE_BYTES_MAX : HASHED_PREFIX_BYTES;
    ret_value->size = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t left = room - ret_value->size;
        uint32_t taken = parts[i].size < left ? parts[i].size : left;
        if (taken > 0)
            memcpy(ret_value->data + ret_value->size, parts[i].data, taken);
        ret_value->size += taken;
    }
    if (size < INDEX_VALUE_BYTES_MAX)
        return;
    assert(ret_value->size == HASHED_PREFIX_BYTES);
    hash_parts(parts, count, ret_value->data + HASHED_PREFIX_BYTES);
    ret_value->size = INDEX_VALUE_BYTES_MAX;
}

void key_of_index_prefix(enum store_index index, struct text value, struct key *ret_key)
{
    assert((unsigned)index < STORE_INDEX_COUNT);
    assert(value.size <= INDEX_VALUE_BYTES_MAX);
    ret_key->size = 0;
    add_number(ret_key, (uint64_t)index, 1);
    add_number(ret_key, value.size, 2);
    add_bytes(ret_key, value.data, value.size);
}

void key_of_index(enum store_index index, struct text value, int64_t at, struct text order_id,
                  struct key *ret_key)
{
    key_of_index_prefix(index, value, ret_key);
    add_rising(ret_key, ~at);
    add_order_id(ret_key, order_id);
}

bool key_to_index(struct text key, uint32_t prefix_size, int64_t *ret_at, struct text *ret_order_id)
{
    if (key.size <= prefix_size + 8 || key.size > prefix_size + 8 + ORDER_ID_BYTES_MAX)
        return false;
    *ret_at = ~bytes_get_rising(key.data + prefix_size);
    *ret_order_id = (struct text){key.data + prefix_size + 8, key.size - prefix_size - 8};
    return true;
}

/* ---- steps that wait ---- */

enum { WAITING_MARK = 128 }; /* not the number of an index */
_Static_assert((int)STORE_INDEX_COUNT <= (int)WAITING_MARK,
               "no index has the number of waiting steps");

void key_of_waiting_prefix(struct text queue, enum priority priority, struct key *ret_key)
{
    assert(queue.size <= QUEUE_KEY_BYTES_MAX && (unsigned)priority < PRIORITY_COUNT);
    ret_key->size = 0;
    add_number(ret_key, WAITING_MARK, 1);
    add_number(ret_key, queue.size, 2);
    add_bytes(ret_key, queue.data, queue.size);
    add_number(ret_key, (uint64_t)priority, 1);
}

void key_of_waiting(const struct waiting_row *row, struct key *ret_key)
{
    key_of_waiting_prefix(row->queue, row->priority, ret_key);
    add_rising(ret_key, row->queued_at);
    add_order_id(ret_key, row->order_id);
}

bool key_to_waiting(struct text key, uint32_t prefix_size, int64_t *ret_queued_at,
                    struct text *ret_order_id)
{
    if (key.size <= prefix_size + 8 || key.size > prefix_size + 8 + ORDER_ID_BYTES_MAX)
        return false;
    *ret_queued_at = bytes_get_rising(key.data + prefix_size);
    *ret_order_id = (struct text){key.data + prefix_size + 8, key.size - prefix_size - 8};
    return true;
}

/* ---- orders that have ended ---- */

enum { ENDED_MARK = 129 }; /* not the number of an index */
_Static_assert((int)ENDED_MARK > (int)WAITING_MARK, "nor that of waiting steps");

void key_of_ended(int64_t ended_at, struct text order_id, struct key *ret_key)
{
    ret_key->size = 0;
    add_number(ret_key, ENDED_MARK, 1);
    add_rising(ret_key, ended_at);
    add_order_id(ret_key, order_id);
}

bool key_to_ended(struct text key, int64_t *ret_ended_at, struct text *ret_order_id)
{
    if (key.size <= 1 + 8 || key.size > 1 + 8 + ORDER_ID_BYTES_MAX)
        return false;
    *ret_ended_at = bytes_get_rising(key.data + 1);
    *ret_order_id = (struct text){key.data + 1 + 8, key.size - 1 - 8};
    return true;
}

bool key_after_prefix(const struct key *key, struct key *ret_after)
{
    uint32_t size = key->size;
    while (size > 0 && (uint8_t)key->data[size - 1] == 255)
        size--;
    if (size == 0)
        return false;
    *ret_after = *key;
    ret_after->size = size;
    ret_after->data[size - 1]++;
    return true;
}
