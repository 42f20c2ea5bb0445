/* SPDX-License-Identifier: Apache-2.0 */
/* The end offsets of the commands topic are fetched on request, at most once a second; requests
 * that come meanwhile wait for the same answer. */
#include "services/console/owners.h"

#include "services/console/render.h"

#include <assert.h>
#include <stdlib.h>
#include <utlist.h>

enum { FRESH_MS = 1000, WAIT_MS = 3000, UNKNOWN = -1 };

struct owners_waiter {
    struct owners_waiter *next;
    struct http_exchange *exchange;
};

/* commands[p] */
struct commands_end {
    struct owners *owners;
    int64_t low;
    int64_t high; /* UNKNOWN: no answer of the broker yet */
    bool outstanding;
};

struct owners {
    struct cluster *cluster; /* not to be used by owners_free() */
    struct loop *loop;
    struct console_partition *const *partitions;
    const struct alerts *alerts;
    int32_t count;
    struct commands_end *ends;
    int32_t outstanding;
    int64_t requested_ms;
    bool draining;
    struct owners_waiter *waiters;
    struct loop_timer timer;
};

/* ---- the answer ---- */

static void put_claim(json_t *object, const struct console_claim *claim, int64_t decisions)
{
    if (!claim->known) {
        render_put(object, "claim", json_null());
        return;
    }
    json_t *made = json_object();
    render_put(made, "claim_id", json_codec_uuid(&claim->claim_id));
    render_put(made, "instance", json_codec_text(text_of(claim->instance)));
    render_put(made, "claimed_at", render_time(claim->claimed_at));
    render_put(made, "offset", json_integer(claim->offset));
    render_put(made, "decisions", json_integer(decisions));
    render_put(made, "reset_by",
               claim->has_reset ? json_codec_text(text_of(claim->reset_by)) : json_null());
    render_put(made, "reset_reason",
               claim->has_reset ? json_codec_text(text_of(claim->reset_reason)) : json_null());
    render_put(object, "claim", made);
}

/* Commands that wait for a decision; null: not known. */
static json_t *render_lag(const struct commands_end *end, int64_t next_command)
{
    if (end->high == UNKNOWN)
        return json_null();
    int64_t from = next_command > end->low ? next_command : end->low;
    return json_integer(end->high > from ? end->high - from : 0);
}

static json_t *render_owner(const struct owners *owners, int32_t number)
{
    struct console_partition *partition = owners->partitions[number];
    const struct checkpoint *checkpoint = view_checkpoint(console_partition_view(partition));
    const struct console_claim *claim = console_partition_claim(partition);
    const struct error *stop = NULL;
    json_t *object = json_object();
    render_put(object, "partition", json_integer(number));
    put_claim(object, claim, checkpoint->next_sequence);
    render_put(object, "next_command", json_integer(checkpoint->next_command_offset));
    render_put(object, "lag", render_lag(&owners->ends[number], checkpoint->next_command_offset));
    render_put(object, "last_decided_at", render_time(checkpoint->newest_decided_at));
    render_put(object, "next_event", json_integer(checkpoint->next_event_offset));
    render_put(object, "fold_lag", json_integer(console_partition_lag(partition)));
    render_put(object, "skipped", json_integer(checkpoint->skipped));
    render_put(object, "attempts", json_integer(checkpoint->guards));
    if (console_partition_is_stopped(partition, &stop)) {
        render_put(object, "stopped", json_string(stop->code));
        render_put(object, "stopped_reason", json_codec_text(text_of(stop->message)));
    } else {
        render_put(object, "stopped", json_null());
        render_put(object, "stopped_reason", json_null());
    }
    render_put(object, "alert",
               alerts_render_latest(owners->alerts, number, claim->known ? claim->claimed_at : 0));
    return object;
}

static void answer_all(struct owners *owners)
{
    loop_timer_cancel(owners->loop, &owners->timer);
    while (owners->waiters != NULL) {
        struct owners_waiter *waiter = owners->waiters;
        json_t *body = json_object();
        json_t *list = json_array();
        LL_DELETE(owners->waiters, waiter);
        for (int32_t i = 0; i < owners->count; i++)
            json_array_append_new(list, render_owner(owners, i));
        render_put(body, "owners", list);
        respond_json(waiter->exchange, 200, body);
        free(waiter);
    }
}

/* ---- the ends of the commands ---- */

static void on_timeout(struct loop *loop, struct loop_timer *timer, void *userdata)
{
    (void)loop;
    (void)timer;
    answer_all(userdata);
}

static void on_offsets(void *ctx, int64_t low, int64_t high, const struct error *error)
{
    struct commands_end *end = ctx;
    struct owners *owners = end->owners;
    bool known = error == NULL || !error_is(error);
    end->outstanding = false;
    assert(owners->outstanding > 0);
    end->low = known ? low : 0;
    end->high = known ? high : UNKNOWN;
    if (--owners->outstanding == 0)
        answer_all(owners);
}

static void fetch_ends(struct owners *owners)
{
    owners->requested_ms = loop_now_ms(owners->loop);
    for (int32_t i = 0; i < owners->count; i++) {
        struct commands_end *end = &owners->ends[i];
        if (end->outstanding)
            continue;
        end->outstanding = true;
        owners->outstanding++;
        broker_offsets(owners->cluster->broker, owners->cluster->topics.commands, i, on_offsets,
                       end);
    }
}

void owners_serve(struct owners *owners, struct http_exchange *exchange)
{
    if (owners->draining) {
        http_respond_error(exchange, 503, "ShuttingDown", "this instance is shutting down");
        return;
    }
    struct owners_waiter *waiter = calloc(1, sizeof(*waiter));
    int64_t now = loop_now_ms(owners->loop);
    assert(waiter != NULL);
    waiter->exchange = exchange;
    LL_PREPEND(owners->waiters, waiter);
    bool fresh = owners->requested_ms != 0 && now - owners->requested_ms < FRESH_MS;
    if (!fresh && owners->outstanding == 0)
        fetch_ends(owners);
    if (owners->outstanding == 0)
        answer_all(owners);
    else if (!loop_timer_armed(&owners->timer))
        loop_timer_after(owners->loop, &owners->timer, WAIT_MS);
}

struct owners *owners_new(struct cluster *cluster, struct console_partition *const partitions[],
                          const struct alerts *alerts)
{
    struct owners *owners = calloc(1, sizeof(*owners));
    assert(owners != NULL);
    owners->cluster = cluster;
    owners->loop = cluster->service->loop;
    owners->partitions = partitions;
    owners->alerts = alerts;
    owners->count = cluster->partition_count;
    owners->ends = calloc((size_t)owners->count, sizeof(owners->ends[0]));
    assert(owners->ends != NULL);
    for (int32_t i = 0; i < owners->count; i++)
        owners->ends[i] = (struct commands_end){.owners = owners, .high = UNKNOWN};
    loop_timer_init(&owners->timer, on_timeout, owners);
    return owners;
}

void owners_drain(struct owners *owners)
{
    owners->draining = true;
    loop_timer_cancel(owners->loop, &owners->timer);
    while (owners->waiters != NULL) {
        struct owners_waiter *waiter = owners->waiters;
        LL_DELETE(owners->waiters, waiter);
        http_respond_error(waiter->exchange, 503, "ShuttingDown", "this instance is shutting down");
        free(waiter);
    }
}

void owners_free(struct owners *owners)
{
    if (owners == NULL)
        return;
    assert(owners->waiters == NULL);
    free(owners->ends);
    free(owners);
}
