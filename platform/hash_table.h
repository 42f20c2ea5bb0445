/* SPDX-License-Identifier: Apache-2.0 */
/* uthash, with another hash function than its own: faster, and with a seed of each process, since
 * clients choose the ids of orders, and could choose many of one bucket. Included in place of
 * <uthash.h>. */
#ifndef PLATFORM_HASH_TABLE_H
#define PLATFORM_HASH_TABLE_H

#include <stddef.h>

#ifdef HASH_FUNCTION
#error "include platform/hash_table.h instead of uthash.h"
#endif
#define HASH_FUNCTION(key, size, ret_hash) ((ret_hash) = hash_table_hash((key), (size)))

/* Any thread. */
unsigned hash_table_hash(const void *key, size_t size);

#include <uthash.h>

#endif
