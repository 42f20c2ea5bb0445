/* SPDX-License-Identifier: Apache-2.0 */
/* GET /api/overview: the statistics of all partitions together. */
#include "schemas/json/json_codec.h"
#include "services/console/api/api.h"
#include "services/console/model/oldest_order.h"
#include "services/console/render/render.h"

#include <assert.h>
#include <stdlib.h>

static json_t *part(const char *key, uint32_t size, uint32_t n)
{
    return json_codec_text_or_null(stats_key_part(key, size, n));
}

static void put_rates(json_t *body, const struct stats *stats, int64_t now)
{
    static const char *const names[] = {"submitted", "processed", "compensated", "error"};
    _Static_assert(sizeof(names) / sizeof(names[0]) == STATS_RATE_COUNT, "each rate has a name");
    uint32_t counts[STATS_BUCKETS];
    int64_t from = 0;
    json_t *rates = json_object();
    for (int rate = 0; rate < STATS_RATE_COUNT; rate++) {
        json_t *list = json_array();
        from = stats_rates(stats, (enum stats_rate)rate, now, counts);
        for (int i = 0; i < STATS_BUCKETS; i++)
            json_array_append_new(list, json_integer(counts[i]));
        json_codec_put(rates, names[rate], list);
    }
    json_codec_put(body, "now", json_codec_time(now));
    json_codec_put(body, "step_ms", json_integer(STATS_STEP_MS));
    json_codec_put(body, "from", json_codec_time(from));
    json_codec_put(body, "rates", rates);
}

static json_t *render_steps(const struct stats *stats)
{
    json_t *list = json_array();
    for (const struct stats_group *row = stats->steps; row != NULL; row = row->hh.next) {
        json_t *object = json_object();
        json_codec_put(object, "workflow", part(row->key, row->key_size, 0));
        json_codec_put(object, "step", part(row->key, row->key_size, 1));
        json_codec_put(object, "orders", json_integer(row->orders));
        json_array_append_new(list, object);
    }
    return list;
}

/* Where a row belongs: its workflow, the whole order first, then the steps in their order. */
struct duration_place {
    struct text workflow;
    struct text step;
    uint32_t index; /* of the step in the active version; after all of them: it has none */
    const struct stats_durations *row;
};

static int compare_places(const void *a, const void *b)
{
    const struct duration_place *left = a;
    const struct duration_place *right = b;
    int order = text_compare(left->workflow, right->workflow);
    if (order != 0)
        return order;
    if (text_empty(left->step) != text_empty(right->step))
        return text_empty(left->step) ? -1 : 1;
    if (left->index != right->index)
        return left->index < right->index ? -1 : 1;
    return text_compare(left->step, right->step);
}

static uint32_t step_index(const struct workflow_registry *registry, struct text workflow,
                           struct text step)
{
    uint32_t index = 0;
    const struct workflow *found = workflow_registry_find(registry, workflow, 0);
    if (found == NULL)
        return WORKFLOW_STEPS_MAX;
    while (index < found->step_count && !text_equal(found->steps[index].name, step))
        index++;
    return index;
}

/* New, sorted; one for each row. */
static struct duration_place *sort_durations(const struct stats *stats,
                                             const struct workflow_registry *registry)
{
    uint32_t count = 0;
    struct duration_place *places =
        calloc((size_t)HASH_COUNT(stats->durations) + 1, sizeof(places[0]));
    assert(places != NULL);
    for (const struct stats_durations *row = stats->durations; row != NULL; row = row->hh.next) {
        struct duration_place *place = &places[count++];
        place->workflow = stats_key_part(row->key, row->key_size, 0);
        place->step = stats_key_part(row->key, row->key_size, 1);
        place->index = step_index(registry, place->workflow, place->step);
        place->row = row;
    }
    qsort(places, count, sizeof(places[0]), compare_places);
    return places;
}

static json_t *render_durations(const struct stats *stats, const struct workflow_registry *registry,
                                int64_t now)
{
    json_t *list = json_array();
    struct duration_place *places = sort_durations(stats, registry);
    for (uint32_t i = 0; i < HASH_COUNT(stats->durations); i++) {
        const struct stats_durations *row = places[i].row;
        int64_t p50 = 0;
        int64_t p99 = 0;
        uint64_t count = stats_quantiles(row, now, &p50, &p99);
        if (count == 0)
            continue;
        json_t *object = json_object();
        json_codec_put(object, "workflow", part(row->key, row->key_size, 0));
        json_codec_put(object, "step", part(row->key, row->key_size, 1));
        json_codec_put(object, "count", json_integer((json_int_t)count));
        json_codec_put(object, "p50_ms", json_integer(p50));
        json_codec_put(object, "p99_ms", json_integer(p99));
        json_array_append_new(list, object);
    }
    free(places);
    return list;
}

static int most_orders_first(const struct stats_group *a, const struct stats_group *b)
{
    return (a->orders < b->orders) - (a->orders > b->orders);
}

