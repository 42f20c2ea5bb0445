/* SPDX-License-Identifier: Apache-2.0 */
/* See systemd.h. */
#include "replica/service/systemd.h"

#include <stdio.h>
#include <string.h>
#include <systemd/sd-daemon.h>

static void tell_status(struct systemd_link *link)
{
    char status[sizeof(link->status)] = "ready";
    char reason[sizeof(link->status)];
    if (link->trouble(link->ctx, reason, sizeof(reason)))
        snprintf(status, sizeof(status), "%s", reason);
    if (strcmp(status, link->status) == 0)
        return;
    memcpy(link->status, status, sizeof(status));
    /* A line is an assignment of its own. */
    sd_notifyf(0, "STATUS=%.*s", (int)strcspn(status, "\n"), status);
}

static void on_timer(void *ctx)
{
    struct systemd_link *link = ctx;
    sd_notify(0, "WATCHDOG=1");
    tell_status(link);
    loop_timer_after(link->loop, &link->timer, link->every_ms);
}

/* Twice in the time that a watchdog waits, as sd_watchdog_enabled(3) recommends. */
static int64_t interval_ms(void)
{
    uint64_t watchdog_us;
    if (sd_watchdog_enabled(0, &watchdog_us) <= 0 || watchdog_us / 2000 >= SYSTEMD_STATUS_MS)
        return SYSTEMD_STATUS_MS;
    return watchdog_us >= 2000 ? (int64_t)(watchdog_us / 2000) : 1;
}

void systemd_begin(struct systemd_link *link, struct loop *loop,
                   bool (*trouble)(void *ctx, char *ret_reason, size_t reason_size), void *ctx)
{
    *link = (struct systemd_link){.trouble = trouble, .ctx = ctx, .every_ms = interval_ms()};
    if (sd_notify(0, "READY=1") <= 0)
        return;
    link->loop = loop;
    loop_timer_init(&link->timer, on_timer, link);
    on_timer(link);
}

void systemd_draining(struct systemd_link *link)
{
    if (link->loop != NULL)
        sd_notify(0, "STOPPING=1\nSTATUS=draining");
    systemd_end(link);
}

void systemd_end(struct systemd_link *link)
{
    if (link->loop != NULL)
        loop_timer_cancel(link->loop, &link->timer);
    link->loop = NULL;
}
