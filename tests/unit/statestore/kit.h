/* SPDX-License-Identifier: Apache-2.0 */
/* Helpers of the tests of statestore/: a folder, a store in it, and a small partition whose rows
 * follow from the number of folded records, so that a test can compare any store with its
 * expected rows. */
#ifndef TESTS_UNIT_STATESTORE_KIT_H
#define TESTS_UNIT_STATESTORE_KIT_H

#include "statestore/store.h"

#include <stddef.h>
#include <sys/resource.h>

enum { KIT_PATH_SIZE = 512 };

/* Zeroed memory that lives as long as the test's process. */
void *kit_memory(size_t size);
/* An empty folder in $TMPDIR. Lives as long as the process, as does the next. */
const char *kit_folder(void);
/* "folder/name" */
const char *kit_path(const char *folder, const char *name);

/* No file of this process may grow beyond `bytes`. */
void kit_limit_files(rlim_t bytes);

struct store_env *kit_env(void);
/* Asserts that the store opens. */
struct store *kit_open(struct store_env *env, const char *path);
struct checkpoint kit_checkpoint(int64_t next_event_offset);

/* ---- the small partition ---- Record n (from 0) rewrites order n % KIT_ORDERS and moves its
 * deadline; every 7th record of an order deletes it. */
enum { KIT_ORDERS = 40, KIT_ROW_BYTES = 300 };

/* Puts record `n` into the batch. */
void kit_put_record(struct store_batch *batch, int64_t n);
/* Folds the records from..until-1, one commit for each `per_commit` of them. */
void kit_fold(struct store *store, int64_t from, int64_t until, int per_commit);
/* Asserts that orders and deadlines are those after the number of records in the checkpoint.
 * Returns that number, or -1 when the store reports damage. */
int64_t kit_verify(struct store *store);

#endif
