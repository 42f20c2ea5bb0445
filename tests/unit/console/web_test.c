/* SPDX-License-Identifier: Apache-2.0 */
/* The pages' files as a browser gets them. */
#include "base/text.h"
#include "services/console/routes.h"
#include "services/console/web/assets.h"
#include "services/console/web/web.h"
#include "services/services.h"
#include "tests/unit/platform/http_server_kit.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void open_pages(void)
{
    http_kit_open();
    web_add_routes(http_kit_server);
}

TestSuite(console_web, .init = open_pages, .fini = http_kit_close);

static const struct asset *asset_of(const char *name)
{
    for (uint32_t i = 0; i < asset_count; i++)
        if (strcmp(assets[i].name, name) == 0)
            return &assets[i];
    cr_assert_fail("no asset %s", name);
    return NULL;
}

/* "METHOD PATH" with further header lines. The connection closes after the answer, which may hold
 * zeros. */
static const char *ask(const char *what, const char *headers)
{
    char request[1024];
    snprintf(request, sizeof(request),
             "%s HTTP/1.1\r\n" HTTP_KIT_HOST "Connection: close\r\n%s\r\n", what, headers);
    return http_kit_ask(request);
}

static void expect(const char *text)
{
    cr_assert(strstr(http_kit_answer, text) != NULL, "no \"%s\" in:\n%.600s", text,
              http_kit_answer);
}

static void expect_none(const char *text)
{
    cr_assert(strstr(http_kit_answer, text) == NULL, "\"%s\" in:\n%.600s", text, http_kit_answer);
}

Test(console_web, stays_within_its_size)
{
    uint32_t bytes = 0;
    for (uint32_t i = 0; i < asset_count; i++)
        bytes += assets[i].plain_size;
    cr_assert_gt(bytes, 0);
    cr_assert_lt(bytes, ASSETS_BYTES_MAX, "the pages' files have %u bytes together", bytes);
}

Test(console_web, serves_the_description_of_the_api)
{
    const char *answer = ask("GET /api/openapi.yaml", "");
    cr_assert(http_kit_starts(answer, "HTTP/1.1 200"), "%.100s", answer);
    expect("Content-Type: application/yaml");
    expect("openapi: 3.1.0");
    char header[80];
    snprintf(header, sizeof(header), "If-None-Match: \"%s\"\r\n", descriptions[0].tag);
    cr_assert(http_kit_starts(ask("GET /api/openapi.yaml", header), "HTTP/1.1 304"));
    cr_assert(http_kit_starts(ask("POST /api/openapi.yaml", ""), "HTTP/1.1 405"));
}

Test(console_web, lists_each_route_with_what_it_takes)
{
    char line[256];
    http_server_routes(http_kit_server, &console_api_routes, NULL);
    cr_assert(http_kit_starts(ask("GET /api", ""), "HTTP/1.1 200"), "%.100s", http_kit_answer);
    for (size_t t = 0; console_routes[t] != NULL; t++) {
        for (size_t i = 0; i < console_routes[t]->count; i++) {
            const struct http_route *route = &console_routes[t]->rows[i];
            snprintf(line, sizeof(line), "\n%-4s %s ", route->method, route->pattern);
            expect(line);
            expect(route->summary);
            for (size_t n = 0; route->query != NULL && route->query[n] != NULL; n++) {
                snprintf(line, sizeof(line), " %s=", route->query[n]);
                expect(line);
            }
            for (size_t n = 0; route->body != NULL && route->body[n] != NULL; n++) {
                snprintf(line, sizeof(line), "\"%s\"", route->body[n]);
                expect(line);
            }
        }
    }
}

Test(console_web, answers_every_page_with_the_same_file)
{
    static const char *const pages[] = {"/",           "/orders",    "/orders/a%2Fb",
                                        "/recovery",   "/workflows", "/orders?state=Error",
                                        "/partitions", "/schedules", "/agents",
                                        "/health"};
    const struct asset *index = asset_of("index.html");
    for (size_t i = 0; i < sizeof(pages) / sizeof(pages[0]); i++) {
        char what[128];
        snprintf(what, sizeof(what), "GET %s", pages[i]);
        const char *answer = ask(what, "");
        cr_assert(http_kit_starts(answer, "HTTP/1.1 200"), "%s: %.100s", pages[i], answer);
        cr_assert(strncmp(http_kit_body(answer), (const char *)index->plain, index->plain_size) ==
                      0,
                  "%s", pages[i]);
    }
    expect("Content-Type: text/html; charset=utf-8\r\n");
    cr_assert(http_kit_starts(ask("GET /orders/a/b", ""), "HTTP/1.1 404"));
    cr_assert(http_kit_starts(ask("GET /nothing", ""), "HTTP/1.1 404"));
    cr_assert(http_kit_starts(ask("GET /assets/nothing.js", ""), "HTTP/1.1 404"));
    cr_assert(http_kit_starts(ask("GET /assets/..%2Findex.html", ""), "HTTP/1.1 404"));
    cr_assert(http_kit_starts(ask("POST /orders", "Content-Length: 0\r\n"), "HTTP/1.1 405"));
}

