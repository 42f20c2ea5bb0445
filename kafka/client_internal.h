/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files behind client.h. Only client*.c, topics/ and tests include it. */
#ifndef KAFKA_CLIENT_INTERNAL_H
#define KAFKA_CLIENT_INTERNAL_H

#include "kafka/append_flow.h"
#include "kafka/broker_ops.h"
#include "kafka/client.h"
#include "kafka/client_stats.h"
#include "kafka/oauth.h"
#include "platform/hash_table.h"
#include "platform/logger.h"

#include <librdkafka/rdkafka.h>
#include <pthread.h>

enum {
    /* A container of compose/ may have 512 processes and threads, and librdkafka, RocksDB and the
     * HTTP server have theirs. */
    KAFKA_JOB_THREADS_MAX = 256,  /* of all clients of the process together */
    KAFKA_JOB_THREADS_LEAST = 8,  /* that each client may start in any case */
    KAFKA_JOB_DOUBTFUL_MAX = 16,  /* jobs that run at a time and probably find no answer */
    KAFKA_JOB_STACK = 256 * 1024, /* bytes */
    KAFKA_LOG_LIMITS = 16,
    KAFKA_TOPIC_HANDLES_MAX = 1024, /* cached per producer, unless more are in use */
};

struct kafka_client;
struct kafka_group;
struct kafka_handle;

/* ---- handles: a client instance whose queue is drained by the loop (client.c) ---- */

/* Takes one event; the handle destroys it. May set handle->stopped. */
typedef void (*kafka_event_callback)(struct kafka_handle *handle, rd_kafka_event_t *event);

struct kafka_handle {
    struct kafka_client *kafka;
    const char *role; /* "log", "effects-batched", "reader" ...: for logs and metrics */
    rd_kafka_t *rk;
    rd_kafka_queue_t *queue;       /* main or consumer queue */
    rd_kafka_queue_t *close_queue; /* of a consumer that is being closed; else NULL */
    struct loop_wakeup wakeup;
    struct loop_deferred more; /* the turn ended before the queue was empty */
    kafka_event_callback on_event;
    void *ctx;
    bool stopped; /* takes no more events */
};

/* Makes a client from `conf` (stolen, also on failure) and opens its queue. */
enum error_class kafka_handle_open(struct kafka_handle *handle, struct kafka_client *kafka,
                                   rd_kafka_type_t type, rd_kafka_conf_t *conf, const char *role,
                                   kafka_event_callback on_event, void *ctx,
                                   struct error *ret_error);
/* Takes the waiting events, at most `max`; true if there may be more. */
bool kafka_handle_drain(struct kafka_handle *handle, uint32_t max);
/* The same for one turn of the loop; the next turn takes the rest. */
void kafka_handle_turn(struct kafka_handle *handle);
/* Closes the queue at once and destroys the client later. Does nothing if it is closed. */
void kafka_handle_close(struct kafka_handle *handle);

/* ---- configuration and errors (client_conf.c) ---- */

/* Copies the options, with defaults. */
void kafka_options_copy(struct kafka_client *kafka, const struct kafka_client_options *options);
void kafka_options_free(struct kafka_client *kafka);

/* New: defaults, the user's settings, and the settings that all handles need. NULL on error. */
rd_kafka_conf_t *kafka_conf_new(const struct kafka_client *kafka, const char *role,
                                struct error *ret_error);
/* Asserts that librdkafka accepts the value: it is not a user's. */
void kafka_conf_set(rd_kafka_conf_t *conf, const char *name, const char *value);
void kafka_conf_set_int(rd_kafka_conf_t *conf, const char *name, int64_t value);

/* The class of librdkafka's error: RETRY, REJECT (it can never work) or FATAL. */
enum error_class kafka_error_class(rd_kafka_resp_err_t code);
enum error_class kafka_error_set(struct error *ret_error, rd_kafka_resp_err_t code,
                                 const char *what, const char *topic, int32_t partition);

/* The events of every handle that kafka_common_event() takes. */
int kafka_common_events(const struct kafka_client *kafka);
/* Handles logs, statistics and connection errors, which are the same for all handles; true if it
 * did. */
