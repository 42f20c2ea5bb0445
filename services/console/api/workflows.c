/* SPDX-License-Identifier: Apache-2.0 */
/* GET /api/workflows, one of its versions, what differs between two of them, and /api/counts: what
 * is deployed, and how many orders there are of it. The counts come from the partitions, whatever
 * the number of orders. */
#include "base/numbers.h"
#include "platform/http/json_answer.h"
#include "platform/http/query.h"
#include "replica/cluster/workflow_entry_json.h"
#include "schemas/json/json_codec.h"
#include "services/console/api/api.h"
#include "services/console/render/render.h"
#include "workflow/shape_schema.h"

/* Of all partitions; order_counts_deinit(). */
static struct order_counts sum_up(const struct api *api)
{
    struct order_counts sum = {0};
    for (int32_t i = 0; i < api->partition_count; i++)
        order_counts_merge(&sum, console_partition_counts(api->partitions[i]));
    return sum;
}

static uint64_t total_of(const uint64_t by_state[ORDER_STATE_COUNT])
{
    uint64_t total = 0;
    for (int state = 0; state < ORDER_STATE_COUNT; state++)
        total += by_state[state];
    return total;
}

/* ---- counts ---- */

static json_t *render_by_workflow(const struct order_counts *counts)
{
    json_t *workflows = json_object();
    for (uint32_t i = 0; i < counts->row_count;) {
        const struct order_counts_row *first = &counts->rows[i];
        uint64_t by_state[ORDER_STATE_COUNT] = {0};
        for (; i < counts->row_count &&
               text_equal(order_counts_name(&counts->rows[i]), order_counts_name(first));
             i++)
            for (int state = 0; state < ORDER_STATE_COUNT; state++)
                by_state[state] += counts->rows[i].by_state[state];
        json_codec_put(workflows, first->workflow, render_by_state(by_state));
    }
    return workflows;
}

static json_t *render_by_version(const struct order_counts *counts)
{
    json_t *versions = json_array();
    for (uint32_t i = 0; i < counts->row_count; i++) {
        const struct order_counts_row *row = &counts->rows[i];
        json_t *object = json_object();
        json_codec_put(object, "workflow", json_codec_text(order_counts_name(row)));
        json_codec_put(object, "version", json_integer(row->version));
        json_codec_put(object, "by_state", render_by_state(row->by_state));
        json_array_append_new(versions, object);
    }
    return versions;
}

void serve_counts(struct api *api, struct http_exchange *exchange)
{
    struct order_counts sum = sum_up(api);
    json_t *body = json_object();
    json_codec_put(body, "orders", json_integer((json_int_t)total_of(sum.by_state)));
    json_codec_put(body, "by_state", render_by_state(sum.by_state));
    json_codec_put(body, "by_workflow", render_by_workflow(&sum));
    json_codec_put(body, "by_version", render_by_version(&sum));
    api_put_incomplete(api, body);
    order_counts_deinit(&sum);
    owners_respond(api->owners, exchange, body);
}

/* ---- workflows ---- */

static json_t *render_orders(const struct order_counts *counts, const struct workflow *workflow)
{
    static const uint64_t none[ORDER_STATE_COUNT];
    const struct order_counts_row *row =
        order_counts_find(counts, workflow->name, workflow->version);
    const uint64_t *by_state = row != NULL ? row->by_state : none;
    json_t *orders = json_object();
    json_codec_put(orders, "total", json_integer((json_int_t)total_of(by_state)));
    json_codec_put(orders, "unfinished",
                   json_integer((json_int_t)order_counts_unfinished(by_state)));
    json_codec_put(orders, "by_state", render_by_state(by_state));
    return orders;
}

/* Null without an InputShape. */
static json_t *render_input_schema(struct api *api, const struct workflow *workflow)
{
    if (workflow->input_shape == NULL)
        return json_null();
    heap_arena_reset(&api->scratch);
    return json_codec_json(
        shape_schema(workflow->input_shape, workflow->name, &api->scratch.arena));
}

