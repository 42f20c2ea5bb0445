/* SPDX-License-Identifier: Apache-2.0 */
/* The kafka.* keys of the configuration. They go to librdkafka as they are; a setting that
 * librdkafka does not know, or that would break a guarantee of reeve, is refused. */
#ifndef KAFKA_SETTINGS_H
#define KAFKA_SETTINGS_H

#include "platform/config/config.h"

extern const struct config_passthrough kafka_settings;

#endif
