/* SPDX-License-Identifier: Apache-2.0 */
#include "services/console/model/stats.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

enum { NOW = 1000000000 };

static struct stats *stats;

static void begin(void)
{
    stats = calloc(1, sizeof(*stats));
}

static void finish(void)
{
    stats_deinit(stats);
    free(stats);
}

TestSuite(console_stats, .init = begin, .fini = finish);

/* One order of `workflow`, whose step has this state. */
struct one {
    struct order order;
    struct step step;
};

static void make(struct one *one, const char *workflow, const char *step, enum step_state state)
{
    *one = (struct one){.step = {.name = text_of(step), .state = state, .started_at = NOW - 70},
                        .order = {.version = 1, .accepted_at = NOW - 500, .step_count = 1}};
    one->order.steps = &one->step;
    one->order.details.workflow = text_of(workflow);
    one->order.state = state == STEP_ERROR ? ORDER_ERROR : ORDER_PROCESSING;
    one->order.updated_at = NOW;
    one->step.error_name = TEXT("Declined");
    one->step.error_message = TEXT("no funds");
}

static void decide(const struct order *order, enum event_kind kind, int64_t at)
{
    struct event event = {.kind = kind};
    struct decision decision = {.decided_at = at, .events = &event, .event_count = 1};
    if (kind == EVENT_STEP_SUCCEEDED)
        event.step_succeeded.ref.step = order->steps[0].name;
    stats_decided(stats, &decision, order, NOW);
}

static uint32_t sum(enum stats_rate rate, int64_t now)
{
    uint32_t counts[STATS_BUCKETS];
    uint32_t total = 0;
    stats_rates(stats, rate, now, counts);
    for (int i = 0; i < STATS_BUCKETS; i++)
        total += counts[i];
    return total;
}

/* The same stats after they were written and read. */
static struct stats *reopened(void)
{
    struct buffer buffer = {0};
    struct stats *again = calloc(1, sizeof(*again));
    stats_index.encode(stats, &buffer);
    cr_assert(stats_index.decode(again, (struct text){(char *)buffer.data, (uint32_t)buffer.size}));
    buffer_deinit(&buffer);
    return again;
}

static const struct stats_durations *durations_of(const struct stats *from, const char *step)
{
    const struct stats_durations *row = from->durations;
    while (row != NULL && !text_equal(stats_key_part(row->key, row->key_size, 1), text_of(step)))
        row = row->hh.next;
    return row;
}

Test(console_stats, counts_orders_by_the_time_of_their_decisions)
{
    uint32_t counts[STATS_BUCKETS];
    decide(NULL, EVENT_ORDER_ACCEPTED, NOW);
    decide(NULL, EVENT_ORDER_ACCEPTED, NOW - 25000);
    decide(NULL, EVENT_ORDER_ACCEPTED, NOW - 16 * 60 * 1000);       /* too old */
    decide(NULL, EVENT_ORDER_ACCEPTED, NOW + INT64_C(3600) * 1000); /* no clock is that wrong */
    decide(NULL, EVENT_ORDER_ACCEPTED, INT64_MIN);
    decide(NULL, EVENT_ORDER_ACCEPTED, INT64_MAX);
    decide(NULL, EVENT_ORDER_FAILED, NOW);
    int64_t from = stats_rates(stats, STATS_SUBMITTED, NOW, counts);
    cr_assert_eq(from, NOW / STATS_STEP_MS * STATS_STEP_MS - 89 * STATS_STEP_MS);
    cr_assert_eq(counts[89], 1);
    cr_assert_eq(counts[89 - 3] + counts[89 - 2], 1);
    cr_assert_eq(sum(STATS_SUBMITTED, NOW), 2);
    cr_assert_eq(sum(STATS_ERROR, NOW), 1);
    cr_assert_eq(sum(STATS_PROCESSED, NOW), 0);
    cr_assert_eq(sum(STATS_SUBMITTED, NOW + STATS_BUCKETS * STATS_STEP_MS), 0, "they are over");
}

