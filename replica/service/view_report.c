/* SPDX-License-Identifier: Apache-2.0 */
#include "replica/service/view_report.h"

#include "platform/http/json_answer.h"

#include <assert.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    FRESH_US = 1000000,
    SHARE = 10 /* at most a tenth of the loop's time goes to digests */
};

/* What is known of a partition's store. */
struct report_row {
    int32_t partition;
    int64_t next_event_offset;
    uint64_t orders;
    char digest[DIGEST_TEXT_SIZE];
    int64_t computed_us; /* monotonic */
    int64_t cost_us;
};

struct view_report {
    const struct service_context *service;
    bool deadlines;
    void (*each)(void *ctx, struct view_report *report);
    void *ctx;
    json_t *partitions; /* of the answer being made */
    struct report_row *rows;
    uint32_t row_count;
};

void digest_text(const struct content_hash *digest, char ret_text[DIGEST_TEXT_SIZE])
{
    for (size_t i = 0; i < sizeof(digest->bytes); i++)
        snprintf(ret_text + 2 * i, 3, "%02x", digest->bytes[i]);
}

static struct report_row *row_of(struct view_report *report, int32_t partition)
{
    for (uint32_t i = 0; i < report->row_count; i++)
        if (report->rows[i].partition == partition)
            return &report->rows[i];
    report->rows = reallocarray(report->rows, report->row_count + 1, sizeof(*report->rows));
    assert(report->rows != NULL);
    struct report_row *row = &report->rows[report->row_count++];
    *row = (struct report_row){.partition = partition};
    return row;
}

/* The digest of an offset stays the digest of that offset: an answer that is somewhat old is as
 * good, and the loop keeps its time for orders, however often it is asked. */
static bool is_fresh(const struct report_row *row, int64_t now_us)
{
    int64_t age_us = now_us - row->computed_us;
    return row->digest[0] != '\0' && (age_us < FRESH_US || age_us < SHARE * row->cost_us);
}

static enum error_class compute(struct report_row *row, struct view *view,
                                const struct clock *clock, struct error *ret_error)
{
    struct content_hash digest;
    uint64_t orders = 0;
    int64_t next_event_offset = view_committed(view)->next_event_offset;
    int64_t begun_us = clock_mono_us(clock);
    row->digest[0] = '\0';
    row->next_event_offset = next_event_offset;
    if (store_digest(view_store(view), &digest, &orders, ret_error) != ERROR_OK)
        return ret_error->class;
    digest_text(&digest, row->digest);
    row->orders = orders;
    row->computed_us = clock_mono_us(clock);
    row->cost_us = row->computed_us - begun_us;
    return ERROR_OK;
}

bool view_report_holds(const struct view *view)
{
    return view_committed(view)->complete && !admission_awaits_reset(view_committed(view));
}

void view_report_add(struct view_report *report, int32_t partition, struct view *view)
{
    const struct clock *clock = report->service->clock;
    struct report_row *row = row_of(report, partition);
    struct error error = {0};
    json_t *object = json_object();
    if (!view_report_holds(view))
        error_set(&error, CODE_INCOMPLETE, "not every order is folded yet");
    else if (!is_fresh(row, clock_mono_us(clock)))
        compute(row, view, clock, &error);
    json_object_set_new(object, "partition", json_integer(partition));
    json_object_set_new(object, "next_event_offset", json_integer(row->next_event_offset));
    if (error_is(&error)) {
        json_object_set_new(object, "error", json_string(error.message));
    } else {
        json_object_set_new(object, "digest", json_string(row->digest));
        json_object_set_new(object, "orders", json_integer((json_int_t)row->orders));
    }
    json_array_append_new(report->partitions, object);
}

static void answer(struct http_exchange *exchange, void *userdata)
{
    struct view_report *report = userdata;
    if (http_cross_site(exchange)) {
        http_respond_error(exchange, 403, CODE_CROSS_ORIGIN,
                           "requests from other sites are not accepted");
        return;
    }
    json_t *body = json_object();
    report->partitions = json_array();
    report->each(report->ctx, report);
    json_object_set_new(body, "service", json_string(report->service->name));
    json_object_set_new(body, "instance", json_string(report->service->instance_id));
    json_object_set_new(body, "deadlines", json_boolean(report->deadlines));
    json_object_set_new(body, "partitions", report->partitions);
    http_respond_json(exchange, 200, body);
}

static const struct http_route rows[] = {
    {.method = "GET",
     .pattern = "/stores",
     .permission = HTTP_VIEW,
     .handler = answer,
     .query = HTTP_NO_NAMES,
     .summary = "the digest and the position of each store, for `reeve verify --live`"},
};
const struct http_routes view_report_routes = HTTP_ROUTES(rows);

struct view_report *view_report_route(const struct service_context *service, bool deadlines,
                                      void (*each)(void *ctx, struct view_report *report),
                                      void *ctx)
{
    struct view_report *report = calloc(1, sizeof(*report));
    assert(report != NULL);
    *report =
        (struct view_report){.service = service, .deadlines = deadlines, .each = each, .ctx = ctx};
    http_server_routes(service->http, &view_report_routes, report);
    return report;
}

void view_report_free(struct view_report *report)
{
    if (report != NULL)
        free(report->rows);
    free(report);
}
