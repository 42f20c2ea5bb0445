/* SPDX-License-Identifier: Apache-2.0 */
/* See raw.h. A record says by its first byte which hop it is, and by its key which order. */
#include "tools/bench/raw.h"

#include "base/numbers.h"

#include <assert.h>
#include <inttypes.h>
#include <librdkafka/rdkafka.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
    KEY_SIZE = 24,
    POLL_MS = 50,
    SHOW_MS = 250,
    SILENCE_MS = 30000,
    LINGER_ABOVE = 48, /* in flight: from there on reeve batches as well (kafka/append_flow.h) */
    LINGER_MS = 3
};

/* Who consumes which topic. The last one is the load, which also produces the first hop. */
enum relay {
    RELAY_SUBMISSIONS,
    RELAY_COMMANDS,
    RELAY_EVENTS,
    RELAY_REQUESTS,
    RELAY_REPLIES,
    RELAY_COUNT
};

static const enum relay hops[BENCH_RAW_HOPS] = {
    RELAY_SUBMISSIONS, RELAY_COMMANDS, RELAY_EVENTS,   RELAY_REQUESTS, RELAY_COMMANDS,
    RELAY_EVENTS,      RELAY_REQUESTS, RELAY_COMMANDS, RELAY_EVENTS,   RELAY_REQUESTS,
    RELAY_COMMANDS,    RELAY_EVENTS,   RELAY_REPLIES};

static const char key_format[] = "bench-%012" PRIu64;
enum { KEY_PREFIX = sizeof("bench-") - 1 };

struct raw_relay {
    struct bench_raw *raw;
    enum relay number;
    rd_kafka_t *consumer;
    rd_kafka_t *producer;
    pthread_t thread;
    bool started;
};

struct bench_raw {
    struct bench_stage *stage; /* whose loop runs meanwhile */
    const struct bench_stage *bare;
    const struct bench_raw_sample *sample;
    int32_t partition_count;
    char topics[RELAY_COUNT][TOPIC_NAME_SIZE];
    struct raw_relay relays[RELAY_COUNT];
    atomic_bool stop;
    atomic_bool failed;
    pthread_mutex_t lock;
    atomic_bool broken;
    struct error failure;     /* of the thread that broke it, before it says that it failed */
    struct bench_round round; /* under the lock; orders 0 = none */
    /* Of the load's thread while orders are on their way, else of the caller's: */
    uint64_t next; /* order, over all rounds */
    uint64_t first;
    int64_t *begun_us;
    int64_t *took_us;
    int64_t last_us;
    atomic_uint_fast64_t over;
};

static void fail(struct bench_raw *raw, const char *what, const char *why)
{
    if (!atomic_exchange(&raw->broken, true)) {
        error_set(&raw->failure, CODE_RAW_CHAIN, "the raw chain cannot %s: %s", what, why);
        atomic_store(&raw->failed, true);
    }
}

/* ---- a sample ---- */

struct sampling {
    struct bench_raw_sample *sample;
    enum relay relay;
    char key[KEY_SIZE];
    int at; /* the next hop to look for in this topic; BENCH_RAW_HOPS: all are there */
};

static int next_hop_of(enum relay relay, int after)
{
    int hop = after + 1;
    while (hop < BENCH_RAW_HOPS && hops[hop] != relay)
        hop++;
    return hop;
}

static void on_sampled(void *ctx, const struct broker_record *record)
{
    struct sampling *sampling = ctx;
    if (!text_equal(record->key, text_of(sampling->key)))
        return;
    /* Of the statuses the last one is the reply; of the other topics each record is a hop. */
    int hop = sampling->relay == RELAY_REPLIES ? BENCH_RAW_HOPS - 1 : sampling->at;
    if (hop == BENCH_RAW_HOPS || record->value.size == 0)
        return;
    struct bench_raw_sample *sample = sampling->sample;
    free(sample->values[hop]);
    sample->values[hop] = malloc(record->value.size);
    assert(sample->values[hop] != NULL);
    memcpy(sample->values[hop], record->value.data, record->value.size);
    sample->sizes[hop] = record->value.size;
    sampling->at = next_hop_of(sampling->relay, hop);
}

