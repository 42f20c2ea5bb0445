/* SPDX-License-Identifier: Apache-2.0 */
/* A digest of all Decisions of a process, as they are written to the log: the same seeds have to
 * give the same one in every build (I31), whatever the compiler does about the order of evaluation,
 * padding and floating point. tests/unit/test_two_builds.py compares builds. */
#ifndef TESTS_PROPERTY_ENGINE_DIGEST_H
#define TESTS_PROPERTY_ENGINE_DIGEST_H

#include "engine/engine.h"

/* Does nothing unless REEVE_PROPERTY_DIGEST is set: encoding takes time. */
void digest_add(const struct decision *decision);
/* Prints it, and how many Decisions it is of; nothing without that variable. */
void digest_print(void);

#endif
