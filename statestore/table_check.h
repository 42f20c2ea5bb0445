/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the properties of RocksDB's tables before RocksDB does: it looks into that block before it
 * verifies its checksum, and Debian's build, which has assertions, aborts the process when a
 * flipped bit at its end makes it look like a block of another type. Whatever restarts the process
 * then restarts it into the same abort. (RocksDB 7.8, table/meta_blocks.cc.)
 *
 * A table ends with a footer of 53 bytes:
 *     checksum type | handle of metaindex | handle of index | zeros | version LE4 | magic LE8
 * A handle is offset and size (varints) of a block, which 5 more bytes follow: its compression and
 * its checksum LE4. The metaindex has entries of
 *     shared bytes of the key | its other bytes | size of the value (varints) | key | value
 * and at its end the offsets of restarts, LE4 each, and their number LE4. Its entry
 * "rocksdb.properties" has the handle of that block. */
#ifndef STATESTORE_TABLE_CHECK_H
#define STATESTORE_TABLE_CHECK_H

#include <stdbool.h>

/* False: the properties of a table in the directory of the closed store do not match their
 * checksum. Other damage is for RocksDB to report; a table that a crash left unfinished, without a
 * footer, is none of the store's. */
bool table_check_store(const char *path);

#endif
