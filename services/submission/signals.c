/* SPDX-License-Identifier: Apache-2.0 */
#include "services/submission/signals.h"

#include "base/names.h"
#include "schemas/json/json_codec.h"
#include "schemas/json/signal_json.h"
#include "services/submission/order_lookup.h"

const char *const signal_fields[] = {"id", "payload", "choice", "comment", "by", "reply_to", NULL};

static void take_groups(const struct http_exchange *exchange, struct arena *arena,
                        struct signal_order *signal)
{
    struct text groups[USER_GROUPS_MAX];
    uint32_t count = http_user_groups(exchange, groups);
    struct text *copies = ARENA_ARRAY(arena, struct text, count);
    for (uint32_t i = 0; i < count; i++)
        copies[i] = arena_text(arena, groups[i]);
    signal->groups = (struct text_list){copies, count};
}

enum error_class signal_read(const struct http_exchange *exchange, struct text order_id,
                             struct arena *arena, struct signal_order *ret_signal,
                             struct error *ret_error)
{
    struct json_value body;
    struct signal_order signal;
    struct text user = text_of(http_user(exchange));
    enum error_class class = json_codec_parse(http_body(exchange), "body", arena, &body, ret_error);
    if (class == ERROR_OK)
        class = signal_json_read(body, signal_fields, arena, &signal, ret_error);
    if (class != ERROR_OK)
        return class;
    signal.order_id = order_id;
    signal.step = arena_text(arena, text_of(http_param(exchange, "step")));
    if (!name_valid(signal.step))
        return error_set(ret_error, CODE_BAD_FIELD, "the step must be " NAME_EXPECTED);
    if (!text_empty(user))
        signal.by = arena_text(arena, user);
    if (http_authenticated(exchange))
        signal.submitted_by = signal.by;
    take_groups(exchange, arena, &signal);
    *ret_signal = signal;
    return ERROR_OK;
}

/* ---- what the console knows ---- */

/* The element of the list whose "step" that is, or NULL. */
static const json_t *find_step(const json_t *list, struct text step)
{
    size_t i;
    const json_t *element;
    json_array_foreach(list, i, element) {
        const char *name = json_string_value(json_object_get(element, "step"));
        if (name != NULL && text_equal(text_of(name), step))
            return element;
    }
    return NULL;
}

/* Whether the step waits for a group of the sender. */
static bool awaits_sender(const json_t *order, const struct signal_order *signal)
{
    const json_t *waits = find_step(json_object_get(order, "waiting_for"), signal->step);
    const char *group = json_string_value(json_object_get(waits, "group"));
    bool awaits = false;
    for (uint32_t i = 0; group != NULL && i < signal->groups.count; i++)
        awaits = awaits || text_equal(text_of(group), signal->groups.items[i]);
    return awaits;
}

static bool is_one_of(const char *state, const char *const states[])
{
    bool is = false;
    for (size_t i = 0; state != NULL && states[i] != NULL; i++)
        is = is || strcmp(state, states[i]) == 0;
    return is;
}

int signal_status_by(const json_t *order, const struct signal_order *signal,
                     const struct http_exchange *exchange, struct error *ret_error)
{
    static const char *const ended[] = {"Processed", "Compensated", "Compensating", NULL};
    static const char *const open[] = {"Pending", "Waiting", NULL};
    const char *state = json_string_value(json_object_get(order, "state"));
    const json_t *step = find_step(json_object_get(order, "steps"), signal->step);
    const char *step_state = json_string_value(json_object_get(step, "state"));
    bool repeats = !text_empty(signal->id); /* perhaps what the step has had: the scheduler knows */
    bool has_agent = json_is_string(json_object_get(step, "agent"));
    if (!order_lookup_is_of(order, exchange) && !awaits_sender(order, signal)) {
        error_set(ret_error, CODE_UNKNOWN_ORDER, "order %.*s does not exist",
                  TEXT_ARG(signal->order_id));
        return 404;
    }
    if (!repeats && is_one_of(state, ended)) {
        error_set(ret_error, CODE_ALREADY_ENDED, "the order is %s", state);
        return 409;
    }
    if (step == NULL || has_agent) {
        error_set(ret_error, CODE_UNKNOWN_STEP, "the order has no Await %.*s",
                  TEXT_ARG(signal->step));
        return 404;
    }
    if (step_state == NULL || is_one_of(step_state, open) || repeats)
        return 0;
    error_set(ret_error, CODE_TOO_LATE, "step %.*s is %s", TEXT_ARG(signal->step), step_state);
    return 409;
}
