/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that wait because their client wants to: for an order, for the next change, for the next
 * event of a stream. Each holds a connection, so there is a limit, and no client may take all of
 * it: as long as others hold W of the limit L, a token may hold (L - W) / 2, and an address, which
 * many users may share, 2 (L - W) / 3. So there is room for the first request of another client.
 *
 * Behind a trusted proxy, the address is that of the proxy's client. */
#include "platform/http/internal.h"

#include <assert.h>
#include <string.h>

/* With tokens the token, without them the user that a trusted proxy names. */
static bool has_user(const struct http_exchange *exchange)
{
    return exchange->identity.has_token || exchange->identity.user[0] != '\0';
}

static bool same_user(const struct http_exchange *exchange, const struct http_exchange *other)
{
    const struct http_identity *one = &exchange->identity;
    const struct http_identity *two = &other->identity;
    return has_user(exchange) && one->has_token == two->has_token &&
           memcmp(one->hash, two->hash, sizeof(one->hash)) == 0 &&
           strcmp(one->user, two->user) == 0;
}

/* Not one that was answered and takes its answer. */
static bool is_waiting(const struct http_exchange *exchange)
{
    return exchange->waits && exchange->connection != NULL &&
           (exchange->handlers || exchange->stream != NULL);
}

void http_tally_add(struct http_tally *tally, const struct http_exchange *exchange,
                    const struct http_exchange *held)
{
    tally->all++;
    tally->of_user += same_user(exchange, held);
    tally->of_address += memcmp(exchange->address, held->address, sizeof(held->address)) == 0;
}

bool http_tally_has_share(const struct http_tally *tally, uint32_t limit)
{
    if (tally->all >= limit)
        return false;
    uint32_t left = limit - tally->all;
    return tally->of_user < left && tally->of_address < 2 * left;
}

static struct http_tally count(const struct http_exchange *exchange, bool streams)
{
    struct http_tally tally = {0};
    const struct http_exchange *at = exchange->server->exchanges;
    for (; at != NULL; at = at->next)
        if (is_waiting(at) && (!streams || at->stream != NULL))
            http_tally_add(&tally, exchange, at);
    return tally;
}

void http_waits_init(struct http_server *server)
{
    server->waits_max = HTTP_WAITS_MAX;
    if (server->metrics == NULL)
        return;
    server->waits_refused =
        metrics_counter(server->metrics, "reeve_http_waits_refused_total",
                        "Requests that were not allowed to wait: too many of the same client, or "
                        "of all, wait already.",
                        METRICS_NO_LABELS);
    server->waiting =
        metrics_gauge(server->metrics, "reeve_http_waiting_requests",
                      "HTTP requests that wait for something, and streams.", METRICS_NO_LABELS);
}

uint32_t http_server_waits(const struct http_server *server)
{
    uint32_t count = 0;
    for (const struct http_exchange *at = server->exchanges; at != NULL; at = at->next)
        count += is_waiting(at);
    return count;
}

bool http_wait_has_share(struct http_exchange *exchange, bool stream)
{
    http_client_address(exchange, exchange->address);
    struct http_server *server = exchange->server;
    struct http_tally waits = count(exchange, false);
    struct http_tally streams = count(exchange, true);
    bool has = http_tally_has_share(&waits, server->waits_max) &&
               (!stream || http_tally_has_share(&streams, HTTP_STREAMS_MAX));
    if (!has && server->waits_refused != NULL)
        metrics_add(server->waits_refused, 1);
    return has;
}

bool http_wait(struct http_exchange *exchange, void (*gone)(void *ctx), void *ctx)
{
    assert(exchange->handlers && !exchange->waits);
    if (exchange->connection != NULL && !http_wait_has_share(exchange, false)) {
        http_set_header(exchange, "Retry-After", "1");
        http_respond_error(exchange, 503, CODE_TOO_MANY_WAITS,
                           "too many requests of this client, or of all, wait already: try again, "
                           "or ask without waiting");
        return false;
    }
    exchange->waits = true;
    exchange->gone = gone;
    exchange->gone_ctx = ctx;
    return true;
}

void http_waits_end_gone(struct http_server *server)
{
    struct http_exchange *next;
    for (struct http_exchange *at = server->exchanges; at != NULL; at = next) {
        void (*gone)(void *ctx) = at->handlers ? at->gone : NULL;
        next = at->next;
        if (gone == NULL || !http_gone(at))
            continue;
        at->gone = NULL;
        gone(at->gone_ctx);
    }
}
