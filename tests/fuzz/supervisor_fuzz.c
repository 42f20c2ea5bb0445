/* SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer: feeds a supervisor's partition, on the broker in memory and with a real store, what
 * events[p] may hold, and lets things happen to it. The input is a list of
 *     what (1 byte), size (2 bytes, little-endian), bytes
 * where `what`, modulo 5, is
 *     0  a record of `events` as it is
 *     1  a kind (1 byte, from Claim on), and the body of a record of `events`
 *     2  the rest of a Decision, from its order_id on: it counts, and consumes a command
 *     3  pairs of bytes: something that the scheduler of this file does, and to which order
 *     4  pairs of bytes: something that happens, and how much
 * Whatever comes, the supervisor folds the whole log, or stops at a record that no owner wrote;
 * with an empty store it does the same again. It asks only for what a command can say, and, if all
 * Decisions are the engine's, each deadline that is over. */
#include "platform/logger.h"
#include "services/supervisor/partition.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/kept_store.h"
#include "tests/fuzz/log_writer.h"
#include "tests/lib/site.h"

#include <assert.h>
#include <fcntl.h>
#include <unistd.h>

enum {
    INPUT_MAX = 64 * 1024,
    TURNS_MAX = 400,
    TURNS_LAST = 8,
    TURN_MS = 50,
    INPUTS_PER_PROCESS = 1000,
    STEPS_PER_TURN = 2000
};
#define START_MS INT64_C(1700000000000)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct site {
    struct clock_manual clock;
    struct broker_memory_cluster *kafka;
    struct service_context service;
    struct cluster *cluster;
    struct broker *broker;
    struct supervisor_metrics metrics;
    struct supervisor_partition *partition; /* NULL: it does not run */
    bool may_stop; /* the log has records that no owner wrote, or time went backwards */
    struct log_writer writer;
} site;

/* ---- the site ---- */

static void turn(int64_t ms)
{
    do {
        broker_memory_settle(site.kafka, STEPS_PER_TURN);
    } while (loop_once(site.service.loop, 0) > 0);
    clock_manual_advance(&site.clock, ms);
}

static void start_process(void)
{
    memset(&site, 0, sizeof(site));
    clock_manual_init(&site.clock, START_MS);
    site.kafka = broker_memory_cluster_new(1, &site.clock.clock);
    SITE_TOPICS(site.kafka, 1, "p.commands", "p.events", "p.schemas");
    site.service = (struct service_context){.name = "supervisor",
                                            .instance_id = "s1",
                                            .data_dir = "/nowhere",
                                            .clock = &site.clock.clock};
    simulated_service_open(&site.service, "p", NULL);
    site.broker = broker_memory_new(site.kafka, "s1");
    site.cluster = site_open_cluster(&site.service, site.broker, 0, NULL, NULL);
    supervisor_metrics_init(&site.metrics, site.service.metrics);
    for (int i = 0; i < TURNS_MAX && !site.cluster->ready; i++)
        turn(1);
    assert(site.cluster->ready);
}

static void end_process(void)
{
    cluster_close(site.cluster);
    simulated_service_close(&site.service);
    broker_memory_cluster_free(site.kafka);
    site.kafka = NULL;
}

static void start(void)
{
    struct error error;
    struct view_options options = {.env = kept_store_env(),
                                   .codec = site.cluster->codec,
                                   .path = "store",
                                   .cache_bytes = 2 * 2048,
                                   .deadlines = true};
    if (site.partition != NULL)
        return;
    enum error_class class = supervisor_partition_new(site.cluster, 0, &options, &site.metrics,
                                                      NULL, &site.partition, &error);
    assert(class == ERROR_OK);
}

static void stop(void)
{
    if (site.partition != NULL)
        supervisor_partition_free(site.partition);
    site.partition = NULL;
}

static void lose_store(void)
{
    stop();
    kept_store_empty();
}

static void open_site(void)
{
    static bool prepared;
    if (!prepared) {
        log_set_fd(open("/dev/null", O_WRONLY | O_CLOEXEC));
        kept_store_prepare();
    }
    prepared = true;
    if (site.kafka == NULL)
        start_process();
    broker_memory_topic(site.kafka, "p.commands", 1);
    broker_memory_topic(site.kafka, "p.events", 1);
    broker_memory_seed(site.kafka, 1);
    site.clock.now_wall_ms = START_MS;
    site.may_stop = false;
    log_writer_open(&site.writer, site.kafka, site.cluster->codec, &site.clock.clock);
}

/* Nothing of this input may reach the next one. */
static void close_site(void)
{
    static uint32_t inputs;
    lose_store();
    turn(TURN_MS);
    bool at_rest = broker_memory_settle(site.kafka, STEPS_PER_TURN) == 0;
    log_writer_close(&site.writer);
    if (!at_rest || ++inputs % INPUTS_PER_PROCESS == 0)
        end_process();
}

/* ---- what is fed ---- */