static void on_sampled_end(void *ctx, int64_t next_offset)
{
    (void)ctx;
    (void)next_offset;
}

static void on_sampled_error(void *ctx, const struct error *error)
{
    (void)ctx;
    (void)error; /* the wait for the records ends */
}

static bool is_sampled(void *ctx)
{
    const struct sampling *sampling = ctx;
    return sampling->at == BENCH_RAW_HOPS;
}

static void name_topics(const struct bench_stage *stage, char names[RELAY_COUNT][TOPIC_NAME_SIZE])
{
    const struct topics *topics = &stage->topics;
    snprintf(names[RELAY_SUBMISSIONS], TOPIC_NAME_SIZE, "%s", topics->submissions);
    snprintf(names[RELAY_COMMANDS], TOPIC_NAME_SIZE, "%s", topics->commands);
    snprintf(names[RELAY_EVENTS], TOPIC_NAME_SIZE, "%s", topics->events);
    topics_requests(topics, TEXT(BENCH_AGENT), names[RELAY_REQUESTS]);
    topics_replies(topics, TEXT(BENCH_APP), names[RELAY_REPLIES]);
}

enum error_class bench_raw_sample_take(struct bench_stage *reader, const struct bench_stage *stage,
                                       struct bench_raw_sample *ret_sample, struct error *ret_error)
{
    static const struct broker_reader_ops ops = {on_sampled, on_sampled_end, on_sampled_error};
    struct cluster *cluster = reader->session.cluster;
    char names[RELAY_COUNT][TOPIC_NAME_SIZE];
    enum error_class class = ERROR_OK;
    *ret_sample = (struct bench_raw_sample){0};
    name_topics(stage, names);
    for (int i = 0; i < RELAY_COUNT && class == ERROR_OK; i++) {
        struct sampling sampling = {.sample = ret_sample, .relay = (enum relay)i};
        snprintf(sampling.key, sizeof(sampling.key), key_format, UINT64_C(0));
        sampling.at = next_hop_of(sampling.relay, -1);
        int32_t partition = broker_partition_of(text_of(sampling.key), cluster->partition_count);
        struct broker_reader *records =
            broker_read(cluster->broker, names[i], partition, 0, &ops, &sampling);
        class = bench_stage_wait(reader, is_sampled, &sampling, SILENCE_MS, ret_error);
        broker_reader_close(records);
    }
    return class;
}

void bench_raw_sample_deinit(struct bench_raw_sample *sample)
{
    for (int i = 0; i < BENCH_RAW_HOPS; i++)
        free(sample->values[i]);
}

/* ---- a hop ---- */

static void produce(struct raw_relay *relay, int hop, struct text key)
{
    struct bench_raw *raw = relay->raw;
    const struct bench_raw_sample *sample = raw->sample;
    char *value = sample->values[hop];
    assert(hop < BENCH_RAW_HOPS && value != NULL);
    const rd_kafka_vu_t arguments[] = {
        {.vtype = RD_KAFKA_VTYPE_TOPIC, .u.cstr = raw->topics[hops[hop]]},
        {.vtype = RD_KAFKA_VTYPE_PARTITION,
         .u.i32 = broker_partition_of(key, raw->partition_count)},
        {.vtype = RD_KAFKA_VTYPE_KEY, .u.mem = {(void *)key.data, key.size}},
        {.vtype = RD_KAFKA_VTYPE_VALUE, .u.mem = {value, sample->sizes[hop]}},
        {.vtype = RD_KAFKA_VTYPE_MSGFLAGS, .u.i = RD_KAFKA_MSG_F_COPY},
    };
    rd_kafka_error_t *error =
        rd_kafka_produceva(relay->producer, arguments, sizeof(arguments) / sizeof(arguments[0]));
    if (error == NULL)
        return;
    fail(raw, "produce", rd_kafka_error_string(error));
    rd_kafka_error_destroy(error);
}

