/* SPDX-License-Identifier: Apache-2.0 */
/* The one event loop of a process: file descriptors (epoll), timers, deferred calls, signals.
 *
 * One turn: make the calls deferred so far; wait until a descriptor is ready or the next timer is
 * due (not at all if a call was deferred meanwhile); call the callbacks of ready descriptors, then
 * those of due timers. All functions belong to the loop's thread, except loop_wakeup_send.
 * Callbacks may add, change and remove anything, themselves included; what is removed is not
 * called again, not even in this turn. */
#ifndef PLATFORM_LOOP_H
#define PLATFORM_LOOP_H

#include "base/error.h"
#include "platform/clock.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct loop;

/* `clock` is borrowed until loop_free. */
enum error_class loop_new(const struct clock *clock, struct loop **ret_loop,
                          struct error *ret_error);
/* Pending timers and deferred calls are dropped, never called. The caller has closed all wakeups.
 * NULL does nothing. */
void loop_free(struct loop *loop);
const struct clock *loop_clock(const struct loop *loop);
/* The monotonic time at the start of this turn's callbacks: cheap, and the same for all of them. */
int64_t loop_now_ms(const struct loop *loop);

/* ---- file descriptors ---- */

enum { LOOP_READ = 1, LOOP_WRITE = 2, LOOP_ERROR = 4 /* reported, never requested */ };

typedef void (*loop_fd_callback)(struct loop *loop, int fd, unsigned events, void *userdata);

/* Level-triggered. `fd` stays the caller's: remove it before closing it. One callback per fd. */
enum error_class loop_fd_add(struct loop *loop, int fd, unsigned events, loop_fd_callback callback,
                             void *userdata, struct error *ret_error);
void loop_fd_modify(struct loop *loop, int fd, unsigned events);
/* Ignores a descriptor that the loop does not watch. */
void loop_fd_remove(struct loop *loop, int fd);

/* ---- timers: the struct is the caller's, zeroed before its first use, and stays put while
 * armed ---- */

struct loop_timer {
    int64_t due_ms; /* monotonic */
    void (*callback)(void *ctx);
    void *ctx;
    uint64_t armed_as;  /* the loop's: orders timers that are due at the same time by arming */
    size_t heap_index1; /* the loop's: place in the heap + 1, 0 = not armed */
};

void loop_timer_init(struct loop_timer *timer, void (*callback)(void *ctx), void *ctx);
/* Arms the timer, or moves an armed one. Once: a repeating timer arms itself again. */
void loop_timer_set(struct loop *loop, struct loop_timer *timer, int64_t due_mono_ms);
/* The same, `delay_ms` from now. */
void loop_timer_after(struct loop *loop, struct loop_timer *timer, int64_t delay_ms);
/* Does nothing when the timer is not armed. */
void loop_timer_cancel(struct loop *loop, struct loop_timer *timer);

static inline bool loop_timer_armed(const struct loop_timer *timer)
{
    return timer->heap_index1 != 0;
}

/* ---- deferred calls: one call, before the next wait. The caller's struct, as above. ---- */

struct loop_deferred {
    void (*callback)(void *ctx);
    void *ctx;
    struct loop_deferred *next; /* the loop's */
    struct loop_deferred *prev; /* the loop's */
    bool queued;                /* the loop's */
};

void loop_deferred_init(struct loop_deferred *deferred, void (*callback)(void *ctx), void *ctx);
/* Does nothing if the call is already deferred. What a deferred call defers is called in the next
 * turn. */
void loop_defer(struct loop *loop, struct loop_deferred *deferred);
void loop_defer_cancel(struct loop *loop, struct loop_deferred *deferred);

/* ---- wakeups from other threads and from librdkafka's queues ---- */

struct loop_wakeup {
    struct loop *loop;
    /* An eventfd, -1 = not open. Also for rd_kafka_queue_io_event_enable(queue, fd, &one, 8) with
     * uint64_t one = 1. */
    int fd;
    void (*callback)(void *ctx);
    void *ctx;
};

/* The callback runs on the loop's thread, once for any number of sends since the last time. */
enum error_class loop_wakeup_open(struct loop *loop, struct loop_wakeup *wakeup,
                                  void (*callback)(void *ctx), void *ctx, struct error *ret_error);
void loop_wakeup_close(struct loop_wakeup *wakeup);
/* From any thread or a signal handler. Never blocks. */
void loop_wakeup_send(struct loop_wakeup *wakeup);

/* ---- signals ---- */

/* From now on SIGTERM, SIGINT and SIGHUP call `callback`, SIGPIPE is ignored, and SIGCHLD is not.
 * Call it before the process starts any thread: it blocks the signals, and threads inherit that.
 * loop_free unblocks them. */
enum error_class loop_on_signals(struct loop *loop,
                                 void (*callback)(struct loop *, int signal, void *userdata),
                                 void *userdata, struct error *ret_error);

/* ---- running ---- */

/* Runs turns until a callback calls loop_stop; finishes that turn. */
void loop_run(struct loop *loop);
void loop_stop(struct loop *loop);
/* Runs one turn that waits at most `timeout_ms` (0: not at all, -1: without a limit). Returns the
 * number of callbacks that ran. */
int loop_once(struct loop *loop, int64_t timeout_ms);
/* Runs turns until `done(ctx)` is true or the time is up; returns the last result of `done`. For
 * tests and the CLI. */
bool loop_run_until(struct loop *loop, bool (*done)(void *ctx), void *ctx, int64_t timeout_ms);

#endif
