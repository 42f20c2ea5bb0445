/* SPDX-License-Identifier: Apache-2.0 */
/* Decides about a request by who sent it. See access.h. */
#include "base/utf8.h"
#include "platform/http/access_internal.h"
#include "platform/http/internal.h"
#include "platform/logger.h"

#include <arpa/inet.h>
#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define BEARER "Bearer "

static void refuse(struct http_exchange *exchange, int status, enum error_code code,
                   const char *message)
{
    exchange->refusal = (struct http_refusal){status, code, message};
}

/* ---- addresses ---- */

/* A proxy adds the address that it sees at the end, or as a further header: what is before that is
 * the client's own, which may name any address. */
static const char *last_forwarded(const struct http_exchange *exchange)
{
    const char *value = NULL;
    for (size_t i = 0; i < exchange->pair_count; i++) {
        const struct http_pair *pair = &exchange->pairs[i];
        if (pair->kind == MHD_HEADER_KIND && strcasecmp(pair->name, "X-Forwarded-For") == 0)
            value = pair->value;
    }
    const char *comma = value != NULL ? strrchr(value, ',') : NULL;
    return comma != NULL ? comma + 1 : value;
}

void http_client_address(const struct http_exchange *exchange,
                         uint8_t ret_address[HTTP_ADDRESS_SIZE])
{
    const struct http_access *access = exchange->server->access;
    char text[INET6_ADDRSTRLEN];
    const uint8_t *peer = http_connection_address(exchange->connection);
    const char *last = last_forwarded(exchange);
    bool ipv4 = false;
    memcpy(ret_address, peer, HTTP_ADDRESS_SIZE);
    if (last == NULL || access == NULL || !http_access_trusts(access, peer))
        return;
    last += strspn(last, " \t");
    size_t size = strcspn(last, " \t");
    if (size >= sizeof(text))
        return;
    memcpy(text, last, size);
    text[size] = '\0';
    http_address_parse(text, ret_address, &ipv4);
}

/* ---- without authentication ---- */

/* This machine's own programs may do everything. A request through a proxy has a user, or it comes
 * from a client that the proxy did not authenticate. */
static void check_without_tokens(struct http_exchange *exchange)
{
    const struct http_access *access = exchange->server->access;
    const uint8_t *peer = http_connection_address(exchange->connection);
    bool trusted = http_access_trusts(access, peer);
    const char *user = trusted ? http_header(exchange, access->options.user_header) : NULL;
    if (user != NULL && (!utf8_printable(text_of(user)) || strlen(user) > HTTP_USER_MAX)) {
        refuse(exchange, 400, CODE_BAD_USER,
               "the proxy passed on a user name that is not 1 to 64 printable bytes");
        return;
    }
    if (user != NULL)
        memcpy(exchange->identity.user, user, strlen(user) + 1);
    exchange->identity.outsider =
        trusted ? exchange->identity.user[0] == '\0' : !http_address_is_loopback(peer);
    if (!exchange->identity.outsider || exchange->route->row.permission == HTTP_OPEN)
        return;
    if (!trusted) {
        refuse(exchange, 403, CODE_NOT_THROUGH_PROXY,
               "without authentication, only requests through a proxy that http.proxy.trusted "
               "names are accepted");
        return;
    }
    http_set_header(exchange, "WWW-Authenticate", HTTP_CHALLENGE);
    refuse(exchange, 401, CODE_NO_USER,
           "the proxy passed on no user in the header that http.proxy.user.header names");
}

/* ---- tokens ---- */

static struct text token_in(const char *header)
{
    struct text prefix = TEXT(BEARER);
    if (strncasecmp(header, prefix.data, prefix.size) != 0)
        return TEXT("?"); /* another scheme: as a wrong token */
    header += prefix.size + strspn(header + prefix.size, " \t");
    return (struct text){header, (uint32_t)strcspn(header, " \t")};
}

/* One that a header can hold: RFC 6750's characters. The token of a hash that was made by other
 * means than `reeve token add` may be anything. */
