/* SPDX-License-Identifier: Apache-2.0 */
/* See circuit.h. */
#include "services/agent/health/circuit.h"

#include <assert.h>
#include <xxhash.h>

void circuit_init(struct circuit *circuit, const struct circuit_options *options, int64_t now_ms)
{
    assert(options->window_ms > 0 && options->open_ms > 0 && options->errors_percent <= 100);
    *circuit = (struct circuit){
        .options = *options,
        .state = options->errors_min > 0 ? AGENT_CIRCUIT_CLOSED : AGENT_CIRCUIT_NONE,
        .since_ms = now_ms,
        .counts_from_ms = INT64_MIN,
    };
}

/* ---- known offenders ---- */

static uint64_t hash_of(struct text order)
{
    return XXH3_64bits(order.data, order.size);
}

static bool is_known(const struct circuit_offender *offender, uint64_t order, int64_t now_ms)
{
    return offender->used && offender->order == order &&
           now_ms - offender->failed_ms < CIRCUIT_OFFENDER_MS;
}

/* NULL: the order is not one. */
static struct circuit_offender *find_offender(struct circuit *circuit, uint64_t order,
                                              int64_t now_ms)
{
    struct circuit_offender *set = circuit->offenders[order % CIRCUIT_OFFENDER_SETS];
    for (int i = 0; i < CIRCUIT_OFFENDER_WAYS; i++)
        if (is_known(&set[i], order, now_ms))
            return &set[i];
    return NULL;
}

/* In a free place, or in that of the oldest. */
static struct circuit_offender *add_offender(struct circuit *circuit, uint64_t order)
{
    struct circuit_offender *set = circuit->offenders[order % CIRCUIT_OFFENDER_SETS];
    struct circuit_offender *place = &set[0];
    for (int i = 1; i < CIRCUIT_OFFENDER_WAYS && place->used; i++)
        if (!set[i].used || set[i].failed_ms < place->failed_ms)
            place = &set[i];
    circuit->offender_count += !place->used;
    *place = (struct circuit_offender){.used = true, .order = order, .counted = -1};
    return place;
}

static void forget_offender(struct circuit *circuit, struct circuit_offender *offender)
{
    assert(offender->used && circuit->offender_count > 0);
    offender->used = false;
    circuit->offender_count--;
}

/* From now on a failure of each offender counts again. */
static void uncount_offenders(struct circuit *circuit)
{
    for (int set = 0; set < CIRCUIT_OFFENDER_SETS; set++)
        for (int way = 0; way < CIRCUIT_OFFENDER_WAYS; way++)
            circuit->offenders[set][way].counted = -1;
    circuit->failed_again = 0;
}

bool circuit_is_offender(const struct circuit *circuit, struct text order, int64_t now_ms)
{
    if (circuit->offender_count == 0)
        return false;
    uint64_t hash = hash_of(order);
    const struct circuit_offender *set = circuit->offenders[hash % CIRCUIT_OFFENDER_SETS];
    for (int i = 0; i < CIRCUIT_OFFENDER_WAYS; i++)
        if (is_known(&set[i], hash, now_ms))
            return true;
    return false;
}

/* ---- states ---- */

static void enter(struct circuit *circuit, enum agent_circuit state, int64_t now_ms)
{
    assert(circuit->state != AGENT_CIRCUIT_NONE);
    assert(state != AGENT_CIRCUIT_OPEN || circuit->openings > 0);
    circuit->state = state;
    circuit->since_ms = now_ms;
    circuit->successes = 0;
}

static void open_circuit(struct circuit *circuit, int64_t now_ms)
{
    circuit->openings++;
    enter(circuit, AGENT_CIRCUIT_OPEN, now_ms);
}

static int64_t span_of(const struct circuit *circuit, int64_t ms)
{
    int64_t span = circuit->options.window_ms / CIRCUIT_BUCKETS;
    return ms / (span > 0 ? span : 1);
}

static struct circuit_bucket *bucket_at(struct circuit *circuit, int64_t number)
{
    struct circuit_bucket *bucket = &circuit->buckets[(uint64_t)number % CIRCUIT_BUCKETS];
    if (bucket->number != number)
        *bucket = (struct circuit_bucket){.number = number};
    return bucket;
}

static bool is_counted(const struct circuit_offender *offender, int64_t number)
{
    return offender->counted >= 0 && offender->counted > number - CIRCUIT_BUCKETS;
}

/* False: its failure counts in the window already. */
static bool count_failure(struct circuit *circuit, struct circuit_offender *offender,
                          int64_t now_ms)
{
    int64_t number = span_of(circuit, now_ms);
    if (is_counted(offender, number))
        return false;
    struct circuit_bucket *bucket = bucket_at(circuit, number);
    offender->counted = number;
    bucket->orders++;
    bucket->failed++;
    return true;
}

