/* SPDX-License-Identifier: Apache-2.0 */
/* Answers in pieces: what clients get, and what becomes of those that do not read. */
#include "tests/lib/http_route.h"
#include "tests/unit/platform/http_server_kit.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PIECE = 8 * 1024 };

static struct http_stream *stream; /* the latest */
static int begun;
static int closed;

static void on_closed(void *ctx)
{
    (void)ctx;
    closed++;
    stream = NULL;
}

static void begin(struct http_exchange *exchange, void *userdata)
{
    (void)userdata;
    stream = http_respond_stream(exchange, "text/event-stream", on_closed, NULL);
    begun++;
}

static void listen_with(struct http_server_options options)
{
    http_kit_listen(options);
    add_route(http_kit_server, "GET", "/stream", HTTP_OPEN, 0, begin, NULL);
}

static void open_streams(void)
{
    http_kit_open();
    listen_with((struct http_server_options){0});
}

TestSuite(http_stream, .init = open_streams, .fini = http_kit_close, .timeout = 60);

static bool has_begun(void *ctx)
{
    return begun > *(int *)ctx;
}

/* A new client with its stream. */
static int follow(uint32_t host)
{
    int before = begun;
    int fd = http_kit_dial_from(host);
    http_kit_send_text(fd, "GET /stream HTTP/1.1\r\n" HTTP_KIT_HOST "\r\n");
    cr_assert(loop_run_until(http_kit_loop, has_begun, &before, HTTP_KIT_WAIT_MS));
    return fd;
}

struct wanted {
    struct http_kit_peer peer;
    const char *text;
};

static bool has_text(void *ctx)
{
    struct wanted *wanted = ctx;
    http_kit_answered(&wanted->peer);
    return strstr(http_kit_answer, wanted->text) != NULL;
}

static void expect(struct wanted *wanted, const char *text)
{
    wanted->text = text;
    cr_assert(loop_run_until(http_kit_loop, has_text, wanted, HTTP_KIT_WAIT_MS), "no %s in: %s",
              text, http_kit_answer);
}

static bool is_closed(void *ctx)
{
    struct http_kit_peer *peer = ctx;
    http_kit_answered(peer);
    return peer->closed;
}

static bool has_none(void *ctx)
{
    (void)ctx;
    return http_server_streams(http_kit_server) == 0;
}

static void expect_none(void)
{
    cr_assert(loop_run_until(http_kit_loop, has_none, NULL, HTTP_KIT_WAIT_MS), "%u streams",
              http_server_streams(http_kit_server));
}

static void turn(int turns)
{
    for (int i = 0; i < turns; i++)
        loop_once(http_kit_loop, 0);
}

/* Until no more is taken; returns the bytes. */
static size_t fill(void)
{
    static char piece[PIECE];
    size_t bytes = 0;
    memset(piece, 'x', sizeof(piece));
    while (http_stream_write(stream, (struct text){piece, sizeof(piece)})) {
        bytes += sizeof(piece);
        turn(3);
        cr_assert_lt(bytes, 64 << 20, "the buffer has no bound");
        cr_assert_leq(http_stream_pending(stream), HTTP_STREAM_BUFFER_MAX);
    }
    return bytes;
}

Test(http_stream, delivers_each_piece_when_it_is_written)
{
    struct wanted client = {.peer.fd = follow(1)};
    expect(&client, "\r\n\r\n");
    cr_assert(http_kit_starts(http_kit_answer, "HTTP/1.1 200"), "%s", http_kit_answer);
    cr_assert(strstr(http_kit_answer, "Content-Type: text/event-stream\r\n") != NULL);
    cr_assert(http_stream_write(stream, TEXT("first")));
    expect(&client, "first");
    cr_assert_eq(http_stream_pending(stream), 0);
    cr_assert(http_stream_write(stream, TEXT("two")));
    cr_assert(http_stream_write(stream, TEXT("three")));
    expect(&client, "twothree");
    cr_assert(!client.peer.closed && !http_stream_gone(stream));
    cr_assert_eq(http_server_streams(http_kit_server), 1);
    http_stream_end(stream, TEXT("the end"));
    expect(&client, "the end");
    cr_assert(loop_run_until(http_kit_loop, is_closed, &client.peer, HTTP_KIT_WAIT_MS));
    expect_none();
    cr_assert_eq(closed, 0);
    close(client.peer.fd);
}

/* An idle stream has no deadline. */
Test(http_stream, waits_for_its_handler_as_long_as_it_takes)
{
    listen_with((struct http_server_options){.request_ms = 50, .answer_ms = 50});
    struct wanted client = {.peer.fd = follow(1)};
    for (int i = 0; i < 30; i++)
        loop_once(http_kit_loop, 10);
    cr_assert(stream != NULL && http_stream_write(stream, TEXT("still there")));
    expect(&client, "still there");
    http_stream_end(stream, TEXT(""));
    expect_none();
    close(client.peer.fd);
}

