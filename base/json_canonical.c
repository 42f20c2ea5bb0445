/* SPDX-License-Identifier: Apache-2.0 */
/* Text from elsewhere becomes canonical: see json.h. The reader hands each token to a writer that
 * expects to write the same bytes (json_writer_mirror()), so canonical text is only looked at. */
#include "base/json_internal.h"
#include "base/numbers.h"
#include "base/utf8.h"

#include <assert.h>

struct json_reader {
    struct json_writer writer; /* its fault is also the reader's */
    const char *at;
    const char *end;
    const char *comma; /* the last one, for what it stands before */
    bool in_name;
};

static bool is_good(const struct json_reader *reader)
{
    return reader->writer.fault == JSON_FAULT_NONE;
}

static void fail(struct json_reader *reader, enum json_fault fault)
{
    if (is_good(reader))
        reader->writer.fault = fault;
}

static void skip_blanks(struct json_reader *reader)
{
    while (reader->at < reader->end && (*reader->at == ' ' || *reader->at == '\n' ||
                                        *reader->at == '\r' || *reader->at == '\t'))
        reader->at++;
}

/* Behind blanks. */
static bool is_next(struct json_reader *reader, char token)
{
    skip_blanks(reader);
    return reader->at < reader->end && *reader->at == token;
}

/* ---- texts ---- */

static void read_plain(struct json_reader *reader)
{
    const char *to = json_plain_end(reader->at, reader->end);
    struct text run = {reader->at, (uint32_t)(to - reader->at)};
    if (!utf8_valid(run))
        fail(reader, JSON_FAULT_UTF8);
    json_put(&reader->writer, run.data, run.size);
    if (is_good(reader))
        reader->at = to;
}

static void read_escape(struct json_reader *reader)
{
    char escape[JSON_ESCAPE_SIZE_MAX];
    enum json_fault fault = JSON_FAULT_NONE;
    uint32_t character = 0;
    uint32_t taken = json_escape_read(reader->at, reader->end, &character, &fault);
    if (taken == 0) {
        fail(reader, fault);
        return;
    }
    uint32_t size = json_escape_write(character, escape);
    bool same = size == taken && memcmp(escape, reader->at, size) == 0;
    json_put(&reader->writer, same ? reader->at : escape, size);
    reader->at += taken;
}

/* From behind the first quote to the last one. */
static void read_quoted(struct json_reader *reader)
{
    while (is_good(reader)) {
        read_plain(reader);
        if (reader->at == reader->end || (*reader->at != '"' && *reader->at != '\\'))
            fail(reader, reader->at < reader->end && *reader->at == '\0' ? JSON_FAULT_NUL
                                                                         : JSON_FAULT_SYNTAX);
        else if (*reader->at == '"')
            return;
        else
            read_escape(reader);
    }
}

static void read_text(struct json_reader *reader)
{
    /* The short way for a text without escapes. */
    struct text run = {reader->at + 1, 0};
    const char *to = json_plain_end(run.data, reader->end);
    run.size = (uint32_t)(to - run.data);
    if (to < reader->end && *to == '"' && utf8_valid(run)) {
        json_put(&reader->writer, reader->at, run.size + 2);
        reader->at = to + 1;
        return;
    }
    json_put(&reader->writer, reader->at++, 1);
    read_quoted(reader);
    if (is_good(reader))
        json_put(&reader->writer, reader->at++, 1);
}

static void read_name(struct json_reader *reader)
{
    if (!is_next(reader, '"')) {
        fail(reader, JSON_FAULT_SYNTAX);
        return;
    }
    reader->in_name = true;
    json_put_name_begin(&reader->writer, reader->comma, reader->at++);
    read_quoted(reader);
    if (!is_good(reader))
        return;
    const char *quote = reader->at++;
    if (!is_next(reader, ':')) {
        fail(reader, JSON_FAULT_SYNTAX);
        return;
    }
    reader->in_name = false;
    json_put_name_end(&reader->writer, quote, reader->at);
    if (is_good(reader))
        reader->at++;
}

/* ---- other scalars ---- */

static bool is_of_number(char c)
{
    return number_is_digit(c) || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
}

/* The short way for most numbers, which are canonical. */
static bool is_canonical(struct text number)
{
    uint32_t start = number.data[0] == '-', at = start;
    while (at < number.size && number_is_digit(number.data[at]))
        at++;
    if (number.size > JSON_DIGITS_MAX || at == start ||
        (number.data[start] == '0' && (at != start + 1 || number.size == 2)))
        return false;
    if (at == number.size)
        return true;
    uint32_t point = at++;
    while (at < number.size && number_is_digit(number.data[at]))
        at++;
    return number.data[point] == '.' && at == number.size && number.data[at - 1] != '.' &&
           number.data[at - 1] != '0';
}

static void read_number(struct json_reader *reader)
{
    char canonical[JSON_NUMBER_SIZE];
    struct json_number number;
    const char *to = reader->at;
    while (to < reader->end && is_of_number(*to))
        to++;
    struct text text = {reader->at, (uint32_t)(to - reader->at)};
    if (is_canonical(text)) {
        json_put(&reader->writer, text.data, text.size);
        reader->at = to;
        return;
    }
    enum json_fault fault = json_number_parse(text, &number);
    if (fault != JSON_FAULT_NONE) {
        fail(reader, fault);
        return;
    }
    uint32_t size = json_number_format(&number, canonical);
    assert(size > 0);
    bool same = size == text.size && memcmp(canonical, text.data, size) == 0;
    json_put(&reader->writer, same ? text.data : canonical, size);
    if (is_good(reader))
        reader->at = to;
}