/* ---- the load ---- */

static void submit_what_fits(struct raw_relay *relay)
{
    struct bench_raw *raw = relay->raw;
    pthread_mutex_lock(&raw->lock);
    while (raw->next - raw->first < raw->round.orders &&
           raw->next - raw->first - atomic_load(&raw->over) < raw->round.in_flight &&
           !atomic_load(&raw->failed)) {
        char key[KEY_SIZE];
        uint64_t sequence = raw->next++;
        int size = snprintf(key, sizeof(key), key_format, sequence);
        raw->begun_us[sequence - raw->first] = clock_mono_us(raw->stage->session.context.clock);
        produce(relay, 0, (struct text){key, (uint32_t)size});
    }
    pthread_mutex_unlock(&raw->lock);
}

static void take_reply(struct bench_raw *raw, struct text key)
{
    struct text digits = text_from(key, KEY_PREFIX);
    uint64_t number = 0;
    number_take(&digits, UINT64_MAX, &number);
    assert(number >= raw->first && number < raw->next); /* no earlier round left one */
    raw->last_us = clock_mono_us(raw->stage->session.context.clock);
    raw->took_us[number - raw->first] = raw->last_us - raw->begun_us[number - raw->first];
    atomic_fetch_add(&raw->over, 1);
}

/* ---- the threads ---- */

static void take_record(struct raw_relay *relay, const rd_kafka_message_t *message)
{
    struct bench_raw *raw = relay->raw;
    struct text key = {message->key, (uint32_t)message->key_len};
    if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
        fail(raw, "consume", rd_kafka_message_errstr(message));
        return;
    }
    int hop = *(const uint8_t *)message->payload;
    if (hop + 1 < BENCH_RAW_HOPS)
        produce(relay, hop + 1, key);
    else
        take_reply(raw, key);
}

static void *run_relay(void *userdata)
{
    struct raw_relay *relay = userdata;
    struct bench_raw *raw = relay->raw;
    bool is_load = relay->number == RELAY_REPLIES;
    while (!atomic_load(&raw->stop) && !atomic_load(&raw->failed)) {
        if (is_load)
            submit_what_fits(relay);
        /* Whatever is there, then the next submissions: a burst is a batch. */
        rd_kafka_message_t *message = rd_kafka_consumer_poll(relay->consumer, POLL_MS);
        for (; message != NULL; message = rd_kafka_consumer_poll(relay->consumer, 0)) {
            take_record(relay, message);
            rd_kafka_message_destroy(message);
        }
    }
    return NULL;
}

static bool is_finished(void *ctx)
{
    struct bench_raw *raw = ctx;
    return atomic_load(&raw->failed) || atomic_load(&raw->over) == raw->round.orders;
}

/* ---- clients ---- */

static enum error_class set(rd_kafka_conf_t *conf, const char *name, const char *value,
                            struct error *ret_error)
{
    char reason[256] = "";
    if (rd_kafka_conf_set(conf, name, value, reason, sizeof(reason)) == RD_KAFKA_CONF_OK)
        return ERROR_OK;
    return error_set(ret_error, CODE_CONFIG, "kafka.%s: %s", name, reason);
}

