/* SPDX-License-Identifier: Apache-2.0 */
#include "schemas/json/workflow_json.h"

#include "schemas/json/json_codec.h"

/* null when 0: no limit */
static json_t *optional_ms(int64_t ms)
{
    return ms == 0 ? json_null() : json_integer(ms);
}

static json_t *errors_json(const struct error_set *errors)
{
    json_t *names = json_array();
    for (uint32_t i = 0; i < errors->count; i++)
        json_array_append_new(names, json_codec_text(errors->names[i]));
    return names;
}

static json_t *policy_json(const struct retry_policy *policy)
{
    json_t *retriers = json_array();
    for (uint32_t i = 0; i < policy->count; i++) {
        const struct retrier *retrier = &policy->retriers[i];
        json_t *object = json_object();
        json_codec_put(object, "errors", errors_json(&retrier->errors));
        json_codec_put(object, "interval_ms", json_integer(retrier->interval_ms));
        json_codec_put(object, "backoff_rate",
                       json_real((double)retrier->backoff_rate_milli / 1000));
        json_codec_put(object, "max_attempts", json_integer(retrier->max_attempts));
        json_codec_put(object, "max_delay_ms", optional_ms(retrier->max_delay_ms));
        json_array_append_new(retriers, object);
    }
    return retriers;
}

static const char *outcome_json(enum outcome outcome)
{
    static const char *const words[] = {[OUTCOME_COMPENSATE] = "$compensate",
                                        [OUTCOME_ERROR] = "$error",
                                        [OUTCOME_CONTINUE] = "$continue"};
    _Static_assert(sizeof(words) / sizeof(words[0]) == OUTCOME_COUNT, "every outcome has a word");
    return words[outcome];
}

static json_t *catch_json(const struct workflow_step *step)
{
    json_t *catchers = json_array();
    for (uint32_t i = 0; i < step->catcher_count; i++) {
        json_t *object = json_object();
        json_codec_put(object, "errors", errors_json(&step->catchers[i].errors));
        json_codec_put(object, "next", json_string(outcome_json(step->catchers[i].next)));
        json_array_append_new(catchers, object);
    }
    return catchers;
}

static json_t *source_or_null(const struct expression *expression)
{
    return expression != NULL ? json_codec_text(expression->source) : json_null();
}

static json_t *step_json(const struct workflow *workflow, uint32_t index)
{
    const struct workflow_step *step = &workflow->steps[index];
    json_t *object = json_object();
    json_t *after = json_array();
    for (uint32_t i = 0; i < workflow->step_count; i++) {
        if ((step->after >> i & 1) != 0)
            json_array_append_new(after, json_codec_text(workflow->steps[i].name));
    }
    json_t *agents = json_array();
    for (uint32_t i = 0; i < step->agent_count; i++)
        json_array_append_new(agents, json_codec_text(step->agents[i]));
    json_codec_put(object, "step", json_codec_text(step->name));
    json_codec_put(object, "agent", json_codec_text_or_null(workflow_step_agent(step)));
    json_codec_put(object, "agents", agents);
    json_codec_put(object, "after", after);
    json_codec_put(object, "when", source_or_null(step->when));
    json_codec_put(object, "error", json_codec_text_or_null(step->fail.error));
    json_codec_put(object, "wait_seconds", source_or_null(step->wait.seconds));
    json_codec_put(object, "wait_until", source_or_null(step->wait.timestamp));
    json_codec_put(object, "until", source_or_null(step->until));
    json_codec_put(object, "timeout_ms", json_integer(step->timeout_ms));
    json_codec_put(object, "max_extension_ms", json_integer(step->max_extension_ms));
    json_codec_put(object, "retry", policy_json(&step->retry));
    json_codec_put(object, "compensate",
                   step->has_compensate ? json_codec_text(step->compensate.action) : json_null());
    json_codec_put(object, "pivot", json_boolean(step->pivot));
    json_codec_put(object, "catch", catch_json(step));
    json_codec_put(object, "on_exhausted", json_string(outcome_json(step->on_exhausted)));
    return object;
}

/* NULL: there was none; the names are those of the fields. */
static void put_activation(json_t *object, const char *by, const char *at, const char *reason,
                           const struct workflow_activation *activation)
{
    json_codec_put(object, by,
                   activation != NULL ? json_codec_text_or_null(activation->by) : json_null());
    json_codec_put(object, at,
                   activation != NULL ? json_codec_time_or_null(activation->at) : json_null());
    json_codec_put(object, reason,
                   activation != NULL ? json_codec_text_or_null(activation->reason) : json_null());
}

json_t *workflow_json(const struct workflow *workflow, const struct workflow_definition *definition,
                      const struct workflow_activation *latest, bool active, bool retired)
{
    json_t *object = json_object();
    json_t *steps = json_array();
    for (uint32_t i = 0; i < workflow->step_count; i++)
        json_array_append_new(steps, step_json(workflow, i));
    json_codec_put(object, "workflow", json_codec_text(workflow->name));
    json_codec_put(object, "version", json_integer(workflow->version));
    json_codec_put(object, "active", json_boolean(active));
    json_codec_put(object, "retired", json_boolean(retired));
    json_codec_put(object, "timeout_ms", optional_ms(workflow->timeout_ms));
    json_codec_put(object, "deployed_by", json_codec_text_or_null(definition->deployed_by));
    json_codec_put(object, "deployed_at", json_codec_time_or_null(definition->deployed_at));
    put_activation(object, "activated_by", "activated_at", "activation_reason",
                   retired ? NULL : latest);
    put_activation(object, "retired_by", "retired_at", "retirement_reason",
                   retired ? latest : NULL);
    json_codec_put(object, "steps", steps);
    return object;
}
