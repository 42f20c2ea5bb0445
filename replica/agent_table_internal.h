/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by agent_table.c and agent_table_follow.c only. */
#ifndef REPLICA_AGENT_TABLE_INTERNAL_H
#define REPLICA_AGENT_TABLE_INTERNAL_H

#include "replica/agent_table.h"

#include <uthash.h>

struct entry_slot {
    struct agent_entry entry;
    char key[WHO_BYTES_MAX + 1 + NAME_BYTES_MAX + 1];
    UT_hash_handle hh;
};

struct group_slot {
    struct agent_group group;
    UT_hash_handle hh;
};

struct agent_table {
    struct agent_table_ops ops;
    void *ctx;
    struct entry_slot *entries;
    struct group_slot *groups_by_name;
    struct agent_group *groups; /* by name */
    bool complete;
    /* of agent_table_follow.c */
    struct cluster *cluster; /* NULL: nothing is followed */
    struct broker_reader *reader;
    struct loop_timer timer;
    struct heap_arena heap;
};

/* agent_table.c: NULL = none. */
const struct agent_entry *agent_table_entry(const struct agent_table *table, struct text key);
/* agent_table_follow.c: reads no more. */
void agent_table_unfollow(struct agent_table *table);

#endif