bool kafka_common_event(struct kafka_handle *handle, rd_kafka_event_t *event);

/* ---- health: whether the brokers answer and accept records (client_health.c) ---- */

enum { KAFKA_TROUBLE_SIZE = 320, KAFKA_REFUSAL_SIZE = 240 };

/* A topic whose number of partitions must not change. */
struct kafka_watch {
    const char *topic;
    int32_t count;
    broker_partitions_changed changed;
    void *ctx;
};

/* Known about the cluster; part of struct kafka_client. */
struct kafka_health {
    bool connected;
    bool probing; /* a job queries the brokers */
    bool alive_since_probe;
    bool down;           /* a client lost all connections, and no broker answered since */
    uint32_t unanswered; /* probes in a row */
    struct loop_timer timer;
    /* The log's producer: since when it waits without an acknowledgement. */
    uint64_t answered;
    int64_t stalled_since_ms;
    char shortfall[KAFKA_TROUBLE_SIZE]; /* of replicas in sync, or of rights; "" = none */
    char logged[KAFKA_TROUBLE_SIZE];    /* the trouble that was logged last; "" = none */
    char refusal[KAFKA_REFUSAL_SIZE]; /* why the login failed, since a broker answered; "" = none */
    struct kafka_watch watches[BROKER_WATCHES_MAX];
    uint32_t watch_count;
};

/* Does not probe yet. */
void kafka_health_init(struct kafka_client *kafka);
void kafka_health_deinit(struct kafka_client *kafka);
/* Probes the brokers, unless a probe is in progress. */
void kafka_probe(struct kafka_client *kafka);
/* A client reports that it has no connection. */
void kafka_all_down(struct kafka_client *kafka);
/* A broker answered. */
void kafka_alive(struct kafka_client *kafka);
bool kafka_trouble(const struct broker *broker, char *ret_text, size_t size);
void kafka_watch(struct broker *broker, const char *topic, int32_t count,
                 broker_partitions_changed changed, void *ctx);
/* `cluster_id` (may be NULL) is librdkafka's: freed. */
void kafka_keep_cluster_id(struct kafka_client *kafka, rd_kafka_t *rk, char *cluster_id);

/* Partitions that cannot accept records, according to the brokers' metadata. */
struct kafka_shortfall {
    uint32_t partitions;                  /* checked */
    uint32_t missing;                     /* without a leader, or with too few replicas in sync */
    char first[KAFKA_TROUBLE_SIZE - 120]; /* described */
    char hidden[81]; /* the first topic without the right to describe it; "" = none */
};
void kafka_shortfall_add(struct kafka_shortfall *shortfall,
                         const struct rd_kafka_metadata_topic *topic);
/* "3 of 6 partitions accept no records: orders.events[1] has 1 of 3 replicas in sync and needs 2
 * (min.insync.replicas); 1 broker is up". False, without a text: every partition accepts records.
 */
bool kafka_shortfall_text(const struct kafka_shortfall *shortfall, int broker_count, char *ret_text,
                          size_t size);

/* ---- logins (client_login.c) ---- */

/* What librdkafka said about a login that failed, as an error: RETRY "LoginRefused", or REJECT
 * "Config" where this version of librdkafka cannot log in at all. */
enum error_class kafka_login_error(const struct kafka_client *kafka, const char *said,
                                   struct error *ret_error);
/* Keeps it until a broker answers. False: nothing new. */
bool kafka_note_refusal(struct kafka_client *kafka, const char *said);
enum error_class kafka_refused(const struct broker *broker, struct error *ret_error);
/* Logs once when tokens cannot be read, and when they can be read again. True: they cannot. */
bool kafka_log_tokens(struct kafka_client *kafka);

/* ---- jobs: blocking calls on worker threads (client_job.c) ---- */

struct kafka_job {
    void (*run)(struct kafka_job *job);  /* on a worker thread */
    void (*done)(struct kafka_job *job); /* on the loop; frees the job */
    /* What it asks did not answer the last time, such as a partition without a leader: it waits
     * behind others of that kind, and none of the rest waits behind it. */
    bool doubtful;
    struct kafka_job *next;
};

