/* SPDX-License-Identifier: Apache-2.0 */
/* Times as people write them. */
#ifndef BASE_RFC3339_H
#define BASE_RFC3339_H

#include "base/text.h"

/* All of `text` is a time of RFC 3339 ("2010-12-01T08:26:00Z", with a fraction or an offset such as
 * +02:00), or a date alone, which is midnight UTC. *ret_ms: milliseconds since the epoch;
 * untouched on failure. A leap second counts as the second after it. */
bool rfc3339_parse(struct text text, int64_t *ret_ms);

/* "2010-12-01T08:26:00.000Z" and its NUL. */
enum { RFC3339_TEXT_SIZE = 32 };
/* `ms` is since the epoch. RFC 3339 has the years 0 to 9999: times beyond become the nearest. */
void rfc3339_format(int64_t ms, char ret_text[RFC3339_TEXT_SIZE]);

#endif
