/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration keys of reeve: config_new(&settings_schema). The parser is
 * platform/config. */
#ifndef REPLICA_SERVICE_SETTINGS_H
#define REPLICA_SERVICE_SETTINGS_H

#include "platform/config/config.h"

/* Which programs read a key: for help and documentation only; every program accepts every key. */
enum {
    SETTINGS_SUBMISSION = 1,
    SETTINGS_SCHEDULER = 2,
    SETTINGS_AGENT = 4,
    SETTINGS_SUPERVISOR = 8,
    SETTINGS_CONSOLE = 16,
    SETTINGS_CLI = 32,
    SETTINGS_SERVICES = 31, /* all but the CLI */
    SETTINGS_ALL = 63
};

extern const struct config_schema settings_schema;

#endif
