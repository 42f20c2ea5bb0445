/* SPDX-License-Identifier: Apache-2.0 */
#include "services/console/live/order_waits.h"

#include "platform/http/pending.h"

#include <assert.h>
#include <stdlib.h>
#include <utlist.h>

struct order_wait {
    struct http_pending pending;
    struct text order_id;
};

struct order_waits {
    void (*answer)(void *ctx, struct http_exchange *exchange);
    void *ctx;
    struct http_pendings pendings;
};

static void answer_now(struct http_pending *pending)
{
    const struct order_waits *waits = pending->set->ctx;
    waits->answer(waits->ctx, http_pending_take(pending));
}

static const struct http_pending_kind wait_kind = {.late = answer_now};

struct order_waits *order_waits_new(struct loop *loop,
                                    void (*answer)(void *ctx, struct http_exchange *exchange),
                                    void *ctx)
{
    struct order_waits *waits = calloc(1, sizeof(*waits));
    assert(waits != NULL);
    *waits = (struct order_waits){.answer = answer, .ctx = ctx};
    http_pendings_init(&waits->pendings, &wait_kind, loop, NULL, waits);
    return waits;
}

void order_waits_drain(struct order_waits *waits)
{
    if (waits != NULL)
        http_pendings_drain(&waits->pendings);
}

void order_waits_free(struct order_waits *waits)
{
    assert(waits == NULL || waits->pendings.list == NULL);
    free(waits);
}

void order_waits_add(struct order_waits *waits, struct http_exchange *exchange,
                     struct text order_id, int64_t wait_ms)
{
    assert(wait_ms > 0 && wait_ms <= ORDER_WAIT_MS_MAX);
    if (waits->pendings.closed) {
        waits->answer(waits->ctx, exchange);
        return;
    }
    struct order_wait *wait = calloc(1, sizeof(*wait));
    assert(wait != NULL);
    wait->order_id = order_id;
    if (!http_pending_wait(&waits->pendings, &wait->pending, exchange, wait_ms))
        free(wait);
}

/* Not at once: the caller is folding, and the answer reads the stores. */
void order_waits_ended(struct order_waits *waits, struct text order_id)
{
    struct http_pending *pending;
    DL_FOREACH(waits->pendings.list, pending)
        if (pending->exchange != NULL && /* it holds the id */
            text_equal(((struct order_wait *)pending)->order_id, order_id))
            http_pending_late_in(pending, 0);
}
