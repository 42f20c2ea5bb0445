/* SPDX-License-Identifier: Apache-2.0 */
/* Which agents there are, how they are doing, and which of them operators have paused: the
 * AgentHealth and AgentPause records of <p>.agents, folded.
 *
 * An entry is one agent in one process ("instance/agent", the record's key). It stays until its
 * tombstone, or until it was not heard of for AGENT_TABLE_BEATS of its heartbeats: then it is gone,
 * whatever the topic still holds. Heard of means the broker's append time, not what the agent's
 * clock says, nor ours: once the topic is read to its end, a record is as old as the append times
 * before it prove. Only of the past this machine's clock says how old a record is, where the owner
 * of the table does not. Records that cannot be true are ignored with a line in the log, and what
 * was known stays until it lapses.
 *
 * A pause ("pause:agent") holds until a record resumes the agent, or a tombstone; it needs no
 * instance. No key of an entry can be that of a pause, because agents' names hold no '/'.
 *
 * Everything belongs to the loop's thread; entries are borrowed until the next turn of the loop. */
#ifndef REPLICA_AGENTS_AGENT_TABLE_H
#define REPLICA_AGENTS_AGENT_TABLE_H

#include "replica/cluster/cluster.h"

enum {
    AGENT_TABLE_MAX = 4096,  /* entries; more are ignored, and logged */
    AGENT_PAUSES_MAX = 1024, /* likewise */
    AGENT_TABLE_BEATS = 3,
    AGENT_TABLE_BEAT_MS = 10000,       /* of records without it */
    AGENT_TABLE_BEAT_MS_MIN = 100,     /* a shorter one counts as this ... */
    AGENT_TABLE_BEAT_MS_MAX = 60000,   /* ... and a longer one as this */
    AGENT_TABLE_CAPACITY_MAX = 1000000 /* above it a record is absurd */
};

enum agent_circuit {
    AGENT_CIRCUIT_NONE, /* the agent has none */
    AGENT_CIRCUIT_CLOSED,
    AGENT_CIRCUIT_OPEN,
    AGENT_CIRCUIT_HALF_OPEN,
    AGENT_CIRCUIT_COUNT
};

/* One agent in one process. */
struct agent_entry {
    char agent[NAME_BYTES_MAX + 1];
    char instance[WHO_BYTES_MAX + 1];
    uint32_t capacity;
    uint32_t in_flight;
    uint32_t queued;
    uint32_t partitions;
    int64_t latency_p50_ms;
    int64_t latency_p95_ms;
    uint32_t errors_permille;
    enum agent_circuit circuit;
    char version[WHO_BYTES_MAX + 1];
    char last_error[MESSAGE_BYTES_MAX + 1];
    int64_t heartbeat_ms;            /* within the bounds above */
    int64_t reported_at;             /* by its own clock: for people only */
    int64_t appended_at;             /* by the broker's */
    int64_t lapses_ms;               /* gone at this monotonic time */
    struct agent_entry *prev, *next; /* of the same agent, by instance */
};

/* The live entries of one agent; there is at least one. */
struct agent_group {
    char agent[NAME_BYTES_MAX + 1];
    uint32_t count;
    struct agent_entry *entries;     /* by instance, linked by next */
    struct agent_group *prev, *next; /* by name */
};

/* An operator has paused the agent. Texts are printable; "?" stands for one that is not. */
struct agent_pause_entry {
    char agent[NAME_BYTES_MAX + 1];
    char by[WHO_BYTES_MAX + 1];
    char reason[MESSAGE_BYTES_MAX + 1];
    int64_t at;                            /* by the console's clock: for people only */
    struct agent_pause_entry *prev, *next; /* by agent */
};

/* "pause:" and the agent */
enum { AGENT_PAUSE_KEY_SIZE = 6 + NAME_BYTES_MAX + 1 };
/* Writes the key of an agent's pause, whose name is valid; returns it. */
struct text agent_pause_key(struct text agent, char key[AGENT_PAUSE_KEY_SIZE]);

struct agent_table;

