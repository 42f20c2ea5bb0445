/* SPDX-License-Identifier: Apache-2.0 */
/* The public face of a call (include/reeve/agent.h): what it asks for, and how it is finished. A
 * `struct reeve_agent_call` is a `struct agent_call`, a `struct reeve_agent_probe` a
 * `struct agent_probe`. */
#include "base/goods.h"
#include "base/heap_arena.h"
#include "services/agent/core/agent_ops.h"

#include <assert.h>
#include <reeve/agent.h>

_Static_assert((int)REEVE_PRICE_SIZE == (int)DECIMAL_TEXT_MAX, "a decimal and its NUL fit");

static const struct agent_call *call_of(const struct reeve_agent_call *call)
{
    return (const struct agent_call *)call;
}

static const struct step_request *request_of(const struct reeve_agent_call *call)
{
    return call_of(call)->request;
}

static struct reeve_text text_out(struct text text)
{
    return (struct reeve_text){text.size > 0 ? text.data : NULL, text.size};
}

/* ---- what it asks for ---- */

struct reeve_text reeve_agent_call_order_id(const struct reeve_agent_call *call)
{
    return text_out(request_of(call)->order_id);
}

struct reeve_text reeve_agent_call_step(const struct reeve_agent_call *call)
{
    return text_out(request_of(call)->ref.step);
}

struct reeve_text reeve_agent_call_action(const struct reeve_agent_call *call)
{
    return text_out(request_of(call)->action);
}

struct reeve_text reeve_agent_call_idempotency_key(const struct reeve_agent_call *call)
{
    return text_out(request_of(call)->idempotency_key);
}

struct reeve_text reeve_agent_call_do_key(const struct reeve_agent_call *call)
{
    return text_out(request_of(call)->do_key);
}

uint32_t reeve_agent_call_attempt(const struct reeve_agent_call *call)
{
    return request_of(call)->ref.attempt;
}

uint32_t reeve_agent_call_try_number(const struct reeve_agent_call *call)
{
    return call_of(call)->try_number;
}

int64_t reeve_agent_call_complete_by(const struct reeve_agent_call *call)
{
    return request_of(call)->complete_by;
}

int64_t reeve_agent_call_time_left_ms(const struct reeve_agent_call *call)
{
    return call_of(call)->time_left_ms;
}

void *reeve_agent_call_userdata(const struct reeve_agent_call *call)
{
    return call_of(call)->userdata;
}

void reeve_agent_call_set_userdata(struct reeve_agent_call *call, void *userdata)
{
    ((struct agent_call *)call)->userdata = userdata;
}

/* ---- the order ---- */

struct reeve_text reeve_agent_call_input(const struct reeve_agent_call *call)
{
    return text_out(request_of(call)->input);
}

struct reeve_text reeve_agent_call_order_input(const struct reeve_agent_call *call)
{
    return text_out(request_of(call)->order->input);
}

struct reeve_text reeve_agent_call_workflow(const struct reeve_agent_call *call)
{
    return text_out(request_of(call)->order->workflow);
}

struct reeve_text reeve_agent_call_customer(const struct reeve_agent_call *call)
{
    return text_out(request_of(call)->order->customer);
}

struct reeve_text reeve_agent_call_currency(const struct reeve_agent_call *call)
{
    return text_out(goods_or_none(request_of(call)->order->goods)->currency);
}

struct reeve_text reeve_agent_call_traceparent(const struct reeve_agent_call *call)
{
    return text_out(request_of(call)->order->traceparent);
}

uint32_t reeve_agent_call_line_count(const struct reeve_agent_call *call)
{
    return goods_or_none(request_of(call)->order->goods)->line_count;
}

struct reeve_order_line reeve_agent_call_line(const struct reeve_agent_call *call, uint32_t index)
{
    const struct goods *goods = goods_or_none(request_of(call)->order->goods);
    assert(index < goods->line_count);
    const struct order_line *line = &goods->lines[index];
    return (struct reeve_order_line){.sku = text_out(line->sku),
                                     .description = text_out(line->description),
                                     .quantity = line->quantity,
                                     .unit_price = line->unit_price.unscaled};
}

