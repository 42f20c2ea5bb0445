/* SPDX-License-Identifier: Apache-2.0 */
/* The order as data: finding a step, deep copies, idempotency keys. */
#include "engine/order.h"

#include "base/arena.h"
#include "base/bytes.h"
#include "base/goods.h"
#include "base/names.h"
#include "base/utf8.h"

#include <assert.h>

#define INVALID(...) error_set(ret_error, CODE_INVALID_ORDER, __VA_ARGS__)

int order_find_step(const struct order *order, struct text name)
{
    assert(order->step_count <= WORKFLOW_STEPS_MAX);
    assert(order->step_count == 0 || order->steps != NULL);
    for (uint32_t i = 0; i < order->step_count; i++) {
        if (text_equal(order->steps[i].name, name))
            return (int)i;
    }
    return -1;
}

enum error_class order_id_validate(struct text order_id, struct error *ret_error)
{
    if (order_id.size == 0 || order_id.size > ORDER_ID_BYTES_MAX)
        return INVALID("order_id is %u bytes; it must be 1 to %d", order_id.size,
                       ORDER_ID_BYTES_MAX);
    if (!utf8_printable(order_id) || memchr(order_id.data, '/', order_id.size) != NULL)
        return INVALID("order_id must be printable UTF-8 without '/'");
    return ERROR_OK;
}

/* ---- sub-orders ---- */

enum error_class order_parent_validate(const struct order_parent *parent, struct error *ret_error)
{
    struct error why;
    if (order_id_validate(parent->order_id, &why) != ERROR_OK)
        return INVALID("parent.%.300s", why.message);
    if (!name_valid(parent->step))
        return INVALID("parent.step must be " NAME_EXPECTED);
    if (parent->item < -1 || parent->item >= SUBORDERS_MAX || parent->accepted_offset < 0)
        return INVALID("parent.item must be -1 to %d, and accepted_offset not negative",
                       SUBORDERS_MAX - 1);
    return ERROR_OK;
}

uint32_t suborders_count(const struct suborders *suborders, enum item_state state)
{
    uint32_t count = 0;
    for (uint32_t i = 0; suborders != NULL && i < suborders->item_count; i++)
        count += suborders->items[i].state == state;
    return count;
}

uint32_t suborders_unanswered(const struct suborders *suborders)
{
    uint32_t count = 0;
    for (uint32_t i = 0; suborders != NULL && i < suborders->item_count; i++)
        count += suborder_is_unanswered(suborders, i);
    return count;
}

bool order_parent_equal(const struct order_parent *a, const struct order_parent *b)
{
    if (a == NULL || b == NULL)
        return a == b;
    return text_equal(a->order_id, b->order_id) && a->accepted_offset == b->accepted_offset &&
           text_equal(a->step, b->step) && a->item == b->item && a->generation == b->generation;
}

/* An item's text counts as more than it has, for its state and its frame. */
static uint64_t item_bytes(struct text text)
{
    return text_empty(text) ? 0 : (uint64_t)text.size + ITEM_BYTES_MAX;
}

static uint64_t item_outputs(const struct suborders *suborders)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; suborders != NULL && i < suborders->item_count; i++)
        bytes += item_bytes(suborders->items[i].output);
    return bytes;
}

static uint64_t item_inputs(const struct suborders *suborders)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; suborders != NULL && i < suborders->item_count; i++)
        bytes += item_bytes(suborders->items[i].input);
    return bytes;
}

static uint64_t lists_bytes(const struct order *order)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < order->step_count; i++)
        bytes += order->steps[i].suborders != NULL ? order->steps[i].suborders->list.size : 0;
    return bytes;
}

static uint64_t item_inputs_bytes(const struct order *order)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < order->step_count; i++)
        bytes += item_inputs(order->steps[i].suborders);
    return bytes;
}

static uint64_t step_inputs_bytes(const struct order *order)
{
    uint64_t bytes = lists_bytes(order) + item_inputs_bytes(order);
    for (uint32_t i = 0; i < order->step_count; i++)
        bytes += order->steps[i].input.size;
    return bytes;
}

bool order_takes_item_output(const struct order *order, struct text output)
{
    uint64_t bytes = item_bytes(output);
    for (uint32_t i = 0; i < order->step_count; i++) {
        const struct step *step = &order->steps[i];
        uint32_t early = step->awaiting != NULL ? step->awaiting->payload.size : 0;
        bytes += (uint64_t)step->output.size + early + item_outputs(step->suborders);
    }
    return bytes <= ORDER_OUTPUTS_BYTES_MAX;
}

bool order_takes_list(const struct order *order, struct text list)
{
    uint64_t kept = STEP_INPUT_BYTES_MAX;
    return lists_bytes(order) + list.size <= ORDER_ITEMS_BYTES_MAX &&
           step_inputs_bytes(order) + list.size + kept <= ORDER_STEP_INPUTS_BYTES_MAX;
}

