/* SPDX-License-Identifier: Apache-2.0 */
/* What <p>.workflows says: versions of the workflow are deployed, activated and retired while
 * orders run. Operators move orders between them, and submissions may name one, or none and get the
 * active one.
 *
 * A scheduler reads these records in its own time. It knows some of them, from the first one on,
 * and that decides what it makes of such a command; so a model of it has to ask how many it may
 * know, and how many it has been seen to know. */
#ifndef TESTS_PROPERTY_OWNERSHIP_DEPLOYMENTS_H
#define TESTS_PROPERTY_OWNERSHIP_DEPLOYMENTS_H

#include "tests/property/ownership_world.h"

/* From now on there are other versions than the first. */
void deployments_begin(struct world *world);
/* A version comes, is activated or retired, or an order gets it. */
void deployments_act(struct world *world);
void deployments_free(struct world *world);

/* A scheduler process is new, and knows none. */
void deployments_booted(struct world *world, const struct instance *instance);
/* What schedulers know now. */
void deployments_observe(struct world *world);

/* What a version is to a scheduler. */
enum version_state {
    VERSION_UNKNOWN,
    VERSION_USABLE, /* neither unknown nor retired */
    VERSION_RETIRED,
    VERSION_ACTIVE /* for a submission that names none; it may be retired */
};

/* Who has decided, and when. */
struct deployments_reader {
    uint32_t instance;
    uint32_t known; /* records that its earlier Decisions show that it knows */
    bool older;     /* activations are of a version that it cannot read */
    int32_t partition;
    int64_t command_offset; /* what was deployed before the command has to be known */
    int64_t asked_at;       /* by the command */
    int64_t appended_at;    /* the Decision: nothing later can be known */
};

/* That is possible. `known` rises to the fewest records with which it is. */
bool deployments_explain(const struct world *world, struct deployments_reader *reader,
                         uint32_t version, enum version_state state);
/* Of the versions that it knows. */
bool deployments_is_newest(const struct world *world, const struct deployments_reader *reader,
                           uint32_t version);
/* At rest: a scheduler knows them all. NULL, or what it takes for something else. */
const char *deployments_check(struct world *world);

#endif