Test(http_stream, tells_a_slow_reader_why_it_ends)
{
    int fd = follow(1);
    size_t bytes = fill();
    size_t size = 0;
    char *all = malloc(bytes + (1 << 20));
    http_stream_end(stream, TEXT("event: reload\n\n"));
    for (ssize_t got = 1; got != 0;) {
        got = recv(fd, all + size, bytes + (1 << 20) - size, 0);
        size += got > 0 ? (size_t)got : 0;
        loop_once(http_kit_loop, 0);
    }
    cr_assert_gt(size, bytes);
    cr_assert(memmem(all, size, "event: reload\n\n", 15) != NULL);
    expect_none();
    cr_assert_eq(closed, 0);
    free(all);
    close(fd);
}

Test(http_stream, cuts_a_client_that_never_reads)
{
    listen_with((struct http_server_options){.answer_ms = 100});
    int fd = follow(1);
    fill();
    expect_none();
    cr_assert_eq(closed, 1);
    close(fd);
    fd = follow(1); /* and one whose stream has ended */
    fill();
    http_stream_end(stream, TEXT("the end"));
    expect_none();
    cr_assert_eq(closed, 1);
    close(fd);
}

static bool knows_it_is_gone(void *ctx)
{
    (void)ctx;
    return http_stream_gone(stream);
}

Test(http_stream, notices_that_the_client_has_gone)
{
    struct wanted client = {.peer.fd = follow(1)};
    expect(&client, "\r\n\r\n");
    close(client.peer.fd);
    cr_assert(loop_run_until(http_kit_loop, knows_it_is_gone, NULL, HTTP_KIT_WAIT_MS));
    http_stream_end(stream, TEXT("the end"));
    expect_none();
    cr_assert_eq(closed, 0);
}

Test(http_stream, reports_a_client_that_goes_while_it_is_written_to)
{
    struct linger reset = {.l_onoff = 1};
    int fd = follow(1);
    turn(20);
    cr_assert(setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)) == 0);
    close(fd);
    for (int i = 0; i < 1000 && closed == 0; i++) {
        http_stream_write(stream, TEXT("x"));
        loop_once(http_kit_loop, 1);
    }
    cr_assert_eq(closed, 1);
    expect_none();
}

Test(http_stream, limits_the_number_of_streams)
{
    int fds[HTTP_STREAMS_MAX];
    struct http_stream *first = NULL;
    for (int i = 0; i < HTTP_STREAMS_MAX; i++) {
        fds[i] = follow(2 + (uint32_t)i);
        cr_assert(stream != NULL, "%d", i);
        first = first == NULL ? stream : first;
    }
    cr_assert_eq(http_server_streams(http_kit_server), HTTP_STREAMS_MAX);
    int fd = follow(1);
    cr_assert(stream == NULL);
    http_kit_expect_answer(fd);
    cr_assert(http_kit_starts(http_kit_answer, "HTTP/1.1 503"), "%s", http_kit_answer);
    cr_assert(strstr(http_kit_answer, "TooManyStreams") != NULL);
    close(fd);
    close(fds[0]);
    http_stream_end(first, TEXT(""));
    for (int i = 0; i < 1000 && http_server_streams(http_kit_server) == HTTP_STREAMS_MAX; i++)
        loop_once(http_kit_loop, 1);
    fd = follow(1);
    cr_assert(stream != NULL, "the place of the one that ended is free");
    close(fd);
    for (int i = 1; i < HTTP_STREAMS_MAX; i++)
        close(fds[i]);
}

Test(http_stream, ends_with_the_server)
{
    struct http_kit_peer waiting = {.fd = follow(1)};
    struct http_kit_peer full = {.fd = follow(1)};
    fill();
    http_server_free(http_kit_server);
    http_kit_server = NULL;
    cr_assert_eq(closed, 0);
    cr_assert(is_closed(&waiting));
    close(waiting.fd);
    close(full.fd);
}

Test(http_stream, begins_no_stream_for_a_client_that_has_gone)
{
    int fd = http_kit_dial();
    http_kit_send_text(fd, "GET /hold HTTP/1.1\r\n" HTTP_KIT_HOST "\r\n");
    cr_assert(loop_run_until(http_kit_loop, http_kit_is_held, NULL, HTTP_KIT_WAIT_MS));
    http_server_free(http_kit_server); /* completes the connection */
    http_kit_server = NULL;
    cr_assert(http_respond_stream(http_kit_held, "text/plain", on_closed, NULL) == NULL);
    cr_assert_eq(closed, 0);
    close(fd);
}