bool order_takes_item_input(const struct order *order, uint64_t more, struct text input)
{
    uint64_t bytes = more + item_bytes(input);
    uint64_t kept = STEP_INPUT_BYTES_MAX;
    return item_inputs_bytes(order) + bytes <= ORDER_ITEM_INPUTS_BYTES_MAX &&
           step_inputs_bytes(order) + bytes + kept <= ORDER_STEP_INPUTS_BYTES_MAX;
}

bool order_takes_output(const struct order *order, uint32_t index, struct text output)
{
    uint64_t bytes = output.size;
    assert(index < order->step_count);
    for (uint32_t i = 0; i < order->step_count; i++) {
        const struct step *step = &order->steps[i];
        uint32_t early = step->awaiting != NULL ? step->awaiting->payload.size : 0;
        bytes += i != index ? (uint64_t)step->output.size + early : 0;
        bytes += i != index ? item_outputs(step->suborders) : 0;
    }
    return bytes <= ORDER_OUTPUTS_BYTES_MAX;
}

bool order_takes_input(const struct order *order, uint32_t index, enum direction direction,
                       struct text input)
{
    uint64_t kept_for_undo = direction == DIRECTION_UNDO ? 0 : STEP_INPUT_BYTES_MAX;
    assert(index < order->step_count);
    uint64_t bytes = step_inputs_bytes(order) - order->steps[index].input.size + input.size;
    return bytes + kept_for_undo <= ORDER_STEP_INPUTS_BYTES_MAX;
}

uint64_t order_details_bytes(const struct order_details *details)
{
    enum { FIELD_OVERHEAD_BYTES = 10 }; /* at most this much besides a value's own bytes */
    const struct goods *goods = goods_or_none(details->goods);
    uint64_t bytes = 4096; /* all other fields at their limits, and the frame */
    for (uint32_t i = 0; i < goods->line_count; i++)
        bytes += (uint64_t)goods->lines[i].sku.size + goods->lines[i].description.size +
                 4 * FIELD_OVERHEAD_BYTES;
    for (uint32_t i = 0; i < details->attribute_count; i++)
        bytes += (uint64_t)details->attributes[i].name.size + details->attributes[i].value.size +
                 2 * FIELD_OVERHEAD_BYTES;
    return bytes + details->input.size;
}

bool order_step_queued(const struct order *order, const struct step *step)
{
    enum order_state state =
        step->direction == DIRECTION_DO ? ORDER_PROCESSING : ORDER_COMPENSATING;
    bool waits = step_wait(step).kind == WAIT_QUEUE;
    assert(!waits || step->state == STEP_PENDING);
    assert(step >= order->steps && step < order->steps + order->step_count);
    return waits && order->state == state && order->paused_at == 0;
}

static struct attribute *attributes_copy(const struct attribute *attributes, uint32_t count,
                                         struct arena *arena)
{
    assert(count <= ORDER_ATTRIBUTES_READ_MAX);
    if (count == 0)
        return NULL;
    assert(attributes != NULL);
    struct attribute *copies = ARENA_ARRAY(arena, struct attribute, count);
    for (uint32_t i = 0; i < count; i++) {
        copies[i].name = arena_text(arena, attributes[i].name);
        copies[i].value = arena_text(arena, attributes[i].value);
    }
    return copies;
}

static const struct order_parent *parent_copy(const struct order_parent *parent,
                                              struct arena *arena)
{
    if (parent == NULL)
        return NULL;
    struct order_parent *copy = ARENA_NEW(arena, struct order_parent);
    *copy = *parent;
    copy->order_id = arena_text(arena, parent->order_id);
    copy->step = arena_text(arena, parent->step);
    copy->root = arena_text(arena, parent->root);
    return copy;
}

void order_details_copy(const struct order_details *details, struct arena *arena,
                        struct order_details *ret_details)
{
    struct order_details copy = *details;
    copy.order_id = arena_text(arena, details->order_id);
    copy.customer = arena_text(arena, details->customer);
    copy.goods = goods_copy(details->goods, arena);
    copy.attributes = attributes_copy(details->attributes, details->attribute_count, arena);
    copy.reply_to = arena_text(arena, details->reply_to);
    copy.workflow = arena_text(arena, details->workflow);
    copy.traceparent = arena_text(arena, details->traceparent);
    copy.submitted_by = arena_text(arena, details->submitted_by);
    copy.input = arena_text(arena, details->input);
    copy.parent = parent_copy(details->parent, arena);
    *ret_details = copy;
}

struct text_list text_list_copy(struct text_list list, struct arena *arena)
{
    assert(list.count == 0 || list.items != NULL);
    if (list.count == 0)
        return (struct text_list){0};
    struct text *copies = ARENA_ARRAY(arena, struct text, list.count);
    for (uint32_t i = 0; i < list.count; i++)
        copies[i] = arena_text(arena, list.items[i]);
    return (struct text_list){copies, list.count};
}

