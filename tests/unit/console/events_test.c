/* SPDX-License-Identifier: Apache-2.0 */
/* GET /api/events sends changes as they happen. */
#include "tests/lib/site.h"
#include "tests/unit/console/fixture.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { WAIT_MS = 30000, RECEIVED_MAX = 8 << 20 };

struct client {
    int fd;
    char *received;
    size_t size;
    size_t read; /* what expect() has found lies before */
    bool closed;
};

static void open_world(void)
{
    world = world_new(3, "A{c} B");
    world_open(world);
}

TestSuite(console_events, .init = open_world, .fini = close_world, .timeout = 120);

static void dial(struct client *client, const char *query, const char *headers)
{
    char request[1024];
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons(http_server_port(world->service.http)),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int small = 4096;
    *client = (struct client){.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0),
                              .received = calloc(1, RECEIVED_MAX)};
    cr_assert(setsockopt(client->fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)) == 0);
    cr_assert(connect(client->fd, (struct sockaddr *)&address, sizeof(address)) == 0);
    cr_assert(fcntl(client->fd, F_SETFL, O_NONBLOCK) == 0);
    int size = snprintf(request, sizeof(request),
                        "GET /api/events%s HTTP/1.1\r\nHost: localhost\r\n%s\r\n", query, headers);
    cr_assert(send(client->fd, request, (size_t)size, 0) == size);
}

static void hang_up(struct client *client)
{
    close(client->fd);
    free(client->received);
}

static void receive(struct client *client)
{
    ssize_t got = 1;
    while (got > 0) {
        cr_assert_lt(client->size, RECEIVED_MAX - 1);
        got = recv(client->fd, client->received + client->size, RECEIVED_MAX - 1 - client->size, 0);
        client->size += got > 0 ? (size_t)got : 0;
    }
    client->closed = client->closed || got == 0;
}

/* Waits for the text behind what was found before; returns where it is. */
static const char *expect(struct client *client, const char *text)
{
    int64_t until = clock_mono_ms(clock_real()) + WAIT_MS;
    const char *found;
    while ((found = strstr(client->received + client->read, text)) == NULL) {
        cr_assert_lt(clock_mono_ms(clock_real()), until, "no %s in: %.2000s", text,
                     client->received + client->read);
        world_turn(world);
        receive(client);
    }
    client->read = (size_t)(found - client->received) + strlen(text);
    return found;
}

static void expect_closed(struct client *client)
{
    int64_t until = clock_mono_ms(clock_real()) + WAIT_MS;
    while (!client->closed) {
        cr_assert_lt(clock_mono_ms(clock_real()), until, "the stream does not end");
        world_turn(world);
        receive(client);
    }
}

static void follow(struct client *client, const char *query, const char *headers)
{
    dial(client, query, headers);
    expect(client, "id: ");
}

static void submit(const char *id)
{
    world_submit(world, id, "test");
    world_schedule(world);
}

/* The last cursor before the place; as a header. */
static void last_id(const struct client *client, char *ret_header, size_t size)
{
    const char *last = client->received;
    for (const char *at = last; (at = strstr(at, "id: ")) != NULL; at++)
        last = at[-1] == '\n' ? at : last;
    snprintf(ret_header, size, "Last-Event-ID: %.*s\r\n", (int)strcspn(last + 4, "\n"), last + 4);
}

Test(console_events, sends_changes_as_they_happen)
{
    struct client client;
    follow(&client, "", "");
    cr_assert(strstr(client.received, "Content-Type: text/event-stream\r\n") != NULL);
    submit("one");
    expect(&client, "event: changes\ndata: {\"changes\":[{");
    expect(&client, "\"order_id\":\"one\"");
    expect(&client, "]}\n\n");
    world_report(world, "one", "A", true);
    world_schedule(world);
    expect(&client, "event: changes\n");
    expect(&client, "\"kind\":\"StepSucceeded\"");
    hang_up(&client);
}

Test(console_events, sends_several_changes_in_one_event)
{
    struct client client;
    follow(&client, "", "");
    for (int i = 0; i < 20; i++)
        world_submit(world, "x", "none");
    world_schedule(world);
    world_settle(world);
    int events = 0;
    int64_t from = clock_mono_ms(clock_real());
    while (clock_mono_ms(clock_real()) < from + 1000) {
        submit("y");
        world_turn(world);
        receive(&client);
    }
    for (const char *at = client.received; (at = strstr(at, "event: changes")) != NULL; at++)
        events++;
    cr_assert(events >= 2 && events <= 5, "%d events in a second", events);
    hang_up(&client);
}

Test(console_events, sends_only_what_the_filter_lets_through)
{
    struct client one, none;
    follow(&one, "?order=two&workflow=test&state=processing", "");
    follow(&none, "?workflow=other", "");
    submit("one");
    submit("two");
    expect(&one, "\"order_id\":\"two\"");
    cr_assert(strstr(one.received, "\"order_id\":\"one\"") == NULL);
    receive(&none);
    cr_assert(strstr(none.received, "event:") == NULL, "%s", none.received);
    hang_up(&one);
    hang_up(&none);
    SHOWS(world_get(world, 400, "/api/events?state=none"), {"detail", "~state"});
}

