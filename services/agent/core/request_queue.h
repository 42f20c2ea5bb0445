/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that were read and have not begun, because the agent has no free capacity. The shares of
 * the priorities (replica/shares.h) choose the next one, within a priority its age. Requests are
 * kept as the bytes of their records, so that many of them need little memory. Pure; only intake.c
 * and partitions.c call this.
 *
 * All requests of one order have its priority, so those of one step stay in their order. */
#ifndef SERVICES_AGENT_CORE_REQUEST_QUEUE_H
#define SERVICES_AGENT_CORE_REQUEST_QUEUE_H

#include "replica/shares.h"
#include "services/agent/core/attempts.h"

struct queued_request {
    struct queued_request *next;
    struct request_origin origin;
    uint32_t size;
    char bytes[];
};

struct queued_requests {
    struct queued_request *first;
    struct queued_request **end;
};

struct request_queue {
    struct shares shares;
    struct queued_requests lists[PRIORITY_COUNT];
    uint32_t count;
    size_t bytes; /* of all requests */
};

/* Stays put from here on. */
void request_queue_init(struct request_queue *queue, const struct config *config);
/* Copies `value`. */
void request_queue_push(struct request_queue *queue, enum priority priority,
                        const struct request_origin *origin, struct text value);
/* The next one, to be freed with free(); NULL = none. */
struct queued_request *request_queue_pop(struct request_queue *queue);
/* Drops the requests for which `keep` is false. */
void request_queue_purge(struct request_queue *queue,
                         bool (*keep)(void *ctx, const struct request_origin *origin), void *ctx);
void request_queue_clear(struct request_queue *queue);

#endif
