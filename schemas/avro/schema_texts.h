/* SPDX-License-Identifier: Apache-2.0 */
/* The .avsc files that this build was made with, byte for byte. The C file is made by embed.cmake.
 */
#ifndef SCHEMAS_AVRO_SCHEMA_TEXTS_H
#define SCHEMAS_AVRO_SCHEMA_TEXTS_H

#include "base/text.h"

struct schema_text {
    const char *name; /* the file's name without .avsc = the record's short name */
    struct text text;
};

extern const struct schema_text schema_texts[];
extern const uint32_t schema_text_count;

#endif
