/* SPDX-License-Identifier: Apache-2.0 */
/* The deployed schedules, as a command reads and changes them. */
#ifndef CLI_SCHEDULE_DEPLOYED_H
#define CLI_SCHEDULE_DEPLOYED_H

#include "cli/session.h"
#include "replica/schedules/schedule_topic.h"

struct deployed_schedules {
    struct cli_session *session; /* borrowed; it follows workflows */
    struct schedule_topic *topic;
    int64_t written; /* offset of the record that was written last */
};

/* Reads <p>.schedules to its end. RETRY "NotRead"; then nothing is left to deinit. */
enum error_class deployed_schedules_init(struct deployed_schedules *deployed,
                                         struct cli_session *session, struct error *ret_error);
void deployed_schedules_deinit(struct deployed_schedules *deployed);
const struct schedule_registry *deployed_schedules_registry(
    const struct deployed_schedules *deployed);
/* Appends the record of that schedule, or with NULL a tombstone, and reads it back. */
enum error_class deployed_schedules_write(struct deployed_schedules *deployed, struct text name,
                                          const struct schedule_definition *definition,
                                          struct error *ret_error);
/* Seconds, by this machine's clock. */
int64_t deployed_schedules_now(const struct deployed_schedules *deployed);

#endif
