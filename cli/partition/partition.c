/* SPDX-License-Identifier: Apache-2.0 */
/* `reeve partition`: the table of its verbs. */
#include "cli/partition/partition.h"

static const struct cli_flag reset_flags[] = {
    {"partition", "N", "The stopped partition."},
    {"next-command", "OFFSET", "The offset in the commands topic at which its owner continues."},
    {"skip", "FROM-TO", "Offsets in the events topic that no longer count: FROM to before TO."},
    {"newest-decision", "TIME",
     "Lowers the time of the newest Decision: `now`, or a time such as 2010-12-01T08:26:00Z."},
    {"by", "WHO", "Who decided this; stays in the log."},
    {"reason", "TEXT", "Why; stays in the log."},
    {"dry-run", NULL, "Only explains what stops the partition and what the reset would do."},
    {"yes", NULL, "Does not ask for confirmation."},
    {0}};

static const struct cli_flag waiting_flags[] = {{0}};

static const struct cli_verb verbs[] = {
    {.name = "reset",
     .summary = "Lets a stopped partition continue as an operator decides; refuses if it works. "
                "Exit code 1: the reset is void, because something else was written meanwhile.",
     .examples = "# what stops it, and what a reset would do\n"
                 "reeve partition reset --partition 3 --next-command 0 --by ann --reason "
                 "'topic restored' --dry-run\n"
                 "# the commands topic was created again: continue at its start\n"
                 "reeve partition reset --partition 3 --next-command 0 --by ann --reason "
                 "'topic restored'\n"
                 "# a third-party client wrote the record at offset 17 of events\n"
                 "reeve partition reset --partition 3 --skip 17-18 --by ann --reason 'not ours'\n",
     .flags = reset_flags,
     .plain = true,
     .run = partition_run_reset},
    {.name = "waiting",
     .arguments = "PARTITION",
     .summary = "Shows the commands that no scheduler has decided, the first 100: the orders in "
                "them are in no list. Reads the log and the commands itself; no service is needed.",
     .examples = "reeve partition waiting 3\nreeve partition waiting 3 --output jsonl",
     .flags = waiting_flags,
     .run = partition_run_waiting}};

const struct cli_noun cli_partition = {.name = "partition",
                                       .summary = "Partitions that are stopped, or whose commands "
                                                  "wait.",
                                       .verbs = verbs,
                                       .verb_count = sizeof(verbs) / sizeof(verbs[0])};
