/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/loop.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TRACE_SIZE = 256 };

/* What was called, in order: "a b c ". */
static char trace[TRACE_SIZE];

static void note(const char *name)
{
    size_t size = strlen(trace);
    snprintf(trace + size, sizeof(trace) - size, "%s ", name);
}

static struct clock_manual manual;
static struct loop *loop;

static void open_loop(void)
{
    struct error error = {0};
    clock_manual_init(&manual, 0);
    cr_assert(loop_new(&manual.clock, &loop, &error) == ERROR_OK, "%s", error.message);
}

static void close_loop(void)
{
    loop_free(loop);
}

TestSuite(loop, .init = open_loop, .fini = close_loop);

static void on_timer(void *ctx)
{
    note(ctx);
}

Test(loop, fires_timers_by_time_and_then_by_arming)
{
    struct loop_timer timers[4];
    int64_t now_ms = clock_mono_ms(&manual.clock);
    static const char *const names[] = {"late", "first", "second", "third"};
    static const int64_t delays[] = {20, 5, 10, 10};
    for (int i = 0; i < 4; i++) {
        loop_timer_init(&timers[i], on_timer, (void *)names[i]);
        loop_timer_set(loop, &timers[i], now_ms + delays[i]);
    }
    cr_assert(loop_once(loop, 0) == 0);
    clock_manual_advance(&manual, 10);
    cr_assert(loop_once(loop, 0) == 3);
    cr_assert_str_eq(trace, "first second third ");
    cr_assert(loop_timer_armed(&timers[0]));
    clock_manual_advance(&manual, 9);
    cr_assert(loop_once(loop, 0) == 0);
    clock_manual_advance(&manual, 1);
    cr_assert(loop_once(loop, 0) == 1);
}

Test(loop, moves_and_cancels_timers)
{
    static struct loop_timer a, b; /* may still be armed when the fixture frees the loop */
    loop_timer_init(&a, on_timer, "a");
    loop_timer_init(&b, on_timer, "b");
    loop_timer_after(loop, &a, 10);
    loop_timer_after(loop, &b, 20);
    loop_timer_after(loop, &a, 30);
    loop_timer_cancel(loop, &b);
    loop_timer_cancel(loop, &b);
    clock_manual_advance(&manual, 25);
    cr_assert(loop_once(loop, 0) == 0);
    clock_manual_advance(&manual, 5);
    cr_assert(loop_once(loop, 0) == 1);
    cr_assert_str_eq(trace, "a ");
    loop_timer_after(loop, &a, INT64_MAX);
    cr_assert(loop_once(loop, 0) == 0);
}

static int64_t last_due_ms;
static int fired;

static void check_order(void *ctx)
{
    const struct loop_timer *timer = ctx;
    cr_assert(!loop_timer_armed(timer));
    cr_assert(timer->due_ms >= last_due_ms);
    last_due_ms = timer->due_ms;
    fired++;
}

Test(loop, keeps_the_order_of_many_timers_under_random_moves)
{
    enum { COUNT = 2000 };
    static struct loop_timer timers[COUNT];
    uint64_t seed = 42;
    int armed = 0;
    for (int i = 0; i < COUNT; i++)
        loop_timer_init(&timers[i], check_order, &timers[i]);
    for (int i = 0; i < 20 * COUNT; i++) {
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
        struct loop_timer *timer = &timers[(seed >> 33) % COUNT];
        if ((seed >> 20) % 4 == 0)
            loop_timer_cancel(loop, timer);
        else
            loop_timer_after(loop, timer, (int64_t)((seed >> 40) % 1000));
    }
    for (int i = 0; i < COUNT; i++)
        armed += loop_timer_armed(&timers[i]);
    clock_manual_advance(&manual, 1000);
    cr_assert(loop_once(loop, 0) == armed);
    cr_assert(fired == armed && armed > COUNT / 2);
}

struct repeating {
    struct loop *loop;
    struct loop_timer timer;
};

static void rearm(void *ctx)
{
    struct repeating *repeating = ctx;
    note("t");
    loop_timer_after(repeating->loop, &repeating->timer, 0);
}

