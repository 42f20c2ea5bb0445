/* SPDX-License-Identifier: Apache-2.0 */
/* Exchanges that are answered later: once, by what comes first, and until when their request
 * stays. */
#include "platform/http/pending.h"
#include "tests/lib/http_route.h"
#include "tests/unit/platform/http_server_kit.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SOON_MS = 10, LATER_MS = 60000 };

static struct http_pendings set;
static struct http_pending_kind kind;
static struct http_pending *latest;
static int64_t wait_ms;
static bool client_waits;
static uint32_t arrived;
static uint32_t late;
static uint32_t cancelled;
static uint32_t freed;
static uint32_t settled;

static void answer_late(struct http_pending *pending)
{
    late++;
    http_pending_fail(pending, 504, CODE_NOT_ACKNOWLEDGED, "%s", "too late");
}

static void postpone_once(struct http_pending *pending)
{
    if (late == 0)
        http_pending_late_in(pending, SOON_MS);
    else
        http_pending_fail(pending, 504, CODE_NOT_ACKNOWLEDGED, "%s", "postponed");
    late++;
}

static void count_cancel(struct http_pending *pending)
{
    (void)pending;
    cancelled++;
}

static void count_free(struct http_pending *pending)
{
    freed++;
    free(pending);
}

static void count_settled(void *ctx)
{
    cr_assert_eq(ctx, &set);
    settled++;
}

static void on_request(struct http_exchange *exchange, void *userdata)
{
    (void)userdata;
    arrived++;
    if (!http_pendings_admit(&set, exchange))
        return;
    latest = calloc(1, sizeof(*latest));
    if (!client_waits)
        http_pending_begin(&set, latest, exchange, wait_ms);
    else
        cr_assert(http_pending_wait(&set, latest, exchange, wait_ms));
}

static void open_kit(void)
{
    http_kit_open();
    add_route(http_kit_server, "GET", "/later", HTTP_OPEN, 0, on_request, NULL);
    wait_ms = LATER_MS;
    kind = (struct http_pending_kind){.draining = "the service ends",
                                      .late = answer_late,
                                      .cancel = count_cancel,
                                      .free = count_free};
    http_pendings_init(&set, &kind, http_kit_loop, count_settled, &set);
}

static void close_kit(void)
{
    http_pendings_deinit(&set);
    http_kit_close();
}

TestSuite(http_pending, .init = open_kit, .fini = close_kit);

static bool has_arrived(void *ctx)
{
    return arrived == *(uint32_t *)ctx;
}

/* The connection; the request is held or answered by then. */
static int ask_from(uint32_t host)
{
    uint32_t expected = arrived + 1;
    int fd = http_kit_dial_from(host);
    http_kit_send_text(fd, "GET /later HTTP/1.1\r\n" HTTP_KIT_HOST "\r\n");
    cr_assert(loop_run_until(http_kit_loop, has_arrived, &expected, HTTP_KIT_WAIT_MS));
    return fd;
}

static int ask(void)
{
    return ask_from(1);
}

static void expect(int fd, const char *status, const char *text)
{
    http_kit_expect_answer(fd);
    cr_assert(http_kit_starts(http_kit_answer, status), "%s", http_kit_answer);
    cr_assert(strstr(http_kit_answer, text) != NULL, "%s", http_kit_answer);
    close(fd);
}

Test(http_pending, answers_once)
{
    int fd = ask();
    struct http_exchange *exchange = http_pending_take(latest);
    cr_assert_not_null(exchange);
    http_respond(exchange, 200, "text/plain", TEXT("done"));
    cr_assert_null(http_pending_take(latest));
    http_pending_fail(latest, 500, CODE_UNKNOWN, "%s", "a second answer");
    cr_assert(!loop_timer_armed(&latest->timer));
    cr_assert_eq(freed, 0);
    http_pending_settle(latest);
    cr_assert_eq(freed, 1);
    cr_assert_eq(set.count, 0);
    expect(fd, "HTTP/1.1 200", "done");
    cr_assert_eq(late, 0);
}

Test(http_pending, stays_while_it_has_no_answer)
{
    int fd = ask();
    http_pending_settle(latest);
    cr_assert_eq(freed, 0);
    cr_assert_eq(set.count, 1);
    close(fd);
}

Test(http_pending, answers_at_its_deadline)
{
    wait_ms = SOON_MS;
    expect(ask(), "HTTP/1.1 504", "too late");
    cr_assert_eq(late, 1);
    cr_assert_eq(cancelled, 1, "what it waited for may not name it any more");
    cr_assert_eq(freed, 1);
    cr_assert_eq(set.count, 0);
}

Test(http_pending, has_no_deadline_of_0)
{
    wait_ms = 0;
    int fd = ask();
    cr_assert(!loop_timer_armed(&latest->timer));
    close(fd);
}

