/* SPDX-License-Identifier: Apache-2.0 */
/* See kafka_options.h. */
#include "cli/kafka_options.h"

#include "replica/settings.h"

enum error_class cli_kafka_options(const struct config *config,
                                   struct cli_kafka_options *ret_options, struct error *ret_error)
{
    size_t count = config_setting_count(config);
    if (count > CLI_KAFKA_SETTINGS_MAX)
        return error_set(ret_error, ERROR_REJECT, "Config", "more than %d kafka.* settings",
                         CLI_KAFKA_SETTINGS_MAX);
    for (size_t i = 0; i < count; i++) {
        struct config_setting setting = config_setting_at(config, i);
        ret_options->settings[i] = (struct kafka_setting){setting.name, setting.value};
    }
    ret_options->options = (struct kafka_client_options){
        .settings = ret_options->settings,
        .setting_count = count,
        .client_id = config_string(config, "instance.id"),
        .session_timeout_ms = config_ms(config, "session.timeout.ms"),
        .embedded = config_bool(config, "embedded"),
    };
    return ERROR_OK;
}
