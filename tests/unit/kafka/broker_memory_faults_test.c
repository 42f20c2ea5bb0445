/* SPDX-License-Identifier: Apache-2.0 */
/* The broker in memory: a partition that fails on its own fails as it says, leaves the others
 * alone, and continues where it was. */
#include "tests/simulation/broker_memory.h"

#include <criterion/criterion.h>
#include <stdio.h>

enum { STEPS_MAX = 10000, HEALTHY = 1, FAULTY = 0 };

struct side {
    uint32_t answered;
    enum error_class class;
    uint32_t records;
    uint32_t replies;
    enum error_class reply_class;
    char error[ERROR_CODE_SIZE];
    struct broker_reader *reader;
};

struct lab {
    struct clock_manual clock;
    struct broker_memory_cluster *kafka;
    struct broker *broker;
    struct side sides[2]; /* by partition */
};

static void on_appended(void *ctx, uint64_t token, int64_t offset, const struct error *error)
{
    struct side *side = ctx;
    (void)token;
    (void)offset;
    side->answered++;
    side->class = error->class;
}

static void on_record(void *ctx, const struct broker_record *record)
{
    (void)record;
    ((struct side *)ctx)->records++;
}

static void on_end(void *ctx, int64_t next_offset)
{
    (void)ctx;
    (void)next_offset;
}

static void on_error(void *ctx, const struct error *error)
{
    struct side *side = ctx;
    snprintf(side->error, sizeof(side->error), "%s", error_name_of(error));
}

static const struct broker_reader_ops reader_ops = {on_record, on_end, on_error};

static void on_offsets(void *ctx, int64_t low, int64_t high, const struct error *error)
{
    struct side *side = ctx;
    (void)low;
    (void)high;
    side->replies++;
    side->reply_class = error->class;
}

static enum error_class append(struct lab *lab, int32_t partition, struct text value)
{
    struct broker_append append = {.producer = BROKER_PRODUCER_EFFECTS,
                                   .topic = "events",
                                   .partition = partition,
                                   .key = TEXT("k"),
                                   .value = value,
                                   .done = on_appended,
                                   .ctx = &lab->sides[partition]};
    return broker_append(lab->broker, &append, NULL);
}

static void open_lab(struct lab *lab)
{
    *lab = (struct lab){0};
    clock_manual_init(&lab->clock, 1700000000000);
    lab->kafka = broker_memory_cluster_new(1, &lab->clock.clock);
    broker_memory_topic(lab->kafka, "events", 2);
    lab->broker = broker_memory_new(lab->kafka, "one");
}

static void read_all(struct lab *lab)
{
    for (int32_t p = 0; p < 2; p++)
        lab->sides[p].reader =
            broker_read(lab->broker, "events", p, BROKER_EARLIEST, &reader_ops, &lab->sides[p]);
}

static void settle(struct lab *lab)
{
    cr_assert_lt(broker_memory_settle(lab->kafka, STEPS_MAX), STEPS_MAX);
}

/* A record, a look at the offsets and a reader on each partition, the first of which has the
 * fault. */
static void open_faulty_lab(struct lab *lab, enum broker_memory_partition_fault fault)
{
    open_lab(lab);
    broker_memory_set_partition_fault(lab->kafka, "events", FAULTY, fault);
    read_all(lab);
    for (int32_t p = 0; p < 2; p++) {
        cr_assert_eq(append(lab, p, TEXT("value")), ERROR_OK);
        broker_offsets(lab->broker, "events", p, on_offsets, &lab->sides[p]);
    }
    settle(lab);
    cr_assert_eq(lab->sides[HEALTHY].answered, 1);
    cr_assert_eq(lab->sides[HEALTHY].class, ERROR_OK);
    cr_assert_eq(lab->sides[HEALTHY].records, 1);
    cr_assert_eq(lab->sides[HEALTHY].reply_class, ERROR_OK);
}

static void repair(struct lab *lab)
{
    broker_memory_clear_partition_faults(lab->kafka);
    settle(lab);
}

static void close_lab(struct lab *lab)
{
    for (int32_t p = 0; p < 2; p++)
        broker_reader_close(lab->sides[p].reader);
    broker_free(lab->broker);
    broker_memory_cluster_free(lab->kafka);
}

