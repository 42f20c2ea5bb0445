/* SPDX-License-Identifier: Apache-2.0 */
/* The kafka.* keys of the configuration. They go to librdkafka as they are, but for those that name
 * where tokens come from; a setting that
 * librdkafka does not know, or that would break a guarantee of reeve, is refused. */
#ifndef KAFKA_SETTINGS_H
#define KAFKA_SETTINGS_H

#include "platform/config/config.h"

extern const struct config_passthrough kafka_settings;

/* Whether `name` (without "kafka.") is a setting of reeve: it is in the table of keys and does not
 * go to librdkafka. */
bool kafka_settings_is_own(const char *name);

#endif
