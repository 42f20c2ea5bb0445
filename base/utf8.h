/* SPDX-License-Identifier: Apache-2.0 */
/* UTF-8 as RFC 3629 has it: no overlong forms, no surrogates, nothing beyond U+10FFFF. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include "base/arena.h"

/* Bytes of the character at `at`, where `left` > 0 bytes are left; 0 if it is malformed. */
uint32_t utf8_character_size(const uint8_t *at, size_t left);
bool utf8_valid(struct text text);
/* Valid, and without control characters (U+0000..1F, U+007F..9F). */
bool utf8_printable(struct text text);
/* The first bytes of a text, at most `max`; no character is cut in two. Borrowed. */
struct text utf8_cut(struct text text, uint32_t max);
/* The same as a string of at most `size` - 1 bytes. */
void utf8_copy(char *ret_string, size_t size, struct text text);
/* `text` made fit for a record: invalid bytes and NULs become '?', and at most `max` bytes of whole
 * characters are kept. Borrows `text` where nothing is to be changed, else new in `arena`. For
 * texts that come from elsewhere (an HTTP answer, an exception's message); codec_encode() asserts
 * what this makes sure of. */
struct text utf8_clean(struct text text, uint32_t max, struct arena *arena);

#endif
