/* SPDX-License-Identifier: Apache-2.0 */
#include "replica/view_report.h"

#include <assert.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

struct view_report {
    const struct service_context *service;
    bool deadlines;
    void (*each)(void *ctx, struct view_report *report);
    void *ctx;
    json_t *partitions; /* of the answer being made */
};

void digest_text(const struct content_hash *digest, char ret_text[DIGEST_TEXT_SIZE])
{
    for (size_t i = 0; i < sizeof(digest->bytes); i++)
        snprintf(ret_text + 2 * i, 3, "%02x", digest->bytes[i]);
}

void view_report_add(struct view_report *report, int32_t partition, struct view *view)
{
    struct content_hash digest;
    struct error error = {0};
    uint64_t orders = 0;
    char text[DIGEST_TEXT_SIZE] = "";
    const struct checkpoint *checkpoint = view_committed(view);
    json_t *row = json_object();
    json_object_set_new(row, "partition", json_integer(partition));
    json_object_set_new(row, "next_event_offset", json_integer(checkpoint->next_event_offset));
    if (store_digest(view_store(view), &digest, &orders, &error) == ERROR_OK) {
        digest_text(&digest, text);
        json_object_set_new(row, "digest", json_string(text));
        json_object_set_new(row, "orders", json_integer((json_int_t)orders));
    } else {
        json_object_set_new(row, "error", json_string(error.message));
    }
    json_array_append_new(report->partitions, row);
}

static void answer(struct http_exchange *exchange, void *userdata)
{
    struct view_report *report = userdata;
    json_t *body = json_object();
    report->partitions = json_array();
    report->each(report->ctx, report);
    json_object_set_new(body, "service", json_string(report->service->name));
    json_object_set_new(body, "instance", json_string(report->service->instance_id));
    json_object_set_new(body, "deadlines", json_boolean(report->deadlines));
    json_object_set_new(body, "partitions", report->partitions);
    char *text = json_dumps(body, JSON_COMPACT);
    assert(text != NULL);
    http_respond(exchange, 200, "application/json", text_of(text));
    free(text);
    json_decref(body);
}

void view_report_route(const struct service_context *service, bool deadlines,
                       void (*each)(void *ctx, struct view_report *report), void *ctx)
{
    /* Lives as long as the process: routes are never removed. */
    struct view_report *report = calloc(1, sizeof(*report));
    assert(report != NULL);
    *report =
        (struct view_report){.service = service, .deadlines = deadlines, .each = each, .ctx = ctx};
    http_server_route(service->http, "GET", "/stores", 0, answer, report);
}
