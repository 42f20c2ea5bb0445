/* SPDX-License-Identifier: Apache-2.0 */
/* What intake.c and partitions.c share; no other file includes this. */
#ifndef SERVICES_AGENT_CORE_INTAKE_INTERNAL_H
#define SERVICES_AGENT_CORE_INTAKE_INTERNAL_H

#include "services/agent/core/agent_internal.h"
#include "services/agent/core/dead_letters.h"
#include "services/agent/core/offsets.h"
#include "services/agent/core/request_queue.h"
#include "services/agent/core/settled_note.h"

enum {
    INTAKE_COMMIT_MS = 100, /* from a settled request to its commit */
    INTAKE_RETRY_MS = 1000  /* before a committed offset is requested again, or a commit */
};

enum agent_partition_state {
    PARTITION_CLOSED,
    PARTITION_LOCATING, /* the committed offset is not known yet */
    PARTITION_READING
};

struct agent_partition {
    struct agent_intake *intake;
    int32_t number;
    enum agent_partition_state state;
    uint32_t epoch; /* how often it was closed */
    bool locating;  /* the committed offset was requested and is outstanding */
    struct broker_reader *reader;
    bool paused;
    bool waits_for_schema;  /* of the writer of its latest request */
    bool waits_for_version; /* that can read its latest request; until it is closed */
    struct agent_offsets offsets;
    int64_t committed;             /* the last position given to the group, -1 = none */
    uint64_t committed_settled;    /* what of `offsets.settled` it covers */
    struct settled_ranges settled; /* by earlier owners, behind where reading began */
};

struct agent_intake {
    struct agent *agent;
    struct agent_partition **partitions; /* each stays put: readers point to it */
    size_t partition_count;
    bool suspended; /* revoked: nothing is read until the next assignment */
    bool draining;
    bool halted;    /* nothing is read or begun until the agent has left its group and is back */
    bool held_back; /* some reader is paused */
    uint32_t in_flight_max;
    uint32_t queue_max;
    struct request_queue queue; /* read and not begun */
    uint32_t commits;           /* outstanding */
    struct dead_letters *letters;
    struct loop_deferred flow;
    struct loop_timer commit_timer;
    struct loop_timer locate_timer;
    struct loop_timer disk_timer; /* while the disk has no space for answers */
};

static inline struct loop *agent_intake_loop(const struct agent_intake *intake)
{
    return intake->agent->service->loop;
}

/* ---- intake.c ---- */

void agent_intake_on_record(void *ctx, const struct broker_record *record);
/* Pauses the partition if it must wait, or if `full`; otherwise resumes it. */
void agent_intake_update_flow(struct agent_intake *intake, struct agent_partition *partition,
                              bool full);

/* ---- partitions.c ---- */

/* New and closed if it is not there yet. */
struct agent_partition *agent_intake_partition(struct agent_intake *intake, int32_t number);
void agent_intake_on_locate_timer(void *ctx);
/* From its committed offset, a while later; nothing of it stays queued. */
void agent_intake_read_again(struct agent_intake *intake, int32_t number, const struct error *why);

#endif
