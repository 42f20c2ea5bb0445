/* SPDX-License-Identifier: Apache-2.0 */
/* The codec's own memory: an arena over malloc'ed blocks, for what lives as long as a schema. */
#ifndef SCHEMAS_AVRO_MEMORY_H
#define SCHEMAS_AVRO_MEMORY_H

#include "base/arena.h"

struct memory_block;

struct memory {
    struct arena arena; /* stays put: do not copy the struct */
    struct memory_block *blocks;
};

void memory_init(struct memory *memory);
void memory_deinit(struct memory *memory);

#endif
