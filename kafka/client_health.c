/* SPDX-License-Identifier: Apache-2.0 */
/* Checks whether the brokers answer and accept records. Every few seconds a job reads the metadata
 * of the topics that are in use: their leaders and replicas in sync. Metadata may be stale (a
 * cluster without a majority of its controllers repeats the last state), so a producer that gets no
 * acknowledgement counts as well: librdkafka retries its records for ever without reporting it. */
#include "kafka/client_internal.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ANSWER_MS = 5000, /* long enough for a busy machine */
    ANSWER_DOWN_MS = 1000,
    PROBE_AGAIN_MS = 2000,
    DOWN_AGAIN_MS = 500, /* while no broker answers */
    UNANSWERED_MAX = 2,  /* in a row: one query may be lost with its connection */
    STALL_MS = 10000,
};

/* librdkafka's consumer never reports a topic that an access rule hides. */
#define MAY_NOT "this user may not Describe topic "

/* ---- too few replicas in sync ---- */

int kafka_min_insync(int replicas)
{
    return replicas >= 3 ? 2 : 1;
}

void kafka_shortfall_add(struct kafka_shortfall *shortfall,
                         const struct rd_kafka_metadata_topic *topic)
{
    if (topic->err == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED && shortfall->hidden[0] == '\0')
        snprintf(shortfall->hidden, sizeof(shortfall->hidden), "%.80s", topic->topic);
    for (int i = 0; i < topic->partition_cnt; i++) {
        const struct rd_kafka_metadata_partition *partition = &topic->partitions[i];
        int needed = kafka_min_insync(partition->replica_cnt);
        shortfall->partitions++;
        if (partition->leader >= 0 && partition->isr_cnt >= needed)
            continue;
        if (shortfall->missing++ > 0)
            continue;
        if (partition->leader < 0)
            snprintf(shortfall->first, sizeof(shortfall->first), "%.80s[%" PRId32 "] has no leader",
                     topic->topic, partition->id);
        else
            snprintf(shortfall->first, sizeof(shortfall->first),
                     "%.80s[%" PRId32 "] has %d of %d replicas in sync and needs %d "
                     "(min.insync.replicas)",
                     topic->topic, partition->id, partition->isr_cnt, partition->replica_cnt,
                     needed);
    }
}

bool kafka_shortfall_text(const struct kafka_shortfall *shortfall, int broker_count, char *ret_text,
                          size_t size)
{
    if (shortfall->hidden[0] != '\0') {
        snprintf(ret_text, size, MAY_NOT "%s: grant it Read there", shortfall->hidden);
        return true;
    }
    if (shortfall->missing == 0)
        return false;
    snprintf(ret_text, size,
             "%" PRIu32 " of %" PRIu32 " partitions accept no records: %s; %d broker%s up",
             shortfall->missing, shortfall->partitions, shortfall->first, broker_count,
             broker_count == 1 ? " is" : "s are");
    return true;
}

/* ---- state ---- */

static bool stalled(const struct kafka_client *kafka, char *ret_text, size_t size)
{
    const struct kafka_producer *producer = &kafka->producers[BROKER_PRODUCER_LOG];
    const struct kafka_health *health = &kafka->health;
    if (producer->outstanding == 0 || producer->answered != health->answered)
        return false;
    int64_t waited_ms = clock_mono_ms(loop_clock(kafka->loop)) - health->stalled_since_ms;
    if (waited_ms < STALL_MS)
        return false;
    snprintf(ret_text, size,
             "the brokers have acknowledged nothing for %" PRId64 " s (%" PRIu32
             " outstanding): check that enough brokers and a majority of the controllers are up",
             waited_ms / 1000, producer->outstanding);
    return true;
}

bool kafka_trouble(const struct broker *broker, char *ret_text, size_t size)
{
    const struct kafka_client *kafka = kafka_of(broker);
    if (!kafka->health.connected) {
        const char *refusal = kafka->health.refusal;
        snprintf(ret_text, size, "%s%s", refusal[0] != '\0' ? "cannot log in to Kafka: " : "",
                 refusal[0] != '\0' ? refusal : "no broker answers");
        return true;
    }
    if (kafka->health.shortfall[0] != '\0') {
        snprintf(ret_text, size, "%s", kafka->health.shortfall);
        return true;
    }
    return stalled(kafka, ret_text, size);
}

void kafka_alive(struct kafka_client *kafka)
{
    if (!kafka->health.connected)
        log_info("connected to Kafka");
    kafka->health.connected = true;
    kafka->health.alive_since_probe = true;
    kafka->health.down = false;
    kafka->health.refusal[0] = '\0';
}

void kafka_keep_cluster_id(struct kafka_client *kafka, rd_kafka_t *rk, char *cluster_id)
{
    if (cluster_id == NULL)
        return;
    if (kafka->cluster_id == NULL)
        kafka->cluster_id = strdup(cluster_id);
    rd_kafka_mem_free(rk, cluster_id);
}

/* Logs the trouble when it begins, changes its kind, or ends; not when only its seconds change. */
static void log_trouble(struct kafka_client *kafka)
{
    char text[KAFKA_TROUBLE_SIZE] = "";
    char *logged = kafka->health.logged;
    if (!kafka->health.connected)
        return; /* logged when it happened */
    bool trouble = kafka_trouble(&kafka->base, text, sizeof(text));
    bool was_shortfall = strstr(logged, "in sync") != NULL || strstr(logged, "no leader") != NULL ||
                         strstr(logged, MAY_NOT) != NULL;
    if (trouble == (logged[0] != '\0') && was_shortfall == (kafka->health.shortfall[0] != '\0'))
        return;
    if (trouble)
        log_warning(strstr(text, MAY_NOT) != NULL ? "kafka denies access"
                                                  : "kafka accepts no records",
                    LOG_STR("reason", text));
    else
        log_info("kafka accepts records again");
    memcpy(logged, text, sizeof(text));
}