Test(loop, serves_other_timers_when_one_rearms_itself_at_once)
{
    static struct repeating repeating; /* likewise */
    repeating.loop = loop;
    loop_timer_init(&repeating.timer, rearm, &repeating);
    loop_timer_after(loop, &repeating.timer, 0);
    cr_assert(loop_once(loop, -1) == 1);
    cr_assert(loop_once(loop, -1) == 1);
    cr_assert_str_eq(trace, "t t ");
}

static struct loop_deferred deferred_calls[3];

static void on_deferred(void *ctx)
{
    static const char *const names[] = {"a", "b", "c"};
    struct loop_deferred *deferred = ctx;
    note(names[deferred - deferred_calls]);
    if (deferred == &deferred_calls[0]) {
        loop_defer(loop, deferred);
        loop_defer_cancel(loop, &deferred_calls[2]);
    }
}

Test(loop, makes_deferred_calls_once_before_the_next_wait)
{
    for (int i = 0; i < 3; i++) {
        loop_deferred_init(&deferred_calls[i], on_deferred, &deferred_calls[i]);
        loop_defer(loop, &deferred_calls[i]);
        loop_defer(loop, &deferred_calls[i]);
    }
    cr_assert(loop_once(loop, -1) == 2);
    cr_assert_str_eq(trace, "a b ");
    cr_assert(deferred_calls[0].queued && !deferred_calls[1].queued && !deferred_calls[2].queued);
    cr_assert(loop_once(loop, -1) == 1);
    cr_assert_str_eq(trace, "a b a ");
    loop_free(loop);
    cr_assert(!deferred_calls[0].queued);
    open_loop();
}

static int pipes[2][2];

static void open_pipes(void)
{
    for (int i = 0; i < 2; i++) {
        cr_assert(pipe(pipes[i]) == 0);
        cr_assert(write(pipes[i][1], "x", 1) == 1);
    }
}

static void close_pipes(void)
{
    for (int i = 0; i < 2; i++) {
        close(pipes[i][0]);
        close(pipes[i][1]);
    }
}

static void remove_other(struct loop *self, int fd, unsigned events, void *userdata)
{
    (void)userdata;
    cr_assert(events & LOOP_READ);
    note("fd");
    loop_fd_remove(self, fd == pipes[0][0] ? pipes[1][0] : pipes[0][0]);
}

Test(loop, skips_a_removed_descriptor_in_the_same_turn)
{
    open_pipes();
    for (int i = 0; i < 2; i++)
        cr_assert(loop_fd_add(loop, pipes[i][0], LOOP_READ, remove_other, NULL, NULL) == ERROR_OK);
    cr_assert(loop_once(loop, -1) == 1);
    cr_assert_str_eq(trace, "fd ");
    close_pipes();
}

static void replace_other(struct loop *self, int fd, unsigned events, void *userdata)
{
    (void)events;
    (void)userdata;
    int other = fd == pipes[0][0] ? pipes[1][0] : pipes[0][0];
    note("fd");
    /* The same number, another watch: its stale event must not reach it. */
    loop_fd_remove(self, other);
    cr_assert(loop_fd_add(self, other, LOOP_WRITE, replace_other, NULL, NULL) == ERROR_OK);
}

Test(loop, delivers_no_stale_event_to_a_replaced_descriptor)
{
    open_pipes();
    for (int i = 0; i < 2; i++)
        cr_assert(loop_fd_add(loop, pipes[i][0], LOOP_READ, replace_other, NULL, NULL) == ERROR_OK);
    cr_assert(loop_once(loop, -1) == 1);
    close_pipes();
}

static void on_events(struct loop *self, int fd, unsigned events, void *userdata)
{
    (void)self;
    (void)fd;
    *(unsigned *)userdata = events;
}