Test(console_stats, knows_quantiles_to_within_a_fourth)
{
    struct one one;
    int64_t p50 = 0, p99 = 0;
    make(&one, "w", "A", STEP_PROCESSED);
    for (int i = 1; i <= 1000; i++) {
        one.step.started_at = NOW - i;
        decide(&one.order, EVENT_STEP_SUCCEEDED, NOW);
    }
    const struct stats_durations *row = durations_of(stats, "A");
    cr_assert_eq(stats_quantiles(row, NOW, &p50, &p99), 1000);
    cr_assert(p50 >= 500 && p50 <= 620, "%lld", (long long)p50);
    cr_assert(p99 >= 990 && p99 <= 1230, "%lld", (long long)p99);
    cr_assert_eq(stats_quantiles(row, NOW + 20 * 60 * 1000, &p50, &p99), 0);
    decide(&one.order, EVENT_ORDER_PROCESSED, NOW);
    cr_assert_eq(stats_quantiles(durations_of(stats, ""), NOW, &p50, &p99), 1);
    cr_assert(p50 >= 500 && p50 <= 620 && p50 == p99, "%lld", (long long)p50);
}

Test(console_stats, covers_every_duration)
{
    static const int64_t durations[] = {0, 1, 3, 4, 5, 7, 8, 100, 86400000, INT64_MAX / 2};
    for (size_t i = 0; i < sizeof(durations) / sizeof(durations[0]); i++) {
        struct one one;
        int64_t p50 = 0, p99 = 0;
        char step[8];
        snprintf(step, sizeof(step), "s%zu", i);
        make(&one, "w", step, STEP_PROCESSED);
        one.step.started_at = durations[i] > NOW ? 1 : NOW - durations[i];
        int64_t real = NOW - one.step.started_at;
        decide(&one.order, EVENT_STEP_SUCCEEDED, NOW);
        stats_quantiles(durations_of(stats, step), NOW, &p50, &p99);
        cr_assert(p50 >= real && p50 <= real + real / 4, "%lld: %lld", (long long)real,
                  (long long)p50);
    }
}

Test(console_stats, counts_steps_in_flight_and_causes_of_errors)
{
    struct one running, failed;
    make(&running, "w", "A", STEP_PROCESSING);
    make(&failed, "w", "B", STEP_ERROR);
    stats_index.count(stats, &running.order, 1);
    stats_index.count(stats, &running.order, 1);
    stats_index.count(stats, &failed.order, 1);
    cr_assert_eq(HASH_COUNT(stats->steps), 1);
    cr_assert_eq(stats->steps->orders, 2);
    cr_assert_eq(HASH_COUNT(stats->causes), 1);
    cr_assert_eq(stats->causes->latest_at, NOW);
    cr_assert(text_equal(stats_key_part(stats->causes->key, stats->causes->key_size, 3),
                         TEXT("no funds")));
    stats_index.count(stats, &running.order, -1);
    stats_index.count(stats, &running.order, -1);
    stats_index.count(stats, &failed.order, -1);
    cr_assert(stats->steps == NULL && stats->causes == NULL);
}

/* Messages that name the order or a number: one cause, with the latest message as the example. */
Test(console_stats, groups_messages_that_differ_in_an_id_or_a_number)
{
    static const struct {
        const char *order_id;
        const char *message;
    } same[] = {{"web-a", "order web-a: card 4711 declined after 3 tries"},
                {"web-b", "order  web-b: card 88 declined after 12 tries"},
                {"web-cc", "order 20260101-x9: card 5 declined after 1 tries"}};
    static const char *const others[] = {"disk S3 is full", "disk S4 is full", ""};
    struct one orders[6];
    for (int i = 0; i < 6; i++) {
        make(&orders[i], "w", "A", STEP_ERROR);
        orders[i].order.details.order_id = text_of(i < 3 ? same[i].order_id : "1");
        orders[i].order.updated_at = NOW + i;
        orders[i].step.error_message = text_of(i < 3 ? same[i].message : others[i - 3]);
        stats_index.count(stats, &orders[i].order, 1);
    }
    cr_assert_eq(HASH_COUNT(stats->causes), 4);
    struct stats *again = reopened();
    stats_merge(again, stats);
    const struct stats_group *row = again->causes;
    cr_assert_eq(row->orders, 6);
    cr_assert(text_equal(stats_key_part(row->key, row->key_size, 3),
                         TEXT("order # card # declined after # tries")));
    cr_assert(text_equal((struct text){row->message, row->message_size}, text_of(same[2].message)));
    stats_deinit(again);
    free(again);
    for (int i = 0; i < 6; i++)
        stats_index.count(stats, &orders[i].order, -1);
    cr_assert(stats->causes == NULL);
}

