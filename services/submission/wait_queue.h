/* SPDX-License-Identifier: Apache-2.0 */
/* Records that have to wait, copied, in the order in which they were read. Later records of the
 * same key wait behind them: each order's inputs stay in their order. */
#ifndef SERVICES_SUBMISSION_WAIT_QUEUE_H
#define SERVICES_SUBMISSION_WAIT_QUEUE_H

#include "kafka/broker.h"

/* For what. */
enum wait { WAIT_NONE, WAIT_SCHEMAS, WAIT_WORKFLOWS, WAIT_REPLY, WAIT_QUEUE, WAIT_KEY };

struct parked {
    struct parked *prev;
    struct parked *next;
    uint64_t sequence; /* its place in the window */
    uint64_t key_hash;
    enum wait wait;
    unsigned fresh;              /* what was read to its end meanwhile (validate.h) */
    uint64_t ticket;             /* of the reading that it waits for */
    struct broker_record record; /* but for its topic, which is NULL */
    char bytes[];
};

/* Zero-initialized is empty. */
struct parked_list {
    struct parked *first;
    uint32_t count;
    uint64_t bytes; /* of the values */
};

/* Copies the record to the end of the list; borrowed until it is removed. */
struct parked *parked_add(struct parked_list *list, uint64_t sequence,
                          const struct broker_record *record);
void parked_remove(struct parked_list *list, struct parked *parked);
void parked_clear(struct parked_list *list);
/* Whether a record of this key stands in the list before `until` (NULL: at all). Records without a
 * key have no order to keep. */
bool parked_has_key(const struct parked_list *list, struct text key, const struct parked *until);

#endif
