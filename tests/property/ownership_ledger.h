/* SPDX-License-Identifier: Apache-2.0 */
/* A remote service that keeps a ledger, for an agent that reports the truth about it: it applies a
 * key once and undoes what it applied, and is never asked to do what it has undone. When a case
 * ends, orders that are Processed have everything applied, and Compensated ones have nothing left
 * (I11, I16). */
#ifndef TESTS_PROPERTY_OWNERSHIP_LEDGER_H
#define TESTS_PROPERTY_OWNERSHIP_LEDGER_H

#include "tests/property/ownership_fold.h"

/* What a call came to, and what its caller can know of it. */
struct ledger_answer {
    bool succeeded;
    enum effect effect; /* of a failure */
};

struct ledger *ledger_new(void);
void ledger_free(struct ledger *ledger);
/* `do_key` is that of the step's own request, or of the one that is to be undone. */
struct ledger_answer ledger_call(struct world *world, enum direction direction, const char *do_key,
                                 uint32_t success_percent);
/* At rest: the order agrees with the ledger. NULL, or what went wrong. */
const char *ledger_check(const struct world *world, const struct order *order);

#endif
