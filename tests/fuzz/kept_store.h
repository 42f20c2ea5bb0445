/* SPDX-License-Identifier: Apache-2.0 */
/* One RocksDB for all inputs. Opening a store takes RocksDB longer than all that an input does to
 * it: so the linker puts this in front of store_open(), store_close() and store_drop(), which keep
 * the store open; a dropped one is emptied. */
#ifndef TESTS_FUZZ_KEPT_STORE_H
#define TESTS_FUZZ_KEPT_STORE_H

/* In a folder that is removed when the process ends. */
void kept_store_prepare(void);
struct store_env *kept_store_env(void);
/* No view has it open. */
void kept_store_empty(void);

#endif