static void read_word(struct json_reader *reader, struct text word)
{
    if ((size_t)(reader->end - reader->at) < word.size ||
        memcmp(reader->at, word.data, word.size) != 0) {
        fail(reader, JSON_FAULT_SYNTAX);
        return;
    }
    json_put(&reader->writer, reader->at, word.size);
    reader->at += word.size;
}

/* ---- the grammar ---- */

/* A scalar is read whole; of a list or map, only the bracket. */
static void begin_value(struct json_reader *reader)
{
    skip_blanks(reader);
    char first = reader->at < reader->end ? *reader->at : '\0';
    json_put_begin(&reader->writer, reader->comma);
    if (first == '"') {
        read_text(reader);
    } else if (first == '[' || first == '{') {
        json_put_open(&reader->writer, reader->at);
        reader->at += is_good(reader);
    } else if (first == 't') {
        read_word(reader, TEXT("true"));
    } else if (first == 'f') {
        read_word(reader, TEXT("false"));
    } else if (first == 'n') {
        read_word(reader, TEXT("null"));
    } else if (first == '-' || number_is_digit(first)) {
        read_number(reader);
    } else {
        fail(reader, JSON_FAULT_SYNTAX);
    }
}

/* Whether the innermost list or map ends here, and is closed. */
static bool close_level(struct json_reader *reader)
{
    const struct json_writer *writer = &reader->writer;
    if (!is_next(reader, writer->levels[writer->depth - 1].map ? '}' : ']'))
        return false;
    json_put_close(&reader->writer, reader->at);
    reader->at += is_good(reader);
    return true;
}

/* A value has ended: what it stands in may end as well, otherwise there is a comma. */
static void end_value(struct json_reader *reader)
{
    while (is_good(reader) && reader->writer.depth > 0 && close_level(reader))
        ;
    if (!is_good(reader) || reader->writer.depth == 0)
        return;
    if (is_next(reader, ','))
        reader->comma = reader->at++;
    else
        fail(reader, JSON_FAULT_SYNTAX);
}

static void read_json(struct json_reader *reader)
{
    struct json_writer *writer = &reader->writer;
    do {
        uint32_t depth = writer->depth;
        if (depth > 0 && writer->levels[depth - 1].map)
            read_name(reader);
        if (is_good(reader))
            begin_value(reader);
        bool opened = is_good(reader) && writer->depth > depth;
        if (is_good(reader) && (!opened || close_level(reader)))
            end_value(reader);
    } while (is_good(reader) && writer->depth > 0);
    if (is_good(reader))
        skip_blanks(reader);
    if (reader->at < reader->end)
        fail(reader, JSON_FAULT_SYNTAX);
}

/* ---- the result ---- */

static struct json_path path_of(const struct json_reader *reader)
{
    const struct json_writer *writer = &reader->writer;
    struct json_path path = {0};
    for (uint32_t i = 0; i < writer->depth; i++) {
        const struct json_writer_level *level = &writer->levels[i];
        bool innermost = i + 1 == writer->depth;
        if (level->count == 0 || (innermost && reader->in_name))
            continue;
        struct json_path_level *place = &path.levels[path.depth++];
        if (level->map)
            place->name = (struct text){writer->data + level->last.at + 1, level->last.size};
        else
            place->index = level->count - 1;
    }
    return path;
}

static bool read_whole(struct text json, uint32_t size_max, uint32_t depth_max, struct arena *arena,
                       struct text *ret_text, struct json_problem *ret_problem)
{
    struct json_reader reader; /* initialized here and by its writer: the levels are large */
    reader.at = reader.end = json.data;
    reader.comma = ",";
    reader.in_name = false;
    if (json.size > 0)
        reader.end = json.data + json.size;
    json_writer_init(&reader.writer, size_max, arena);
    reader.writer.depth_max = depth_max;
    json_writer_mirror(&reader.writer, json);
    if (json.size == 0)
        fail(&reader, JSON_FAULT_SYNTAX);
    else
        read_json(&reader);
    if (is_good(&reader))
        return json_writer_done(&reader.writer, ret_text);
    if (ret_problem != NULL)
        *ret_problem = (struct json_problem){
            .fault = reader.writer.fault,
            .offset = json.size > 0 ? (uint32_t)(reader.at - json.data) : 0,
            .path = path_of(&reader),
        };
    return false;
}

bool json_canonical(struct text json, uint32_t size_max, struct arena *arena, struct text *ret_text,
                    struct json_problem *ret_problem)
{
    return read_whole(json, size_max, JSON_DEPTH_MAX, arena, ret_text, ret_problem);
}

bool json_envelope(struct text json, struct arena *arena, struct text *ret_text,
                   struct json_problem *ret_problem)
{
    return read_whole(json, UINT32_MAX, JSON_ENVELOPE_DEPTH_MAX, arena, ret_text, ret_problem);
}
