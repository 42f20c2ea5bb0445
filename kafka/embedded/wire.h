/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers, strings and arrays of the Kafka protocol, in the versions before "flexible" ones:
 * big-endian, with lengths in front (KIP-482 has the others, which the embedded broker does not
 * offer). */
#ifndef KAFKA_EMBEDDED_WIRE_H
#define KAFKA_EMBEDDED_WIRE_H

#include "base/buffer.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- reading: what is not there reads as 0, "" or an empty array, and sets `bad` ---- */

struct wire {
    struct text rest;
    bool bad;
};

int8_t wire_i8(struct wire *wire);
int16_t wire_i16(struct wire *wire);
int32_t wire_i32(struct wire *wire);
int64_t wire_i64(struct wire *wire);
/* Borrowed from what is read. Null: no data. */
struct text wire_string(struct wire *wire);
struct text wire_bytes(struct wire *wire);
/* The length of an array, whose elements take at least `size` bytes each; -1: null. */
int32_t wire_count(struct wire *wire, size_t size);

/* ---- writing ---- */

void wire_put_i8(struct buffer *buffer, int8_t value);
void wire_put_i16(struct buffer *buffer, int16_t value);
void wire_put_i32(struct buffer *buffer, int32_t value);
void wire_put_i64(struct buffer *buffer, int64_t value);
/* Without data: null. At most INT16_MAX bytes. */
void wire_put_string(struct buffer *buffer, struct text text);
void wire_put_bytes(struct buffer *buffer, struct text bytes);
/* Over what an i32 at `at` was before. */
void wire_set_i32(struct buffer *buffer, size_t at, int32_t value);

#endif
