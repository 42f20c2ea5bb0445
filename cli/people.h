/* SPDX-License-Identifier: Apache-2.0 */
/* Times of the API (integers, milliseconds since the epoch, or null) as people read them. */
#ifndef CLI_PEOPLE_H
#define CLI_PEOPLE_H

#include <jansson.h>
#include <stdint.h>

/* All new; "" for null. */
json_t *people_time(const json_t *time);             /* "2010-12-01 08:26:03" (UTC) */
json_t *people_time_ms(const json_t *time);          /* "2010-12-01 08:26:03.123" */
json_t *people_age(const json_t *time, int64_t now); /* "12s", "5m", "3h", "4d"; "in 12s" */

#endif
