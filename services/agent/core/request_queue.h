/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that were read and have not begun, because the agent has no free capacity. The shares of
 * the priorities (replica/service/shares.h) choose the next one, within a priority its age.
 * Requests are kept as the bytes of their records, so that many of them need little memory. Pure;
 * only intake.c and partitions.c call this.
 *
 * All requests of one order have its priority, so those of one step stay in their order. While a
 * circuit is half-open, known offenders stand in a list of their own. */
#ifndef SERVICES_AGENT_CORE_REQUEST_QUEUE_H
#define SERVICES_AGENT_CORE_REQUEST_QUEUE_H

#include "replica/service/shares.h"
#include "services/agent/core/attempts.h"

struct queued_request {
    struct queued_request *next;
    struct request_receipt receipt;
    uint32_t size;
    char bytes[];
};

struct queued_requests {
    struct queued_request *first;
    struct queued_request **end;
};

enum { REQUEST_QUEUE_LAST = PRIORITY_COUNT, REQUEST_QUEUE_LISTS };

struct request_queue {
    struct shares shares;
    struct queued_requests lists[REQUEST_QUEUE_LISTS]; /* by priority, and LAST */
    uint32_t count;
    size_t bytes; /* of all requests */
};

/* Stays put from here on. */
void request_queue_init(struct request_queue *queue, const struct config *config);
/* Copies `value`. `list`: a priority, or LAST. */
void request_queue_push(struct request_queue *queue, int list,
                        const struct request_receipt *receipt, struct text value);
/* The next one that is not in LAST, to be freed with free(); NULL = none. */
struct queued_request *request_queue_pop(struct request_queue *queue);
/* The oldest in LAST. */
struct queued_request *request_queue_pop_last(struct request_queue *queue);
/* Drops the requests for which `keep` is false. */
void request_queue_purge(struct request_queue *queue,
                         bool (*keep)(void *ctx, const struct request_receipt *receipt), void *ctx);
void request_queue_clear(struct request_queue *queue);

#endif