/* ---- probes ---- */

struct probe_job {
    struct kafka_job job;
    struct kafka_client *kafka;
    rd_kafka_t *rk;
    int timeout_ms;
    bool answered;
    char *cluster_id;
    char shortfall[KAFKA_TROUBLE_SIZE];
    const char *watched[BROKER_WATCHES_MAX]; /* topics; NULL: none */
    int32_t counts[BROKER_WATCHES_MAX];      /* of their partitions; 0: unknown */
};

static void count_watched(struct probe_job *probe, const struct rd_kafka_metadata_topic *topic)
{
    for (int i = 0; i < BROKER_WATCHES_MAX; i++)
        if (probe->watched[i] != NULL && strcmp(probe->watched[i], topic->topic) == 0)
            probe->counts[i] = topic->partition_cnt;
}

static void probe_run(struct kafka_job *job)
{
    struct probe_job *probe = (struct probe_job *)job;
    struct kafka_shortfall shortfall = {0};
    const struct rd_kafka_metadata *metadata = NULL;
    if (rd_kafka_metadata(probe->rk, 0, NULL, &metadata, probe->timeout_ms) !=
        RD_KAFKA_RESP_ERR_NO_ERROR)
        return;
    probe->answered = true;
    for (int i = 0; i < metadata->topic_cnt; i++) {
        kafka_shortfall_add(&shortfall, &metadata->topics[i]);
        count_watched(probe, &metadata->topics[i]);
    }
    kafka_shortfall_text(&shortfall, metadata->broker_cnt, probe->shortfall,
                         sizeof(probe->shortfall));
    rd_kafka_metadata_destroy(metadata);
    probe->cluster_id = rd_kafka_clusterid(probe->rk, 0);
}

void kafka_watch(struct broker *broker, const char *topic, int32_t count,
                 broker_partitions_changed changed, void *ctx)
{
    struct kafka_health *health = &kafka_of(broker)->health;
    assert(health->watch_count < BROKER_WATCHES_MAX);
    health->watches[health->watch_count++] = (struct kafka_watch){topic, count, changed, ctx};
}

static void report_changes(struct kafka_client *kafka, const struct probe_job *probe)
{
    for (uint32_t i = 0; i < kafka->health.watch_count && !kafka->closing; i++) {
        struct kafka_watch *watch = &kafka->health.watches[i];
        if (probe->counts[i] <= 0 || probe->counts[i] == watch->count)
            continue;
        watch->count = probe->counts[i];
        watch->changed(watch->ctx, watch->topic, watch->count);
    }
}

static void note_silence(struct kafka_client *kafka)
{
    struct kafka_health *health = &kafka->health;
    if (health->alive_since_probe || !health->connected)
        return;
    if (++health->unanswered < UNANSWERED_MAX && !health->down)
        return;
    log_warning("kafka does not answer");
    health->connected = false;
}

static void note_progress(struct kafka_client *kafka)
{
    const struct kafka_producer *producer = &kafka->producers[BROKER_PRODUCER_LOG];
    struct kafka_health *health = &kafka->health;
    if (producer->outstanding > 0 && producer->answered == health->answered)
        return;
    health->answered = producer->answered;
    health->stalled_since_ms = clock_mono_ms(loop_clock(kafka->loop));
}

static void probe_done(struct kafka_job *job)
{
    struct probe_job *probe = (struct probe_job *)job;
    struct kafka_client *kafka = probe->kafka;
    struct kafka_health *health = &kafka->health;
    health->probing = false;
    kafka_keep_cluster_id(kafka, probe->rk, probe->cluster_id);
    if (probe->answered) {
        health->unanswered = 0;
        kafka_alive(kafka);
        memcpy(health->shortfall, probe->shortfall, sizeof(health->shortfall));
        report_changes(kafka, probe);
    } else {
        note_silence(kafka);
    }
    note_progress(kafka);
    log_trouble(kafka);
    kafka_log_tokens(kafka);
    if (!kafka->closing)
        loop_timer_after(kafka->loop, &health->timer,
                         probe->answered ? PROBE_AGAIN_MS : DOWN_AGAIN_MS);
    free(probe);
}

void kafka_probe(struct kafka_client *kafka)
{
    struct kafka_health *health = &kafka->health;
    if (health->probing || kafka->closing || kafka->reader_handle.rk == NULL)
        return;
    struct probe_job *probe = calloc(1, sizeof(*probe));
    assert(probe != NULL);
    *probe = (struct probe_job){.job = {.run = probe_run, .done = probe_done},
                                .kafka = kafka,
                                .rk = kafka->reader_handle.rk,
                                .timeout_ms = health->down ? ANSWER_DOWN_MS : ANSWER_MS};
    for (uint32_t i = 0; i < health->watch_count; i++)
        probe->watched[i] = health->watches[i].topic;
    health->probing = true;
    health->alive_since_probe = false;
    loop_timer_cancel(kafka->loop, &health->timer);
    kafka_jobs_submit(&kafka->jobs, &probe->job);
}

void kafka_all_down(struct kafka_client *kafka)
{
    kafka->health.down = true;
    kafka->health.alive_since_probe = false;
    kafka_probe(kafka);
}

static void on_timer(void *ctx)
{
    kafka_probe(ctx);
}

void kafka_health_init(struct kafka_client *kafka)
{
    loop_timer_init(&kafka->health.timer, on_timer, kafka);
    note_progress(kafka);
}

void kafka_health_deinit(struct kafka_client *kafka)
{
    loop_timer_cancel(kafka->loop, &kafka->health.timer);
}
