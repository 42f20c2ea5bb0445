/* SPDX-License-Identifier: Apache-2.0 */
/* A steady rate: `--rate 50/s`. What was missed while waiting for something else is not made up for
 * in a burst of more than a second's worth. */
#ifndef CLI_IMPORT_PACE_H
#define CLI_IMPORT_PACE_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct pace {
    double per_second; /* 0 = as fast as it goes */
    int64_t began_us;
    double done; /* since began_us */
};

/* "50/s", "50", "0.5/s", "600/m". REJECT "Usage". NULL = as fast as it goes. */
enum error_class pace_parse(const char *text, struct pace *ret_pace, struct error *ret_error);
/* Microseconds until the next one may go; 0 = now. */
int64_t pace_wait_us(struct pace *pace, int64_t now_us);
/* One went. */
void pace_pass(struct pace *pace);

#endif
