/* SPDX-License-Identifier: Apache-2.0 */
/* See backlog.h. The tally, numbers little-endian:
 *
 *     count of agents u32, each: size of name u8, name, running i64
 *     count of queues u32, each: size of key u8, key, waiting i64 per priority
 *     steps that are Waiting i64 for each enum wait_kind
 *
 * A queue's key: workflow | 0 | version BE4 | step BE4 | direction | agent, or nothing */
#include "base/bytes.h"
#include "services/scheduler/router/internal.h"

#include <assert.h>
#include <stdlib.h>

enum { QUEUE_KEY_FIXED_BYTES = 1 + 4 + 4 + 1 };

_Static_assert(QUEUE_KEY_FIXED_BYTES + BODY_NAME_BYTES_MAX + NAME_BYTES_MAX <= QUEUE_KEY_BYTES_MAX,
               "the largest queue fits");
_Static_assert(QUEUE_KEY_BYTES_MAX <= UINT8_MAX, "its size fits a byte");

/* ---- queues ---- */

static struct text queue_key_of(const struct order *order, uint32_t index,
                                char bytes[QUEUE_KEY_BYTES_MAX])
{
    const struct step *step = &order->steps[index];
    bool only_one = step->direction == DIRECTION_UNDO || step->effect != EFFECT_NONE;
    assert(index < order->step_count);
    assert(order_step_queued(order, step));
    assert(order->details.workflow.size <= BODY_NAME_BYTES_MAX);
    assert(step->agent.size <= NAME_BYTES_MAX);
    char *at = bytes_put_text(bytes, order->details.workflow);
    *at++ = '\0';
    at = bytes_put_be(at, order->details.workflow_version, 4);
    at = bytes_put_be(at, index, 4);
    *at++ = (char)step->direction;
    if (only_one)
        at = bytes_put_text(at, step->agent);
    assert((size_t)(at - bytes) <= QUEUE_KEY_BYTES_MAX);
    return (struct text){bytes, (uint32_t)(at - bytes)};
}

bool queue_key_parse(struct text key, struct text *ret_workflow, uint32_t *ret_version,
                     uint32_t *ret_step, enum direction *ret_direction, struct text *ret_agent)
{
    const char *end = key.size > 0 ? memchr(key.data, '\0', key.size) : NULL;
    uint32_t size = end != NULL ? (uint32_t)(end - key.data) : 0;
    if (end == NULL || key.size < size + QUEUE_KEY_FIXED_BYTES ||
        (uint8_t)end[9] >= DIRECTION_COUNT)
        return false;
    *ret_workflow = (struct text){key.data, size};
    *ret_version = (uint32_t)bytes_get_be(end + 1, 4);
    *ret_step = (uint32_t)bytes_get_be(end + 5, 4);
    *ret_direction = (enum direction)(uint8_t)end[9];
    *ret_agent = (struct text){end + QUEUE_KEY_FIXED_BYTES,
                               key.size - size - (uint32_t)QUEUE_KEY_FIXED_BYTES};
    return true;
}

static uint32_t rows_of(const struct order *order,
                        struct view_index_row ret_rows[WORKFLOW_STEPS_MAX])
{
    assert(order->step_count <= WORKFLOW_STEPS_MAX);
    uint32_t count = 0;
    for (uint32_t i = 0; i < order->step_count; i++) {
        if (!order_step_queued(order, &order->steps[i]))
            continue;
        struct view_index_row *row = &ret_rows[count++];
        row->queued_at = step_wait(&order->steps[i]).since;
        row->queue = queue_key_of(order, i, row->bytes);
        assert(row->queue.data == row->bytes && row->queued_at != 0);
    }
    assert(count <= order->step_count);
    return count;
}

bool backlog_waits_in(const struct order *order, uint32_t step, struct text queue)
{
    char bytes[QUEUE_KEY_BYTES_MAX];
    return step < order->step_count && order_step_queued(order, &order->steps[step]) &&
           text_equal(queue_key_of(order, step, bytes), queue);
}

