/* SPDX-License-Identifier: Apache-2.0 */
/* See request_queue.h. */
#include "services/agent/core/request_queue.h"

#include <assert.h>
#include <stdlib.h>

void request_queue_init(struct request_queue *queue, const struct config *config)
{
    *queue = (struct request_queue){.count = 0};
    shares_init_configured(&queue->shares, config);
    for (int list = 0; list < REQUEST_QUEUE_LISTS; list++)
        queue->lists[list].end = &queue->lists[list].first;
}

void request_queue_push(struct request_queue *queue, int list,
                        const struct request_receipt *receipt, struct text value)
{
    struct queued_request *queued = malloc(sizeof(*queued) + value.size);
    assert(queued != NULL);
    assert(list >= 0 && list < REQUEST_QUEUE_LISTS && value.size > 0);
    queued->next = NULL;
    queued->receipt = *receipt;
    queued->size = value.size;
    memcpy(queued->bytes, value.data, value.size);
    *queue->lists[list].end = queued;
    queue->lists[list].end = &queued->next;
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

static struct queued_request *take_first(struct request_queue *queue, int number)
{
    struct queued_requests *list = &queue->lists[number];
    struct queued_request *queued = list->first;
    if (queued == NULL)
        return NULL;
    list->first = queued->next;
    if (list->first == NULL)
        list->end = &list->first;
    forget(queue, queued);
    queued->next = NULL;
    return queued;
}

struct queued_request *request_queue_pop_last(struct request_queue *queue)
{
    return take_first(queue, REQUEST_QUEUE_LAST);
}

struct queued_request *request_queue_pop(struct request_queue *queue)
{
    bool waiting[PRIORITY_COUNT];
    for (int priority = 0; priority < PRIORITY_COUNT; priority++)
        waiting[priority] = queue->lists[priority].first != NULL;
    int next = shares_pick(&queue->shares, waiting);
    return next < 0 ? NULL : take_first(queue, next);
}

void request_queue_purge(struct request_queue *queue,
                         bool (*keep)(void *ctx, const struct request_receipt *receipt), void *ctx)
{
    for (int list = 0; list < REQUEST_QUEUE_LISTS; list++) {
        struct queued_request **link = &queue->lists[list].first;
        while (*link != NULL) {
            struct queued_request *queued = *link;
            if (keep(ctx, &queued->receipt)) {
                link = &queued->next;
                continue;
            }
            *link = queued->next;
            forget(queue, queued);
            free(queued);
        }
        queue->lists[list].end = link;
    }
}

static bool keep_none(void *ctx, const struct request_receipt *receipt)
{
    (void)ctx;
    (void)receipt;
    return false;
}

void request_queue_clear(struct request_queue *queue)
{
    request_queue_purge(queue, keep_none, NULL);
    assert(queue->count == 0 && queue->bytes == 0);
}
