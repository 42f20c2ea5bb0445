/* SPDX-License-Identifier: Apache-2.0 */
/* A hash table of steps, and a list of the idle ones, the oldest first. See active_steps.h. */
#include "services/agent/core/active_steps.h"

#include <assert.h>
#include <stdlib.h>
#include <xxhash.h>

enum { BUCKETS_MIN = 64 };

void active_steps_init(struct active_steps *steps, uint32_t idle_max, uint64_t seed)
{
    assert(idle_max < UINT32_MAX);
    *steps = (struct active_steps){.bucket_count = BUCKETS_MIN, .idle_max = idle_max, .seed = seed};
    steps->buckets = calloc(BUCKETS_MIN, sizeof(struct active_step *));
    assert(steps->buckets != NULL);
}

void active_steps_deinit(struct active_steps *steps)
{
    for (size_t i = 0; i < steps->bucket_count; i++) {
        for (struct active_step *step = steps->buckets[i]; step != NULL;) {
            struct active_step *next = step->next;
            free(step);
            step = next;
        }
    }
    free(steps->buckets);
    *steps = (struct active_steps){.buckets = NULL};
}

static uint64_t hash_of(const struct active_steps *steps, struct text order_id, struct text name)
{
    uint64_t order_hash = XXH3_64bits_withSeed(order_id.data, order_id.size, steps->seed);
    return XXH3_64bits_withSeed(name.data, name.size, order_hash);
}

static struct active_step *find(const struct active_steps *steps, uint64_t hash,
                                struct text order_id, struct text name)
{
    struct active_step *step = steps->buckets[hash & (steps->bucket_count - 1)];
    while (step != NULL && !(step->hash == hash && text_equal(step->order_id, order_id) &&
                             text_equal(step->name, name)))
        step = step->next;
    return step;
}

struct active_step *active_steps_find(const struct active_steps *steps, struct text order_id,
                                      struct text name)
{
    return find(steps, hash_of(steps, order_id, name), order_id, name);
}

static void put_into_bucket(struct active_steps *steps, struct active_step *step)
{
    struct active_step **bucket = &steps->buckets[step->hash & (steps->bucket_count - 1)];
    step->next = *bucket;
    *bucket = step;
}

static void grow(struct active_steps *steps)
{
    struct active_step **old = steps->buckets;
    size_t old_count = steps->bucket_count;
    steps->bucket_count = 2 * old_count;
    steps->buckets = calloc(steps->bucket_count, sizeof(struct active_step *));
    assert(steps->buckets != NULL);
    for (size_t i = 0; i < old_count; i++) {
        for (struct active_step *step = old[i]; step != NULL;) {
            struct active_step *next = step->next;
            put_into_bucket(steps, step);
            step = next;
        }
    }
    free(old);
}

static struct text copy_text(char **at, struct text text)
{
    struct text copy = {*at, text.size};
    if (text.size > 0)
        memcpy(*at, text.data, text.size);
    *at += text.size;
    return copy;
}

static void idle_append(struct active_steps *steps, struct active_step *step)
{
    step->idle_prev = steps->idle_newest;
    step->idle_next = NULL;
    *(step->idle_prev != NULL ? &step->idle_prev->idle_next : &steps->idle_oldest) = step;
    steps->idle_newest = step;
    steps->idle_count++;
}

static void idle_remove(struct active_steps *steps, struct active_step *step)
{
    *(step->idle_prev != NULL ? &step->idle_prev->idle_next : &steps->idle_oldest) =
        step->idle_next;
    *(step->idle_next != NULL ? &step->idle_next->idle_prev : &steps->idle_newest) =
        step->idle_prev;
    assert(steps->idle_count > 0);
    steps->idle_count--;
}

static void forget(struct active_steps *steps, struct active_step *step)
{
    assert(step->attempt_count == 0 && step->newest == NULL);
    idle_remove(steps, step);
    struct active_step **link = &steps->buckets[step->hash & (steps->bucket_count - 1)];
    while (*link != step)
        link = &(*link)->next;
    *link = step->next;
    assert(steps->count > 0 && steps->count > steps->idle_count);
    steps->count--;
    free(step);
}

struct active_step *active_steps_get(struct active_steps *steps, struct text order_id,
                                     struct text name)
{
    uint64_t hash = hash_of(steps, order_id, name);
    struct active_step *step = find(steps, hash, order_id, name);
    if (step != NULL)
        return step;
    if (steps->count >= steps->bucket_count)
        grow(steps);
    step = calloc(1, sizeof(*step) + order_id.size + name.size);
    assert(step != NULL);
    char *at = step->texts;
    step->hash = hash;
    step->order_id = copy_text(&at, order_id);
    step->name = copy_text(&at, name);
    put_into_bucket(steps, step);
    steps->count++;
    idle_append(steps, step);
    return step;
}

void active_steps_hold(struct active_steps *steps, struct active_step *step)
{
    assert(step->attempt_count < UINT32_MAX);
    if (step->attempt_count++ == 0)
        idle_remove(steps, step);
}

void active_steps_release(struct active_steps *steps, struct active_step *step)
{
    assert(step->attempt_count > 0);
    if (--step->attempt_count > 0)
        return;
    assert(step->running == NULL && step->pending == NULL && step->newest == NULL);
    idle_append(steps, step);
    while (steps->idle_count > steps->idle_max)
        forget(steps, steps->idle_oldest);
}

enum request_relation active_step_compare(const struct active_step *step,
                                          const struct step_request *request)
{
    const struct attempt_ref *ref = &request->ref;
    bool same = ref->direction == step->direction && ref->attempt == step->attempt_number;
    bool newer = ref->direction != step->direction ? ref->direction > step->direction
                                                   : ref->attempt > step->attempt_number;
    if (step->attempt_number == 0 || newer)
        return REQUEST_NEWER;
    if (!same)
        return request->decision_offset < step->decision.offset ? REQUEST_OLDER : REQUEST_NEWER;
    switch (attempt_decision_compare(&step->decision, request)) {
    case DECISION_SAME:
        return REQUEST_SAME;
    case DECISION_LATER: /* else the first request of an order that has the id of an expired one */
        return request->extension ? REQUEST_EXTENDS : REQUEST_NEWER;
    case DECISION_OF_ANOTHER_LOG:
        break;
    }
    return REQUEST_NEWER;
}

void active_step_note_newest(struct active_step *step, struct agent_attempt *attempt)
{
    const struct step_request *request = &attempt->request;
    assert(attempt->step == step && step->attempt_count > 0);
    step->direction = request->ref.direction;
    step->attempt_number = request->ref.attempt;
    step->decision = attempt_decision_of(request);
    step->newest = attempt;
    step->settled = false;
}