Test(loop, changes_events_and_reports_a_hangup)
{
    unsigned events = 0;
    open_pipes();
    cr_assert(loop_fd_add(loop, pipes[0][0], 0, on_events, &events, NULL) == ERROR_OK);
    cr_assert(loop_once(loop, 0) == 0);
    loop_fd_modify(loop, pipes[0][0], LOOP_READ);
    cr_assert(loop_once(loop, -1) == 1);
    cr_assert(events == LOOP_READ);
    close(pipes[0][1]);
    cr_assert(loop_once(loop, -1) == 1);
    cr_assert(events == (LOOP_READ | LOOP_ERROR));
    loop_fd_remove(loop, pipes[0][0]);
    loop_fd_remove(loop, pipes[0][0]);
    loop_fd_remove(loop, 4000);
    cr_assert(loop_fd_add(loop, 4000, LOOP_READ, on_events, &events, NULL) == ERROR_FATAL);
    cr_assert(loop_fd_add(loop, pipes[1][1], LOOP_WRITE, on_events, &events, NULL) == ERROR_OK);
    cr_assert(loop_once(loop, -1) == 1);
    cr_assert(events == LOOP_WRITE);
    close_pipes();
}

static void on_wake(void *ctx)
{
    (*(int *)ctx)++;
    loop_stop(loop);
}

static void *send_wakeups(void *wakeup)
{
    for (int i = 0; i < 100; i++)
        loop_wakeup_send(wakeup);
    return NULL;
}

Test(loop, wakes_up_for_other_threads)
{
    struct loop_wakeup wakeup;
    pthread_t thread;
    int woken = 0;
    cr_assert(loop_wakeup_open(loop, &wakeup, on_wake, &woken, NULL) == ERROR_OK);
    cr_assert(pthread_create(&thread, NULL, send_wakeups, &wakeup) == 0);
    loop_run(loop);
    cr_assert(pthread_join(thread, NULL) == 0);
    loop_once(loop, 0);
    cr_assert(loop_once(loop, 0) == 0);
    cr_assert(woken >= 1 && woken <= 100);
    loop_wakeup_close(&wakeup);
    loop_wakeup_close(&wakeup);
}

static void on_stop_signal(struct loop *self, int signal, void *userdata)
{
    *(int *)userdata = signal;
    loop_stop(self);
}

Test(loop, delivers_signals_as_callbacks)
{
    int got = 0;
    sigset_t mask;
    cr_assert(loop_on_signals(loop, on_stop_signal, &got, NULL) == ERROR_OK);
    cr_assert(kill(getpid(), SIGTERM) == 0);
    loop_run(loop);
    cr_assert(got == SIGTERM);
    cr_assert(kill(getpid(), SIGINT) == 0);
    loop_run(loop);
    cr_assert(got == SIGINT);
    loop_free(loop);
    cr_assert(sigprocmask(SIG_SETMASK, NULL, &mask) == 0);
    cr_assert(sigismember(&mask, SIGTERM) == 0);
    open_loop();
}

Test(loop, restores_sigchld_that_a_parent_ignored)
{
    int got = 0, status = 0;
    signal(SIGCHLD, SIG_IGN);
    cr_assert(loop_on_signals(loop, on_stop_signal, &got, NULL) == ERROR_OK);
    pid_t pid = fork();
    if (pid == 0)
        _exit(7);
    cr_assert(waitpid(pid, &status, 0) == pid);
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

static bool fired_twice(void *ctx)
{
    (void)ctx;
    return strcmp(trace, "t t ") == 0;
}

Test(loop, runs_until_a_condition_holds_in_real_time)
{
    struct loop *real = NULL;
    cr_assert(loop_new(clock_real(), &real, NULL) == ERROR_OK);
    struct repeating repeating = {.loop = real};
    loop_timer_init(&repeating.timer, rearm, &repeating);
    loop_timer_after(real, &repeating.timer, 3);
    cr_assert(loop_run_until(real, fired_twice, NULL, 30000));
    loop_timer_cancel(real, &repeating.timer);
    int64_t before_ms = clock_mono_ms(clock_real());
    note("more");
    cr_assert(!loop_run_until(real, fired_twice, NULL, 5));
    cr_assert(clock_mono_ms(clock_real()) >= before_ms + 5);
    loop_free(real);
    loop_free(NULL);
}

Test(loop, returns_at_once_if_it_was_stopped_before_it_ran)
{
    loop_stop(loop);
    loop_run(loop);
}
