/* SPDX-License-Identifier: Apache-2.0 */
/* The loop: epoll, a binary heap of timers, a list of deferred calls. See loop.h. */
#include "platform/loop.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum { EVENTS_PER_TURN = 256, TABLE_SIZE_MIN = 64 };

/* Indexed by descriptor. The generation distinguishes a watch from an earlier one of the same
 * descriptor, whose events may still be in the array that epoll filled. */
struct fd_watch {
    loop_fd_callback callback; /* NULL = not watched */
    void *userdata;
    uint32_t generation;
};

struct loop {
    const struct clock *clock;
    int epoll_fd;
    int64_t now_ms;
    bool stopping;

    struct fd_watch *watches;
    size_t watches_size;

    struct loop_timer **heap;
    size_t heap_count;
    size_t heap_size;
    uint64_t next_armed_as;

    struct loop_deferred *deferred_first;
    struct loop_deferred *deferred_last;

    int signal_fd;
    sigset_t signal_mask_before;
    void (*signal_callback)(struct loop *, int, void *);
    void *signal_userdata;
    struct loop_deferred round_mark; /* behind the deferred calls of this turn */
    bool round_ended;
};

static enum error_class system_error(struct error *ret_error, const char *what)
{
    int code = errno;
    return error_set(ret_error, CODE_SYSTEM, "%s: %s", what, strerror(code));
}

enum error_class loop_new(const struct clock *clock, struct loop **ret_loop,
                          struct error *ret_error)
{
    int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (epoll_fd < 0)
        return system_error(ret_error, "epoll_create1");
    struct loop *loop = calloc(1, sizeof(*loop));
    assert(loop != NULL);
    loop->clock = clock;
    loop->epoll_fd = epoll_fd;
    loop->signal_fd = -1;
    loop->now_ms = clock_mono_ms(clock);
    *ret_loop = loop;
    return ERROR_OK;
}

void loop_free(struct loop *loop)
{
    if (loop == NULL)
        return;
    for (size_t i = 0; i < loop->heap_count; i++)
        loop->heap[i]->heap_index1 = 0;
    while (loop->deferred_first != NULL)
        loop_defer_cancel(loop, loop->deferred_first);
    if (loop->signal_fd >= 0) {
        close(loop->signal_fd);
        sigprocmask(SIG_SETMASK, &loop->signal_mask_before, NULL);
    }
    close(loop->epoll_fd);
    free(loop->watches);
    free(loop->heap);
    free(loop);
}

const struct clock *loop_clock(const struct loop *loop)
{
    return loop->clock;
}

int64_t loop_now_ms(const struct loop *loop)
{
    return loop->now_ms;
}

/* ---- file descriptors ---- */

static struct fd_watch *find_watch(struct loop *loop, int fd)
{
    if (fd < 0 || (size_t)fd >= loop->watches_size || loop->watches[fd].callback == NULL)
        return NULL;
    return &loop->watches[fd];
}

static void grow_watches(struct loop *loop, int fd)
{
    size_t size = loop->watches_size > 0 ? loop->watches_size : TABLE_SIZE_MIN;
    while (size <= (size_t)fd)
        size *= 2;
    if (size == loop->watches_size)
        return;
    struct fd_watch *grown = realloc(loop->watches, size * sizeof(*grown));
    assert(grown != NULL);
    memset(grown + loop->watches_size, 0, (size - loop->watches_size) * sizeof(*grown));
    loop->watches = grown;
    loop->watches_size = size;
}

static struct epoll_event epoll_event_of(const struct fd_watch *watch, int fd, unsigned events)
{
    uint32_t wanted = (events & LOOP_READ ? (uint32_t)EPOLLIN : 0) |
                      (events & LOOP_WRITE ? (uint32_t)EPOLLOUT : 0);
    return (struct epoll_event){
        .events = wanted,
        .data.u64 = (uint64_t)watch->generation << 32 | (uint32_t)fd,
    };
}

