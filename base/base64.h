/* SPDX-License-Identifier: Apache-2.0 */
/* Base64url (RFC 4648, section 5) without padding. */
#ifndef BASE_BASE64_H
#define BASE_BASE64_H

#include "base/text.h"

#include <stddef.h>

/* Characters that `bytes` bytes become. */
#define BASE64_SIZE(bytes) (((bytes)*4 + 2) / 3)

/* `ret_text` holds BASE64_SIZE(bytes.size) characters and a NUL, which is added. */
void base64_encode(struct text bytes, char *ret_text);
/* False when `text` is not what base64_encode() makes, or becomes more than `capacity` bytes. */
bool base64_decode(struct text text, char *ret_bytes, size_t capacity, uint32_t *ret_size);

#endif
