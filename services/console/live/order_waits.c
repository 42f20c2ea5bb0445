/* SPDX-License-Identifier: Apache-2.0 */
#include "services/console/live/order_waits.h"

#include <assert.h>
#include <stdlib.h>
#include <utlist.h>

struct order_wait {
    struct order_wait *prev, *next;
    struct order_waits *waits;
    struct http_exchange *exchange;
    struct text order_id;
    struct loop_timer timer; /* armed until the order has ended or the time is over */
};

struct order_waits {
    struct loop *loop;
    void (*answer)(void *ctx, struct http_exchange *exchange);
    void *ctx;
    struct order_wait *list;
    bool draining;
};

struct order_waits *order_waits_new(struct loop *loop,
                                    void (*answer)(void *ctx, struct http_exchange *exchange),
                                    void *ctx)
{
    struct order_waits *waits = calloc(1, sizeof(*waits));
    assert(waits != NULL);
    *waits = (struct order_waits){.loop = loop, .answer = answer, .ctx = ctx};
    return waits;
}

static void end_wait(void *ctx)
{
    struct order_wait *wait = ctx;
    struct order_waits *waits = wait->waits;
    struct http_exchange *exchange = wait->exchange;
    DL_DELETE(waits->list, wait);
    loop_timer_cancel(waits->loop, &wait->timer);
    free(wait);
    waits->answer(waits->ctx, exchange);
}

static void on_time(struct loop *loop, struct loop_timer *timer, void *userdata)
{
    (void)loop;
    (void)timer;
    end_wait(userdata);
}

void order_waits_drain(struct order_waits *waits)
{
    if (waits == NULL)
        return;
    waits->draining = true;
    while (waits->list != NULL)
        end_wait(waits->list);
}

void order_waits_free(struct order_waits *waits)
{
    assert(waits == NULL || waits->list == NULL);
    free(waits);
}

void order_waits_add(struct order_waits *waits, struct http_exchange *exchange,
                     struct text order_id, int64_t wait_ms)
{
    assert(wait_ms > 0 && wait_ms <= ORDER_WAIT_MS_MAX);
    if (waits->draining) {
        waits->answer(waits->ctx, exchange);
        return;
    }
    struct order_wait *wait = calloc(1, sizeof(*wait));
    assert(wait != NULL);
    if (!http_wait(exchange, end_wait, wait)) {
        free(wait);
        return;
    }
    wait->waits = waits;
    wait->exchange = exchange;
    wait->order_id = order_id;
    loop_timer_init(&wait->timer, on_time, wait);
    loop_timer_after(waits->loop, &wait->timer, wait_ms);
    DL_APPEND(waits->list, wait);
}

/* Not at once: the caller is folding, and the answer reads the stores. */
void order_waits_ended(struct order_waits *waits, struct text order_id)
{
    struct order_wait *wait;
    DL_FOREACH(waits->list, wait)
        if (text_equal(wait->order_id, order_id))
            loop_timer_after(waits->loop, &wait->timer, 0);
}