struct kafka_job_list {
    struct kafka_job *first;
    struct kafka_job *last;
    uint32_t count;
};

struct kafka_jobs {
    pthread_mutex_t lock;
    pthread_cond_t wanted;
    struct kafka_job_list queued; /* `lock` guards it and all below but the wakeup */
    struct kafka_job_list doubtful;
    struct kafka_job_list finished;
    pthread_t threads[KAFKA_JOB_THREADS_MAX];
    uint32_t thread_count;
    uint32_t idle_count;
    uint32_t doubtful_running;
    uint32_t pending; /* waiting, running, or finished without a call of `done` yet */
    bool stopping;
    struct loop_wakeup wakeup;
};

enum error_class kafka_jobs_init(struct kafka_jobs *jobs, struct loop *loop,
                                 struct error *ret_error);
void kafka_jobs_submit(struct kafka_jobs *jobs, struct kafka_job *job);
/* Finishes all jobs, calls their `done`, ends the threads. */
void kafka_jobs_deinit(struct kafka_jobs *jobs);

/* ---- partitions that did not answer (client_silent.c) ---- */

/* Whether the last query of topic[partition] got no answer. */
bool kafka_is_silent(const struct kafka_client *kafka, const char *topic, int32_t partition);
void kafka_note_answer(struct kafka_client *kafka, const char *topic, int32_t partition,
                       rd_kafka_resp_err_t code);
void kafka_silent_deinit(struct kafka_client *kafka);

/* ---- clients that are being destroyed, each on a thread of its own ---- */

struct kafka_ends {
    pthread_t *threads;
    uint32_t count;
    uint32_t size;
};

/* Destroys the client without closing its membership. The caller has released all its queues and
 * topics. */
void kafka_destroy_later(struct kafka_ends *ends, rd_kafka_t *rk);
/* Waits; abandons a client that has not ended by then, and returns false: librdkafka 2.0 may wait
 * for ever for a reference that it lost, for instance after a topic was deleted and made again. */
bool kafka_destroy_wait(struct kafka_ends *ends, int64_t timeout_ms);

/* ---- producers (client_producer.c) ---- */

struct kafka_append {
    struct kafka_append *prev;
    struct kafka_append *next;
    broker_appended done;
    void *ctx;
    uint64_t token;
    struct kafka_topic *topic; /* NULL: no client has it, or its client was closed */
    struct append_flow *flow;  /* NULL: its partition is unknown */
    struct error *error;       /* why librdkafka rejected it; else NULL */
};

/* In the order of appending. */
struct kafka_append_list {
    struct kafka_append *first;
    struct kafka_append *last;
};

/* The two clients are one producer: when one dies, both are replaced. */
struct kafka_producer {
    struct kafka_client *kafka;
    enum broker_producer kind;
    /* .rk NULL: there is no client yet. The batched one is made when it is wanted first. */
    struct kafka_handle handles[APPEND_CLIENT_COUNT];
    struct append_rate rate;
    struct kafka_topic *topics;       /* by name */
    struct kafka_append_list sent;    /* passed to librdkafka, without a result yet */
    struct kafka_append_list refused; /* rejected by librdkafka; `refuse` reports them */
    struct kafka_append_list unused;
    uint32_t outstanding; /* sent and refused */
    uint64_t answered;    /* in all */
    bool failed;          /* a client is dead; `renew` replaces both */
    bool cannot_batch;    /* the batched client could not be made */
    struct loop_deferred refuse;
    struct loop_deferred renew; /* fails all that was sent, makes a new client */
    struct loop_timer renew_timer;
    uint64_t deaths;
};

enum error_class kafka_producer_open(struct kafka_producer *producer, struct kafka_client *kafka,
                                     enum broker_producer kind, struct error *ret_error);
/* Waits for acknowledgements until the monotonic time deadline_ms, reports all results, closes. */
void kafka_producer_close(struct kafka_producer *producer, int64_t deadline_ms);
enum error_class kafka_append_record(struct broker *broker, const struct broker_append *append,
                                     struct error *ret_error);
