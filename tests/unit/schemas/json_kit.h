/* SPDX-License-Identifier: Apache-2.0 */
/* Checks what the JSON of a record says. */
#ifndef TESTS_UNIT_SCHEMAS_JSON_KIT_H
#define TESTS_UNIT_SCHEMAS_JSON_KIT_H

#include "tests/unit/schemas/samples.h"

#include <jansson.h>

/* Of samples[]; asserts that there is one. */
const void *sample_record(const char *name);
/* What a client reads; steals `json`. */
json_t *json_kit_sent(json_t *json);
/* Assert what a member is. */
void json_kit_text(const json_t *object, const char *name, const char *expected);
void json_kit_int(const json_t *object, const char *name, int64_t expected);

#endif
