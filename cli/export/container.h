/* SPDX-License-Identifier: Apache-2.0 */
/* Writes an Avro object container file: the schema once, then blocks of records, each compressed
 * with deflate (https://avro.apache.org/docs/1.11.1/specification/#object-container-files).
 *
 * avro-c writes such files as well, but takes logical types, docs and defaults out of the schema
 * (docs/design/decisions/0007-our-own-avro.md): times and decimals would be numbers. */
#ifndef CLI_EXPORT_CONTAINER_H
#define CLI_EXPORT_CONTAINER_H

#include "base/buffer.h"
#include "base/text.h"

#include <stdio.h>

struct container;

/* New. Writes the header to `out`, which is borrowed until container_free(). Errors of `out` are
 * the caller's to check. */
struct container *container_new(FILE *out, struct text schema);
/* One record in Avro's binary encoding. */
void container_append(struct container *container, const void *record, size_t size);
/* Writes the last block. */
void container_finish(struct container *container);
/* NULL does nothing. */
void container_free(struct container *container);

/* Appends a number as Avro's int and long: zigzag, seven bits a byte. */
void container_put_long(struct buffer *buffer, int64_t value);
/* Appends a string or bytes: the length, then the bytes. */
void container_put_bytes(struct buffer *buffer, const void *bytes, size_t size);

#endif