uint32_t kafka_append_outstanding(const struct broker *broker, enum broker_producer producer);
uint64_t kafka_append_deaths(const struct broker *broker, enum broker_producer producer);
/* Requests the topic's metadata before the first append needs it. */
void kafka_producer_warm(struct kafka_producer *producer, const char *topic);
/* Makes the client that batches; false: it cannot be made. */
bool kafka_producer_open_batched(struct kafka_producer *producer);

/* ---- the topics of a producer (client_topic.c) ---- */

struct kafka_topic {
    rd_kafka_topic_t *handles[APPEND_CLIENT_COUNT]; /* NULL: not yet used by this client */
    int64_t batched_from_ms;                        /* the batched client knows the topic by then */
    int64_t count_again_ms;    /* when to look at the number of partitions again */
    uint32_t in_flight;        /* appends that refer to this topic */
    uint32_t unplaced;         /* of these, how many have no flow */
    int32_t flow_count;        /* 0: the number of partitions is unknown */
    struct append_flow *flows; /* by partition; NULL: none */
    UT_hash_handle hh;
    char name[];
};

/* Made when it is used first. */
struct kafka_topic *kafka_topic_get(struct kafka_producer *producer, const char *name);
/* NULL: not a valid name. librdkafka requests the topic's metadata when the handle is made. */
rd_kafka_topic_t *kafka_topic_handle(struct kafka_producer *producer, struct kafka_topic *topic,
                                     enum append_client client);
/* Chooses the client for an append and counts it as in flight. */
enum append_client kafka_topic_begin(struct kafka_producer *producer, struct kafka_topic *topic,
                                     const struct broker_append *append,
                                     struct kafka_append *taken);
/* It is not in flight any more. Does nothing if it was not. */
void kafka_topic_end(struct kafka_append *append);
/* Before the clients are closed: nothing is in flight any more, nothing has a handle. The caller
 * has made sure that no append refers to a topic. */
void kafka_topics_release(struct kafka_producer *producer);
void kafka_topics_free(struct kafka_producer *producer);

/* ---- readers (client_reader.c) ---- */

/* The search for the end of a batch that cannot be read (client_unreadable.c). */
struct kafka_bad_batch {
    int64_t from;  /* the first offset that cannot be read; -1: none */
    int64_t base;  /* what librdkafka calls the batch: its first offset */
    int64_t low;   /* the last offset that is known to be in it */
    int64_t high;  /* the first one that is known to be behind it; -1: none */
    int64_t probe; /* reading begins here */
};

struct kafka_reader {
    struct broker_reader base;
    struct kafka_client *kafka;
    const struct broker_reader_ops *ops;
    void *ctx;
    int32_t partition;
    int64_t next_offset;       /* lowest offset that may still be passed on */
    int64_t last_offset;       /* passed on; -1: none */
    int64_t end_reported;      /* before librdkafka reported it; -1: none */
    bool end_seen;             /* at least once */
    bool tries_zero;           /* the earliest record is wanted; it may not be at 0 */
    rd_kafka_queue_t *queue;   /* the partition's own; NULL: not reading */
    rd_kafka_queue_t *serving; /* the one whose messages are being taken; else NULL */
    uint32_t left;             /* messages that this turn may still take */
    struct loop_wakeup wakeup;
    struct loop_deferred more;
    struct loop_timer unknown_timer; /* armed while the topic is missing */
    struct loop_timer release_timer; /* armed when paused: gives up what was fetched ahead */
    bool released;                   /* it did; reading begins again when the pause ends */
    rd_kafka_resp_err_t open_error;  /* reported in the next turn */
    struct kafka_bad_batch bad;
    bool draining; /* in a callback: closing only marks the reader */
    bool paused;
    bool closed;
    uint64_t bytes_since_wake; /* passed on since the last wake_fetcher() */
    UT_hash_handle hh;
    uint32_t key_size;
    char topic[]; /* and its NUL and the partition: the key */
};

struct broker_reader *kafka_read(struct broker *broker, const char *topic, int32_t partition,
                                 int64_t offset, const struct broker_reader_ops *ops, void *ctx);
void kafka_reader_pause(struct broker_reader *reader, bool paused);
void kafka_reader_close(struct broker_reader *reader);
void kafka_offsets(struct broker *broker, const char *topic, int32_t partition,
                   broker_offsets_done done, void *ctx);
