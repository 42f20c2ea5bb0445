/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of JSON in a file: appended one by one, read at the start, rewritten as a whole. A line
 * that was not written to its end does not exist. */
#ifndef KAFKA_EMBEDDED_JOURNAL_H
#define KAFKA_EMBEDDED_JOURNAL_H

#include "base/buffer.h"
#include "base/error.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct journal {
    char *path; /* NULL: nothing is kept */
    int fd;     /* < 0: not open */
    uint64_t size;
    uint64_t rewritten_size;
};

/* `each` gets every line; what it does not know it ignores. `path` NULL: there are none. FATAL: the
 * file cannot be read, or a line is not JSON. */
enum error_class journal_open(struct journal *journal, const char *path,
                              void (*each)(void *ctx, const json_t *line), void *ctx,
                              struct error *ret_error);
/* Steals `line`. False: the disk failed; then nothing is written. */
bool journal_add(struct journal *journal, json_t *line);
/* It has grown by so much that it should be rewritten. */
bool journal_is_long(const struct journal *journal);
/* A line for journal_rewrite(); steals it. */
void journal_print(struct buffer *lines, json_t *line);
/* Replaces all lines. */
enum error_class journal_rewrite(struct journal *journal, const struct buffer *lines,
                                 struct error *ret_error);
void journal_close(struct journal *journal);

#endif
