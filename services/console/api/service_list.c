/* SPDX-License-Identifier: Apache-2.0 */
/* Services are asked together, in rounds: a request that comes during a round waits for its end. */
#include "services/console/api/service_list.h"

#include "platform/files.h"
#include "platform/http/client.h"
#include "services/console/render/render.h"

#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ANSWER_MAX = 256 * 1024, WAITING_MAX = 64, URL_SIZE = 1024 };

/* A service as this round finds it. */
struct listed_service {
    struct service_list *list;
    const char *address; /* as configured; borrowed from the configuration */
    json_t *found;       /* NULL: it has not answered yet */
};

struct service_list {
    struct http_client *client;
    struct listed_service *services;
    size_t count;
    size_t outstanding; /* of the round; 0: none is under way */
    struct http_exchange *waiting[WAITING_MAX];
    size_t waiting_count;
};

/* ---- one service ---- */

static json_t *failed(const struct listed_service *service, const char *message)
{
    json_t *row = json_object();
    render_put(row, "address", json_codec_text(text_of(service->address)));
    render_put(row, "error", json_codec_text(text_of(message)));
    return row;
}

/* Each has a key, a value and an origin. */
static bool is_configuration(const json_t *list)
{
    size_t i;
    const json_t *setting;
    json_array_foreach(list, i, setting) {
        if (!json_is_string(json_object_get(setting, "key")) ||
            !json_is_string(json_object_get(setting, "value")) ||
            !json_is_string(json_object_get(setting, "origin")))
            return false;
    }
    return true;
}

/* Of what a service says, the fields of GET /about, and nothing else. NULL: one is missing. */
static json_t *copy_fields(const json_t *about)
{
    static const struct {
        const char *name;
        json_type type;
    } fields[] = {{"service", JSON_STRING},
                  {"instance", JSON_STRING},
                  {"version", JSON_STRING},
                  {"started_at", JSON_INTEGER},
                  {"configuration", JSON_ARRAY}};
    const json_t *ready = json_object_get(about, "ready");
    const json_t *reason = json_object_get(about, "reason");
    json_t *row = json_object();
    bool whole = json_is_boolean(ready) && (json_is_string(reason) || json_is_null(reason)) &&
                 is_configuration(json_object_get(about, "configuration"));
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        json_t *value = json_object_get(about, fields[i].name);
        whole = whole && value != NULL && json_typeof(value) == fields[i].type;
        if (whole)
            render_put(row, fields[i].name, json_incref(value));
    }
    if (!whole) {
        json_decref(row);
        return NULL;
    }
    render_put(row, "ready", json_boolean(json_is_true(ready)));
    render_put(row, "reason",
               json_is_null(reason) ? json_null() : json_string(json_string_value(reason)));
    return row;
}

static json_t *read_answer(const struct listed_service *service, const struct http_result *result)
{
    char message[ERROR_MESSAGE_SIZE];
    if (result->outcome != HTTP_ANSWERED)
        return failed(service, result->message);
    if (result->status != 200) {
        snprintf(message, sizeof(message), "GET /about is answered with %d: %.200s", result->status,
                 result->status == 403 ? "add this host name to its http.allowed.hosts"
                                       : "is it a reeve service of this version?");
        return failed(service, message);
    }
    json_t *about = json_loadb(result->body.data, result->body.size, 0, NULL);
    json_t *row = result->body_cut ? NULL : copy_fields(about);
    json_decref(about);
    if (row == NULL)
        return failed(service, "the answer to GET /about is not that of a reeve service");
    render_put(row, "address", json_codec_text(text_of(service->address)));
    render_put(row, "error", json_null());
    return row;
}

/* ---- a round ---- */

static void end_round(struct service_list *list)
{
    json_t *rows = json_array();
    json_t *body = json_object();
    size_t waiting_count = list->waiting_count;
    for (size_t i = 0; i < list->count; i++) {
        json_array_append_new(rows, list->services[i].found);
        list->services[i].found = NULL;
    }
    render_put(body, "services", rows);
    list->waiting_count = 0;
    for (size_t i = 0; i < waiting_count; i++)
        respond_json(list->waiting[i], 200, json_incref(body));
    json_decref(body);
}