Test(http_pending, moves_its_deadline)
{
    int fd = ask();
    http_pending_late_in(latest, 0);
    cr_assert_eq(late, 0, "not from here");
    expect(fd, "HTTP/1.1 504", "too late");
    cr_assert_eq(freed, 1);
}

Test(http_pending, may_wait_longer_at_its_deadline)
{
    kind.late = postpone_once;
    wait_ms = SOON_MS;
    expect(ask(), "HTTP/1.1 504", "postponed");
    cr_assert_eq(late, 2);
    cr_assert_eq(freed, 1);
}

Test(http_pending, stays_until_what_is_to_come_has_come)
{
    wait_ms = SOON_MS;
    int fd = ask();
    latest->to_come++;
    expect(fd, "HTTP/1.1 504", "too late");
    cr_assert_eq(freed, 0);
    cr_assert_eq(set.count, 1);
    latest->to_come--;
    http_pending_settle(latest);
    cr_assert_eq(freed, 1);
    cr_assert_eq(late, 1);
}

static bool is_freed(void *ctx)
{
    (void)ctx;
    return freed == 1;
}

Test(http_pending, is_late_once_its_client_has_gone)
{
    client_waits = true;
    int fd = ask();
    cr_assert_eq(http_server_waits(http_kit_server), 1);
    close(fd);
    cr_assert(loop_run_until(http_kit_loop, is_freed, NULL, HTTP_KIT_WAIT_MS));
    cr_assert_eq(late, 1);
    cr_assert_eq(http_server_waits(http_kit_server), 0);
}

Test(http_pending, refuses_more_than_its_limit)
{
    kind.max = 1;
    kind.busy = "one is enough";
    int fd = ask();
    int other = ask();
    expect(other, "HTTP/1.1 503", "\"Busy\"");
    cr_assert(strstr(http_kit_answer, "one is enough") != NULL, "%s", http_kit_answer);
    cr_assert(strstr(http_kit_answer, "\r\nRetry-After: 1\r\n") != NULL, "%s", http_kit_answer);
    cr_assert_eq(set.count, 1);
    close(fd);
}

Test(http_pending, gives_each_client_a_share_of_its_limit)
{
    kind.max = 8;
    kind.shared = true;
    kind.busy = "eight are enough";
    for (int i = 0; i < 6; i++)
        ask_from(2);
    expect(ask_from(2), "HTTP/1.1 503", "eight are enough");
    cr_assert_eq(set.count, 6, "an address has two thirds");
    ask_from(3);
    cr_assert_eq(set.count, 7, "there is room for another");
}

Test(http_pending, refuses_all_once_it_is_closed)
{
    int fd = ask();
    http_pendings_close(&set);
    cr_assert_eq(settled, 0, "one is held");
    expect(ask(), "HTTP/1.1 503", "\"ShuttingDown\"");
    cr_assert_eq(set.count, 1);
    http_respond(http_pending_take(latest), 200, "text/plain", TEXT("done"));
    http_pending_settle(latest);
    cr_assert_eq(settled, 1);
    expect(fd, "HTTP/1.1 200", "done");
}

Test(http_pending, is_settled_at_once_where_none_is_held)
{
    http_pendings_close(&set);
    cr_assert_eq(settled, 1);
}

Test(http_pending, drains)
{
    int first = ask();
    latest->to_come++;
    struct http_pending *appended = latest;
    int second = ask();
    http_pendings_drain(&set);
    cr_assert_eq(cancelled, 2);
    cr_assert_eq(freed, 1, "an acknowledgement will name the first");
    cr_assert_eq(settled, 0);
    expect(first, "HTTP/1.1 503", "\"ShuttingDown\"");
    cr_assert(strstr(http_kit_answer, "the service ends") != NULL, "%s", http_kit_answer);
    expect(second, "HTTP/1.1 503", "\"ShuttingDown\"");
    appended->to_come--;
    http_pending_settle(appended);
    cr_assert_eq(freed, 2);
    cr_assert_eq(settled, 1);
    cr_assert_eq(cancelled, 2, "what could be cancelled is gone");
    cr_assert_eq(late, 0);
}

Test(http_pending, drains_with_what_there_is)
{
    kind.draining = NULL;
    int fd = ask();
    http_pendings_drain(&set);
    cr_assert_eq(late, 1);
    cr_assert_eq(freed, 1);
    expect(fd, "HTTP/1.1 504", "too late");
}

Test(http_pending, frees_all_at_its_end)
{
    int fd = ask();
    latest->to_come++;
    http_pendings_deinit(&set);
    cr_assert_eq(freed, 1);
    cr_assert_eq(cancelled, 0);
    cr_assert_eq(set.count, 0);
    expect(fd, "HTTP/1.1 503", "\"ShuttingDown\"");
}

Test(http_pending, has_no_deadline_after_its_answer, .signal = SIGABRT)
{
    ask();
    http_respond(http_pending_take(latest), 200, "text/plain", TEXT("done"));
    http_pending_late_in(latest, SOON_MS);
}
