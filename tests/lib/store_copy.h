/* SPDX-License-Identifier: Apache-2.0 */
/* Empty stores for tests that need many: RocksDB takes ten times as long to make one as to open a
 * copy of it. */
#ifndef TESTS_LIB_STORE_COPY_H
#define TESTS_LIB_STORE_COPY_H

/* The flat directory `from`, a store that is not open, as the new directory `to`. */
void store_copy(const char *from, const char *to);

#endif
