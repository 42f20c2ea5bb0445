/* SPDX-License-Identifier: Apache-2.0 */
/* Appends records until each is acknowledged, many at a time. Retriable failures are sent again:
 * receivers of submissions recognize repetitions. */
#ifndef CLI_SUBMIT_SENDER_H
#define CLI_SUBMIT_SENDER_H

#include "cli/session.h"

enum {
    SENDER_RECORDS_MAX = 5000, /* in flight */
    SENDER_BYTES_MAX = 32 << 20,
    SENDER_SILENCE_MS = 120000 /* without any acknowledgement: give up */
};

struct sender;

/* In the order of acknowledgement. offset -1: acknowledged, position unknown. `key` is borrowed. */
typedef void (*sender_acked)(void *ctx, struct text key, int32_t partition, int64_t offset);

/* New. Records go to `topic` (borrowed). `acked` may be NULL. */
struct sender *sender_new(struct cli_session *session, const char *topic, sender_acked acked,
                          void *ctx);
/* Late acknowledgements are ignored. */
void sender_free(struct sender *sender);

/* On the partition of the key, or on `partition` if that is >= 0; `record` NULL: a tombstone. Waits
 * while too much is in flight. RETRY: nothing was acknowledged for SENDER_SILENCE_MS. REJECT: a
 * record can never be appended. */
enum error_class sender_send(struct sender *sender, int32_t partition, struct text key,
                             enum record_kind kind, const void *record, struct error *ret_error);
/* Waits until everything is acknowledged. */
enum error_class sender_flush(struct sender *sender, struct error *ret_error);
/* Runs the loop for about this long. */
void sender_run(struct sender *sender, int64_t ms);
uint64_t sender_acknowledged(const struct sender *sender);

#endif
