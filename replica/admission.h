/* SPDX-License-Identifier: Apache-2.0 */
/* Which records of events[p] count: the few lines that every reader runs over every record, in
 * offset order.
 *
 * A Decision counts if and only if its claim is the latest before it, its sequence is that claim's
 * next one, and its command is beyond the last consumed one. A repeat of the latest Claim changes
 * nothing. Everything else is skipped and counted. The last claim in the log owns the partition;
 * there is no coordinator. */
#ifndef REPLICA_ADMISSION_H
#define REPLICA_ADMISSION_H

#include "schemas/records.h"
#include "statestore/checkpoint.h"

enum admission {
    ADMITTED,
    SKIPPED_OTHER_CLAIM, /* a zombie's late write, or a Decision before any Claim */
    SKIPPED_SEQUENCE,    /* a duplicate, or what follows a hole */
    SKIPPED_COMMAND,     /* that command was consumed before */
    SKIPPED_REPEAT,      /* of the latest Claim */
    ADMISSION_COUNT
};

/* Each takes the record into the checkpoint's bookkeeping if it is admitted. The event offset and
 * hash are the caller's. */
enum admission admission_claim(struct checkpoint *checkpoint, const struct claim *claim);
enum admission admission_guard(struct checkpoint *checkpoint, const struct command_guard *guard);
enum admission admission_decision(struct checkpoint *checkpoint, const struct decision *decision);

const char *admission_name(enum admission admission);

static inline bool uuid_equal(const struct uuid *a, const struct uuid *b)
{
    return memcmp(a->bytes, b->bytes, sizeof(a->bytes)) == 0;
}

#endif
