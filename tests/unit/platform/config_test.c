/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/config/config.h"
#include "platform/config/hide.h"
#include "platform/files.h"
#include "tests/unit/platform/config_schema.h"

#include <criterion/criterion.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct config *config;
static char folder[64];

static void open_config(void)
{
    config = config_new(&test_schema);
    snprintf(folder, sizeof(folder), "/tmp/reeve-config-XXXXXX");
    cr_assert(mkdtemp(folder) != NULL);
}

static void close_config(void)
{
    config_free(config);
    files_remove_tree(folder, NULL);
}

TestSuite(configuration, .init = open_config, .fini = close_config);

static const char *write_file(const char *name, const char *content)
{
    static char paths[2][PATH_MAX];
    static int next;
    char *path = paths[next++ % 2];
    snprintf(path, PATH_MAX, "%s/%s", folder, name);
    cr_assert(files_write_atomic(path, text_of(content), NULL) == ERROR_OK);
    return path;
}

/* Arguments as one string, separated by blanks. */
static enum error_class load(const char *flags, char *const envp[], struct error *ret_error)
{
    char copy[1024];
    char *argv[32];
    int argc = 0;
    snprintf(copy, sizeof(copy), "%s", flags);
    for (char *rest = copy, *word; (word = strsep(&rest, " ")) != NULL;) {
        if (*word != '\0')
            argv[argc++] = word;
    }
    return config_load(config, argc, argv, envp, ret_error);
}

static void expect_ok(const char *flags, char *const envp[])
{
    struct error error = {0};
    cr_assert(load(flags, envp, &error) == ERROR_OK, "%s", error.message);
}

static void expect_error(const char *flags, char *const envp[], const char *message)
{
    struct error error = {0};
    config_free(config);
    config = config_new(&test_schema);
    cr_assert(load(flags, envp, &error) == ERROR_REJECT, "%s", flags);
    cr_assert(error.code == CODE_CONFIG || error.code == CODE_USAGE);
    cr_assert_str_eq(error.message, message);
}

Test(configuration, has_valid_and_complete_defaults)
{
    expect_ok("", NULL);
    cr_assert_str_eq(config_string(config, "topics.prefix"), "orders");
    cr_assert(config_ms(config, "clock.skew.max.ms") == 1000);
    cr_assert(config_int(config, "http.port") == 0);
    cr_assert(!config_bool(config, "embedded"));
    cr_assert(config_double(config, "agent.sim.fail.share") == 0);
    cr_assert(!config_is_set(config, "data.dir"));
    cr_assert_str_eq(config_origin(config, "data.dir"), "default");
    cr_assert_str_eq(config_string(config, "instance.id"), "completed");
}

Test(configuration, prefers_flags_to_environment_to_file_to_program)
{
    char flags[PATH_MAX + 64];
    char *environment[] = {"REEVE_HTTP_PORT=2", "REEVE_LOG_LEVEL=error", "PATH=/bin", NULL};
    const char *path = write_file("p", "http.port = 1\nlog.level=debug\n  topics.prefix =  shop \n"
                                       "# a comment\n\ndata.dir = /a=b c\r\n");
    config_set_default(config, "data.dir", "program");
    config_set_default(config, "scheduler.batch.max", "7");
    snprintf(flags, sizeof(flags), "--http-port=3 --config %s", path);
    expect_ok(flags, environment);
    cr_assert(config_int(config, "http.port") == 3);
    cr_assert_str_eq(config_origin(config, "http.port"), "--http-port");
    cr_assert_str_eq(config_string(config, "log.level"), "error");
    cr_assert_str_eq(config_origin(config, "log.level"), "environment REEVE_LOG_LEVEL");
    cr_assert_str_eq(config_string(config, "topics.prefix"), "shop");
    cr_assert_str_eq(config_string(config, "data.dir"), "/a=b c");
    cr_assert(strstr(config_origin(config, "data.dir"), "/p:6") != NULL);
    cr_assert(config_is_set(config, "data.dir"));
    cr_assert(config_int(config, "scheduler.batch.max") == 7);
    cr_assert(!config_is_set(config, "scheduler.batch.max"));
}

