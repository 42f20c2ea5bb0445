/* SPDX-License-Identifier: Apache-2.0 */
#include "replica/service/about.h"

#include "kafka/client.h"
#include "platform/http/json_answer.h"
#include "schemas/json/json_codec.h"

#include <assert.h>
#include <stdlib.h>

#ifndef REEVE_VERSION
#define REEVE_VERSION "unknown"
#define REEVE_ROCKSDB_VERSION "unknown"
#define REEVE_AVRO_VERSION "unknown"
#endif

const char *service_version(void)
{
    return REEVE_VERSION;
}

void service_about_add_metrics(struct metrics *metrics)
{
    const struct metrics_labels labels = {
        {"version", "librdkafka", "rocksdb", "avro"},
        {service_version(), kafka_client_version(), REEVE_ROCKSDB_VERSION, REEVE_AVRO_VERSION}};
    metrics_set(metrics_gauge(metrics, "reeve_build_info",
                              "Always 1; the labels are the versions of reeve and its libraries.",
                              labels),
                1);
}

static void add_setting(void *ctx, const char *name, const char *value, const char *origin)
{
    json_t *object = json_object();
    json_codec_put(object, "key", json_codec_text(text_of(name)));
    json_codec_put(object, "value", json_codec_text(text_of(value)));
    json_codec_put(object, "origin", json_codec_text(text_of(origin)));
    json_array_append_new(ctx, object);
}

json_t *service_configuration(const struct config *config, unsigned readers)
{
    json_t *list = json_array();
    assert(list != NULL);
    config_each(config, readers, add_setting, list);
    return list;
}

void service_about_respond(struct http_exchange *exchange, const struct service_about *about)
{
    json_t *body = json_object();
    assert(about->context->instance_id != NULL);
    json_codec_put(body, "service", json_codec_text(text_of(about->context->name)));
    json_codec_put(body, "instance", json_codec_text(text_of(about->context->instance_id)));
    json_codec_put(body, "version", json_string(service_version()));
    json_codec_put(body, "started_at", json_codec_time(about->started_ms));
    json_codec_put(body, "time", json_codec_time(clock_wall_ms(about->context->clock)));
    json_codec_put(body, "ready", json_boolean(about->ready));
    json_codec_put(body, "reason", json_codec_text_or_null(text_of(about->reason)));
    int64_t free_bytes = disk_guard_free_bytes(about->context->disk);
    json_codec_put(body, "disk_free_bytes",
                   free_bytes >= 0 ? json_integer(free_bytes) : json_null());
    json_codec_put(body, "configuration",
                   service_configuration(about->context->config, about->readers));
    http_respond_json(exchange, 200, body);
}
