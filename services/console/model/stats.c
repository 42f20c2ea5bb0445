/* SPDX-License-Identifier: Apache-2.0 */
/* See stats.h; stats_tally.c writes and reads the tally.
 *
 * Steps and causes beyond the limits count as "other". No new row begins while there are any, so
 * that an order leaves the number that it came to. */
#include "services/console/model/stats_internal.h"

#include "services/console/model/cause_pattern.h"

#include <assert.h>
#include <stdlib.h>

/* ---- keys ---- */

/* Appends the text, without its zeros, and a zero. */
static uint32_t put_part(char *key, uint32_t size, struct text text, uint32_t most)
{
    uint32_t more = text.size < most ? text.size : most;
    if (more > 0)
        memcpy(key + size, text.data, more);
    for (char *zero = more > 0 ? memchr(key + size, '\0', more) : NULL; zero != NULL;
         zero = memchr(zero, '\0', (size_t)(key + size + more - zero)))
        *zero = ' ';
    key[size + more] = '\0';
    return size + more + 1;
}

static uint32_t step_key(const struct order *order, struct text step, char key[STATS_KEY_MAX])
{
    uint32_t size = put_part(key, 0, order->details.workflow, BODY_NAME_BYTES_MAX);
    return put_part(key, size, step, NAME_BYTES_MAX);
}

/* The step in Error; NULL: there is none. */
static const struct step *failed_step(const struct order *order)
{
    for (uint32_t i = 0; i < order->step_count; i++)
        if (order->steps[i].state == STEP_ERROR)
            return &order->steps[i];
    return NULL;
}

static struct text message_of(const struct order *order)
{
    const struct step *step = failed_step(order);
    return step != NULL ? step->error_message : order->reason;
}

static uint32_t cause_key(const struct order *order, char key[STATS_KEY_MAX])
{
    char buffer[STATS_MESSAGE_MAX - 1];
    const struct step *step = failed_step(order);
    struct text pattern =
        cause_pattern(message_of(order), order->details.order_id, buffer, sizeof(buffer));
    uint32_t size = step_key(order, step != NULL ? step->name : TEXT(""), key);
    size = put_part(key, size, step != NULL ? step->error_name : order->reason_code,
                    ERROR_NAME_BYTES_MAX);
    return put_part(key, size, pattern, STATS_MESSAGE_MAX - 1);
}

struct text stats_key_part(const char *key, uint32_t key_size, uint32_t n)
{
    uint32_t from = 0;
    for (uint32_t at = 0; at < key_size; at++) {
        if (key[at] != '\0')
            continue;
        if (n-- == 0)
            return (struct text){key + from, at - from};
        from = at + 1;
    }
    return (struct text){0};
}

/* ---- steps in flight and causes ---- */

/* `more` may be negative; `at`: when the orders came, with this message. */
static void add_orders(struct stats_group **groups, uint32_t groups_max, int64_t *others,
                       struct text key, struct text message, int64_t more, int64_t at)
{
    struct stats_group *group = NULL;
    HASH_FIND(hh, *groups, key.data, key.size, group);
    bool full = HASH_COUNT(*groups) >= groups_max;
    if (group == NULL && (more < 0 || full || *others > 0)) {
        *others += more;
        assert(*others >= 0);
        return;
    }
    if (group == NULL) {
        group = calloc(1, sizeof(*group));
        assert(group != NULL && key.size <= sizeof(group->key));
        memcpy(group->key, key.data, key.size);
        group->key_size = key.size;
        HASH_ADD(hh, *groups, key[0], key.size, group);
    }
    group->orders += more;
    assert(group->orders >= 0);
    if (more > 0 && (at > group->latest_at || group->orders == more)) {
        group->latest_at = at;
        group->message_size = message.size < STATS_MESSAGE_MAX ? message.size : STATS_MESSAGE_MAX;
        if (group->message_size > 0)
            memcpy(group->message, message.data, group->message_size);
    }
    if (group->orders > 0)
        return;
    HASH_DEL(*groups, group);
    free(group);
}

