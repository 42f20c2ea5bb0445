/* SPDX-License-Identifier: Apache-2.0 */
/* What stops a partition, and whether a reset would help: from the log and the ends of its topics,
 * without the services. */
#ifndef CLI_PARTITION_STATE_H
#define CLI_PARTITION_STATE_H

#include "cli/session.h"
#include "statestore/checkpoint.h"

enum partition_trouble {
    PARTITION_WORKS,
    PARTITION_UNREADABLE,            /* a record of events cannot be folded */
    PARTITION_COMMANDS_OUT_OF_RANGE, /* commands does not hold the next one */
    PARTITION_COMMANDS_DIFFER,       /* commands holds other ones than the log consumed */
    PARTITION_CLOCK_AHEAD,           /* the newest Decision is far ahead of this clock */
    PARTITION_UNCLAIMED,             /* no scheduler has claimed this log, as when it is new */
    PARTITION_TROUBLE_COUNT
};

struct partition_state {
    struct checkpoint checkpoint; /* at the end of the log, or at the record that stops it */
    struct error stop;            /* why it cannot be folded further, if it cannot */
    int64_t stopped_at;           /* the record in events that is to blame */
    int64_t events_low;
    int64_t events_end;
    int64_t commands_low;
    int64_t commands_high;
    bool last_command_differs;
    int64_t now;
    int64_t margin_ms;
};

/* Folds the log into a store that is removed again. */
enum error_class partition_state_read(struct cli *cli, struct cli_session *session,
                                      int32_t partition, struct partition_state *ret_state,
                                      struct error *ret_error);

enum partition_trouble partition_trouble_of(const struct partition_state *state);
/* One sentence without its end. */
void partition_trouble_text(const struct partition_state *state, char *ret_text, size_t size);
/* REJECT: the partition works, or the reset does not end its trouble, or makes no sense. */
enum error_class partition_reset_check(const struct partition_state *state,
                                       const struct partition_reset *reset,
                                       struct error *ret_error);

#endif
