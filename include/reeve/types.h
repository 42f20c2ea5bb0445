/* SPDX-License-Identifier: Apache-2.0 */
/* What the public headers of reeve share. Include reeve/agent.h or reeve/leader.h instead.
 *
 * The headers are valid C17 and C++17 and need the C standard library only. All names begin with
 * reeve_ or REEVE_. Two versions of libreeve.so with the same soname (libreeve.so.0) are
 * compatible: structs keep their members, functions their meaning. */
#ifndef REEVE_TYPES_H
#define REEVE_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* A symbol that libreeve.so exports; all others are hidden. */
#define REEVE_API __attribute__((visibility("default")))

/* UTF-8 text that reeve owns: `size` bytes that do not end in NUL. Functions that return one say
 * how long you may read it. In C++: std::string_view(text.data, text.size).
 *
 *     printf("%.*s", (int)text.size, text.data); */
struct reeve_text {
    const char *data; /* NULL: absent; then size is 0 */
    size_t size;
};

/* Borrows `string`, which is not NULL. */
static inline struct reeve_text reeve_text_of(const char *string)
{
    struct reeve_text text;
    text.data = string;
    text.size = strlen(string);
    return text;
}

/* Whether the text is exactly `string`. An absent text equals "". */
static inline bool reeve_text_is(struct reeve_text text, const char *string)
{
    size_t size = strlen(string);
    return text.size == size && (size == 0 || memcmp(text.data, string, size) == 0);
}

#endif