void stats_add_steps(struct stats *stats, const char *key, uint32_t size, int64_t more)
{
    add_orders(&stats->steps, STATS_STEPS_MAX, &stats->other_steps, (struct text){key, size},
               (struct text){0}, more, 0);
}

void stats_add_cause(struct stats *stats, const char *key, uint32_t size, struct text message,
                     int64_t more, int64_t at)
{
    add_orders(&stats->causes, STATS_ERRORS_MAX, &stats->other_causes, (struct text){key, size},
               message, more, at);
}

static void count_order(void *ctx, const struct order *order, int sign)
{
    struct stats *stats = ctx;
    char key[STATS_KEY_MAX];
    if (order_ended(order))
        return;
    for (uint32_t i = 0; i < order->step_count; i++) {
        const struct step *step = &order->steps[i];
        if (step_runs_or_waits(step))
            stats_add_steps(stats, key, step_key(order, step->name, key), sign);
    }
    if (order->state == ORDER_ERROR)
        stats_add_cause(stats, key, cause_key(order, key), message_of(order), sign,
                        order->updated_at);
}

/* A step that failed before the order turned back is still in Error while its steps are undone. */
static int64_t in_error_since(const struct order *order)
{
    enum direction direction =
        order->error_from == ORDER_COMPENSATING ? DIRECTION_UNDO : DIRECTION_DO;
    int64_t since = order->updated_at;
    for (uint32_t i = 0; i < order->step_count; i++) {
        const struct step *step = &order->steps[i];
        if (step->state == STEP_ERROR && step->direction == direction && step->ended_at > 0 &&
            step->ended_at < since)
            since = step->ended_at;
    }
    return since;
}

static uint32_t rows_of(const struct order *order,
                        struct view_index_row ret_rows[WORKFLOW_STEPS_MAX])
{
    uint32_t count = 0;
    if (order_ended(order))
        return count;
    ret_rows[count].queue = STATS_UNFINISHED;
    ret_rows[count++].queued_at = order->accepted_at;
    if (order->state == ORDER_ERROR) {
        ret_rows[count].queue = STATS_IN_ERROR;
        ret_rows[count++].queued_at = in_error_since(order);
    }
    return count;
}

/* ---- durations ---- */

/* Classes 0..3 hold 0..3 ms; from there on, four classes to each power of two. */
static uint32_t class_of(int64_t ms)
{
    uint32_t power = 2;
    if (ms < 4)
        return ms < 0 ? 0 : (uint32_t)ms;
    while (ms >> power >= 2 && power < 40)
        power++;
    uint32_t class = 4 * (power - 1) + (uint32_t)((ms >> (power - 2)) & 3);
    return class < STATS_DURATIONS ? class : STATS_DURATIONS - 1;
}

/* The longest duration of the class, in ms. */
static int64_t class_end(uint32_t class)
{
    if (class < 4)
        return class;
    uint32_t power = class / 4 + 1;
    return ((INT64_C(4) + class % 4 + 1) << (power - 2)) - 1;
}

static bool is_over(const struct stats_durations *row, int64_t window)
{
    bool over = true;
    for (int i = 0; i < STATS_WINDOWS && over; i++)
        over = row->windows[i].number <= window - STATS_WINDOWS;
    return over;
}

struct stats_durations *stats_durations_of(struct stats *stats, const char *key, uint32_t size,
                                           int64_t window)
{
    struct stats_durations *row = NULL, *next;
    HASH_FIND(hh, stats->durations, key, size, row);
    if (row != NULL)
        return row;
    if (HASH_COUNT(stats->durations) >= STATS_STEPS_MAX) {
        HASH_ITER(hh, stats->durations, row, next) {
            if (!is_over(row, window))
                continue;
            HASH_DEL(stats->durations, row);
            free(row);
        }
        if (HASH_COUNT(stats->durations) >= STATS_STEPS_MAX)
            return NULL;
    }
    row = calloc(1, sizeof(*row));
    assert(row != NULL);
    memcpy(row->key, key, size);
    row->key_size = size;
    HASH_ADD(hh, stats->durations, key[0], size, row);
    return row;
}