static void on_answer(const struct http_result *result, void *userdata)
{
    struct listed_service *service = userdata;
    struct service_list *list = service->list;
    assert(service->found == NULL && list->outstanding > 0);
    service->found = read_answer(service, result);
    if (--list->outstanding == 0)
        end_round(list);
}

/* A directory is the data.dir of a service on this machine, which wrote its port into it. */
static enum error_class url_of(const char *address, char ret_url[URL_SIZE], struct error *ret_error)
{
    char path[PATH_MAX];
    char *port = NULL;
    size_t size = 0;
    if (address[0] != '/') {
        snprintf(ret_url, URL_SIZE, "%s%.900s/about",
                 strstr(address, "://") != NULL ? "" : "http://", address);
        return ERROR_OK;
    }
    snprintf(path, sizeof(path), "%.900s/http.port", address);
    enum error_class class = files_read(path, sizeof("65535\n"), &port, &size, ret_error);
    if (class == ERROR_OK)
        snprintf(ret_url, URL_SIZE, "http://127.0.0.1:%.*s/about", (int)strspn(port, "0123456789"),
                 port);
    free(port);
    return class;
}

static void ask(struct listed_service *service)
{
    char url[URL_SIZE];
    struct error error;
    struct http_request request = {
        .method = "GET", .url = url, .timeout_ms = SERVICE_LIST_TIMEOUT_MS};
    if (url_of(service->address, url, &error) != ERROR_OK) {
        service->found =
            failed(service, "it does not run: there is no http.port in that directory");
        return;
    }
    if (http_client_send(service->list->client, &request, on_answer, service, &error) == ERROR_OK)
        service->list->outstanding++;
    else
        service->found = failed(service, error.message);
}

void service_list_serve(struct service_list *list, struct http_exchange *exchange)
{
    if (list->waiting_count == WAITING_MAX) {
        http_respond_error(exchange, 503, "Busy", "too many requests wait for the services");
        return;
    }
    list->waiting[list->waiting_count++] = exchange;
    if (list->outstanding > 0)
        return;
    for (size_t i = 0; i < list->count; i++)
        ask(&list->services[i]);
    if (list->outstanding == 0)
        end_round(list);
}

/* ---- life ---- */

static enum error_class check_address(const char *address, struct error *ret_error)
{
    const char *host = strstr(address, "://");
    bool url = strncmp(address, "http://", 7) == 0 || strncmp(address, "https://", 8) == 0;
    if (address[0] == '/' || url || (host == NULL && strchr(address, ':') != NULL))
        return ERROR_OK;
    return error_set(ret_error, ERROR_REJECT, "Config",
                     "console.services: \"%.200s\" must be HOST:PORT, a base URL, or the absolute "
                     "path of a data.dir on this machine",
                     address);
}

enum error_class service_list_new(struct loop *loop, const struct config *config,
                                  struct service_list **ret_list, struct error *ret_error)
{
    static const struct http_client_options options = {.response_max = ANSWER_MAX,
                                                       .close_idle = true};
    const char *const *addresses = NULL;
    size_t count = config_list(config, "console.services", &addresses);
    if (count > SERVICE_LIST_MAX)
        return error_set(ret_error, ERROR_REJECT, "Config",
                         "console.services names %zu services; the limit is %d", count,
                         SERVICE_LIST_MAX);
    for (size_t i = 0; i < count; i++)
        if (check_address(addresses[i], ret_error) != ERROR_OK)
            return ERROR_REJECT;
    struct service_list *list = calloc(1, sizeof(*list));
    assert(list != NULL);
    enum error_class class = http_client_new(loop, &options, &list->client, ret_error);
    if (class != ERROR_OK) {
        free(list);
        return class;
    }
    list->services = calloc(count + 1, sizeof(list->services[0]));
    assert(list->services != NULL);
    for (size_t i = 0; i < count; i++)
        list->services[list->count++] =
            (struct listed_service){.list = list, .address = addresses[i]};
    *ret_list = list;
    return ERROR_OK;
}

void service_list_free(struct service_list *list)
{
    if (list == NULL)
        return;
    http_client_free(list->client); /* cancels the calls */
    for (size_t i = 0; i < list->waiting_count; i++)
        http_respond_error(list->waiting[i], 503, "Stopping", "the console stops");
    for (size_t i = 0; i < list->count; i++)
        json_decref(list->services[i].found);
    free(list->services);
    free(list);
}
