/* SPDX-License-Identifier: Apache-2.0 */
/* Answers in pieces. What the handler writes waits in a bounded buffer until libmicrohttpd asks for
 * it; while nothing waits, the connection is suspended, since libmicrohttpd would ask again and
 * again.
 *
 * While something waits, the connection has the deadline of an answer, which starts again with each
 * piece that the client takes. While nothing waits, it has none: the handler is to write something
 * now and then, so that a client that has gone without a word is found. */
#include "platform/http/internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_SIZE = 16 * 1024, KEPT_MAX = 16 * 1024 };

struct http_stream {
    struct http_exchange *exchange;
    http_stream_closed closed; /* NULL: the handler has ended the stream */
    void *ctx;
    char *buffer;
    size_t from; /* what waits: buffer[from .. from + size) */
    size_t size;
    size_t capacity;
};

static void forget_taken(struct http_stream *stream)
{
    if (stream->size > 0)
        return;
    stream->from = 0;
    if (stream->capacity <= KEPT_MAX)
        return;
    free(stream->buffer);
    stream->buffer = NULL;
    stream->capacity = 0;
}

/* For libmicrohttpd: up to `size` bytes of the answer. */
static ssize_t take(void *cls, uint64_t position, char *ret_bytes, size_t size)
{
    struct http_stream *stream = cls;
    struct http_exchange *exchange = stream->exchange;
    (void)position;
    size_t taken = stream->size < size ? stream->size : size;
    if (taken > 0) {
        memcpy(ret_bytes, stream->buffer + stream->from, taken);
        stream->from += taken;
        stream->size -= taken;
        forget_taken(stream);
        http_connection_enters(exchange->connection, HTTP_PHASE_SENDING);
        return (ssize_t)taken;
    }
    if (stream->closed == NULL)
        return MHD_CONTENT_READER_END_OF_STREAM;
    http_connection_enters(exchange->connection, HTTP_PHASE_ANSWERING);
    exchange->suspended = true;
    MHD_suspend_connection(exchange->connection);
    return 0;
}

static void add(struct http_stream *stream, struct text text)
{
    if (text.size == 0)
        return;
    if (stream->from > 0) {
        memmove(stream->buffer, stream->buffer + stream->from, stream->size);
        stream->from = 0;
    }
    if (stream->size + text.size > stream->capacity) {
        stream->capacity = 2 * (stream->size + text.size);
        stream->buffer = realloc(stream->buffer, stream->capacity);
        assert(stream->buffer != NULL);
    }
    memcpy(stream->buffer + stream->size, text.data, text.size);
    stream->size += text.size;
}

/* libmicrohttpd asks again. */
static void wake(struct http_stream *stream)
{
    struct http_exchange *exchange = stream->exchange;
    if (!exchange->suspended)
        return;
    http_connection_enters(exchange->connection, HTTP_PHASE_SENDING);
    http_server_resume(exchange);
}

struct http_stream *http_respond_stream(struct http_exchange *exchange, const char *content_type,
                                        http_stream_closed closed, void *ctx)
{
    assert(exchange->handlers && closed != NULL);
    if (exchange->connection == NULL) {
        exchange->handlers = false;
        http_exchange_release(exchange);
        return NULL;
    }
    if (!http_wait_has_share(exchange, true)) {
        http_respond_error(exchange, 503, CODE_TOO_MANY_STREAMS,
                           "too many streams of this client, or of all, follow this server: try "
                           "again later");
        return NULL;
    }
    exchange->waits = true;
    struct http_stream *stream = calloc(1, sizeof(*stream));
    assert(stream != NULL);
    *stream = (struct http_stream){.exchange = exchange, .closed = closed, .ctx = ctx};
    exchange->server->streams++;
    exchange->handlers = false;
    exchange->stream = stream;
    http_exchange_finish_response(
        exchange,
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK_SIZE, take, stream, NULL), 200,
        content_type);
    wake(stream);
    return stream;
}

bool http_stream_write(struct http_stream *stream, struct text text)
{
    assert(stream->closed != NULL);
    if (text.size > HTTP_STREAM_BUFFER_MAX - stream->size)
        return false;
    add(stream, text);
    wake(stream);
    return true;
}

size_t http_stream_pending(const struct http_stream *stream)
{
    return stream->size;
}

bool http_stream_gone(const struct http_stream *stream)
{
    return http_gone(stream->exchange);
}

void http_stream_end(struct http_stream *stream, struct text last)
{
    assert(stream->closed != NULL && last.size <= HTTP_STREAM_LAST_MAX);
    stream->closed = NULL;
    add(stream, last);
    wake(stream);
}

void http_stream_close(struct http_stream *stream)
{
    if (stream == NULL || stream->closed == NULL)
        return;
    http_stream_closed closed = stream->closed;
    stream->closed = NULL;
    closed(stream->ctx);
}

void http_stream_cut(struct http_stream *stream)
{
    if (stream == NULL)
        return;
    stream->closed = NULL;
    wake(stream);
}

void http_stream_free(struct http_stream *stream)
{
    if (stream == NULL)
        return;
    assert(stream->exchange->server == NULL || stream->exchange->server->streams > 0);
    if (stream->exchange->server != NULL)
        stream->exchange->server->streams--;
    free(stream->buffer);
    free(stream);
}
