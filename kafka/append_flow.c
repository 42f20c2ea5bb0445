/* SPDX-License-Identifier: Apache-2.0 */
#include "kafka/append_flow.h"

#include <assert.h>

enum append_client append_flow_begin(struct append_flow *flow, enum append_client wanted)
{
    assert(wanted < APPEND_CLIENT_COUNT);
    if (flow->in_flight == 0)
        flow->client = wanted;
    flow->in_flight++;
    assert(flow->in_flight > 0);
    return flow->client;
}

void append_flow_end(struct append_flow *flow)
{
    assert(flow->in_flight > 0);
    flow->in_flight--;
}

bool append_rate_note(struct append_rate *rate, int64_t now_ms)
{
    assert(rate->next < APPEND_RATE_COUNT && rate->count <= APPEND_RATE_COUNT);
    bool high =
        rate->count == APPEND_RATE_COUNT && now_ms - rate->times_ms[rate->next] <= APPEND_RATE_MS;
    rate->times_ms[rate->next] = now_ms;
    rate->next = (rate->next + 1) % APPEND_RATE_COUNT;
    if (rate->count < APPEND_RATE_COUNT)
        rate->count++;
    return high;
}
