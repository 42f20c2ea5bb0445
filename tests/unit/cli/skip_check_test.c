/* SPDX-License-Identifier: Apache-2.0 */
/* Which ranges of a log a reset may skip. */
#include "cli/partition/skip_check.h"
#include "tests/unit/cli/session_kit.h"

#include <criterion/criterion.h>

TestSuite(skip_check);

static struct session_kit kit;

static void append(enum record_kind kind, const void *record)
{
    session_kit_append(&kit, "t.events", kind, record);
}

static void claim(uint8_t id)
{
    append(RECORD_CLAIM,
           &(struct claim){.claim_id = {{id}}, .instance = TEXT("s-1"), .partition_count = 1});
}

static void decide(uint8_t id, int64_t sequence, int64_t command)
{
    struct event event = {.kind = EVENT_COMMAND_REJECTED,
                          .command_rejected = {.command = COMMAND_CANCEL_ORDER,
                                               .code = TEXT("UnknownOrder"),
                                               .reason = TEXT("no such order")}};
    append(RECORD_DECISION, &(struct decision){.claim_id = {{id}},
                                               .sequence = sequence,
                                               .command_offset = command,
                                               .order_id = TEXT("z"),
                                               .decided_at = 5,
                                               .emitted_through = -1,
                                               .events = &event,
                                               .event_count = 1});
}

/* The first of its log: it states what a fold of the Claims and Decisions before it gives. */
static void go_on(uint8_t id, int64_t sequence, int64_t next_command, int64_t trimmed)
{
    append(RECORD_CONTINUATION,
           &(struct continuation){.claim_id = {{id}},
                                  .sequence = sequence,
                                  .first_claim_id = {{1}},
                                  .partition_count = 1,
                                  .next_command_offset = next_command,
                                  .last_command_offset = next_command - 1,
                                  .newest_decided_at = next_command > 0 ? 5 : 0,
                                  .emitted_through = -1,
                                  .claim_decisions = next_command,
                                  .previous_claim_decisions = -1,
                                  .guarded_offset = -1,
                                  .trimmed = trimmed});
}

static void foreign(void)
{
    broker_memory_append(kit.kafka, "t.events", 0, TEXT("key"), TEXT("not ours"));
}

/* "" = it may be skipped, else why not. Ends the kit. */
static void assert_skip(int64_t from, int64_t to, enum error_code code, int64_t at)
{
    struct error error = {0};
    struct checkpoint checkpoint = admission_begin();
    struct skip_check check = {.low = 0};
    struct partition_reset reset = {.has_skip = true, .skip = {from, to}};
    broker_memory_bounds(kit.kafka, "t.events", 0, &check.low, &check.end);
    session_kit_open(&kit, 0);
    cr_assert_eq(skip_check_read(&kit.session, 0, &reset, &checkpoint, &check, &error), ERROR_OK,
                 "%s", error.message);
    enum error_class class = skip_check_verdict(&check, &reset, &error);
    cr_assert_eq(class, code == CODE_NONE ? ERROR_OK : ERROR_REJECT, "%s", error.message);
    cr_assert_eq(error.code, code, "%s", error.message);
    if (check.counts || check.trims)
        cr_assert_eq(check.trims ? check.trims_at : check.counts_at, at);
    session_kit_deinit(&kit);
}

Test(skip_check, skips_up_to_what_counts_no_more)
{
    session_kit_init(&kit);
    claim(1);
    decide(1, 0, 0);
    foreign();
    decide(1, 2, 2); /* which does not follow */
    assert_skip(2, 3, CODE_NONE, 0);
}

Test(skip_check, refuses_to_skip_what_is_before_a_record_that_counts)
{
    session_kit_init(&kit);
    claim(1);
    foreign();
    decide(1, 0, 0); /* was on its way */
    assert_skip(1, 2, CODE_RECORDS_COUNT, 2);
    session_kit_init(&kit);
    claim(1);
    foreign();
    claim(2); /* has folded the range */
    assert_skip(1, 2, CODE_RECORDS_COUNT, 2);
    session_kit_init(&kit);
    claim(1);
    foreign();
    claim(2);
    assert_skip(1, 3, CODE_NONE, 0);
    /* With the range, the claim that ends the first one goes as well. */
    session_kit_init(&kit);
    claim(1);
    claim(2);
    foreign();
    decide(1, 0, 0);
    assert_skip(1, 3, CODE_RECORDS_COUNT, 3);
}

static void reset(int64_t at, int64_t from, int64_t to)
{
    append(RECORD_RESET, &(struct partition_reset){.expected_offset = at,
                                                   .next_command_offset = -1,
                                                   .has_skip = true,
                                                   .skip = {from, to},
                                                   .by = TEXT("ann"),
                                                   .reason = TEXT("not ours")});
}

Test(skip_check, skips_what_is_before_another_reset)
{
    session_kit_init(&kit);
    claim(1);
    foreign();
    foreign();
    reset(3, 1, 2);
    assert_skip(2, 3, CODE_NONE, 0);
}

