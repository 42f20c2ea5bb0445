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
 * operation, or undid it. Memory grows with the number of keys: this is for tests. */
#ifndef SERVICES_AGENT_KINDS_SIM_LEDGER_H
#define SERVICES_AGENT_KINDS_SIM_LEDGER_H

#include "services/agent/kinds/sim_plan.h"

struct sim_ledger;

struct sim_entry {
    const struct step_request *request;
    struct sim_plan plan;
    int64_t sent;
    bool undone_before; /* filled in: a do of a key that was undone; it is refused */
    bool done_before;   /* filled in: a do of a key that was applied; it is not refused */
};

/* New; reads the file, or creates it. */
enum error_class sim_ledger_open(const char *path, struct sim_ledger **ret_ledger,
                                 struct error *ret_error);
void sim_ledger_close(struct sim_ledger *ledger);
/* Decides the entries in their order, appends them and syncs. RETRY when that failed: then it is
 * unknown which of them are in the file. Blocks for the time of the sync. */
enum error_class sim_ledger_write(struct sim_ledger *ledger, struct sim_entry *const entries[],
                                  size_t count, int64_t now, struct error *ret_error);

#endif
