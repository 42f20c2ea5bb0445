/* SPDX-License-Identifier: Apache-2.0 */
/* The deadlines that a supervisor keeps in memory: those that will be due soon (armed), and those
 * for which it has sent a command that has no outcome in the log yet, with the time when each may
 * be repeated. Deadlines are due by the scheduler's time; all other times are monotonic.
 *
 * A command that is in <p>.commands will be decided: it is repeated after a while if the scheduler
 * has read it and the deadline is still there, or if it is unknown whether it got there; and ever
 * more rarely if it is not read at all, as brokers may have lost it.
 * Bounded: a full table takes no other deadline until one of its own has an outcome. One that was
 * repeated often without any gives way when others wait. */
#ifndef SERVICES_SUPERVISOR_OUTSTANDING_H
#define SERVICES_SUPERVISOR_OUTSTANDING_H

#include "engine/engine.h"

struct outstanding;

enum {
    OUTSTANDING_MAX = 10000, /* armed ones included */
    REPEAT_MS = 2000,        /* 2 s, 4 s ... 60 s */
    REPEAT_MS_MAX = 60000,
    REPEAT_TRIES = 7,         /* then it gives way to others */
    REPEAT_EARLY_MS = 50,     /* what was early is repeated after this at the earliest, doubling */
    REPEAT_UNREAD_MS = 10000, /* it is not read: 10 s, 20 s ... 600 s */
    REPEAT_UNREAD_MS_MAX = 600000
};

/* The texts are borrowed until the table changes. */
struct outstanding_command {
    struct text order_id;
    struct deadline deadline;
    uint64_t token;
};

struct outstanding *outstanding_new(void);
void outstanding_free(struct outstanding *outstanding);
void outstanding_clear(struct outstanding *outstanding);

bool outstanding_is_full(const struct outstanding *outstanding);
bool outstanding_has(const struct outstanding *outstanding, struct text order_id,
                     const struct deadline *deadline);
/* The deadline will be requested when it is due. Asserts that there is a place, and that it has
 * none yet. */
void outstanding_arm(struct outstanding *outstanding, struct text order_id,
                     const struct deadline *deadline);
uint32_t outstanding_armed(const struct outstanding *outstanding);
/* When the first armed one is due, and when the first of the others may be repeated; INT64_MAX:
 * there is none. */
int64_t outstanding_next_due(const struct outstanding *outstanding);
int64_t outstanding_next_repeat(const struct outstanding *outstanding);
/* The next armed one, if it is due at `scheduler_now`: it is being requested for the first time
 * from now on. The token goes to outstanding_sent(). */
bool outstanding_take_due(struct outstanding *outstanding, int64_t scheduler_now, int64_t now,
                          struct outstanding_command *ret_command);
/* The order does not have the deadline any more. */
void outstanding_forget(struct outstanding *outstanding, uint64_t token);
/* The command is at `offset` of the commands; -1: it is unknown whether it got there. */
void outstanding_sent(struct outstanding *outstanding, uint64_t token, int64_t offset, int64_t now);
/* How many commands are on their way: sent, and not yet read by the scheduler, which has read all
 * commands before `next_command`. One that was not delivered is not, nor is one that has not been
 * read for so long that it is due to be repeated; none is when `next_command` is less than at the
 * last call: then <p>.commands was made again. */
uint32_t outstanding_on_their_way(struct outstanding *outstanding, int64_t now,
                                  int64_t next_command);
/* The next one to repeat, which is being requested again from now on; false: none is due. The
 * scheduler has read all commands before `next_command`. */
bool outstanding_repeat(struct outstanding *outstanding, int64_t now, int64_t next_command,
                        struct outstanding_command *ret_command);
/* These are the deadlines that the order still has: the others have their outcome. */
void outstanding_settle(struct outstanding *outstanding, struct text order_id,
                        const struct deadline *deadlines, uint32_t count);
/* The command at `offset`, for this deadline, was decided: whether it was sent from this table.
 * *ret_sent_at: when, or before that. */
bool outstanding_was_asked(const struct outstanding *outstanding, struct text order_id,
                           const struct deadline *deadline, int64_t offset, int64_t *ret_sent_at);
/* The scheduler rejected the command: it is not due for `early_ms`. False: the deadline is not in
 * the table (any more), as it is left to the caller when it is due so much later. */
bool outstanding_postpone(struct outstanding *outstanding, struct text order_id,
                          const struct deadline *deadline, int64_t early_ms, int64_t now);
/* When the first of those that gave way since the last call was due; INT64_MAX: none did. */
int64_t outstanding_take_given_up(struct outstanding *outstanding);

#endif
