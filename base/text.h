/* SPDX-License-Identifier: Apache-2.0 */
/* Strings of the domain: a pointer and a length, never NUL-terminated, never owned by the struct
 * that names them. They live in an arena (base/arena.h) or in the bytes that were decoded. */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct text {
    const char *data;
    uint32_t size;
};

struct text_list {
    const struct text *items;
    uint32_t count;
};

/* A text from a string literal (its NUL is left out). */
#define TEXT(literal) ((struct text){(literal), sizeof(literal) - 1})
/* The same, where only a constant may stand. */
#define TEXT_CONST(literal)            \
    {                                  \
        (literal), sizeof(literal) - 1 \
    }
/* For printf: "%.*s", TEXT_ARG(text) */
#define TEXT_ARG(text) (int)(text).size, ((text).data != NULL ? (text).data : "")

/* The text borrows `string`, which may be NULL (an empty text). */
static inline struct text text_of(const char *string)
{
    return (struct text){string, string != NULL ? (uint32_t)strlen(string) : 0};
}

static inline bool text_equal(struct text a, struct text b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

static inline bool text_list_has(struct text_list list, struct text text)
{
    for (uint32_t i = 0; i < list.count; i++) {
        if (text_equal(list.items[i], text))
            return true;
    }
    return false;
}

/* `text` without its first `size` bytes. */
static inline struct text text_from(struct text text, uint32_t size)
{
    return size == 0 ? text : (struct text){text.data + size, text.size - size};
}

static inline bool text_empty(struct text text)
{
    return text.size == 0;
}

/* Byte order, shorter first on a common prefix: the order of RocksDB's keys. */
static inline int text_compare(struct text a, struct text b)
{
    uint32_t shorter = a.size < b.size ? a.size : b.size;
    int order = shorter == 0 ? 0 : memcmp(a.data, b.data, shorter);
    return order != 0 ? order : (a.size > b.size) - (a.size < b.size);
}

/* ---- strings, which end with a NUL ---- */

static inline bool string_starts_with(const char *string, const char *prefix)
{
    return strncmp(string, prefix, strlen(prefix)) == 0;
}

static inline bool string_ends_with(const char *string, const char *suffix)
{
    size_t size = strlen(string), suffix_size = strlen(suffix);
    return size >= suffix_size && strcmp(string + size - suffix_size, suffix) == 0;
}

#endif
