/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of routing: which agent to choose, and when a step may wait in the queue. */
#include "tests/property/engine_rules.h"

/* The free capacity of an agent, or INT64_MIN if it is unhealthy or unknown. */
static int64_t capacity_left(const struct rules *rules, struct text agent, uint32_t through,
                             int64_t *ret_p95)
{
    const struct routing *routing = rules->routing;
    for (uint32_t i = 0; i < routing->count; i++) {
        const struct agent_capacity *known = &routing->agents[i];
        if (!text_equal(known->agent, agent))
            continue;
        int64_t left = known->free;
        for (uint32_t e = 0; e < through && e < rules->decision->event_count; e++) {
            const struct event *event = &rules->decision->events[e];
            left -=
                event->kind == EVENT_STEP_STARTED && text_equal(event->step_started.agent, agent);
        }
        *ret_p95 = known->latency_p95_ms;
        return known->healthy ? left : INT64_MIN;
    }
    return INT64_MIN;
}

/* Only the called service remembers the key: once it may have applied anything, no other agent is
 * chosen. An undo always goes to the agent of the do. */
static bool is_bound(const struct rules *rules, uint32_t index, enum direction direction)
{
    return direction == DIRECTION_UNDO ||
           rules->steps[index].ways[DIRECTION_DO].effect != EFFECT_NONE;
}

static uint32_t agent_count(const struct rules *rules, uint32_t index, enum direction direction)
{
    return is_bound(rules, index, direction) ? 1 : rules->workflow->steps[index].agent_count;
}

static struct text agent_at(const struct rules *rules, uint32_t index, enum direction direction,
                            uint32_t i)
{
    return is_bound(rules, index, direction) ? rules->steps[index].agent
                                             : rules->workflow->steps[index].agents[i];
}

struct text rules_choice(const struct rules *rules, uint32_t index, enum direction direction,
                         uint32_t through)
{
    struct text best = {0};
    int64_t best_left = 0;
    int64_t best_p95 = 0;
    if (rules->routing == NULL)
        return agent_at(rules, index, direction, 0);
    for (uint32_t i = 0; i < agent_count(rules, index, direction); i++) {
        struct text agent = agent_at(rules, index, direction, i);
        int64_t p95 = 0;
        int64_t left = capacity_left(rules, agent, through, &p95);
        if (left > best_left || (left > 0 && left == best_left && p95 < best_p95)) {
            best = agent;
            best_left = left;
            best_p95 = p95;
        }
    }
    return best;
}

bool rules_any_healthy(const struct rules *rules, uint32_t index, enum direction direction)
{
    for (uint32_t i = 0; i < agent_count(rules, index, direction); i++) {
        int64_t p95 = 0;
        if (capacity_left(rules, agent_at(rules, index, direction, i), 0, &p95) != INT64_MIN)
            return true;
    }
    return false;
}

static bool begins_with(struct text text, struct text with)
{
    return text.size >= with.size && memcmp(text.data, with.data, with.size) == 0;
}

void rules_check_choice(struct rules *rules, uint32_t index, const struct step_started *event)
{
    const struct rules_step *step = &rules->steps[index];
    const struct way *way = &step->ways[event->ref.direction];
    if (rules->routing_unknown)
        return;
    struct text choice = rules_choice(rules, index, event->ref.direction, rules->at);
    RULE(rules, !text_empty(choice), "step %u starts, but no agent has capacity", index);
    RULE(rules, text_equal(choice, event->agent), "asks %.*s, not %.*s", TEXT_ARG(event->agent),
         TEXT_ARG(choice));
    bool told =
        rules->routing != NULL && (way->queued || rules->workflow->steps[index].agent_count > 1);
    RULE(rules, told == !text_empty(event->routing_reason), "the reason is \"%.*s\"",
         TEXT_ARG(event->routing_reason));
    RULE(rules, !told || begins_with(event->routing_reason, event->agent),
         "the reason begins with another agent");
    rules->rare[RARE_ELSEWHERE] += event->ref.direction == DIRECTION_DO && way->attempt > 0 &&
                                   !text_equal(step->agent, event->agent);
}

static void count_queued(struct rules *rules, uint32_t index, const struct step_queued *event)
{
    const struct way *way = &rules->steps[index].ways[event->ref.direction];
    rules->rare[event->retry_at == 0 ? RARE_QUEUED_FOR_CAPACITY : RARE_QUEUED_UNHEALTHY]++;
    rules->rare[RARE_QUEUED_AGAIN] += way->queued;
    rules->rare[RARE_QUEUED_RETRY] += !way->queued && way->state == WAY_WAITING;
    rules->rare[RARE_QUEUED_UNDO] += event->ref.direction == DIRECTION_UNDO;
    for (uint32_t i = 0; i < rules->workflow->steps[index].agent_count; i++) {
        int64_t p95 = 0;
        struct text agent = rules->workflow->steps[index].agents[i];
        rules->rare[RARE_STUCK] += capacity_left(rules, agent, rules->at, &p95) > 0;
    }
}

static void enter_queue(struct way *way, const struct step_queued *event)
{
    way->queued = true;
    way->queued_at = event->queued_at;
    way->retry_at = event->retry_at;
}

/* Queueing starts no attempt and changes no count and no deadline. */
void rules_queued(struct rules *rules, uint32_t index, const struct step_queued *event)
{
    enum direction direction = event->ref.direction;
    struct way *way = &rules->steps[index].ways[direction];
    int64_t now = rules->decision->decided_at;
    rules_check_turn(rules, index, direction);
    if (event->queued_at == 0) {
        rules_deferred(rules, index, event);
        return;
    }
    rules_check_when(rules, index, direction);
    rules->steps[index].turned = direction == DIRECTION_UNDO;
    if (rules->routing_unknown) {
        enter_queue(way, event);
        return;
    }
    RULE(rules, rules->routing != NULL, "queued without a table");
    if (rules->routing == NULL)
        return;
    RULE(rules, text_empty(rules_choice(rules, index, direction, rules->at)),
         "step %u is queued, but an agent has capacity", index);
    RULE(rules, !way->queued || (way->retry_at != 0 && way->retry_at <= now),
         "step %u is queued again before its time", index);
    int64_t since = way->queued ? way->queued_at : now;
    int64_t half = (now - since) / 2;
    int64_t least = rules->routing->retry_ms_min;
    int64_t most = rules->routing->retry_ms_max;
    int64_t wait = half < least ? least : half > most ? most : half;
    bool healthy = rules_any_healthy(rules, index, direction);
    RULE(rules, event->queued_at == since, "not queued since when it is");
    RULE(rules, event->retry_at == (healthy ? 0 : now + wait),
         "to be checked again at another time");
    RULE(rules, !text_empty(event->reason), "queued without a reason");
    count_queued(rules, index, event);
    enter_queue(way, event);
}

bool rules_waits_rightly(const struct rules *rules, uint32_t index, enum direction direction)
{
    const struct way *way = &rules->steps[index].ways[direction];
    if (rules->routing_unknown)
        return true;
    return (way->retry_at == 0 || way->retry_at > rules->decision->decided_at) &&
           text_empty(rules_choice(rules, index, direction, rules->decision->event_count));
}
