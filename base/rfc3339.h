/* SPDX-License-Identifier: Apache-2.0 */
/* Times as people write them. */
#ifndef BASE_RFC3339_H
#define BASE_RFC3339_H

#include "base/text.h"

/* All of `text` is a time of RFC 3339 ("2010-12-01T08:26:00Z", with a fraction or an offset such as
 * +02:00), or a date alone, which is midnight UTC. *ret_ms: milliseconds since the epoch;
 * untouched on failure. A leap second counts as the second after it. */
bool rfc3339_parse(struct text text, int64_t *ret_ms);

#endif
