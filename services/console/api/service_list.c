/* SPDX-License-Identifier: Apache-2.0 */
/* Services are asked together, in rounds: a request that comes during a round waits for its end. An
 * address that begins with "dns:" is a name of several instances, which are looked up each time;
 * one that begins with "file:/" is a file of addresses, which is read each time. */
#include "services/console/api/service_list.h"

#include "base/rfc3339.h"
#include "platform/files.h"
#include "platform/http/client.h"
#include "platform/http/json_answer.h"
#include "platform/http/pending.h"
#include "platform/name_lookup.h"
#include "replica/service/address.h"
#include "replica/service/credentials.h"
#include "schemas/json/json_codec.h"

#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#define NAME_MARK "dns:"
#define FILE_MARK "file:"
#define EXPECTED_PLACE "HOST:PORT, a base URL, or the absolute path of a data.dir on this machine"
enum { ANSWER_MAX = 256 * 1024, WAITING_MAX = 64, ADDRESS_SIZE = 320, FILE_BYTES_MAX = 64 * 1024 };

/* An instance as this round finds it. */
struct listed_instance {
    struct listed_service *service;
    const char *place; /* HOST:PORT, a base URL or a directory; borrowed until the round ends */
    char ip[INET6_ADDRSTRLEN]; /* of a name; "": the configured address is the instance's own */
    json_t *found;             /* NULL: it has not answered yet */
    int64_t asked_ms;          /* wall clock */
};

/* What one address of the configuration names. */
struct listed_service {
    struct service_list *list;
    const char *address;           /* as configured; borrowed from the configuration */
    struct name_lookup *lookup;    /* under way, maybe since an earlier round; NULL: none is */
    bool awaits;                   /* this round waits for the lookup */
    json_t *failure;               /* of the lookup or the file; NULL: there is none */
    char *content;                 /* of the file in this round; NULL: it is none */
    struct listed_instance *found; /* of this round; calls that are under way point into it */
    size_t count;
};

struct service_list {
    struct loop *loop;
    const struct clock *clock;
    struct http_client *client;
    char authorization[SERVICE_AUTHORIZATION_SIZE]; /* the header; "": no token is sent */
    struct loop_timer timer; /* the round goes on without the lookups that are still under way */
    struct listed_service *services;
    size_t count;
    size_t outstanding;           /* lookups and calls of the round; 0: none is under way */
    struct http_pendings waiting; /* for the end of the round */
};

static const struct http_pending_kind waiting_kind = {.max = WAITING_MAX,
                                                      .busy =
                                                          "too many requests wait for the services",
                                                      .draining = HTTP_SHUTTING_DOWN};

/* ---- one instance ---- */

static json_t *failed(const char *address, const char *message)
{
    json_t *row = json_object();
    json_codec_put(row, "address", json_codec_text(text_of(address)));
    json_codec_put(row, "error", json_codec_text(text_of(message)));
    return row;
}

static void write_address(const struct listed_instance *instance, char ret_address[ADDRESS_SIZE])
{
    if (instance->ip[0] == '\0')
        snprintf(ret_address, ADDRESS_SIZE, "%.250s", instance->place);
    else
        snprintf(ret_address, ADDRESS_SIZE, "%.250s (%s)", instance->service->address,
                 instance->ip);
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
                  {"started_at", JSON_STRING},
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
            json_codec_put(row, fields[i].name, json_incref(value));
    }
    if (!whole) {
        json_decref(row);
        return NULL;
    }
    json_codec_put(row, "ready", json_boolean(json_is_true(ready)));
    json_codec_put(row, "reason",
                   json_is_null(reason) ? json_null() : json_string(json_string_value(reason)));
    return row;
}

static bool has_code(const struct http_result *result, enum error_code code)
{
    json_t *body = json_loadb(result->body.data, result->body.size, 0, NULL);
    const char *has = json_string_value(json_object_get(body, "code"));
    bool same = text_equal(text_of(has), error_code_text(code));
    json_decref(body);
    return same;
}

/* What to do about an answer that is not 200. */
static const char *advice(const struct service_list *list, const struct http_result *result)
{
    bool has_token = list->authorization[0] != '\0';
    if (result->status == 401 && !has_token)
        return "needs a token: set console.services.token";
    if (result->status == 401 || result->status == 429)
        return "does not accept the token in console.services.token";
    if (result->status == 403 && has_code(result, CODE_FORBIDDEN))
        return "the token in console.services.token needs the role viewer";
    if (result->status == 403)
        return "add this host name to its http.allowed.hosts";
    return "is it a reeve service of this version?";
}

/* How far its clock is ahead of this one: it is read at some time between question and answer.
 * Null: it is a service of an older version, which does not say. */
