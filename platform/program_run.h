/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a program to its end and takes what it prints. Blocks: for worker threads. What has a loop
 * uses platform/program.h. */
#ifndef PLATFORM_PROGRAM_RUN_H
#define PLATFORM_PROGRAM_RUN_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

struct program_run {
    char *const *argv; /* ends with NULL; no shell: argv[0] is a path or is found in PATH */
    int64_t timeout_ms;
    size_t output_max; /* bytes */
    int cancel_fd;     /* the program is killed when this is readable; -1 = none */
};

/* The environment is this process's, standard input is empty. *ret_output: new, with a NUL behind
 * its end; it may be secret, and no error shows it. RETRY: the program did not start, did not end
 * in time, was cancelled, failed (with the last line of its standard error), or printed too much.
 * Whatever it started is killed with it. */
enum error_class program_run(const struct program_run *options, char **ret_output, size_t *ret_size,
                             struct error *ret_error);

#endif
