/* SPDX-License-Identifier: Apache-2.0 */
/* See request_queue.h. */
#include "services/agent/core/request_queue.h"

#include <assert.h>
#include <stdlib.h>

void request_queue_init(struct request_queue *queue, const struct config *config)
{
    *queue = (struct request_queue){.count = 0};
    shares_init_configured(&queue->shares, config);
    for (int priority = 0; priority < PRIORITY_COUNT; priority++)
        queue->lists[priority].end = &queue->lists[priority].first;
}

void request_queue_push(struct request_queue *queue, enum priority priority,
                        const struct request_origin *origin, struct text value)
{
    struct queued_request *queued = malloc(sizeof(*queued) + value.size);
    assert(queued != NULL);
    assert((unsigned)priority < PRIORITY_COUNT && value.size > 0);
    queued->next = NULL;
    queued->origin = *origin;
    queued->size = value.size;
    memcpy(queued->bytes, value.data, value.size);
    *queue->lists[priority].end = queued;
    queue->lists[priority].end = &queued->next;
    queue->count++;
    queue->bytes += sizeof(*queued) + value.size;
}

static void forget(struct request_queue *queue, const struct queued_request *queued)
{
    size_t bytes = sizeof(*queued) + queued->size;
    assert(queue->count > 0 && queue->bytes >= bytes);
    queue->count--;
    queue->bytes -= bytes;
}

struct queued_request *request_queue_pop(struct request_queue *queue)
{
    bool waiting[PRIORITY_COUNT];
    for (int priority = 0; priority < PRIORITY_COUNT; priority++)
        waiting[priority] = queue->lists[priority].first != NULL;
    int next = shares_pick(&queue->shares, waiting);
    if (next < 0)
        return NULL;
    struct queued_requests *list = &queue->lists[next];
    struct queued_request *queued = list->first;
    assert(queued != NULL);
    list->first = queued->next;
    if (list->first == NULL)
        list->end = &list->first;
    forget(queue, queued);
    queued->next = NULL;
    return queued;
}

void request_queue_purge(struct request_queue *queue,
                         bool (*keep)(void *ctx, const struct request_origin *origin), void *ctx)
{
    for (int priority = 0; priority < PRIORITY_COUNT; priority++) {
        struct queued_request **link = &queue->lists[priority].first;
        while (*link != NULL) {
            struct queued_request *queued = *link;
            if (keep(ctx, &queued->origin)) {
                link = &queued->next;
                continue;
            }
            *link = queued->next;
            forget(queue, queued);
            free(queued);
        }
        queue->lists[priority].end = link;
    }
}

static bool keep_none(void *ctx, const struct request_origin *origin)
{
    (void)ctx;
    (void)origin;
    return false;
}

void request_queue_clear(struct request_queue *queue)
{
    request_queue_purge(queue, keep_none, NULL);
    assert(queue->count == 0 && queue->bytes == 0);
}