/* What reeve's own clients have (kafka/client_conf.c), then what the user says. */
static enum error_class client_new(const struct bench_raw *raw, rd_kafka_type_t type, bool lingers,
                                   rd_kafka_t **ret_client, struct error *ret_error)
{
    const struct kafka_setting common[] = {
        {"socket.nagle.disable", "true"}, {"log_level", "3"}, {"check.crcs", "true"}};
    char linger[16];
    snprintf(linger, sizeof(linger), "%d", lingers ? LINGER_MS : 0);
    const struct kafka_setting producer[] = {{"linger.ms", linger},  {"compression.codec", "lz4"},
                                             {"acks", "all"},        {"enable.idempotence", "true"},
                                             {"max.in.flight", "5"}, {"message.timeout.ms", "0"}};
    const struct kafka_setting consumer[] = {{"group.id", "bench-raw"},
                                             {"enable.auto.commit", "false"},
                                             {"fetch.wait.max.ms", "50"},
                                             {"auto.offset.reset", "error"}};
    bool produces = type == RD_KAFKA_PRODUCER;
    const struct kafka_setting *own = produces ? producer : consumer;
    size_t own_count =
        produces ? sizeof(producer) / sizeof(producer[0]) : sizeof(consumer) / sizeof(consumer[0]);
    struct cluster_kafka_options kafka;
    enum error_class class = cluster_kafka_options(raw->bare->cli.config, 0, &kafka, ret_error);
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    for (size_t i = 0; i < sizeof(common) / sizeof(common[0]) && class == ERROR_OK; i++)
        class = set(conf, common[i].name, common[i].value, ret_error);
    for (size_t i = 0; i < own_count && class == ERROR_OK; i++)
        class = set(conf, own[i].name, own[i].value, ret_error);
    for (size_t i = 0; i < kafka.options.setting_count && class == ERROR_OK; i++)
        class =
            set(conf, kafka.options.settings[i].name, kafka.options.settings[i].value, ret_error);
    char reason[256] = "";
    *ret_client = class == ERROR_OK ? rd_kafka_new(type, conf, reason, sizeof(reason)) : NULL;
    if (*ret_client == NULL)
        rd_kafka_conf_destroy(conf);
    if (class == ERROR_OK && *ret_client == NULL)
        class = error_set_as(ret_error, ERROR_FATAL, CODE_RAW_CHAIN, "no client: %s", reason);
    return class;
}

/* From the end on: what earlier rounds left is not read. */
static enum error_class assign(struct raw_relay *relay, struct error *ret_error)
{
    struct bench_raw *raw = relay->raw;
    const char *topic = raw->topics[relay->number];
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(8);
    rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR_NO_ERROR;
    for (int32_t p = 0; p < raw->partition_count && code == RD_KAFKA_RESP_ERR_NO_ERROR; p++) {
        int64_t low = 0;
        int64_t high = 0;
        code = rd_kafka_query_watermark_offsets(relay->consumer, topic, p, &low, &high, SILENCE_MS);
        rd_kafka_topic_partition_list_add(list, topic, p)->offset = high;
    }
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR)
        code = rd_kafka_assign(relay->consumer, list);
    rd_kafka_topic_partition_list_destroy(list);
    return code == RD_KAFKA_RESP_ERR_NO_ERROR
               ? ERROR_OK
               : error_set(ret_error, CODE_RAW_CHAIN, "cannot read %s: %s", topic,
                           rd_kafka_err2str(code));
}

static void stop_relays(struct bench_raw *raw)
{
    atomic_store(&raw->stop, true);
    for (int i = 0; i < RELAY_COUNT; i++) {
        struct raw_relay *relay = &raw->relays[i];
        if (relay->started)
            pthread_join(relay->thread, NULL);
        if (relay->consumer != NULL)
            rd_kafka_destroy(relay->consumer);
        if (relay->producer != NULL)
            rd_kafka_destroy(relay->producer);
    }
}

static enum error_class start_relays(struct bench_raw *raw, bool lingers, struct error *ret_error)
{
    enum error_class class = ERROR_OK;
    for (int i = 0; i < RELAY_COUNT && class == ERROR_OK; i++) {
        struct raw_relay *relay = &raw->relays[i];
        class = client_new(raw, RD_KAFKA_CONSUMER, lingers, &relay->consumer, ret_error);
        if (class == ERROR_OK)
            class = client_new(raw, RD_KAFKA_PRODUCER, lingers, &relay->producer, ret_error);
        if (class == ERROR_OK)
            class = assign(relay, ret_error);
    }
    for (int i = 0; i < RELAY_COUNT && class == ERROR_OK; i++) {
        raw->relays[i].started =
            pthread_create(&raw->relays[i].thread, NULL, run_relay, &raw->relays[i]) == 0;
        if (!raw->relays[i].started)
            class = error_set_as(ret_error, ERROR_FATAL, CODE_RAW_CHAIN, "cannot start a thread");
    }
    return class;
}

