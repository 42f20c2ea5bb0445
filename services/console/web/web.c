/* SPDX-License-Identifier: Apache-2.0 */
/* All pages are one file, index.html, which shows what the path and the query ask for. Everything
 * comes from this server: the Content-Security-Policy forbids other hosts and inline scripts. The
 * description of the API is a file as well. */
#include "services/console/web/web.h"

#include "base/text.h"
#include "services/console/web/assets.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { TAG_SIZE = 40 };

static const char index_name[] = "index.html";

static const struct asset *find_asset(const char *name)
{
    for (uint32_t i = 0; i < asset_count; i++)
        if (strcmp(assets[i].name, name) == 0)
            return &assets[i];
    return NULL;
}

/* The next item of a header's list, without the spaces around it; advances *at. */
static struct text next_item(const char **at)
{
    *at += strspn(*at, ", \t");
    struct text item = {*at, (uint32_t)strcspn(*at, ",")};
    *at += item.size;
    while (item.size > 0 && isspace((unsigned char)item.data[item.size - 1]))
        item.size--;
    return item;
}

/* "gzip", "gzip;q=0.5", but not "gzip;q=0" or "gzip;q=0.000". */
static bool accepts_gzip(const struct http_exchange *exchange)
{
    const char *at = http_header(exchange, "Accept-Encoding");
    while (at != NULL && *at != '\0') {
        struct text item = next_item(&at);
        if (item.size < 4 || strncasecmp(item.data, "gzip", 4) != 0)
            continue;
        if (item.size == 4)
            return true;
        uint32_t place = 4;
        while (place < item.size && strchr("; \tqQ=0.", item.data[place]) != NULL)
            place++;
        return place < item.size && item.data[place] >= '1' && item.data[place] <= '9';
    }
    return false;
}

/* If-None-Match: "*", or a list of tags, which may be marked as weak. */
static bool is_known(const struct http_exchange *exchange, const char *tag)
{
    const char *at = http_header(exchange, "If-None-Match");
    while (at != NULL && *at != '\0') {
        struct text item = next_item(&at);
        if (text_equal(item, TEXT("*")))
            return true;
        if (item.size > 2 && memcmp(item.data, "W/", 2) == 0)
            item = text_from(item, 2);
        if (text_equal(item, text_of(tag)))
            return true;
    }
    return false;
}

static void respond_asset(struct http_exchange *exchange, int status, const struct asset *asset)
{
    char tag[TAG_SIZE];
    bool gzip = accepts_gzip(exchange);
    struct text body = gzip ? (struct text){(const char *)asset->gzip, asset->gzip_size}
                            : (struct text){(const char *)asset->plain, asset->plain_size};
    /* The two forms are different bytes. */
    snprintf(tag, sizeof(tag), "\"%.32s%s\"", asset->tag, gzip ? "-gzip" : "");
    http_set_header(exchange, "ETag", tag);
    http_set_header(exchange, "Vary", "Accept-Encoding");
    http_set_header(exchange, "Cache-Control", "no-cache");
    if (status == 200 && is_known(exchange, tag)) {
        http_respond(exchange, 304, NULL, TEXT(""));
        return;
    }
    if (gzip)
        http_set_header(exchange, "Content-Encoding", "gzip");
    http_respond(exchange, status, asset->content_type, body);
}

static void serve_page(struct http_exchange *exchange, void *userdata)
{
    (void)userdata;
    const struct asset *asset = find_asset(index_name);
    assert(asset != NULL); /* a test proves it */
    respond_asset(exchange, 200, asset);
}

static void serve_asset(struct http_exchange *exchange, void *userdata)
{
    (void)userdata;
    const struct asset *asset = find_asset(http_param(exchange, "name"));
    if (asset != NULL)
        respond_asset(exchange, 200, asset);
    else
        http_respond_error(exchange, 404, CODE_NOT_FOUND, "no such path");
}

static void serve_description(struct http_exchange *exchange, void *userdata)
{
    (void)userdata;
    respond_asset(exchange, 200, &descriptions[0]);
}

/* A browser gets the pages, which say that there is no such page; a program gets JSON. */
static void serve_missing(struct http_exchange *exchange, void *userdata)
{
    (void)userdata;
    const char *accept = http_header(exchange, "Accept");
    const struct asset *asset = find_asset(index_name);
    assert(asset != NULL); /* a test proves it */
    if (accept != NULL && strcasestr(accept, "text/html") != NULL)
        respond_asset(exchange, 404, asset);
    else
        http_respond_error(exchange, 404, CODE_NOT_FOUND, "no such path");
}

/* Everyone may load them: the data come from the API. The scripts read the parameters of pages. */
#define FILE_ROW(path, names, function, text)                                               \
    {                                                                                       \
        .method = "GET", .pattern = (path), .permission = HTTP_OPEN, .handler = (function), \
        .query = (names), .summary = (text)                                                 \
    }
#define PAGE_ROW(path, name) FILE_ROW(path, NULL, serve_page, "the page " name ", for browsers")

static const struct http_route rows[] = {
    FILE_ROW("/api/openapi.yaml", HTTP_NO_NAMES, serve_description,
             "this API as an OpenAPI description"),
    PAGE_ROW("/", "Overview"),
    PAGE_ROW("/orders", "Orders"),
    PAGE_ROW("/orders/{id}", "of an order"),
    PAGE_ROW("/recovery", "Recovery"),
    PAGE_ROW("/partitions", "Partitions"),
    PAGE_ROW("/workflows", "Workflows"),
    PAGE_ROW("/schedules", "Schedules"),
    PAGE_ROW("/agents", "Agents"),
    PAGE_ROW("/health", "Health"),
    FILE_ROW("/assets/{name}", NULL, serve_asset, "what the pages consist of"),
};
const struct http_routes web_routes = HTTP_ROUTES(rows);

void web_add_routes(struct http_server *server)
{
    http_server_routes(server, &web_routes, NULL);
    http_server_routes(server, &http_session_routes, NULL);
    http_server_missing(server, serve_missing, NULL);
}
