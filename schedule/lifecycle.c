/* SPDX-License-Identifier: Apache-2.0 */
#include "schedule/lifecycle.h"

enum error_class schedule_deploy(const struct schedule_registry *registry,
                                 const struct schedule *schedule, struct text text,
                                 enum workflow_format format, const struct schedule_author *author,
                                 enum schedule_deployment *ret_result,
                                 struct schedule_definition *ret_definition,
                                 struct error *ret_error)
{
    const struct schedule_entry *entry = schedule_registry_find(registry, schedule->name);
    struct text format_name = text_of(workflow_format_name(format));
    if (entry == NULL && schedule_registry_count(registry) >= SCHEDULES_MAX)
        return error_set(ret_error, CODE_TOO_MANY_SCHEDULES,
                         "%d schedules are deployed already: delete one first", SCHEDULES_MAX);
    *ret_result = entry == NULL ? SCHEDULE_IS_NEW : SCHEDULE_IS_CHANGED;
    *ret_definition = (struct schedule_definition){.name = schedule->name};
    if (entry != NULL) {
        *ret_definition = entry->definition;
        if (entry->schedule != NULL && text_equal(entry->definition.text, text) &&
            text_equal(entry->definition.format, format_name))
            *ret_result = SCHEDULE_IS_THE_SAME;
    }
    ret_definition->text = text;
    ret_definition->format = format_name;
    ret_definition->deployed_by = author->by;
    ret_definition->deployed_at = author->at;
    return ERROR_OK;
}

const char *schedule_deployment_word(enum schedule_deployment result, bool paused)
{
    switch (result) {
    case SCHEDULE_IS_NEW:
        return "deployed";
    case SCHEDULE_IS_CHANGED:
        return paused ? "changed, paused" : "changed";
    case SCHEDULE_IS_THE_SAME:
        return paused ? "already deployed, paused" : "already deployed";
    }
    return "?";
}

enum error_class schedule_pause(const struct schedule_registry *registry, struct text name,
                                bool pause, const struct schedule_author *author,
                                struct schedule_definition *ret_definition, struct error *ret_error)
{
    const struct schedule_entry *entry = schedule_registry_find(registry, name);
    if (entry == NULL || text_empty(entry->definition.text))
        return schedule_registry_get(registry, name, &entry, ret_error);
    const struct schedule_definition *now = &entry->definition;
    if (pause && now->paused)
        return error_set(ret_error, CODE_ALREADY_PAUSED, "%.*s has paused schedule %.*s: %.*s",
                         TEXT_ARG(now->by), TEXT_ARG(name), TEXT_ARG(now->reason));
    if (!pause && !now->paused)
        return error_set(ret_error, CODE_NOT_PAUSED, "schedule %.*s is not paused", TEXT_ARG(name));
    *ret_definition = *now;
    ret_definition->paused = pause;
    ret_definition->by = author->by;
    ret_definition->reason = author->reason;
    ret_definition->at = author->at;
    return ERROR_OK;
}

enum error_class schedule_backfill(const struct schedule *schedule, int64_t from, int64_t to,
                                   int64_t now, int64_t ret_ticks[SCHEDULE_BACKFILL_MAX],
                                   uint32_t *ret_count, struct error *ret_error)
{
    uint32_t count = 0;
    if (to < from)
        return error_set(ret_error, CODE_OUT_OF_RANGE,
                         "the span ends before it begins: give the earlier time first");
    if (to > now)
        return error_set(ret_error, CODE_OUT_OF_RANGE,
                         "the span ends in the future: what is due there will be submitted then");
    for (int64_t tick = ticks_next(&schedule->ticks, from - 1); tick <= to;
         tick = ticks_next(&schedule->ticks, tick)) {
        if (count == SCHEDULE_BACKFILL_MAX)
            return error_set(
                ret_error, CODE_TOO_MANY_TICKS,
                "more than %d ticks of schedule %.*s are in the span: take it in parts",
                SCHEDULE_BACKFILL_MAX, TEXT_ARG(schedule->name));
        ret_ticks[count++] = tick;
    }
    *ret_count = count;
    return ERROR_OK;
}