static void count_success(struct circuit *circuit, struct circuit_offender *offender,
                          int64_t now_ms)
{
    int64_t number = span_of(circuit, now_ms);
    if (offender == NULL || !is_counted(offender, number)) {
        bucket_at(circuit, number)->orders++;
        return;
    }
    struct circuit_bucket *bucket = bucket_at(circuit, offender->counted);
    assert(bucket->failed > 0);
    bucket->failed--; /* the order counts there already */
}

static bool is_unhealthy(const struct circuit *circuit, int64_t now_ms)
{
    int64_t oldest = span_of(circuit, now_ms) - CIRCUIT_BUCKETS;
    uint64_t orders = 0;
    uint64_t failed = 0;
    for (int i = 0; i < CIRCUIT_BUCKETS; i++) {
        const struct circuit_bucket *bucket = &circuit->buckets[i];
        if (bucket->number <= oldest)
            continue;
        orders += bucket->orders;
        failed += bucket->failed;
    }
    return failed > 0 && orders >= circuit->options.errors_min &&
           failed * 100 >= orders * circuit->options.errors_percent;
}

static void close_circuit(struct circuit *circuit, int64_t now_ms)
{
    circuit->openings = 0;
    for (int i = 0; i < CIRCUIT_BUCKETS; i++)
        circuit->buckets[i] = (struct circuit_bucket){.number = 0};
    uncount_offenders(circuit);
    enter(circuit, AGENT_CIRCUIT_CLOSED, now_ms);
}

static bool succeeded(struct circuit *circuit, struct circuit_offender *offender, int64_t now_ms)
{
    if (circuit->state == AGENT_CIRCUIT_CLOSED)
        count_success(circuit, offender, now_ms);
    if (circuit->state != AGENT_CIRCUIT_HALF_OPEN ||
        ++circuit->successes < circuit->options.successes)
        return false;
    close_circuit(circuit, now_ms);
    return true;
}

/* `known`: it was an offender before this call ended. */
static bool failed(struct circuit *circuit, struct circuit_offender *offender, bool known,
                   int64_t now_ms)
{
    bool opens = false;
    if (circuit->state == AGENT_CIRCUIT_CLOSED) {
        opens = count_failure(circuit, offender, now_ms) && is_unhealthy(circuit, now_ms);
    } else if (circuit->state == AGENT_CIRCUIT_HALF_OPEN) {
        circuit->failed_again += offender->counted < 0;
        offender->counted = span_of(circuit, now_ms);
        opens = !known || circuit->failed_again >= circuit->options.errors_min;
    }
    if (opens)
        open_circuit(circuit, now_ms);
    return opens;
}

bool circuit_ended(struct circuit *circuit, struct text order, int64_t began_ms, int64_t now_ms,
                   bool has_failed)
{
    struct circuit_offender *offender = NULL;
    bool known = false;
    bool counts = began_ms >= circuit->counts_from_ms;
    if (circuit->state == AGENT_CIRCUIT_NONE)
        return false;
    if (has_failed || circuit->offender_count > 0) {
        uint64_t hash = hash_of(order);
        offender = find_offender(circuit, hash, now_ms);
        known = offender != NULL;
        if (has_failed && !known)
            offender = add_offender(circuit, hash);
    }
    if (has_failed) {
        offender->failed_ms = now_ms;
        return counts && failed(circuit, offender, known, now_ms);
    }
    bool changed = counts && succeeded(circuit, offender, now_ms);
    if (offender != NULL)
        forget_offender(circuit, offender);
    return changed;
}

int64_t circuit_open_ms(const struct circuit *circuit)
{
    int64_t wait = circuit->options.open_ms;
    for (uint32_t i = 1; i < circuit->openings && wait < circuit->options.open_ms_max; i++)
        wait *= 2;
    return wait < circuit->options.open_ms_max ? wait : circuit->options.open_ms_max;
}

void circuit_half_open(struct circuit *circuit, int64_t now_ms)
{
    assert(circuit->state == AGENT_CIRCUIT_OPEN);
    circuit->counts_from_ms = now_ms;
    uncount_offenders(circuit);
    enter(circuit, AGENT_CIRCUIT_HALF_OPEN, now_ms);
}

void circuit_open_again(struct circuit *circuit, int64_t now_ms)
{
    assert(circuit->state == AGENT_CIRCUIT_OPEN);
    open_circuit(circuit, now_ms);
}

uint32_t circuit_limit(const struct circuit *circuit)
{
    if (circuit->state == AGENT_CIRCUIT_OPEN)
        return 0;
    return circuit->state == AGENT_CIRCUIT_HALF_OPEN ? 1 + circuit->successes : UINT32_MAX;
}
