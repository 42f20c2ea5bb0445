/* SPDX-License-Identifier: Apache-2.0 */
/* See attempt_pool.h. */
#include "services/agent/core/attempt_pool.h"

#include <assert.h>
#include <stdlib.h>

enum {
    ATTEMPT_MEMORY_BYTES = 4096, /* a small order's request; bigger ones get a bigger block */
    POOLED_MAX = 4096
};

void agent_attempt_free(struct agent_attempt *attempt)
{
    heap_arena_deinit(&attempt->memory);
    free(attempt);
}

void attempt_pool_deinit(struct attempt_pool *pool)
{
    for (struct agent_attempt *attempt = pool->first; attempt != NULL;) {
        struct agent_attempt *next = attempt->next;
        agent_attempt_free(attempt);
        attempt = next;
    }
    *pool = (struct attempt_pool){.first = NULL};
}

struct agent_attempt *attempt_pool_take(struct attempt_pool *pool, struct attempts *owner)
{
    struct agent_attempt *attempt = pool->first;
    if (attempt != NULL) {
        assert(attempt->owner == owner);
        assert(pool->count > 0);
        pool->first = attempt->next;
        pool->count--;
        attempt->next = NULL;
        return attempt;
    }
    attempt = calloc(1, sizeof(*attempt));
    assert(attempt != NULL);
    attempt->owner = owner;
    heap_arena_init(&attempt->memory, ATTEMPT_MEMORY_BYTES);
    return attempt;
}

void attempt_pool_put(struct attempt_pool *pool, struct agent_attempt *attempt)
{
    assert(attempt->state == ATTEMPT_BLANK);
    if (pool->count >= POOLED_MAX) {
        agent_attempt_free(attempt);
        return;
    }
    heap_arena_reset(&attempt->memory);
    attempt->next = pool->first;
    pool->first = attempt;
    pool->count++;
}

void attempt_pool_recycle(struct attempt_pool *pool, struct agent_attempt *attempt)
{
    attempt->call = (struct agent_call){.request = NULL};
    attempt->state = ATTEMPT_BLANK;
    attempt->request = (struct step_request){.generation = 0};
    attempt->step = NULL;
    attempt->receipt = (struct request_receipt){.next = NULL};
    attempt->wait_over = false;
    attempt->answer = (struct attempt_answer){.effect = EFFECT_NONE};
    attempt->noted = false;
    attempt->prev = attempt->next = NULL;
    assert(attempt->memory.block_size == ATTEMPT_MEMORY_BYTES);
    attempt_pool_put(pool, attempt);
}
