/* SPDX-License-Identifier: Apache-2.0 */
/* May a reset skip this range of the log?
 * (docs/design/decisions/0009-trimming-the-log.md, points 2, 3 and 6) */
#ifndef CLI_PARTITION_SKIP_CHECK_H
#define CLI_PARTITION_SKIP_CHECK_H

#include "cli/session.h"
#include "replica/fold/admission.h"

struct skip_check {
    int64_t low; /* the log, as the reset will name its end */
    int64_t end;
    /* Why the range may not be skipped: */
    bool beginning; /* the log begins in or after it: nothing would be left to begin with */
    bool trims;     /* a Continuation in or after it says what is not needed, and its owner went on
                       after it: statements that this relies on may be in the range */
    bool revives;   /* a reset in it skips more than the range: that would count again */
    bool counts;    /* a record after it counts, and may be made of what the range says */
    int64_t trims_at;
    int64_t revives_at;
    int64_t revives_from; /* the first offset that it skips */
    int64_t counts_at;
};

/* Reads the log from low to end. `checkpoint`: of its fold, as far as that gets; it knows what
 * former resets skip. */
enum error_class skip_check_read(struct cli_session *session, int32_t partition,
                                 const struct partition_reset *reset,
                                 const struct checkpoint *checkpoint, struct skip_check *check,
                                 struct error *ret_error);
/* REJECT: the range may not be skipped. */
enum error_class skip_check_verdict(const struct skip_check *check,
                                    const struct partition_reset *reset, struct error *ret_error);

#endif
