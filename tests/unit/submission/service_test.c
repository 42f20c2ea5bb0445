/* SPDX-License-Identifier: Apache-2.0 */
/* The submission service over the broker in memory. */
#include "services/submission/partition_internal.h"
#include "tests/lib/site.h"
#include "tests/unit/submission/stage.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

static struct stage stage;
static char code[ERROR_CODE_SIZE];

static void set_up(void)
{
    stage_open(&stage, 1);
    stage_start(&stage, 0);
    stage_settle(&stage); /* it joins when it knows all schemas */
    stage_rebalance(&stage);
}

static void tear_down(void)
{
    stage_close(&stage);
}

TestSuite(submission_service, .init = set_up, .fini = tear_down);

/* The heap is used again by the counting functions: values that are compared later live here. */
static struct text keep(struct text value)
{
    static char bytes[16][2048];
    static unsigned next;
    char *copy = bytes[next++ % 16];
    cr_assert(value.size <= sizeof(bytes[0]));
    memcpy(copy, value.data, value.size);
    return (struct text){copy, value.size};
}

Test(submission_service, turns_an_order_into_a_command)
{
    stage_submit(&stage, 1, "o1", stage_order(&stage, "o1", "w", ""));
    stage_submit(&stage, 1, "o1", stage_cancel(&stage, "o1"));
    stage_submit(&stage, 2, "", stage_order(&stage, "o2", "w", "p.replies.web"));
    stage_settle(&stage);
    cr_assert(stage_commands(&stage, "o1", COMMAND_SUBMIT_ORDER) == 1);
    cr_assert(stage_commands(&stage, "o1", COMMAND_CANCEL_ORDER) == 1);
    cr_assert(stage_commands(&stage, "o2", COMMAND_SUBMIT_ORDER) == 1);
}

/* Whatever the sender wrote there. */
Test(submission_service, states_when_a_submission_was_appended)
{
    struct broker_record record;
    struct record decoded;
    struct error error;
    int64_t found = 0;
    int64_t appended_at = stage.clock.now_wall_ms;
    stage_submit(&stage, 1, "o1", stage_order(&stage, "o1", "w", ""));
    stage_turn(&stage, 0, 5000);
    stage_settle(&stage);
    for (int32_t p = 0; p < STAGE_COMMAND_PARTITIONS; p++)
        if (broker_memory_record(stage.kafka, "p.commands", p, 0, &record)) {
            cr_assert(codec_decode(stage.codec, record.value, true, &stage.heap.arena, &decoded,
                                   &error) == ERROR_OK);
            found = decoded.command.submit_order.submitted_at;
        }
    cr_assert_eq(found, appended_at);
}

/* Repetitions are the engine's to recognize. */
Test(submission_service, appends_two_commands_for_two_submissions)
{
    stage_submit(&stage, 0, "o1", stage_order(&stage, "o1", "w", ""));
    stage_submit(&stage, 0, "o1", stage_order(&stage, "o1", "w", ""));
    stage_settle(&stage);
    cr_assert(stage_commands(&stage, "o1", COMMAND_SUBMIT_ORDER) == 2);
}

