/* SPDX-License-Identifier: Apache-2.0 */
/* JSON as reeve keeps it: canonical text, checked once where it enters, copied from then on.
 *
 * Canonical text is JSON (RFC 8259) of one spelling for each value, so that equal values have equal
 * bytes:
 *     names      in the order of their bytes after unescaping; none twice in a map
 *     blanks     none between tokens
 *     texts      UTF-8; only '"', '\' and the control characters U+0001..1F are escaped, as \" \\
 *                \b \f \n \r \t or \u00xx (lower case); no NUL, neither raw nor escaped; no lone
 *                surrogates
 *     numbers    decimal, without exponent, plus sign or zeros at the end of a fraction; zero is 0;
 *                at most 40 digits in the text, those before the point included. Exact: no number
 *                passes through a double
 *     depth      at most 32 lists and maps within each other; a scalar has depth 0
 *
 * Three parts: json_canonical() checks text from elsewhere; struct json_value reads canonical text
 * where it lies; struct json_writer makes it. All are pure, work in the caller's arena, and do not
 * recurse. What a reader is given is canonical, but it relies on that for its answers only: of any
 * bytes it reads none beyond the end.
 *
 * jansson owns other names that begin with json_; a file may include both. */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include "base/arena.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A string of a jansson tree that begins with this byte, which is not in any UTF-8 text, stands for
 * the JSON behind it: jansson's own numbers are doubles. platform/json_tree.h prints it. */
#define JSON_MARK '\xff'

enum {
    JSON_DEPTH_MAX = 32,
    JSON_ENVELOPE_DEPTH_MAX = JSON_DEPTH_MAX + 8, /* of what has such text within it */
    JSON_DIGITS_MAX = 40,
    JSON_NUMBER_SIZE = JSON_DIGITS_MAX + 2, /* with a sign and a point; no NUL */
    JSON_PATH_SIZE = 192,                   /* of a path for a message, with its NUL */
};

/* ---- what is wrong ---- */

enum json_fault {
    JSON_FAULT_NONE,
    JSON_FAULT_SYNTAX,
    JSON_FAULT_UTF8,
    JSON_FAULT_NUL,
    JSON_FAULT_SURROGATE,
    JSON_FAULT_DEPTH,
    JSON_FAULT_NAME_TWICE,
    JSON_FAULT_DIGITS,
    JSON_FAULT_SIZE,
    JSON_FAULT_COUNT
};

/* The way from the root to a value. A level is a member (`name`, unescaped or as it is in canonical
 * text; its data is not NULL) or an element of a list. */
struct json_path_level {
    struct text name;
    uint32_t index;
};

struct json_path {
    uint32_t depth;
    struct json_path_level levels[JSON_ENVELOPE_DEPTH_MAX];
};

/* `input.items[2].quantity`; names that are not [A-Za-z0-9_]+ as `input["a b"]`, made printable.
 * What does not fit is left out at the end, which "..." marks. Returns the size without the NUL. */
size_t json_path_format(const struct json_path *path, const char *root,
                        char ret_path[JSON_PATH_SIZE]);

struct json_problem {
    enum json_fault fault;
    uint32_t offset;       /* byte of the text that was checked, at or behind the fault */
    struct json_path path; /* names borrow from that text, or from the arena */
};

enum { JSON_PROBLEM_SIZE = JSON_PATH_SIZE + 128 };

/* One line: `input.items[2].sku occurs twice (byte 812)`. Returns the size without the NUL. */
size_t json_problem_format(const struct json_problem *problem, const char *root,
                           char ret_line[JSON_PROBLEM_SIZE]);

/* ---- checking ---- */

/* Checks `json`, text from elsewhere, and gives its canonical text of at most `size_max` bytes.
 * *ret_text borrows `json` where that is canonical (no memory is taken), else it is new in `arena`,
 * of which at most 16 * `size_max` bytes are taken. The work is linear in the size of `json`; where
 * names have to be sorted, times its depth and the logarithm of its members. Empty text is a fault.
 * False: *ret_problem (may be NULL) says what is wrong. */
