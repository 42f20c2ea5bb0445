/* SPDX-License-Identifier: Apache-2.0 */
/* Which requests behind the committed position are settled: the note of a commit. So the next owner
 * of a partition repeats only what was not settled, although an unfinished request holds back the
 * position itself. Pure.
 *
 *     settled 3+10,2+5     from the position skip 3 offsets, 10 are settled, skip 2, 5 are settled
 *
 * A note holds as much as fits; the requests that it leaves out are repeated, which is allowed. Any
 * client of the cluster may write a note: one that is not like this counts as none. */
#ifndef SERVICES_AGENT_CORE_SETTLED_NOTE_H
#define SERVICES_AGENT_CORE_SETTLED_NOTE_H

#include "services/agent/core/offsets.h"

enum { SETTLED_NOTE_SIZE = 2001, SETTLED_RANGES_MAX = 400 };

struct settled_range {
    int64_t first;
    int64_t last;
};

struct settled_ranges {
    struct settled_range ranges[SETTLED_RANGES_MAX]; /* rising */
    uint32_t count;
    uint32_t next; /* those before lie behind the reader */
};

/* "": none is settled. `known`: of earlier owners; those that were not read yet stay noted. */
void settled_note_write(const struct agent_offsets *offsets, const struct settled_ranges *known,
                        char ret_note[SETTLED_NOTE_SIZE]);
/* *ret_ranges is empty for a note of another kind. */
void settled_note_read(const char *note, int64_t position, struct settled_ranges *ret_ranges);
/* Whether this request is settled. Offsets must rise from call to call. */
bool settled_ranges_pass(struct settled_ranges *ranges, int64_t offset);

#endif