Test(console_web, answers_browsers_with_a_page_where_there_is_none)
{
    static const char *const paths[] = {"GET /nothing", "GET /orders/a/b", "GET /api/nothing"};
    const struct asset *index = asset_of("index.html");
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        const char *answer = ask(paths[i], "Accept: text/html,application/xhtml+xml;q=0.9\r\n");
        cr_assert(http_kit_starts(answer, "HTTP/1.1 404"), "%s: %.100s", paths[i], answer);
        cr_assert(strncmp(http_kit_body(answer), (const char *)index->plain, index->plain_size) ==
                  0);
        expect("Content-Security-Policy: default-src 'self';");
        ask(paths[i], "Accept: application/json\r\n");
        expect("HTTP/1.1 404");
        expect("\"code\":\"NotFound\"");
    }
    ask("POST /nothing", "Accept: text/html\r\nContent-Length: 0\r\n");
    expect("\"code\":\"NotFound\"");
}

Test(console_web, forbids_other_hosts_frames_and_inline_scripts)
{
    static const char *const paths[] = {"GET /", "GET /assets/app.js"};
    for (size_t i = 0; i < 2; i++) {
        ask(paths[i], "");
        expect("Content-Security-Policy: default-src 'self';");
        expect("frame-ancestors 'none'");
        expect("X-Content-Type-Options: nosniff\r\n");
        expect("X-Frame-Options: DENY\r\n");
        expect("Cache-Control: no-cache\r\n");
    }
}

Test(console_web, compresses_for_clients_that_accept_it)
{
    static const char *const accepted[] = {"gzip", "br, GZIP", "gzip;q=0.5, br", "gzip; q=1"};
    static const char *const refused[] = {"", "br", "gzip;q=0", "gzip;q=0.000", "gzipped-not"};
    const struct asset *script = asset_of("app.js");
    char header[80], length[64];
    for (size_t i = 0; i < sizeof(accepted) / sizeof(accepted[0]); i++) {
        snprintf(header, sizeof(header), "Accept-Encoding: %s\r\n", accepted[i]);
        ask("GET /assets/app.js", header);
        expect("Content-Encoding: gzip\r\n");
        snprintf(length, sizeof(length), "Content-Length: %u\r\n", script->gzip_size);
        expect(length);
        cr_assert(memcmp(http_kit_body(http_kit_answer), script->gzip, 4) == 0);
    }
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        snprintf(header, sizeof(header), "Accept-Encoding: %s\r\n", refused[i]);
        ask("GET /assets/app.js", header);
        expect_none("Content-Encoding");
        expect("Vary: Accept-Encoding\r\n");
        snprintf(length, sizeof(length), "Content-Length: %u\r\n", script->plain_size);
        expect(length);
    }
}

Test(console_web, answers_not_modified_for_a_known_tag)
{
    char header[256], tag[64];
    ask("GET /assets/app.js", "");
    const char *at = strstr(http_kit_answer, "ETag: ");
    cr_assert(at != NULL);
    snprintf(tag, sizeof(tag), "%.*s", (int)strcspn(at + 6, "\r"), at + 6);
    for (size_t i = 0; i < 3; i++) {
        static const char *const before[] = {"", "\"x\", ", "W/"};
        snprintf(header, sizeof(header), "If-None-Match: %s%s\r\n", before[i], tag);
        cr_assert(http_kit_starts(ask("GET /assets/app.js", header), "HTTP/1.1 304"), "%s: %.200s",
                  before[i], http_kit_answer);
        expect(tag);
        cr_assert_str_eq(http_kit_body(http_kit_answer), "");
    }
    ask("GET /assets/app.js", "If-None-Match: *\r\n");
    cr_assert(http_kit_starts(http_kit_answer, "HTTP/1.1 304"));
    snprintf(header, sizeof(header), "If-None-Match: \"x\", x%s\r\n", tag);
    cr_assert(http_kit_starts(ask("GET /assets/app.js", header), "HTTP/1.1 200"));
    /* The compressed form is another one. */
    snprintf(header, sizeof(header), "Accept-Encoding: gzip\r\nIf-None-Match: %s\r\n", tag);
    cr_assert(http_kit_starts(ask("GET /assets/app.js", header), "HTTP/1.1 200"));
}

Test(console_web, answers_head_without_a_body)
{
    char length[64];
    int fd = http_kit_dial();
    struct http_kit_peer peer = {.fd = fd};
    http_kit_send_text(fd, "HEAD / HTTP/1.1\r\n" HTTP_KIT_HOST "Connection: close\r\n\r\n");
    while (!peer.closed) {
        http_kit_answered(&peer);
        loop_once(http_kit_loop, 10);
    }
    close(fd);
    cr_assert(http_kit_starts(http_kit_answer, "HTTP/1.1 200"), "%.100s", http_kit_answer);
    snprintf(length, sizeof(length), "Content-Length: %u\r\n", asset_of("index.html")->plain_size);
    expect(length);
    cr_assert_str_eq(http_kit_body(http_kit_answer), "");
}
