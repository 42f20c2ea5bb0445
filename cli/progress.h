/* SPDX-License-Identifier: Apache-2.0 */
/* Progress with rate and time left, on stderr: on a terminal one line that is written over, else a
 * line every few seconds. A short command shows nothing. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include "platform/clock.h"

#include <stdbool.h>
#include <stdio.h>

struct progress {
    FILE *out;
    const struct clock *clock;
    const char *what; /* "orders"; borrowed */
    bool terminal;
    bool shown;
    int64_t began_ms;
    int64_t next_ms;
};

void progress_begin(struct progress *progress, FILE *out, const struct clock *clock,
                    const char *what);
/* `total` 0 = unknown. `share` (0 to 1) of the command is done; below 0 = done / total. */
void progress_show(struct progress *progress, uint64_t done, uint64_t total, double share);
/* Clears the line. Returns the seconds since the beginning, at least a millisecond. */
double progress_end(struct progress *progress);

/* For tests: "45 s", "3 min 10 s", "2 h 5 min" */
enum { PROGRESS_DURATION_SIZE = 32 };
void progress_duration(double seconds, char ret_text[PROGRESS_DURATION_SIZE]);

#endif