Test(submission_service, dead_letters_poison_and_processes_its_neighbours)
{
    struct text garbage = TEXT("garbage");
    struct text order = keep(stage_order(&stage, "x", "w", ""));
    struct text cut = {order.data, order.size - 3};
    struct text unknown = keep(order);
    ((char *)(uintptr_t)unknown.data)[4] ^= 0x11;
    struct text wrong = keep(stage_order(&stage, "x", "w", "p.replies.web"));
    struct text nowhere = keep(stage_order(&stage, "y", "none", "p.replies.web"));
    struct text lost = keep(stage_order(&stage, "z", "w", "p.replies.none"));
    stage_submit(&stage, 0, "o1", stage_order(&stage, "o1", "w", ""));
    int64_t at_garbage = stage_submit(&stage, 0, "g", garbage);
    stage_submit(&stage, 0, "o2", stage_order(&stage, "o2", "w", ""));
    int64_t at_cut = stage_submit(&stage, 0, "x", cut);
    int64_t at_unknown = stage_submit(&stage, 0, "u", unknown);
    stage_submit(&stage, 0, "o3", stage_order(&stage, "o3", "w", ""));
    int64_t at_wrong = stage_submit(&stage, 0, "not-x", wrong);
    int64_t at_nowhere = stage_submit(&stage, 0, "y", nowhere);
    int64_t at_lost = stage_submit(&stage, 0, "z", lost);
    stage_submit(&stage, 0, "o4", stage_order(&stage, "o4", "w", ""));
    stage_settle(&stage);
    const struct {
        int64_t offset;
        struct text value;
        const char *code;
        uint32_t rejections;
    } refused[] = {
        {at_garbage, garbage, "NotAvro", 0},         {at_cut, cut, "Truncated", 0},
        {at_unknown, unknown, "UnknownSchema", 0},   {at_wrong, wrong, "WrongKey", 1},
        {at_nowhere, nowhere, "UnknownWorkflow", 1}, {at_lost, lost, "UnknownReplyTopic", 0},
    };
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        cr_assert(stage_dead_letters(&stage, 0, refused[i].offset, refused[i].value, code) == 1,
                  "%s", refused[i].code);
        cr_assert_str_eq(code, refused[i].code);
        cr_assert(stage_rejections(&stage, 0, refused[i].offset) == refused[i].rejections, "%s",
                  refused[i].code);
    }
    for (int i = 1; i <= 4; i++) {
        char id[16];
        snprintf(id, sizeof(id), "o%d", i);
        cr_assert(stage_commands(&stage, id, COMMAND_SUBMIT_ORDER) == 1, "%s", id);
    }
    cr_assert(stage_commands(&stage, "x", COMMAND_SUBMIT_ORDER) == 0);
}

Test(submission_service, finds_a_workflow_that_was_just_deployed)
{
    stage_settle(&stage);
    stage_deploy(&stage, "new", 1);
    stage_submit(&stage, 0, "o1", stage_order(&stage, "o1", "new", ""));
    stage_settle(&stage);
    cr_assert(stage_commands(&stage, "o1", COMMAND_SUBMIT_ORDER) == 1);
}

/* An order that has to wait is not overtaken by its own cancellation, but by others; nor does the
 * list of topics that x waits for, which wakes the partition, let the cancellation pass. */
Test(submission_service, keeps_the_sequence_of_inputs_of_each_order)
{
    stage_settle(&stage);
    broker_memory_set_partition_fault(stage.kafka, "p.workflows", 0, PARTITION_UNREADABLE);
    stage_deploy(&stage, "new", 1);
    stage_submit(&stage, 0, "o1", stage_order(&stage, "o1", "new", ""));
    stage_submit(&stage, 0, "o1", stage_cancel(&stage, "o1"));
    stage_submit(&stage, 0, "o2", stage_cancel(&stage, "o2"));
    stage_submit(&stage, 0, "x", stage_order(&stage, "x", "w", "p.replies.none"));
    for (int i = 0; i < 20; i++)
        stage_turn(&stage, 1000, 100);
    cr_assert_eq(submission_partition_waiting(stage.instances[0]->partitions[0]), 2, "not x");
    cr_assert_eq(stage_commands(&stage, "o1", COMMAND_CANCEL_ORDER), 0);
    cr_assert_eq(stage_commands(&stage, "o2", COMMAND_CANCEL_ORDER), 1);
    broker_memory_clear_partition_faults(stage.kafka);
    for (int i = 0; i < 20; i++)
        stage_turn(&stage, 1000, 100);
    stage_settle(&stage);
    cr_assert_eq(stage_commands(&stage, "o1", COMMAND_CANCEL_ORDER), 1);
    int32_t partition = broker_partition_of(TEXT("o1"), STAGE_COMMAND_PARTITIONS);
    struct broker_record record;
    struct record decoded;
    struct error error;
    cr_assert(broker_memory_record(stage.kafka, "p.commands", partition, 0, &record));
    cr_assert(codec_decode(stage.codec, record.value, true, &stage.heap.arena, &decoded, &error) ==
              ERROR_OK);
    cr_assert(decoded.kind == RECORD_SUBMIT_ORDER);
    cr_assert(broker_memory_record(stage.kafka, "p.commands", partition, 1, &record));
    cr_assert(codec_decode(stage.codec, record.value, true, &stage.heap.arena, &decoded, &error) ==
              ERROR_OK);
    cr_assert(decoded.kind == RECORD_CANCEL_ORDER);
}

