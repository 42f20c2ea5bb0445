/* SPDX-License-Identifier: Apache-2.0 */
/* Which of a supervisor's commands count as on their way. */
#include "services/supervisor/outstanding.h"

#include <criterion/criterion.h>
#include <stdio.h>

enum { ORDERS = 5, DUE_MS = 1000, NOW_MS = 5000 };

static const struct deadline deadline = {.kind = DEADLINE_START, .due_at = DUE_MS};

struct sent {
    struct outstanding *outstanding;
    struct text orders[ORDERS];
    char names[ORDERS][16];
    uint64_t tokens[ORDERS];
};

/* All have been sent, in this order, and none is acknowledged. */
static void send_all(struct sent *sent)
{
    *sent = (struct sent){.outstanding = outstanding_new()};
    for (int i = 0; i < ORDERS; i++) {
        struct outstanding_command due;
        int size = snprintf(sent->names[i], sizeof(sent->names[i]), "order-%d", i);
        sent->orders[i] = (struct text){sent->names[i], (uint32_t)size};
        outstanding_arm(sent->outstanding, sent->orders[i], &deadline);
        cr_assert(outstanding_take_due(sent->outstanding, NOW_MS, NOW_MS, &due));
        sent->tokens[i] = due.token;
    }
}

/* Order i is at offset first + i. */
static void deliver_all(struct sent *sent, int64_t first)
{
    for (int i = 0; i < ORDERS; i++)
        outstanding_sent(sent->outstanding, sent->tokens[i], first + i, NOW_MS);
}

static uint32_t on_their_way(struct sent *sent, int64_t next_command)
{
    return outstanding_on_their_way(sent->outstanding, NOW_MS, next_command);
}

Test(outstanding, counts_commands_until_the_scheduler_has_read_them)
{
    struct sent sent;
    send_all(&sent);
    cr_assert_eq(on_their_way(&sent, 100), ORDERS);
    deliver_all(&sent, 100);
    cr_assert_eq(on_their_way(&sent, 100), ORDERS);
    cr_assert_eq(on_their_way(&sent, 102), ORDERS - 2);
    cr_assert_eq(on_their_way(&sent, 100 + ORDERS), 0);
    outstanding_free(sent.outstanding);
}

Test(outstanding, does_not_count_what_was_not_delivered)
{
    struct sent sent;
    send_all(&sent);
    outstanding_sent(sent.outstanding, sent.tokens[3], -1, NOW_MS);
    cr_assert_eq(on_their_way(&sent, 100), ORDERS - 1);
    outstanding_free(sent.outstanding);
}

/* Its outcome can come before its acknowledgement. */
Test(outstanding, does_not_count_what_has_an_outcome)
{
    struct sent sent;
    send_all(&sent);
    outstanding_settle(sent.outstanding, sent.orders[2], NULL, 0);
    outstanding_forget(sent.outstanding, sent.tokens[4]);
    cr_assert_eq(on_their_way(&sent, 100), ORDERS - 2);
    outstanding_free(sent.outstanding);
}

Test(outstanding, does_not_count_what_was_early)
{
    struct sent sent;
    send_all(&sent);
    cr_assert(outstanding_postpone(sent.outstanding, sent.orders[0], &deadline, REPEAT_MS, NOW_MS));
    deliver_all(&sent, 100); /* the acknowledgement comes after the Decision */
    cr_assert_eq(on_their_way(&sent, 100), ORDERS - 1);
    outstanding_free(sent.outstanding);
}

Test(outstanding, counts_what_is_repeated_once)
{
    struct sent sent;
    struct outstanding_command again;
    send_all(&sent);
    deliver_all(&sent, 100);
    cr_assert_eq(on_their_way(&sent, 200), 0);
    cr_assert(outstanding_repeat(sent.outstanding, NOW_MS + REPEAT_MS, 200, &again));
    cr_assert_eq(on_their_way(&sent, 200), 1);
    outstanding_sent(sent.outstanding, again.token, 200, NOW_MS + REPEAT_MS);
    cr_assert_eq(on_their_way(&sent, 200), 1);
    cr_assert_eq(on_their_way(&sent, 201), 0);
    outstanding_free(sent.outstanding);
}

