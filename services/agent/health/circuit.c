/* SPDX-License-Identifier: Apache-2.0 */
/* See circuit.h. */
#include "services/agent/health/circuit.h"

#include <assert.h>

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

static void count(struct circuit *circuit, int64_t now_ms, bool failed)
{
    int64_t number = span_of(circuit, now_ms);
    struct circuit_bucket *bucket = &circuit->buckets[(uint64_t)number % CIRCUIT_BUCKETS];
    if (bucket->number != number)
        *bucket = (struct circuit_bucket){.number = number};
    bucket->calls++;
    bucket->failed += failed;
    assert(bucket->failed <= bucket->calls);
}

static bool is_unhealthy(const struct circuit *circuit, int64_t now_ms)
{
    int64_t oldest = span_of(circuit, now_ms) - CIRCUIT_BUCKETS;
    uint64_t calls = 0;
    uint64_t failed = 0;
    for (int i = 0; i < CIRCUIT_BUCKETS; i++) {
        const struct circuit_bucket *bucket = &circuit->buckets[i];
        if (bucket->number <= oldest)
            continue;
        calls += bucket->calls;
        failed += bucket->failed;
    }
    return failed > 0 && calls >= circuit->options.errors_min &&
           failed * 100 >= calls * circuit->options.errors_percent;
}

static void close_circuit(struct circuit *circuit, int64_t now_ms)
{
    circuit->openings = 0;
    for (int i = 0; i < CIRCUIT_BUCKETS; i++)
        circuit->buckets[i] = (struct circuit_bucket){.number = 0};
    enter(circuit, AGENT_CIRCUIT_CLOSED, now_ms);
}

static bool ended_half_open(struct circuit *circuit, int64_t now_ms, bool failed)
{
    if (failed) {
        open_circuit(circuit, now_ms);
        return true;
    }
    if (++circuit->successes < circuit->options.successes)
        return false;
    close_circuit(circuit, now_ms);
    return true;
}

bool circuit_ended(struct circuit *circuit, int64_t began_ms, int64_t now_ms, bool failed)
{
    if (began_ms < circuit->counts_from_ms)
        return false;
    switch (circuit->state) {
    case AGENT_CIRCUIT_CLOSED:
        count(circuit, now_ms, failed);
        if (!failed || !is_unhealthy(circuit, now_ms))
            return false;
        open_circuit(circuit, now_ms);
        return true;
    case AGENT_CIRCUIT_HALF_OPEN:
        return ended_half_open(circuit, now_ms, failed);
    case AGENT_CIRCUIT_NONE:
    case AGENT_CIRCUIT_OPEN:
    case AGENT_CIRCUIT_COUNT:
        break;
    }
    return false;
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
