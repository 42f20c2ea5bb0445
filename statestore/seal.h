/* SPDX-License-Identifier: Apache-2.0 */
/* Values carry a hash of themselves and of their key, so that what RocksDB lets through (a bit that
 * flipped in memory, a row under the wrong key) is noticed when it is read.
 *
 *     value | XXH3-64 of (family, key, value) LE8 */
#ifndef STATESTORE_SEAL_H
#define STATESTORE_SEAL_H

#include "base/text.h"

enum { SEAL_BYTES = 8 };

/* `family` sets families apart that share keys. */
void seal_make(uint64_t family, struct text key, struct text value, uint8_t ret_seal[SEAL_BYTES]);
/* False when the seal is missing or does not match; *ret_value borrows from `sealed`, its data
 * is not NULL. */
bool seal_open(uint64_t family, struct text key, struct text sealed, struct text *ret_value);

#endif
