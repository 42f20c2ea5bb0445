/* SPDX-License-Identifier: Apache-2.0 */
/* What a record of RocksDB's MANIFEST says of its write-ahead logs. A record is a list of fields,
 *     tag | what the tag says
 * of varints and of texts (size varint, bytes). Pure. */
#ifndef STATESTORE_MANIFEST_EDIT_H
#define STATESTORE_MANIFEST_EDIT_H

#include <stddef.h>
#include <stdint.h>

/* Raises *oldest_log to the number of the oldest write-ahead log that is needed after this record,
 * if it contains that number. Of a record with a field that is not known here, what comes before
 * that counts. */
void manifest_edit_oldest_log(const uint8_t *edit, size_t size, uint64_t *oldest_log);

#endif
