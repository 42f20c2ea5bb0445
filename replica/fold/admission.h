/* SPDX-License-Identifier: Apache-2.0 */
/* Which records of events[p] count: the few lines that every reader runs over every record, in
 * offset order.
 *
 * A Decision counts if and only if its claim is the latest before it, its sequence is that claim's
 * next one, and its command is beyond the last consumed one. A Continuation, Statement or Expiry
 * takes a sequence number like a Decision. A Continuation states what was folded; at the beginning
 * of a log that was trimmed, it is taken on trust. A repeat of the latest Claim changes nothing. A
 * Reset counts only at the offset that it names, and ends the claim. Everything else is skipped and
 * counted. The last claim in the log owns the partition; there is no coordinator. */
#ifndef REPLICA_FOLD_ADMISSION_H
#define REPLICA_FOLD_ADMISSION_H

#include "schemas/records.h"
#include "statestore/checkpoint.h"

enum admission {
    ADMITTED,
    SKIPPED_OTHER_CLAIM, /* a zombie's late write, or a Decision before any Claim */
    SKIPPED_SEQUENCE,    /* a duplicate, or what follows a hole */
    SKIPPED_COMMAND,     /* that command was consumed before */
    SKIPPED_REPEAT,      /* of the latest Claim */
    SKIPPED_VOID,        /* a Reset that is not where it expects to be, or that makes no sense */
    SKIPPED_RANGE,       /* a Reset said that nothing here counts */
    SKIPPED_FOREIGN,     /* it cannot be a record of the log */
    /* With the last three, the reader cannot continue with its state. */
    ADMISSION_DIFFERS, /* the next Continuation states something else than was folded, or none is at
                          the beginning of a trimmed log: stop */
    ADMISSION_TOO_MANY, /* a Reset skips a range, and the reader knows as many as it can: stop */
    ADMISSION_REFOLD,   /* the ranges known are not those of the log: fold again, with the others */
    ADMISSION_COUNT
};

/* What a reader has folded before the first record. */
struct checkpoint admission_begin(void);
/* Nothing is folded yet. The log was trimmed and begins at this offset, with a Continuation: the
 * fold begins with what that states, and is not complete until a Continuation says that nothing
 * before it is needed. 0: the log was not trimmed. What resets skip that are before it is forgotten
 * with them. */
void admission_begin_at(struct checkpoint *checkpoint, int64_t start);
/* The next record is that Continuation: no other one can be folded here. */
bool admission_begins(const struct checkpoint *checkpoint);

/* Takes the record at `offset` into the checkpoint's bookkeeping if it is admitted; leaves the
 * checkpoint alone if not. The event offset and hash are the caller's. Decides all kinds of record;
 * asks first whether the offset is skipped. */
enum admission admission_record(struct checkpoint *checkpoint, const struct record *record,
                                int64_t offset);

/* The same for one kind. */
enum admission admission_claim(struct checkpoint *checkpoint, const struct claim *claim);
enum admission admission_guard(struct checkpoint *checkpoint, const struct command_guard *guard);
enum admission admission_decision(struct checkpoint *checkpoint, const struct decision *decision);
enum admission admission_statement(struct checkpoint *checkpoint,
                                   const struct statement *statement);
enum admission admission_expiry(struct checkpoint *checkpoint, const struct expiry *expiry);
enum admission admission_continuation(struct checkpoint *checkpoint,
                                      const struct continuation *continuation);
enum admission admission_reset(struct checkpoint *checkpoint, const struct partition_reset *reset,
                               int64_t offset);

/* What the owner of `claim_id` states next. `written_at` is left 0, `trimmed` -1. */
void admission_state(const struct checkpoint *checkpoint, struct continuation *ret_continuation);
/* For a reader that begins at an admitted Decision and so cannot compare: takes the Continuation's
 * sequence number, if it is the next. */
enum admission admission_sequence(struct checkpoint *checkpoint,
                                  const struct continuation *continuation);

/* The range that the reset at `offset` skips; false: it is void, or skips nothing. */
bool admission_skip_of(const struct partition_reset *reset, int64_t offset,
                       struct skip_range *ret_range);
/* From here on the checkpoint knows the range. A later reset wins: those within the range are void
 * now. Where there are too many, it forgets the oldest reset if the log may begin after it. False:
 * it may not. (`reeve partition reset` appends none while the log itself holds the largest number.
 * So of the ranges that a reader knows then, the log has lost the oldest.) */
bool admission_learn_skip(struct checkpoint *checkpoint, const struct skip_range *range);
void admission_copy_skips(struct checkpoint *checkpoint, const struct checkpoint *from);
/* After ADMISSION_REFOLD: the ranges with which to fold again. `record` NULL: it is unreadable. */
void admission_correct_skips(struct checkpoint *checkpoint, const struct record *record,
                             int64_t offset);
/* Nothing at this offset counts, whatever it is. */
bool admission_skips(const struct checkpoint *checkpoint, int64_t offset);
/* The first offset from `offset` on at which something may count. */
int64_t admission_past_skips(const struct checkpoint *checkpoint, int64_t offset);
/* A range is known whose Reset must be the record at this offset. */
bool admission_expects_reset(const struct checkpoint *checkpoint, int64_t offset);
/* The log is folded again without a range whose Reset is still to come: what is folded so far is
 * not what a reader has that does not know of it yet. */
bool admission_awaits_reset(const struct checkpoint *checkpoint);

const char *admission_name(enum admission admission); /* for tests */

#endif
