/* SPDX-License-Identifier: Apache-2.0 */
/* Logins of browsers: a token begins a session, whose id becomes a cookie that scripts cannot read
 * and other sites' pages cannot send. The process keeps the sessions (session_table.h), so a login
 * counts for one instance and ends with it, or with its token. */
#include "platform/http/access_internal.h"
#include "platform/http/internal.h"
#include "platform/http/json_answer.h"

#include <assert.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { COOKIE_SIZE = 256, BODY_MAX = 1024 };
_Static_assert(HTTP_SESSION_ID_SIZE + 100 < COOKIE_SIZE, "an id and the cookie's attributes");

#define SESSION_PATH "/api/session"

/* Of one header: "a=b; reeve_session=x". */
static struct text id_in(const char *at)
{
    static const char name[] = HTTP_COOKIE_NAME "=";
    while (*at != '\0') {
        at += strspn(at, "; \t");
        size_t size = strcspn(at, ";");
        if (size >= sizeof(name) - 1 && memcmp(at, name, sizeof(name) - 1) == 0)
            return (struct text){at + sizeof(name) - 1,
                                 (uint32_t)strcspn(at + sizeof(name) - 1, "; \t")};
        at += size;
    }
    return TEXT("");
}

/* HTTP/2 may split cookies into several headers, and proxies pass them on like that. */
struct text http_session_id(const struct http_exchange *exchange)
{
    for (size_t i = 0; i < exchange->pair_count; i++) {
        const struct http_pair *pair = &exchange->pairs[i];
        struct text id = TEXT("");
        if (pair->kind == MHD_HEADER_KIND && strcasecmp(pair->name, "Cookie") == 0)
            id = id_in(pair->value);
        if (id.size > 0)
            return id;
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

static void set_cookie(struct http_exchange *exchange, const char *id, int seconds)
{
    char cookie[COOKIE_SIZE];
    int size = snprintf(cookie, sizeof(cookie),
                        HTTP_COOKIE_NAME "=%s; Path=/; Max-Age=%d; HttpOnly; SameSite=Strict%s", id,
                        seconds, over_tls(exchange) ? "; Secure" : "");
    assert(size > 0 && size < COOKIE_SIZE);
    http_set_header(exchange, "Set-Cookie", cookie);
}

/* ---- GET: who am I, and what may I do ---- */

static json_t *groups_of(const struct http_exchange *exchange)
{
    struct text groups[USER_GROUPS_MAX];
    uint32_t count = http_user_groups(exchange, groups);
    json_t *list = json_array();
    for (uint32_t i = 0; i < count; i++)
        json_array_append_new(list, json_stringn(groups[i].data, groups[i].size));
    return list;
}

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
        "{s:b, s:b, s:o, s:o, s:o, s:o}", "authentication", authenticates, "read_only", read_only,
        "user", user[0] != '\0' ? json_string(user) : json_null(), "role",
        exchange->identity.has_token ? json_string(http_role_name(exchange->identity.role))
                                     : json_null(),
        "groups", groups_of(exchange), "permissions", permissions);
    assert(body != NULL);
    http_respond_json(exchange, 200, body);
}

static void respond_refusal(struct http_exchange *exchange)
{
    http_respond_error(exchange, exchange->refusal.status, exchange->refusal.code, "%s",
                       exchange->refusal.message);
}

/* The answer tells whether a token is right: trying tokens here counts as anywhere else. */
static void serve_get(struct http_exchange *exchange, void *userdata)
{
    (void)userdata;
    struct http_identity *identity = &exchange->identity;
    uint8_t address[HTTP_ADDRESS_SIZE];
    if (identity->wait_s > 0) {
        http_access_refuse(exchange);
        respond_refusal(exchange);
        return;
    }
    if (identity->wrong_token) {
        http_client_address(exchange, address);
        http_access_note(exchange->server->access, address, identity->hash, false);
    }
    respond_session(exchange);
}

/* ---- POST: log in; DELETE: log out ---- */

/* That of the request's cookie, if there is one. */
static void end_session(struct http_exchange *exchange)
{
    uint8_t hash[HTTP_TOKEN_HASH_SIZE];
    struct text id = http_session_id(exchange);
    if (id.size == 0)
        return;
    http_token_hash(id, hash);
    http_sessions_end(&exchange->server->access->sessions, hash);
}

/* In place of the one that the browser has. */
static void begin_session(struct http_exchange *exchange)
{
    struct http_access *access = exchange->server->access;
    char id[HTTP_SESSION_ID_SIZE];
    end_session(exchange);
    http_sessions_begin(&access->sessions, exchange->identity.hash,
                        clock_mono_ms(loop_clock(access->loop)), id);
    set_cookie(exchange, id, HTTP_SESSION_SECONDS);
}

static void serve_post(struct http_exchange *exchange, void *userdata)
{
    const struct http_access *access = exchange->server != NULL ? exchange->server->access : NULL;
    struct text body = http_body(exchange);
    const char *given = NULL;
    size_t size = 0;
    (void)userdata;
    if (access == NULL || !access->options.authenticates) {
        http_respond_error(exchange, 409, CODE_NO_AUTHENTICATION, "this server asks for no tokens");
        return;
    }
    json_t *object = json_loadb(body.data, body.size, JSON_REJECT_DUPLICATES, NULL);
    if (json_unpack(object, "{s:s%}", "token", &given, &size) != 0) {
        http_respond_error(exchange, 400, CODE_BAD_REQUEST, "expected {\"token\": \"...\"}");
    } else if (!http_access_identify(exchange, (struct text){given, (uint32_t)size}, true)) {
        http_access_refuse(exchange);
        respond_refusal(exchange);
    } else {
        begin_session(exchange);
        respond_session(exchange);
    }
    json_decref(object);
}

static void serve_delete(struct http_exchange *exchange, void *userdata)
{
    (void)userdata;
    if (exchange->server != NULL && exchange->server->access != NULL)
        end_session(exchange);
    set_cookie(exchange, "", 0);
    http_respond(exchange, 204, NULL, TEXT(""));
}

static const struct http_route rows[] = {
    {.method = "GET",
     .pattern = SESSION_PATH,
     .permission = HTTP_OPEN,
     .handler = serve_get,
     .query = HTTP_NO_NAMES,
     .summary = "who the user is and what the user may do"},
    {.method = "POST",
     .pattern = SESSION_PATH,
     .permission = HTTP_OPEN,
     .handler = serve_post,
     .query = HTTP_NO_NAMES,
     .body = HTTP_NAMES("token"),
     .body_max = BODY_MAX,
     .summary = "log in: exchange a token for a cookie"},
    {.method = "DELETE",
     .pattern = SESSION_PATH,
     .permission = HTTP_OPEN,
     .handler = serve_delete,
     .query = HTTP_NO_NAMES,
     .body_max = BODY_MAX,
     .summary = "log out"},
};
const struct http_routes http_session_routes = HTTP_ROUTES(rows);
