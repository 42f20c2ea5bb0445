/* SPDX-License-Identifier: Apache-2.0 */
/* See peers.h. */
#include "kafka/embedded/peers.h"

#include "base/bytes.h"
#include "kafka/embedded/wire.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utlist.h>

enum {
    SIZE = 4, /* of a frame's size */
    READ_STEP = 64 << 10,
    READ_AHEAD = 1 << 20, /* while a request is being answered */
    BACKLOG = 128,
    ACCEPT_AGAIN_MS = 100, /* after there was no descriptor for a connection */
};

struct peers {
    struct loop *loop;
    const struct peers_ops *ops;
    void *ctx;
    int fd;
    int port;
    struct loop_timer accept_again;
    size_t count;
    struct peer *list;
};

/* ---- one connection ---- */

void peer_close(struct peer *peer)
{
    struct peers *peers = peer->peers;
    peers->ops->closed(peers->ctx, peer);
    loop_timer_cancel(peers->loop, &peer->timer);
    loop_defer_cancel(peers->loop, &peer->resume);
    loop_fd_remove(peers->loop, peer->fd);
    close(peer->fd);
    DL_DELETE(peers->list, peer);
    peers->count--;
    buffer_deinit(&peer->in);
    buffer_deinit(&peer->out);
    free(peer);
}

static bool is_answering(const struct peer *peer)
{
    return peer->request.data != NULL || peer->out.size > 0;
}

static void watch(struct peer *peer)
{
    unsigned events = peer->out.size > peer->sent && peer->request.data == NULL ? LOOP_WRITE : 0;
    if (!is_answering(peer) || peer->in.size < SIZE + peer->request.size + READ_AHEAD)
        events |= LOOP_READ;
    if (events != peer->events)
        loop_fd_modify(peer->peers->loop, peer->fd, events);
    peer->events = events;
}

/* The next request, if it is there. */
static void begin(struct peer *peer)
{
    if (is_answering(peer) || peer->in.size < SIZE)
        return;
    uint64_t size = bytes_get_be(peer->in.data, SIZE);
    if (size == 0 || size > PEER_REQUEST_MAX) {
        peer_close(peer);
        return;
    }
    if (peer->in.size < SIZE + size)
        return;
    peer->request = (struct text){(const char *)peer->in.data + SIZE, (uint32_t)size};
    peer->peers->ops->request(peer->peers->ctx, peer);
}

static void on_resume(void *ctx)
{
    struct peer *peer = ctx;
    watch(peer);
    begin(peer);
}

/* False: the connection is gone. */
static bool send_some(struct peer *peer)
{
    while (peer->sent < peer->out.size) {
        ssize_t size =
            send(peer->fd, peer->out.data + peer->sent, peer->out.size - peer->sent, MSG_NOSIGNAL);
        if (size < 0 && errno == EINTR)
            continue;
        if (size < 0)
            return errno == EAGAIN || errno == EWOULDBLOCK;
        peer->sent += (size_t)size;
    }
    peer->out.size = 0;
    peer->sent = 0;
    if (peer->out.capacity > READ_AHEAD)
        buffer_deinit(&peer->out);
    return true;
}

struct buffer *peer_answer(struct peer *peer)
{
    assert(peer->request.data != NULL);
    peer->out.size = 0;
    wire_put_i32(&peer->out, 0);
    return &peer->out;
}

/* Never closes: a caller may be going through all peers. */
void peer_answered(struct peer *peer)
{
    size_t begun = SIZE + peer->request.size;
    assert(peer->request.data != NULL);
    if (peer->out.size <= SIZE)
        peer->out.size = 0;
    else
        wire_set_i32(&peer->out, 0, (int32_t)(peer->out.size - SIZE));
    peer->in.size -= begun;
    memmove(peer->in.data, peer->in.data + begun, peer->in.size);
    if (peer->in.size == 0 && peer->in.capacity > READ_AHEAD)
        buffer_deinit(&peer->in);
    peer->request = (struct text){0};
    if (!send_some(peer))
        shutdown(peer->fd, SHUT_RDWR); /* its callback closes it */
    watch(peer);
    if (!is_answering(peer))
        loop_defer(peer->peers->loop, &peer->resume);
}

