/* SPDX-License-Identifier: Apache-2.0 */
/* The life cycle of schedules, as `reeve schedule` and the console's API change it: which record a
 * change writes, and why it is refused. Pure functions of the registry, which has read
 * <p>.schedules to its end; the caller appends the record under the schedule's name. */
#ifndef SCHEDULE_LIFECYCLE_H
#define SCHEDULE_LIFECYCLE_H

#include "schedule/registry.h"

/* Who changes something, and when; borrowed. */
struct schedule_author {
    struct text by;
    struct text reason; /* of a pause and its end */
    int64_t at;
};

enum schedule_deployment { SCHEDULE_IS_NEW, SCHEDULE_IS_CHANGED, SCHEDULE_IS_THE_SAME };

/* The record of a text that compiles to `schedule`. One that is paused stays so. With
 * SCHEDULE_IS_THE_SAME there is none. Borrows its arguments and the registry. REJECT
 * "TooManySchedules". */
enum error_class schedule_deploy(const struct schedule_registry *registry,
                                 const struct schedule *schedule, struct text text,
                                 enum workflow_format format, const struct schedule_author *author,
                                 enum schedule_deployment *ret_result,
                                 struct schedule_definition *ret_definition,
                                 struct error *ret_error);
/* "deployed", "changed, paused" ... */
const char *schedule_deployment_word(enum schedule_deployment result, bool paused);

/* The record that pauses the schedule or ends its pause. REJECT "UnknownSchedule", "AlreadyPaused",
 * "NotPaused", or "BadSchedule" of one whose record cannot be read. */
enum error_class schedule_pause(const struct schedule_registry *registry, struct text name,
                                bool pause, const struct schedule_author *author,
                                struct schedule_definition *ret_definition,
                                struct error *ret_error);

enum { SCHEDULE_BACKFILL_MAX = 1000 };

/* The ticks from `from` to `to`, both included; `now`: none is later. REJECT "TooManyTicks", or
 * "OutOfRange" of a span that ends before it begins, or in the future. */
enum error_class schedule_backfill(const struct schedule *schedule, int64_t from, int64_t to,
                                   int64_t now, int64_t ret_ticks[SCHEDULE_BACKFILL_MAX],
                                   uint32_t *ret_count, struct error *ret_error);

#endif
