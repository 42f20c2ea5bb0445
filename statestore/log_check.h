/* SPDX-License-Identifier: Apache-2.0 */
/* Reads RocksDB's own logs (MANIFEST, write-ahead logs) before RocksDB does, because it forgives
 * too much: a flipped bit in a length looks to it like a record that a crash cut off, and it
 * goes on without what followed. From the MANIFEST it then misses a flush whose write-ahead log
 * is long deleted, and the store has rows of one moment and a checkpoint of another.
 *
 * The format (LevelDB's): blocks of 32 KiB of fragments
 *     masked CRC-32C of type and payload LE4 | size LE2 | type | payload
 * (type: 1 full, 2 first, 3 middle, 4 last) and fewer than 7 zeros at the end of a block. A
 * write-ahead log's record begins with
 *     sequence of its first row LE8 | number of rows LE4
 * and the next record goes on with the next sequence, in the next log as well. Logs older than the
 * MANIFEST says are needed (manifest_edit.h) are not looked at: RocksDB does not read them. */
#ifndef STATESTORE_LOG_CHECK_H
#define STATESTORE_LOG_CHECK_H

enum log_state {
    LOG_WHOLE,
    LOG_TORN, /* only the end of the newest write-ahead log is missing, as after kill -9 */
    LOG_DAMAGED,
    LOG_STATE_COUNT
};

/* The logs of the closed store in directory `path`; a store that does not exist is whole.
 * *ret_what says what is wrong (static text), unless it is whole. */
enum log_state log_check_store(const char *path, const char **ret_what);

#endif
