/* SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer: feeds the owner of a partition, on the broker in memory and with a real store, what
 * its topics may hold, and lets things happen to it. The input is a list of
 *     what (1 byte), size (2 bytes, little-endian), bytes
 * where `what` (its lower four bits) is
 *     0        a record of `commands` as it is
 *     1 to 10  the body of a command of that kind
 *     11       a record of `events` as it is
 *     12       a kind (1 byte, from Claim on), and the body of a record of `events`
 *     13       the rest of a Decision, from its order_id on: it counts, and consumes a command
 *     14       a topic (1 byte), a kind (1 byte, 0 = as it is), a record of it
 *     15       pairs of bytes: something that happens, and how much
 * and its upper bits are
 *     16 another key (0: the order's, "A"), 32 a header, 64 and 128 both: zeros up to beyond the
 *     limit of a command behind the record.
 * Whatever comes, the owner decides every command, or stops its partition if the log has records
 * that no owner wrote; and so does another owner, which has to fold what the first one wrote.
 *
 * What takes long to make is kept for the next input: the process with its schemas and its
 * workflow, and the store. Topics, clock and dice begin again; so does the process after an input
 * that may have taught it something. */
#include "platform/logger.h"
#include "services/scheduler/owner/owner.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/kept_store.h"
#include "tests/lib/site.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    START_MS = 1700000000,
    INPUT_MAX = 64 * 1024,
    TURNS_MAX = 4000,
    TURNS_LAST = 4,
    TURN_LAST_MS = 1000,
    INPUTS_PER_PROCESS = 1000,
    STEPS_PER_TURN = 2000,
    LARGE_BYTES = INPUT_BYTES_MAX + 100,
    FLAG_KEY = 16,
    FLAG_HEADER = 32,
    FLAG_LARGE = 64 | 128
};