Test(console_events, resumes_after_the_last_event)
{
    struct client client;
    char header[128], query[128];
    follow(&client, "", "");
    submit("one");
    expect(&client, "\"order_id\":\"one\"");
    expect(&client, "\n\n");
    last_id(&client, header, sizeof(header));
    hang_up(&client);
    submit("two");
    world_settle(world);
    dial(&client, "", header);
    expect(&client, "\"order_id\":\"two\"");
    cr_assert(strstr(client.received, "\"order_id\":\"one\"") == NULL);
    cr_assert(strstr(client.received, "event: reset") == NULL);
    hang_up(&client);
    snprintf(query, sizeof(query), "?after=%.*s", (int)strcspn(header + 15, "\r"), header + 15);
    dial(&client, query, "");
    expect(&client, "\"order_id\":\"two\"");
    hang_up(&client);
}

Test(console_events, resets_a_client_whose_cursor_is_unknown)
{
    static const char *const headers[] = {"Last-Event-ID: x\r\n", "Last-Event-ID: \r\n",
                                          "Last-Event-ID: ffffffffffffffff.0\r\n"};
    for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++) {
        struct client client;
        follow(&client, "", headers[i]);
        expect(&client, "event: reset\ndata: {}\n\n");
        submit("one");
        expect(&client, "\"order_id\":\"one\"");
        hang_up(&client);
    }
}

Test(console_events, resets_a_client_that_missed_too_many_changes)
{
    struct client client;
    follow(&client, "", "");
    for (int i = 0; i < CHANGES_MAX + 10; i++)
        world_submit(world, "x", "none");
    world_schedule(world);
    expect(&client, "event: reset\n");
    hang_up(&client);
}

Test(console_events, sends_heartbeats)
{
    struct client client;
    follow(&client, "", "");
    world_advance(world, EVENTS_HEARTBEAT_MS + 500);
    expect(&client, ": heartbeat\nid: ");
    hang_up(&client);
}

/* The client's socket and the buffer are full; then it reads all that was sent. */
Test(console_events, tells_a_client_that_does_not_read_to_reload)
{
    struct client client;
    follow(&client, "", "");
    for (int i = 0; i < 40 && http_server_streams(world->service.http) > 0; i++) {
        char *metrics = NULL;
        size_t size = 0;
        for (int n = 0; n < 600; n++)
            world_submit(world, "x", "none");
        world_schedule(world);
        world_settle(world);
        world_advance(world, EVENTS_TICK_MS);
        metrics = metrics_render(world->service.metrics, &size);
        bool slow = strstr(metrics, "reeve_console_slow_streams_total 1\n") != NULL;
        free(metrics);
        if (slow)
            break;
    }
    expect(&client, "event: reload\ndata: {}\n\n");
    expect_closed(&client);
    hang_up(&client);
}

Test(console_events, forgets_clients_that_have_gone)
{
    struct client clients[5];
    for (int i = 0; i < 5; i++)
        follow(&clients[i], "", "");
    cr_assert_eq(http_server_streams(world->service.http), 5);
    for (int i = 0; i < 5; i++)
        hang_up(&clients[i]);
    int64_t until = clock_mono_ms(clock_real()) + WAIT_MS;
    while (http_server_streams(world->service.http) > 0) {
        cr_assert_lt(clock_mono_ms(clock_real()), until);
        world_turn(world);
    }
}

Test(console_events, ends_the_streams_when_it_shuts_down)
{
    struct client client;
    follow(&client, "", "");
    events_drain(world->console->events);
    expect_closed(&client);
    hang_up(&client);
    SHOWS(world_get(world, 503, "/api/events"), {"detail", HTTP_SHUTTING_DOWN});
}

static int64_t end_of(const char *id)
{
    return site_end(world->kafka, "t.events", world_partition(id));
}

/* What the page shows may never have been decided. */
Test(console_events, tells_pages_to_read_again_when_a_part_of_the_log_is_skipped)
{
    struct client client;
    follow(&client, "", "");
    int64_t before = end_of("one");
    submit("one");
    expect(&client, "\"order_id\":\"one\"");
    world_skip(world, world_partition("one"), before);
    expect(&client, "event: reset\ndata: {}\n");
    json_decref(world_get(world, 404, "/api/orders/one")); /* it is folded again by then */
    hang_up(&client);
}

Test(console_events, tells_pages_to_read_again_after_a_reset)
{
    struct client client;
    follow(&client, "", "");
    submit("one");
    expect(&client, "\"order_id\":\"one\"");
    world_reset(world, world_partition("one"), end_of("one"));
    expect(&client, "event: reset\ndata: {}\n");
    hang_up(&client);
}
