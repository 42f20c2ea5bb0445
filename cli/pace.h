/* SPDX-License-Identifier: Apache-2.0 */
/* --rate: how many a second. */
#ifndef CLI_PACE_H
#define CLI_PACE_H

#include "base/error.h"

#include <stdint.h>

/* The pace of --rate. Time lost while waiting for something else is made up for by a burst of at
 * most a second's worth. */
struct pace {
    double per_second; /* 0 = as fast as it goes */
    int64_t began_us;
    double done; /* since began_us */
};

/* "50/s", "50", "0.5/s", "600/m". REJECT "Usage". NULL = as fast as it goes. */
enum error_class pace_parse(const char *text, struct pace *ret_pace, struct error *ret_error);
/* Microseconds until the next one may be sent; 0 = now. */
int64_t pace_wait_us(struct pace *pace, int64_t now_us);
/* One was sent. */
void pace_pass(struct pace *pace);

#endif
