/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever stands on `commands`: each record becomes one Decision, and its neighbours go on. */
#include "base/goods.h"
#include "tests/unit/scheduler/owner_kit.h"

#include <criterion/criterion.h>
#include <stdlib.h>

TestSuite(owner_commands);

static struct text filled(uint32_t size, char byte)
{
    static char *kept[4]; /* reachable as long as the test's process */
    static size_t count;
    char *bytes = malloc(size);
    cr_assert_not_null(bytes);
    cr_assert_lt(count, sizeof(kept) / sizeof(kept[0]));
    kept[count++] = bytes;
    memset(bytes, byte, size);
    return (struct text){bytes, size};
}

static struct owner *begin(struct owner_kit *kit)
{
    owner_kit_begin(kit, 1);
    return owner_kit_own(owner_kit_boot(kit, "s-1", 0), 0);
}

/* The only event of the Decision about the command at that offset. */
static const struct event *event_of(struct owner_kit *kit, int64_t command_offset)
{
    static struct record record;
    for (int64_t at = 0; at < owner_kit_end(kit, "p.events", 0); at++) {
        struct broker_record raw;
        cr_assert(broker_memory_record(kit->kafka, "p.events", 0, at, &raw));
        if (codec_decode(kit->codec, raw.value, true, &kit->heap.arena, &record, NULL) ==
                ERROR_OK &&
            record.kind == RECORD_DECISION && record.decision.command_offset == command_offset) {
            cr_assert_eq(record.decision.event_count, 1);
            return &record.decision.events[0];
        }
    }
    cr_assert(false, "no decision about command %d", (int)command_offset);
    return NULL;
}

static struct text header_of(const struct broker_record *letter, const char *name)
{
    for (uint32_t i = 0; i < letter->header_count; i++)
        if (text_equal(letter->headers[i].name, text_of(name)))
            return letter->headers[i].value;
    return TEXT("(none)");
}

static void assert_header(const struct broker_record *letter, const char *name,
                          const char *expected)
{
    struct text value = header_of(letter, name);
    cr_assert(text_equal(value, text_of(expected)), "%s is %.*s", name, TEXT_ARG(value));
}

/* The first record of commands becomes a dead letter with this code; the order after it is decided.
 */
static struct broker_record assert_dead(struct owner_kit *kit, struct owner *owner,
                                        const char *code)
{
    struct broker_record letter;
    owner_kit_submit(kit, "neighbour");
    owner_kit_run(kit, 1000);
    cr_assert(owner_is_running(owner), "%s", owner_kit_trouble(owner));
    const struct event *event = event_of(kit, 0);
    cr_assert_eq(event->kind, EVENT_COMMAND_DEAD_LETTERED);
    cr_assert(text_equal(event->command_dead_lettered.code, text_of(code)), "%.*s: %.*s",
              TEXT_ARG(event->command_dead_lettered.code),
              TEXT_ARG(event->command_dead_lettered.reason));
    cr_assert_eq(owner_kit_decision(kit, 0, "neighbour")->events[0].kind, EVENT_ORDER_ACCEPTED);
    cr_assert_eq(owner_kit_end(kit, "p.dead-letters", 0), 1);
    cr_assert(broker_memory_record(kit->kafka, "p.dead-letters", 0, 0, &letter));
    assert_header(&letter, "__streams.errors.exception", code);
    assert_header(&letter, "__streams.errors.topic", "p.commands");
    assert_header(&letter, "__streams.errors.offset", "0");
    return letter;
}

/* ---- what is not a command ---- */

Test(owner_commands, makes_a_dead_letter_of_a_record_of_four_mebibytes)
{
    static struct owner_kit kit;
    struct owner *owner = begin(&kit);
    struct text value = filled(4 * 1024 * 1024, 'x');
    broker_memory_append(kit.kafka, "p.commands", 0, TEXT("key"), value);
    struct broker_record letter = assert_dead(&kit, owner, "TooLong");
    cr_assert_eq(letter.value.size, DEAD_LETTER_CUT_BYTES);
    assert_header(&letter, "reeve.errors.value_bytes", "4194304");
    cr_assert_eq(header_of(&letter, "reeve.errors.value_xxh128").size, 32);
}