void stats_add_duration(struct stats_durations *row, int64_t window, uint32_t class, uint32_t more)
{
    uint32_t place = (uint32_t)((uint64_t)window % STATS_WINDOWS);
    assert(class < STATS_DURATIONS);
    if (row->windows[place].number > window)
        return;
    if (row->windows[place].number < window) {
        memset(&row->windows[place], 0, sizeof(row->windows[place]));
        row->windows[place].number = window;
    }
    row->windows[place].counts[class] += more;
}

static void add_duration(struct stats *stats, const struct order *order, struct text step,
                         int64_t from, int64_t to)
{
    char key[STATS_KEY_MAX];
    int64_t window = to / STATS_WINDOW_MS;
    struct stats_durations *row =
        stats_durations_of(stats, key, step_key(order, step, key), window);
    if (row != NULL && from > 0)
        stats_add_duration(row, window, class_of(to - from), 1);
}

uint64_t stats_quantiles(const struct stats_durations *durations, int64_t now, int64_t *ret_p50_ms,
                         int64_t *ret_p99_ms)
{
    uint64_t counts[STATS_DURATIONS] = {0};
    uint64_t total = 0;
    uint64_t before = 0;
    int64_t newest = now / STATS_WINDOW_MS;
    for (int i = 0; i < STATS_WINDOWS; i++) {
        int64_t number = durations->windows[i].number;
        if (number > newest || number <= newest - STATS_WINDOWS)
            continue;
        for (uint32_t class = 0; class < STATS_DURATIONS; class ++) {
            counts[class] += durations->windows[i].counts[class];
            total += durations->windows[i].counts[class];
        }
    }
    *ret_p50_ms = *ret_p99_ms = 0;
    for (uint32_t class = 0; class < STATS_DURATIONS && total > 0; class ++) {
        uint64_t through = before + counts[class];
        if (before * 2 < total && through * 2 >= total)
            *ret_p50_ms = class_end(class);
        if (before * 100 < total * 99 && through * 100 >= total * 99)
            *ret_p99_ms = class_end(class);
        before = through;
    }
    return total;
}

/* ---- rates ---- */

void stats_add_rate(struct stats *stats, int64_t number, enum stats_rate rate, uint32_t more)
{
    uint32_t place = (uint32_t)((uint64_t)number % STATS_BUCKETS);
    if (stats->rates[place].number > number)
        return;
    if (stats->rates[place].number < number) {
        memset(&stats->rates[place], 0, sizeof(stats->rates[place]));
        stats->rates[place].number = number;
    }
    stats->rates[place].counts[rate] += more;
}

int64_t stats_rates(const struct stats *stats, enum stats_rate rate, int64_t now,
                    uint32_t ret_counts[STATS_BUCKETS])
{
    int64_t first = now / STATS_STEP_MS - (STATS_BUCKETS - 1);
    for (int64_t i = 0; i < STATS_BUCKETS; i++) {
        uint32_t place = (uint32_t)((uint64_t)(first + i) % STATS_BUCKETS);
        bool same = stats->rates[place].number == first + i;
        ret_counts[i] = same ? stats->rates[place].counts[rate] : 0;
    }
    return first * STATS_STEP_MS;
}

/* ---- Decisions ---- */

static const enum event_kind rate_events[STATS_RATE_COUNT] = {
    [STATS_SUBMITTED] = EVENT_ORDER_ACCEPTED,
    [STATS_PROCESSED] = EVENT_ORDER_PROCESSED,
    [STATS_COMPENSATED] = EVENT_ORDER_COMPENSATED,
    [STATS_ERROR] = EVENT_ORDER_FAILED,
};

