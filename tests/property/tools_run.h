/* SPDX-License-Identifier: Apache-2.0 */
/* Commands of `reeve` in a world: their own main, on a session whose broker is that of the world,
 * which goes on while they wait. */
#ifndef TESTS_PROPERTY_TOOLS_RUN_H
#define TESTS_PROPERTY_TOOLS_RUN_H

#include "cli/cli.h"
#include "cli/verify/fold.h"
#include "tests/property/tools_world.h"

enum { TOOLS_VERIFY_FOLDS_MAX = 16 };

/* What one fold of `reeve verify` came to. */
struct tools_verify_fold {
    int32_t partition;
    bool rules;
    enum error_class class;
    bool overtaken;
    int64_t start;
    int64_t next;
    struct verify_counts counts;
};

/* A command that has run. */
struct tools_run {
    int code;
    char *err; /* what it printed there, new */
    struct tools_verify_fold folds[TOOLS_VERIFY_FOLDS_MAX];
    uint32_t fold_count;
};

/* `reeve ARGUMENTS`, the first of which is the noun's name; they end with NULL. */
void tools_run(struct tools *tools, const struct cli_noun *noun, const char *const arguments[],
               struct tools_run *ret_run);
void tools_run_free(struct tools_run *run);

/* Each of them is run, and says what the fold of the test says; NULL, or where it does not. */
const char *tools_verify(struct tools *tools, bool live);
const char *tools_export_orders(struct tools *tools);

#endif
