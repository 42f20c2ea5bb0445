/* SPDX-License-Identifier: Apache-2.0 */
/* Logs on stderr: logfmt on a terminal, one JSON object per line otherwise; one write(2) per line.
 *
 *     log_warning("cannot read the file", LOG_STR("path", path), LOG_ERR(&error));
 *
 * Only the loop, the services and main functions log; libraries return errors. Values may be
 * hostile: they are escaped and cut at LOG_VALUE_MAX bytes. The level, format and file descriptor
 * are global state that the main function sets once. Any thread may log; the *_limited macros
 * belong to the loop's thread. */
#ifndef PLATFORM_LOGGER_H
#define PLATFORM_LOGGER_H

#include "base/error.h"
#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>

enum log_level {
    LOG_LEVEL_DEBUG,
    LOG_LEVEL_INFO,
    LOG_LEVEL_WARNING,
    LOG_LEVEL_ERROR,
    LOG_LEVEL_COUNT
};

enum log_format { LOG_FORMAT_AUTO, LOG_FORMAT_LOGFMT, LOG_FORMAT_JSON, LOG_FORMAT_COUNT };

enum {
    LOG_LINE_MAX = 4096, /* fields that do not fit are left out and truncated=true is added */
    LOG_VALUE_MAX = 512, /* bytes of one text value before escaping */
    LOG_FIELDS_MAX = 24,
    LOG_LIMIT_BURST = 5,        /* lines that one call site may write ... */
    LOG_LIMIT_WINDOW_MS = 10000 /* ... in this time */
};

enum log_field_kind {
    LOG_FIELD_END,
    LOG_FIELD_TEXT,
    LOG_FIELD_I64,
    LOG_FIELD_U64,
    LOG_FIELD_F64,
    LOG_FIELD_BOOL,
    LOG_FIELD_ERROR, /* writes error_class, error_code, error */
    LOG_FIELD_KIND_COUNT
};

struct log_field {
    const char *key; /* snake_case, a literal */
    enum log_field_kind kind;
    union {
        struct text text;
        int64_t i64;
        uint64_t u64;
        double f64;
        bool boolean;
        const struct error *error;
    } as;
};

#define LOG_TEXT(name, value)                                     \
    {                                                             \
        .key = (name), .kind = LOG_FIELD_TEXT, .as.text = (value) \
    }
/* A NUL-terminated string; NULL = empty. */
#define LOG_STR(name, value)                                             \
    {                                                                    \
        .key = (name), .kind = LOG_FIELD_TEXT, .as.text = text_of(value) \
    }
#define LOG_I64(name, value)                                    \
    {                                                           \
        .key = (name), .kind = LOG_FIELD_I64, .as.i64 = (value) \
    }
#define LOG_U64(name, value)                                    \
    {                                                           \
        .key = (name), .kind = LOG_FIELD_U64, .as.u64 = (value) \
    }
#define LOG_F64(name, value)                                    \
    {                                                           \
        .key = (name), .kind = LOG_FIELD_F64, .as.f64 = (value) \
    }
#define LOG_BOOL(name, value)                                        \
    {                                                                \
        .key = (name), .kind = LOG_FIELD_BOOL, .as.boolean = (value) \
    }
#define LOG_ERR(value)                                               \
    {                                                                \
        .key = "error", .kind = LOG_FIELD_ERROR, .as.error = (value) \
    }
#define LOG_END                                         \
    {                                                   \
        .key = NULL, .kind = LOG_FIELD_END, .as.i64 = 0 \
    }

/* ---- setup, by the main function ---- */

/* The defaults: level info, format auto, stderr, no service name. `service` and `instance` are
 * borrowed until the next call; NULL leaves them out of the lines. */
void log_setup(enum log_level level, enum log_format format, const char *service,
               const char *instance);
/* For tests: writes to `fd`, -1 = stderr. Format auto checks this descriptor. */
void log_set_fd(int fd);
void log_set_level(enum log_level level);
enum log_level log_get_level(void);
const char *log_level_name(enum log_level level);
const char *log_format_name(enum log_format format);

/* ---- writing ---- */

#define log_debug(...) LOG_WRITE_(LOG_LEVEL_DEBUG, __VA_ARGS__, LOG_END)
#define log_info(...) LOG_WRITE_(LOG_LEVEL_INFO, __VA_ARGS__, LOG_END)
#define log_warning(...) LOG_WRITE_(LOG_LEVEL_WARNING, __VA_ARGS__, LOG_END)
#define log_error(...) LOG_WRITE_(LOG_LEVEL_ERROR, __VA_ARGS__, LOG_END)

/* The same for what may happen a thousand times a second: each call site writes at most
 * LOG_LIMIT_BURST lines per LOG_LIMIT_WINDOW_MS; the next line has the number of lines that were
 * not written (suppressed=N). */
#define log_info_limited(...) LOG_LIMITED_(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_warning_limited(...) LOG_LIMITED_(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_error_limited(...) LOG_LIMITED_(LOG_LEVEL_ERROR, __VA_ARGS__)

#define LOG_WRITE_(level, message, ...)                                             \
    do {                                                                            \
        if ((level) >= log_get_level())                                             \
            log_write((level), (message), (const struct log_field[]){__VA_ARGS__}); \
    } while (0)

#define LOG_LIMITED_(level, ...)                                                                   \
    do {                                                                                           \
        static struct log_limit log_limit_;                                                        \
        if ((level) >= log_get_level() && log_limit_pass(&log_limit_))                             \
            LOG_WRITE_(level, __VA_ARGS__, LOG_U64("suppressed", log_limit_.suppressed), LOG_END); \
    } while (0)

/* `fields` ends with LOG_END. Keeps errno. */
void log_write(enum log_level level, const char *message, const struct log_field *fields);

struct log_limit {
    int64_t window_start_ms;
    uint32_t passed;     /* in this window */
    uint32_t held_back;  /* since the last line that passed */
    uint64_t suppressed; /* for the line that passes now */
};

bool log_limit_pass(struct log_limit *limit);
/* The same with the time given, for tests. */
bool log_limit_pass_at(struct log_limit *limit, int64_t now_ms);

#endif