rd_kafka_conf_t *kafka_reader_conf(const struct kafka_client *kafka, struct error *ret_error);
/* The settings that all consumers need. */
void kafka_conf_consumer(rd_kafka_conf_t *conf);

/* Stops reading and begins again at the offset. */
void kafka_reader_restart(struct kafka_reader *reader, int64_t offset);

/* ---- batches that cannot be read (client_unreadable.c) ---- */

/* A batch cannot be read; librdkafka reports it at its first offset. */
void kafka_unreadable_batch(struct kafka_reader *reader, int64_t base);
/* Something else than a batch that cannot be read: a record, the end, or an offset behind the end.
 * True: the search is over, the records that cannot be read are reported, and the event counts. */
bool kafka_unreadable_passed(struct kafka_reader *reader);

/* ---- groups (client_group.c, client_offsets.c) ---- */

struct broker_group *kafka_join(struct broker *broker, const char *group, const char *topic,
                                const struct broker_group_ops *ops, void *ctx);
void kafka_group_commit(struct broker_group *group, int32_t partition, int64_t offset,
                        const char *note, broker_committed_done done, void *ctx);
void kafka_group_committed(struct broker_group *group, int32_t partition, broker_position_done done,
                           void *ctx);
/* client_admin.c */
void kafka_delete_records(struct broker *broker, const char *topic, int32_t partition,
                          int64_t before, broker_deleted done, void *ctx);
void kafka_position_of(struct broker *broker, const char *group, const char *topic,
                       int32_t partition, broker_group_position_done done, void *ctx);
/* After the jobs. */
void kafka_admin_deinit(struct kafka_client *kafka);
bool kafka_group_members(struct broker_group *group, broker_members_done done, void *ctx);
void kafka_leave(struct broker_group *group, void (*left)(void *ctx), void *ctx);
/* Finishes the groups that are leaving. Blocks until they have left, at most 2 s. */
void kafka_groups_close(struct kafka_client *kafka);

/* ---- members of a group (client_members.c) ---- */

struct kafka_members;

/* `*list` is the caller's: the queries in progress, at most one for each `ctx`; NULL: none. */
void kafka_members_query(struct kafka_client *kafka, const char *group, const char *topic,
                         broker_members_done done, void *ctx, struct kafka_members **list);
/* Drops the queries in progress: their `done` is not called. */
void kafka_members_forget(struct kafka_members **list);

/* ---- the broker ---- */

int32_t kafka_partition_count_known(struct broker *broker, const char *topic);

struct kafka_client {
    struct broker base;
    struct loop *loop;
    struct kafka_setting *settings; /* names and values are new */
    size_t setting_count;
    char *client_id;
    char *group_instance_id; /* NULL: dynamic */
    char *cluster_id;        /* NULL: unknown */
    int64_t session_timeout_ms;
    int64_t max_poll_interval_ms;
    int64_t read_queue_bytes;
    uint32_t append_queue_records;
    uint32_t events_per_turn;
    uint32_t unknown_topic_ms;
    bool closing;
    bool own_linger; /* the user says how long records wait: there is no batched client */
    struct kafka_health health;
    const struct rd_kafka_metadata *metadata; /* of all topics; NULL: not read yet */
    int64_t metadata_until_ms;                /* then it is read again */
    bool metadata_asked;                      /* a job reads it */
    struct kafka_jobs jobs;
    struct kafka_silent *silent; /* partitions that did not answer (client_silent.c) */
    struct kafka_ends ends;
    struct kafka_oauth *oauth; /* NULL: no tokens */
    struct kafka_producer producers[BROKER_PRODUCER_COUNT];
    struct kafka_handle reader_handle;
    struct kafka_reader *readers;           /* by key */
    struct kafka_group *groups;             /* including those that are leaving */
    struct kafka_quiet_group *quiet_groups; /* client_admin.c */
    struct log_limit log_limits[KAFKA_LOG_LIMITS];
    struct kafka_stats *stats; /* NULL: no metrics */
};

static inline struct kafka_client *kafka_of(const struct broker *broker)
{
    return (struct kafka_client *)broker;
}

#endif
