/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of this agent that were found in the log, by request id, until a request takes them.
 * Bounded: the oldest kept go first. Only history.c calls this. */
#ifndef SERVICES_AGENT_ANSWERS_FOUND_H
#define SERVICES_AGENT_ANSWERS_FOUND_H

#include "services/agent/core/attempts.h"

struct found_answer;

struct found {
    struct found_answer *answers; /* a hash table, the oldest kept first */
    size_t bytes;
    size_t bytes_max;
    uint64_t forgotten; /* of too little room */
};

void found_init(struct found *found, size_t bytes_max);
void found_deinit(struct found *found);
/* The report at `offset` of commands[partition], copied; how many bytes that takes. Of several for
 * one request the first in the log counts, as it does for the scheduler. */
size_t found_keep(struct found *found, int32_t partition, int64_t offset,
                  const struct report_step *report);
/* Fills the attempt's outcome, in its own memory, and forgets it here. False: there is none. */
bool found_take(struct found *found, struct agent_attempt *attempt);
/* All of one partition. */
void found_forget(struct found *found, int32_t partition);

#endif