static void happen(uint8_t what, uint8_t much)
{
    static const char *const topics[] = {"p.commands", "p.events"};
    switch (what % 9) {
    case 0:
        start();
        turn(TURN_MS);
        break;
    case 1:
        clock_manual_advance(&site.clock, INT64_C(1) << much % 32);
        break;
    case 2:
        stop();
        break;
    case 3:
        lose_store();
        break;
    case 4:
        if (site.partition != NULL)
            supervisor_partition_suspend(site.partition, much % 2 == 1);
        break;
    case 5:
        broker_memory_set_partition_fault(
            site.kafka, topics[much % 2], 0,
            (enum broker_memory_partition_fault)(much / 2 % PARTITION_FAULT_COUNT));
        break;
    case 6:
        site.clock.now_wall_ms -= much * INT64_C(1000);
        site.may_stop = true;
        break;
    case 7:
        for (int i = 0; i < much % 16; i++)
            turn(TURN_MS);
        break;
    case 8:
        if (much % 2 == 0)
            broker_memory_disconnect(site.broker);
        else
            broker_memory_connect(site.broker);
        break;
    }
}

static enum record_kind log_kind(char byte)
{
    return (enum record_kind)(RECORD_CLAIM + (uint8_t)byte % (RECORD_STEP_REQUEST - RECORD_CLAIM));
}

static void schedule(uint8_t what, uint8_t order)
{
    log_writer_schedule(&site.writer, what, order);
}

static void take(uint8_t what, struct text bytes)
{
    site.may_stop = site.may_stop || what % 5 < 3;
    switch (what % 5) {
    case 0:
        log_writer_put(&site.writer, "p.events", TEXT("A"), (enum record_kind)0, bytes);
        break;
    case 1:
        if (bytes.size > 0 && log_kind(bytes.data[0]) == RECORD_EXPIRY)
            log_writer_put_expiry(&site.writer, text_from(bytes, 1));
        else if (bytes.size > 0)
            log_writer_put(&site.writer, "p.events", TEXT("A"), log_kind(bytes.data[0]),
                           text_from(bytes, 1));
        break;
    case 2:
        log_writer_put_decision(&site.writer, bytes);
        break;
    case 3:
        fuzz_pairs(bytes, schedule);
        break;
    case 4:
        fuzz_pairs(bytes, happen);
        break;
    }
}

/* ---- what must come of it ---- */

/* Whether it folds the whole log; if not, it is stopped. */
static bool run_to_end(void)
{
    char trouble[1024];
    start();
    supervisor_partition_suspend(site.partition, false);
    for (int i = 0; i < TURNS_MAX; i++) {
        turn(i < TURNS_MAX / 2 ? TURN_MS : 1000);
        if (supervisor_partition_is_ready(site.partition) &&
            supervisor_partition_next_offset(site.partition) ==
                log_writer_end(&site.writer, "p.events"))
            return true;
        if (supervisor_partition_trouble(site.partition, trouble, sizeof(trouble)) &&
            strncmp(trouble, "partition 0: ", strlen("partition 0: ")) == 0)
            return false;
    }
    assert(false); /* the supervisor neither folds the log nor stops */
    return false;
}

static bool has_command(struct text order_id, int64_t from)
{
    struct broker_record record;
    for (int64_t at = from; broker_memory_record(site.kafka, "p.commands", 0, at, &record); at++)
        if (text_equal(record.key, order_id))
            return true;
    return false;
}

static bool visit_overdue(void *ctx, struct text order_id, const struct deadline *deadline)
{
    (void)deadline;
    assert(has_command(order_id, *(int64_t *)ctx)); /* it is overdue, and nothing asks for it */
    return true;
}

/* A supervisor that has just begun knows of no command. */
static void check_deadlines(int64_t from)
{
    struct error error;
    int64_t until = site.clock.now_wall_ms;
    for (int i = 0; i < TURNS_LAST; i++)
        turn(TURN_MS);
    struct view *view = supervisor_partition_view(site.partition);
    enum error_class class =
        store_scan_deadlines(view_store(view), 0, TEXT(""), until, visit_overdue, &from, &error);
    assert(class == ERROR_OK);
}

static void check_commands(void)
{
    struct broker_record record;
    struct record decoded;
    struct error error;
    for (int64_t at = 0; broker_memory_record(site.kafka, "p.commands", 0, at, &record); at++) {
        if (text_equal(record.value, TEXT("x")))
            continue;
        heap_arena_reset(&site.writer.scratch);
        enum error_class class = codec_decode(site.cluster->codec, record.value, false,
                                              &site.writer.scratch.arena, &decoded, &error);
        assert(class == ERROR_OK && decoded.kind < RECORD_CLAIM);
        assert(text_equal(decoded.command.order_id, record.key));
    }
}

static void digest(struct content_hash *ret_digest)
{
    struct error error;
    uint64_t orders;
    struct view *view = supervisor_partition_view(site.partition);
    while (view_dirty(view) > 0) /* what is folded is committed after a while */
        turn(TURN_MS);
    enum error_class class = store_digest(view_store(view), ret_digest, &orders, &error);
    assert(class == ERROR_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct content_hash kept, fresh;
    if (size > INPUT_MAX)
        return 0;
    open_site();
    fuzz_entries(data, size, take);
    broker_memory_clear_partition_faults(site.kafka);
    broker_memory_connect(site.broker);
    bool works = run_to_end();
    if (works)
        digest(&kept);
    lose_store();
    turn(TURN_MS);
    int64_t from = log_writer_end(&site.writer, "p.commands");
    bool works_again = run_to_end();
    assert(works == works_again && (works || site.may_stop));
    if (works) {
        digest(&fresh);
        assert(memcmp(&kept, &fresh, sizeof(kept)) == 0);
    }
    if (!site.may_stop)
        check_deadlines(from);
    check_commands();
    close_site();
    return 0;
}
