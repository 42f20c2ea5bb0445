/* SPDX-License-Identifier: Apache-2.0 */
/* The ledger of the simulated service: a file of JSON lines, one for each call that reached it,
 * appended and synced before anything is answered. It is the service's memory: an operation is
 * applied once per key, undoing an operation that was never applied succeeds, and a key that was
 * undone stays undone. Several processes may share the file; each batch is appended under a lock,
 * after reading what the others wrote.
 *
 *     {"key":"7/Pay/do/0","request":"7/Pay/do/1","direction":"do","sent":1700000000000,
 *      "complete_by":1700000004000,"applied":true,"outcome":"done","time":1700000000005}
 *
 * `key` is the key of the do, also in the line of an undo. `applied`: this very call applied the
 * operation, or undid it. Memory grows with the number of keys. Whatever fails is an assertion. */
#ifndef TESTS_LIB_SIM_LEDGER_H
#define TESTS_LIB_SIM_LEDGER_H

#include "services/agent/kinds/sim_plan.h"

struct sim_ledger;

struct sim_entry {
    const struct step_request *request;
    enum sim_outcome outcome;
    bool applies; /* the simulated service applies the operation, whatever it answers */
    int64_t sent;
    bool undone_before; /* filled in: a do of a key that was undone; it is refused */
    bool done_before;   /* filled in: a do of a key that was applied; it is not refused */
};

/* New; reads the file, or creates it. */
struct sim_ledger *sim_ledger_open(const char *path);
/* NULL does nothing. */
void sim_ledger_close(struct sim_ledger *ledger);
/* Decides the entries in their order, appends them and syncs. Blocks for the time of the sync. */
void sim_ledger_write(struct sim_ledger *ledger, struct sim_entry *const entries[], size_t count,
                      int64_t now);

#endif
