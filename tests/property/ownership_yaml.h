/* SPDX-License-Identifier: Apache-2.0 */
/* A compiled workflow as the text that compiles to it. */
#ifndef TESTS_PROPERTY_OWNERSHIP_YAML_H
#define TESTS_PROPERTY_OWNERSHIP_YAML_H

#include "engine/workflow.h"

#include <stdio.h>

/* Writes at most `size` bytes with the NUL; returns the length (asserted to fit). */
size_t workflow_to_yaml(const struct workflow *workflow, char *ret_text, size_t size);

#endif
