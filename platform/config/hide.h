/* SPDX-License-Identifier: Apache-2.0 */
/* Secrets among the arguments of a process, which every user of the machine can read. For main
 * functions. */
#ifndef PLATFORM_CONFIG_HIDE_H
#define PLATFORM_CONFIG_HIDE_H

#include "platform/config/config.h"

/* Overwrites the values of secrets among the flags. They are gone then: take a copy before. */
void config_hide_secrets(const struct config_schema *schema, int argc, char *argv[]);

#endif
