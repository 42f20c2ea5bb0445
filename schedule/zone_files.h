/* SPDX-License-Identifier: Apache-2.0 */
/* The zones that the system's tzdata has. Each call reads the file, so that an update of tzdata
 * counts for what is read after it. */
#ifndef SCHEDULE_ZONE_FILES_H
#define SCHEDULE_ZONE_FILES_H

#include "base/error.h"
#include "schedule/zone.h"

#define ZONE_FILES "/usr/share/zoneinfo"
enum { ZONE_NAME_BYTES_MAX = 64 };

/* The zone of that name, such as Europe/Berlin; in `arena`. REJECT "BadSchedule": there is none,
 * with a suggestion, or the system lists it and lacks its file. FATAL "NoTimeZones": the system has
 * no zones at all, or a damaged one. */
enum error_class zone_read(struct text name, struct arena *arena, struct zone *ret_zone,
                           struct error *ret_error);

/* The same with another folder than ZONE_FILES: for tests. */
enum error_class zone_read_in(const char *folder, struct text name, struct arena *arena,
                              struct zone *ret_zone, struct error *ret_error);

#endif