Test(skip_check, refuses_to_skip_a_reset_without_all_that_it_skips)
{
    const struct {
        int64_t from;
        enum error_code code;
    } cases[] = {{1, CODE_NONE}, {2, CODE_SKIPS_RESET}, {4, CODE_SKIPS_RESET}, {5, CODE_NONE}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        session_kit_init(&kit);
        claim(1);
        foreign();
        foreign();
        reset(3, 2, 3); /* within what the next one skips */
        reset(4, 1, 4);
        foreign();
        assert_skip(cases[i].from, 6, cases[i].code, 0);
    }
    session_kit_init(&kit);
    claim(1);
    foreign();
    reset(7, 0, 1); /* void: it is not where it expects to be */
    assert_skip(1, 3, CODE_NONE, 0);
}

Test(skip_check, refuses_a_range_more_than_any_reader_remembers)
{
    struct error error = {0};
    struct checkpoint checkpoint = admission_begin();
    struct skip_check check = {.low = 0};
    session_kit_init(&kit);
    claim(1);
    for (int64_t i = 0; i < CHECKPOINT_SKIPS_MAX; i++) {
        foreign();
        reset(2 * i + 2, 2 * i + 1, 2 * i + 2);
        cr_assert(admission_learn_skip(&checkpoint,
                                       &(struct skip_range){2 * i + 1, 2 * i + 2, 2 * i + 2}));
    }
    foreign();
    broker_memory_bounds(kit.kafka, "t.events", 0, &check.low, &check.end);
    session_kit_open(&kit, 0);
    /* A reader may forget the first ones, but another one may have to read them. */
    checkpoint.trimmed = check.end;
    struct partition_reset next = {.has_skip = true, .skip = {check.end - 1, check.end}};
    cr_assert_eq(skip_check_read(&kit.session, 0, &next, &checkpoint, &check, &error),
                 ERROR_REJECT);
    cr_assert_eq(error.code, CODE_TOO_MANY_SKIPS);
    next.skip.from = 1;
    cr_assert_eq(skip_check_read(&kit.session, 0, &next, &checkpoint, &check, &error), ERROR_OK,
                 "%s", error.message);
    cr_assert_eq(skip_check_verdict(&check, &next, &error), ERROR_OK, "%s", error.message);
    session_kit_deinit(&kit);
}

Test(skip_check, refuses_to_skip_what_a_trim_relies_on)
{
    session_kit_init(&kit);
    claim(1);
    go_on(1, 0, 0, -1);
    foreign();
    decide(1, 1, 0);
    go_on(1, 2, 1, 1);
    claim(2);
    go_on(1, 3, 1, -1); /* it trims, if that was sent before the Claim */
    assert_skip(2, 7, CODE_SKIPS_TRIMMED, 4);
    session_kit_init(&kit);
    claim(1);
    foreign();
    go_on(9, 7, 0, 1); /* they do not count, but may once the range is skipped */
    go_on(9, 8, 0, 1);
    assert_skip(1, 2, CODE_SKIPS_TRIMMED, 2);
    session_kit_init(&kit);
    claim(1);
    go_on(1, 0, 0, -1);
    go_on(1, 1, 0, 1);
    go_on(1, 2, 0, -1);
    foreign();
    assert_skip(4, 5, CODE_NONE, 0); /* it is before the range */
    session_kit_init(&kit);
    claim(1);
    for (uint8_t id = 1; id <= 17; id++)
        go_on(id, 0, 0, 0);
    assert_skip(1, 18, CODE_SKIPS_TRIMMED, 17); /* too many to remember */
}

Test(skip_check, skips_what_no_owner_has_trimmed_by)
{
    session_kit_init(&kit);
    claim(1);
    go_on(1, 0, 0, -1);
    foreign();
    go_on(1, 1, 0, 1); /* where its owner did not expect it */
    assert_skip(2, 3, CODE_RECORDS_COUNT, 3);
    session_kit_init(&kit);
    claim(1);
    go_on(1, 0, 0, -1);
    foreign();
    go_on(1, 1, 0, 1);
    claim(2);
    go_on(2, 0, 0, -1); /* of another claim: nothing was trimmed by what that one said */
    assert_skip(2, 6, CODE_NONE, 0);
}

Test(skip_check, refuses_to_skip_where_a_trimmed_log_begins)
{
    for (int64_t from = 0; from <= 2; from++) {
        session_kit_init(&kit);
        claim(1);
        go_on(1, 0, 0, -1);
        go_on(1, 1, 0, 1);
        go_on(1, 2, 0, -1);
        foreign();
        broker_memory_trim(kit.kafka, "t.events", 0, 1);
        assert_skip(from, 5, from < 2 ? CODE_SKIPS_BEGINNING : CODE_SKIPS_TRIMMED, 2);
    }
    session_kit_init(&kit);
    foreign();
    assert_skip(0, 1, CODE_NONE, 0); /* nothing of it was trimmed */
}