bool json_canonical(struct text json, uint32_t size_max, struct arena *arena, struct text *ret_text,
                    struct json_problem *ret_problem);
/* The same of text of any size that has data within it, such as a request's body: it may be
 * JSON_ENVELOPE_DEPTH_MAX deep. */
bool json_envelope(struct text json, struct arena *arena, struct text *ret_text,
                   struct json_problem *ret_problem);

/* ---- numbers ---- */

/* An exact decimal: DIGITS * 10^exponent, negative or not. The digits (0 to 9, not characters)
 * begin and end with one that is not 0; zero has none, exponent 0, and is not negative. So equal
 * numbers have equal fields, and a number is whole if `exponent` >= 0. */
struct json_number {
    bool negative;
    uint8_t count; /* of the digits */
    int32_t exponent;
    uint8_t digits[JSON_DIGITS_MAX];
};

/* All of `text` is a number as JSON spells them, canonical or not. JSON_FAULT_SYNTAX, or
 * JSON_FAULT_DIGITS: its canonical text would need more than JSON_DIGITS_MAX digits. */
enum json_fault json_number_parse(struct text text, struct json_number *ret_number);
/* The canonical text; returns its size, or 0: it would need more than JSON_DIGITS_MAX digits. */
uint32_t json_number_format(const struct json_number *number, char ret_text[JSON_NUMBER_SIZE]);
/* False: not whole, or beyond int64_t. */
bool json_number_integer(const struct json_number *number, int64_t *ret_integer);
struct json_number json_number_of_integer(int64_t integer);

/* ---- reading ---- */

enum json_kind {
    JSON_KIND_NONE, /* no value: no such member, or bytes that are not JSON */
    JSON_KIND_NULL,
    JSON_KIND_BOOLEAN,
    JSON_KIND_NUMBER,
    JSON_KIND_TEXT,
    JSON_KIND_LIST,
    JSON_KIND_MAP,
    JSON_KIND_COUNT
};

/* "a number", "null": for messages. Static. */
const char *json_kind_name(enum json_kind kind);

/* A value where it lies, somewhere in a canonical text: its first byte, and the end of that text
 * (not of the value, which is known only to those who walk there). Borrowed as the text is; copied
 * freely. `at` NULL: none. */
struct json_value {
    const char *at;
    const char *end;
};

/* How many bytes may still be walked. Every function below that walks takes what it walks from
 * `left` and never goes beyond: it then sets `spent`, which stays, and gives no value. One walk may
 * serve several calls; its user charges what is missing from `left`. NULL: there is no limit. */
struct json_walk {
    uint64_t left;
    bool spent;
};

/* The root value of `canonical`; none if that is empty. */
struct json_value json_value_of(struct text canonical);
/* By the first byte: walks nothing. */
enum json_kind json_value_kind(struct json_value value);
/* Of JSON_KIND_BOOLEAN. Walks nothing. */
bool json_value_boolean(struct json_value value);
/* The value's own bytes; empty if it is malformed or the walk is spent. Equal values have equal
 * bytes. */
struct text json_value_text(struct json_value value, struct json_walk *walk);
/* Of JSON_KIND_NUMBER; false otherwise, or if it is malformed. Walk at most JSON_NUMBER_SIZE bytes,
 * and are not counted. */
bool json_value_number(struct json_value value, struct json_number *ret_number);
/* The same for a number that is whole and fits: a faster way there. */
bool json_value_integer(struct json_value value, int64_t *ret_integer);
/* Of JSON_KIND_TEXT: what is between its quotes, escaped; has no data if it is not one, is
 * malformed, or the walk is spent. */
struct text json_value_escaped(struct json_value value, struct json_walk *walk);
/* Without escapes: `escaped` itself where there are none, else new in `arena`, at most as long. */
struct text json_unescape(struct text escaped, struct arena *arena);
/* Whether `escaped` stands for `text`; walks no more than the shorter one. */
bool json_escaped_equal(struct text escaped, struct text text);

