/* SPDX-License-Identifier: Apache-2.0 */
/* Retry policies: which retrier takes a failure, and how long it waits. */
#include "base/bytes.h"
#include "engine/workflow.h"

#include "base/names.h"

#include <assert.h>

_Static_assert(ERROR_NAME_BYTES_MAX == 64, "ERROR_NAME_EXPECTED states the limit");

static bool begins_with(struct text name, struct text prefix)
{
    return name.size >= prefix.size && memcmp(name.data, prefix.data, prefix.size) == 0;
}

bool error_name_valid(struct text name)
{
    return name.size > 0 && name.size <= ERROR_NAME_BYTES_MAX && name_characters_valid(name) &&
           !begins_with(name, TEXT("States.")) && !begins_with(name, TEXT("Order."));
}

bool error_set_matches(const struct error_set *errors, struct text error_name)
{
    assert(errors->count <= ERRORS_EQUAL_MAX);
    for (uint32_t i = 0; i < errors->count; i++) {
        struct text name = errors->names[i];
        if (text_equal(name, error_name) || text_equal(name, TEXT(ERROR_ALL)))
            return true;
        if (text_equal(name, TEXT(ERROR_TASK_FAILED)) &&
            !text_equal(error_name, TEXT(ERROR_TIMEOUT)))
            return true;
    }
    return false;
}

static bool same_errors(const struct error_set *a, const struct error_set *b)
{
    assert(a->count <= ERRORS_EQUAL_MAX && b->count <= ERRORS_EQUAL_MAX);
    bool same = a->count == b->count;
    for (uint32_t i = 0; i < a->count && same; i++)
        same = text_equal(a->names[i], b->names[i]);
    return same;
}

bool retrier_equal(const struct retrier *a, const struct retrier *b)
{
    return same_errors(&a->errors, &b->errors) && a->interval_ms == b->interval_ms &&
           a->backoff_rate_milli == b->backoff_rate_milli && a->max_attempts == b->max_attempts &&
           a->max_delay_ms == b->max_delay_ms && a->jitter == b->jitter;
}

int retry_policy_match(const struct retry_policy *policy, const uint32_t used[RETRIERS_MAX],
                       struct text error_name)
{
    assert(policy->count <= RETRIERS_MAX);
    assert(policy->count == 0 || policy->retriers != NULL);
    for (uint32_t i = 0; i < policy->count; i++) {
        const struct retrier *retrier = &policy->retriers[i];
        if (used[i] < retrier->max_attempts && error_set_matches(&retrier->errors, error_name))
            return (int)i;
    }
    return -1;
}

/* interval * rate^(retry-1), at most `cap`. In thousandths of a millisecond, so that a short
 * interval with a small rate also grows. */
static int64_t full_wait_ms(const struct retrier *retrier, uint32_t retry, int64_t cap_ms)
{
    int64_t rate_milli = retrier->backoff_rate_milli;
    int64_t cap = cap_ms * 1000;
    assert(cap_ms >= 0 && cap_ms <= DURATION_MS_MAX);
    assert(retry >= 1);
    assert(rate_milli >= 1000); /* a wait never shrinks */
    if (retrier->interval_ms >= cap_ms)
        return cap_ms;
    int64_t wait = retrier->interval_ms * 1000;
    for (uint32_t i = 1; i < retry && rate_milli > 1000 && wait > 0; i++) {
        if (wait > cap * 1000 / rate_milli)
            return cap_ms;
        wait = wait * rate_milli / 1000;
    }
    return wait < cap ? wait / 1000 : cap_ms;
}

/* FNV's high bits are poor: every bit of the result is to depend on every bit of the salt. */
static uint64_t mix(uint64_t x)
{
    x ^= x >> 33;
    x *= UINT64_C(0xff51afd7ed558ccd);
    x ^= x >> 33;
    x *= UINT64_C(0xc4ceb9fe1a85ec53);
    return x ^ (x >> 33);
}

int64_t retry_jitter_ms(int64_t most_ms, uint64_t salt)
{
    assert(most_ms >= 0 && most_ms <= DURATION_MS_MAX);
    return (int64_t)(mix(salt) % ((uint64_t)most_ms + 1));
}

int64_t retry_wait_ms(const struct retrier *retrier, uint32_t retry, uint64_t salt)
{
    assert(retry >= 1);
    assert(retrier->interval_ms >= 0 && retrier->max_delay_ms >= 0);
    assert(retrier->backoff_rate_milli >= 1000);
    int64_t cap = DURATION_MS_MAX;
    if (retrier->max_delay_ms > 0 && retrier->max_delay_ms < cap)
        cap = retrier->max_delay_ms;
    int64_t wait = full_wait_ms(retrier, retry, cap);
    if (retrier->jitter == JITTER_FULL)
        wait = retry_jitter_ms(wait, salt);
    assert(wait >= 0 && wait <= cap);
    return wait;
}

static uint64_t fnv(uint64_t hash, const void *bytes, size_t size)
{
    const uint8_t *at = bytes;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
    return hash;
}

/* A byte that neither name contains separates the parts; the attempt goes in little-endian. */
uint64_t retry_salt(struct text order_id, struct text step, int direction, uint32_t attempt)
{
    assert(direction == 0 || direction == 1);
    uint8_t tail[6] = {'/', (uint8_t)direction};
    bytes_put_le(tail + 2, attempt, 4);
    uint64_t hash = fnv(UINT64_C(0xcbf29ce484222325), order_id.data, order_id.size);
    hash = fnv(hash, "/", 1);
    hash = fnv(hash, step.data, step.size);
    return fnv(hash, tail, sizeof(tail));
}
