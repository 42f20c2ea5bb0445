/* SPDX-License-Identifier: Apache-2.0 */
/* The orders that an operator's command is about: ids on the command line, `-` for ids on stdin, or
 * all that match a filter now. */
#ifndef CLI_CONSOLE_TARGETS_H
#define CLI_CONSOLE_TARGETS_H

#include "base/text.h"
#include "cli/console/bulk.h"
#include "cli/console/order_filter.h"

/* For a verb's table of flags: the filter, which `reeve orders list` shares, and how a command that
 * is about many orders goes on. */
#define TARGET_STEP_FLAG ORDER_FILTER_STEP_FLAG
#define TARGET_FLAGS ORDER_FILTER_FLAGS, BULK_FLAGS("orders")

/* How the command line may name a step. */
struct targets_step {
    const char *positional; /* the step that an argument names: the filter asks for it; or NULL */
    bool flag_names;        /* --step names the step that the command is about, also with ids */
};
/* The orders that are meant without ids: those of a version that have not ended. */
struct targets_version {
    struct text workflow; /* empty: any orders that the filter finds */
    uint32_t version;
};
/* Whether the command line names orders: in its first `id_count` arguments, or by a filter. False:
 * *ret_code is the exit code, and the error was reported. */
bool targets_given(struct cli *cli, int id_count, const struct targets_step *step,
                   const struct targets_version *of, int *ret_code);
/* Orders; none yet. REJECT: --rate. */
enum error_class targets_init(struct cli *cli, struct bulk *ret_bulk, struct error *ret_error);
/* Collects their ids. False as above. */
bool targets_collect(struct bulk *bulk, const struct console_client *client, int id_count,
                     const struct targets_step *step, const struct targets_version *of,
                     int *ret_code);

#endif
