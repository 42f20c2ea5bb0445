/* SPDX-License-Identifier: Apache-2.0 */
/* See sender.h. */
#include "cli/submit/sender.h"

#include <assert.h>
#include <stdlib.h>
#include <utlist.h>

enum { AGAIN_MS = 200, RUN_MS = 50 };

struct flight {
    struct flight *prev;
    struct flight *next;
    struct sender *sender;
    int32_t partition;
    struct text key;
    struct text value;
    bool waiting; /* to be sent again */
    char bytes[];
};

struct sender {
    struct cli_session *session;
    const char *topic;
    sender_acked acked;
    void *ctx;
    struct flight *flights;
    uint32_t count;
    uint64_t bytes;
    uint32_t limit; /* what sender_wait waits for */
    uint64_t acknowledged;
    uint32_t calls; /* appends not answered */
    struct error failure;
    struct buffer value;
    struct loop_timer again;
    bool closed;
};

static void on_again(void *ctx);

struct sender *sender_new(struct cli_session *session, const char *topic, sender_acked acked,
                          void *ctx)
{
    struct sender *sender = calloc(1, sizeof(*sender));
    assert(sender != NULL);
    sender->session = session;
    sender->topic = topic;
    sender->acked = acked;
    sender->ctx = ctx;
    loop_timer_init(&sender->again, on_again, sender);
    return sender;
}

static void free_if_over(struct sender *sender)
{
    if (!sender->closed || sender->calls > 0)
        return;
    buffer_deinit(&sender->value);
    free(sender);
}

static void flight_free(struct flight *flight)
{
    struct sender *sender = flight->sender;
    assert(sender->count > 0 && sender->bytes >= flight->value.size);
    DL_DELETE(sender->flights, flight);
    sender->count--;
    sender->bytes -= flight->value.size;
    free(flight);
}

void sender_free(struct sender *sender)
{
    struct flight *flight;
    struct flight *next;
    if (sender == NULL)
        return;
    loop_timer_cancel(sender->session->context.loop, &sender->again);
    sender->closed = true;
    DL_FOREACH_SAFE(sender->flights, flight, next) {
        if (flight->waiting)
            flight_free(flight); /* the others are freed with their answers */
    }
    free_if_over(sender);
}

static void send_later(struct flight *flight)
{
    struct sender *sender = flight->sender;
    flight->waiting = true;
    if (!loop_timer_armed(&sender->again))
        loop_timer_after(sender->session->context.loop, &sender->again, AGAIN_MS);
}

static void on_appended(void *ctx, uint64_t token, int64_t offset, const struct error *error)
{
    struct flight *flight = ctx;
    struct sender *sender = flight->sender;
    (void)token;
    assert(sender->calls > 0 && !flight->waiting);
    sender->calls--;
    if (sender->closed) {
        flight_free(flight);
        free_if_over(sender);
        return;
    }
    if (error->class == ERROR_REJECT) {
        if (sender->failure.class == ERROR_OK)
            sender->failure = *error;
        flight_free(flight);
        return;
    }
    if (error->class != ERROR_OK) {
        send_later(flight);
        return;
    }
    sender->acknowledged++;
    if (sender->acked != NULL)
        sender->acked(sender->ctx, flight->key, flight->partition, offset);
    flight_free(flight);
}

static void append(struct flight *flight)
{
    struct sender *sender = flight->sender;
    struct broker_append append = {
        .producer = BROKER_PRODUCER_LOG,
        .topic = sender->topic,
        .partition = flight->partition,
        .key = flight->key,
        .value = flight->value,
        .batches = true,
        .done = on_appended,
        .ctx = flight,
    };
    flight->waiting = false;
    if (broker_append(sender->session->cluster->broker, &append, NULL) == ERROR_OK)
        sender->calls++;
    else
        send_later(flight);
}

static void on_again(void *ctx)
{
    struct sender *sender = ctx;
    struct flight *flight;
    struct flight *next;
    DL_FOREACH_SAFE(sender->flights, flight, next) {
        if (flight->waiting)
            append(flight);
    }
}

static bool is_below_limit(void *ctx)
{
    const struct sender *sender = ctx;
    return sender->failure.class != ERROR_OK ||
           (sender->count <= sender->limit && sender->bytes <= SENDER_BYTES_MAX / 2);
}

/* Until at most `limit` records are in flight; each acknowledgement restarts the timeout. */
static enum error_class wait_for(struct sender *sender, uint32_t limit, struct error *ret_error)
{
    const struct clock *clock = sender->session->context.clock;
    uint64_t seen = sender->acknowledged;
    int64_t since = clock_mono_ms(clock);
    sender->limit = limit;
    while (!cli_session_wait(sender->session, is_below_limit, sender, RUN_MS)) {
        int64_t now = clock_mono_ms(clock);
        if (sender->acknowledged != seen) {
            seen = sender->acknowledged;
            since = now;
        } else if (now - since > SENDER_SILENCE_MS) {
            return error_set(
                ret_error, CODE_NOT_ACKNOWLEDGED,
                "no acknowledgement from %s for %d s; %u records may or may not be there: "
                "submit them again, repetitions are harmless",
                sender->topic, SENDER_SILENCE_MS / 1000, sender->count);
        }
    }
    if (sender->failure.class == ERROR_OK)
        return ERROR_OK;
    if (ret_error != NULL)
        *ret_error = sender->failure;
    return sender->failure.class;
}

enum error_class sender_send(struct sender *sender, int32_t partition, struct text key,
                             enum record_kind kind, const void *record, struct error *ret_error)
{
    struct cluster *cluster = sender->session->cluster;
    if (sender->count >= SENDER_RECORDS_MAX || sender->bytes >= SENDER_BYTES_MAX) {
        enum error_class class = wait_for(sender, SENDER_RECORDS_MAX / 2, ret_error);
        if (class != ERROR_OK)
            return class;
    }
    assert(!sender->closed);
    sender->value.size = 0;
    if (record != NULL)
        codec_encode(cluster->codec, kind, record, &sender->value);
    struct flight *flight = malloc(sizeof(*flight) + key.size + sender->value.size);
    assert(flight != NULL);
    *flight = (struct flight){
        .sender = sender,
        .partition =
            partition >= 0 ? partition : broker_partition_of(key, cluster->partition_count),
        .key = {flight->bytes, key.size},
    };
    memcpy(flight->bytes, key.data, key.size);
    if (record != NULL) {
        flight->value = (struct text){flight->bytes + key.size, (uint32_t)sender->value.size};
        memcpy(flight->bytes + key.size, sender->value.data, sender->value.size);
    }
    DL_APPEND(sender->flights, flight);
    sender->count++;
    sender->bytes += flight->value.size;
    append(flight);
    return ERROR_OK;
}

enum error_class sender_flush(struct sender *sender, struct error *ret_error)
{
    return wait_for(sender, 0, ret_error);
}

static bool never(void *ctx)
{
    (void)ctx;
    return false;
}

void sender_run(struct sender *sender, int64_t ms)
{
    cli_session_wait(sender->session, never, NULL, ms);
}

uint64_t sender_acknowledged(const struct sender *sender)
{
    return sender->acknowledged;
}
