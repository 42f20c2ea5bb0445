/* SPDX-License-Identifier: Apache-2.0 */
/* Rows as YAML, in block style. */
#ifndef CLI_OUTPUT_YAML_H
#define CLI_OUTPUT_YAML_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/* A document of the row, or an item of the list that the items printed in a row are. */
void output_yaml(FILE *out, const json_t *row, bool item);

#endif
