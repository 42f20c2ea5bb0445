/* SPDX-License-Identifier: Apache-2.0 */
/* GET /api/health: the checks of this console, and its configuration with the origin of each value.
 * Secrets are hidden. */
#include "platform/http/json_answer.h"
#include "schemas/json/json_codec.h"
#include "services/console/api/api.h"

#include "platform/disk_guard.h"
#include "replica/service/about.h"
#include "replica/service/settings.h"

#include <stdio.h>

enum { MESSAGE_SIZE = ERROR_MESSAGE_SIZE + 64, DATA_AGE_MAX_MS = 5000 };

static void add_check(json_t *list, const char *name, bool ok, const char *message)
{
    json_t *object = json_object();
    json_codec_put(object, "name", json_string(name));
    json_codec_put(object, "ok", json_boolean(ok));
    json_codec_put(object, "message", json_codec_text(text_of(message)));
    json_array_append_new(list, object);
}

static void check_brokers(struct api *api, json_t *list)
{
    char message[MESSAGE_SIZE] = "the brokers answer";
    int64_t age = api->owners != NULL ? owners_data_age_ms(api->owners) : 0;
    if (api->owners == NULL)
        snprintf(message, sizeof(message), "schemas and workflows have not been read yet");
    else if (age > DATA_AGE_MAX_MS)
        snprintf(message, sizeof(message),
                 "the brokers have not answered for %lld s: what the console shows is old",
                 (long long)(age / 1000));
    add_check(list, "brokers", api->owners != NULL && age <= DATA_AGE_MAX_MS, message);
}

static void check_partitions(struct api *api, json_t *list)
{
    char message[MESSAGE_SIZE] = "";
    char first[ERROR_MESSAGE_SIZE + 64] = "";
    char reason[ERROR_MESSAGE_SIZE + 64];
    int32_t behind = 0;
    for (int32_t i = 0; i < api->partition_count; i++) {
        if (console_partition_is_current(api->partitions[i], reason, sizeof(reason)))
            continue;
        if (behind++ == 0)
            snprintf(first, sizeof(first), "%s", reason);
    }
    if (behind == 0)
        snprintf(message, sizeof(message), "all %d have been read to the end of the log",
                 api->partition_count);
    else
        snprintf(message, sizeof(message), "%d of %d are not up to date: %.500s", behind,
                 api->partition_count, first);
    add_check(list, "partitions", behind == 0 && api->partition_count > 0, message);
}

static void check_decisions(const struct api *api, json_t *list)
{
    char reason[VERDICT_REASON_SIZE];
    bool stalled = api->owners != NULL && owners_stalled(api->owners, reason, NULL) > 0;
    add_check(list, "decisions", !stalled,
              stalled ? reason : "no partition has commands that wait without a decision");
}

static json_t *render_checks(struct api *api)
{
    char reason[MESSAGE_SIZE] = "";
    json_t *list = json_array();
    bool ready =
        console_partitions_are_ready(api->partitions, api->partition_count, reason, sizeof(reason));
    add_check(list, "ready", ready,
              ready ? "every partition has been read to its end since the start" : reason);
    check_brokers(api, list);
    check_partitions(api, list);
    check_decisions(api, list);
    bool low = disk_guard_is_low(api->cluster->service->disk);
    add_check(list, "disk", !low,
              low ? "the disk of data.dir is nearly full: nothing is folded until there is space"
                  : "there is enough free space");
    const struct service_context *service = api->cluster->service;
    bool trouble = service->in_trouble != NULL &&
                   service->in_trouble(service->in_trouble_ctx, reason, sizeof(reason));
    add_check(list, "cluster", !trouble, trouble ? reason : "its settings are as required");
    return list;
}

/* It is answered while the console starts as well. */
void serve_health(struct api *api, struct http_exchange *exchange)
{
    json_t *body = json_object();
    json_codec_put(body, "version", json_string(service_version()));
    json_codec_put(body, "instance", json_codec_text(text_of(api->cluster->service->instance_id)));
    json_codec_put(body, "checks", render_checks(api));
    json_codec_put(body, "configuration",
                   service_configuration(api->cluster->service->config, SETTINGS_CONSOLE));
    if (api->owners != NULL)
        owners_respond(api->owners, exchange, body);
    else
        http_respond_json(exchange, 200, body);
}
