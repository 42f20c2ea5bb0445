/* SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer: feeds two candidates of one role, on the broker in memory, what <p>.leadership may
 * hold, and lets things happen to them. The first byte says how they compete (bit 0: by rank, bit
 * 1: with equal ranks); the rest is a list of
 *     what (1 byte), size (2 bytes, little-endian), bytes
 * where `what`, modulo 5, is
 *     0  a record of the role as it is
 *     1  a body of Leadership
 *     2  a record of a third candidate: kind, what it follows, the lease's logarithm, rank, id
 *     3  a record of another role as it is
 *     4  pairs of bytes: something that happens, and how much
 * Whatever comes, the two never lead at once, unless the head of the log is gone: then a record of
 * a third candidate may be taken for that of the leader. In the end they agree on the term, and one
 * of them leads. */
#include "leader/leader.h"
#include "platform/logger.h"
#include "tests/fuzz/input.h"
#include "tests/lib/site.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

enum {
    START_MS = 1000000,
    INPUT_MAX = 16 * 1024,
    STEPS_MAX = 2000,
    LEASE_MS = 1000,
    TURN_MS = 100,
    TURNS_FIRST = 20,
    TURNS_LAST = 200,
    INPUTS_PER_PROCESS = 1000,
    CANDIDATES = 2
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct candidate {
    const char *name;
    struct service_context service;
    struct broker *broker;
    struct cluster *cluster;
    struct leader *leader;
    struct reeve_leader_options options;
    bool has_task;
    bool must_end; /* the task, which has not ended yet */
};

static struct {
    struct clock_manual clock;
    struct broker_memory_cluster *kafka;
    struct candidate candidates[CANDIDATES];
    bool slow;    /* tasks do not end at once */
    bool hung;    /* tasks report no progress */
    bool trimmed; /* the head of the log is gone */
} site;

/* ---- the candidates ---- */

static void on_begin(void *ctx, int64_t token)
{
    struct candidate *candidate = ctx;
    assert(!candidate->has_task && token >= 0);
    candidate->has_task = true;
}

static void end_task(struct candidate *candidate)
{
    candidate->has_task = candidate->must_end = false;
    leader_ended(candidate->leader);
}

static void on_cancel(void *ctx, enum election_reason reason)
{
    struct candidate *candidate = ctx;
    (void)reason;
    assert(candidate->has_task && !leader_leads(candidate->leader));
    candidate->must_end = true;
    if (!site.slow)
        end_task(candidate);
}

static const struct leader_ops ops = {on_begin, on_cancel};

static void enter(struct candidate *candidate)
{
    struct error error;
    enum error_class class = leader_new(candidate->cluster, &candidate->options, &ops, candidate,
                                        &candidate->leader, &error);
    assert(class == ERROR_OK);
}

/* As a process that is killed does. */
static void leave(struct candidate *candidate)
{
    candidate->has_task = candidate->must_end = false;
    leader_free(candidate->leader);
    candidate->leader = NULL;
}

static void settle(void)
{
    bool busy;
    do {
        broker_memory_settle(site.kafka, STEPS_MAX);
        busy = false;
        for (int i = 0; i < CANDIDATES; i++)
            busy = loop_once(site.candidates[i].service.loop, 0) > 0 || busy;
    } while (busy);
}

static bool leads(const struct candidate *candidate)
{
    return candidate->leader != NULL && leader_leads(candidate->leader);
}

static void turn(int64_t ms)
{
    for (int i = 0; i < CANDIDATES; i++) {
        struct candidate *candidate = &site.candidates[i];
        if (candidate->has_task && !site.hung)
            leader_progress(candidate->leader);
        if (candidate->must_end && !site.slow)
            end_task(candidate);
    }
    settle();
    assert(site.trimmed || !leads(&site.candidates[0]) || !leads(&site.candidates[1]));
    clock_manual_advance(&site.clock, ms);
}

/* ---- the site ---- */

static void open_candidate(struct candidate *candidate, const char *name)
{
    candidate->service =
        (struct service_context){.name = "test", .instance_id = name, .clock = &site.clock.clock};
    simulated_service_open(&candidate->service, "t", NULL);
    candidate->broker = broker_memory_new(site.kafka, name);
    candidate->cluster = site_open_cluster(&candidate->service, candidate->broker, 0, NULL, NULL);
}

static void start_process(void)
{
    static const char *const names[CANDIDATES] = {"a", "b"};
    memset(&site, 0, sizeof(site));
    clock_manual_init(&site.clock, START_MS);
    site.kafka = broker_memory_cluster_new(1, &site.clock.clock);
    SITE_TOPICS(site.kafka, 1, "t.commands", "t.events", "t.schemas", "t.leadership");
    for (int i = 0; i < CANDIDATES; i++)
        open_candidate(&site.candidates[i], names[i]);
    for (int i = 0; i < TURNS_LAST && !site.candidates[1].cluster->ready; i++)
        turn(TURN_MS);
}

static void end_process(void)
{
    for (int i = 0; i < CANDIDATES; i++) {
        struct candidate *candidate = &site.candidates[i];
        cluster_close(candidate->cluster);
        simulated_service_close(&candidate->service);
    }
    broker_memory_cluster_free(site.kafka);
    site.kafka = NULL;
}

static void open_site(uint8_t how)
{
    bool ranked = (how & 1) != 0;
    bool equal = (how & 2) != 0;
    if (site.kafka == NULL)
        start_process();
    broker_memory_topic(site.kafka, "t.leadership", 1);
    broker_memory_seed(site.kafka, 1);
    site.slow = site.hung = site.trimmed = false;
    for (int i = 0; i < CANDIDATES; i++) {
        struct candidate *candidate = &site.candidates[i];
        assert(candidate->cluster->ready);
        candidate->options = (struct reeve_leader_options){.role = "role",
                                                           .strategy = ranked ? REEVE_LEADER_RANKED
                                                                              : REEVE_LEADER_RACE,
                                                           .rank = equal ? 0 : (uint32_t)i,
                                                           .lease_ms = LEASE_MS,
                                                           .renew_ms = LEASE_MS / 4,
                                                           .progress_ms = LEASE_MS};
        enter(candidate);
    }
}

/* Nothing of this input may reach the next one: what takes long to make is kept. */
static void close_site(void)
{
    static uint32_t inputs;
    for (int i = 0; i < CANDIDATES; i++)
        leave(&site.candidates[i]);
    turn(TURN_MS);
    if (++inputs % INPUTS_PER_PROCESS == 0)
        end_process();
}

/* ---- what is fed ---- */

static void put(struct text role, enum record_kind kind, struct text body)
{
    struct buffer bytes = {.size = 0};
    if (kind > 0)
        fuzz_frame(&bytes, codec_fingerprint(site.candidates[0].cluster->codec, kind));
    buffer_append(&bytes, body.data, body.size);
    broker_memory_append(site.kafka, "t.leadership", 0, role,
                         (struct text){(const char *)bytes.data, (uint32_t)bytes.size});
    buffer_deinit(&bytes);
}

/* What a record of the third candidate follows, or is of. */
static int64_t term_of(uint8_t which)
{
    const struct candidate *candidate = &site.candidates[which / 8 % CANDIDATES];
    const struct election_log *log = &leader_election(candidate->leader)->log;
    const int64_t terms[] = {log->last, log->term, -1,        log->last + 1,
                             0,         INT64_MAX, INT64_MIN, log->last - 1};
    return terms[which % 8];
}

static void put_third(struct text bytes)
{
    if (bytes.size < 5)
        return;
    const uint8_t *from = (const uint8_t *)bytes.data;
    struct buffer encoded = {.size = 0};
    struct leadership record = {.role = TEXT("role"),
                                .kind = (enum leadership_kind)(from[0] % LEADERSHIP_KIND_COUNT),
                                .instance = TEXT("c"),
                                .term = term_of(from[1]),
                                .lease_ms = from[2] >= 63 ? INT64_MAX : INT64_C(1) << from[2],
                                .rank = from[3],
                                .said_at = site.clock.now_wall_ms,
                                .reason = TEXT("why")};
    record.candidate_id.bytes[0] = from[4];
    codec_encode(site.candidates[0].cluster->codec, RECORD_LEADERSHIP, &record, &encoded);
    put(record.role, (enum record_kind)0,
        (struct text){(const char *)encoded.data, (uint32_t)encoded.size});
    buffer_deinit(&encoded);
}

/* As retention does, which is far longer than what readers remember. */
static void lose_head(void)
{
    int64_t low, high;
    struct broker_record record;
    broker_memory_bounds(site.kafka, "t.leadership", 0, &low, &high);
    int64_t start = low;
    while (broker_memory_record(site.kafka, "t.leadership", 0, start, &record) &&
           record.timestamp < site.clock.now_wall_ms - ELECTION_FORGET_MS)
        start++;
    if (start == low)
        return;
    broker_memory_trim(site.kafka, "t.leadership", 0, start);
    site.trimmed = true;
}

static void happen(uint8_t what, uint8_t much)
{
    struct candidate *candidate = &site.candidates[what / 16 % CANDIDATES];
    switch (what % 10) {
    case 0:
        turn(much * 10);
        break;
    case 1:
        turn(INT64_C(1) << much % 28);
        break;
    case 2:
        broker_memory_disconnect(candidate->broker);
        break;
    case 3:
        broker_memory_connect(candidate->broker);
        break;
    case 4:
        broker_memory_set_partition_fault(
            site.kafka, "t.leadership", 0,
            (enum broker_memory_partition_fault)(much % PARTITION_FAULT_COUNT));
        break;
    case 5:
        leave(candidate);
        enter(candidate);
        break;
    case 6:
        lose_head();
        break;
    case 7:
        site.slow = (much & 1) != 0;
        site.hung = (much & 2) != 0;
        break;
    case 8:
        if (candidate->has_task)
            end_task(candidate);
        break;
    case 9:
        broker_memory_fail_producer(candidate->broker, BROKER_PRODUCER_LOG);
        break;
    }
}

static void take(uint8_t what, struct text bytes)
{
    switch (what % 5) {
    case 0:
        put(TEXT("role"), (enum record_kind)0, bytes);
        break;
    case 1:
        put(TEXT("role"), RECORD_LEADERSHIP, bytes);
        break;
    case 2:
        put_third(bytes);
        break;
    case 3:
        put(TEXT("another"), (enum record_kind)0, bytes);
        break;
    case 4:
        fuzz_pairs(bytes, happen);
        return;
    }
    settle();
}

/* ---- what must come of it ---- */

static bool agree(void)
{
    const struct election_log *a = &leader_election(site.candidates[0].leader)->log;
    const struct election_log *b = &leader_election(site.candidates[1].leader)->log;
    return a->live && b->live && a->term == b->term && a->last == b->last;
}

/* Every other lease ends, and what is forgotten is forgotten; the log works. */
static void run_to_end(void)
{
    broker_memory_clear_partition_faults(site.kafka);
    site.slow = site.hung = false;
    for (int i = 0; i < CANDIDATES; i++)
        broker_memory_connect(site.candidates[i].broker);
    for (int i = 0; i < TURNS_FIRST; i++) /* all is read */
        turn(TURN_MS);
    turn(ELECTION_LEASE_MS_MAX);
    for (int i = 0; i < TURNS_LAST; i++) {
        turn(TURN_MS);
        if (agree() && leads(&site.candidates[0]) != leads(&site.candidates[1]))
            return;
    }
    assert(false); /* neither leads, or they do not agree which one does */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool quiet;
    if (size == 0 || size > INPUT_MAX)
        return 0;
    if (!quiet)
        log_set_fd(open("/dev/null", O_WRONLY | O_CLOEXEC));
    quiet = true;
    open_site(data[0]);
    data++;
    size--;
    fuzz_entries(data, size, take);
    run_to_end();
    close_site();
    return 0;
}