static void count_event(struct stats *stats, const struct event *event, const struct order *order,
                        int64_t at)
{
    bool is_root = order == NULL || order->details.parent == NULL;
    for (int rate = 0; rate < STATS_RATE_COUNT; rate++)
        if (rate_events[rate] == event->kind && is_root)
            stats_add_rate(stats, at / STATS_STEP_MS, (enum stats_rate)rate, 1);
    if (order == NULL)
        return;
    if (event->kind == EVENT_ORDER_PROCESSED || event->kind == EVENT_ORDER_COMPENSATED)
        add_duration(stats, order, TEXT(""), order->accepted_at, at);
    if (event->kind != EVENT_STEP_SUCCEEDED)
        return;
    int index = order_find_step(order, event_ref(event)->step);
    if (index >= 0 && order->steps[index].direction == DIRECTION_DO)
        add_duration(stats, order, order->steps[index].name, order->steps[index].started_at, at);
}

void stats_decided(struct stats *stats, const struct decision *decision, const struct order *order,
                   int64_t now)
{
    int64_t at = decision->decided_at;
    if (at <= 0 || now - at > STATS_BUCKETS * STATS_STEP_MS || now - at < -STATS_WINDOW_MS)
        return;
    for (uint32_t i = 0; i < decision->event_count; i++)
        count_event(stats, &decision->events[i], order, at);
}

/* ---- life ---- */

void stats_merge(struct stats *stats, const struct stats *more)
{
    for (int i = 0; i < STATS_BUCKETS; i++)
        for (int rate = 0; rate < STATS_RATE_COUNT; rate++)
            stats_add_rate(stats, more->rates[i].number, (enum stats_rate)rate,
                           more->rates[i].counts[rate]);
    /* Nothing leaves a sum: what is beyond the limits of one keeps no row of another out. */
    int64_t other_steps = stats->other_steps + more->other_steps;
    int64_t other_causes = stats->other_causes + more->other_causes;
    stats->other_steps = stats->other_causes = 0;
    for (const struct stats_group *row = more->steps; row != NULL; row = row->hh.next)
        stats_add_steps(stats, row->key, row->key_size, row->orders);
    for (const struct stats_group *row = more->causes; row != NULL; row = row->hh.next)
        stats_add_cause(stats, row->key, row->key_size,
                        (struct text){row->message, row->message_size}, row->orders,
                        row->latest_at);
    for (const struct stats_durations *row = more->durations; row != NULL; row = row->hh.next) {
        struct stats_durations *into = stats_durations_of(stats, row->key, row->key_size, 0);
        for (int i = 0; i < STATS_WINDOWS && into != NULL; i++)
            for (uint32_t class = 0; class < STATS_DURATIONS; class ++)
                stats_add_duration(into, row->windows[i].number, class,
                                   row->windows[i].counts[class]);
    }
    stats->other_steps += other_steps;
    stats->other_causes += other_causes;
}

static void free_groups(struct stats_group **groups)
{
    struct stats_group *group, *next;
    HASH_ITER(hh, *groups, group, next) {
        HASH_DEL(*groups, group);
        free(group);
    }
}

static void clear(void *ctx)
{
    struct stats *stats = ctx;
    struct stats_durations *durations, *next;
    HASH_ITER(hh, stats->durations, durations, next) {
        HASH_DEL(stats->durations, durations);
        free(durations);
    }
    free_groups(&stats->steps);
    free_groups(&stats->causes);
    *stats = (struct stats){0};
}

void stats_deinit(struct stats *stats)
{
    clear(stats);
}

const struct view_index stats_index = {.count = count_order,
                                       .rows_of = rows_of,
                                       .encode = stats_encode,
                                       .decode = stats_decode,
                                       .clear = clear};