static json_t *render_causes(struct stats *stats)
{
    json_t *list = json_array();
    HASH_SORT(stats->causes, most_orders_first);
    for (const struct stats_group *row = stats->causes; row != NULL; row = row->hh.next) {
        json_t *object = json_object();
        json_codec_put(object, "workflow", part(row->key, row->key_size, 0));
        json_codec_put(object, "step", part(row->key, row->key_size, 1));
        json_codec_put(object, "error_name", part(row->key, row->key_size, 2));
        json_codec_put(object, "message",
                       json_codec_text_or_null((struct text){row->message, row->message_size}));
        json_codec_put(object, "pattern", part(row->key, row->key_size, 3));
        json_codec_put(object, "orders", json_integer(row->orders));
        json_codec_put(object, "latest_at", json_codec_time_or_null(row->latest_at));
        json_array_append_new(list, object);
    }
    return list;
}

/* ---- the oldest order that has not ended ---- */

static json_t *render_oldest(struct api *api)
{
    struct oldest_order oldest;
    const struct order *order = NULL;
    struct error error;
    if (!oldest_order_find(api->partitions, api->partition_count, STATS_UNFINISHED, &oldest))
        return json_null();
    struct text id = {oldest.id, oldest.id_size};
    struct view *view = console_partition_view(oldest.partition);
    if (view_order(view, id, &order, &error) != ERROR_OK || order == NULL)
        return json_null();
    json_t *object = json_object();
    json_codec_put(object, "id", json_codec_text(id));
    json_codec_put(object, "workflow", json_codec_text_or_null(order->details.workflow));
    json_codec_put(object, "state", json_string(order_state_name(order->state)));
    json_codec_put(object, "submitted_at", json_codec_time_or_null(order->accepted_at));
    return object;
}

/* ---- partitions and the whole ---- */

static json_t *render_partitions(struct api *api)
{
    json_int_t owned = 0;
    json_int_t stopped = 0;
    for (int32_t i = 0; i < api->partition_count; i++) {
        owned += console_partition_claim(api->partitions[i])->known;
        stopped += console_partition_is_stopped(api->partitions[i], NULL);
    }
    char reason[VERDICT_REASON_SIZE] = "";
    uint32_t stalled = owners_stalled(api->owners, reason, NULL);
    json_t *object = json_object();
    json_codec_put(object, "total", json_integer(api->partition_count));
    json_codec_put(object, "owned", json_integer(owned));
    json_codec_put(object, "stopped", json_integer(stopped));
    json_codec_put(object, "lag", json_integer(owners_lag(api->owners)));
    json_codec_put(object, "stalled", json_integer(stalled));
    json_codec_put(object, "stalled_reason", json_codec_text_or_null(text_of(reason)));
    return object;
}

static json_t *render_unfinished(const uint64_t by_state[ORDER_STATE_COUNT])
{
    return json_integer((json_int_t)order_counts_unfinished(by_state));
}

/* Errors and the oldest order are those of sub-orders as well. */
static void put_states(struct api *api, json_t *body)
{
    uint64_t roots[ORDER_STATE_COUNT] = {0};
    uint64_t suborders[ORDER_STATE_COUNT] = {0};
    for (int32_t i = 0; i < api->partition_count; i++) {
        const struct order_counts *counts = console_partition_counts(api->partitions[i]);
        for (int state = 0; state < ORDER_STATE_COUNT; state++) {
            roots[state] += counts->by_state[state];
            suborders[state] += counts->suborders[state];
        }
    }
    json_codec_put(body, "by_state", render_by_state(roots));
    json_codec_put(body, "unfinished", render_unfinished(roots));
    json_codec_put(body, "suborders_by_state", render_by_state(suborders));
    json_codec_put(body, "suborders_unfinished", render_unfinished(suborders));
}

void serve_overview(struct api *api, struct http_exchange *exchange)
{
    int64_t now = clock_wall_ms(api->cluster->service->clock);
    struct stats *stats = calloc(1, sizeof(*stats));
    assert(stats != NULL);
    for (int32_t i = 0; i < api->partition_count; i++)
        stats_merge(stats, console_partition_stats(api->partitions[i]));
    json_t *body = json_object();
    put_rates(body, stats, now);
    json_codec_put(body, "in_flight", render_steps(stats));
    json_codec_put(body, "in_flight_of_others", json_integer(stats->other_steps));
    json_codec_put(body, "latency", render_durations(stats, api->cluster->workflows, now));
    json_codec_put(body, "errors", render_causes(stats));
    json_codec_put(body, "errors_of_other_causes", json_integer(stats->other_causes));
    json_codec_put(body, "oldest", render_oldest(api));
    json_codec_put(body, "partitions", render_partitions(api));
    put_states(api, body);
    api_put_incomplete(api, body);
    stats_deinit(stats);
    free(stats);
    owners_respond(api->owners, exchange, body);
}