enum error_class loop_fd_add(struct loop *loop, int fd, unsigned events, loop_fd_callback callback,
                             void *userdata, struct error *ret_error)
{
    assert(fd >= 0 && callback != NULL);
    assert((events & ~(unsigned)(LOOP_READ | LOOP_WRITE)) == 0);
    assert(find_watch(loop, fd) == NULL);
    grow_watches(loop, fd);
    struct fd_watch *watch = &loop->watches[fd];
    watch->generation++;
    struct epoll_event event = epoll_event_of(watch, fd, events);
    if (epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0)
        return system_error(ret_error, "epoll_ctl");
    watch->callback = callback;
    watch->userdata = userdata;
    return ERROR_OK;
}

void loop_fd_modify(struct loop *loop, int fd, unsigned events)
{
    struct fd_watch *watch = find_watch(loop, fd);
    assert(watch != NULL);
    struct epoll_event event = epoll_event_of(watch, fd, events);
    int rc = epoll_ctl(loop->epoll_fd, EPOLL_CTL_MOD, fd, &event);
    assert(rc == 0); /* fails only for a descriptor that was closed before it was removed */
}

void loop_fd_remove(struct loop *loop, int fd)
{
    struct fd_watch *watch = find_watch(loop, fd);
    if (watch == NULL)
        return;
    watch->callback = NULL;
    watch->userdata = NULL;
    watch->generation++;
    /* Fails harmlessly where the descriptor was closed already, as libcurl sometimes does. */
    epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
}

static int dispatch_fds(struct loop *loop, const struct epoll_event *events, int count)
{
    int called = 0;
    for (int i = 0; i < count; i++) {
        int fd = (int)(uint32_t)events[i].data.u64;
        const struct fd_watch *watch = find_watch(loop, fd);
        if (watch == NULL || watch->generation != (uint32_t)(events[i].data.u64 >> 32))
            continue;
        uint32_t got = events[i].events;
        unsigned ready = (got & (EPOLLIN | EPOLLHUP | EPOLLERR) ? LOOP_READ : 0u) |
                         (got & (EPOLLOUT | EPOLLERR) ? LOOP_WRITE : 0u) |
                         (got & (EPOLLERR | EPOLLHUP) ? LOOP_ERROR : 0u);
        watch->callback(loop, fd, ready, watch->userdata);
        called++;
    }
    return called;
}

/* ---- timers ---- */

static bool fires_before(const struct loop_timer *a, const struct loop_timer *b)
{
    return a->due_ms != b->due_ms ? a->due_ms < b->due_ms : a->armed_as < b->armed_as;
}

static void heap_put(struct loop *loop, size_t index, struct loop_timer *timer)
{
    assert(index < loop->heap_count);
    loop->heap[index] = timer;
    timer->heap_index1 = index + 1;
}

static void heap_up(struct loop *loop, size_t index)
{
    struct loop_timer *timer = loop->heap[index];
    while (index > 0 && fires_before(timer, loop->heap[(index - 1) / 2])) {
        heap_put(loop, index, loop->heap[(index - 1) / 2]);
        index = (index - 1) / 2;
    }
    heap_put(loop, index, timer);
}

static void heap_down(struct loop *loop, size_t index)
{
    struct loop_timer *timer = loop->heap[index];
    for (;;) {
        size_t child = 2 * index + 1;
        if (child >= loop->heap_count)
            break;
        if (child + 1 < loop->heap_count && fires_before(loop->heap[child + 1], loop->heap[child]))
            child++;
        if (!fires_before(loop->heap[child], timer))
            break;
        heap_put(loop, index, loop->heap[child]);
        index = child;
    }
    heap_put(loop, index, timer);
}

void loop_timer_init(struct loop_timer *timer, void (*callback)(void *ctx), void *ctx)
{
    *timer = (struct loop_timer){.callback = callback, .ctx = ctx};
}

void loop_timer_set(struct loop *loop, struct loop_timer *timer, int64_t due_mono_ms)
{
    assert(timer->callback != NULL);
    loop_timer_cancel(loop, timer);
    assert(timer->heap_index1 == 0);
    if (loop->heap_count == loop->heap_size) {
        loop->heap_size = loop->heap_size > 0 ? 2 * loop->heap_size : TABLE_SIZE_MIN;
        loop->heap = realloc(loop->heap, loop->heap_size * sizeof(struct loop_timer *));
        assert(loop->heap != NULL);
    }
    timer->due_ms = due_mono_ms;
    timer->armed_as = loop->next_armed_as++;
    loop->heap[loop->heap_count++] = timer;
    heap_up(loop, loop->heap_count - 1);
}

