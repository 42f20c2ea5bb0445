/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/property/ownership_yaml.h"

#include <assert.h>
#include <stdarg.h>

struct writer {
    char *text;
    size_t size;
    size_t used;
};

static void __attribute__((format(printf, 2, 3)))
put(struct writer *writer, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int size =
        vsnprintf(writer->text + writer->used, writer->size - writer->used, format, arguments);
    va_end(arguments);
    assert(size >= 0 && (size_t)size < writer->size - writer->used);
    writer->used += (size_t)size;
}

static void put_errors(struct writer *writer, const struct error_set *errors)
{
    put(writer, "{ErrorEquals: [");
    for (uint32_t i = 0; i < errors->count; i++)
        put(writer, "%s%.*s", i > 0 ? ", " : "", TEXT_ARG(errors->names[i]));
    put(writer, "]");
}

static void put_retry(struct writer *writer, const char *indent, const struct retry_policy *retry)
{
    put(writer, "%sRetry:%s\n", indent, retry->count == 0 ? " []" : "");
    for (uint32_t i = 0; i < retry->count; i++) {
        const struct retrier *retrier = &retry->retriers[i];
        put(writer, "%s  - ", indent);
        put_errors(writer, &retrier->errors);
        put(writer,
            ", IntervalSeconds: %.3f, BackoffRate: %.3f, MaxAttempts: %u, JitterStrategy: %s",
            (double)retrier->interval_ms / 1000, (double)retrier->backoff_rate_milli / 1000,
            retrier->max_attempts, retrier->jitter == JITTER_FULL ? "FULL" : "NONE");
        if (retrier->max_delay_ms > 0)
            put(writer, ", MaxDelaySeconds: %.3f", (double)retrier->max_delay_ms / 1000);
        put(writer, "}\n");
    }
}

static void put_max_extension(struct writer *writer, const char *indent, int64_t ms)
{
    if (ms > 0)
        put(writer, "%sMaxExtensionSeconds: %.3f\n", indent, (double)ms / 1000);
}

static void put_step(struct writer *writer, const struct workflow *workflow, uint32_t index)
{
    const struct workflow_step *step = &workflow->steps[index];
    const char *separator = "";
    put(writer, "  - Name: %.*s\n    Agent: %.*s\n    After: [", TEXT_ARG(step->name),
        TEXT_ARG(step->agents[0]));
    for (uint32_t i = 0; i < workflow->step_count; i++) {
        if ((step->after >> i & 1) == 0)
            continue;
        put(writer, "%s%.*s", separator, TEXT_ARG(workflow->steps[i].name));
        separator = ", ";
    }
    put(writer, "]\n    TimeoutSeconds: %.3f\n", (double)step->timeout_ms / 1000);
    put_max_extension(writer, "    ", step->max_extension_ms);
    put_retry(writer, "    ", &step->retry);
    if (step->catcher_count > 0)
        put(writer, "    Catch:\n");
    for (uint32_t i = 0; i < step->catcher_count; i++) {
        put(writer, "      - ");
        put_errors(writer, &step->catchers[i].errors);
        put(writer, ", Next: %s}\n",
            step->catchers[i].next == OUTCOME_COMPENSATE ? "$compensate" : "$error");
    }
    put(writer, "    OnExhausted: %s\n",
        step->on_exhausted == OUTCOME_COMPENSATE ? "compensate" : "error");
    if (step->pivot)
        put(writer, "    Pivot: true\n");
    if (!step->has_compensate)
        return;
    put(writer, "    Compensate:\n      Action: %.*s\n      TimeoutSeconds: %.3f\n",
        TEXT_ARG(step->compensate.action), (double)step->compensate.timeout_ms / 1000);
    put_max_extension(writer, "      ", step->compensate.max_extension_ms);
    put_retry(writer, "      ", &step->compensate.retry);
}

size_t workflow_to_yaml(const struct workflow *workflow, char *ret_text, size_t size)
{
    struct writer writer = {ret_text, size, 0};
    put(&writer, "Name: %.*s\nVersion: %u\n", TEXT_ARG(workflow->name), workflow->version);
    if (workflow->timeout_ms > 0)
        put(&writer, "TimeoutSeconds: %.3f\n", (double)workflow->timeout_ms / 1000);
    put(&writer, "Steps:\n");
    for (uint32_t i = 0; i < workflow->step_count; i++)
        put_step(&writer, workflow, i);
    return writer.used;
}
