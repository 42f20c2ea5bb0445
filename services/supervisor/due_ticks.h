/* SPDX-License-Identifier: Apache-2.0 */
/* Which ticks of which schedule are due: what the leader of the role "schedules" keeps in memory
 * during its term. Times are seconds, by the brokers. Pure. */
#ifndef SERVICES_SUPERVISOR_DUE_TICKS_H
#define SERVICES_SUPERVISOR_DUE_TICKS_H

#include "platform/hash_table.h"
#include "schedule/registry.h"

/* Of one schedule, as one record has it. */
struct due_schedule {
    char name[NAME_BYTES_MAX + 1];
    uint64_t number; /* of the record */
    int64_t next;    /* the first tick that was not taken; TICK_NEVER: there is none */
    int64_t looked;  /* when missed ticks were last looked for: once a second */
    bool told;       /* that its workflow takes no orders */
    UT_hash_handle hh;
};

struct due_ticks {
    struct due_schedule *schedules; /* by name; at most SCHEDULES_MAX */
    int64_t began;                  /* the term */
    int64_t window_max;             /* nothing older is made up, whatever a schedule says */
    /* Called for ticks that will not be submitted. */
    void (*missed)(void *ctx, struct text name, uint64_t count);
    void *ctx;
};

void due_ticks_init(struct due_ticks *due, int64_t began, int64_t window_max,
                    void (*missed)(void *ctx, struct text name, uint64_t count), void *ctx);
void due_ticks_deinit(struct due_ticks *due);
/* What is known of the schedule, brought up to `now`: its next tick is one that may be submitted,
 * or is in the future. NULL: it is paused, or cannot be read. */
struct due_schedule *due_ticks_of(struct due_ticks *due, const struct schedule_entry *entry,
                                  int64_t now);
/* The tick was taken: on to the next one. */
void due_ticks_take(struct due_schedule *schedule, const struct schedule_entry *entry);
/* A tick that was taken did not get there: again, unless the schedule has changed since. */
void due_ticks_give_back(struct due_ticks *due, struct text name, uint64_t number, int64_t tick);
/* The schedule was removed. */
void due_ticks_forget(struct due_ticks *due, struct text name);

#endif
