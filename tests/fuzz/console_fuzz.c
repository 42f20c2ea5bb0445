/* SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer: feeds a console of one partition, on the broker in memory and with a real store, what
 * its topics may hold, and asks it. The input is a list of
 *     what (1 byte), size (2 bytes, little-endian), bytes
 * where `what`, modulo 6, is
 *     0  a topic (1 byte), a record of it as it is
 *     1  a topic (1 byte), a kind (1 byte), the body of a record of it
 *     2  the rest of a Decision, from its order_id on: it counts, and consumes a command
 *     3  pairs of bytes: something that a scheduler does, and to which order
 *     4  a request: "GET /path?query", or "POST /path", a line feed, and the body
 *     5  pairs of bytes: something that happens, and how much
 * Whatever comes, every request has its answer, and the partition is read to its end, or stops at a
 * record that no owner wrote. */
#include "platform/logger.h"
#include "services/console/console.h"
#include "tests/fuzz/console_http.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/kept_store.h"
#include "tests/fuzz/log_writer.h"
#include "tests/simulation/simulated_service.h"

#include <assert.h>
#include <fcntl.h>
#include <unistd.h>

enum { INPUT_MAX = 64 * 1024, TURNS_MAX = 400, TURN_MS = 50, STEPS_PER_TURN = 2000 };
#define START_MS INT64_C(1700000000000)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct {
    struct clock_manual clock;
    struct loop *loop;
    struct broker_memory_cluster *kafka;
    struct broker *broker;
    struct service_context service;
    struct console *console;
    struct codec *codec;
    struct log_writer writer;
    bool may_stop; /* the log has records that no owner wrote */
} site;

static const char *const topics[] = {"p.events",    "p.alerts",  "p.dead-letters", "p.agents",
                                     "p.workflows", "p.schemas", "p.commands"};
enum { TOPICS = sizeof(topics) / sizeof(topics[0]) };

/* ---- the codec ---- */

/* Making one takes longer than an input: the console's is kept until it may have learned a schema.
 */
static struct {
    struct codec *codec;
    bool used;
    bool changed;
} kept_codec;

struct codec *__real_codec_new(void);
struct codec *__wrap_codec_new(void);
void __real_codec_free(struct codec *codec);
void __wrap_codec_free(struct codec *codec);

struct codec *__wrap_codec_new(void)
{
    assert(!kept_codec.used);
    kept_codec.used = true;
    if (kept_codec.codec == NULL)
        kept_codec.codec = __real_codec_new();
    return kept_codec.codec;
}

void __wrap_codec_free(struct codec *codec)
{
    assert(kept_codec.used && codec == kept_codec.codec);
    kept_codec.used = false;
    if (!kept_codec.changed)
        return;
    __real_codec_free(codec);
    kept_codec.codec = NULL;
    kept_codec.changed = false;
}

/* ---- the site ---- */

static void turn(int64_t ms)
{
    do {
        broker_memory_settle(site.kafka, STEPS_PER_TURN);
    } while (loop_once(site.loop, 0) > 0);
    clock_manual_advance(&site.clock, ms);
}

static void start(void)
{
    struct error error;
    site.service = (struct service_context){.name = "console",
                                            .instance_id = "console-1",
                                            .data_dir = "/nowhere",
                                            .clock = &site.clock.clock,
                                            .loop = site.loop};
    simulated_service_open(&site.service, "p", NULL);
    site.broker = broker_memory_new(site.kafka, "console-1");
    enum error_class class = console_new(&site.service, site.broker, &site.console, &error);
    assert(class == ERROR_OK);
}

static void stop(void)
{
    console_free(site.console);
    console_http_end();
    site.service.loop = NULL; /* it stays */
    simulated_service_close(&site.service);
}

static void open_site(void)
{
    static bool prepared;
    struct error error;
    if (!prepared) {
        log_set_fd(open("/dev/null", O_WRONLY | O_CLOEXEC));
        kept_store_prepare();
        site.codec = __real_codec_new();
    }
    prepared = true;
    clock_manual_init(&site.clock, START_MS);
    enum error_class class = loop_new(&site.clock.clock, &site.loop, &error);
    assert(class == ERROR_OK);
    site.kafka = broker_memory_cluster_new(1, &site.clock.clock);
    for (size_t i = 0; i < TOPICS; i++)
        broker_memory_topic(site.kafka, topics[i], 1);
    log_writer_open(&site.writer, site.kafka, site.codec, &site.clock.clock);
    site.may_stop = false;
    start();
    for (int i = 0; i < TURNS_MAX && site.console->api.owners == NULL; i++)
        turn(1);
    assert(site.console->api.owners != NULL);
}

