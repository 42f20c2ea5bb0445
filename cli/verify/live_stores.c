/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/verify/live_stores.h"

#include "replica/service/address.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ANSWER_SECONDS = 120 };

struct verify_reading {
    struct verify_live *live;
    struct service_credentials credentials;
    uint32_t answered;
};

/* If the service were passed over, its stores would seem to equal the log. */
static enum error_class refused(const struct service_url *url, const char *token,
                                const struct http_reply *reply, struct error *ret_error)
{
    json_t *json = json_loadb(reply->body, reply->size, 0, NULL);
    const char *why = json_string_value(json_object_get(json, "detail"));
    if (reply->status == 401 && token[0] == '\0')
        why = url->is_own ? "set console.token.file"
                          : "its data directory belongs to another user, so it gets no token: run "
                            "this command as that user";
    error_set(ret_error, CODE_NOT_PERMITTED,
              "%s/stores answers %d: %.200s; see docs/operate/access.md", url->text, reply->status,
              why != NULL ? why : "it gives no reason");
    json_decref(json);
    return ERROR_REJECT;
}

/* *ret_json: the parsed answer, new, or NULL: the service has stopped, or has no stores. */
static enum error_class get_stores(const struct verify_reading *reading,
                                   const struct service_url *url, json_t **ret_json,
                                   struct error *ret_error)
{
    char text[SERVICE_URL_SIZE + 16];
    struct http_reply reply;
    struct service_credentials credentials = reading->credentials;
    if (!url->is_own || credentials.token == NULL)
        credentials.token = "";
    snprintf(text, sizeof(text), "%s/stores", url->text);
    *ret_json = NULL;
    enum error_class class = http_call(&credentials, text, NULL, ANSWER_SECONDS, &reply, ret_error);
    if (class == ERROR_RETRY)
        return ERROR_OK;
    if (class != ERROR_OK)
        return class;
    if (reply.status == 401 || reply.status == 403 || reply.status == 429)
        class = refused(url, credentials.token, &reply, ret_error);
    else if (reply.status == 200)
        *ret_json = json_loadb(reply.body, reply.size, 0, NULL);
    http_reply_deinit(&reply);
    return class;
}

static void add_store(struct verify_live *live, const char *service, bool deadlines,
                      const json_t *row)
{
    const char *digest = json_string_value(json_object_get(row, "digest"));
    if (digest == NULL)
        return;
    live->stores = realloc(live->stores, (live->count + 1) * sizeof(live->stores[0]));
    assert(live->stores != NULL);
    struct verify_live_store *store = &live->stores[live->count++];
    *store = (struct verify_live_store){
        .partition = (int32_t)json_integer_value(json_object_get(row, "partition")),
        .deadlines = deadlines,
        .next_event_offset = json_integer_value(json_object_get(row, "next_event_offset")),
        .orders = (uint64_t)json_integer_value(json_object_get(row, "orders"))};
    snprintf(store->service, sizeof(store->service), "%s", service);
    snprintf(store->digest, sizeof(store->digest), "%s", digest);
}

static void add_stores(struct verify_live *live, const char *url, const json_t *json)
{
    char service[VERIFY_SERVICE_SIZE];
    size_t i;
    json_t *row;
    const char *name = json_string_value(json_object_get(json, "service"));
    const char *instance = json_string_value(json_object_get(json, "instance"));
    bool deadlines = json_is_true(json_object_get(json, "deadlines"));
    snprintf(service, sizeof(service), "%.40s %.110s", name != NULL ? name : "service",
             instance != NULL ? instance : url);
    json_array_foreach(json_object_get(json, "partitions"), i, row)
        add_store(live, service, deadlines, row);
}

static enum error_class read_service(struct verify_reading *reading, const char *directory,
                                     struct error *ret_error)
{
    struct service_url url;
    json_t *json = NULL;
    if (!service_url_read(directory, &url))
        return ERROR_OK;
    enum error_class class = get_stores(reading, &url, &json, ret_error);
    if (json != NULL) {
        add_stores(reading->live, url.text, json);
        reading->answered++;
    }
    json_decref(json);
    return class;
}

static int by_service_and_partition(const void *a, const void *b)
{
    const struct verify_live_store *left = a;
    const struct verify_live_store *right = b;
    int order = strcmp(left->service, right->service);
    return order != 0 ? order
                      : (left->partition > right->partition) - (left->partition < right->partition);
}

enum error_class verify_live_read(const char *directory,
                                  const struct service_credentials *credentials,
                                  struct verify_live *live, struct error *ret_error)
{
    char path[PATH_MAX];
    struct verify_reading reading = {.live = live, .credentials = *credentials};
    DIR *dir = opendir(directory);
    if (dir == NULL)
        return error_set_as(ret_error, ERROR_REJECT, CODE_NO_DIRECTORY, "cannot read %s: %s",
                            directory, strerror(errno));
    enum error_class class = read_service(&reading, directory, ret_error);
    for (struct dirent *entry = readdir(dir); entry != NULL && class == ERROR_OK;
         entry = readdir(dir)) {
        if (entry->d_name[0] == '.')
            continue;
        int size = snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);
        if (size > 0 && size < (int)sizeof(path))
            class = read_service(&reading, path, ret_error);
    }
    closedir(dir);
    if (class != ERROR_OK)
        return class;
    if (live->count > 0)
        qsort(live->stores, live->count, sizeof(live->stores[0]), by_service_and_partition);
    if (reading.answered == 0)
        return error_set(
            ret_error, CODE_NO_SERVICE,
            "no service with stores answers: start the services whose data directories "
            "are %s or in it",
            directory);
    return ERROR_OK;
}

void verify_live_free(struct verify_live *live)
{
    free(live->stores);
    *live = (struct verify_live){0};
}