/* What was sent before it is not acknowledged, so all others still count. */
Test(outstanding, counts_once_what_is_repeated_while_it_counts)
{
    struct sent sent;
    struct outstanding_command again;
    send_all(&sent);
    for (int i = 1; i < ORDERS; i++)
        outstanding_sent(sent.outstanding, sent.tokens[i], 100 + i, NOW_MS);
    cr_assert_eq(on_their_way(&sent, 200), ORDERS);
    cr_assert(outstanding_repeat(sent.outstanding, NOW_MS + REPEAT_MS, 200, &again));
    cr_assert_eq(on_their_way(&sent, 200), ORDERS);
    outstanding_free(sent.outstanding);
}

/* <p>.commands was made again, and no reset has been written yet. */
Test(outstanding, gives_up_commands_that_nothing_reads)
{
    struct sent sent;
    struct outstanding_command again;
    int64_t late = NOW_MS + REPEAT_UNREAD_MS;
    send_all(&sent);
    deliver_all(&sent, 100);
    cr_assert_eq(outstanding_on_their_way(sent.outstanding, late - 1, 50), ORDERS);
    cr_assert(!outstanding_repeat(sent.outstanding, late - 1, 50, &again));
    cr_assert_eq(outstanding_on_their_way(sent.outstanding, late, 50), 0);
    cr_assert(outstanding_repeat(sent.outstanding, late + REPEAT_MS_MAX, 50, &again));
    outstanding_free(sent.outstanding);
}

/* Brokers may have lost it; or the scheduler is away, and each repetition stays in its way. */
Test(outstanding, repeats_ever_more_rarely_what_is_not_read)
{
    struct sent sent;
    struct outstanding_command again;
    int64_t now = NOW_MS;
    int64_t wait_ms = REPEAT_UNREAD_MS;
    send_all(&sent);
    outstanding_sent(sent.outstanding, sent.tokens[0], 100, now);
    for (int i = 0; i < 10; i++) {
        cr_assert(!outstanding_repeat(sent.outstanding, now + wait_ms - 1, 50, &again));
        now += wait_ms;
        cr_assert(outstanding_repeat(sent.outstanding, now, 50, &again));
        outstanding_sent(sent.outstanding, again.token, 101 + i, now);
        wait_ms = 2 * wait_ms < REPEAT_UNREAD_MS_MAX ? 2 * wait_ms : REPEAT_UNREAD_MS_MAX;
    }
    outstanding_free(sent.outstanding);
}

/* A reset: the offsets of before say nothing. */
Test(outstanding, does_not_count_what_went_to_a_topic_that_was_made_again)
{
    struct sent sent;
    send_all(&sent);
    deliver_all(&sent, 100);
    cr_assert_eq(on_their_way(&sent, 50), ORDERS);
    cr_assert_eq(on_their_way(&sent, 0), 0);
    outstanding_free(sent.outstanding);
}

Test(outstanding, knows_the_answer_to_a_command_of_its_own)
{
    struct sent sent;
    struct outstanding_command again;
    int64_t sent_at = 0;
    send_all(&sent);
    /* The answer may come before the acknowledgement. */
    cr_assert(outstanding_was_asked(sent.outstanding, sent.orders[0], &deadline, 70, &sent_at));
    cr_assert_eq(sent_at, NOW_MS);
    deliver_all(&sent, 100);
    cr_assert(outstanding_was_asked(sent.outstanding, sent.orders[1], &deadline, 101, &sent_at));
    cr_assert(!outstanding_was_asked(sent.outstanding, sent.orders[1], &deadline, 99, &sent_at));
    cr_assert(!outstanding_was_asked(sent.outstanding, TEXT("x"), &deadline, 101, &sent_at));
    /* The answer to the first command would prove too much of one that was sent later. */
    cr_assert(outstanding_repeat(sent.outstanding, NOW_MS + REPEAT_MS, 200, &again));
    cr_assert(!outstanding_was_asked(sent.outstanding, again.order_id, &deadline, 100, &sent_at));
    outstanding_sent(sent.outstanding, again.token, 300, NOW_MS + REPEAT_MS + 5);
    cr_assert(outstanding_was_asked(sent.outstanding, again.order_id, &deadline, 300, &sent_at));
    cr_assert_eq(sent_at, NOW_MS + REPEAT_MS);
    outstanding_free(sent.outstanding);
}

Test(outstanding, has_not_asked_for_what_is_armed)
{
    struct outstanding *outstanding = outstanding_new();
    int64_t sent_at = 0;
    outstanding_arm(outstanding, TEXT("order"), &deadline);
    cr_assert(!outstanding_was_asked(outstanding, TEXT("order"), &deadline, 0, &sent_at));
    outstanding_free(outstanding);
}