static bool may_be_token(struct text token)
{
    for (uint32_t i = 0; i < token.size; i++) {
        unsigned char byte = (unsigned char)token.data[i];
        if (!isalnum(byte) && (byte == '\0' || strchr("-._~+/=", byte) == NULL))
            return false;
    }
    return token.size > 0 && token.size <= HTTP_TOKEN_SENT_MAX;
}

static void take_token(struct http_identity *identity, const struct http_token *token)
{
    identity->has_token = true;
    identity->role = token->role;
    identity->bindings = token->bindings;
    memcpy(identity->hash, token->hash, sizeof(token->hash));
    memcpy(identity->user, token->name, sizeof(token->name));
}
_Static_assert((int)HTTP_USER_MAX >= (int)HTTP_TOKEN_NAME_MAX, "a user may be the name of a token");

bool http_access_identify(struct http_exchange *exchange, struct text token, bool counts)
{
    struct http_access *access = exchange->server->access;
    struct http_identity identity = {.wrong_token = true};
    uint8_t address[HTTP_ADDRESS_SIZE];
    http_client_address(exchange, address);
    http_token_hash(token, identity.hash);
    identity.wait_s = http_access_wait_s(access, address, identity.hash);
    const struct http_token *found = NULL;
    if (identity.wait_s == 0 && may_be_token(token))
        found = http_tokens_find(&access->tokens, identity.hash,
                                 clock_wall_ms(loop_clock(access->loop)));
    if (identity.wait_s == 0 && (found != NULL || counts))
        http_access_note(access, address, identity.hash, found != NULL);
    if (found != NULL) {
        identity.wrong_token = false;
        take_token(&identity, found);
    }
    exchange->identity = identity;
    return found != NULL;
}

/* The token of a login, or NULL. */
static const struct http_token *token_of_session(struct http_access *access,
                                                 const uint8_t id[HTTP_TOKEN_HASH_SIZE])
{
    const struct clock *clock = loop_clock(access->loop);
    const struct http_session *session =
        http_sessions_find(&access->sessions, id, clock_mono_ms(clock));
    if (session == NULL)
        return NULL;
    return http_tokens_find(&access->tokens, session->token, clock_wall_ms(clock));
}

/* An id cannot be guessed, so wrong ones do not count as tried tokens: after a restart, all the
 * browsers behind one address come with old ones. */
static bool identify_session(struct http_exchange *exchange, struct text id)
{
    struct http_identity identity = {.ended_session = true};
    http_token_hash(id, identity.session);
    const struct http_token *found = token_of_session(exchange->server->access, identity.session);
    if (found != NULL) {
        identity.ended_session = false;
        identity.has_session = true;
        take_token(&identity, found);
    }
    exchange->identity = identity;
    return found != NULL;
}

static void refuse_to_look(struct http_exchange *exchange)
{
    char seconds[24];
    snprintf(seconds, sizeof(seconds), "%" PRId64, exchange->identity.wait_s);
    http_set_header(exchange, "Retry-After", seconds);
    refuse(exchange, 429, CODE_TOO_MANY_FAILURES,
           "too many requests with wrong tokens: wait, see the Retry-After header");
}

void http_access_refuse(struct http_exchange *exchange)
{
    bool wrong = exchange->identity.wrong_token || exchange->identity.ended_session;
    if (exchange->identity.wrong_token)
        log_warning_limited("refused a request: its token is wrong",
                            LOG_STR("path", exchange->path));
    if (exchange->identity.wait_s > 0) {
        refuse_to_look(exchange);
        return;
    }
    http_set_header(exchange, "WWW-Authenticate",
                    wrong ? HTTP_CHALLENGE ", error=\"invalid_token\"" : HTTP_CHALLENGE);
    if (wrong)
        refuse(exchange, 401, CODE_BAD_TOKEN,
               "the token is not right, was revoked or has expired, or the login has ended");
    else
        refuse(exchange, 401, CODE_NO_TOKEN,
               "this path needs a token: send it as Authorization: Bearer TOKEN");
}