static const struct awaiting *awaiting_copy(const struct awaiting *awaiting, struct arena *arena)
{
    if (awaiting == NULL)
        return NULL;
    struct awaiting *copy = ARENA_NEW(arena, struct awaiting);
    *copy = (struct awaiting){.group = arena_text(arena, awaiting->group),
                              .options = text_list_copy(awaiting->options, arena),
                              .question = arena_text(arena, awaiting->question),
                              .payload = arena_text(arena, awaiting->payload),
                              .by = arena_text(arena, awaiting->by),
                              .signal_id = arena_text(arena, awaiting->signal_id),
                              .signals = awaiting->signals};
    return copy;
}

static struct suborders *suborders_copy(const struct suborders *suborders, struct arena *arena)
{
    if (suborders == NULL)
        return NULL;
    struct suborders *copy = ARENA_NEW(arena, struct suborders);
    *copy = *suborders;
    copy->workflow = arena_text(arena, suborders->workflow);
    copy->list = arena_text(arena, suborders->list);
    copy->error_name = arena_text(arena, suborders->error_name);
    copy->error_message = arena_text(arena, suborders->error_message);
    if (suborders->item_count == 0)
        return copy;
    copy->items = ARENA_ARRAY(arena, struct suborder_item, suborders->item_count);
    for (uint32_t i = 0; i < suborders->item_count; i++) {
        copy->items[i] = suborders->items[i];
        copy->items[i].input = arena_text(arena, suborders->items[i].input);
        copy->items[i].output = arena_text(arena, suborders->items[i].output);
    }
    return copy;
}

static void step_copy(const struct step *step, struct arena *arena, struct step *ret_step)
{
    *ret_step = *step;
    ret_step->name = arena_text(arena, step->name);
    ret_step->agent = arena_text(arena, step->agent);
    ret_step->locked_by = arena_text(arena, step->locked_by);
    ret_step->input = arena_text(arena, step->input);
    ret_step->output = arena_text(arena, step->output);
    ret_step->error_name = arena_text(arena, step->error_name);
    ret_step->error_message = arena_text(arena, step->error_message);
    ret_step->awaiting = awaiting_copy(step->awaiting, arena);
    ret_step->suborders = suborders_copy(step->suborders, arena);
}

void order_copy(const struct order *order, struct arena *arena, struct order *ret_order)
{
    assert(order->step_count <= WORKFLOW_STEPS_MAX);
    assert(order->step_count == 0 || order->steps != NULL);
    struct order copy = *order;
    order_details_copy(&order->details, arena, &copy.details);
    copy.steps = order->step_count == 0 ? NULL : ARENA_ARRAY(arena, struct step, order->step_count);
    for (uint32_t i = 0; i < order->step_count; i++)
        step_copy(&order->steps[i], arena, &copy.steps[i]);
    copy.output = arena_text(arena, order->output);
    copy.output_problem = arena_text(arena, order->output_problem);
    copy.reason_code = arena_text(arena, order->reason_code);
    copy.reason = arena_text(arena, order->reason);
    copy.reason_by = arena_text(arena, order->reason_by);
    copy.paused_by = arena_text(arena, order->paused_by);
    copy.pause_reason = arena_text(arena, order->pause_reason);
    *ret_order = copy;
}

static char *put_number(char *at, uint32_t number)
{
    char digits[10];
    uint32_t count = 0;
    do {
        digits[count++] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    assert(count <= sizeof(digits));
    while (count > 0)
        *at++ = digits[--count];
    return at;
}

/* By hand: snprintf would be the slowest part of making a request. */
struct text order_idempotency_key(const struct order *order, const struct step *step,
                                  enum direction direction, struct arena *arena)
{
    struct text id = order->details.order_id;
    assert(id.size <= ORDER_ID_BYTES_MAX);
    assert(step->name.size <= NAME_BYTES_MAX);
    assert((unsigned)direction < DIRECTION_COUNT);
    char *key = arena_bytes(arena, id.size + step->name.size + 24);
    char *at = bytes_put_text(key, id);
    *at++ = '/';
    at = bytes_put_text(at, step->name);
    *at++ = '/';
    at = bytes_put_text(at, text_of(direction_name(direction)));
    *at++ = '/';
    at = put_number(at, step->generation[direction]);
    assert((size_t)(at - key) <= IDEMPOTENCY_KEY_BYTES_MAX);
    return (struct text){key, (uint32_t)(at - key)};
}

struct text order_suborder_id(struct text order_id, struct text step, int64_t item,
                              uint32_t generation, struct arena *arena)
{
    char *id = arena_bytes(arena, order_id.size + step.size + 32);
    char *at = bytes_put_text(id, order_id);
    assert(item >= -1 && item < SUBORDERS_MAX);
    *at++ = '~';
    at = bytes_put_text(at, step);
    if (item >= 0) {
        *at++ = '~';
        at = put_number(at, (uint32_t)item);
    }
    if (generation > 0) {
        *at++ = '~';
        *at++ = '~';
        at = put_number(at, generation);
    }
    return (struct text){id, (uint32_t)(at - id)};
}

struct text order_id_root(struct text order_id)
{
    const char *end = order_id.size > 0 ? memchr(order_id.data, '~', order_id.size) : NULL;
    if (end == NULL)
        return (struct text){0};
    return (struct text){order_id.data, (uint32_t)(end - order_id.data)};
}
