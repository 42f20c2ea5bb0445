/* SPDX-License-Identifier: Apache-2.0 */
/* The rule of a zone for years to come, as TZ of POSIX has it, with the extensions of RFC 8536.
 * Inside schedule/ only. Pure. */
#ifndef SCHEDULE_ZONE_RULE_H
#define SCHEDULE_ZONE_RULE_H

#include "schedule/zone.h"

/* All of `text` is a rule: "CET-1CEST,M3.5.0,M10.5.0/3", "<+11>-11". */
bool zone_rule_parse(struct text text, struct zone_rule *ret_rule);
struct zone_span zone_rule_span(const struct zone_rule *rule, int64_t at);

#endif