void backlog_queue_forget(struct backlog_queue *queue)
{
    for (int priority = 0; priority < PRIORITY_COUNT; priority++) {
        free(queue->heads[priority]);
        queue->heads[priority] = NULL;
        queue->dry[priority] = queue->stale[priority] = false;
    }
}

/* ---- counting ---- */

static struct backlog_agent *find_agent(struct backlog *backlog, struct text name)
{
    struct backlog_agent *agent = NULL;
    assert(name.size <= NAME_BYTES_MAX);
    HASH_FIND(hh, backlog->agents, name.data, name.size, agent);
    if (agent != NULL)
        return agent;
    agent = calloc(1, sizeof(*agent));
    assert(agent != NULL);
    agent->agent = router_agent(backlog->router, name);
    HASH_ADD_KEYPTR(hh, backlog->agents, agent->agent->name, name.size, agent);
    return agent;
}

static struct backlog_queue *find_queue(struct backlog *backlog, struct text key)
{
    struct backlog_queue *queue = NULL;
    assert(key.size > 0 && key.size <= QUEUE_KEY_BYTES_MAX);
    HASH_FIND(hh, backlog->queues, key.data, key.size, queue);
    if (queue != NULL)
        return queue;
    queue = calloc(1, sizeof(*queue));
    assert(queue != NULL);
    queue->queue = router_queue(backlog->router, key);
    for (int priority = 0; priority < PRIORITY_COUNT; priority++)
        queue->low[priority] = INT64_MIN;
    HASH_ADD_KEYPTR(hh, backlog->queues, queue->queue->key, key.size, queue);
    return queue;
}

static void add_running(struct backlog *backlog, struct backlog_agent *agent, int64_t more)
{
    agent->running += more;
    assert(agent->running >= 0);
    if (!backlog->active)
        return;
    agent->agent->running += more;
    assert(agent->agent->running >= agent->running);
}

static void add_waiting(struct backlog *backlog, struct backlog_queue *queue,
                        enum priority priority, int64_t more)
{
    assert((unsigned)priority < PRIORITY_COUNT);
    queue->waiting[priority] += more;
    assert(queue->waiting[priority] >= 0);
    if (backlog->active)
        router_add_waiting(backlog->router, queue->queue, priority, more);
}

static void add_standing(struct backlog *backlog, enum wait_kind what, int64_t more)
{
    assert((unsigned)what < WAIT_KIND_COUNT);
    backlog->standing[what] += more;
    assert(backlog->standing[what] >= 0);
    if (!backlog->active)
        return;
    backlog->router->standing[what] += more;
    assert(backlog->router->standing[what] >= backlog->standing[what]);
}

static void count_queued(struct backlog *backlog, const struct order *order, uint32_t index,
                         int sign)
{
    char bytes[QUEUE_KEY_BYTES_MAX];
    assert(sign == 1 || sign == -1);
    int64_t since = step_wait(&order->steps[index]).since;
    assert(since != 0);
    enum priority priority = order->details.priority;
    struct backlog_queue *queue = find_queue(backlog, queue_key_of(order, index, bytes));
    add_waiting(backlog, queue, priority, sign);
    if (sign > 0 && since < queue->low[priority])
        queue->low[priority] = since;
}

static void count_order(void *ctx, const struct order *order, int sign)
{
    struct backlog *backlog = ctx;
    assert(sign == 1 || sign == -1);
    assert(order->step_count <= WORKFLOW_STEPS_MAX);
    if (order_ended(order))
        return;
    for (uint32_t i = 0; i < order->step_count; i++) {
        const struct step *step = &order->steps[i];
        if (step->state == STEP_PROCESSING && step->suborders == NULL) /* they run instead of it */
            add_running(backlog, find_agent(backlog, step->agent), sign);
        else if (order_step_queued(order, step))
            count_queued(backlog, order, i, sign);
        else if (step->state == STEP_WAITING)
            add_standing(backlog, step_wait(step).kind, sign);
    }
}

