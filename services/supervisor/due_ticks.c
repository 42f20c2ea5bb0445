/* SPDX-License-Identifier: Apache-2.0 */
#include "services/supervisor/due_ticks.h"

#include "services/supervisor/schedules.h"

#include <assert.h>
#include <stdlib.h>

void due_ticks_init(struct due_ticks *due, int64_t began, int64_t window_max,
                    void (*missed)(void *ctx, struct text name, uint64_t count), void *ctx)
{
    *due =
        (struct due_ticks){.began = began, .window_max = window_max, .missed = missed, .ctx = ctx};
}

static void drop(struct due_ticks *due, struct due_schedule *schedule)
{
    HASH_DEL(due->schedules, schedule);
    free(schedule);
}

void due_ticks_deinit(struct due_ticks *due)
{
    struct due_schedule *schedule, *next;
    HASH_ITER(hh, due->schedules, schedule, next)
        drop(due, schedule);
}

static struct due_schedule *find(const struct due_ticks *due, struct text name)
{
    struct due_schedule *schedule;
    HASH_FIND(hh, due->schedules, name.data, name.size, schedule);
    return schedule;
}

void due_ticks_forget(struct due_ticks *due, struct text name)
{
    struct due_schedule *schedule = find(due, name);
    if (schedule != NULL)
        drop(due, schedule);
}

/* No tick before the moment that a record was appended is due by it, and none that is older than
 * CatchUpSeconds. During the term a tick is not late only because this process was busy. */
static int64_t first_moment(const struct due_ticks *due, const struct schedule_entry *entry,
                            int64_t now)
{
    int64_t catch_up = entry->schedule->catch_up_s;
    int64_t appended = (entry->appended_at + 999) / 1000;
    if (catch_up > due->window_max)
        catch_up = due->window_max;
    int64_t first = now - catch_up;
    if (catch_up < SCHEDULES_LATE_S) {
        int64_t in_term = now - SCHEDULES_LATE_S;
        first = due->began - catch_up > in_term ? due->began - catch_up : in_term;
    }
    return first > appended ? first : appended;
}

/* The ticks before `first` will not be submitted, and of those after it only the newest. */
static void skip_missed(struct due_ticks *due, const struct schedule_entry *entry,
                        struct due_schedule *schedule, int64_t first, int64_t now)
{
    int64_t some[SCHEDULES_TICKS_MAX];
    const struct ticks *ticks = &entry->schedule->ticks;
    int64_t next = schedule->next < first ? ticks_next(ticks, first - 1) : schedule->next;
    if (ticks_last(ticks, next, now, SCHEDULES_TICKS_MAX, some) == SCHEDULES_TICKS_MAX)
        next = some[0];
    if (next == schedule->next)
        return;
    /* How many, as far as it is of interest. */
    due->missed(due->ctx, text_of(schedule->name),
                ticks_last(ticks, schedule->next, next - 1, SCHEDULES_TICKS_MAX, some));
    schedule->next = next;
}

static struct due_schedule *add(struct due_ticks *due, const struct schedule_entry *entry,
                                int64_t now)
{
    struct due_schedule *schedule = calloc(1, sizeof(*schedule));
    struct text name = entry->definition.name;
    assert(schedule != NULL && name.size <= NAME_BYTES_MAX);
    assert(HASH_COUNT(due->schedules) < SCHEDULES_MAX);
    memcpy(schedule->name, name.data, name.size);
    schedule->number = entry->number;
    schedule->next = ticks_next(&entry->schedule->ticks, first_moment(due, entry, now) - 1);
    HASH_ADD_KEYPTR(hh, due->schedules, schedule->name, name.size, schedule);
    return schedule;
}

struct due_schedule *due_ticks_of(struct due_ticks *due, const struct schedule_entry *entry,
                                  int64_t now)
{
    struct due_schedule *schedule = find(due, entry->definition.name);
    if (schedule != NULL && schedule->number != entry->number) {
        drop(due, schedule);
        schedule = NULL;
    }
    if (entry->schedule == NULL || entry->definition.paused)
        return NULL;
    if (schedule == NULL)
        schedule = add(due, entry, now);
    if (schedule->next <= now && schedule->looked != now) {
        skip_missed(due, entry, schedule, first_moment(due, entry, now), now);
        schedule->looked = now;
    }
    return schedule;
}

void due_ticks_take(struct due_schedule *schedule, const struct schedule_entry *entry)
{
    assert(schedule->number == entry->number && schedule->next != TICK_NEVER);
    schedule->next = ticks_next(&entry->schedule->ticks, schedule->next);
}

void due_ticks_give_back(struct due_ticks *due, struct text name, uint64_t number, int64_t tick)
{
    struct due_schedule *schedule = find(due, name);
    if (schedule != NULL && schedule->number == number && tick < schedule->next)
        schedule->next = tick;
}
