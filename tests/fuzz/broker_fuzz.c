/* SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer: a client sends requests to the embedded broker. The bytes are requests one after the
 * other, each with its length in two bytes in front. Whatever they say, the broker answers each
 * with that request's number or closes the connection, its logs are as long as their offsets tell,
 * and what it holds has the limits of catalogue.h. */
#include "base/bytes.h"
#include "kafka/embedded/api.h"
#include "kafka/embedded/api_groups.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { TURNS_MAX = 1000, PASS_MS = 700, LENGTH = 2, SIZE = 4, HEAD = 8, ANSWER_MAX = 1 << 20 };
#define PARTITION_BYTES (UINT64_C(1) << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct clock_manual manual;
static struct embedded_node broker;
static int client;
static uint8_t answer[ANSWER_MAX];

static void on_request(void *ctx, struct peer *peer)
{
    api_handle(ctx, peer);
}

static void on_closed(void *ctx, struct peer *peer)
{
    (void)ctx;
    groups_forget_peer(broker.groups, peer);
}

static const struct peers_ops peers_ops = {.request = on_request, .closed = on_closed};

static void open_broker(void)
{
    struct error error;
    broker = (struct embedded_node){.next_producer = 1};
    clock_manual_init(&manual, 1000000);
    enum error_class class = loop_new(&manual.clock, &broker.loop, &error);
    assert(class == ERROR_OK);
    class = catalogue_open(NULL, PARTITION_BYTES, &broker.catalogue, &error);
    assert(class == ERROR_OK);
    class = peers_new(broker.loop, 0, &peers_ops, &broker, &broker.peers, &error);
    assert(class == ERROR_OK);
    broker.groups = groups_new(broker.loop, &api_groups_ops);
    loop_deferred_init(&broker.appended, api_serve_fetches, &broker);
    rd_kafka_resp_err_t code = catalogue_create(broker.catalogue, TEXT("t"), 2);
    assert(code == RD_KAFKA_RESP_ERR_NO_ERROR);
    (void)class;
    (void)code;
}

static void close_broker(void)
{
    peers_free(broker.peers);
    groups_free(broker.groups);
    catalogue_close(broker.catalogue);
    loop_free(broker.loop);
}

static void connect_client(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)peers_port(broker.peers)),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct linger hard = {.l_onoff = 1}; /* leaves no socket behind that waits for a minute */
    client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert(client >= 0);
    setsockopt(client, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
    int result;
    do { /* the timer of libFuzzer interrupts it, and it goes on meanwhile */
        result = connect(client, (struct sockaddr *)&address, sizeof(address));
    } while (result != 0 && (errno == EINTR || errno == EALREADY));
    assert(result == 0 || errno == EISCONN);
}

static void settle(void)
{
    for (int turns = 0; turns < TURNS_MAX && loop_once(broker.loop, 0) > 0; turns++)
        ;
}

/* What has come; 0: nothing, -1: the connection is closed. */
static ssize_t take(void *to, size_t size, int flags)
{
    ssize_t got = recv(client, to, size, MSG_DONTWAIT | flags);
    return got > 0 ? got : got == 0 ? -1 : 0;
}

/* False: there is none, and there will be none. */
static bool take_answer(const uint8_t *request, size_t size)
{
    uint8_t head[SIZE];
    for (int times = 0; times < 3; times++) { /* it may wait for records, or for members */
        settle();
        ssize_t got = take(head, SIZE, MSG_PEEK);
        if (got < 0)
            return false;
        if (got == SIZE)
            break;
        clock_manual_advance(&manual, PASS_MS);
    }
    if (take(head, SIZE, 0) != SIZE)
        return false;
    size_t left = (size_t)bytes_get_be(head, SIZE);
    assert(left >= SIZE && left <= ANSWER_MAX && size >= HEAD);
    size_t at = 0;
    while (at < left) {
        ssize_t got = take(answer + at, left - at, 0);
        assert(got >= 0);
        at += (size_t)got;
        if (got == 0)
            settle();
    }
    assert(memcmp(answer, request + 4, SIZE) == 0);
    (void)request;
    return true;
}

static bool send_request(const uint8_t *request, size_t size)
{
    uint8_t head[SIZE];
    bytes_put_be(head, size, SIZE);
    if (send(client, head, SIZE, MSG_NOSIGNAL) != SIZE ||
        send(client, request, size, MSG_NOSIGNAL) != (ssize_t)size)
        return false;
    return take_answer(request, size);
}

static void check_topics(void)
{
    size_t topics = 0;
    for (const struct topic *topic = NULL;
         (topic = catalogue_next(broker.catalogue, topic)) != NULL; topics++) {
        assert(topic->setting_count <= CATALOGUE_SETTINGS_MAX);
        for (int32_t i = 0; i < topic->partition_count; i++) {
            const struct partition_log *log = topic->partitions[i].log;
            struct partition_log_start start = partition_log_start(log);
            assert(start.offset <= partition_log_end(log));
            assert(partition_log_bytes(log) <= PARTITION_BYTES);
            assert((partition_log_readable(log, start.offset, 1) > 0) ==
                   (start.offset < partition_log_end(log)));
        }
    }
    assert(topics <= CATALOGUE_TOPICS_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    open_broker();
    connect_client();
    while (size > LENGTH) {
        size_t length = (size_t)bytes_get_be(data, LENGTH);
        data += LENGTH;
        size -= LENGTH;
        length = length < size ? length : size;
        if (length == 0 || !send_request(data, length))
            break;
        data += length;
        size -= length;
    }
    close(client);
    settle();
    check_topics();
    close_broker();
    return 0;
}