Test(configuration, accepts_every_form_of_a_flag)
{
    expect_ok("--data-dir /d --http.host=::1 --embedded --set log.level=debug --set "
              "kafka.linger.ms=1 --topics-prefix=a --topics-prefix=b --agent-sim-seed -5",
              NULL);
    cr_assert_str_eq(config_string(config, "data.dir"), "/d");
    cr_assert_str_eq(config_string(config, "http.host"), "::1");
    cr_assert(config_bool(config, "embedded"));
    cr_assert_str_eq(config_string(config, "log.level"), "debug");
    cr_assert_str_eq(config_string(config, "topics.prefix"), "b");
    cr_assert(config_int(config, "agent.sim.seed") == -5);
}

Test(configuration, leaves_unknown_flags_to_the_program)
{
    char *argv[] = {"--limit", "5", "--data-dir", "/d", "file.csv"};
    bool taken = true;
    int index = 0;
    cr_assert(config_take_flag(config, 5, argv, &index, &taken, NULL) == ERROR_OK);
    cr_assert(!taken && index == 0);
    index = 2;
    cr_assert(config_take_flag(config, 5, argv, &index, &taken, NULL) == ERROR_OK);
    cr_assert(taken && index == 4);
    cr_assert(config_take_flag(config, 5, argv, &index, &taken, NULL) == ERROR_OK);
    cr_assert(!taken && index == 4);
}

Test(configuration, reads_durations_with_units)
{
    static const struct {
        const char *text;
        int64_t ms;
    } cases[] = {{"500", 500},    {"500ms", 500},  {"30s", 30000}, {"1.5s", 1500},
                 {"2 m", 120000}, {"1H", 3600000}, {"0", 0},       {"1d", 86400000}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        cr_assert(config_set(config, "drain.timeout.ms", cases[i].text, NULL) == ERROR_OK);
        cr_assert(config_ms(config, "drain.timeout.ms") == cases[i].ms, "%s", cases[i].text);
    }
}

Test(configuration, rejects_wrong_values_by_name_and_origin)
{
    expect_error("--http-port 65536", NULL,
                 "http.port (--http-port) is 65536; it must be 0 to 65535");
    expect_error("--http-port 8080x", NULL,
                 "http.port (--http-port) is \"8080x\"; it must be a whole number");
    expect_error("--set log.level=loud", NULL,
                 "log.level (--set) is \"loud\"; it must be debug|info|warning|error");
    expect_error("--embedded=maybe", NULL,
                 "embedded (--embedded) is \"maybe\"; it must be true or false");
    expect_error(
        "--topics-prefix=a/b", NULL,
        "topics.prefix (--topics-prefix) is \"a/b\"; it must be made of letters, digits, '.', "
        "'_' and '-'");
    expect_error("--topics-prefix=", NULL, "topics.prefix (--topics-prefix) is empty; set a value");
    expect_error("--drain-timeout-ms=1w", NULL,
                 "drain.timeout.ms (--drain-timeout-ms) is \"1w\"; it must be a time such as 500, "
                 "500ms, 30s, 5m, 2h or 7d");
    expect_error("--agent-sim-fail-share 1.5", NULL,
                 "agent.sim.fail.share (--agent-sim-fail-share) is 1.5; it must be 0 to 1");
    expect_error("--agent-sim-fail-share nan", NULL,
                 "agent.sim.fail.share (--agent-sim-fail-share) is \"nan\"; it must be a number");
    expect_error("--log-level", NULL, "--log-level needs a value");
    expect_error("--log-level --embedded", NULL, "--log-level needs a value");
    expect_error("--set log.level", NULL, "--set log.level: expected KEY=VALUE");
    expect_error("stray", NULL, "unexpected argument \"stray\"");
}

Test(configuration, suggests_a_key_for_an_unknown_one)
{
    expect_error("--data-dri /x", NULL,
                 "unknown key data.dri (--data-dri): did you mean data.dir?");
    expect_error("--set http.prot=1", NULL,
                 "unknown key http.prot (--set): did you mean http.port?");
    expect_error("--set scheduler.batch=1", NULL,
                 "unknown key scheduler.batch (--set): did you mean scheduler.batch.max?");
    expect_error("--set prefix=1", NULL, "unknown key prefix (--set): did you mean topics.prefix?");
    expect_error("--frobnicate", NULL, "unknown key frobnicate (--frobnicate)");
    expect_error("--kafka-acks=1", NULL,
                 "--kafka-acks=1 is not a flag: settings below kafka. need --set kafka.acks=VALUE, "
                 "or a line in the properties file");
}

