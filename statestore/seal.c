/* SPDX-License-Identifier: Apache-2.0 */
/* Hashes of rows. See seal.h. */
#include "statestore/seal.h"

#include "base/bytes.h"

#include <xxhash.h>

void seal_make(uint64_t family, struct text key, struct text value, uint8_t ret_seal[SEAL_BYTES])
{
    uint64_t seed = XXH3_64bits_withSeed(key.data, key.size, family);
    bytes_put_le(ret_seal, XXH3_64bits_withSeed(value.data, value.size, seed), SEAL_BYTES);
}

bool seal_open(uint64_t family, struct text key, struct text sealed, struct text *ret_value)
{
    if (sealed.size < SEAL_BYTES)
        return false;
    struct text value = {sealed.data, sealed.size - SEAL_BYTES};
    uint8_t seal[SEAL_BYTES];
    seal_make(family, key, value, seal);
    if (memcmp(seal, sealed.data + value.size, SEAL_BYTES) != 0)
        return false;
    *ret_value = value;
    return true;
}
