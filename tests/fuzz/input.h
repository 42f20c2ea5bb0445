/* SPDX-License-Identifier: Apache-2.0 */
/* What the inputs of several fuzz targets are made of. */
#ifndef TESTS_FUZZ_INPUT_H
#define TESTS_FUZZ_INPUT_H

#include "base/buffer.h"
#include "base/text.h"

enum { FUZZ_ENTRIES_MAX = 32, FUZZ_PAIRS_MAX = 32 };

/* A list of
 *     what (1 byte), size (2 bytes, little-endian), bytes */
void fuzz_entries(const uint8_t *data, size_t size, void (*take)(uint8_t what, struct text bytes));
/* Pairs of bytes: something that happens, and how much. */
void fuzz_pairs(struct text bytes, void (*happen)(uint8_t what, uint8_t much));
/* Appends what a record of the schema begins with. */
void fuzz_frame(struct buffer *buffer, uint64_t fingerprint);
/* Writes a long as Avro does, in at most 10 bytes; returns how many. */
size_t fuzz_varint(uint8_t *ret_bytes, int64_t value);

#endif