static bool receive(struct peer *peer)
{
    buffer_reserve(&peer->in, READ_STEP);
    ssize_t size = recv(peer->fd, peer->in.data + peer->in.size, READ_STEP, 0);
    if (size < 0)
        return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
    peer->in.size += (size_t)size;
    return size > 0;
}

/* The frame may have moved. */
static void point_at_request(struct peer *peer)
{
    if (peer->request.data != NULL)
        peer->request.data = (const char *)peer->in.data + SIZE;
}

static void on_peer(struct loop *loop, int fd, unsigned events, void *userdata)
{
    struct peer *peer = userdata;
    (void)loop;
    (void)fd;
    bool alive = (events & LOOP_ERROR) == 0;
    if (alive && (events & LOOP_READ) != 0) {
        alive = receive(peer);
        point_at_request(peer);
    }
    if (alive && (events & LOOP_WRITE) != 0)
        alive = send_some(peer);
    if (!alive) {
        peer_close(peer);
        return;
    }
    watch(peer);
    begin(peer);
}

/* ---- all of them ---- */

static void on_connection(struct loop *loop, int listening, unsigned events, void *userdata)
{
    struct peers *peers = userdata;
    struct error error;
    int on = 1;
    (void)events;
    int fd = accept4(listening, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) {
        loop_fd_modify(loop, listening, 0);
        loop_timer_after(loop, &peers->accept_again, ACCEPT_AGAIN_MS);
        return;
    }
    struct peer *peer = calloc(1, sizeof(*peer));
    assert(peer != NULL);
    peer->peers = peers;
    peer->fd = fd;
    peer->events = LOOP_READ;
    loop_deferred_init(&peer->resume, on_resume, peer);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    if (peers->count == PEERS_MAX ||
        loop_fd_add(loop, fd, LOOP_READ, on_peer, peer, &error) != ERROR_OK) {
        close(fd);
        free(peer);
        return;
    }
    DL_APPEND(peers->list, peer);
    peers->count++;
}

static void on_accept_again(void *ctx)
{
    struct peers *peers = ctx;
    loop_fd_modify(peers->loop, peers->fd, LOOP_READ);
}

static int listen_on(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int on = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    close(fd);
    return -1;
}

static int port_of(int fd)
{
    struct sockaddr_in address;
    socklen_t size = sizeof(address);
    int result = getsockname(fd, (struct sockaddr *)&address, &size);
    assert(result == 0);
    return ntohs(address.sin_port);
}

enum error_class peers_new(struct loop *loop, int port, const struct peers_ops *ops, void *ctx,
                           struct peers **ret_peers, struct error *ret_error)
{
    int fd = port != 0 ? listen_on(port) : -1;
    if (fd < 0)
        fd = listen_on(0);
    if (fd < 0)
        return error_set_as(ret_error, ERROR_RETRY, CODE_EMBEDDED, "embedded broker: %s",
                            strerror(errno));
    struct peers *peers = calloc(1, sizeof(*peers));
    assert(peers != NULL);
    *peers = (struct peers){.loop = loop, .ops = ops, .ctx = ctx, .fd = fd, .port = port_of(fd)};
    loop_timer_init(&peers->accept_again, on_accept_again, peers);
    enum error_class class = loop_fd_add(loop, fd, LOOP_READ, on_connection, peers, ret_error);
    if (class == ERROR_OK) {
        *ret_peers = peers;
    } else {
        close(fd);
        free(peers);
    }
    return class;
}

void peers_free(struct peers *peers)
{
    if (peers == NULL)
        return;
    while (peers->list != NULL)
        peer_close(peers->list);
    loop_timer_cancel(peers->loop, &peers->accept_again);
    loop_fd_remove(peers->loop, peers->fd);
    close(peers->fd);
    free(peers);
}

int peers_port(const struct peers *peers)
{
    return peers->port;
}

struct peer *peers_next(const struct peers *peers, const struct peer *after)
{
    return after == NULL ? peers->list : after->next;
}