/* ---- the tally ---- */

bool backlog_any_running(const struct backlog *backlog)
{
    const struct backlog_agent *agent = backlog->agents;
    while (agent != NULL && agent->running == 0)
        agent = agent->hh.next;
    return agent != NULL;
}

static bool queue_waits(const struct backlog_queue *queue)
{
    int64_t waiting = 0;
    for (int priority = 0; priority < PRIORITY_COUNT; priority++)
        waiting += queue->waiting[priority];
    assert(waiting >= 0);
    return waiting > 0;
}

static void encode_tally(const void *ctx, struct buffer *buffer)
{
    const struct backlog *backlog = ctx;
    const struct backlog_agent *agent;
    const struct backlog_queue *queue;
    uint32_t agents = 0;
    uint32_t queues = 0;
    for (agent = backlog->agents; agent != NULL; agent = agent->hh.next)
        agents += agent->running > 0;
    for (queue = backlog->queues; queue != NULL; queue = queue->hh.next)
        queues += queue_waits(queue);
    buffer_append_le(buffer, agents, 4);
    for (agent = backlog->agents; agent != NULL; agent = agent->hh.next) {
        if (agent->running == 0)
            continue;
        assert(agent->hh.keylen <= NAME_BYTES_MAX);
        buffer_append_le(buffer, agent->hh.keylen, 1);
        buffer_append(buffer, agent->agent->name, agent->hh.keylen);
        buffer_append_le(buffer, (uint64_t)agent->running, 8);
    }
    buffer_append_le(buffer, queues, 4);
    for (queue = backlog->queues; queue != NULL; queue = queue->hh.next) {
        if (!queue_waits(queue))
            continue;
        assert(queue->queue->key_size <= QUEUE_KEY_BYTES_MAX);
        buffer_append_le(buffer, queue->queue->key_size, 1);
        buffer_append(buffer, queue->queue->key, queue->queue->key_size);
        for (int priority = 0; priority < PRIORITY_COUNT; priority++)
            buffer_append_le(buffer, (uint64_t)queue->waiting[priority], 8);
    }
    for (int what = 0; what < WAIT_KIND_COUNT; what++)
        buffer_append_le(buffer, (uint64_t)backlog->standing[what], 8);
}

static bool take_text(struct text *rest, uint32_t most, struct text *ret_text)
{
    uint64_t size = 0;
    assert(most <= UINT8_MAX);
    if (!bytes_take_le(rest, 1, &size) || size == 0 || size > most || size > rest->size)
        return false;
    *ret_text = (struct text){rest->data, (uint32_t)size};
    *rest = (struct text){rest->data + size, rest->size - (uint32_t)size};
    return true;
}

static bool take_count(struct text *rest, int64_t *ret_count)
{
    uint64_t count = 0;
    if (!bytes_take_le(rest, 8, &count) || count > INT64_MAX / 4)
        return false;
    *ret_count = (int64_t)count;
    return true;
}

static bool take_agent(struct backlog *backlog, struct text *rest)
{
    struct text name;
    int64_t running = 0;
    if (!take_text(rest, NAME_BYTES_MAX, &name) || !take_count(rest, &running))
        return false;
    add_running(backlog, find_agent(backlog, name), running);
    return true;
}

static bool take_queue(struct backlog *backlog, struct text *rest)
{
    struct text key, workflow, agent;
    uint32_t version = 0;
    uint32_t step = 0;
    enum direction direction = DIRECTION_DO;
    int64_t waiting = 0;
    if (!take_text(rest, QUEUE_KEY_BYTES_MAX, &key) ||
        !queue_key_parse(key, &workflow, &version, &step, &direction, &agent) ||
        step >= WORKFLOW_STEPS_MAX || agent.size > NAME_BYTES_MAX)
        return false;
    struct backlog_queue *queue = find_queue(backlog, key);
    for (int priority = 0; priority < PRIORITY_COUNT; priority++) {
        if (!take_count(rest, &waiting))
            return false;
        add_waiting(backlog, queue, (enum priority)priority, waiting);
    }
    return true;
}

