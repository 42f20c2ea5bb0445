/* SPDX-License-Identifier: Apache-2.0 */
#include "schemas/json/workflow_json.h"

#include "schemas/json/json_codec.h"

/* null when 0: no limit */
static json_t *optional_ms(int64_t ms)
{
    return ms == 0 ? json_null() : json_integer(ms);
}

static json_t *policy_json(const struct retry_policy *policy)
{
    json_t *retriers = json_array();
    for (uint32_t i = 0; i < policy->count; i++) {
        const struct retrier *retrier = &policy->retriers[i];
        json_t *errors = json_array();
        for (uint32_t e = 0; e < retrier->errors.count; e++)
            json_array_append_new(errors, json_codec_text(retrier->errors.names[e]));
        json_t *object = json_object();
        json_codec_put(object, "errors", errors);
        json_codec_put(object, "interval_ms", json_integer(retrier->interval_ms));
        json_codec_put(object, "backoff_rate",
                       json_real((double)retrier->backoff_rate_milli / 1000));
        json_codec_put(object, "max_attempts", json_integer(retrier->max_attempts));
        json_codec_put(object, "max_delay_ms", optional_ms(retrier->max_delay_ms));
        json_array_append_new(retriers, object);
    }
    return retriers;
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
    json_codec_put(object, "agent", json_codec_text(workflow_step_agent(step)));
    json_codec_put(object, "agents", agents);
    json_codec_put(object, "after", after);
    json_codec_put(object, "timeout_ms", json_integer(step->timeout_ms));
    json_codec_put(object, "max_extension_ms", json_integer(step->max_extension_ms));
    json_codec_put(object, "retry", policy_json(&step->retry));
    json_codec_put(object, "compensate",
                   step->has_compensate ? json_codec_text(step->compensate.action) : json_null());
    json_codec_put(object, "pivot", json_boolean(step->pivot));
    json_codec_put(
        object, "on_exhausted",
        json_string(step->on_exhausted == OUTCOME_COMPENSATE ? "$compensate" : "$error"));
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