/* More than the window and what may be waiting. */
Test(submission_service, processes_floods_of_valid_and_invalid_inputs)
{
    for (int i = 0; i < 10000; i++) {
        char id[16];
        snprintf(id, sizeof(id), "f%d", i);
        heap_arena_reset(&stage.heap);
        struct text value = stage_order(&stage, id, i % 10 == 3 ? "none" : "w", "");
        stage_submit(&stage, 0, id, value);
    }
    for (int i = 0; i < 100; i++)
        stage_turn(&stage, 5000, 50);
    stage_settle(&stage);
    int64_t total = site_ends(stage.kafka, "p.commands", STAGE_COMMAND_PARTITIONS);
    cr_assert(total == 9000, "%lld", (long long)total);
    total = site_ends(stage.kafka, "p.dead-letters", STAGE_COMMAND_PARTITIONS);
    cr_assert(total == 1000, "%lld", (long long)total);
}

/* One look at the list of topics answers all. They come at once, as fetches bring them: the loop
 * does not turn in between. */
Test(submission_service, is_not_held_up_by_thousands_of_unknown_reply_topics)
{
    enum { UNKNOWN = 3000 };
    stage_settle(&stage);
    for (int i = 0; i < UNKNOWN; i++) {
        char topic[32];
        heap_arena_reset(&stage.heap);
        snprintf(topic, sizeof(topic), "p.replies.x%d", i);
        stage_submit(&stage, 0, "", stage_order(&stage, "x", "w", topic));
    }
    stage_submit(&stage, 0, "o1", stage_order(&stage, "o1", "w", ""));
    for (int i = 0; i < 2 * UNKNOWN && broker_memory_step(stage.kafka); i++)
        continue;
    cr_assert(submission_partition_waiting(stage.instances[0]->partitions[0]) > 0);
    for (int i = 0; i < 15; i++)
        stage_turn(&stage, 20000, 100);
    cr_assert_eq(stage_commands(&stage, "o1", COMMAND_SUBMIT_ORDER), 1, "after 1.5 s");
    cr_assert_eq(stage_commands(&stage, "x", COMMAND_SUBMIT_ORDER), 0);
    cr_assert_eq(submission_partition_waiting(stage.instances[0]->partitions[0]), 0);
    struct broker_record letter = stage_dead_letter(&stage, 0, UNKNOWN - 1);
    cr_assert(
        text_equal(stage_header(&letter, "__streams.errors.exception"), TEXT("UnknownReplyTopic")));
    stage_settle(&stage);
    cr_assert(stage.instances[0]->in_flight_bytes == 0);
}

Test(submission_service, reads_the_list_of_topics_once_a_second)
{
    enum { SECONDS = 5 };
    stage_settle(&stage);
    uint64_t before = broker_memory_requests(stage.brokers[0]);
    for (int i = 0; i < SECONDS * 20; i++) {
        char topic[32];
        heap_arena_reset(&stage.heap);
        snprintf(topic, sizeof(topic), "p.replies.x%d", i);
        stage_submit(&stage, 0, "x", stage_order(&stage, "x", "w", topic));
        stage_turn(&stage, 500, 50);
    }
    uint64_t asked = broker_memory_requests(stage.brokers[0]) - before;
    cr_assert(asked >= SECONDS && asked <= SECONDS + 1, "%llu", (unsigned long long)asked);
}

