/* SPDX-License-Identifier: Apache-2.0 */
/* See pending.h. */
#include "platform/http/pending.h"

#include "platform/http/internal.h"
#include "platform/http/json_answer.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <utlist.h>

enum { DETAIL_SIZE = 2 * ERROR_MESSAGE_SIZE };

void http_pendings_init(struct http_pendings *set, const struct http_pending_kind *kind,
                        struct loop *loop, void (*settled)(void *ctx), void *ctx)
{
    assert(kind->late != NULL || kind->draining != NULL);
    assert(kind->max == 0 || kind->busy != NULL);
    assert(kind->max > 0 || !kind->shared);
    *set = (struct http_pendings){.kind = kind, .loop = loop, .settled = settled, .ctx = ctx};
}

static void report_if_settled(struct http_pendings *set)
{
    if (set->closed && set->count == 0 && set->settled != NULL)
        set->settled(set->ctx);
}

static void remove_and_free(struct http_pending *pending)
{
    struct http_pendings *set = pending->set;
    assert(pending->exchange == NULL && !loop_timer_armed(&pending->timer));
    assert(set->count > 0);
    if (!set->drained && set->kind->cancel != NULL)
        set->kind->cancel(pending);
    DL_DELETE(set->list, pending);
    set->count--;
    if (set->kind->free != NULL)
        set->kind->free(pending);
    else
        free(pending);
}

void http_pending_settle(struct http_pending *pending)
{
    struct http_pendings *set = pending->set;
    if (pending->exchange != NULL || pending->to_come > 0)
        return;
    remove_and_free(pending);
    report_if_settled(set);
}

/* ---- waiting ---- */

static void end_wait(void *ctx)
{
    struct http_pending *pending = ctx;
    assert(pending->exchange != NULL);
    loop_timer_cancel(pending->set->loop, &pending->timer);
    pending->set->kind->late(pending);
    assert(pending->exchange != NULL || !loop_timer_armed(&pending->timer));
    http_pending_settle(pending);
}

static bool has_place(const struct http_pendings *set, struct http_exchange *exchange)
{
    const struct http_pending_kind *kind = set->kind;
    const struct http_pending *held;
    struct http_tally tally = {0};
    if (!kind->shared)
        return kind->max == 0 || set->count < kind->max;
    http_client_address(exchange, exchange->address);
    DL_FOREACH(set->list, held)
        if (held->exchange != NULL)
            http_tally_add(&tally, exchange, held->exchange);
    return http_tally_has_share(&tally, kind->max);
}

bool http_pendings_admit(const struct http_pendings *set, struct http_exchange *exchange)
{
    if (!set->closed && has_place(set, exchange))
        return true;
    if (set->closed) {
        http_respond_error(exchange, 503, CODE_SHUTTING_DOWN, HTTP_SHUTTING_DOWN);
    } else {
        http_set_header(exchange, "Retry-After", "1");
        http_respond_error(exchange, 503, CODE_BUSY, "%s", set->kind->busy);
    }
    return false;
}

void http_pending_begin(struct http_pendings *set, struct http_pending *pending,
                        struct http_exchange *exchange, int64_t wait_ms)
{
    assert(!set->closed && exchange != NULL);
    assert(pending->set == NULL && pending->exchange == NULL && pending->to_come == 0);
    pending->set = set;
    pending->exchange = exchange;
    DL_APPEND(set->list, pending);
    set->count++;
    loop_timer_init(&pending->timer, end_wait, pending);
    if (wait_ms > 0)
        http_pending_late_in(pending, wait_ms);
}

bool http_pending_wait(struct http_pendings *set, struct http_pending *pending,
                       struct http_exchange *exchange, int64_t wait_ms)
{
    assert(set->kind->late != NULL);
    if (!http_wait(exchange, end_wait, pending))
        return false;
    http_pending_begin(set, pending, exchange, wait_ms);
    return true;
}

void http_pending_late_in(struct http_pending *pending, int64_t wait_ms)
{
    assert(pending->exchange != NULL && wait_ms >= 0);
    assert(pending->set->kind->late != NULL);
    loop_timer_after(pending->set->loop, &pending->timer, wait_ms);
}

/* ---- answers ---- */

struct http_exchange *http_pending_take(struct http_pending *pending)
{
    struct http_exchange *exchange = pending->exchange;
    pending->exchange = NULL;
    loop_timer_cancel(pending->set->loop, &pending->timer);
    return exchange;
}

void http_pending_fail(struct http_pending *pending, int status, enum error_code code,
                       const char *format, ...)
{
    char detail[DETAIL_SIZE];
    va_list arguments;
    struct http_exchange *exchange = http_pending_take(pending);
    if (exchange == NULL)
        return;
    va_start(arguments, format);
    vsnprintf(detail, sizeof(detail), format, arguments);
    va_end(arguments);
    http_respond_problem(exchange,
                         http_problem_new(status, error_code_text(code), text_of(detail)));
}

/* ---- the end ---- */

void http_pendings_close(struct http_pendings *set)
{
    set->closed = true;
    report_if_settled(set);
}

static void answer_all(struct http_pendings *set)
{
    const struct http_pending_kind *kind = set->kind;
    struct http_pending *pending;
    set->closed = true;
    DL_FOREACH(set->list, pending) {
        if (pending->exchange == NULL)
            continue;
        if (kind->draining != NULL)
            http_pending_fail(pending, 503, CODE_SHUTTING_DOWN, "%s", kind->draining);
        else
            kind->late(pending);
        assert(pending->exchange == NULL);
    }
}

void http_pendings_drain(struct http_pendings *set)
{
    struct http_pending *pending, *next;
    answer_all(set);
    if (!set->drained && set->kind->cancel != NULL)
        DL_FOREACH(set->list, pending)
            set->kind->cancel(pending);
    set->drained = true;
    DL_FOREACH_SAFE(set->list, pending, next) {
        if (pending->to_come == 0)
            remove_and_free(pending);
    }
    report_if_settled(set);
}

void http_pendings_deinit(struct http_pendings *set)
{
    answer_all(set);
    set->drained = true;
    while (set->list != NULL)
        remove_and_free(set->list);
}
