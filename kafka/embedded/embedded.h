/* SPDX-License-Identifier: Apache-2.0 */
/* The embedded broker: a small Kafka broker in a thread of this process, on 127.0.0.1. For `reeve
 * dev` and tests, where no Kafka is there. Any Kafka client may use it.
 *
 * It is one broker without replicas, transactions, users or access rules. What it acknowledges is
 * in files (partition_log.h), which outlive the process, but were not forced to the disk: they
 * survive a kill, not a power failure. Topics are created by any client. It never deletes what a
 * topic's settings do not tell it to: a partition that is full accepts nothing more, and a line
 * about that is reported. Topics with cleanup.policy=compact keep every record.
 */
#ifndef KAFKA_EMBEDDED_EMBEDDED_H
#define KAFKA_EMBEDDED_EMBEDDED_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

struct embedded;

enum { EMBEDDED_PORT = 9092 };
#define EMBEDDED_PARTITION_BYTES_MAX (UINT64_C(4) << 30)

struct embedded_options {
    const char *directory;        /* exists; NULL: everything is lost with the process */
    int port;                     /* if it is free, else, and for 0, any free one */
    uint64_t partition_bytes_max; /* what a partition may hold; 0: the maximum above */
    /* One line that a user should read, such as that of a full partition; not twice in a minute.
     * In the broker's thread. NULL: nowhere. */
    void (*report)(void *ctx, const char *line);
    void *ctx;
};

/* New: it serves what `directory` holds. FATAL: the directory is another program's, or cannot be
 * read or written. RETRY if no port is free. `options` is borrowed until the call returns. */
enum error_class embedded_new(const struct embedded_options *options,
                              struct embedded **ret_embedded, struct error *ret_error);
/* "127.0.0.1:PORT", borrowed until embedded_free. */
const char *embedded_bootstrap(const struct embedded *embedded);
/* NULL does nothing. */
void embedded_free(struct embedded *embedded);

#endif