/* More than one list is old by the time that it answers. */
Test(submission_service, finds_a_reply_topic_that_was_just_created)
{
    stage_submit(&stage, 0, "x", stage_order(&stage, "x", "w", "p.replies.new"));
    stage_turn(&stage, 20000, 0);
    broker_memory_topic(stage.kafka, "p.replies.new", 1);
    stage_submit(&stage, 0, "o1", stage_order(&stage, "o1", "w", "p.replies.new"));
    stage_settle(&stage);
    cr_assert(stage_commands(&stage, "o1", COMMAND_SUBMIT_ORDER) == 1);
}

Test(submission_service, repeats_no_committed_inputs)
{
    stage_submit(&stage, 0, "o1", stage_order(&stage, "o1", "w", ""));
    stage_settle(&stage);
    stage_end(&stage, 0, true);
    broker_memory_rebalance(stage.kafka, "p.submission");
    stage_settle(&stage);
    stage_start(&stage, 1);
    stage_settle(&stage);
    stage_rebalance(&stage);
    stage_submit(&stage, 0, "o2", stage_order(&stage, "o2", "w", ""));
    stage_settle(&stage);
    cr_assert(stage_commands(&stage, "o1", COMMAND_SUBMIT_ORDER) == 1);
    cr_assert(stage_commands(&stage, "o2", COMMAND_SUBMIT_ORDER) == 1);
}

Test(submission_service, sends_unacknowledged_commands_again)
{
    stage_settle(&stage);
    struct broker_memory_faults faults = {.append_lost = 1000};
    broker_memory_set_faults(stage.kafka, &faults);
    stage_submit(&stage, 0, "o1", stage_order(&stage, "o1", "w", ""));
    stage_submit(&stage, 0, "g", TEXT("garbage"));
    stage_settle(&stage);
    cr_assert(stage_commands(&stage, "o1", COMMAND_SUBMIT_ORDER) == 0);
    broker_memory_set_faults(stage.kafka, &(struct broker_memory_faults){0});
    stage_settle(&stage);
    cr_assert(stage_commands(&stage, "o1", COMMAND_SUBMIT_ORDER) == 1);
    cr_assert(stage_dead_letters(&stage, 0, 1, TEXT("garbage"), code) == 1);
}

Test(submission_service, loses_nothing_when_the_producer_dies)
{
    stage_settle(&stage);
    for (int i = 0; i < 50; i++) {
        char id[16];
        snprintf(id, sizeof(id), "d%d", i);
        stage_submit(&stage, 0, id, stage_order(&stage, id, "w", ""));
    }
    stage_turn(&stage, 60, 1);
    broker_memory_fail_producer(stage.brokers[0], BROKER_PRODUCER_LOG);
    stage_settle(&stage);
    for (int i = 0; i < 50; i++) {
        char id[16];
        snprintf(id, sizeof(id), "d%d", i);
        cr_assert(stage_commands(&stage, id, COMMAND_SUBMIT_ORDER) >= 1, "%s", id);
    }
}

/* Records that retention removed are reported and passed over. */
Test(submission_service, skips_a_gap_in_the_log)
{
    stage_settle(&stage);
    stage_end(&stage, 0, false);
    for (int i = 0; i < 5; i++)
        stage_submit(&stage, 0, "g", TEXT("garbage"));
    stage_submit(&stage, 0, "o1", stage_order(&stage, "o1", "w", ""));
    broker_memory_trim(stage.kafka, "p.submissions", 0, 3);
    stage_start(&stage, 0);
    stage_settle(&stage);
    stage_rebalance(&stage);
    stage_settle(&stage);
    cr_assert(stage_commands(&stage, "o1", COMMAND_SUBMIT_ORDER) == 1);
    cr_assert(stage_dead_letters(&stage, 0, 4, TEXT("garbage"), code) == 1);
}

/* ---- records that no dead letter can hold ---- */

/* An order, followed by zeros, of `size` bytes. */
static struct text padded(const char *order_id, uint32_t size)
{
    struct text order = stage_order(&stage, order_id, "w", "p.replies.web");
    char *bytes = calloc(1, size);
    cr_assert_not_null(bytes);
    memcpy(bytes, order.data, order.size);
    return (struct text){bytes, size};
}