/* The member `name` (unescaped) of a map; none if there is no such member, or no map. */
struct json_value json_value_member(struct json_value map, struct text name,
                                    struct json_walk *walk);
/* For tests: the element `index` of a list, from 0. */
struct json_value json_value_element(struct json_value list, uint64_t index,
                                     struct json_walk *walk);
/* How many elements or members; 0 of scalars. */
uint64_t json_value_count(struct json_value value, struct json_walk *walk);

/* A loop over the elements of a list or the members of a map, in their order:
 *     for (json_items_begin(&items, value); json_items_next(&items, walk);) ... items.value
 * It ends early where the text is malformed or the walk is spent. */
struct json_items {
    struct json_value value; /* the current one */
    struct text name;        /* of the member, escaped; no data: an element of a list */
    bool map;
    bool begun;
};

/* Of a scalar or none, the loop has no turn. */
void json_items_begin(struct json_items *items, struct json_value container);
bool json_items_next(struct json_items *items, struct json_walk *walk);

/* ---- writing ---- */

/* Makes canonical text of at most `size_max` bytes. The first fault stays: whatever follows does
 * nothing, and there is no text. Names may come in any order; the writer sorts them when the map is
 * closed. That calls alternate as JSON does (a name before each member's value, a bracket closed
 * for each one opened, one value at the root) is asserted. Stays put: do not copy the struct. */
struct json_writer {
    struct arena *arena;
    uint32_t size_max;
    uint32_t depth_max; /* JSON_DEPTH_MAX; its user may set it to JSON_ENVELOPE_DEPTH_MAX */
    enum json_fault fault;
    /* The rest belongs to json_write.c. */
    const char *data; /* what was written; in `own`, or where it is copied from */
    char *own;        /* NULL: nothing was copied yet */
    uint32_t size;
    uint32_t capacity;                  /* of `own` */
    uint32_t hint;                      /* how much the text may come to */
    uint32_t depth;                     /* open lists and maps */
    struct json_writer_member *members; /* for sorting, as `spare` is */
    uint32_t members_capacity;
    char *spare;
    uint32_t spare_capacity;
    /* Those that are open; the others are not initialized, since most texts are flat. */
    struct json_writer_level {
        uint32_t start; /* of its bracket */
        uint32_t count; /* elements or members so far */
        struct json_writer_name {
            uint32_t at; /* of its quote */
            uint32_t size;
        } last, previous;
        bool map;
        bool unsorted; /* a name does not follow the one before it */
        bool named;    /* a name waits for its value */
    } levels[JSON_ENVELOPE_DEPTH_MAX];
};

void json_writer_init(struct json_writer *writer, uint32_t size_max, struct arena *arena);
void json_write_null(struct json_writer *writer);
void json_write_boolean(struct json_writer *writer, bool boolean);
void json_write_integer(struct json_writer *writer, int64_t integer);
void json_write_number(struct json_writer *writer, const struct json_number *number);
/* `text` is unescaped. JSON_FAULT_UTF8 or JSON_FAULT_NUL if it is not what JSON can hold. */
void json_write_text(struct json_writer *writer, struct text text);
/* `canonical` is a whole canonical text, such as json_value_text() gives; it is copied. */
void json_write_canonical(struct json_writer *writer, struct text canonical);
void json_write_list(struct json_writer *writer);
void json_write_map(struct json_writer *writer);
/* Before the value of a member; unescaped. */
void json_write_name(struct json_writer *writer, struct text name);
/* Closes what was opened last. JSON_FAULT_NAME_TWICE is found here. */
void json_write_close(struct json_writer *writer);
/* The text, in the writer's arena; false if there was a fault: see `fault`. */
bool json_writer_done(struct json_writer *writer, struct text *ret_text);

#endif
