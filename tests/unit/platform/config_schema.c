/* SPDX-License-Identifier: Apache-2.0 */
/* See config_schema.h. */
#include "tests/unit/platform/config_schema.h"

#include <string.h>

static const struct config_key keys[] = {
    {"kafka.bootstrap.servers", CONFIG_STRING, "127.0.0.1:9092", 1, 4096, NULL, NULL,
     TEST_READERS_ALL, "Brokers."},
    {"embedded", CONFIG_BOOL, "false", 0, 0, NULL, NULL, TEST_READERS_ALL, "A bool."},
    {"topics.prefix", CONFIG_NAME, "orders", 1, 100, NULL, NULL, TEST_READERS_ALL, "A name."},
    {"log.level", CONFIG_ENUM, "info", 0, 0, NULL, "debug|info|warning|error", TEST_READERS_ALL,
     "A choice."},
    {"data.dir", CONFIG_STRING, "", 0, 1024, NULL, NULL, TEST_READER_SERVER,
     "Directory of the stores, with an explanation that is long enough to be wrapped, whatever the "
     "width of the terminal."},
    {"instance.id", CONFIG_NAME, "", 0, 100, NULL, NULL, TEST_READER_SERVER, "Set by complete()."},
    {"http.host", CONFIG_STRING, "127.0.0.1", 0, 64, NULL, NULL, TEST_READER_SERVER, "A text."},
    {"http.port", CONFIG_INT, "0", 0, 65535, NULL, NULL, TEST_READER_SERVER, "An integer."},
    {"clock.skew.max.ms", CONFIG_DURATION_MS, "1000", 0, 86400000, "ms", NULL, TEST_READER_SERVER,
     "A duration."},
    {"drain.timeout.ms", CONFIG_DURATION_MS, "10s", 0, 86400000, "ms", NULL, TEST_READER_SERVER,
     "A duration with a unit."},
    {"scheduler.batch.max", CONFIG_INT, "512", 1, 100000, NULL, NULL, TEST_READER_SERVER,
     "An integer."},
    {"agent.name", CONFIG_NAME, "", 0, 64, NULL, NULL, TEST_READER_SERVER, "Names the scope."},
    {"agent.names", CONFIG_LIST, "", 0, 0, NULL, NULL, TEST_READER_SERVER, "Names the scopes."},
    {"agent.in.flight.max", CONFIG_INT, "1000", 1, 100000, NULL, NULL, TEST_READER_SERVER,
     "An integer with scopes."},
    {"agent.http.url", CONFIG_STRING, "", 0, 2048, NULL, NULL, TEST_READER_SERVER,
     "A text with scopes."},
    {"agent.http.try.timeout.ms", CONFIG_DURATION_MS, "10000", 1, 86400000, "ms", NULL,
     TEST_READER_SERVER, "A duration with scopes."},
    {"agent.callback.secret", CONFIG_SECRET, "", 0, 4096, NULL, NULL, TEST_READER_SERVER,
     "A secret with scopes."},
    {"agent.sim.fail.share", CONFIG_DOUBLE, "0", 0, 1, NULL, NULL, TEST_READER_SERVER, "A number."},
    {"agent.sim.seed", CONFIG_INT, "1", -9e15, 9e15, NULL, NULL, TEST_READER_SERVER,
     "An integer that may be negative."},
    {"console.url", CONFIG_STRING, "", 0, 1024, NULL, NULL, TEST_READER_CLIENT, "A text."},
};

static const struct config_reader readers[] = {
    {"all", TEST_READERS_ALL},
    {"server", TEST_READER_SERVER},
    {"client", TEST_READER_CLIENT},
};

static bool is_secret(const char *name)
{
    return strstr(name, "password") != NULL;
}

static enum error_class check(const struct config_setting settings[], size_t count,
                              struct error *ret_error)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(settings[i].name, "broken") == 0)
            return error_set(ret_error, CODE_CONFIG, "%s (%s) is broken", settings[i].name,
                             settings[i].origin);
    return ERROR_OK;
}

static bool knows(const char *name, char **ret_nearest)
{
    if (strcmp(name, "linger.mx") == 0)
        *ret_nearest = strdup("linger.ms");
    return strncmp(name, "linger.mx", 9) != 0 && strncmp(name, "home", 4) != 0;
}

static const struct config_passthrough passthrough = {
    .prefix = "kafka.", .is_secret = is_secret, .check = check, .knows = knows};

static void complete(struct config *config)
{
    config_set_default(config, "instance.id", "completed");
}

const struct config_schema test_schema = {
    .keys = keys,
    .key_count = sizeof(keys) / sizeof(keys[0]),
    .readers = readers,
    .reader_count = sizeof(readers) / sizeof(readers[0]),
    .passthrough = &passthrough,
    .scope = {.prefix = "agent.", .name_key = "agent.name", .names_key = "agent.names"},
    .environment_prefix = "REEVE_",
    .complete = complete,
};
