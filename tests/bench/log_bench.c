/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the log of made-up orders (order_log.h) to a cluster, for pages.py.
 *
 *     bench-log BOOTSTRAP PREFIX PARTITIONS ORDERS
 *
 * The topics exist. The last order is submitted now. */
#include "kafka/client.h"
#include "kafka/topics/topics.h"
#include "platform/logger.h"
#include "tests/bench/order_log.h"

#include <stdio.h>
#include <stdlib.h>

enum { WAIT_MS = 60000, ORDERS_A_TURN = 250 };

struct writer {
    struct loop *loop;
    struct broker *broker;
    struct topics topics;
    uint64_t sent;
    uint64_t acked;
};

static void must(enum error_class class, const struct error *error)
{
    if (class == ERROR_OK)
        return;
    fprintf(stderr, "bench-log: %s\n", error->message);
    exit(1);
}

static void on_appended(void *ctx, uint64_t token, int64_t offset, const struct error *error)
{
    struct writer *writer = ctx;
    (void)token;
    (void)offset;
    must(error->class, error);
    writer->acked++;
}

static void on_record(void *ctx, int32_t partition, struct text key, struct text value)
{
    struct writer *writer = ctx;
    struct error error;
    struct broker_append append = {.producer = BROKER_PRODUCER_LOG,
                                   .topic = writer->topics.events,
                                   .partition = partition,
                                   .key = key,
                                   .value = value,
                                   .done = on_appended,
                                   .ctx = writer,
                                   .token = writer->sent++};
    while (broker_append(writer->broker, &append, &error) != ERROR_OK)
        loop_once(writer->loop, 10);
}

static bool is_written(void *ctx)
{
    const struct writer *writer = ctx;
    return writer->acked == writer->sent;
}

int main(int argc, char **argv)
{
    struct error error;
    struct writer writer = {.sent = 0};
    if (argc != 5) {
        fprintf(stderr, "usage: bench-log BOOTSTRAP PREFIX PARTITIONS ORDERS\n");
        return 64;
    }
    int32_t partitions = (int32_t)strtol(argv[3], NULL, 10);
    int64_t orders = strtoll(argv[4], NULL, 10);
    struct kafka_client_options options = {.bootstrap_servers = argv[1], .client_id = "bench-log"};
    log_set_level(LOG_LEVEL_ERROR);
    must(loop_new(clock_real(), &writer.loop, &error), &error);
    must(topics_init(&writer.topics, argv[2], &error), &error);
    must(kafka_client_new(writer.loop, &options, &writer.broker, &error), &error);
    struct codec *codec = codec_new();
    int64_t began = clock_wall_ms(clock_real()) - orders * ORDER_LOG_EACH_MS;
    struct order_log *log = order_log_new(codec, partitions, began, on_record, &writer);
    for (int64_t i = 0; i < orders; i++) {
        order_log_add(log);
        if (i % ORDERS_A_TURN == 0)
            loop_once(writer.loop, 0);
    }
    bool written = loop_run_until(writer.loop, is_written, &writer, WAIT_MS);
    printf("%llu\n", (unsigned long long)writer.acked);
    order_log_free(log);
    codec_free(codec);
    broker_free(writer.broker);
    loop_free(writer.loop);
    return written ? 0 : 1;
}
