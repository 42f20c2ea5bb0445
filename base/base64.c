/* SPDX-License-Identifier: Apache-2.0 */
#include "base/base64.h"

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

void base64_encode(struct text bytes, char *ret_text)
{
    uint32_t pending = 0;
    int bits = 0;
    for (uint32_t i = 0; i < bytes.size; i++) {
        pending = pending << 8 | (uint8_t)bytes.data[i];
        for (bits += 8; bits >= 6; bits -= 6)
            *ret_text++ = alphabet[pending >> (bits - 6) & 63];
    }
    if (bits > 0)
        *ret_text++ = alphabet[pending << (6 - bits) & 63];
    *ret_text = '\0';
}

bool base64_decode(struct text text, char *ret_bytes, size_t capacity, uint32_t *ret_size)
{
    uint32_t pending = 0;
    uint32_t size = 0;
    int bits = 0;
    if (text.size % 4 == 1)
        return false;
    for (uint32_t i = 0; i < text.size; i++) {
        const char *at = memchr(alphabet, text.data[i], sizeof(alphabet) - 1);
        if (at == NULL)
            return false;
        pending = (pending << 6 | (uint32_t)(at - alphabet)) & 0xffff;
        bits += 6;
        if (bits < 8)
            continue;
        if (size >= capacity)
            return false;
        bits -= 8;
        ret_bytes[size++] = (char)(pending >> bits & 0xff);
    }
    /* The unused bits of the last character are 0: each text has one encoding. */
    if ((pending & ((1U << bits) - 1)) != 0)
        return false;
    *ret_size = size;
    return true;
}
