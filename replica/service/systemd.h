/* SPDX-License-Identifier: Apache-2.0 */
/* What a service tells the systemd that started it, by sd_notify(3): that it has started, what
 * /readyz says as the status of `systemctl status`, that the loop turns (WatchdogSec= of the unit),
 * and that it drains. Does nothing in a process that nothing waits for. Loop thread. */
#ifndef REPLICA_SERVICE_SYSTEMD_H
#define REPLICA_SERVICE_SYSTEMD_H

#include "base/error.h"
#include "platform/loop.h"

struct systemd_link {
    struct loop *loop; /* borrowed; NULL: nothing waits, or it has ended */
    /* Why it takes no work, or what is wrong although it does. */
    bool (*trouble)(void *ctx, char *ret_reason, size_t reason_size);
    void *ctx;
    struct loop_timer timer;
    int64_t every_ms;
    char status[ERROR_MESSAGE_SIZE]; /* as told last */
};

enum { SYSTEMD_STATUS_MS = 2000 };

/* The service has started. The link stays where it is until systemd_end(), which may be called
 * without a begin. */
void systemd_begin(struct systemd_link *link, struct loop *loop,
                   bool (*trouble)(void *ctx, char *ret_reason, size_t reason_size), void *ctx);
void systemd_draining(struct systemd_link *link);
void systemd_end(struct systemd_link *link);

#endif
