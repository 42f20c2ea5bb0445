/* SPDX-License-Identifier: Apache-2.0 */
/* A world that goes on writing while tools run in it. Its owners trim their logs, die and are
 * followed, zombies write, brokers forget deletions, orders expire, operators reset partitions with
 * a skip; and a command of `reeve`, or a console with an empty store, reads all that meanwhile.
 *
 *     tools_world    the world, and what happens in it
 *     tools_fold     what its logs say
 *     tools_run      a command line in it; tools_commands: verify and export
 *     tools_console  a console in it */
#ifndef TESTS_PROPERTY_TOOLS_WORLD_H
#define TESTS_PROPERTY_TOOLS_WORLD_H

#include "tests/property/tools_fold.h"

struct tools_console;

/* What a tool may have met since it began. */
struct tools_span {
    int64_t low_min[PARTITIONS_MAX]; /* where the logs began */
    int64_t low_max[PARTITIONS_MAX];
    int64_t high[PARTITIONS_MAX]; /* where they ended when it began */
    bool stopped;                 /* a record stopped every reader, at least for a while */
    uint32_t resets;              /* of the world, when it began */
    uint32_t garbage_count;       /* likewise */
};

enum tools_met {
    TOOLS_VERIFIED,
    TOOLS_VERIFIED_INSIDE,  /* a log that was trimmed */
    TOOLS_VERIFIED_TRIMMED, /* while it was */
    TOOLS_COMPARED,         /* live stores */
    TOOLS_NOT_COMPARED,     /* they were overtaken by a trim */
    TOOLS_EXPORTED,         /* orders */
    TOOLS_EXPORTED_TRIMMED, /* from a log that was trimmed under it */
    TOOLS_STOPPED,          /* by a record that no Reset skips */
    TOOLS_CONSOLES,         /* compared */
    TOOLS_CONSOLES_INSIDE,  /* that began inside a log */
    TOOLS_BEGUN_LATER,      /* than an order: at its Statement */
    TOOLS_ALERTS_OPEN,
    TOOLS_ALERTS_CLOSED,
    TOOLS_FORGOTTEN, /* a deletion was, while a tool ran */
    TOOLS_SKIPPED,   /* a record that counted, by a Reset, likewise */
    TOOLS_MET_COUNT
};

struct tools {
    struct world *world;
    struct dice dice;
    struct clock_manual clock;     /* of their host: time does not jump while they wait */
    struct tools_span span;        /* of the command that runs */
    uint32_t busy;                 /* turns in which the world still goes on */
    uint64_t turns;                /* of all tools */
    uint32_t resets;               /* that skip what counted */
    struct tools_console *console; /* NULL: none runs */
    uint64_t *met;
};

struct tools *tools_new(struct ownership_run *run, uint64_t seed, uint64_t met[TOOLS_MET_COUNT]);
void tools_free(struct tools *tools);
/* The world goes on by a step. */
void tools_go_on(struct tools *tools);
/* A turn of a tool: the world goes on, as long as it is busy, and something is delivered. */
void tools_turn(struct tools *tools);

void tools_span_begin(struct tools *tools, struct tools_span *span);
void tools_span_note(struct tools *tools, struct tools_span *span);
/* A newer version has claimed a partition: what is read of it may be refused. */
bool tools_are_outdated(struct tools *tools);

#endif