enum what {
    WHAT_COMMAND = 0,
    WHAT_LOG = 11,
    WHAT_LOG_BODY,
    WHAT_DECISION,
    WHAT_OTHER_TOPIC,
    WHAT_HAPPENS,
    WHAT_COUNT
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What is fed next. */
struct entry {
    uint8_t flags;
    const uint8_t *bytes;
    size_t size;
};

struct site {
    struct clock_manual clock;
    struct broker_memory_cluster *kafka;
    struct service_context service;
    struct cluster *cluster;
    struct owner_metrics *metrics;
    struct owner *owner; /* NULL: it does not run */
    bool suspended;
    bool changed;  /* what the process knows, or how it stands, is not what it was */
    bool may_stop; /* the log has records that no owner wrote, or time went backwards */
    struct buffer bytes;
    /* the last claim of the log, if it is one of this file */
    struct uuid claim_id;
    int64_t next_sequence;
    int64_t log_end;
};

static struct site site;

static const char *const topics[] = {"p.commands",       "p.events",     "p.workflows",
                                     "p.schemas",        "p.alerts",     "p.dead-letters",
                                     "p.requests.agent", "p.replies.app"};
enum {
    TOPICS = sizeof(topics) / sizeof(topics[0]),
    FIRST_OTHER = 2,
    TOPIC_WORKFLOWS = 2,
    TOPIC_SCHEMAS = 3
};

static const char *const workflow_source =
    "{\"Name\": \"test\", \"Version\": 1, \"TimeoutSeconds\": 600, \"Steps\": ["
    "{\"Name\": \"A\", \"Agent\": \"agent\", \"TimeoutSeconds\": 10, \"Retry\": "
    "[{\"ErrorEquals\": [\"States.ALL\"], \"IntervalSeconds\": 1, \"MaxAttempts\": 2}], "
    "\"Compensate\": {\"Action\": \"UndoA\"}}, "
    "{\"Name\": \"B\", \"Agent\": \"agent\", \"After\": [], \"Compensate\": {\"Action\": "
    "\"UndoB\"}}, "
    "{\"Name\": \"C\", \"Agent\": \"agent\", \"After\": [\"A\", \"B\"], \"Pivot\": true, "
    "\"Retry\": []}, "
    "{\"Name\": \"D\", \"Agent\": \"agent\", \"OnExhausted\": \"error\"}]}";

/* ---- records ---- */

static int64_t end_of(const char *topic)
{
    return site_end(site.kafka, topic, 0);
}

static struct text framed(enum record_kind kind)
{
    site.bytes.size = 0;
    fuzz_frame(&site.bytes, codec_fingerprint(site.cluster->codec, kind));
    return (struct text){(const char *)site.bytes.data, (uint32_t)site.bytes.size};
}

static void put(const char *topic, const struct entry *entry, const void *body, size_t size)
{
    static const uint8_t zeros[LARGE_BYTES];
    static const struct text keys[] = {{"A", 1}, {"a\0b", 3}};
    struct broker_header header = {TEXT("h"), TEXT("\x00\xff")};
    buffer_append(&site.bytes, body, size);
    if ((entry->flags & FLAG_LARGE) == FLAG_LARGE)
        buffer_append(&site.bytes, zeros, sizeof(zeros));
    broker_memory_append_headers(
        site.kafka, topic, 0, keys[(entry->flags & FLAG_KEY) != 0],
        (struct text){(const char *)site.bytes.data, (uint32_t)site.bytes.size}, &header,
        (entry->flags & FLAG_HEADER) != 0);
}

static void send(const char *topic, enum record_kind kind, const void *record)
{
    struct entry usual = {.flags = 0};
    site.bytes.size = 0;
    codec_encode(site.cluster->codec, kind, record, &site.bytes);
    put(topic, &usual, NULL, 0);
}

static void put_body(const char *topic, const struct entry *entry, enum record_kind kind)
{
    framed(kind);
    put(topic, entry, entry->bytes, entry->size);
}

static void put_as_is(const char *topic, const struct entry *entry)
{
    site.bytes.size = 0;
    put(topic, entry, entry->bytes, entry->size);
}

/* ---- the site ---- */

static void turn(int64_t ms)
{
    broker_memory_settle(site.kafka, STEPS_PER_TURN);
    loop_once(site.service.loop, 0);
    clock_manual_advance(&site.clock, ms);
}

static void deploy(void)
{
    site_deploy(site.kafka, site.cluster->codec, "p.workflows", TEXT("test"), 1, "json",
                text_of(workflow_source));
}

static void prepare(void)
{
    static bool prepared;
    if (prepared)
        return;
    prepared = true;
    log_set_fd(open("/dev/null", O_WRONLY | O_CLOEXEC));
    kept_store_prepare();
}

static void start_process(void)
{
    site = (struct site){.owner = NULL};
    clock_manual_init(&site.clock, START_MS * INT64_C(1000));
    site.kafka = broker_memory_cluster_new(1, &site.clock.clock);
    for (size_t i = 0; i < TOPICS; i++)
        broker_memory_topic(site.kafka, topics[i], 1);
    site.service = (struct service_context){.name = "scheduler",
                                            .instance_id = "s1",
                                            .data_dir = "/nowhere",
                                            .clock = &site.clock.clock};
    simulated_service_open(&site.service, "p", NULL);
    site.cluster = site_open_cluster(&site.service, broker_memory_new(site.kafka, "s1"),
                                     CLUSTER_FOLLOWS_WORKFLOWS, NULL, NULL);
    site.metrics = owner_metrics_new(site.service.metrics);
    deploy();
    for (int i = 0; i < TURNS_MAX && !site.cluster->ready; i++)
        turn(1);
    assert(site.cluster->ready);
}

static void start_owner(void)
{
    struct error error;
    struct owner_options options = {.view = {.env = kept_store_env(),
                                             .codec = site.cluster->codec,
                                             .path = "store",
                                             .cache_bytes = 2 * 2048},
                                    .batch_max = 4,
                                    .margin_ms = 1000,
                                    .retention_ms = 60000,
                                    .expiry_max = 2};
    if (site.owner != NULL)
        return;
    enum error_class class =
        owner_new(site.cluster, 0, &options, site.metrics, &site.owner, &error);
    assert(class == ERROR_OK);
    site.suspended = false;
}

static void on_released(void *ctx)
{
    *(bool *)ctx = true;
}

static void stop_owner(void)
{
    bool released = false;
    if (site.owner == NULL)
        return;
    broker_memory_clear_partition_faults(site.kafka);
    owner_release(site.owner, on_released, &released);
    site.owner = NULL;
    for (int i = 0; i < TURNS_MAX && !released; i++)
        turn(10);
    assert(released);
}

static void suspend_owner(bool suspended)
{
    if (site.owner != NULL && site.suspended != suspended)
        owner_suspend(site.owner, suspended);
    site.suspended = suspended;
}

static void lose_store(void)
{
    stop_owner();
    kept_store_empty();
}

static void end_process(void)
{
    owner_metrics_free(site.metrics);
    cluster_close(site.cluster);
    simulated_service_close(&site.service);
    broker_memory_cluster_free(site.kafka);
    buffer_deinit(&site.bytes);
    site = (struct site){.owner = NULL};
}

/* Topics of which the process remembers nothing. */
static void empty_topics(void)
{
    for (size_t i = 0; i < TOPICS; i++)
        if (i != TOPIC_WORKFLOWS && i != TOPIC_SCHEMAS)
            broker_memory_topic(site.kafka, topics[i], 1);
}

static void open_site(void)
{
    prepare();
    if (site.kafka == NULL)
        start_process();
    empty_topics();
    broker_memory_seed(site.kafka, 1);
    site.clock.now_wall_ms = START_MS;
    site.suspended = site.may_stop = site.changed = false;
    site.next_sequence = site.log_end = 0;
}

/* Nothing of this input may reach the next one. */
static void close_site(void)
{
    static uint32_t inputs;
    broker_memory_clear_partition_faults(site.kafka);
    lose_store();
    for (int i = 0; i < TURNS_LAST; i++)
        turn(TURN_LAST_MS);
    bool at_rest = broker_memory_settle(site.kafka, STEPS_PER_TURN) == 0;
    if (site.changed || !at_rest || ++inputs % INPUTS_PER_PROCESS == 0)
        end_process();
}

/* ---- what is fed ---- */

/* A claim of our own is the last one, whether or not there is an owner. */
static void claim(void)
{
    static uint8_t claims;
    struct claim record = {
        .instance = TEXT("fuzz"), .claimed_at = site.clock.now_wall_ms, .partition_count = 1};
    if (site.log_end > 0 && site.log_end == end_of("p.events"))
        return;
    memset(&site.claim_id, ++claims, sizeof(site.claim_id));
    record.claim_id = site.claim_id;
    site.next_sequence = 0;
    send("p.events", RECORD_CLAIM, &record);
}

static void put_decision(const struct entry *entry)
{
    uint8_t head[sizeof(site.claim_id) + 30];
    size_t size = sizeof(site.claim_id);
    struct broker_record command;
    site.may_stop = true;
    claim();
    int64_t offset = broker_memory_append(site.kafka, "p.commands", 0, TEXT("A"), TEXT("x"));
    bool found = broker_memory_record(site.kafka, "p.commands", 0, offset, &command);
    assert(found);
    memcpy(head, &site.claim_id, size);
    size += fuzz_varint(head + size, site.next_sequence++);
    size += fuzz_varint(head + size, offset);
    size += fuzz_varint(head + size, command.timestamp);
    framed(RECORD_DECISION);
    buffer_append(&site.bytes, head, size);
    put("p.events", entry, entry->bytes, entry->size);
    site.log_end = end_of("p.events");
}

/* It counts: only its times and its order are as they come. */
static void put_expiry(const struct entry *entry)
{
    uint8_t head[sizeof(site.claim_id) + 10];
    size_t size = sizeof(site.claim_id);
    claim();
    memcpy(head, &site.claim_id, size);
    size += fuzz_varint(head + size, site.next_sequence++);
    framed(RECORD_EXPIRY);
    buffer_append(&site.bytes, head, size);
    put("p.events", entry, entry->bytes, entry->size);
    site.log_end = end_of("p.events");
}

static void put_in_log(const struct entry *entry, enum record_kind kind)
{
    site.may_stop = true;
    if (kind == RECORD_EXPIRY)
        put_expiry(entry);
    else
        put_body("p.events", entry, kind);
}

static void put_elsewhere(const struct entry *entry)
{
    if (entry->size < 2)
        return;
    struct entry rest = {entry->flags, entry->bytes + 2, entry->size - 2};
    int number = FIRST_OTHER + entry->bytes[0] % (TOPICS - FIRST_OTHER);
    const char *topic = topics[number];
    if (number == TOPIC_WORKFLOWS || number == TOPIC_SCHEMAS)
        site.changed = true;
    if (entry->bytes[1] % RECORD_KIND_COUNT == 0)
        put_as_is(topic, &rest);
    else
        put_body(topic, &rest, (enum record_kind)(entry->bytes[1] % RECORD_KIND_COUNT));
}

static void happen(uint8_t what, uint8_t much)
{
    switch (what % 8) {
    case 0:
        start_owner();
        turn(10);
        break;
    case 1:
        clock_manual_advance(&site.clock, INT64_C(1) << much % 24);
        break;
    case 2:
        stop_owner();
        break;
    case 3:
        lose_store();
        break;
    case 4:
        suspend_owner(much % 2 == 1);
        break;
    case 5:
        broker_memory_set_partition_fault(
            site.kafka, topics[much % TOPICS], 0,
            (enum broker_memory_partition_fault)(much / TOPICS % PARTITION_FAULT_COUNT));
        break;
    case 6:
        site.clock.now_wall_ms -= much * INT64_C(1000);
        site.may_stop = true;
        break;
    case 7:
        for (int i = 0; i < much % 16; i++)
            turn(20);
        break;
    }
}

static void take(uint8_t byte, struct text bytes)
{
    const struct entry whole = {byte, (const uint8_t *)bytes.data, bytes.size};
    const struct entry *entry = &whole;
    uint8_t what = byte % WHAT_COUNT;
    if (what == WHAT_COMMAND) {
        put_as_is("p.commands", entry);
    } else if (what < WHAT_LOG) {
        put_body("p.commands", entry, (enum record_kind)what);
    } else if (what == WHAT_LOG) {
        site.may_stop = true;
        put_as_is("p.events", entry);
    } else if (what == WHAT_LOG_BODY && entry->size > 0) {
        struct entry rest = {entry->flags, entry->bytes + 1, entry->size - 1};
        put_in_log(&rest, (enum record_kind)(RECORD_CLAIM + entry->bytes[0] % (RECORD_STEP_REQUEST -
                                                                               RECORD_CLAIM)));
    } else if (what == WHAT_DECISION) {
        put_decision(entry);
    } else if (what == WHAT_OTHER_TOPIC) {
        put_elsewhere(entry);
    } else if (what == WHAT_HAPPENS) {
        fuzz_pairs(bytes, happen);
    }
}

/* ---- what must come of it ---- */

/* Whether the partition works; if not, it is stopped. */
static bool run_to_end(void)
{
    start_owner();
    suspend_owner(false);
    for (int i = 0; i < TURNS_MAX; i++) {
        turn(20);
        if (owner_state(site.owner) == OWNER_STOPPED)
            return false;
        if (owner_state(site.owner) == OWNER_RUNNING && !owner_is_busy(site.owner) &&
            owner_next_command(site.owner) == end_of("p.commands"))
            return true;
    }
    assert(false); /* the owner neither decides every command nor stops */
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > INPUT_MAX)
        return 0;
    open_site();
    fuzz_entries(data, size, take);
    broker_memory_clear_partition_faults(site.kafka);
    bool works = run_to_end();
    lose_store();
    bool works_again = run_to_end();
    assert(site.may_stop || (works && works_again));
    close_site();
    return 0;
}
