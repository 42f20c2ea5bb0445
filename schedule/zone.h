/* SPDX-License-Identifier: Apache-2.0 */
/* A time zone: which local time it is there at a moment, and the other way round. Read from the
 * bytes of a TZif file (RFC 8536), as the system's tzdata has one for each zone. libc knows zones
 * only through TZ, which the whole process shares; so it is of no use to a service that has several
 * of them. Pure. Times are seconds since the epoch, of UTC or, "local", of the zone's clocks. */
#ifndef SCHEDULE_ZONE_H
#define SCHEDULE_ZONE_H

#include "base/arena.h"

enum {
    ZONE_FILE_BYTES_MAX = 64 * 1024, /* the longest of tzdata has 4 KiB */
    ZONE_CHANGES_MAX = 2000,         /* of offset, that a file names one by one */
    ZONE_OFFSET_MAX = 26 * 3600      /* RFC 8536: less than that */
};

/* A day of each year, and a time on it. */
struct zone_day {
    enum { ZONE_DAY_OF_MONTH, ZONE_DAY_WITHOUT_LEAP, ZONE_DAY_FROM_0 } kind;
    int month;
    int week; /* 1 .. 5; 5: the last */
    int day;  /* of the week, 0: Sunday; else of the year */
    int32_t time_s;
};

/* For ever after the changes that are named: with summer time between two days of each year. */
struct zone_rule {
    int32_t offset_s;
    int32_t summer_offset_s;
    bool has_summer;
    struct zone_day begin;
    struct zone_day end;
};

struct zone_change {
    int64_t at;
    int32_t offset_s; /* from then on; what is added to UTC */
};

/* Zeroed: UTC. */
struct zone {
    int32_t first_offset_s; /* before the first change */
    const struct zone_change *changes;
    uint32_t change_count;
    bool has_rule;
    struct zone_rule rule; /* after the last one */
};

/* In `arena`. NULL, or what is wrong with the file. */
const char *zone_parse(struct text file, struct arena *arena, struct zone *ret_zone);

/* A time with one offset: from `begin` to before `end`; INT64_MIN and INT64_MAX: for ever. */
struct zone_span {
    int64_t begin;
    int64_t end;
    int32_t offset_s;
};

struct zone_span zone_span_at(const struct zone *zone, int64_t at);
/* The first moment at which the zone's clocks show `local`. If they never do, because they are set
 * forward over it: the moment at which they are. */
int64_t zone_moment_of(const struct zone *zone, int64_t local);

#endif
