/* SPDX-License-Identifier: Apache-2.0 */
/* A flag whose value is data: FILE|JSON. */
#ifndef CLI_DATA_FLAG_H
#define CLI_DATA_FLAG_H

#include "cli/cli.h"

#include <jansson.h>

/* The flag's JSON, or the content of the file that it names, of at most `bytes_max`; new. What is
 * not JSON is the name of a file, or - for stdin, unless it begins like JSON. Untouched where the
 * flag is not given. */
enum error_class data_flag_read(const struct cli *cli, const char *flag, size_t bytes_max,
                                char **ret_data, size_t *ret_size, struct error *ret_error);
/* The same, made canonical, as the member of `body` that the flag names. REJECT also if that has
 * more than `canonical_max` bytes. */
enum error_class data_flag_put(const struct cli *cli, const char *flag, size_t bytes_max,
                               uint32_t canonical_max, json_t *body, struct error *ret_error);

#endif
