/* SPDX-License-Identifier: Apache-2.0 */
/* Five candidates for one role, over a log in memory, under random delays, lost and reordered
 * acknowledgements, pauses, crashes, cuts, hung tasks, drifting clocks and a broker whose clock
 * jumps. What must hold is checked after every step. */
#ifndef TESTS_PROPERTY_ELECTION_WORLD_H
#define TESTS_PROPERTY_ELECTION_WORLD_H

#include <stdint.h>

/* How often what is rare was met. */
struct election_sometimes {
    uint64_t terms;
    uint64_t crashes;
    uint64_t pauses;
    uint64_t cuts;
    uint64_t lapsed;
    uint64_t superseded;
    uint64_t hung;
    uint64_t outranked;
    uint64_t ended;
    uint64_t stale_claims;
    uint64_t early_claims;
    uint64_t stale_renewals;
    uint64_t acts;
    uint64_t acts_refused; /* by the guarded resource: of an older token */
    uint64_t clashes;
    uint64_t truncated; /* readers that began after the claim was gone */
};

/* NULL, or what went wrong (static storage of this thread's last case). */
const char *election_world_run(uint64_t seed, struct election_sometimes *sometimes);

#endif
