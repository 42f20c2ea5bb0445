/* SPDX-License-Identifier: Apache-2.0 */
/* The kit of the suites that have one for each test. */
#ifndef TESTS_UNIT_SCHEMAS_FIXTURE_H
#define TESTS_UNIT_SCHEMAS_FIXTURE_H

#include "tests/unit/schemas/kit.h"

extern struct kit kit;

/* Their .init and their .fini. */
void open_kit(void);
void close_kit(void);

#endif
