/* SPDX-License-Identifier: Apache-2.0 */
/* A hash table of lanes, and a queue of those without an attempt, the oldest first. See
 * active_steps.h. */
#include "services/agent/core/active_steps.h"

#include <assert.h>
#include <stdlib.h>
#include <xxhash.h>

enum { BUCKETS_MIN = 64 };

void lanes_init(struct lanes *lanes, uint32_t idle_max, uint64_t seed)
{
    *lanes = (struct lanes){.bucket_count = BUCKETS_MIN, .idle_max = idle_max, .seed = seed};
    lanes->buckets = calloc(BUCKETS_MIN, sizeof(struct lane *));
    assert(lanes->buckets != NULL);
}

void lanes_deinit(struct lanes *lanes)
{
    for (size_t i = 0; i < lanes->bucket_count; i++) {
        for (struct lane *lane = lanes->buckets[i]; lane != NULL;) {
            struct lane *next = lane->next;
            free(lane);
            lane = next;
        }
    }
    free(lanes->buckets);
    *lanes = (struct lanes){.buckets = NULL};
}

static uint64_t hash_of(const struct lanes *lanes, struct text order_id, struct text step)
{
    uint64_t order_hash = XXH3_64bits_withSeed(order_id.data, order_id.size, lanes->seed);
    return XXH3_64bits_withSeed(step.data, step.size, order_hash);
}

static struct lane *find(const struct lanes *lanes, uint64_t hash, struct text order_id,
                         struct text step)
{
    struct lane *lane = lanes->buckets[hash & (lanes->bucket_count - 1)];
    while (lane != NULL && !(lane->hash == hash && text_equal(lane->order_id, order_id) &&
                             text_equal(lane->step, step)))
        lane = lane->next;
    return lane;
}

struct lane *lanes_find(const struct lanes *lanes, struct text order_id, struct text step)
{
    return find(lanes, hash_of(lanes, order_id, step), order_id, step);
}

static void put_into_bucket(struct lanes *lanes, struct lane *lane)
{
    struct lane **bucket = &lanes->buckets[lane->hash & (lanes->bucket_count - 1)];
    lane->next = *bucket;
    *bucket = lane;
}

static void grow(struct lanes *lanes)
{
    struct lane **old = lanes->buckets;
    size_t old_count = lanes->bucket_count;
    lanes->bucket_count = 2 * old_count;
    lanes->buckets = calloc(lanes->bucket_count, sizeof(struct lane *));
    assert(lanes->buckets != NULL);
    for (size_t i = 0; i < old_count; i++) {
        for (struct lane *lane = old[i]; lane != NULL;) {
            struct lane *next = lane->next;
            put_into_bucket(lanes, lane);
            lane = next;
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

static void idle_append(struct lanes *lanes, struct lane *lane)
{
    lane->idle_prev = lanes->idle_newest;
    lane->idle_next = NULL;
    *(lane->idle_prev != NULL ? &lane->idle_prev->idle_next : &lanes->idle_oldest) = lane;
    lanes->idle_newest = lane;
    lanes->idle_count++;
}

static void idle_remove(struct lanes *lanes, struct lane *lane)
{
    *(lane->idle_prev != NULL ? &lane->idle_prev->idle_next : &lanes->idle_oldest) =
        lane->idle_next;
    *(lane->idle_next != NULL ? &lane->idle_next->idle_prev : &lanes->idle_newest) =
        lane->idle_prev;
    assert(lanes->idle_count > 0);
    lanes->idle_count--;
}

static void forget(struct lanes *lanes, struct lane *lane)
{
    assert(lane->active == 0);
    idle_remove(lanes, lane);
    struct lane **link = &lanes->buckets[lane->hash & (lanes->bucket_count - 1)];
    while (*link != lane)
        link = &(*link)->next;
    *link = lane->next;
    lanes->count--;
    free(lane);
}

struct lane *lanes_get(struct lanes *lanes, struct text order_id, struct text step)
{
    uint64_t hash = hash_of(lanes, order_id, step);
    struct lane *lane = find(lanes, hash, order_id, step);
    if (lane != NULL)
        return lane;
    if (lanes->count >= lanes->bucket_count)
        grow(lanes);
    lane = calloc(1, sizeof(*lane) + order_id.size + step.size);
    assert(lane != NULL);
    char *at = lane->texts;
    lane->hash = hash;
    lane->order_id = copy_text(&at, order_id);
    lane->step = copy_text(&at, step);
    put_into_bucket(lanes, lane);
    lanes->count++;
    idle_append(lanes, lane);
    return lane;
}

void lanes_hold(struct lanes *lanes, struct lane *lane)
{
    if (lane->active++ == 0)
        idle_remove(lanes, lane);
}

void lanes_release(struct lanes *lanes, struct lane *lane)
{
    assert(lane->active > 0);
    if (--lane->active > 0)
        return;
    assert(lane->running == NULL && lane->pending == NULL && lane->newest == NULL);
    idle_append(lanes, lane);
    while (lanes->idle_count > lanes->idle_max)
        forget(lanes, lanes->idle_oldest);
}

enum lane_relation lane_compare(const struct lane *lane, const struct step_request *request)
{
    const struct attempt_ref *ref = &request->ref;
    bool same = ref->direction == lane->direction && ref->attempt == lane->attempt_number;
    bool newer = ref->direction != lane->direction ? ref->direction > lane->direction
                                                   : ref->attempt > lane->attempt_number;
    if (lane->attempt_number == 0 || newer)
        return LANE_NEWER;
    if (!same)
        return request->decision_offset < lane->decision.offset ? LANE_OLDER : LANE_NEWER;
    switch (attempt_decision_compare(&lane->decision, request)) {
    case DECISION_SAME:
        return LANE_SAME;
    case DECISION_LATER:
        return LANE_EXTENDED;
    case DECISION_OF_ANOTHER_LOG:
        break;
    }
    return LANE_NEWER;
}

void lane_note_newest(struct lane *lane, struct agent_attempt *attempt)
{
    const struct step_request *request = &attempt->request;
    lane->direction = request->ref.direction;
    lane->attempt_number = request->ref.attempt;
    lane->decision = attempt_decision_of(request);
    lane->newest = attempt;
    lane->settled = false;
}
