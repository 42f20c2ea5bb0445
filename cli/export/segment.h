/* SPDX-License-Identifier: Apache-2.0 */
/* The files of an export. DIR/WHAT-PARTITION-FIRST-NEXT.avro (or .jsonl) has what the offsets from
 * FIRST to before NEXT of the partition gave. It appears under that name once it is complete and on
 * disk; until then it is a file whose name ends in .partial, which the next run removes. So the
 * names say where to continue, and an export that is interrupted repeats one file at most. */
#ifndef CLI_EXPORT_SEGMENT_H
#define CLI_EXPORT_SEGMENT_H

#include "base/error.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { EXPORT_PARTITIONS_MAX = 100000 };

enum export_format { EXPORT_AVRO, EXPORT_JSONL };

/* Which series of files. */
struct segment_series {
    const char *directory;
    const char *what; /* "events" */
    enum export_format format;
    const char *schema; /* EXPORT_AVRO: of a record */
    int32_t partition;
    uint64_t records_max; /* of a file: what an interrupted export has to repeat */
};

/* The offset after the last complete file, and the first of the first file; -1: there is none.
 * Removes what an interrupted run left. REJECT "FileMissing": the files leave out a range. FATAL
 * "ExportIo". */
enum error_class segment_series_end(const struct segment_series *series, int64_t *ret_first,
                                    int64_t *ret_next, struct error *ret_error);

struct segment;

/* New; begins at offset `first`. FATAL "ExportIo". */
enum error_class segment_open(const struct segment_series *series, int64_t first,
                              struct segment **ret_segment, struct error *ret_error);
/* A record in the series' format: in Avro's binary encoding, or a JSON object. */
void segment_add_avro(struct segment *segment, const void *record, size_t size);
void segment_add_json(struct segment *segment, const json_t *record);
/* Large enough: finish it and open the next one. */
bool segment_is_full(const struct segment *segment);
/* Completes the file with `next` in its name. Frees the segment, also on failure. FATAL
 * "ExportIo". */
enum error_class segment_finish(struct segment *segment, int64_t next, struct error *ret_error);
/* Removes the file. Frees. NULL does nothing. */
void segment_discard(struct segment *segment);

#endif
