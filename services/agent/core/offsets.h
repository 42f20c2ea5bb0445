/* SPDX-License-Identifier: Apache-2.0 */
/* What may be committed of one partition of requests: everything before the first unsettled
 * request. Requests are settled in any order. Pure; memory grows with the distance between the
 * oldest unsettled request and the newest one, which OFFSETS_SPAN_MAX bounds. */
#ifndef SERVICES_AGENT_CORE_OFFSETS_H
#define SERVICES_AGENT_CORE_OFFSETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { OFFSETS_SPAN_MAX = 1 << 17 };

struct agent_offsets_slot {
    int64_t offset;
    bool settled;
};

struct agent_offsets {
    struct agent_offsets_slot *slots; /* a ring; the place p is at p mod capacity */
    size_t capacity;                  /* a power of two, or 0 */
    uint64_t first;                   /* the first unsettled place */
    uint64_t end;                     /* the place of the next request */
    int64_t position;                 /* where a new reader would begin; -1 = no request yet */
    int64_t next;                     /* after the latest request; 0 = no request yet */
    uint64_t settled;                 /* requests, in all */
};

/* Zero bytes are not valid: position is -1 at first. */
void agent_offsets_init(struct agent_offsets *offsets);
void agent_offsets_deinit(struct agent_offsets *offsets);
/* Stop reading until a request is settled. */
bool agent_offsets_full(const struct agent_offsets *offsets);
/* False: the offset is not higher than all before, so the broker delivers a request again. */
bool agent_offsets_expects(const struct agent_offsets *offsets, int64_t offset);
/* A request at this offset, which is expected. Returns its place. Must not be full. */
uint64_t agent_offsets_add(struct agent_offsets *offsets, int64_t offset);
/* Of a place from `first` to before `end`. Borrowed until the next request. */
const struct agent_offsets_slot *agent_offsets_slot(const struct agent_offsets *offsets,
                                                    uint64_t place);
/* Once for each place. */
void agent_offsets_settle(struct agent_offsets *offsets, uint64_t place);

#endif
