/* SPDX-License-Identifier: Apache-2.0 */
#include "services/console/live/order_waits.h"

#include "platform/http/pending.h"
#include "platform/http/query.h"
#include "schemas/details.h"

#include <assert.h>
#include <stdlib.h>
#include <utlist.h>

enum { ORDER_WAIT_MS_MAX = 60000 };

struct order_wait {
    struct http_pending pending;
    struct text order_id;
};

struct order_waits {
    struct console_partition *const *partitions;
    int32_t partition_count;
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

struct order_waits *order_waits_new(struct loop *loop, struct console_partition *const partitions[],
                                    int32_t count,
                                    void (*answer)(void *ctx, struct http_exchange *exchange),
                                    void *ctx)
{
    struct order_waits *waits = calloc(1, sizeof(*waits));
    assert(waits != NULL);
    *waits = (struct order_waits){
        .partitions = partitions, .partition_count = count, .answer = answer, .ctx = ctx};
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

static bool has_ended(const struct order_waits *waits, struct text order_id)
{
    int32_t number = broker_partition_of(order_id, waits->partition_count);
    struct view *view = console_partition_view(waits->partitions[number]);
    const struct order *order = NULL;
    struct error error;
    bool ended = view_order(view, order_id, &order, &error) == ERROR_OK && order != NULL &&
                 order_ended(order);
    view_tidy(view);
    return ended;
}

void order_waits_serve(struct order_waits *waits, struct http_exchange *exchange)
{
    struct error error;
    struct text order_id = text_of(http_param(exchange, "id"));
    bool is_valid = order_id_validate(order_id, &error) == ERROR_OK; /* else `answer` refuses it */
    int64_t wait_ms = 0;
    if (is_valid && !http_query_wait(exchange, ORDER_WAIT_MS_MAX, &wait_ms))
        return;
    if (wait_ms == 0 || waits->pendings.closed || has_ended(waits, order_id)) {
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
