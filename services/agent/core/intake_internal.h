/* SPDX-License-Identifier: Apache-2.0 */
/* What intake.c and partitions.c share: nobody else includes this. */
#ifndef SERVICES_AGENT_CORE_INTAKE_INTERNAL_H
#define SERVICES_AGENT_CORE_INTAKE_INTERNAL_H

#include "services/agent/core/core.h"
#include "services/agent/core/dead_letters.h"
#include "services/agent/core/offsets.h"
#include "services/agent/core/request_queue.h"

enum {
    INTAKE_COMMIT_MS = 100,  /* commits are at most so far behind, and so frequent */
    INTAKE_LOCATE_MS = 1000, /* before the committed offset is asked for again */
};

enum partition_state {
    PARTITION_CLOSED,
    PARTITION_LOCATING, /* it is asked where to read from */
    PARTITION_READING
};

struct agent_partition {
    struct agent_intake *intake;
    int32_t number;
    enum partition_state state;
    uint32_t epoch; /* counts its lives */
    bool asked;     /* the committed offset, and no answer yet */
    struct broker_reader *reader;
    bool paused;
    bool parked; /* a record waits for its writer's schema */
    struct offsets offsets;
    int64_t committed; /* the last position given to the group, -1 = none */
    int64_t end;       /* the partition ended here when we looked last; -1 = unknown */
};

struct agent_intake {
    struct agent *agent;
    struct agent_partition **partitions; /* each stays put: readers point to it */
    size_t partition_count;
    bool suspended; /* revoked: nothing is read until the next assignment */
    bool draining;
    bool halted;    /* nothing is read or begun until it has left and comes back */
    bool held_back; /* some reader is paused */
    uint32_t in_hand_max;
    uint32_t queue_max;
    struct agent_queue queue; /* read, not begun */
    uint32_t commits;         /* on their way */
    struct agent_letters *letters;
    struct loop_work flow;
    struct loop_timer commit_timer;
    struct loop_timer locate_timer;
    struct loop_timer disk_timer; /* while there is no room for answers */
};

static inline struct loop *intake_loop(const struct agent_intake *intake)
{
    return intake->agent->service->loop;
}

/* ---- intake.c ---- */

void intake_on_record(void *ctx, const struct broker_record *record);
void intake_on_end(void *ctx, int64_t next_offset);
/* Pauses the partition if it must wait, or all must (`full`); resumes it if it need not. */
void intake_update_flow(struct agent_intake *intake, struct agent_partition *partition, bool full);

/* ---- partitions.c ---- */

/* Made, closed, if there is none yet. */
struct agent_partition *intake_partition(struct agent_intake *intake, int32_t number);
void intake_on_locate_timer(struct loop *loop, struct loop_timer *timer, void *userdata);

#endif
