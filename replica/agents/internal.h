/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by agent_table.c, pause.c and follow.c only. */
#ifndef REPLICA_AGENTS_INTERNAL_H
#define REPLICA_AGENTS_INTERNAL_H

#include "platform/hash_table.h"
#include "replica/agents/agent_table.h"
#include "replica/cluster/topic_reader.h"

struct entry_slot {
    struct agent_entry entry;
    char key[WHO_BYTES_MAX + 1 + NAME_BYTES_MAX + 1];
    UT_hash_handle hh;
};

/* The next sweep passes its key to agent_table_ops.outdated. */
struct outdated_slot {
    char key[WHO_BYTES_MAX + 1 + NAME_BYTES_MAX + 1];
    UT_hash_handle hh;
};

struct group_slot {
    struct agent_group group;
    UT_hash_handle hh;
};

struct pause_slot {
    struct agent_pause_entry entry;
    UT_hash_handle hh;
};

struct agent_table {
    struct agent_table_ops ops;
    void *ctx;
    struct entry_slot *entries;
    struct outdated_slot *outdated; /* AGENT_TABLE_MAX at most; no key of `entries` */
    struct group_slot *groups_by_name;
    struct agent_group *groups; /* by name */
    struct pause_slot *pauses_by_agent;
    struct agent_pause_entry *pauses; /* by agent */
    bool complete;
    /* of follow.c */
    struct cluster *cluster; /* NULL: nothing is followed */
    struct topic_reader reader;
    struct loop_timer timer;
    struct heap_arena heap;
    /* The brokers' time less the monotonic one, at least: as records show that were just read. */
    int64_t brokers_lead_ms;
    int64_t offset; /* of the record read last; -1: none */
};

/* agent_table.c: NULL = none. */
const struct agent_entry *agent_table_entry(const struct agent_table *table, struct text key);
/* pause.c: a tombstone. False: it is not the key of a pause. */
bool agent_table_remove_pause(struct agent_table *table, struct text key);
void agent_table_report_pauses(struct agent_table *table);
void agent_table_free_pauses(struct agent_table *table);
/* follow.c: reads no more. */
void agent_table_unfollow(struct agent_table *table);

#endif