Test(configuration, ignores_foreign_variables)
{
    char long_name[200];
    snprintf(long_name, sizeof(long_name), "REEVE_%0150d=1", 0);
    char *environment[] = {"REEVE_FAILPOINT=a=kill@3",
                           "REEVE_TEST_DIR=/tmp",
                           "REEVE_HOME=/opt/reeve",
                           "REEVE_SEED=1",
                           "REEVE_KAFKA_HOME=/opt/kafka",
                           "REEVE_KAFKA_HOME_FILE=/opt/kafka",
                           long_name,
                           "REEVE_CONSOLE_SERVICE_HOST=10.0.0.1",
                           "REEVE_CONSOLE_SERVICE_PORT_HTTP=80",
                           "REEVE_CONSOLE_PORT=tcp://10.0.0.1:80",
                           "REEVE_CONSOLE_PORT_80_TCP_ADDR=10.0.0.1",
                           "REEVE_DATA_DIR=",
                           "REEVES=1",
                           NULL};
    expect_ok("", environment);
    cr_assert(!config_is_set(config, "data.dir"));
    cr_assert(config_setting_count(config) == 1); /* the table's own */
    cr_assert_null(config_hint(config));
}

Test(configuration, hints_at_the_first_variable_that_is_almost_a_key)
{
    char *environment[] = {"REEVE_XYZZY=1", "REEVE_DATA_DRI=/x", "REEVE_LOG_LEVL=debug", NULL};
    expect_ok("", environment);
    cr_assert(!config_is_set(config, "data.dir"));
    cr_assert_str_eq(config_hint(config),
                     "the variable REEVE_DATA_DRI is ignored: it is not a setting. Did you mean "
                     "REEVE_DATA_DIR?");
}

Test(configuration, hints_at_a_variable_that_is_almost_a_setting_of_the_library)
{
    char *environment[] = {"REEVE_KAFKA_LINGER_MX=1", NULL};
    expect_ok("", environment);
    cr_assert_str_eq(config_hint(config),
                     "the variable REEVE_KAFKA_LINGER_MX is ignored: it is not a setting. Did you "
                     "mean REEVE_KAFKA_LINGER_MS?");
}

Test(configuration, still_rejects_a_wrong_value_from_the_environment)
{
    char *port[] = {"REEVE_HTTP_PORT=x", NULL};
    char *broken[] = {"REEVE_KAFKA_BROKEN=1", NULL};
    expect_error("", port,
                 "http.port (environment REEVE_HTTP_PORT) is \"x\"; it must be a whole number");
    expect_error("", broken, "broken (environment REEVE_KAFKA_BROKEN) is broken");
}