static void free_text(struct text text)
{
    free((void *)(uintptr_t)text.data);
}

/* Far larger than any topic takes: a record of one byte repeated is tiny once it is compressed. */
Test(submission_service, passes_records_that_are_too_large)
{
    struct text huge = padded("huge", 20000000);
    struct text large = padded("large", 4 * 1024 * 1024 + 100 * 1024);
    int64_t at_huge = stage_submit(&stage, 0, "huge", huge);
    int64_t at_large = stage_submit(&stage, 0, "large", large);
    stage_submit(&stage, 0, "o1", stage_order(&stage, "o1", "w", ""));
    stage_settle(&stage);
    cr_assert(stage_commands(&stage, "o1", COMMAND_SUBMIT_ORDER) == 1);
    struct broker_record letter = stage_dead_letter(&stage, 0, at_huge);
    cr_assert(text_equal(stage_header(&letter, "__streams.errors.exception"), TEXT("TooLong")));
    cr_assert(text_equal(stage_header(&letter, "reeve.errors.value_bytes"), TEXT("20000000")));
    cr_assert(stage_header(&letter, "reeve.errors.value_xxh128").size == 32);
    cr_assert(letter.value.size < INPUT_BYTES_MAX &&
              memcmp(letter.value.data, huge.data, letter.value.size) == 0);
    cr_assert(stage_rejections(&stage, 0, at_huge) == 1);
    stage_dead_letter(&stage, 0, at_large);
    cr_assert(stage_rejections(&stage, 0, at_large) == 1);
    cr_assert(stage_alerts(&stage, "SubmissionTooLarge") == 1);
    free_text(huge);
    free_text(large);
}

Test(submission_service, passes_large_keys_and_headers)
{
    char *key = calloc(1, 5000001);
    cr_assert_not_null(key);
    memset(key, 'k', 5000000);
    struct text order = keep(stage_order(&stage, "o1", "w", "p.replies.web"));
    int64_t at_header = stage_submit_header(&stage, 0, "o1", order, 5000000);
    int64_t at_key = stage_submit(&stage, 0, key, order);
    stage_submit_header(&stage, 0, "o2", stage_order(&stage, "o2", "w", ""), 60000);
    stage_settle(&stage);
    cr_assert(stage_commands(&stage, "o1", COMMAND_SUBMIT_ORDER) == 0);
    cr_assert(stage_commands(&stage, "o2", COMMAND_SUBMIT_ORDER) == 1);
    struct broker_record letter = stage_dead_letter(&stage, 0, at_header);
    cr_assert(text_equal(letter.value, order) && text_equal(letter.key, TEXT("o1")));
    cr_assert(text_equal(stage_header(&letter, "__streams.errors.exception"), TEXT("TooLong")));
    cr_assert(text_equal(stage_header(&letter, "reeve.errors.meta_bytes"), TEXT("5000003")));
    cr_assert(stage_header(&letter, "h").data == NULL);
    letter = stage_dead_letter(&stage, 0, at_key);
    cr_assert(text_equal(letter.value, order) && letter.key.size < 65536);
    cr_assert(stage_rejections(&stage, 0, at_header) == 1);
    cr_assert(stage_rejections(&stage, 0, at_key) == 1);
    free(key);
}

/* Headers wait with their record: what waits is bounded by all of its bytes. */
Test(submission_service, bounds_the_memory_of_what_waits)
{
    stage_settle(&stage);
    broker_memory_set_partition_fault(stage.kafka, "p.workflows", 0, PARTITION_UNREADABLE);
    struct text order = keep(stage_order(&stage, "x", "new", ""));
    for (int i = 0; i < 200; i++)
        stage_submit_header(&stage, 0, "", order, 60000);
    for (int i = 0; i < 20; i++)
        stage_turn(&stage, 500, 10);
    uint32_t waiting = submission_partition_waiting(stage.instances[0]->partitions[0]);
    cr_assert(waiting > 0 && waiting <= (4 << 20) / 60000 + 1, "%u", waiting);
    cr_assert(stage.instances[0]->in_flight_bytes >= waiting * UINT64_C(60000));
    broker_memory_clear_partition_faults(stage.kafka);
    stage_deploy(&stage, "new", 1);
    stage_settle(&stage);
    cr_assert(stage_commands(&stage, "x", COMMAND_SUBMIT_ORDER) == 200);
    cr_assert(stage.instances[0]->in_flight_bytes == 0);
}

