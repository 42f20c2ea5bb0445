/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a closed store, which a test damages and puts back. */
#ifndef TESTS_UNIT_STATESTORE_KIT_FILES_H
#define TESTS_UNIT_STATESTORE_KIT_FILES_H

#include "tests/unit/statestore/kit.h"

enum { KIT_FILES_MAX = 64 };

struct kit_file {
    char name[256];
    char *bytes;
    size_t size;
};

struct kit_files {
    struct kit_file files[KIT_FILES_MAX];
    int count;
};

/* Adds the store's files, except its lock and RocksDB's information log. */
void kit_read_files(const char *path, struct kit_files *files);
/* Replaces the store by one that has these files. */
void kit_write_files(const char *path, const struct kit_files *files);

#endif
