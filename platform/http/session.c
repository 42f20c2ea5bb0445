/* SPDX-License-Identifier: Apache-2.0 */
/* Logins of browsers: the token becomes a cookie that scripts cannot read and other sites' pages
 * cannot send. The server keeps nothing, so a login outlives restarts, counts on every instance,
 * and ends when the token is revoked. */
#include "platform/http/access_internal.h"
#include "platform/http/internal.h"

#include <assert.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COOKIE_SECONDS = 12 * 3600, COOKIE_SIZE = 512, BODY_MAX = 1024 };

#define SESSION_PATH "/api/session"

struct text http_session_token(const struct http_exchange *exchange)
{
    static const char name[] = HTTP_COOKIE_NAME "=";
    const char *at = http_header(exchange, "Cookie");
    while (at != NULL && *at != '\0') {
        at += strspn(at, "; ");
        size_t size = strcspn(at, ";");
        if (size >= sizeof(name) - 1 && memcmp(at, name, sizeof(name) - 1) == 0)
            return (struct text){at + sizeof(name) - 1, (uint32_t)(size - (sizeof(name) - 1))};
        at += size;
    }
    return TEXT("");
}

static bool over_tls(const struct http_exchange *exchange)
{
    const struct http_server *server = exchange->server;
    const char *scheme = http_header(exchange, "X-Forwarded-Proto");
    return server->tls != NULL ||
           (server->access != NULL && scheme != NULL && strcmp(scheme, "https") == 0 &&
            http_access_trusts(server->access, http_connection_address(exchange->connection)));
}

static void set_cookie(struct http_exchange *exchange, struct text token, int seconds)
{
    char cookie[COOKIE_SIZE];
    int size = snprintf(cookie, sizeof(cookie),
                        HTTP_COOKIE_NAME "=%.*s; Path=/; Max-Age=%d; HttpOnly; SameSite=Strict%s",
                        TEXT_ARG(token), seconds, over_tls(exchange) ? "; Secure" : "");
    assert(size > 0 && size < COOKIE_SIZE);
    http_set_header(exchange, "Set-Cookie", cookie);
}

/* ---- GET: who am I, and what may I do ---- */

static void respond_session(struct http_exchange *exchange)
{
    static const char *const names[HTTP_PERMISSION_COUNT] = {[HTTP_VIEW] = "view",
                                                             [HTTP_OPERATE] = "operate",
                                                             [HTTP_SUBMIT] = "submit",
                                                             [HTTP_CALL_BACK] = "call_back"};
    const struct http_access *access = exchange->server->access;
    bool authenticates = access != NULL && access->options.authenticates;
    bool read_only = access != NULL && access->options.read_only;
    json_t *permissions = json_array();
    for (int i = HTTP_OPEN + 1; i < HTTP_PERMISSION_COUNT; i++) {
        if (http_may(exchange, (enum http_permission)i) && !(read_only && i != HTTP_VIEW))
            json_array_append_new(permissions, json_string(names[i]));
    }
    const char *user = http_user(exchange);
    json_t *body = json_pack(
        "{s:b, s:b, s:o, s:o, s:o}", "authentication", authenticates, "read_only", read_only,
        "user", user[0] != '\0' ? json_string(user) : json_null(), "role",
        exchange->identity.has_token ? json_string(http_role_name(exchange->identity.role))
                                     : json_null(),
        "permissions", permissions);
    assert(body != NULL);
    char *text = json_dumps(body, JSON_COMPACT);
    assert(text != NULL);
    json_decref(body);
    http_respond(exchange, 200, "application/json", text_of(text));
    free(text);
}

static void serve_get(struct http_exchange *exchange, void *userdata)
{
    (void)userdata;
    respond_session(exchange);
}

/* ---- POST: log in; DELETE: log out ---- */

static void serve_post(struct http_exchange *exchange, void *userdata)
{
    const struct http_access *access = exchange->server != NULL ? exchange->server->access : NULL;
    struct text body = http_body(exchange);
    const char *given = NULL;
    size_t size = 0;
    (void)userdata;
    if (access == NULL || !access->options.authenticates) {
        http_respond_error(exchange, 409, "NoAuthentication", "this server asks for no tokens");
        return;
    }
    json_t *object = json_loadb(body.data, body.size, JSON_REJECT_DUPLICATES, NULL);
    if (json_unpack(object, "{s:s%}", "token", &given, &size) != 0) {
        http_respond_error(exchange, 400, "BadRequest", "expected {\"token\": \"...\"}");
    } else if (!http_access_identify(access, (struct text){given, (uint32_t)size},
                                     &exchange->identity)) {
        http_access_refuse(exchange, true);
        http_respond_error(exchange, exchange->refusal.status, exchange->refusal.code, "%s",
                           exchange->refusal.message);
    } else {
        set_cookie(exchange, (struct text){given, (uint32_t)size}, COOKIE_SECONDS);
        respond_session(exchange);
    }
    json_decref(object);
}

static void serve_delete(struct http_exchange *exchange, void *userdata)
{
    (void)userdata;
    set_cookie(exchange, TEXT(""), 0);
    http_respond(exchange, 204, NULL, TEXT(""));
}

void http_session_add_routes(struct http_server *server)
{
    http_server_route(server, "GET", SESSION_PATH, HTTP_OPEN, 0, serve_get, NULL);
    http_server_route(server, "POST", SESSION_PATH, HTTP_OPEN, BODY_MAX, serve_post, NULL);
    http_server_route(server, "DELETE", SESSION_PATH, HTTP_OPEN, BODY_MAX, serve_delete, NULL);
}
