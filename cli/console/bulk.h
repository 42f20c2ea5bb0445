/* SPDX-License-Identifier: Apache-2.0 */
/* A command about many things: which ones (ids on the command line, `-` for ids on stdin, or what a
 * filter found), --dry-run, confirmation, --rate, progress, and a result for each. */
#ifndef CLI_CONSOLE_BULK_H
#define CLI_CONSOLE_BULK_H

#include "cli/output.h"
#include "cli/pace.h"

/* For a verb's table of flags. */
#define BULK_FLAGS(things)                                                                       \
    {"dry-run", NULL, "Lists the " things ", and sends nothing."},                               \
        {"rate", "N/s", "At most N " things " a second, or a minute with N/m."},                 \
    {                                                                                            \
        "yes", NULL, "Does not ask for confirmation, as it does for ids from stdin or a filter." \
    }

/* What they are. */
struct bulk_kind {
    const char *one;                 /* "order" */
    const char *many;                /* "orders" */
    struct output_column columns[2]; /* of --dry-run: the id, and the end */
    enum error_class (*check_id)(const char *id, struct error *ret_error);
};

struct bulk {
    struct cli *cli;
    const struct bulk_kind *kind;
    struct pace pace;
    char **ids; /* owned */
    size_t count;
    bool listed; /* each was named on the command line: nothing is to be confirmed */
};

/* None yet. REJECT: --rate. */
enum error_class bulk_init(struct cli *cli, const struct bulk_kind *kind, struct bulk *ret_bulk,
                           struct error *ret_error);
void bulk_deinit(struct bulk *bulk);
/* REJECT: not an id, or there are too many. */
enum error_class bulk_add(struct bulk *bulk, const char *id, struct error *ret_error);
/* The ids of the first `count` arguments, or those on stdin if it is `-` alone. */
enum error_class bulk_add_arguments(struct bulk *bulk, int count, struct error *ret_error);

struct bulk_action {
    const char *verb; /* "cancel" */
    const struct output_column *columns;
    /* Does it to one of them: a row, or an error that is reported. Returns the exit code:
     * EXIT_CODE_NEGATIVE keeps the others from nothing, any other ends the command. */
    int (*send)(void *ctx, const char *id, struct output *output);
    /* For --dry-run, likewise: whether it would be accepted; EXIT_CODE_NEGATIVE: it would not.
     * NULL: --dry-run only lists them. */
    int (*check)(void *ctx, const char *id, struct output *output);
    const struct output_column *check_columns;
    void *ctx;
};
/* All of them, or what --dry-run says. Returns the highest of the exit codes. */
int bulk_run(struct bulk *bulk, const struct bulk_action *action);

#endif