static void close_site(void)
{
    stop();
    log_writer_close(&site.writer);
    broker_memory_cluster_free(site.kafka);
    loop_free(site.loop);
    kept_store_empty();
}

/* ---- what is fed ---- */

static void put(struct text bytes, bool framed)
{
    uint32_t head = framed ? 2 : 1;
    if (bytes.size < head)
        return;
    const char *topic = topics[(uint8_t)bytes.data[0] % TOPICS];
    enum record_kind kind = (enum record_kind)0;
    struct text key = TEXT("A");
    struct text value = text_from(bytes, head);
    if (framed)
        kind = (enum record_kind)((uint8_t)bytes.data[1] % RECORD_KIND_COUNT);
    /* These keys are names: up to a NUL. */
    if (strcmp(topic, "p.agents") == 0 || strcmp(topic, "p.workflows") == 0) {
        const char *nul = value.size > 0 ? memchr(value.data, 0, value.size) : NULL;
        if (nul == NULL)
            return;
        key = (struct text){value.data, (uint32_t)(nul - value.data)};
        value = text_from(value, key.size + 1);
    }
    site.may_stop = site.may_stop || strcmp(topic, "p.events") == 0;
    kept_codec.changed = kept_codec.changed || strcmp(topic, "p.schemas") == 0;
    if (kind == RECORD_EXPIRY && strcmp(topic, "p.events") == 0)
        log_writer_put_expiry(&site.writer, value);
    else
        log_writer_put(&site.writer, topic, key, kind, value);
}

static void happen(uint8_t what, uint8_t much)
{
    switch (what % 6) {
    case 0:
        turn(much * 10);
        break;
    case 1:
        clock_manual_advance(&site.clock, INT64_C(1) << much % 32);
        turn(TURN_MS);
        break;
    case 2:
        broker_memory_set_partition_fault(
            site.kafka, topics[much % TOPICS], 0,
            (enum broker_memory_partition_fault)(much / TOPICS % PARTITION_FAULT_COUNT));
        break;
    case 3:
        broker_memory_disconnect(site.broker);
        break;
    case 4:
        broker_memory_connect(site.broker);
        break;
    case 5: /* the store stays, in one input out of two */
        stop();
        if (much % 2 == 0)
            kept_store_empty();
        start();
        break;
    }
}

static void schedule(uint8_t what, uint8_t order)
{
    log_writer_schedule(&site.writer, what, order);
}

static void take(uint8_t what, struct text bytes)
{
    switch (what % 6) {
    case 0:
    case 1:
        put(bytes, what % 6 == 1);
        break;
    case 2:
        site.may_stop = true;
        log_writer_put_decision(&site.writer, bytes);
        break;
    case 3:
        fuzz_pairs(bytes, schedule);
        break;
    case 4:
        turn(TURN_MS);
        console_http_ask(bytes);
        turn(TURN_MS);
        break;
    case 5:
        fuzz_pairs(bytes, happen);
        break;
    }
}

/* ---- what must come of it ---- */

static void run_to_end(void)
{
    char reason[1024];
    broker_memory_clear_partition_faults(site.kafka);
    broker_memory_connect(site.broker);
    for (int i = 0; i < TURNS_MAX; i++) {
        turn(i < TURNS_MAX / 2 ? TURN_MS : 1000);
        if (site.console->api.owners == NULL)
            continue;
        struct console_partition *partition = site.console->api.partitions[0];
        bool stopped = console_partition_is_stopped(partition, NULL);
        assert(!stopped || site.may_stop);
        int64_t next = view_checkpoint(console_partition_view(partition))->next_event_offset;
        if (stopped || (console_is_ready(site.console, reason, sizeof(reason)) &&
                        next == log_writer_end(&site.writer, "p.events")))
            return;
    }
    assert(false); /* the console neither reads the log nor stops */
}

static void ask_everything(void)
{
    static const char *const requests[] = {
        "GET /api/orders",    "GET /api/orders/A",     "GET /api/orders/A/history",
        "GET /api/overview",  "GET /api/counts",       "GET /api/alerts",
        "GET /api/owners",    "GET /api/health",       "GET /api/agents",
        "GET /api/workflows", "GET /api/dead-letters", "GET /api/dead-letters/0/0"};
    for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++)
        console_http_ask(text_of(requests[i]));
    turn(TURN_MS);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > INPUT_MAX)
        return 0;
    open_site();
    fuzz_entries(data, size, take);
    run_to_end();
    ask_everything();
    close_site();
    return 0;
}