static json_t *clock_off(const json_t *about, int64_t asked_ms, int64_t answered_ms)
{
    int64_t time;
    const json_t *text = json_object_get(about, "time");
    if (!json_is_string(text) ||
        !rfc3339_parse((struct text){json_string_value(text), (uint32_t)json_string_length(text)},
                       &time))
        return json_null();
    int64_t off = time < asked_ms ? time - asked_ms : time > answered_ms ? time - answered_ms : 0;
    return json_integer(off);
}

/* Null: it has no stores, or is of an older version. */
static json_t *disk_free(const json_t *about)
{
    const json_t *bytes = json_object_get(about, "disk_free_bytes");
    bool known = json_is_integer(bytes) && json_integer_value(bytes) >= 0;
    return known ? json_integer(json_integer_value(bytes)) : json_null();
}

static json_t *read_answer(const struct service_list *list, const char *address, int64_t asked_ms,
                           const struct http_result *result)
{
    char message[ERROR_MESSAGE_SIZE];
    if (result->outcome != HTTP_ANSWERED)
        return failed(address, result->message);
    if (result->status != 200) {
        snprintf(message, sizeof(message), "GET /about is answered with %d: %.200s", result->status,
                 advice(list, result));
        return failed(address, message);
    }
    json_t *about = json_loadb(result->body.data, result->body.size, 0, NULL);
    json_t *row = result->body_cut ? NULL : copy_fields(about);
    json_t *off = clock_off(about, asked_ms, clock_wall_ms(list->clock));
    json_t *disk = disk_free(about);
    json_decref(about);
    if (row == NULL) {
        json_decref(off);
        json_decref(disk);
        return failed(address, "the answer to GET /about is not that of a reeve service");
    }
    json_codec_put(row, "clock_off_ms", off);
    json_codec_put(row, "disk_free_bytes", disk);
    json_codec_put(row, "address", json_codec_text(text_of(address)));
    json_codec_put(row, "error", json_null());
    return row;
}

/* ---- a round ---- */

static bool is_same(const json_t *a, const json_t *b)
{
    const char *instance = json_string_value(json_object_get(a, "instance"));
    const char *other = json_string_value(json_object_get(b, "instance"));
    return instance != NULL && other != NULL && strcmp(instance, other) == 0 &&
           json_equal(json_object_get(a, "service"), json_object_get(b, "service"));
}

/* An instance that has an IPv4 and an IPv6 address is listed once. */
static void add_rows(struct listed_service *service, json_t *rows)
{
    if (service->failure != NULL)
        json_array_append_new(rows, service->failure);
    for (size_t i = 0; i < service->count; i++) {
        bool again = false;
        for (size_t j = 0; j < i && !again; j++)
            again = is_same(service->found[i].found, service->found[j].found);
        if (!again)
            json_array_append(rows, service->found[i].found);
    }
    for (size_t i = 0; i < service->count; i++)
        json_decref(service->found[i].found);
    free(service->found);
    free(service->content);
    service->found = NULL;
    service->content = NULL;
    service->failure = NULL;
    service->count = 0;
}

static void end_round(struct service_list *list)
{
    json_t *rows = json_array();
    json_t *body = json_object();
    struct http_pending *waiting, *next;
    loop_timer_cancel(list->loop, &list->timer);
    for (size_t i = 0; i < list->count; i++)
        add_rows(&list->services[i], rows);
    json_codec_put(body, "services", rows);
    DL_FOREACH_SAFE(list->waiting.list, waiting, next) {
        http_respond_json(http_pending_take(waiting), 200, json_incref(body));
        http_pending_settle(waiting);
    }
    json_decref(body);
}

static void on_answer(const struct http_result *result, void *userdata)
{
    char address[ADDRESS_SIZE];
    struct listed_instance *instance = userdata;
    struct service_list *list = instance->service->list;
    assert(instance->found == NULL && list->outstanding > 0);
    write_address(instance, address);
    instance->found = read_answer(list, address, instance->asked_ms, result);
    if (--list->outstanding == 0)
        end_round(list);
}

/* The address without what says that it is a name. */
static const char *name_of(const char *address)
{
    return strncmp(address, NAME_MARK, strlen(NAME_MARK)) == 0 ? address + strlen(NAME_MARK) : NULL;
}

/* Its absolute path. */
static const char *file_of(const char *address)
{
    return strncmp(address, FILE_MARK "/", strlen(FILE_MARK "/")) == 0 ? address + strlen(FILE_MARK)
                                                                       : NULL;
}

