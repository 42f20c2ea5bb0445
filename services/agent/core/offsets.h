/* SPDX-License-Identifier: Apache-2.0 */
/* What may be committed of one partition of requests: everything before the first request that is
 * not settled. Requests are settled in any order. Pure; memory grows with the distance between the
 * oldest unsettled request and the newest one, which OFFSETS_SPAN_MAX bounds. */
#ifndef SERVICES_AGENT_CORE_OFFSETS_H
#define SERVICES_AGENT_CORE_OFFSETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { OFFSETS_SPAN_MAX = 1 << 17 };

struct offsets_slot {
    int64_t offset;
    bool settled;
};

struct offsets {
    struct offsets_slot *slots; /* a ring; the place p is at p mod capacity */
    size_t capacity;            /* a power of two, or 0 */
    uint64_t first;             /* the first place not settled */
    uint64_t end;               /* the place of the next request */
    int64_t position;           /* where a new reader would begin; -1 = nothing was seen */
};

/* Zero bytes are no valid tracker: position is -1 at first. */
void offsets_init(struct offsets *offsets);
void offsets_deinit(struct offsets *offsets);
/* No room: stop reading until something is settled. */
bool offsets_full(const struct offsets *offsets);
/* A request at this offset, higher than all before. Returns its place. Asserts that there is
 * room. */
uint64_t offsets_add(struct offsets *offsets, int64_t offset);
/* Once for each place. */
void offsets_settle(struct offsets *offsets, uint64_t place);

#endif
