/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/logger.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int ends[2];
static char got[64 * 1024];

static void open_log(void)
{
    cr_assert(pipe2(ends, O_NONBLOCK) == 0);
    log_set_fd(ends[1]);
}

static void close_log(void)
{
    log_set_fd(-1);
    close(ends[0]);
    close(ends[1]);
}

TestSuite(logger, .init = open_log, .fini = close_log);

/* What was written since the last call. */
static const char *written(void)
{
    ssize_t size = read(ends[0], got, sizeof(got) - 1);
    got[size > 0 ? size : 0] = '\0';
    return got;
}

/* The line without its time. */
static const char *logfmt(void)
{
    const char *line = written();
    const char *level = strstr(line, " level=");
    return level != NULL ? level + 1 : line;
}

static json_t *json(void)
{
    json_error_t error;
    const char *line = written();
    json_t *value = json_loads(line, JSON_REJECT_DUPLICATES, &error);
    cr_assert(value != NULL, "%s: %s", error.text, line);
    cr_assert(strchr(line, '\n') == line + strlen(line) - 1, "one line");
    return value;
}

Test(logger, quotes_only_necessary_values_in_logfmt)
{
    log_setup(LOG_LEVEL_INFO, LOG_FORMAT_LOGFMT, NULL, NULL);
    log_info("started");
    cr_assert_str_eq(logfmt(), "level=info message=started\n");
    log_warning("step timed out", LOG_STR("order", "a-1"), LOG_TEXT("note", TEXT("two words")),
                LOG_STR("none", NULL), LOG_I64("offset", -7), LOG_U64("count", UINT64_MAX),
                LOG_F64("share", 0.25), LOG_BOOL("late", true));
    cr_assert_str_eq(logfmt(), "level=warning message=\"step timed out\" order=a-1 "
                               "note=\"two words\" none=\"\" offset=-7 "
                               "count=18446744073709551615 share=0.25 late=true\n");
}

Test(logger, writes_one_json_object_per_line)
{
    struct error error = {0};
    error_set_foreign(&error, ERROR_RETRY, "BrokerDown", "no answer from %s", "b1");
    log_setup(LOG_LEVEL_INFO, LOG_FORMAT_JSON, "scheduler", "host-1");
    log_error("stalled", LOG_I64("partition", 3), LOG_ERR(&error), LOG_F64("x", NAN));
    json_t *line = json();
    cr_assert_str_eq(json_string_value(json_object_get(line, "level")), "error");
    cr_assert_str_eq(json_string_value(json_object_get(line, "service")), "scheduler");
    cr_assert_str_eq(json_string_value(json_object_get(line, "instance")), "host-1");
    cr_assert_str_eq(json_string_value(json_object_get(line, "message")), "stalled");
    cr_assert_str_eq(json_string_value(json_object_get(line, "error_class")), "retry");
    cr_assert_str_eq(json_string_value(json_object_get(line, "error_code")), "BrokerDown");
    cr_assert_str_eq(json_string_value(json_object_get(line, "error")), "no answer from b1");
    cr_assert_str_eq(json_string_value(json_object_get(line, "x")), "NaN");
    cr_assert(json_integer_value(json_object_get(line, "partition")) == 3);
    cr_assert(strlen(json_string_value(json_object_get(line, "time"))) == 24);
    json_decref(line);
}

Test(logger, chooses_json_without_a_terminal)
{
    log_setup(LOG_LEVEL_INFO, LOG_FORMAT_AUTO, NULL, NULL);
    log_info("hello");
    json_decref(json());
}

Test(logger, skips_levels_below_the_configured_one)
{
    int evaluated = 0;
    log_setup(LOG_LEVEL_WARNING, LOG_FORMAT_LOGFMT, NULL, NULL);
    log_info("not seen", LOG_I64("x", ++evaluated));
    cr_assert_str_eq(written(), "");
    cr_assert(evaluated == 0);
    log_set_level(LOG_LEVEL_DEBUG);
    log_debug("seen", LOG_I64("x", ++evaluated));
    cr_assert_str_eq(logfmt(), "level=debug message=seen x=1\n");
}

