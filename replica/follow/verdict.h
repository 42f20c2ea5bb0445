/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a partition keeps up: its lag over a window of minutes, in one word and a reason.
 * Consoles and supervisors measure it, because a dead scheduler cannot. */
#ifndef REPLICA_FOLLOW_VERDICT_H
#define REPLICA_FOLLOW_VERDICT_H

#include <stdbool.h>
#include <stdint.h>

enum verdict { VERDICT_OK, VERDICT_GROWING, VERDICT_STALLED, VERDICT_STOPPED, VERDICT_COUNT };

enum {
    LAG_SAMPLES = 30,
    LAG_SAMPLE_MS = 10000,  /* a window of five minutes */
    LAG_STALLED_MS = 30000, /* commands wait, and none is decided for this long */
    LAG_GAP_MS = 12000,     /* between two measurements: more of it does not count */
    LAG_GROWING_MS = 60000, /* the least time over which growth is measured */
    LAG_NOISE = 20,         /* commands: less does not count as growth */
    VERDICT_REASON_SIZE = 768
};

/* Zeros: nothing is known. */
struct lag_window {
    struct {
        int64_t at_ms;
        int64_t lag;
    } samples[LAG_SAMPLES];
    uint32_t count; /* ever taken */
    int64_t lag;    /* the latest */
    int64_t next_command;
    int64_t measured_ms; /* the latest */
    int64_t advanced_ms; /* when a command was last decided, or none waited */
};

/* A measurement: commands that wait, and the first of them. */
void lag_window_add(struct lag_window *window, int64_t now_ms, int64_t lag, int64_t next_command);
/* For how long commands have waited without a decision of any; 0: none waits. */
int64_t lag_window_waited_ms(const struct lag_window *window, int64_t now_ms);
/* Whether that is too long; then the reason: "1 command waits, and none was decided for 31 s". */
bool lag_window_is_stalled(const struct lag_window *window, int64_t now_ms,
                           char ret_reason[VERDICT_REASON_SIZE]);

struct verdict_input {
    const struct lag_window *window;
    int64_t now_ms;
    const char *stopped; /* why the console cannot read it; NULL: it can */
    bool claimed;        /* by any scheduler, ever */
    int64_t away_ms;     /* the brokers do not answer for this long; 0: they do */
};

/* The reason is empty when all is well. */
enum verdict verdict_of(const struct verdict_input *input, char ret_reason[VERDICT_REASON_SIZE]);
/* "ok", "growing" ... */
const char *verdict_name(enum verdict verdict);

#endif