size_t reeve_price_format(int64_t price, char ret_text[REEVE_PRICE_SIZE])
{
    size_t size = decimal_format((struct decimal){price}, ret_text);
    assert(size < REEVE_PRICE_SIZE);
    ret_text[size] = '\0';
    return size;
}

uint32_t reeve_agent_call_attribute_count(const struct reeve_agent_call *call)
{
    return request_of(call)->order->attribute_count;
}

struct reeve_named_text reeve_agent_call_attribute_at(const struct reeve_agent_call *call,
                                                      uint32_t index)
{
    const struct order_details *order = request_of(call)->order;
    assert(index < order->attribute_count);
    return (struct reeve_named_text){text_out(order->attributes[index].name),
                                     text_out(order->attributes[index].value)};
}

struct reeve_text reeve_agent_call_attribute(const struct reeve_agent_call *call, const char *name)
{
    const struct order_details *order = request_of(call)->order;
    for (uint32_t i = 0; i < order->attribute_count; i++) {
        struct text value = order->attributes[i].value;
        if (text_equal(order->attributes[i].name, text_of(name)))
            return (struct reeve_text){value.size > 0 ? value.data : "", value.size};
    }
    return (struct reeve_text){NULL, 0};
}

uint32_t reeve_agent_call_output_count(const struct reeve_agent_call *call)
{
    return request_of(call)->output_count;
}

struct reeve_named_text reeve_agent_call_output_at(const struct reeve_agent_call *call,
                                                   uint32_t index)
{
    const struct step_request *request = request_of(call);
    assert(index < request->output_count);
    return (struct reeve_named_text){text_out(request->outputs[index].step),
                                     text_out(request->outputs[index].output)};
}

struct reeve_text reeve_agent_call_output(const struct reeve_agent_call *call, const char *step)
{
    const struct step_request *request = request_of(call);
    for (uint32_t i = 0; i < request->output_count; i++)
        if (text_equal(request->outputs[i].step, text_of(step)))
            return text_out(request->outputs[i].output);
    return (struct reeve_text){NULL, 0};
}

/* ---- finishing ---- */

void reeve_agent_call_succeed(struct reeve_agent_call *call, const char *output)
{
    agent_call_succeed((struct agent_call *)call, text_of(output));
}

void reeve_agent_call_fail(struct reeve_agent_call *call, const struct reeve_agent_failure *failure)
{
    static const enum effect effects[] = {[REEVE_EFFECT_UNKNOWN] = EFFECT_UNKNOWN,
                                          [REEVE_EFFECT_NONE] = EFFECT_NONE,
                                          [REEVE_EFFECT_APPLIED] = EFFECT_APPLIED};
    assert((size_t)failure->effect < sizeof(effects) / sizeof(effects[0]));
    agent_call_fail((struct agent_call *)call,
                    &(struct agent_failure){.name = text_of(failure->name),
                                            .message = text_of(failure->message),
                                            .effect = effects[failure->effect],
                                            .retriable = failure->retriable,
                                            .service_unhealthy = failure->service_unhealthy,
                                            .retry_after_ms = failure->retry_after_ms});
}

void reeve_agent_call_accept(struct reeve_agent_call *call)
{
    agent_call_accept((struct agent_call *)call);
}

size_t reeve_agent_call_callback_url(const struct reeve_agent_call *call, char *ret_url,
                                     size_t size)
{
    struct heap_arena scratch;
    heap_arena_init(&scratch, 4096);
    struct text url = agent_call_callback(call_of(call), &scratch.arena);
    size_t copied = url.size < size ? url.size : size > 0 ? size - 1 : 0;
    if (copied > 0)
        memcpy(ret_url, url.data, copied);
    if (size > 0)
        ret_url[copied] = '\0';
    size_t length = url.size;
    heap_arena_deinit(&scratch);
    return length;
}

void reeve_agent_call_extend(struct reeve_agent_call *call, int64_t extra_ms, const char *progress)
{
    assert(extra_ms > 0);
    if (extra_ms > DURATION_MS_MAX)
        extra_ms = DURATION_MS_MAX;
    agent_call_extend((struct agent_call *)call, extra_ms, text_of(progress));
}

void reeve_agent_probe_end(struct reeve_agent_probe *probe, bool healthy, const char *why)
{
    agent_probe_end((struct agent_probe *)probe, healthy, text_of(why));
}