Test(logger, escapes_hostile_bytes)
{
    static const char *const values[] = {
        "a\"b\\c",
        "line\nbreak",
        "\x1b[31mred",
        "\xff\xfe bad utf-8",
        "caf\xc3\xa9 \xe2\x82\xac",
        "\xc2\x9b csi",
        "\xe2\x80\xae turned",
        "\xed\xa0\x80 surrogate",
        "\xc0\xaf overlong",
        "\xe2\x82",
        "level=error x=\"",
        "\xf4\x90\x80\x80",
        "\x7f",
    };
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        log_setup(LOG_LEVEL_INFO, LOG_FORMAT_JSON, NULL, NULL);
        log_info("m", LOG_STR("v", values[i]));
        json_t *line = json();
        cr_assert(json_object_size(line) == 4);
        json_decref(line);
        log_setup(LOG_LEVEL_INFO, LOG_FORMAT_LOGFMT, NULL, NULL);
        log_info("m", LOG_STR("v", values[i]));
        for (const char *at = logfmt(); *at != '\0'; at++)
            cr_assert((unsigned char)*at >= 0x20 || at[1] == '\0', "value %zu", i);
    }
    log_info("m", LOG_STR("v", "\x1b[2J\n\xc3\xa9\xff"));
    cr_assert_str_eq(logfmt(), "level=info message=m v=\"\\u001b[2J\\n\xc3\xa9\xef\xbf\xbd\"\n");
    log_info("m", LOG_STR("v", "\xe2\x80\xae"));
    cr_assert(strstr(logfmt(), "\xe2\x80\xae") == NULL);
}

Test(logger, makes_valid_json_of_any_bytes)
{
    uint64_t seed = 7;
    log_setup(LOG_LEVEL_INFO, LOG_FORMAT_JSON, NULL, NULL);
    for (int round = 0; round < 3000; round++) {
        char bytes[40];
        for (size_t i = 0; i < sizeof(bytes); i++) {
            seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
            bytes[i] = (char)(seed >> 56);
        }
        log_info("m", LOG_TEXT("v", ((struct text){bytes, sizeof(bytes)})));
        json_decref(json());
    }
}

Test(logger, cuts_long_values_and_lines_and_stays_well_formed)
{
    char value[2000];
    memset(value, '"', sizeof(value));
    struct text text = {value, sizeof(value)};
    log_setup(LOG_LEVEL_INFO, LOG_FORMAT_JSON, NULL, NULL);
    log_info("m", LOG_TEXT("v", text));
    json_t *line = json();
    cr_assert(strlen(json_string_value(json_object_get(line, "v"))) == LOG_VALUE_MAX + 3);
    json_decref(line);

    log_info("m", LOG_TEXT("a", text), LOG_TEXT("b", text), LOG_TEXT("c", text),
             LOG_TEXT("d", text), LOG_I64("e", 1));
    line = json();
    cr_assert(json_is_true(json_object_get(line, "truncated")));
    cr_assert(json_object_get(line, "c") != NULL && json_object_get(line, "d") == NULL);
    json_decref(line);
}

Test(logger, keeps_errno)
{
    log_setup(LOG_LEVEL_INFO, LOG_FORMAT_LOGFMT, NULL, NULL);
    log_set_fd(1000);
    errno = ENOSPC;
    log_info("m");
    cr_assert(errno == ENOSPC);
}

Test(logger, limits_a_call_site_and_counts_what_it_suppresses)
{
    struct log_limit limit = {0};
    for (int i = 0; i < LOG_LIMIT_BURST; i++)
        cr_assert(log_limit_pass_at(&limit, 1000));
    for (int i = 0; i < 42; i++)
        cr_assert(!log_limit_pass_at(&limit, 1000 + LOG_LIMIT_WINDOW_MS - 1));
    cr_assert(log_limit_pass_at(&limit, 1000 + LOG_LIMIT_WINDOW_MS));
    cr_assert(limit.suppressed == 42);
    cr_assert(log_limit_pass_at(&limit, 1000 + LOG_LIMIT_WINDOW_MS));
    cr_assert(limit.suppressed == 0);

    log_setup(LOG_LEVEL_INFO, LOG_FORMAT_LOGFMT, NULL, NULL);
    for (int i = 0; i < 100; i++)
        log_warning_limited("again", LOG_I64("i", i));
    int lines = 0;
    for (const char *at = written(); *at != '\0'; at++)
        lines += *at == '\n';
    cr_assert(lines == LOG_LIMIT_BURST);
    cr_assert(strstr(got, "suppressed") == NULL);
}