static bool is_host(const char *address)
{
    bool url = strncmp(address, "http://", 7) == 0 || strncmp(address, "https://", 8) == 0;
    return url || (strstr(address, "://") == NULL && strchr(address, ':') != NULL);
}

static bool is_place(const char *address)
{
    return address[0] == '/' ||
           (name_of(address) == NULL && file_of(address) == NULL && is_host(address));
}

static void ask(struct listed_instance *instance)
{
    char base[SERVICE_URL_SIZE];
    char url[SERVICE_URL_SIZE + sizeof("/about")];
    char address[ADDRESS_SIZE];
    struct error error;
    struct service_list *list = instance->service->list;
    const char *const headers[] = {list->authorization, NULL};
    struct http_request request = {.method = "GET",
                                   .url = url,
                                   .headers = list->authorization[0] != '\0' ? headers : NULL,
                                   .address = instance->ip[0] != '\0' ? instance->ip : NULL,
                                   .timeout_ms = SERVICE_LIST_TIMEOUT_MS};
    write_address(instance, address);
    if (!is_place(instance->place)) {
        instance->found = failed(address, "must be " EXPECTED_PLACE);
        return;
    }
    if (service_address_url(instance->place, base, &error) != ERROR_OK) {
        instance->found =
            failed(address, "it does not run: there is no http.url in that directory");
        return;
    }
    snprintf(url, sizeof(url), "%s/about", base);
    instance->asked_ms = clock_wall_ms(list->clock);
    if (http_client_send(list->client, &request, on_answer, instance, &error) == ERROR_OK)
        list->outstanding++;
    else
        instance->found = failed(address, error.message);
}

/* `count` instances at `place`. */
static void expect(struct listed_service *service, const char *place, size_t count)
{
    service->count = count;
    service->found = calloc(count + 1, sizeof(*service->found));
    assert(service->found != NULL);
    for (size_t i = 0; i < count; i++) {
        service->found[i].service = service;
        service->found[i].place = place;
    }
}

static void ask_all(struct listed_service *service)
{
    for (size_t i = 0; i < service->count; i++)
        ask(&service->found[i]);
}

/* ---- files ---- */

/* Empty lines count for nothing. Returns how many others there are, and ends each with a NUL. */
static size_t take_lines(char *content, const char *ret_lines[SERVICE_LIST_MAX])
{
    size_t count = 0;
    for (char *line = content, *end; *line != '\0'; line = end) {
        end = line + strcspn(line, "\n");
        if (*end != '\0')
            *end++ = '\0';
        if (*line != '\0' && count++ < SERVICE_LIST_MAX)
            ret_lines[count - 1] = line;
    }
    return count;
}

static void ask_listed(struct listed_service *service, const char *path)
{
    const char *lines[SERVICE_LIST_MAX];
    char message[ERROR_MESSAGE_SIZE];
    size_t size;
    struct error error;
    if (files_read(path, FILE_BYTES_MAX, &service->content, &size, &error) != ERROR_OK) {
        service->failure = failed(service->address, error.message);
        return;
    }
    size_t count = take_lines(service->content, lines);
    if (count > SERVICE_LIST_MAX) {
        snprintf(message, sizeof(message), "it names %zu services; the limit is %d", count,
                 SERVICE_LIST_MAX);
        service->failure = failed(service->address, message);
        return;
    }
    expect(service, NULL, count);
    for (size_t i = 0; i < count; i++)
        service->found[i].place = lines[i];
    ask_all(service);
}

/* ---- names ---- */

static void ask_found(struct listed_service *service, const struct name_addresses *addresses)
{
    expect(service, name_of(service->address), addresses->count);
    for (size_t i = 0; i < service->count; i++)
        memcpy(service->found[i].ip, addresses->texts[i], sizeof(service->found[i].ip));
    ask_all(service);
}

/* The round no longer waits for the lookup; true: that was the last thing it waited for. */
static bool await_no_more(struct listed_service *service, const char *problem)
{
    char message[ERROR_MESSAGE_SIZE];
    assert(service->awaits && service->list->outstanding > 0);
    service->awaits = false;
    if (problem[0] != '\0') {
        snprintf(message, sizeof(message), "the name has no address: %s", problem);
        service->failure = failed(service->address, message);
    }
    return --service->list->outstanding == 0;
}

static void on_addresses(const struct name_addresses *addresses, void *userdata)
{
    struct listed_service *service = userdata;
    service->lookup = NULL;
    if (!service->awaits)
        return; /* too late; the next round asks again */
    if (addresses->count > 0)
        ask_found(service, addresses);
    if (await_no_more(service, addresses->problem))
        end_round(service->list);
}

