/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of logfmt or JSON, built in a buffer on the stack. See logger.h. */
#include "platform/logger.h"

#include "base/rfc3339.h"
#include "base/utf8.h"

#include "platform/clock.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Global on purpose: see logger.h. The level is read by any thread. */
static struct {
    _Atomic int level;
    enum log_format format; /* never AUTO once resolved */
    bool resolved;
    int fd;
    const char *service;
    const char *instance;
} logger = {.level = LOG_LEVEL_INFO, .fd = STDERR_FILENO};

static const char *const level_names[] = {"debug", "info", "warning", "error"};
_Static_assert(sizeof(level_names) / sizeof(level_names[0]) == LOG_LEVEL_COUNT,
               "every level has a name");
static const char *const format_names[] = {"auto", "logfmt", "json"};
_Static_assert(sizeof(format_names) / sizeof(format_names[0]) == LOG_FORMAT_COUNT,
               "every format has a name");

/* One line. Space for its end ("truncated", brace, newline) is reserved; a field that does not fit
 * is removed as a whole, so that the line is always well-formed. */
enum { END_RESERVED = 32 };

struct log_line {
    char data[LOG_LINE_MAX];
    size_t size;
    bool json;
    bool full;
};

const char *log_level_name(enum log_level level)
{
    return (unsigned)level < LOG_LEVEL_COUNT ? level_names[level] : "?";
}

const char *log_format_name(enum log_format format)
{
    return (unsigned)format < LOG_FORMAT_COUNT ? format_names[format] : "?";
}

void log_setup(enum log_level level, enum log_format format, const char *service,
               const char *instance)
{
    log_set_level(level);
    logger.format = format;
    logger.resolved = format != LOG_FORMAT_AUTO;
    logger.service = service;
    logger.instance = instance;
}

void log_set_fd(int fd)
{
    logger.fd = fd >= 0 ? fd : STDERR_FILENO;
    if (logger.format == LOG_FORMAT_AUTO)
        logger.resolved = false;
}

void log_set_level(enum log_level level)
{
    assert(level < LOG_LEVEL_COUNT);
    atomic_store_explicit(&logger.level, (int)level, memory_order_relaxed);
}

enum log_level log_get_level(void)
{
    return (enum log_level)atomic_load_explicit(&logger.level, memory_order_relaxed);
}

/* Checked for each line in format auto: isatty is cheap compared with the write, and no thread has
 * to change state. */
static bool writes_json(void)
{
    if (logger.resolved)
        return logger.format == LOG_FORMAT_JSON;
    return isatty(logger.fd) != 1;
}

/* ---- building the line ---- */

static void put(struct log_line *line, const char *data, size_t size)
{
    if (line->full || size > sizeof(line->data) - END_RESERVED - line->size) {
        line->full = true;
        return;
    }
    memcpy(line->data + line->size, data, size);
    line->size += size;
}

static void put_string(struct log_line *line, const char *string)
{
    put(line, string, strlen(string));
}

/* Terminals act on control characters, those of U+0080..9F included; U+2028, 2029 end lines for
 * some readers, U+202A..E and U+2066..9 turn the writing direction around. */
static bool is_safe(const unsigned char *data, size_t length)
{
    if (length == 1)
        return data[0] >= 0x20 && data[0] != 0x7f;
    if (length == 2)
        return !(data[0] == 0xc2 && data[1] < 0xa0);
    if (length == 3 && data[0] == 0xe2) {
        bool separators = data[1] == 0x80 && data[2] >= 0xa8 && data[2] <= 0xae;
        bool isolates = data[1] == 0x81 && data[2] >= 0xa6 && data[2] <= 0xa9;
        return !separators && !isolates;
    }
    return length > 0;
}

static void put_escaped_byte(struct log_line *line, unsigned char byte)
{
    char escape[8];
    if (byte == '"' || byte == '\\')
        snprintf(escape, sizeof(escape), "\\%c", byte);
    else if (byte == '\n')
        snprintf(escape, sizeof(escape), "\\n");
    else if (byte == '\t')
        snprintf(escape, sizeof(escape), "\\t");
    else if (byte < 0x80 && byte != 0) /* many JSON readers reject \u0000 */
        snprintf(escape, sizeof(escape), "\\u%04x", byte);
    else
        snprintf(escape, sizeof(escape), "\xef\xbf\xbd"); /* the replacement character */
    put_string(line, escape);
}

static void put_quoted(struct log_line *line, struct text text)
{
    const unsigned char *data = (const unsigned char *)text.data;
    size_t size = text.size < LOG_VALUE_MAX ? text.size : LOG_VALUE_MAX;
    put(line, "\"", 1);
    for (size_t at = 0; at < size;) {
        size_t length = utf8_character_size(data + at, text.size - at);
        if (!is_safe(data + at, length) || data[at] == '"' || data[at] == '\\') {
            put_escaped_byte(line, data[at]);
            at++;
        } else {
            put(line, (const char *)data + at, length);
            at += length;
        }
    }
    if (text.size > size)
        put_string(line, "...");
    put(line, "\"", 1);
}

/* logfmt leaves plain words without quotes. */
static bool is_plain(struct text text)
{
    if (text.size == 0 || text.size > LOG_VALUE_MAX)
        return false;
    for (size_t i = 0; i < text.size; i++) {
        unsigned char byte = (unsigned char)text.data[i];
        if (byte <= ' ' || byte >= 0x7f || byte == '"' || byte == '=' || byte == '\\')
            return false;
    }
    return true;
}