static json_t *render_version(struct api *api, const struct workflow_entry *entry,
                              const struct order_counts *counts)
{
    json_t *object = workflow_entry_json(api->cluster->workflows, entry);
    json_codec_put(object, "input_schema", render_input_schema(api, entry->workflow));
    json_codec_put(object, "orders", render_orders(counts, entry->workflow));
    json_codec_put(object, "lint", workflow_problems_json(entry->warnings, entry->warning_count));
    return object;
}

void serve_workflows(struct api *api, struct http_exchange *exchange)
{
    struct order_counts sum = sum_up(api);
    json_t *body = json_object();
    json_t *list = json_array();
    const struct workflow_registry *registry = api->cluster->workflows;
    for (uint32_t i = 0; i < workflow_registry_count(registry); i++) {
        const struct workflow_entry *entry = workflow_registry_at(registry, i);
        json_array_append_new(list, render_version(api, entry, &sum));
    }
    json_codec_put(body, "workflows", list);
    api_put_incomplete(api, body);
    order_counts_deinit(&sum);
    owners_respond(api->owners, exchange, body);
}

/* The version of the path's {name}, or NULL after the exchange was answered. */
static const struct workflow_entry *find_version(const struct api *api,
                                                 struct http_exchange *exchange, int64_t version)
{
    struct text name = text_of(http_param(exchange, "name"));
    const struct workflow_entry *entry =
        workflow_registry_entry(api->cluster->workflows, name, (uint32_t)version);
    if (entry == NULL)
        http_respond_error(exchange, 404, CODE_UNKNOWN_WORKFLOW,
                           "version %lld of this workflow is not deployed", (long long)version);
    return entry;
}

void serve_workflow(struct api *api, struct http_exchange *exchange)
{
    int64_t version = 0;
    if (!number_parse(text_of(http_param(exchange, "version")), 1, INT32_MAX, &version)) {
        http_respond_error(exchange, 400, CODE_BAD_REQUEST,
                           "the version in the path: expected an integer from 1 to %d", INT32_MAX);
        return;
    }
    const struct workflow_entry *entry = find_version(api, exchange, version);
    if (entry == NULL)
        return;
    struct order_counts sum = sum_up(api);
    json_t *body = render_version(api, entry, &sum);
    api_put_incomplete(api, body);
    order_counts_deinit(&sum);
    owners_respond(api->owners, exchange, body);
}

/* ---- differences ---- */

void serve_workflow_diff(struct api *api, struct http_exchange *exchange)
{
    int64_t versions[2] = {0, 0};
    if (!http_query_int(exchange, "left", 0, 0, INT32_MAX, &versions[0]) ||
        !http_query_int(exchange, "right", 0, 0, INT32_MAX, &versions[1]))
        return;
    if (versions[0] == 0 || versions[1] == 0) {
        http_respond_error(exchange, 400, CODE_BAD_REQUEST,
                           "left and right: expected two versions, from 1 to %d", INT32_MAX);
        return;
    }
    const struct workflow_entry *left = find_version(api, exchange, versions[0]);
    const struct workflow_entry *right =
        left != NULL ? find_version(api, exchange, versions[1]) : NULL;
    if (right == NULL)
        return;
    const struct workflow_difference *differences = NULL;
    json_t *list = json_array();
    json_t *body = json_object();
    heap_arena_reset(&api->scratch);
    uint32_t count =
        workflow_diff(left->workflow, right->workflow, &api->scratch.arena, &differences);
    for (uint32_t i = 0; i < count; i++)
        json_array_append_new(list, workflow_difference_json(&differences[i]));
    json_codec_put(body, "workflow", json_codec_text(left->definition.name));
    json_codec_put(body, "left", json_integer(versions[0]));
    json_codec_put(body, "right", json_integer(versions[1]));
    json_codec_put(body, "differences", list);
    http_respond_json(exchange, 200, body);
}
