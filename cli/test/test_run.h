/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of `reeve test`. Inside cli/test/ only. */
#ifndef CLI_TEST_TEST_RUN_H
#define CLI_TEST_TEST_RUN_H

#include "cli/output.h"
#include "rehearsal/rehearsal.h"

/* ---- the files (test_paths.c) ---- */

struct test_paths {
    char **items; /* owned */
    size_t count;
};

/* Adds a file; of a directory all that end in ".test.yaml", also of those below it, by name.
 * REJECT "NoFile": it does not exist, or holds none. */
enum error_class test_paths_add(struct test_paths *paths, const char *path,
                                struct error *ret_error);
void test_paths_deinit(struct test_paths *paths);

/* ---- what is printed (test_report.c) ---- */

struct test_junit {
    const char *path;
    FILE *out; /* NULL: nothing is written */
};

struct test_report {
    struct cli *cli;
    struct test_junit junit;
    struct output *output; /* NULL: text */
    bool verbose;          /* also of cases that pass */
    uint32_t passed;
    uint32_t failed; /* cases, and files that cannot be read */
};

/* One case. */
struct test_result {
    const char *path;
    const struct test_case *test;
    const struct rehearsal *rehearsal;
    const struct rehearsal_difference *differences;
    uint32_t difference_count;
};

void test_report_case(struct test_report *report, const struct test_result *result);
/* A file without cases: its own problems, or those of its workflow. */
void test_report_problems(struct test_report *report, const char *path,
                          const struct workflow_problems *problems);

/* ---- for continuous integration (test_junit.c) ---- */

enum error_class test_junit_open(struct test_junit *junit, const char *path,
                                 struct error *ret_error);
void test_junit_begin_file(const struct test_junit *junit, const char *path);
void test_junit_case(const struct test_junit *junit, const struct test_result *result);
/* A file without cases. */
void test_junit_error(const struct test_junit *junit, const char *path, const char *message);
void test_junit_end_file(const struct test_junit *junit);
enum error_class test_junit_close(struct test_junit *junit, struct error *ret_error);

#endif
