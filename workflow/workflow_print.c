/* SPDX-License-Identifier: Apache-2.0 */
/* Workflows as JSON. See workflow_print.h. */
#include "workflow/workflow_print.h"

#include <assert.h>
#include <jansson.h>
#include <stdlib.h>
#include <xxhash.h>

/* Of the largest duration with its thousandths; jansson's default would print 0.2 in 17 digits. */
enum { NUMBER_DIGITS = 12 };

static void set(json_t *object, const char *name, json_t *value)
{
    assert(value != NULL);
    int rc = json_object_set_new(object, name, value);
    assert(rc == 0);
    (void)rc;
}

static void append(json_t *array, json_t *value)
{
    assert(value != NULL);
    int rc = json_array_append_new(array, value);
    assert(rc == 0);
    (void)rc;
}

static json_t *text_json(struct text text)
{
    return json_stringn(text.data != NULL ? text.data : "", text.size);
}

/* Whole seconds without a point. */
static json_t *milli_json(int64_t milli)
{
    return milli % 1000 == 0 ? json_integer(milli / 1000) : json_real((double)milli / 1000);
}

static json_t *errors_json(const struct error_set *errors)
{
    json_t *array = json_array();
    for (uint32_t i = 0; i < errors->count; i++)
        append(array, text_json(errors->names[i]));
    return array;
}

static json_t *retry_json(const struct retry_policy *policy)
{
    json_t *array = json_array();
    for (uint32_t i = 0; i < policy->count; i++) {
        const struct retrier *retrier = &policy->retriers[i];
        json_t *object = json_object();
        set(object, "ErrorEquals", errors_json(&retrier->errors));
        set(object, "IntervalSeconds", milli_json(retrier->interval_ms));
        set(object, "BackoffRate", milli_json(retrier->backoff_rate_milli));
        set(object, "MaxAttempts", json_integer(retrier->max_attempts));
        if (retrier->max_delay_ms > 0)
            set(object, "MaxDelaySeconds", milli_json(retrier->max_delay_ms));
        set(object, "JitterStrategy",
            json_string(retrier->jitter == JITTER_FULL ? "FULL" : "NONE"));
        append(array, object);
    }
    return array;
}

static json_t *catch_json(const struct workflow_step *step)
{
    json_t *array = json_array();
    for (uint32_t i = 0; i < step->catcher_count; i++) {
        const struct catcher *catcher = &step->catchers[i];
        json_t *object = json_object();
        set(object, "ErrorEquals", errors_json(&catcher->errors));
        set(object, "Next",
            json_string(catcher->next == OUTCOME_COMPENSATE ? "$compensate" : "$error"));
        append(array, object);
    }
    return array;
}

static json_t *after_json(const struct workflow *workflow, uint64_t after)
{
    json_t *array = json_array();
    for (uint32_t i = 0; i < workflow->step_count; i++) {
        if ((after & (UINT64_C(1) << i)) != 0)
            append(array, text_json(workflow->steps[i].name));
    }
    return array;
}

/* One agent as before there could be several: the hash of what is deployed stays. */
static void set_agents(json_t *object, const struct workflow_step *step)
{
    if (step->agent_count == 1) {
        set(object, "Agent", text_json(step->agents[0]));
        return;
    }
    json_t *agents = json_array();
    for (uint32_t i = 0; i < step->agent_count; i++)
        append(agents, text_json(step->agents[i]));
    set(object, "Agents", agents);
}

static void set_timeout(json_t *object, int64_t timeout_ms, int64_t max_extension_ms)
{
    set(object, "TimeoutSeconds", milli_json(timeout_ms));
    if (max_extension_ms > 0)
        set(object, "MaxExtensionSeconds", milli_json(max_extension_ms));
}

static json_t *step_json(const struct workflow *workflow, const struct workflow_step *step)
{
    json_t *object = json_object();
    set(object, "Name", text_json(step->name));
    set_agents(object, step);
    set(object, "After", after_json(workflow, step->after));
    set_timeout(object, step->timeout_ms, step->max_extension_ms);
    set(object, "Retry", retry_json(&step->retry));
    set(object, "Catch", catch_json(step));
    if (step->has_compensate) {
        json_t *compensate = json_object();
        set(compensate, "Action", text_json(step->compensate.action));
        set_timeout(compensate, step->compensate.timeout_ms, step->compensate.max_extension_ms);
        set(compensate, "Retry", retry_json(&step->compensate.retry));
        set(object, "Compensate", compensate);
    }
    set(object, "Pivot", json_boolean(step->pivot));
    set(object, "OnExhausted",
        json_string(step->on_exhausted == OUTCOME_COMPENSATE ? "compensate" : "error"));
    return object;
}

/* Malloc'ed, without a newline at the end. */
static char *print(const struct workflow *workflow)
{
    json_t *object = json_object();
    set(object, "Name", text_json(workflow->name));
    set(object, "Version", json_integer(workflow->version));
    if (workflow->timeout_ms > 0)
        set(object, "TimeoutSeconds", milli_json(workflow->timeout_ms));
    json_t *steps = json_array();
    for (uint32_t i = 0; i < workflow->step_count; i++)
        append(steps, step_json(workflow, &workflow->steps[i]));
    set(object, "Steps", steps);
    char *text = json_dumps(object, JSON_INDENT(2) | JSON_REAL_PRECISION(NUMBER_DIGITS));
    assert(text != NULL);
    json_decref(object);
    return text;
}

struct text workflow_print(const struct workflow *workflow, struct arena *arena)
{
    char *printed = print(workflow);
    size_t size = strlen(printed);
    char *copy = arena_bytes(arena, size + 1);
    memcpy(copy, printed, size);
    copy[size] = '\n';
    free(printed);
    return (struct text){copy, (uint32_t)size + 1};
}

struct content_hash workflow_hash(const struct workflow *workflow)
{
    char *printed = print(workflow);
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, XXH3_128bits(printed, strlen(printed)));
    free(printed);
    struct content_hash hash;
    memcpy(hash.bytes, canonical.digest, sizeof(hash.bytes));
    return hash;
}