static bool decode_tally(void *ctx, struct text tally)
{
    struct backlog *backlog = ctx;
    uint64_t agents = 0;
    uint64_t queues = 0;
    assert(backlog->agents == NULL && backlog->queues == NULL);
    if (!bytes_take_le(&tally, 4, &agents))
        return false;
    for (uint64_t i = 0; i < agents; i++) {
        if (!take_agent(backlog, &tally))
            return false;
    }
    if (!bytes_take_le(&tally, 4, &queues))
        return false;
    for (uint64_t i = 0; i < queues; i++) {
        if (!take_queue(backlog, &tally))
            return false;
    }
    for (int what = 0; what < WAIT_KIND_COUNT; what++) {
        int64_t count = 0;
        if (!take_count(&tally, &count))
            return false;
        add_standing(backlog, (enum wait_kind)what, count);
    }
    return tally.size == 0;
}

/* ---- life ---- */

struct backlog *backlog_new(struct router *router, bool active)
{
    struct backlog *backlog = calloc(1, sizeof(*backlog));
    assert(backlog != NULL);
    assert(router != NULL);
    backlog->router = router;
    backlog->active = active;
    return backlog;
}

void backlog_set_active(struct backlog *backlog, bool active)
{
    int sign = active ? 1 : -1;
    if (backlog->active == active)
        return;
    backlog->active = active;
    for (int what = 0; what < WAIT_KIND_COUNT; what++)
        backlog->router->standing[what] += sign * backlog->standing[what];
    for (struct backlog_agent *agent = backlog->agents; agent != NULL; agent = agent->hh.next) {
        agent->agent->running += sign * agent->running;
        assert(agent->agent->running >= (active ? agent->running : 0));
    }
    for (struct backlog_queue *queue = backlog->queues; queue != NULL; queue = queue->hh.next)
        for (int priority = 0; priority < PRIORITY_COUNT; priority++)
            router_add_waiting(backlog->router, queue->queue, (enum priority)priority,
                               sign * queue->waiting[priority]);
}

static void free_queue(struct backlog *backlog, struct backlog_queue *queue)
{
    HASH_DEL(backlog->queues, queue);
    for (int priority = 0; priority < PRIORITY_COUNT; priority++) {
        assert(queue->starting[priority] == 0);
        add_waiting(backlog, queue, (enum priority)priority, -queue->waiting[priority]);
        assert(queue->waiting[priority] == 0);
    }
    backlog_queue_forget(queue);
    free(queue);
}

static void clear(void *ctx)
{
    struct backlog *backlog = ctx;
    struct backlog_agent *agent, *next_agent;
    struct backlog_queue *queue, *next_queue;
    HASH_ITER(hh, backlog->agents, agent, next_agent) {
        HASH_DEL(backlog->agents, agent);
        add_running(backlog, agent, -agent->running);
        assert(agent->running == 0);
        free(agent);
    }
    HASH_ITER(hh, backlog->queues, queue, next_queue)
        free_queue(backlog, queue);
    for (int what = 0; what < WAIT_KIND_COUNT; what++)
        add_standing(backlog, (enum wait_kind)what, -backlog->standing[what]);
    assert(backlog->agents == NULL && backlog->queues == NULL);
}

void backlog_free(struct backlog *backlog)
{
    if (backlog == NULL)
        return;
    clear(backlog);
    free(backlog);
}

const struct view_index backlog_index = {.count = count_order,
                                         .rows_of = rows_of,
                                         .encode = encode_tally,
                                         .decode = decode_tally,
                                         .clear = clear};