Test(owner_commands, passes_a_batch_that_nothing_can_read)
{
    static struct owner_kit kit;
    struct owner *owner = begin(&kit);
    for (int i = 0; i < 3; i++)
        broker_memory_append(kit.kafka, "p.commands", 0, TEXT("x"), TEXT("compressed"));
    broker_memory_break_batch(kit.kafka, "p.commands", 0, 0, 3);
    owner_kit_submit(&kit, "neighbour");
    owner_kit_run(&kit, 1000);
    const struct event *event = event_of(&kit, 2);
    cr_assert_eq(event->kind, EVENT_COMMAND_DEAD_LETTERED);
    cr_assert_eq(owner_kit_decision(&kit, 0, "neighbour")->events[0].kind, EVENT_ORDER_ACCEPTED);
    struct broker_record letter;
    cr_assert_eq(owner_kit_end(&kit, "p.dead-letters", 0), 1);
    cr_assert(broker_memory_record(kit.kafka, "p.dead-letters", 0, 0, &letter));
    assert_header(&letter, "__streams.errors.exception", "Unreadable");
    assert_header(&letter, "__streams.errors.offset", "2");
    assert_header(&letter, "reeve.errors.first_offset", "0");
    cr_assert(owner_is_running(owner), "%s", owner_kit_trouble(owner));
}

Test(owner_commands, claims_after_a_batch_that_nothing_can_read)
{
    static struct owner_kit kit;
    begin(&kit);
    struct owner_kit_process *process = &kit.processes[0];
    for (int i = 0; i < 3; i++)
        broker_memory_append(kit.kafka, "p.commands", 0, TEXT("x"), TEXT("compressed"));
    broker_memory_break_batch(kit.kafka, "p.commands", 0, 0, 3);
    owner_kit_run(&kit, 5000);
    owner_kit_release(process, 0);
    struct owner *again = owner_kit_own(process, 0);
    owner_kit_run(&kit, 1000);
    cr_assert(owner_is_running(again), "%s", owner_kit_trouble(again));
    cr_assert_eq(owner_kit_end(&kit, "p.dead-letters", 0), 1);
    owner_kit_submit(&kit, "neighbour");
    owner_kit_run(&kit, 1000);
    cr_assert_eq(owner_kit_decision(&kit, 0, "neighbour")->events[0].kind, EVENT_ORDER_ACCEPTED);
}

Test(owner_commands, makes_a_dead_letter_of_a_record_with_a_large_key)
{
    static struct owner_kit kit;
    struct owner *owner = begin(&kit);
    broker_memory_append(kit.kafka, "p.commands", 0, filled(2 * 1024 * 1024, 'k'), TEXT("value"));
    struct broker_record letter = assert_dead(&kit, owner, "TooLong");
    cr_assert_eq(letter.key.size, DEAD_LETTER_KEY_BYTES);
    assert_header(&letter, "reeve.errors.meta_bytes", "2097152");
}

Test(owner_commands, keeps_the_headers_of_a_dead_letter)
{
    static struct owner_kit kit;
    struct owner *owner = begin(&kit);
    struct broker_header headers[] = {{TEXT("trace"), TEXT("1")}, {TEXT("\xff"), {"\0z", 2}}};
    broker_memory_append_headers(kit.kafka, "p.commands", 0, TEXT("key"), TEXT("value"), headers,
                                 2);
    struct broker_record letter = assert_dead(&kit, owner, "NotAvro");
    assert_header(&letter, "trace", "1");
    cr_assert_eq(header_of(&letter, "\xff").size, 2);
    cr_assert(text_equal(letter.value, TEXT("value")));
}

Test(owner_commands, makes_a_dead_letter_of_a_tombstone_and_of_another_record)
{
    static struct owner_kit kit;
    struct owner *owner = begin(&kit);
    broker_memory_append(kit.kafka, "p.commands", 0, TEXT("key"), (struct text){0});
    struct claim claim = {.instance = TEXT("other"), .partition_count = 1};
    owner_kit_send(&kit, "p.commands", 0, TEXT("key"), RECORD_CLAIM, &claim);
    owner_kit_submit(&kit, "neighbour");
    owner_kit_run(&kit, 1000);
    cr_assert(owner_is_running(owner));
    cr_assert(text_equal(event_of(&kit, 0)->command_dead_lettered.code, TEXT("NotAvro")));
    cr_assert(text_equal(event_of(&kit, 1)->command_dead_lettered.code, TEXT("NotACommand")));
}

/* ---- what breaks a rule of the front door ---- */

static struct command cancel_of(struct text order_id)
{
    return (struct command){.kind = COMMAND_CANCEL_ORDER,
                            .order_id = order_id,
                            .cancel_order = {.order_id = order_id, .by = TEXT("ann")}};
}

Test(owner_commands, refuses_ids_that_the_front_door_refuses)
{
    static const struct text ids[] = {{"", 0}, {"a\0b", 3}, {"a/b", 3}, {"a\nb", 3}};
    for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
        static struct owner_kit kit;
        struct owner *owner = begin(&kit);
        struct command cmd = cancel_of(ids[i]);
        owner_kit_command(&kit, &cmd);
        assert_dead(&kit, owner, "InvalidOrder");
    }
}

