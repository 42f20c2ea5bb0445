/* SPDX-License-Identifier: Apache-2.0 */
/* Fields of the API's objects, which may be absent or null. */
#ifndef CLI_FIELD_H
#define CLI_FIELD_H

#include <jansson.h>

/* Borrowed; "" if there is no text. */
const char *field_text(const json_t *object, const char *name);
/* 0 if there is no number. */
long long field_int(const json_t *object, const char *name);

#endif