Test(console_stats, bounds_what_it_keeps)
{
    enum { MANY = 1000 };
    struct one *failed = calloc(MANY, sizeof(*failed));
    char(*names)[16] = calloc(MANY, sizeof(*names));
    for (int i = 0; i < MANY; i++) {
        snprintf(names[i], sizeof(names[i]), "s%d", i);
        make(&failed[i], "w", names[i], STEP_ERROR);
        failed[i].step.wait.retry_at = 1;
        stats_index.count(stats, &failed[i].order, 1);
        decide(&failed[i].order, EVENT_STEP_SUCCEEDED, NOW);
    }
    cr_assert_eq(HASH_COUNT(stats->steps), STATS_STEPS_MAX);
    cr_assert_eq(stats->other_steps, MANY - STATS_STEPS_MAX);
    cr_assert_eq(HASH_COUNT(stats->causes), STATS_ERRORS_MAX);
    cr_assert_eq(stats->other_causes, MANY - STATS_ERRORS_MAX);
    cr_assert_eq(HASH_COUNT(stats->durations), STATS_STEPS_MAX);
    struct stats *again = reopened();
    cr_assert_eq(again->other_causes, stats->other_causes);
    for (int i = 0; i < MANY; i++) {
        stats_index.count(stats, &failed[i].order, -1);
        stats_index.count(again, &failed[MANY - 1 - i].order, -1);
    }
    cr_assert(stats->steps == NULL && stats->causes == NULL && stats->other_steps == 0);
    cr_assert(again->steps == NULL && again->causes == NULL && again->other_causes == 0);
    stats_deinit(again);
    free(again);
    free(failed);
    free(names);
}

Test(console_stats, separates_names_that_hold_zeros)
{
    struct one one;
    make(&one, "w", "A", STEP_ERROR);
    one.step.error_message = (struct text){"a\0b", 3};
    stats_index.count(stats, &one.order, 1);
    struct stats *again = reopened();
    cr_assert(
        text_equal(stats_key_part(again->causes->key, again->causes->key_size, 3), TEXT("a b")));
    stats_index.count(again, &one.order, -1);
    cr_assert(again->causes == NULL);
    stats_deinit(again);
    free(again);
}

Test(console_stats, is_the_same_after_a_restart_and_in_a_sum)
{
    struct one one;
    int64_t p50 = 0, p99 = 0;
    make(&one, "w", "A", STEP_PROCESSING);
    stats_index.count(stats, &one.order, 1);
    decide(&one.order, EVENT_ORDER_ACCEPTED, NOW);
    decide(&one.order, EVENT_STEP_SUCCEEDED, NOW);
    struct stats *again = reopened();
    stats_merge(again, stats);
    stats_deinit(stats);
    free(stats);
    stats = again;
    cr_assert_eq(sum(STATS_SUBMITTED, NOW), 2);
    cr_assert_eq(stats->steps->orders, 2);
    cr_assert_eq(stats_quantiles(durations_of(stats, "A"), NOW, &p50, &p99), 2);
}

Test(console_stats, rejects_a_damaged_tally)
{
    struct one one;
    struct buffer buffer = {0};
    make(&one, "w", "A", STEP_ERROR);
    one.step.wait.retry_at = 1;
    stats_index.count(stats, &one.order, 1);
    decide(&one.order, EVENT_ORDER_ACCEPTED, NOW);
    decide(&one.order, EVENT_STEP_SUCCEEDED, NOW);
    stats_index.encode(stats, &buffer);
    struct stats *again = calloc(1, sizeof(*again));
    for (uint32_t size = 0; size < buffer.size; size++) {
        stats_index.clear(again);
        cr_assert_not(stats_index.decode(again, (struct text){(char *)buffer.data, size}), "%u",
                      size);
    }
    for (size_t i = 0; i < buffer.size; i++) { /* any byte: refused, or other numbers */
        stats_index.clear(again);
        buffer.data[i] ^= 0xff;
        stats_index.decode(again, (struct text){(char *)buffer.data, (uint32_t)buffer.size});
        buffer.data[i] ^= 0xff;
    }
    stats_deinit(again);
    free(again);
    buffer_deinit(&buffer);
}