void loop_timer_after(struct loop *loop, struct loop_timer *timer, int64_t delay_ms)
{
    /* Not this turn's time: a long callback must not shorten the delay. */
    int64_t now_ms = clock_mono_ms(loop->clock);
    bool far = delay_ms > INT64_MAX - now_ms;
    loop_timer_set(loop, timer, far ? INT64_MAX : now_ms + delay_ms);
}

void loop_timer_cancel(struct loop *loop, struct loop_timer *timer)
{
    if (timer->heap_index1 == 0)
        return;
    size_t index = timer->heap_index1 - 1;
    assert(index < loop->heap_count && loop->heap[index] == timer);
    struct loop_timer *last = loop->heap[--loop->heap_count];
    timer->heap_index1 = 0;
    if (last == timer)
        return;
    heap_put(loop, index, last);
    heap_up(loop, index);
    heap_down(loop, last->heap_index1 - 1);
}

/* Timers that these callbacks arm wait for the next turn, even if they are due, so that descriptors
 * get their turn. */
static int dispatch_timers(struct loop *loop)
{
    uint64_t armed_before = loop->next_armed_as;
    int called = 0;
    while (loop->heap_count > 0) {
        struct loop_timer *timer = loop->heap[0];
        if (timer->due_ms > loop->now_ms || timer->armed_as >= armed_before)
            break;
        loop_timer_cancel(loop, timer);
        timer->callback(timer->ctx);
        called++;
    }
    return called;
}

/* ---- deferred calls ---- */

void loop_deferred_init(struct loop_deferred *deferred, void (*callback)(void *ctx), void *ctx)
{
    *deferred = (struct loop_deferred){.callback = callback, .ctx = ctx};
}

void loop_defer(struct loop *loop, struct loop_deferred *deferred)
{
    assert(deferred->callback != NULL);
    if (deferred->queued)
        return;
    deferred->queued = true;
    deferred->next = NULL;
    deferred->prev = loop->deferred_last;
    if (loop->deferred_last != NULL)
        loop->deferred_last->next = deferred;
    else
        loop->deferred_first = deferred;
    loop->deferred_last = deferred;
}

void loop_defer_cancel(struct loop *loop, struct loop_deferred *deferred)
{
    if (!deferred->queued)
        return;
    assert(loop->deferred_first != NULL && loop->deferred_last != NULL);
    *(deferred->prev != NULL ? &deferred->prev->next : &loop->deferred_first) = deferred->next;
    *(deferred->next != NULL ? &deferred->next->prev : &loop->deferred_last) = deferred->prev;
    deferred->queued = false;
    deferred->next = NULL;
    deferred->prev = NULL;
}

static void end_of_round(void *ctx)
{
    struct loop *loop = ctx;
    loop->round_ended = true;
}

static int dispatch_deferred(struct loop *loop)
{
    int called = 0;
    if (loop->deferred_first == NULL)
        return 0;
    /* A marker behind what is queued now: callbacks may queue and cancel in front of and behind
     * it. The loop's own, so that nothing of this frame stays queued if a test jumps out. */
    loop->round_ended = false;
    loop_deferred_init(&loop->round_mark, end_of_round, loop);
    loop_defer(loop, &loop->round_mark);
    while (!loop->round_ended) {
        struct loop_deferred *deferred = loop->deferred_first;
        loop_defer_cancel(loop, deferred);
        deferred->callback(deferred->ctx);
        called++;
    }
    return called - 1;
}

/* ---- wakeups ---- */

static void on_wakeup(struct loop *loop, int fd, unsigned events, void *userdata)
{
    struct loop_wakeup *wakeup = userdata;
    uint64_t count;
    (void)loop;
    (void)events;
    if (read(fd, &count, sizeof(count)) == (ssize_t)sizeof(count))
        wakeup->callback(wakeup->ctx);
}

enum error_class loop_wakeup_open(struct loop *loop, struct loop_wakeup *wakeup,
                                  void (*callback)(void *ctx), void *ctx, struct error *ret_error)
{
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (fd < 0)
        return system_error(ret_error, "eventfd");
    enum error_class class = loop_fd_add(loop, fd, LOOP_READ, on_wakeup, wakeup, ret_error);
    if (class != ERROR_OK) {
        close(fd);
        return class;
    }
    *wakeup = (struct loop_wakeup){.loop = loop, .fd = fd, .callback = callback, .ctx = ctx};
    return ERROR_OK;
}

