/* SPDX-License-Identifier: Apache-2.0 */
/* One record of each kind with every field set, and a few special ones. tests/golden/values.py has
 * the same values for another Avro implementation: change both. */
#ifndef TESTS_UNIT_SCHEMAS_SAMPLES_H
#define TESTS_UNIT_SCHEMAS_SAMPLES_H

#include "schemas/avro/codec.h"

struct sample {
    const char *name; /* golden/<name>.bin */
    enum record_kind kind;
    const void *record; /* as codec_encode() takes it */
};

extern const struct sample samples[];
extern const uint32_t sample_count;

/* The Decision that figures are given for: a step succeeded, the next one started. */
extern const struct decision sample_small_decision;

#endif
