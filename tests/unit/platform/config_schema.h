/* SPDX-License-Identifier: Apache-2.0 */
/* A small schema with a key of each type, for the tests of the parser. */
#ifndef TESTS_UNIT_PLATFORM_CONFIG_SCHEMA_H
#define TESTS_UNIT_PLATFORM_CONFIG_SCHEMA_H

#include "platform/config/config.h"

enum { TEST_READER_SERVER = 1, TEST_READER_CLIENT = 2, TEST_READERS_ALL = 3 };

/* Passes kafka.* through and rejects kafka.broken; agent.* has scopes; completes instance.id. */
extern const struct config_schema test_schema;

#endif