/* Routes that everyone may read ignore the token, except for the session, which counts it. */
static void check_token(struct http_exchange *exchange)
{
    enum http_permission permission = exchange->route->row.permission;
    const char *header = http_header(exchange, "Authorization");
    struct text token = header != NULL ? token_in(header) : TEXT("");
    struct text session = header == NULL ? http_session_id(exchange) : TEXT("");
    bool counts = permission != HTTP_OPEN || !http_exchange_only_reads(exchange);
    bool known = (token.size > 0 && http_access_identify(exchange, token, counts)) ||
                 (session.size > 0 && identify_session(exchange, session));
    if (permission == HTTP_OPEN)
        return;
    if (!known)
        http_access_refuse(exchange);
    else if (!http_role_permits(exchange->identity.role, permission))
        refuse(exchange, 403, CODE_FORBIDDEN, "the role of this token does not permit it");
}

/* A page of another site cannot send the header without asking first, which is never granted. */
static bool lacks_page_header(const struct http_exchange *exchange)
{
    bool page = http_header(exchange, "Origin") != NULL ||
                http_header(exchange, "Sec-Fetch-Site") != NULL ||
                http_session_id(exchange).size > 0;
    return page && http_header(exchange, HTTP_PAGE_HEADER) == NULL;
}

void http_access_check(struct http_exchange *exchange)
{
    const struct http_access *access = exchange->server->access;
    assert(exchange->route != NULL && exchange->refusal.status == 0);
    if (!http_exchange_only_reads(exchange) && lacks_page_header(exchange)) {
        refuse(exchange, 403, CODE_HEADER_MISSING,
               "requests of pages that change something need the header " HTTP_PAGE_HEADER);
        return;
    }
    if (access == NULL)
        return;
    if (access->options.authenticates)
        check_token(exchange);
    else
        check_without_tokens(exchange);
    if (exchange->refusal.status == 0 && http_read_only(exchange) &&
        !http_exchange_only_reads(exchange) && exchange->route->row.permission != HTTP_OPEN)
        refuse(exchange, 403, CODE_READ_ONLY, HTTP_READ_ONLY_MESSAGE);
}

bool http_access_still_valid(const struct http_exchange *exchange)
{
    struct http_access *access = exchange->server->access;
    const struct http_identity *identity = &exchange->identity;
    if (access == NULL || !identity->has_token)
        return true;
    const struct http_token *token =
        identity->has_session ? token_of_session(access, identity->session)
                              : http_tokens_find(&access->tokens, identity->hash,
                                                 clock_wall_ms(loop_clock(access->loop)));
    return token != NULL && http_role_permits(token->role, exchange->route->row.permission);
}

/* ---- for handlers ---- */

const char *http_user(const struct http_exchange *exchange)
{
    return exchange->identity.user;
}

uint32_t http_user_groups(const struct http_exchange *exchange,
                          struct text ret_groups[USER_GROUPS_MAX])
{
    const struct http_server *server = exchange->server;
    bool known = server != NULL && server->access != NULL && exchange->identity.user[0] != '\0';
    return known ? http_groups_of_user(&server->access->groups, exchange->identity.user, ret_groups)
                 : 0;
}

bool http_permits(const struct http_exchange *exchange, enum http_binding binding,
                  struct text value)
{
    return http_binding_permits(&exchange->identity.bindings, binding, value);
}

const char *http_bound_to(const struct http_exchange *exchange, enum http_binding binding)
{
    return exchange->identity.bindings.to[binding];
}

bool http_authenticated(const struct http_exchange *exchange)
{
    return exchange->identity.has_token;
}

bool http_read_only(const struct http_exchange *exchange)
{
    const struct http_server *server = exchange->server;
    return server != NULL && server->access != NULL && server->access->options.read_only;
}

bool http_may(const struct http_exchange *exchange, enum http_permission permission)
{
    const struct http_server *server = exchange->server;
    if (server == NULL)
        return false;
    if (server->access == NULL || permission == HTTP_OPEN)
        return true;
    if (!server->access->options.authenticates)
        return !exchange->identity.outsider;
    return exchange->identity.has_token && http_role_permits(exchange->identity.role, permission);
}