Test(configuration, names_the_line_of_a_mistake_in_a_file)
{
    struct error error = {0};
    static const struct {
        const char *content;
        const char *message;
    } cases[] = {
        {"log.level=info\nkafka.sasl.password: secret\n",
         ":2: expected KEY = VALUE, but the line has no '='"},
        {"\n\nlog.levle = info", ":3): did you mean log.level?"},
        {"log.level=info\nlog.level=info\n", ":2"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        config_free(config);
        config = config_new(&test_schema);
        cr_assert(config_load_file(config, write_file("f", cases[i].content), &error) ==
                  ERROR_REJECT);
        cr_assert(strstr(error.message, cases[i].message) != NULL, "%s", error.message);
    }
    cr_assert(strstr(error.message, "log.level is set twice") != NULL, "%s", error.message);
    cr_assert(config_load_file(config, "/nowhere/x", &error) == ERROR_REJECT);
    cr_assert(strstr(error.message, "/nowhere/x: No such file") != NULL, "%s", error.message);
}

/* What the library is given for `name`, NULL = nothing. */
static const char *setting(const char *name)
{
    const char *found = NULL;
    for (size_t i = 0; i < config_setting_count(config); i++) {
        struct config_setting at = config_setting_at(config, i);
        if (strcmp(at.name, name) == 0) {
            cr_assert(found == NULL, "once");
            found = at.value;
        }
    }
    return found;
}

Test(configuration, passes_the_settings_of_a_library_through)
{
    char *environment[] = {"REEVE_KAFKA_BOOTSTRAP_SERVERS=b1:9092,b2:9092",
                           "REEVE_KAFKA_SECURITY_PROTOCOL=SASL_SSL", NULL};
    expect_ok("--set kafka.compression.type=lz4", environment);
    cr_assert(config_setting_count(config) == 3);
    cr_assert_str_eq(setting("bootstrap.servers"), "b1:9092,b2:9092");
    cr_assert_str_eq(setting("security.protocol"), "SASL_SSL");
    cr_assert_str_eq(setting("compression.type"), "lz4");
    cr_assert_str_eq(config_string(config, "kafka.bootstrap.servers"), "b1:9092,b2:9092");
}

Test(configuration, reports_what_the_library_rejects)
{
    expect_error("--set kafka.broken=1", NULL, "broken (--set) is broken");
}

Test(configuration, rejects_library_settings_as_flags_even_once_set)
{
    char *environment[] = {"REEVE_KAFKA_LINGER_MS=1", NULL};
    char *argv[] = {"--kafka-linger-ms"};
    bool taken = true;
    int index = 0;
    cr_assert(config_load_environment(config, environment, NULL) == ERROR_OK);
    cr_assert(config_take_flag(config, 1, argv, &index, &taken, NULL) == ERROR_OK);
    cr_assert(!taken && index == 0);
}

Test(configuration, reads_secrets_from_files_and_hides_them)
{
    char flags[PATH_MAX + 64];
    char *shown = NULL;
    size_t size = 0;
    snprintf(flags, sizeof(flags), "--set kafka.sasl.password.file=%s",
             write_file("secret", "tru sted\n"));
    expect_ok(flags, NULL);
    cr_assert_str_eq(setting("sasl.password"), "tru sted");

    FILE *out = open_memstream(&shown, &size);
    config_show(config, out, TEST_READERS_ALL);
    fclose(out);
    cr_assert(strstr(shown, "kafka.sasl.password = (hidden)") != NULL, "%s", shown);
    cr_assert(strstr(shown, "tru sted") == NULL);
    free(shown);

    config_free(config);
    config = config_new(&test_schema);
    snprintf(flags, sizeof(flags), "--agent-callback-secret-file %s",
             write_file("callback", "safe\n"));
    expect_ok(flags, NULL);
    cr_assert_str_eq(config_string(config, "agent.callback.secret"), "safe");
}

static void expect_shown(const char *url, const char *line)
{
    char *shown = NULL;
    size_t size = 0;
    struct error error;
    cr_assert(config_set(config, "agent.http.url", url, &error) == ERROR_OK);
    FILE *out = open_memstream(&shown, &size);
    config_show(config, out, TEST_READERS_ALL);
    fclose(out);
    cr_assert(strstr(shown, line) != NULL, "%s", shown);
    free(shown);
}

Test(configuration, hides_the_user_info_and_the_query_of_urls)
{
    expect_shown("https://me:s3cret@host:1/a?b",
                 "agent.http.url = https://(hidden)@host:1/a?(hidden)   #");
    expect_shown("https://host/a?key=s3@cret", "agent.http.url = https://host/a?(hidden)   #");
    expect_shown("https://me:s3@cret@host", "agent.http.url = https://(hidden)@host   #");
    expect_shown("https://token@host", "agent.http.url = https://(hidden)@host   #");
    expect_shown("https://host/a@b", "agent.http.url = https://host/a@b   #");
    expect_shown("https://host?a@b", "agent.http.url = https://host?(hidden)   #");
    expect_shown("https://a:b@h/x,https://c:d@i:2/y?k=z,https://e",
                 "agent.http.url = https://(hidden)@h/x,https://(hidden)@i:2/y?(hidden)   #");
    expect_shown("https://h/a?to=https://me:s3cret@i", "agent.http.url = https://h/a?(hidden)   #");
}

Test(configuration, reads_any_key_from_a_file_but_not_from_two_places)
{
    char variable[PATH_MAX + 64];
    char flags[PATH_MAX + 64];
    struct error error = {0};
    const char *path = write_file("level", "debug");
    snprintf(variable, sizeof(variable), "REEVE_LOG_LEVEL_FILE=%s", path);
    char *environment[] = {variable, NULL};
    expect_ok("", environment);
    cr_assert_str_eq(config_string(config, "log.level"), "debug");

    config_free(config);
    config = config_new(&test_schema);
    expect_ok("--log-level=error", environment);
    cr_assert_str_eq(config_string(config, "log.level"), "error");

    config_free(config);
    config = config_new(&test_schema);
    snprintf(flags, sizeof(flags), "--log-level=error --set log.level.file=%s", path);
    cr_assert(load(flags, NULL, &error) == ERROR_REJECT);
    cr_assert(strstr(error.message, "log.level is set twice") != NULL, "%s", error.message);
    expect_error("--set log.level.file=/nowhere/x", NULL,
                 "log.level.file (--set): cannot read /nowhere/x: No such file or directory");
    expect_error("--log-level-file /nowhere/x", NULL,
                 "log.level.file (--log-level-file): cannot read /nowhere/x: No such file or "
                 "directory");
}

Test(configuration, names_every_key_in_help_and_docs)
{
    char *help = NULL, *markdown = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&help, &size);
    config_help(&test_schema, out, TEST_READERS_ALL);
    fclose(out);
    out = open_memstream(&markdown, &size);
    config_markdown(&test_schema, out, TEST_READERS_ALL);
    fclose(out);
    for (size_t i = 0; i < test_schema.key_count; i++)
        cr_assert(strstr(markdown, test_schema.keys[i].name) != NULL);
    cr_assert(strstr(help, "  --data-dir (text)\n      Directory of") != NULL, "%s", help);
    cr_assert(strstr(markdown, "debug\\|info\\|warning") != NULL);
    for (const char *line = help; *line != '\0'; line += strcspn(line, "\n") + 1)
        cr_assert(strcspn(line, "\n") <= 80, "%.100s", line);
    free(help);
    free(markdown);
}

