/* SPDX-License-Identifier: Apache-2.0 */
/* The deployed schedules of a process, as <p>.schedules tells them: the newest record of a name
 * counts. One that cannot be read, or does not compile, is kept with the reason. Bounded: at most
 * SCHEDULES_MAX, of at most SCHEDULE_BYTES_READ_MAX each. Loop thread only. */
#ifndef SCHEDULE_REGISTRY_H
#define SCHEDULE_REGISTRY_H

#include "base/error.h"
#include "schedule/schedule_file.h"

enum { SCHEDULES_MAX = 1000 };

struct schedule_registry;

struct schedule_entry {
    struct schedule_definition definition; /* its name is the record's key */
    const struct schedule *schedule;       /* compiled; NULL: `problem` says why not */
    struct text problem;
    int64_t appended_at; /* ms, by the broker: no tick before is due by this record */
    uint64_t number;     /* of the record: every one that was folded has another */
};

struct schedule_registry *schedule_registry_new(void);
void schedule_registry_free(struct schedule_registry *registry);

/* A record with this key; everything is copied. REJECT "BadSchedule": the entry has that problem.
 * REJECT "TooManySchedules", or "BadSchedule" of a key that is not a name: nothing is kept. */
enum error_class schedule_registry_put(struct schedule_registry *registry, struct text key,
                                       const struct schedule_definition *definition,
                                       int64_t appended_at, struct error *ret_error);
/* A record with this key that cannot be read. Likewise. */
enum error_class schedule_registry_put_unreadable(struct schedule_registry *registry,
                                                  struct text key, const struct error *why,
                                                  int64_t appended_at, struct error *ret_error);
/* A tombstone. */
void schedule_registry_remove(struct schedule_registry *registry, struct text key);

/* NULL: there is none. Entries are borrowed until a record about them is folded. */
const struct schedule_entry *schedule_registry_find(const struct schedule_registry *registry,
                                                    struct text name);
uint32_t schedule_registry_count(const struct schedule_registry *registry);
/* By name. */
const struct schedule_entry *schedule_registry_at(const struct schedule_registry *registry,
                                                  uint32_t index);
/* The schedule, if it is deployed and compiles. REJECT "UnknownSchedule" with a suggestion, or
 * "BadSchedule". */
enum error_class schedule_registry_get(const struct schedule_registry *registry, struct text name,
                                       const struct schedule_entry **ret_entry,
                                       struct error *ret_error);

#endif