void loop_wakeup_close(struct loop_wakeup *wakeup)
{
    if (wakeup->loop == NULL)
        return;
    loop_fd_remove(wakeup->loop, wakeup->fd);
    close(wakeup->fd);
    wakeup->loop = NULL;
    wakeup->fd = -1;
}

void loop_wakeup_send(struct loop_wakeup *wakeup)
{
    uint64_t one = 1;
    int code = errno;
    /* A full counter means that a wakeup is pending anyway. */
    ssize_t written = write(wakeup->fd, &one, sizeof(one));
    (void)written; /* glibc wants the result used */
    errno = code;
}

/* ---- signals ---- */

static void on_signal(struct loop *loop, int fd, unsigned events, void *userdata)
{
    struct signalfd_siginfo info;
    (void)events;
    (void)userdata;
    while (read(fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
        loop->signal_callback(loop, (int)info.ssi_signo, loop->signal_userdata);
}

enum error_class loop_on_signals(struct loop *loop,
                                 void (*callback)(struct loop *, int signal, void *userdata),
                                 void *userdata, struct error *ret_error)
{
    sigset_t mask;
    assert(loop->signal_fd < 0 && callback != NULL);
    sigemptyset(&mask);
    sigaddset(&mask, SIGTERM);
    sigaddset(&mask, SIGINT);
    sigaddset(&mask, SIGHUP);
    /* A parent may have left SIGCHLD ignored: then the exit codes of children are lost. */
    if (signal(SIGPIPE, SIG_IGN) == SIG_ERR || signal(SIGCHLD, SIG_DFL) == SIG_ERR)
        return system_error(ret_error, "signal");
    if (sigprocmask(SIG_BLOCK, &mask, &loop->signal_mask_before) != 0)
        return system_error(ret_error, "sigprocmask");
    loop->signal_fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
    if (loop->signal_fd < 0) {
        sigprocmask(SIG_SETMASK, &loop->signal_mask_before, NULL);
        return system_error(ret_error, "signalfd");
    }
    loop->signal_callback = callback;
    loop->signal_userdata = userdata;
    return loop_fd_add(loop, loop->signal_fd, LOOP_READ, on_signal, NULL, ret_error);
}

/* ---- running ---- */

static int wait_ms(const struct loop *loop, int64_t timeout_ms)
{
    if (loop->deferred_first != NULL || loop->stopping)
        return 0;
    int64_t wait = timeout_ms < 0 ? INT64_MAX : timeout_ms;
    if (loop->heap_count > 0) {
        int64_t left = loop->heap[0]->due_ms - clock_mono_ms(loop->clock);
        wait = left < wait ? left : wait;
    }
    if (wait == INT64_MAX)
        return -1;
    return wait < 0 ? 0 : wait > INT_MAX ? INT_MAX : (int)wait;
}

int loop_once(struct loop *loop, int64_t timeout_ms)
{
    struct epoll_event events[EVENTS_PER_TURN];
    loop->now_ms = clock_mono_ms(loop->clock);
    int called = dispatch_deferred(loop);
    int count = epoll_wait(loop->epoll_fd, events, EVENTS_PER_TURN,
                           called > 0 ? 0 : wait_ms(loop, timeout_ms));
    assert(count >= 0 || errno == EINTR);
    loop->now_ms = clock_mono_ms(loop->clock);
    called += dispatch_fds(loop, events, count);
    called += dispatch_timers(loop);
    return called;
}

void loop_run(struct loop *loop)
{
    while (!loop->stopping)
        loop_once(loop, -1);
    loop->stopping = false;
}

void loop_stop(struct loop *loop)
{
    loop->stopping = true;
}

bool loop_run_until(struct loop *loop, bool (*done)(void *ctx), void *ctx, int64_t timeout_ms)
{
    int64_t deadline_ms = clock_mono_ms(loop->clock) + timeout_ms;
    for (;;) {
        if (done(ctx))
            return true;
        int64_t left_ms = deadline_ms - clock_mono_ms(loop->clock);
        if (left_ms <= 0 || loop->stopping)
            return false;
        loop_once(loop, left_ms);
    }
}