Test(broker_memory_faults, a_partition_without_a_leader_waits_and_continues)
{
    struct lab lab;
    open_faulty_lab(&lab, PARTITION_NO_LEADER);
    cr_assert_eq(lab.sides[FAULTY].answered, 0);
    cr_assert_eq(lab.sides[FAULTY].records, 0);
    cr_assert_eq(lab.sides[FAULTY].reply_class, ERROR_RETRY);
    repair(&lab);
    cr_assert_eq(lab.sides[FAULTY].answered, 1);
    cr_assert_eq(lab.sides[FAULTY].class, ERROR_OK);
    cr_assert_eq(lab.sides[FAULTY].records, 1);
    close_lab(&lab);
}

Test(broker_memory_faults, a_read_only_partition_takes_no_records_until_it_works_again)
{
    struct lab lab;
    open_faulty_lab(&lab, PARTITION_READ_ONLY);
    cr_assert_eq(lab.sides[FAULTY].answered, 0);
    cr_assert_eq(lab.sides[FAULTY].reply_class, ERROR_OK);
    broker_memory_append(lab.kafka, "events", FAULTY, TEXT("k"), TEXT("older"));
    settle(&lab);
    cr_assert_eq(lab.sides[FAULTY].records, 1);
    repair(&lab);
    cr_assert_eq(lab.sides[FAULTY].answered, 1);
    cr_assert_eq(lab.sides[FAULTY].records, 2);
    close_lab(&lab);
}

Test(broker_memory_faults, a_partition_that_holds_acknowledgements_has_the_record)
{
    struct lab lab;
    open_faulty_lab(&lab, PARTITION_HOLDS_ACKS);
    cr_assert_eq(lab.sides[FAULTY].answered, 0);
    cr_assert_eq(lab.sides[FAULTY].records, 1);
    repair(&lab);
    cr_assert_eq(lab.sides[FAULTY].answered, 1);
    cr_assert_eq(lab.sides[FAULTY].records, 1);
    close_lab(&lab);
}

Test(broker_memory_faults, an_append_that_fails_or_is_refused_is_not_in_the_log)
{
    static const enum broker_memory_partition_fault faults[] = {PARTITION_FAILS_APPEND,
                                                                PARTITION_REFUSES};
    static const enum error_class classes[] = {ERROR_RETRY, ERROR_REJECT};
    for (size_t i = 0; i < 2; i++) {
        struct lab lab;
        open_faulty_lab(&lab, faults[i]);
        repair(&lab);
        cr_assert_eq(lab.sides[FAULTY].answered, 1);
        cr_assert_eq(lab.sides[FAULTY].class, classes[i]);
        cr_assert_eq(lab.sides[FAULTY].records, 0);
        close_lab(&lab);
    }
}

Test(broker_memory_faults, an_unreadable_partition_still_takes_records)
{
    struct lab lab;
    open_faulty_lab(&lab, PARTITION_UNREADABLE);
    cr_assert_eq(lab.sides[FAULTY].answered, 1);
    cr_assert_eq(lab.sides[FAULTY].records, 0);
    cr_assert_eq(lab.sides[FAULTY].reply_class, ERROR_RETRY);
    repair(&lab);
    cr_assert_eq(lab.sides[FAULTY].records, 1);
    close_lab(&lab);
}

Test(broker_memory_faults, a_full_queue_and_a_large_record_are_refused)
{
    struct lab lab;
    open_lab(&lab);
    broker_memory_set_queue_max(lab.kafka, 1);
    broker_memory_set_record_max(lab.kafka, 4);
    cr_assert_eq(append(&lab, 0, TEXT("large")), ERROR_OK);
    cr_assert_eq(append(&lab, 1, TEXT("abc")), ERROR_RETRY);
    settle(&lab);
    cr_assert_eq(lab.sides[0].class, ERROR_REJECT);
    cr_assert_eq(append(&lab, 1, TEXT("abc")), ERROR_OK);
    settle(&lab);
    cr_assert_eq(lab.sides[1].class, ERROR_OK);
    close_lab(&lab);
}

Test(broker_memory_faults, a_topic_grows_and_disappears)
{
    struct lab lab;
    open_lab(&lab);
    broker_memory_append(lab.kafka, "events", 1, TEXT("k"), TEXT("kept"));
    broker_memory_add_partitions(lab.kafka, "events", 5);
    cr_assert_eq(broker_partition_count(lab.broker, "events", 0), 5);
    read_all(&lab);
    settle(&lab);
    cr_assert_eq(lab.sides[1].records, 1);
    broker_memory_delete_topic(lab.kafka, "events");
    settle(&lab);
    cr_assert_str_eq(lab.sides[1].error, "UnknownTopic");
    cr_assert_eq(append(&lab, 0, TEXT("late")), ERROR_OK);
    settle(&lab);
    cr_assert_eq(lab.sides[0].class, ERROR_REJECT);
    close_lab(&lab);
}