/* The rule is the agents': error_name_valid(). */
Test(owner_commands, refuses_errors_that_no_agent_could_report)
{
    static const char *const names[] = {"", "two words", "caf\xc3\xa9", "States.Timeout"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        static struct owner_kit kit;
        struct owner *owner = begin(&kit);
        struct command cmd = {.kind = COMMAND_FAIL_STEP, .order_id = TEXT("a")};
        cmd.fail_step = (struct fail_step){.order_id = cmd.order_id,
                                           .step = TEXT("A"),
                                           .error_name = text_of(names[i]),
                                           .by = TEXT("ann"),
                                           .reason = TEXT("x")};
        owner_kit_command(&kit, &cmd);
        assert_dead(&kit, owner, "InvalidCommand");
    }
}

static struct command submission_of(const char *order_id)
{
    static const struct goods goods = {.currency = TEXT_CONST("GBP")};
    struct command cmd = {.kind = COMMAND_SUBMIT_ORDER, .order_id = text_of(order_id)};
    cmd.submit_order = (struct order_details){.order_id = cmd.order_id,
                                              .customer = TEXT("c"),
                                              .goods = &goods,
                                              .workflow = TEXT("test"),
                                              .workflow_version = 1};
    return cmd;
}

Test(owner_commands, never_answers_to_a_topic_of_its_own)
{
    static const char *const topics[] = {"p.events", "p.commands", "other", "p.replies.",
                                         "p.replies.a/b"};
    for (size_t i = 0; i < sizeof(topics) / sizeof(topics[0]); i++) {
        static struct owner_kit kit;
        struct owner *owner = begin(&kit);
        struct command cmd = submission_of("a");
        cmd.submit_order.reply_to = text_of(topics[i]);
        owner_kit_command(&kit, &cmd);
        bool name_is_valid = i < 4;
        assert_dead(&kit, owner, name_is_valid ? "BadReplyTopic" : "InvalidOrder");
        cr_assert_eq(owner_kit_count(&kit, "p.events", 0, RECORD_STATUS_UPDATE), 0);
        cr_assert_eq(owner_kit_end(&kit, "p.commands", 0), 2);
    }
}

Test(owner_commands, refuses_a_cancellation_that_answers_to_the_log)
{
    static struct owner_kit kit;
    struct owner *owner = begin(&kit);
    struct command cmd = cancel_of(TEXT("a"));
    cmd.cancel_order.reply_to = TEXT("p.events");
    owner_kit_command(&kit, &cmd);
    assert_dead(&kit, owner, "BadReplyTopic");
}

/* The front door refuses such ids; a submission that it had accepted before goes on. */
Test(owner_commands, decides_an_order_whose_id_would_be_refused_today)
{
    static const char *const ids[] = {"--yes", "-", "..", "."};
    for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
        static struct owner_kit kit;
        struct owner *owner = begin(&kit);
        struct command cmd = submission_of(ids[i]);
        owner_kit_command(&kit, &cmd);
        owner_kit_run(&kit, 1000);
        cr_assert(owner_is_running(owner), "%s", owner_kit_trouble(owner));
        cr_assert_eq(owner_kit_decision(&kit, 0, ids[i])->events[0].kind, EVENT_ORDER_ACCEPTED);
    }
}

Test(owner_commands, refuses_content_beyond_the_limits)
{
    static struct owner_kit kit;
    struct owner *owner = begin(&kit);
    struct command cmd = submission_of("a");
    cmd.submit_order.goods = &(struct goods){.currency = TEXT("gbp")};
    owner_kit_command(&kit, &cmd);
    assert_dead(&kit, owner, "InvalidOrder");
}

Test(owner_commands, refuses_reports_of_steps_that_no_workflow_can_have)
{
    static struct owner_kit kit;
    struct owner *owner = begin(&kit);
    struct command cmd = {.kind = COMMAND_REPORT_STEP,
                          .order_id = TEXT("a"),
                          .report_step = {.order_id = TEXT("a"), .step = {"A\0", 2}, .attempt = 1}};
    owner_kit_command(&kit, &cmd);
    assert_dead(&kit, owner, "InvalidCommand");
}

Test(owner_commands, refuses_a_command_under_another_key)
{
    static struct owner_kit kit;
    struct owner *owner = begin(&kit);
    struct command cmd = cancel_of(TEXT("a"));
    owner_kit_send(&kit, "p.commands", 0, TEXT("b"), RECORD_CANCEL_ORDER, &cmd);
    assert_dead(&kit, owner, "WrongKey");
}

Test(owner_commands, refuses_a_command_on_another_partition)
{
    static struct owner_kit kit;
    owner_kit_begin(&kit, 2);
    struct owner *owner = owner_kit_own(owner_kit_boot(&kit, "s-1", 0), 0);
    owner_kit_submit_to(&kit, 0, owner_kit_id(&kit, 1, 7));
    owner_kit_run(&kit, 1000);
    cr_assert(owner_is_running(owner));
    cr_assert(text_equal(event_of(&kit, 0)->command_dead_lettered.code, TEXT("WrongPartition")));
}
