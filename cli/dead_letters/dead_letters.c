/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve dead-letters`: the table of its verbs. */
#include "cli/dead_letters/dead_letters.h"

#include "base/numbers.h"
#include "cli/console/bulk.h"
#include "cli/console/order_filter.h"
#include "cli/console/signature.h"
#include "platform/clock.h"

#include <inttypes.h>
#include <stdio.h>

bool dead_letter_id_parse(const char *id, int64_t *ret_partition, int64_t *ret_offset)
{
    struct text text = text_of(id);
    uint64_t partition, offset;
    if (!number_take(&text, INT32_MAX, &partition) || text_empty(text) || text.data[0] != ':')
        return false;
    text = text_from(text, 1);
    if (!number_take(&text, INT64_MAX - 1, &offset) || !text_empty(text))
        return false;
    *ret_partition = (int64_t)partition;
    *ret_offset = (int64_t)offset;
    return true;
}

enum error_class dead_letter_path(const char *id, const char *after, struct console_path *ret_path,
                                  struct error *ret_error)
{
    int64_t partition, offset;
    char place[64];
    if (!dead_letter_id_parse(id, &partition, &offset))
        return error_set(ret_error, CODE_USAGE,
                         "%.60s: expected PARTITION:OFFSET, as `reeve dead-letters list` shows it",
                         id);
    snprintf(place, sizeof(place), "/api/dead-letters/%" PRId64 "/%" PRId64, partition, offset);
    *ret_path = (struct console_path){.size = 0};
    console_path_add(ret_path, place);
    console_path_add(ret_path, after);
    return ERROR_OK;
}

bool dead_letter_is_filtered(const struct cli *cli)
{
    return cli_flag_given(cli, "topic") || cli_flag_given(cli, "code") ||
           cli_flag_given(cli, "since") || cli_flag_given(cli, "until");
}

bool dead_letter_flags_read(struct cli *cli, struct dead_letter_flags *ret_flags, int *ret_code)
{
    struct error error;
    int64_t now = clock_wall_ms(clock_real());
    struct dead_letter_flags flags = {.cli = cli};
    if (order_filter_read_time(cli, "since", now, flags.since, &error) == ERROR_OK &&
        order_filter_read_time(cli, "until", now, flags.until, &error) == ERROR_OK) {
        *ret_flags = flags;
        return true;
    }
    *ret_code = cli_fail(cli, &error);
    return false;
}

/* NULL: not given. */
static const char *given(const char *text)
{
    return text[0] != '\0' ? text : NULL;
}

bool dead_letter_list_page(const struct dead_letter_flags *flags, const char *limit, bool all,
                           json_t **cursor, struct console_answer *ret_answer, int *ret_code)
{
    struct console_path path = {.size = 0};
    console_path_add(&path, "/api/dead-letters");
    console_path_add_query(&path, "limit", limit);
    console_path_add_query(&path, "topic", cli_flag_value(flags->cli, "topic"));
    console_path_add_query(&path, "code", cli_flag_value(flags->cli, "code"));
    console_path_add_query(&path, "since", given(flags->since));
    console_path_add_query(&path, "until", given(flags->until));
    console_path_add_query(&path, "all", all ? "1" : NULL);
    return console_get_page(flags->cli, &path, cursor, ret_answer, ret_code);
}

/* ---- the table ---- */

static const struct cli_flag list_flags[] = {
    DEAD_LETTER_FILTER_FLAGS,
    {"all", NULL, "Also lists those that were replayed or discarded."},
    {"limit", "N", "At most N; 50 by default, 0 = all."},
    CONSOLE_FLAG,
    {NULL, NULL, NULL},
};
static const struct cli_flag get_flags[] = {
    {"value", "FILE", "Writes the value's bytes to FILE; - is stdout, and prints nothing else."},
    {"json", NULL, "Prints only the decoded value, which can be corrected and replayed."},
    CONSOLE_FLAG,
    {NULL, NULL, NULL},
};
#define RESOLVE_FLAGS \
    SIGNATURE_FLAGS("the topic"), DEAD_LETTER_FILTER_FLAGS, BULK_FLAGS("dead letters"), CONSOLE_FLAG
static const struct cli_flag discard_flags[] = {RESOLVE_FLAGS, {NULL, NULL, NULL}};
static const struct cli_flag replay_flags[] = {
    {"value", "FILE", "Replays these bytes instead; one dead letter only."},
    {"json", "FILE", "Replays this JSON instead, encoded as --record; one dead letter only."},
    {"record", "NAME",
     "Of --json: the type of record; by default that of the dead letter's value."},
    RESOLVE_FLAGS,
    {NULL, NULL, NULL},
};

static const struct cli_verb verbs[] = {
    {
        .name = "list",
        .summary = "Lists records that could not be handled and wait for an operator, the newest "
                   "first; beyond the newest 20,000, the partitions one after the other.",
        .examples = "reeve dead-letters list\n"
                    "reeve dead-letters list --topic submissions --code InvalidOrder --since 1h\n"
                    "reeve dead-letters list --since 2010-12-01 --until 2010-12-02 --limit 0",
        .flags = list_flags,
        .run = dead_letters_run_list,
    },
    {
        .name = "get",
        .arguments = "PARTITION:OFFSET",
        .summary = "Shows one dead letter: why it is there, where it came from, its headers, and "
                   "its value, decoded as far as possible.",
        .examples = "reeve dead-letters get 2:17\n"
                    "reeve dead-letters get 2:17 --json > order.json",
        .flags = get_flags,
        .run = dead_letters_run_get,
    },
    {
        .name = "replay",
        .arguments = "[PARTITION:OFFSET...|-]",
        .summary = "Writes dead letters to the topic that they came from, once more. Exit code 1: "
                   "one was refused.",
        .examples = "reeve dead-letters replay 2:17 --reason \"the workflow is deployed now\"\n"
                    "reeve dead-letters replay 2:17 --json order.json --reason \"wrong currency\"\n"
                    "reeve dead-letters replay --code UnknownWorkflow --since 2h --rate 20/s "
                    "--reason deployed",
        .flags = replay_flags,
        .run = dead_letters_run_resolve,
    },
    {
        .name = "discard",
        .arguments = "[PARTITION:OFFSET...|-]",
        .summary = "Marks dead letters as dealt with: they are not listed any more. Exit code 1: "
                   "one was refused.",
        .examples = "reeve dead-letters discard 2:17 --reason \"a test\"",
        .flags = discard_flags,
        .run = dead_letters_run_resolve,
    },
};

const struct cli_noun cli_dead_letters = {"dead-letters", "Records that could not be handled.",
                                          verbs, sizeof(verbs) / sizeof(verbs[0])};
