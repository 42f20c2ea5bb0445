/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/verify/live_stores.h"

#include "cli/http_call.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ANSWER_SECONDS = 120 };

/* The parsed answer, new, or NULL. */
static json_t *get_json(const char *url)
{
    struct error error;
    struct http_reply reply;
    if (http_call(url, NULL, ANSWER_SECONDS, &reply, &error) != ERROR_OK)
        return NULL;
    json_t *json = reply.status == 200 ? json_loadb(reply.body, reply.size, 0, NULL) : NULL;
    http_reply_deinit(&reply);
    return json;
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

static bool read_service(struct verify_live *live, const char *port_file)
{
    int port = 0;
    char url[64];
    char service[VERIFY_SERVICE_SIZE];
    FILE *file = fopen(port_file, "re");
    if (file == NULL)
        return false;
    int read = fscanf(file, "%d", &port);
    fclose(file);
    if (read != 1 || port <= 0 || port > 65535)
        return false;
    snprintf(url, sizeof(url), "http://127.0.0.1:%d/stores", port);
    json_t *json = get_json(url);
    if (json == NULL)
        return false;
    const char *name = json_string_value(json_object_get(json, "service"));
    const char *instance = json_string_value(json_object_get(json, "instance"));
    snprintf(service, sizeof(service), "%s %s", name != NULL ? name : "service",
             instance != NULL ? instance : url);
    bool deadlines = json_is_true(json_object_get(json, "deadlines"));
    size_t i;
    json_t *row;
    json_array_foreach(json_object_get(json, "partitions"), i, row)
        add_store(live, service, deadlines, row);
    json_decref(json);
    return true;
}

static int by_service_and_partition(const void *a, const void *b)
{
    const struct verify_live_store *left = a;
    const struct verify_live_store *right = b;
    int order = strcmp(left->service, right->service);
    return order != 0 ? order
                      : (left->partition > right->partition) - (left->partition < right->partition);
}

enum error_class verify_live_read(const char *directory, struct verify_live *live,
                                  struct error *ret_error)
{
    char path[PATH_MAX];
    uint32_t answered = 0;
    DIR *dir = opendir(directory);
    if (dir == NULL)
        return error_set(ret_error, ERROR_REJECT, "NoDirectory", "cannot read %s: %s", directory,
                         strerror(errno));
    snprintf(path, sizeof(path), "%s/http.port", directory);
    answered += read_service(live, path);
    for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        if (entry->d_name[0] == '.')
            continue;
        int size = snprintf(path, sizeof(path), "%s/%s/http.port", directory, entry->d_name);
        if (size > 0 && size < (int)sizeof(path))
            answered += read_service(live, path);
    }
    closedir(dir);
    if (live->count > 0)
        qsort(live->stores, live->count, sizeof(live->stores[0]), by_service_and_partition);
    if (answered == 0)
        return error_set(
            ret_error, ERROR_RETRY, "NoService",
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
