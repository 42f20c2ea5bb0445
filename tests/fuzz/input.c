/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/fuzz/input.h"

#include "base/bytes.h"

void fuzz_entries(const uint8_t *data, size_t size, void (*take)(uint8_t what, struct text bytes))
{
    for (int i = 0; i < FUZZ_ENTRIES_MAX && size >= 3; i++) {
        size_t wanted = bytes_get_le(data + 1, 2);
        size_t taken = wanted < size - 3 ? wanted : size - 3;
        take(data[0], (struct text){(const char *)data + 3, (uint32_t)taken});
        data += 3 + taken;
        size -= 3 + taken;
    }
}

void fuzz_pairs(struct text bytes, void (*happen)(uint8_t what, uint8_t much))
{
    for (uint32_t i = 0; i + 2 <= bytes.size && i < 2 * FUZZ_PAIRS_MAX; i += 2)
        happen((uint8_t)bytes.data[i], (uint8_t)bytes.data[i + 1]);
}

void fuzz_frame(struct buffer *buffer, uint64_t fingerprint)
{
    uint8_t frame[10] = {0xc3, 0x01};
    bytes_put_le(frame + 2, fingerprint, 8);
    buffer_append(buffer, frame, sizeof(frame));
}

size_t fuzz_varint(uint8_t *ret_bytes, int64_t value)
{
    uint64_t left = (uint64_t)value << 1;
    size_t size = 0;
    for (; left >= 0x80; left >>= 7)
        ret_bytes[size++] = (uint8_t)(left | 0x80);
    ret_bytes[size++] = (uint8_t)left;
    return size;
}