static void on_timeout(void *ctx)
{
    struct service_list *list = ctx;
    bool ended = false;
    for (size_t i = 0; i < list->count; i++)
        if (list->services[i].awaits)
            ended = await_no_more(&list->services[i], "the name server does not answer");
    if (ended)
        end_round(list);
}

static void look_up(struct listed_service *service, const char *name)
{
    char host[SERVICE_URL_SIZE];
    struct error error;
    const char *scheme = strstr(name, "://");
    const char *begin = scheme != NULL ? scheme + strlen("://") : name;
    snprintf(host, sizeof(host), "%.*s", (int)strcspn(begin, ":/"), begin);
    if (service->lookup == NULL && name_lookup_new(service->list->loop, host, on_addresses, service,
                                                   &service->lookup, &error) != ERROR_OK) {
        service->failure = failed(service->address, error.message);
        return;
    }
    service->awaits = true;
    service->list->outstanding++;
}

static void begin_service(struct listed_service *service)
{
    const char *name = name_of(service->address), *file = file_of(service->address);
    if (name != NULL) {
        look_up(service, name);
    } else if (file != NULL) {
        ask_listed(service, file);
    } else {
        expect(service, service->address, 1);
        ask_all(service);
    }
}

void service_list_serve(struct service_list *list, struct http_exchange *exchange)
{
    if (!http_pendings_admit(&list->waiting, exchange))
        return;
    struct http_pending *waiting = calloc(1, sizeof(*waiting));
    assert(waiting != NULL);
    http_pending_begin(&list->waiting, waiting, exchange, 0);
    if (list->outstanding > 0)
        return;
    for (size_t i = 0; i < list->count; i++)
        begin_service(&list->services[i]);
    if (list->outstanding == 0)
        end_round(list);
    else
        loop_timer_after(list->loop, &list->timer, SERVICE_LIST_LOOKUP_MS);
}

/* ---- life ---- */

static enum error_class check_address(const char *address, struct error *ret_error)
{
    const char *name = name_of(address);
    if (name != NULL ? is_host(name) : file_of(address) != NULL || is_place(address))
        return ERROR_OK;
    return error_set(ret_error, CODE_CONFIG,
                     "console.services: \"%.200s\" must be " EXPECTED_PLACE
                     ", HOST:PORT or a base URL after \"" NAME_MARK "\" for all addresses of the "
                     "name, or the absolute path of a file of addresses after \"" FILE_MARK "\"",
                     address);
}

/* With which credentials the console asks. */
static enum error_class open_client(struct service_list *list, const struct config *config,
                                    struct error *ret_error)
{
    struct service_credentials credentials;
    if (service_credentials_read(config, "console.services", &credentials, ret_error) != ERROR_OK)
        return ERROR_REJECT;
    service_credentials_header(&credentials, list->authorization);
    const struct http_client_options options = {.response_max = ANSWER_MAX,
                                                .close_idle = true,
                                                .ca_file = credentials.ca_file,
                                                .cert_file = credentials.cert_file,
                                                .key_file = credentials.key_file};
    return http_client_new(list->loop, &options, &list->client, ret_error);
}

enum error_class service_list_new(struct loop *loop, const struct clock *clock,
                                  const struct config *config, struct service_list **ret_list,
                                  struct error *ret_error)
{
    const char *const *addresses = NULL;
    size_t count = config_list(config, "console.services", &addresses);
    if (count > SERVICE_LIST_MAX)
        return error_set(ret_error, CODE_CONFIG,
                         "console.services names %zu services; the limit is %d", count,
                         SERVICE_LIST_MAX);
    for (size_t i = 0; i < count; i++)
        if (check_address(addresses[i], ret_error) != ERROR_OK)
            return ERROR_REJECT;
    struct service_list *list = calloc(1, sizeof(*list));
    assert(list != NULL);
    list->loop = loop;
    list->clock = clock;
    http_pendings_init(&list->waiting, &waiting_kind, loop, NULL, NULL);
    loop_timer_init(&list->timer, on_timeout, list);
    enum error_class class = open_client(list, config, ret_error);
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

static void forget_service(struct listed_service *service)
{
    name_lookup_cancel(service->lookup);
    json_decref(service->failure);
    for (size_t i = 0; i < service->count; i++)
        json_decref(service->found[i].found);
    free(service->found);
    free(service->content);
}

void service_list_free(struct service_list *list)
{
    if (list == NULL)
        return;
    http_client_free(list->client); /* cancels the calls */
    http_pendings_deinit(&list->waiting);
    loop_timer_cancel(list->loop, &list->timer);
    for (size_t i = 0; i < list->count; i++)
        forget_service(&list->services[i]);
    free(list->services);
    free(list);
}