/* Any may be NULL. They are not called from inside your own agent_table_* calls, and must not free
 * the table. */
struct agent_table_ops {
    /* Something that may matter to routing: a new entry, or another capacity, load, circuit. A
     * heartbeat without news calls nothing. */
    void (*changed)(void *ctx, const struct agent_entry *entry);
    /* The entry goes: `lapsed`, or by its tombstone. */
    void (*gone)(void *ctx, const struct agent_entry *entry, bool lapsed);
    /* A record about this pause was folded; `pause` NULL: the agent is not paused. When the table
     * becomes complete, first of all once for each pause. */
    void (*paused)(void *ctx, struct text agent, const struct agent_pause_entry *pause);
    /* The topic still holds a record, under this key, of an instance that had vanished before its
     * record was read; at the next sweep of a complete table, because a later record may follow. */
    void (*outdated)(void *ctx, struct text key);
    /* For a table whose owner acts on what vanished: how long the brokers have certainly been there
     * without a record of an instance that was heard of last at `appended_at`. An entry goes only
     * if that is long enough as well, and no record that was just read is outdated. */
    int64_t (*silence_ms)(void *ctx, int64_t appended_at);
};

/* New. Reads <p>.agents from its start and follows it. `cluster` is borrowed and must be ready (the
 * topic need not exist: it is looked for again). At most one for a `cluster`, which has one reader
 * of each partition. */
struct agent_table *agent_table_follow(struct cluster *cluster, const struct agent_table_ops *ops,
                                       void *ctx);
/* Before cluster_close(). NULL does nothing. */
void agent_table_free(struct agent_table *table);
/* The topic was read to its end once: before that, an agent that is not there may only not have
 * been read yet. */
bool agent_table_is_complete(const struct agent_table *table);

/* NULL = no live instance. */
const struct agent_group *agent_table_find(const struct agent_table *table, struct text agent);
/* All agents, by name, linked by next. */
const struct agent_group *agent_table_groups(const struct agent_table *table);
/* NULL = the agent is not paused, as far as the table was read. */
const struct agent_pause_entry *agent_table_pause(const struct agent_table *table,
                                                  struct text agent);
/* All pauses, by agent, linked by next. */
const struct agent_pause_entry *agent_table_pauses(const struct agent_table *table);
uint32_t agent_table_pause_count(const struct agent_table *table);
/* Offset of the record that was read last; -1: none. */
int64_t agent_table_offset(const struct agent_table *table);
uint32_t agent_table_count(const struct agent_table *table); /* for tests */
/* "closed", "open", "half-open", "" */
const char *agent_circuit_name(enum agent_circuit circuit);

/* ---- the fold without a topic: for the above, and for tests ---- */

/* New; complete from the start. */
struct agent_table *agent_table_new(const struct agent_table_ops *ops, void *ctx);
/* What a record with this key says, appended at `appended_at`, read at the brokers' time `now_ms`
 * and at this monotonic time. REJECT "BadHealth" with the reason: ignored. */
enum error_class agent_table_put(struct agent_table *table, struct text key,
                                 const struct agent_health *health, int64_t appended_at,
                                 int64_t now_ms, int64_t mono_ms, struct error *ret_error);
/* Whether the record proves that the instance's clock is wrong: it cannot be appended before it was
 * made. A time in the past proves nothing, because the record may have waited for its broker; an
 * agent whose clock is behind finds that out by itself, and leaves its group. */
bool agent_table_clock_is_ahead(const struct agent_health *health, int64_t appended_at,
                                int64_t margin_ms);
/* What a record with this key says. REJECT "BadPause" with the reason: ignored. */
enum error_class agent_table_put_pause(struct agent_table *table, struct text key,
                                       const struct agent_pause *pause, struct error *ret_error);
/* A tombstone. */
void agent_table_remove(struct agent_table *table, struct text key);
/* Removes what has lapsed. Returns the monotonic time of the next look; INT64_MAX = nothing is
 * there. */
int64_t agent_table_sweep(struct agent_table *table, int64_t mono_ms);

#endif
