/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration's kafka.* settings for functions that connect by themselves
 * (kafka/topics/topics.h). */
#ifndef CLI_KAFKA_OPTIONS_H
#define CLI_KAFKA_OPTIONS_H

#include "kafka/client.h"
#include "platform/config/config.h"

enum { CLI_KAFKA_SETTINGS_MAX = 256 };

struct cli_kafka_options {
    struct kafka_setting settings[CLI_KAFKA_SETTINGS_MAX];
    struct kafka_client_options options; /* points into this struct: it stays put */
};

/* All borrowed from the configuration. REJECT "Config" for more settings than there is room for. */
enum error_class cli_kafka_options(const struct config *config,
                                   struct cli_kafka_options *ret_options, struct error *ret_error);

#endif
