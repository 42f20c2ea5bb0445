/* SPDX-License-Identifier: Apache-2.0 */
/* See attempt_pool.h. */
#include "services/agent/core/attempt_pool.h"

#include <assert.h>
#include <stdlib.h>

enum {
    ATTEMPT_MEMORY_BYTES = 4096, /* a small order's request; bigger ones get a bigger block */
    SHELVED_MAX = 4096
};

void attempt_free(struct agent_attempt *attempt)
{
    heap_arena_deinit(&attempt->memory);
    free(attempt);
}

void shelf_deinit(struct shelf *shelf)
{
    for (struct agent_attempt *attempt = shelf->first; attempt != NULL;) {
        struct agent_attempt *next = attempt->next;
        attempt_free(attempt);
        attempt = next;
    }
    *shelf = (struct shelf){.first = NULL};
}

struct agent_attempt *shelf_take(struct shelf *shelf, struct attempts *owner)
{
    struct agent_attempt *attempt = shelf->first;
    if (attempt != NULL) {
        assert(attempt->owner == owner);
        shelf->first = attempt->next;
        shelf->count--;
        attempt->next = NULL;
        return attempt;
    }
    attempt = calloc(1, sizeof(*attempt));
    assert(attempt != NULL);
    attempt->owner = owner;
    heap_arena_init(&attempt->memory, ATTEMPT_MEMORY_BYTES);
    return attempt;
}

void shelf_put(struct shelf *shelf, struct agent_attempt *attempt)
{
    assert(attempt->state == ATTEMPT_BLANK);
    if (shelf->count >= SHELVED_MAX) {
        attempt_free(attempt);
        return;
    }
    heap_arena_reset(&attempt->memory);
    attempt->next = shelf->first;
    shelf->first = attempt;
    shelf->count++;
}

void shelf_put_used(struct shelf *shelf, struct agent_attempt *attempt)
{
    attempt->call = (struct agent_call){.request = NULL};
    attempt->state = ATTEMPT_BLANK;
    attempt->request = (struct step_request){.generation = 0};
    attempt->lane = NULL;
    attempt->origin = (struct request_origin){.next = NULL};
    attempt->wait_over = false;
    attempt->effect = EFFECT_NONE;
    attempt->accepted = attempt->noted = attempt->succeeded = false;
    attempt->output = attempt->error_name = attempt->error_message = TEXT("");
    attempt->prev = attempt->next = NULL;
    assert(attempt->memory.block_size == ATTEMPT_MEMORY_BYTES);
    shelf_put(shelf, attempt);
}