Test(submission_service, passes_records_that_cannot_be_read)
{
    stage_submit(&stage, 0, "o1", stage_order(&stage, "o1", "w", ""));
    int64_t from = stage_submit(&stage, 0, "u", TEXT("unreadable"));
    stage_submit(&stage, 0, "u", TEXT("unreadable"));
    broker_memory_break_batch(stage.kafka, "p.submissions", 0, from, from + 2);
    stage_submit(&stage, 0, "o2", stage_order(&stage, "o2", "w", ""));
    stage_settle(&stage);
    cr_assert(stage_commands(&stage, "o1", COMMAND_SUBMIT_ORDER) == 1);
    cr_assert(stage_commands(&stage, "o2", COMMAND_SUBMIT_ORDER) == 1);
    struct broker_record letter = stage_dead_letter(&stage, 0, from);
    cr_assert(letter.value.data == NULL);
    cr_assert(text_equal(stage_header(&letter, "__streams.errors.exception"), TEXT("Unreadable")));
    cr_assert(text_equal(stage_header(&letter, "reeve.errors.next_offset"), TEXT("3")));
    cr_assert(stage_alerts(&stage, "SubmissionUnreadable") == 1);
}

/* ---- a reply topic that is dead ---- */

/* More refusals for it than the partition's window holds. */
Test(submission_service, goes_on_when_a_reply_topic_accepts_nothing)
{
    struct text refused = keep(stage_order(&stage, "x", "none", "p.replies.web"));
    stage_settle(&stage);
    broker_memory_set_partition_fault(stage.kafka, "p.replies.web", 0, PARTITION_READ_ONLY);
    for (int i = 0; i < 9000; i++)
        stage_submit(&stage, 0, "", refused);
    stage_submit(&stage, 0, "o1", stage_order(&stage, "o1", "w", ""));
    for (int i = 0; i < 100; i++)
        stage_turn(&stage, 5000, 10);
    for (int i = 0; i < 100; i++)
        stage_turn(&stage, 5000, 300);
    cr_assert(stage_commands(&stage, "o1", COMMAND_SUBMIT_ORDER) == 1);
    cr_assert(stage_dead_letters(&stage, 0, 8999, refused, code) == 1);
    char reason[256];
    cr_assert(submission_ready(stage.instances[0], reason, sizeof(reason)), "%s", reason);
    /* From now on nothing waits for it. */
    int64_t at = stage_submit(&stage, 0, "", refused);
    stage_settle(&stage);
    cr_assert(stage.instances[0]->in_flight_bytes == 0);
    cr_assert(stage_rejections(&stage, 0, at) == 0);
    /* Later it gets another chance. */
    broker_memory_clear_partition_faults(stage.kafka);
    for (int i = 0; i < 100; i++)
        stage_turn(&stage, 5000, 10000);
    at = stage_submit(&stage, 0, "", refused);
    stage_settle(&stage);
    cr_assert(stage_rejections(&stage, 0, at) == 1);
}

/* ---- readiness ---- */

static bool is_ready(char reason[256])
{
    return submission_ready(stage.instances[0], reason, 256);
}

