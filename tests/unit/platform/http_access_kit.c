/* SPDX-License-Identifier: Apache-2.0 */
/* See http_access_kit.h. */
#include "tests/unit/platform/http_access_kit.h"
#include "tests/lib/http_route.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NOW = 1291191960 };

static char folder[] = "/tmp/reeve-access-XXXXXX";
char access_kit_path[ACCESS_KIT_PATH_SIZE];
char access_kit_tokens[HTTP_ROLE_COUNT][HTTP_TOKEN_SIZE];
struct http_access *access_kit_access;
struct http_stream *access_kit_stream;
bool access_kit_stream_closed;

static void answer(struct http_exchange *exchange, void *userdata)
{
    char text[HTTP_USER_MAX + 16];
    (void)userdata;
    snprintf(text, sizeof(text), "hello %s%s", http_user(exchange),
             http_may(exchange, HTTP_CALL_BACK) ? ", call back" : "");
    http_respond(exchange, 200, "text/plain", text_of(text));
}

static void on_closed(void *ctx)
{
    (void)ctx;
    access_kit_stream_closed = true;
    access_kit_stream = NULL;
}

static void begin_stream(struct http_exchange *exchange, void *userdata)
{
    (void)userdata;
    access_kit_stream = http_respond_stream(exchange, "text/event-stream", on_closed, NULL);
}

/* One path for each permission. */
static void add_routes(void)
{
    static const char *const paths[HTTP_PERMISSION_COUNT] = {[HTTP_OPEN] = "/open",
                                                             [HTTP_VIEW] = "/view",
                                                             [HTTP_OPERATE] = "/operate",
                                                             [HTTP_SUBMIT] = "/submit",
                                                             [HTTP_CALL_BACK] = "/call-back"};
    for (int i = HTTP_OPEN; i < HTTP_PERMISSION_COUNT; i++)
        add_route(http_kit_server, i > HTTP_VIEW ? "POST" : "GET", paths[i],
                  (enum http_permission)i, 0, answer, NULL);
    add_route(http_kit_server, "POST", "/open-post", HTTP_OPEN, 0, answer, NULL);
    add_route(http_kit_server, "GET", "/stream", HTTP_VIEW, 0, begin_stream, NULL);
    http_server_routes(http_kit_server, &http_session_routes, NULL);
}

void access_kit_listen(struct http_access_options options)
{
    struct error error = {0};
    struct http_access *before = access_kit_access;
    options.token_file = access_kit_path;
    options.user_header = "X-Forwarded-User";
    struct metrics *metrics = metrics_new();
    cr_assert(http_access_new(http_kit_loop, metrics, &options, &access_kit_access, &error) ==
                  ERROR_OK,
              "%s", error.message);
    http_kit_listen((struct http_server_options){.access = access_kit_access, .metrics = metrics});
    http_access_free(before);
    add_routes();
}

void access_kit_add_token(const char *name, enum http_role role, int64_t expires_ms,
                          char ret_token[HTTP_TOKEN_SIZE])
{
    struct error error = {0};
    cr_assert(http_tokens_add(access_kit_path, text_of(name), role, NOW * INT64_C(1000), expires_ms,
                              ret_token, &error) == ERROR_OK,
              "%s", error.message);
}

void access_kit_open(void)
{
    cr_assert(mkdtemp(folder) != NULL);
    snprintf(access_kit_path, sizeof(access_kit_path), "%s/tokens", folder);
    for (int i = 0; i < HTTP_ROLE_COUNT; i++)
        access_kit_add_token(http_role_name((enum http_role)i), (enum http_role)i, 0,
                             access_kit_tokens[i]);
    http_kit_open();
    access_kit_listen((struct http_access_options){.authenticates = true});
}

void access_kit_close(void)
{
    http_server_free(http_kit_server);
    http_kit_server = NULL;
    http_access_free(access_kit_access);
    http_kit_close();
    unlink(access_kit_path);
    rmdir(folder);
}

int access_kit_ask(const char *method, const char *target, const char *head)
{
    char request[ACCESS_KIT_REQUEST_SIZE];
    snprintf(request, sizeof(request),
             "%s %s HTTP/1.1\r\n" HTTP_KIT_HOST "%sConnection: close\r\n%s\r\n", method, target,
             head, strcmp(method, "POST") == 0 ? "Content-Length: 0\r\n" : "");
    return (int)strtol(http_kit_ask(request) + strlen("HTTP/1.1 "), NULL, 10);
}

int access_kit_ask_as(const char *method, const char *target, const char *token)
{
    char head[ACCESS_KIT_REQUEST_SIZE / 2];
    snprintf(head, sizeof(head), "Authorization: Bearer %s\r\n", token);
    return access_kit_ask(method, target, head);
}

void access_kit_send_as(int fd, const char *target, const char *token)
{
    char request[ACCESS_KIT_REQUEST_SIZE];
    snprintf(request, sizeof(request),
             "GET %s HTTP/1.1\r\n" HTTP_KIT_HOST "Authorization: Bearer %s\r\n\r\n", target, token);
    http_kit_send_text(fd, request);
}

void access_kit_log_in(const char *token, const char *head)
{
    char request[ACCESS_KIT_REQUEST_SIZE];
    char body[128];
    int size = snprintf(body, sizeof(body), "{\"token\": \"%s\"}", token);
    snprintf(request, sizeof(request),
             "POST /api/session HTTP/1.1\r\n" HTTP_KIT_HOST "%sX-Reeve-Request: 1\r\n"
             "Content-Type: application/json; charset=utf-8\r\nContent-Length: %d\r\n\r\n%s",
             head, size, body);
    http_kit_ask(request);
}