static void put_text(struct log_line *line, struct text text)
{
    if (!line->json && is_plain(text))
        put(line, text.data, text.size);
    else
        put_quoted(line, text);
}

static void put_key(struct log_line *line, const char *key)
{
    if (line->json) {
        put_string(line, line->size > 1 ? ",\"" : "\"");
        put_string(line, key);
        put_string(line, "\":");
    } else {
        put_string(line, line->size > 0 ? " " : "");
        put_string(line, key);
        put_string(line, "=");
    }
}

static void put_text_field(struct log_line *line, const char *key, struct text text)
{
    put_key(line, key);
    put_text(line, text);
}

static void put_f64(struct log_line *line, double value)
{
    char digits[40];
    if (!isfinite(value)) { /* JSON has no such numbers */
        put_text(line, text_of(isnan(value) ? "NaN" : value > 0 ? "Inf" : "-Inf"));
        return;
    }
    snprintf(digits, sizeof(digits), "%.12g", value);
    put_string(line, digits);
}

static void put_field(struct log_line *line, const struct log_field *field)
{
    char digits[24];
    if (field->kind == LOG_FIELD_ERROR) {
        put_text_field(line, "error_class", text_of(error_class_name(field->as.error->class)));
        put_text_field(line, "error_code", text_of(error_name_of(field->as.error)));
        put_text_field(line, field->key, text_of(field->as.error->message));
        return;
    }
    put_key(line, field->key);
    switch (field->kind) {
    case LOG_FIELD_TEXT:
        put_text(line, field->as.text);
        break;
    case LOG_FIELD_I64:
        snprintf(digits, sizeof(digits), "%" PRId64, field->as.i64);
        put_string(line, digits);
        break;
    case LOG_FIELD_U64:
        snprintf(digits, sizeof(digits), "%" PRIu64, field->as.u64);
        put_string(line, digits);
        break;
    case LOG_FIELD_F64:
        put_f64(line, field->as.f64);
        break;
    case LOG_FIELD_BOOL:
        put_string(line, field->as.boolean ? "true" : "false");
        break;
    case LOG_FIELD_END:
    case LOG_FIELD_ERROR:
    case LOG_FIELD_KIND_COUNT:
        assert(field->kind == LOG_FIELD_TEXT);
    }
}

static void put_fields(struct log_line *line, const struct log_field *fields)
{
    for (int i = 0; fields[i].kind != LOG_FIELD_END; i++) {
        size_t before = line->size;
        if (fields[i].kind == LOG_FIELD_U64 && fields[i].as.u64 == 0 &&
            strcmp(fields[i].key, "suppressed") == 0)
            continue;
        if (i < LOG_FIELDS_MAX)
            put_field(line, &fields[i]);
        if (line->full || i >= LOG_FIELDS_MAX) {
            line->size = before;
            line->full = true;
            return;
        }
    }
}

static void put_start(struct log_line *line, enum log_level level, const char *message)
{
    char time[RFC3339_TEXT_SIZE];
    rfc3339_format(clock_wall_ms(clock_real()), time);
    put_text_field(line, "time", text_of(time));
    put_text_field(line, "level", text_of(log_level_name(level)));
    if (logger.service != NULL)
        put_text_field(line, "service", text_of(logger.service));
    if (logger.instance != NULL)
        put_text_field(line, "instance", text_of(logger.instance));
    put_text_field(line, "message", text_of(message));
}

static void put_end(struct log_line *line)
{
    bool truncated = line->full;
    size_t size = line->size;
    const char *mark = !truncated ? "" : line->json ? ",\"truncated\":true" : " truncated=true";
    int written = snprintf(line->data + size, sizeof(line->data) - size, "%s%s\n", mark,
                           line->json ? "}" : "");
    assert(written > 0 && (size_t)written < sizeof(line->data) - size);
    line->size = size + (size_t)written;
}

void log_write(enum log_level level, const char *message, const struct log_field *fields)
{
    int code = errno;
    struct log_line line;
    line.size = 0;
    line.full = false;
    line.json = writes_json();
    if (line.json)
        put(&line, "{", 1);
    put_start(&line, level, message);
    put_fields(&line, fields);
    put_end(&line);
    /* One write per line, so that lines of several processes on one pipe do not mix. A log that
     * cannot be written stops nothing. */
    ssize_t written = write(logger.fd, line.data, line.size);
    (void)written;
    errno = code;
}

/* ---- limits ---- */

bool log_limit_pass_at(struct log_limit *limit, int64_t now_ms)
{
    bool fresh = limit->passed == 0 || now_ms - limit->window_start_ms >= LOG_LIMIT_WINDOW_MS;
    if (fresh) {
        limit->window_start_ms = now_ms;
        limit->passed = 0;
    }
    if (limit->passed >= LOG_LIMIT_BURST) {
        limit->held_back++;
        return false;
    }
    limit->passed++;
    limit->suppressed = limit->held_back;
    limit->held_back = 0;
    return true;
}

bool log_limit_pass(struct log_limit *limit)
{
    return log_limit_pass_at(limit, clock_mono_ms(clock_real()));
}