Test(submission_service, reports_a_partition_that_makes_no_progress)
{
    char reason[256] = "";
    stage_settle(&stage);
    stage_submit(&stage, 1, "o1", stage_order(&stage, "o1", "w", ""));
    stage_settle(&stage);
    cr_assert(is_ready(reason), "%s", reason);
    broker_memory_set_partition_fault(stage.kafka, "p.dead-letters", BROKER_MEMORY_ALL,
                                      PARTITION_REFUSES);
    stage_submit(&stage, 1, "g", TEXT("garbage"));
    stage_turn(&stage, 500, 50);
    cr_assert(is_ready(reason), "%s", reason);
    for (int i = 0; i < 1000; i++)
        stage_turn(&stage, 500, 50);
    cr_assert(!is_ready(reason));
    cr_assert(strstr(reason, "partition 1 of p.submissions makes no progress at offset 1") != NULL,
              "%s", reason);
    broker_memory_clear_partition_faults(stage.kafka);
    stage_settle(&stage);
    cr_assert(is_ready(reason), "%s", reason);
    for (int i = 0; i < 1000; i++) /* nothing to do is progress enough */
        stage_turn(&stage, 500, 50);
    cr_assert(is_ready(reason), "%s", reason);
}

Test(submission_service, tells_that_what_waits_holds_up_the_others)
{
    char reason[256] = "";
    stage_settle(&stage);
    broker_memory_set_partition_fault(stage.kafka, "p.workflows", 0, PARTITION_UNREADABLE);
    struct text order = keep(stage_order(&stage, "x", "new", ""));
    for (int i = 0; i < 200; i++)
        stage_submit_header(&stage, 0, "", order, 60000);
    for (int i = 0; i < 40; i++)
        stage_turn(&stage, 500, 50);
    cr_assert_not(submission_degraded(stage.instances[0], reason, sizeof(reason)), "%s", reason);
    for (int i = 0; i < 100; i++)
        stage_turn(&stage, 500, 50);
    cr_assert(is_ready(reason), "%s", reason);
    cr_assert(submission_degraded(stage.instances[0], reason, sizeof(reason)));
    cr_assert(strstr(reason, "partition 0 of p.submissions is held up") != NULL, "%s", reason);
    cr_assert(strstr(reason, "it waits until the workflows topic can be read") != NULL, "%s",
              reason);
    broker_memory_clear_partition_faults(stage.kafka);
    stage_deploy(&stage, "new", 1);
    stage_settle(&stage);
    cr_assert_not(submission_degraded(stage.instances[0], reason, sizeof(reason)), "%s", reason);
}

/* One of those that held it up waits on; the others do not. */
Test(submission_service, reports_no_longer_what_it_reads_past)
{
    char reason[256] = "";
    const struct submission *submission = stage.instances[0];
    stage_settle(&stage);
    broker_memory_set_partition_fault(stage.kafka, "p.workflows", 0, PARTITION_UNREADABLE);
    stage_submit(&stage, 0, "x", stage_order(&stage, "x", "new", ""));
    struct text order = keep(stage_order(&stage, "y", "w", "p.replies.none"));
    for (int i = 0; i < 200; i++)
        stage_submit_header(&stage, 0, "", order, 60000);
    bool was_held = false;
    for (int i = 0; i < 400; i++) {
        stage_turn(&stage, 500, 50);
        was_held = was_held || submission->partitions[0]->held_since_ms != 0;
    }
    cr_assert(was_held);
    cr_assert_eq(submission_partition_waiting(submission->partitions[0]), 1);
    cr_assert_not(submission_degraded(stage.instances[0], reason, sizeof(reason)), "%s", reason);
}

Test(submission_service, reports_a_record_that_waits_for_a_topic)
{
    char reason[256] = "";
    stage_settle(&stage);
    broker_memory_set_partition_fault(stage.kafka, "p.workflows", 0, PARTITION_UNREADABLE);
    stage_submit(&stage, 2, "o1", stage_order(&stage, "o1", "new", ""));
    for (int i = 0; i < 1000; i++)
        stage_turn(&stage, 500, 50);
    cr_assert(!is_ready(reason));
    cr_assert(strstr(reason, "it waits until the workflows topic can be read") != NULL, "%s",
              reason);
    broker_memory_clear_partition_faults(stage.kafka);
    stage_settle(&stage);
    cr_assert(is_ready(reason), "%s", reason);
}
