/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that were read and not begun, because all places for calls are taken. What is next is
 * said by the shares of the priorities (replica/shares.h), within a priority by age. Requests are
 * kept as the bytes that they came in, so that many of them need little memory. Pure; only
 * intake.c and partitions.c call this.
 *
 * All requests of one order have its priority, so those of one lane stay in their order. */
#ifndef SERVICES_AGENT_CORE_REQUEST_QUEUE_H
#define SERVICES_AGENT_CORE_REQUEST_QUEUE_H

#include "replica/shares.h"
#include "services/agent/core/attempts.h"

struct queued {
    struct queued *next;
    struct request_origin origin;
    uint32_t size;
    char bytes[];
};

struct queued_list {
    struct queued *first;
    struct queued **end;
};

struct agent_queue {
    struct shares shares;
    struct queued_list lists[PRIORITY_COUNT];
    uint32_t count;
    size_t bytes; /* of all that is kept */
};

/* Stays put from here on. */
void queue_init(struct agent_queue *queue, const struct config *config);
/* Copies `value`. */
void queue_push(struct agent_queue *queue, enum priority priority,
                const struct request_origin *origin, struct text value);
/* The next one, to be freed with free(); NULL = none. */
struct queued *queue_pop(struct agent_queue *queue);
/* Forgets those that `keep` does not want. */
void queue_purge(struct agent_queue *queue,
                 bool (*keep)(void *ctx, const struct request_origin *origin), void *ctx);
void queue_clear(struct agent_queue *queue);

#endif
