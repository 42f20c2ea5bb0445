/* SPDX-License-Identifier: Apache-2.0 */
/* Where the log of a partition begins, and what the groups of events.trim.groups have read of it.
 *
 * A committed offset does not say of which log it is. One beyond the end is of another one: of the
 * topic before it was deleted and created again, or of another cluster, from which the group was
 * mirrored or restored. (A broker itself forgets the offsets of a topic that is deleted.) It would
 * seem to be one of this log as soon as that has grown past it, so it is remembered, over all
 * claims of this process, until the group commits another one. Therefore the groups are asked at
 * each look, the first one right after the claim, and not only when something is old enough to go.
 *
 * The groups are asked before the end of the log: a reader may be ahead of what this owner knows,
 * and commit meanwhile. */
#include "platform/logger.h"
#include "services/scheduler/owner/internal.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- the alert ---- */

static void alert_missing(struct owner *owner, const struct trim_group *group, const char *name)
{
    struct error alert;
    const char *topic = owner->cluster->topics.events;
    if (owner->trim.group_alerted)
        return;
    owner->trim.group_alerted = true;
    if (group->foreign >= 0)
        error_set(&alert, CODE_TRIM_GROUP_MISSING,
                  "%s[%d] is not trimmed: offset %" PRId64 ", which the group %s of "
                  "events.trim.groups has committed, is of another log, as this one had not come "
                  "that far. Reset it to the earliest offset before its reader starts, or take the "
                  "group out of the list",
                  topic, owner->partition, group->foreign, name);
    else
        error_set(&alert, CODE_TRIM_GROUP_MISSING,
                  "%s[%d] is not trimmed: the group %s of events.trim.groups has no committed "
                  "offset that is in the log. Start its reader, reset its offset, or take the "
                  "group out of the list",
                  topic, owner->partition, name);
    partition_alert(owner->options.alerts, owner->cluster, owner->partition, true, alert.code,
                    alert.message);
}

void owner_archive_close_alert(struct owner *owner, const char *why)
{
    if (owner->trim.group_alerted)
        partition_alert(owner->options.alerts, owner->cluster, owner->partition, false,
                        CODE_TRIM_GROUP_MISSING, why);
    owner->trim.group_alerted = false;
}

/* ---- the answers ---- */

/* `end`: of the log, later than the group committed. */
static int64_t read_by(struct trim_group *group, int64_t end)
{
    bool foreign = group->committed > end || group->committed == group->foreign;
    group->foreign = foreign ? group->committed : -1;
    return foreign ? -1 : group->committed;
}

static void take_answers(struct owner *owner, int64_t end)
{
    struct owner_trim *trim = &owner->trim;
    uint32_t last = 0;
    trim->archived = INT64_MAX;
    for (uint32_t i = 0; i < owner->options.trim_group_count; i++) {
        int64_t read = read_by(&trim->groups[i], end);
        last = read < trim->archived ? i : last;
        trim->archived = read < trim->archived ? read : trim->archived;
    }
    if (trim->archived < trim->log_start)
        alert_missing(owner, &trim->groups[last], owner->options.trim_groups[last]);
    else
        owner_archive_close_alert(owner,
                                  "every group of events.trim.groups has a place in the log again");
}

static bool is_answer(struct owner *owner)
{
    return owner_answered(owner, owner->claim_number) && owner->trim.phase == TRIM_ASKING;
}

static void on_bounds(void *ctx, int64_t low, int64_t high, const struct error *error)
{
    struct owner *owner = ctx;
    struct owner_trim *trim = &owner->trim;
    if (!is_answer(owner))
        return;
    if (error != NULL && error_is(error))
        trim->unanswered = true;
    else
        trim->log_start = low;
    if (!trim->unanswered)
        take_answers(owner, high);
    owner_trim_answered(owner);
}

static void ask_bounds(struct owner *owner)
{
    owner->outstanding++;
    broker_offsets(owner->cluster->broker, owner->cluster->topics.events, owner->partition,
                   on_bounds, owner);
}

static struct trim_group *group_of(struct owner *owner, const char *name)
{
    uint32_t i = 0;
    while (strcmp(owner->options.trim_groups[i], name) != 0)
        i++;
    assert(i < owner->options.trim_group_count);
    return &owner->trim.groups[i];
}

static void on_group_position(void *ctx, const char *group, int64_t offset,
                              const struct error *error)
{
    struct owner *owner = ctx;
    struct owner_trim *trim = &owner->trim;
    if (!is_answer(owner))
        return;
    if (error != NULL && error_is(error)) {
        log_warning_limited("the log is not trimmed: a group's offset is unknown",
                            LOG_I64("partition", owner->partition), LOG_STR("group", group),
                            LOG_ERR(error));
        trim->unanswered = true;
    } else
        group_of(owner, group)->committed = offset;
    assert(trim->answers_left > 0);
    if (--trim->answers_left == 0)
        ask_bounds(owner);
}

void owner_archive_ask(struct owner *owner)
{
    struct owner_trim *trim = &owner->trim;
    const struct owner_options *options = &owner->options;
    trim->phase = TRIM_ASKING;
    trim->unanswered = false;
    trim->answers_left = options->trim_group_count;
    owner->outstanding += trim->answers_left;
    for (uint32_t i = 0; i < options->trim_group_count; i++)
        broker_position_of(owner->cluster->broker, options->trim_groups[i],
                           owner->cluster->topics.events, owner->partition, on_group_position,
                           owner);
    if (options->trim_group_count == 0)
        ask_bounds(owner);
}

/* ---- begin and end ---- */

void owner_archive_init(struct owner *owner)
{
    uint32_t count = owner->options.trim_group_count;
    owner->trim.groups = calloc(count > 0 ? count : 1, sizeof(*owner->trim.groups));
    assert(owner->trim.groups != NULL);
    for (uint32_t i = 0; i < count; i++)
        owner->trim.groups[i].committed = owner->trim.groups[i].foreign = -1;
}

void owner_archive_free(struct owner *owner)
{
    free(owner->trim.groups);
    owner->trim.groups = NULL;
}