/* ---- rounds ---- */

static enum error_class wait_for_all(struct bench_raw *raw, struct error *ret_error)
{
    uint64_t seen = 0;
    int64_t silent_ms = 0;
    struct error error;
    while (bench_stage_wait(raw->stage, is_finished, raw, SHOW_MS, &error) != ERROR_OK) {
        uint64_t over = atomic_load(&raw->over);
        silent_ms = over == seen ? silent_ms + SHOW_MS : 0;
        seen = over;
        if (error.code != CODE_SILENT || silent_ms > SILENCE_MS)
            return error_wrap(ret_error, &error,
                              "%" PRIu64 " of %" PRIu64 " orders are through the raw chain: %s",
                              over, raw->round.orders, error.message);
    }
    if (!atomic_load(&raw->failed))
        return ERROR_OK;
    *ret_error = raw->failure;
    return ret_error->class;
}

enum error_class bench_raw_run(struct bench_raw *raw, const struct bench_round *round,
                               struct bench_figures *ret_figures, struct error *ret_error)
{
    assert(round->orders > 0 && round->in_flight > 0);
    free(raw->begun_us);
    free(raw->took_us);
    raw->begun_us = calloc(round->orders, sizeof(raw->begun_us[0]));
    raw->took_us = calloc(round->orders, sizeof(raw->took_us[0]));
    assert(raw->begun_us != NULL && raw->took_us != NULL);
    pthread_mutex_lock(&raw->lock);
    raw->first = raw->next;
    atomic_store(&raw->over, 0);
    raw->round = *round;
    pthread_mutex_unlock(&raw->lock);
    enum error_class class = wait_for_all(raw, ret_error);
    if (class != ERROR_OK)
        return class;
    *ret_figures = bench_figures_of(raw->took_us, round->orders, raw->last_us - raw->begun_us[0]);
    return ERROR_OK;
}

/* ---- life ---- */

static bool is_set(const char *value)
{
    return value != NULL && *value != '\0';
}

enum error_class bench_raw_new(const struct bench_stage *bare, struct bench_stage *stage,
                               const struct bench_raw_sample *sample, uint32_t in_flight,
                               struct bench_raw **ret_raw, struct error *ret_error)
{
    const struct config *config = bare->cli.config;
    if (is_set(config_string(config, "kafka.sasl.oauthbearer.token.file")) ||
        is_set(config_string(config, "kafka.sasl.oauthbearer.token.command")))
        return error_set(ret_error, CODE_USAGE,
                         "--raw cannot log in with OAUTHBEARER tokens: leave it out");
    struct bench_raw *raw = calloc(1, sizeof(*raw));
    assert(raw != NULL);
    raw->stage = stage;
    raw->sample = sample;
    raw->bare = bare;
    raw->partition_count = bare->session.cluster->partition_count;
    pthread_mutex_init(&raw->lock, NULL);
    name_topics(bare, raw->topics);
    for (int i = 0; i < RELAY_COUNT; i++)
        raw->relays[i] = (struct raw_relay){.raw = raw, .number = (enum relay)i};
    for (int hop = 0; hop < BENCH_RAW_HOPS; hop++) {
        assert(sample->values[hop] != NULL && sample->sizes[hop] > 0);
        sample->values[hop][0] = (char)hop;
    }
    enum error_class class = start_relays(raw, in_flight > LINGER_ABOVE, ret_error);
    if (class != ERROR_OK) {
        bench_raw_free(raw);
        return class;
    }
    *ret_raw = raw;
    return ERROR_OK;
}

void bench_raw_free(struct bench_raw *raw)
{
    if (raw == NULL)
        return;
    stop_relays(raw);
    pthread_mutex_destroy(&raw->lock);
    free(raw->begun_us);
    free(raw->took_us);
    free(raw);
}
