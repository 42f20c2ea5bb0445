/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the types of the records in RocksDB's own logs (MANIFEST, write-ahead logs) before RocksDB
 * does. It acts on a type before it verifies the checksum that covers it, and where a log that
 * began with other records has one of the types for recycled log files, it reads that record again
 * and again for ever: RocksDB 9.10 in each log, 7.8 in those of which it skips what is damaged.
 * (db/log_reader.cc, ReadPhysicalRecord.) No log of ours is recycled.
 *
 * A log has blocks of 32 KiB with records
 *     masked CRC-32C of type and payload LE4 | size of the payload LE2 | type | payload
 * and less than such a header at the end of a block. Of a block in which a record does not match
 * its checksum or is longer than the block, RocksDB reads no more, and goes on with the next one:
 * whatever it reads as a header is read here as well. */
#ifndef STATESTORE_LOG_CHECK_H
#define STATESTORE_LOG_CHECK_H

#include <stdbool.h>

/* False: a log in the directory of the closed store has a record of a type for recycled log files.
 * Other damage, and an end that a crash has cut off, are for RocksDB to report. Takes 32 KiB of
 * memory. */
bool log_check_store(const char *path);

#endif
