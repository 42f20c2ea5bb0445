/* SPDX-License-Identifier: Apache-2.0 */
/* What the verbs of `reeve dead-letters` share. */
#ifndef CLI_DEAD_LETTERS_DEAD_LETTERS_H
#define CLI_DEAD_LETTERS_DEAD_LETTERS_H

#include "base/rfc3339.h"
#include "cli/console/console_client.h"

#define DEAD_LETTER_FILTER_FLAGS                                                             \
    {"topic", "TOPIC", "Only those from this topic, such as submissions or requests.bank."}, \
        {"code", "CODE", "Only those with this code."},                                      \
        {"since", "TIME",                                                                    \
         "Only those since then: a time such as 2010-12-01T08:26:00Z, or an age: 30m, "      \
         "1h, 7d."},                                                                         \
    {                                                                                        \
        "until", "TIME", "Only those before then."                                           \
    }

/* For tests: "PARTITION:OFFSET". False: it is not. */
bool dead_letter_id_parse(const char *id, int64_t *ret_partition, int64_t *ret_offset);
/* /api/dead-letters/PARTITION/OFFSET and `after`. REJECT "Usage": not an id. */
enum error_class dead_letter_path(const char *id, const char *after, struct console_path *ret_path,
                                  struct error *ret_error);
bool dead_letter_is_filtered(const struct cli *cli);

/* The filter's flags as given, with their times fixed: they are the same on every page. */
struct dead_letter_flags {
    struct cli *cli;
    char since[RFC3339_TEXT_SIZE]; /* milliseconds since the epoch; "" = not given */
    char until[RFC3339_TEXT_SIZE];
};
/* False: *ret_code is the exit code, and the error was reported. */
bool dead_letter_flags_read(struct cli *cli, struct dead_letter_flags *ret_flags, int *ret_code);
/* One page of the list, as console_get_page(). */
bool dead_letter_list_page(const struct dead_letter_flags *flags, const char *limit, bool all,
                           json_t **cursor, struct console_answer *ret_answer, int *ret_code);

int dead_letters_run_list(struct cli *cli);
int dead_letters_run_get(struct cli *cli);
int dead_letters_run_resolve(struct cli *cli); /* replay and discard */

#endif
