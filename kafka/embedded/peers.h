/* SPDX-License-Identifier: Apache-2.0 */
/* The connections of the embedded broker's clients: requests in frames with their size in front,
 * answered one after the other. The next request of a connection waits until the one before it is
 * answered, as on Kafka. */
#ifndef KAFKA_EMBEDDED_PEERS_H
#define KAFKA_EMBEDDED_PEERS_H

#include "base/buffer.h"
#include "base/error.h"
#include "base/text.h"
#include "platform/loop.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    PEERS_MAX = 2000,
    PEER_REQUEST_MAX = 100 << 20, /* bytes; as Kafka's socket.request.max.bytes */
};

struct peers;

struct peer {
    struct text request;     /* without its size: begun, and not yet answered; no data: none */
    void *owner;             /* for the handler that answers later; NULL at first */
    struct loop_timer timer; /* for the same */
    struct peer *next;       /* these are for peers.c alone */
    struct peer *prev;
    struct peers *peers;
    int fd;
    unsigned events;
    struct buffer in;
    struct buffer out;
    size_t sent;
    struct loop_deferred resume;
};

struct peers_ops {
    /* peer->request has come: answer it, at once or later, or close the peer. */
    void (*request)(void *ctx, struct peer *peer);
    /* The connection is gone; `peer` is freed when this returns. */
    void (*closed)(void *ctx, struct peer *peer);
};

/* New. Listens on 127.0.0.1, on `port` if it is free, else on any. RETRY: no port is free. */
enum error_class peers_new(struct loop *loop, int port, const struct peers_ops *ops, void *ctx,
                           struct peers **ret_peers, struct error *ret_error);
/* Closes all. NULL does nothing. */
void peers_free(struct peers *peers);
int peers_port(const struct peers *peers);
/* NULL begins, NULL ends. */
struct peer *peers_next(const struct peers *peers, const struct peer *after);

/* Where the answer to peer->request goes, after its size. Borrowed until peer_answered(). */
struct buffer *peer_answer(struct peer *peer);
/* What peer_answer() gave is complete, or, if nothing was written, the client expects nothing. */
void peer_answered(struct peer *peer);
void peer_close(struct peer *peer);

#endif