/* A suite of its own: an abort skips .fini, which removes the folder. */
Test(configuration_bugs, aborts_when_a_getter_has_the_wrong_type, .signal = SIGABRT)
{
    config_int(config_new(&test_schema), "data.dir");
}

Test(config, hides_secrets_in_arguments)
{
    static const char *const given[] = {"run",
                                        "--agent-callback-secret",
                                        "s1",
                                        "--agent-callback-secret=s2",
                                        "--set",
                                        "agent.pay.callback.secret=s3",
                                        "--set=kafka.x.password=s=4",
                                        "--set",
                                        "kafka.x.password.file=/run/s5",
                                        "--http-host",
                                        "s6",
                                        "--agent-callback-secret-file",
                                        "s7",
                                        "--embedded",
                                        "kafka.x.password=s8",
                                        "--agent-http-url",
                                        "https://me:s9@host/a?key=s10",
                                        "--agent-http-url",
                                        "https://a:b@h/x,https://c:d@i?k=z,https://e",
                                        "--reason",
                                        "https://me@host/a?b",
                                        "--set",
                                        "--http-port"};
    static const char *const expected[] = {"run",
                                           "--agent-callback-secret",
                                           "**",
                                           "--agent-callback-secret=**",
                                           "--set",
                                           "agent.pay.callback.secret=**",
                                           "--set=kafka.x.password=***",
                                           "--set",
                                           "kafka.x.password.file=/run/s5",
                                           "--http-host",
                                           "s6",
                                           "--agent-callback-secret-file",
                                           "s7",
                                           "--embedded",
                                           "kafka.x.password=s8",
                                           "--agent-http-url",
                                           "https://*****@host/a?*******",
                                           "--agent-http-url",
                                           "https://***@h/x,https://***@i?*************",
                                           "--reason",
                                           "https://me@host/a?b",
                                           "--set",
                                           "--http-port"};
    enum { COUNT = sizeof(given) / sizeof(given[0]) };
    char *argv[COUNT];
    for (int i = 0; i < COUNT; i++)
        argv[i] = strdup(given[i]);
    config_hide_secrets(&test_schema, COUNT, argv);
    for (int i = 0; i < COUNT; i++) {
        cr_expect_str_eq(argv[i], expected[i]);
        free(argv[i]);
    }
}
