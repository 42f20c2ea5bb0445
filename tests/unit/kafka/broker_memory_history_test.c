/* SPDX-License-Identifier: Apache-2.0 */
/* The broker in memory keeps its promises in random histories, and repeats each from its seed. */
#include "tests/lib/seed.h"
#include "tests/unit/kafka/broker_memory_kit.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>

enum { HISTORIES = 500 };

static uint64_t hash_of(uint64_t hash, uint64_t value)
{
    return (hash ^ value) * UINT64_C(0x100000001b3);
}

static void act(struct memory_lab *lab, char *value)
{
    struct memory_instance *instance =
        broker_memory_random(lab->kafka, 2) == 0 ? lab->one : lab->two;
    switch (broker_memory_random(lab->kafka, 12)) {
    case 0:
        broker_memory_disconnect(instance->broker);
        break;
    case 1:
        broker_memory_pause(instance->broker);
        break;
    case 2:
        broker_memory_fail_producer(instance->broker, BROKER_PRODUCER_LOG);
        break;
    case 3:
    case 4:
        broker_memory_connect(instance->broker);
        broker_memory_continue(instance->broker);
        break;
    default:
        snprintf(value, 64, "%s-%u", instance == lab->one ? "one" : "two", instance->sent);
        memory_lab_append(instance, "events", (int32_t)broker_memory_random(lab->kafka, 2), value);
        break;
    }
}

/* Acknowledged records are where they were acknowledged; offsets of one sender rise. */
static uint64_t check_instance(const struct memory_lab *lab, const struct memory_instance *instance,
                               const char *name)
{
    uint64_t hash = 0;
    for (uint32_t i = 0; i < instance->sent; i++) {
        const struct memory_answer *answer = &instance->answers[i];
        cr_assert_eq(answer->count, 1, "%s-%u was answered %u times", name, i, answer->count);
        hash = hash_of(hash, (uint64_t)answer->offset * 8 + answer->class);
        if (answer->offset < 0)
            continue;
        char value[64];
        uint32_t found = 0;
        snprintf(value, sizeof(value), "%s-%u", name, i);
        for (int32_t p = 0; p < 2; p++) {
            struct broker_record record;
            found += broker_memory_record(lab->kafka, "events", p, answer->offset, &record) &&
                     text_equal(record.value, text_of(value));
        }
        cr_assert_eq(found, 1, "%s is not at offset %" PRId64, value, answer->offset);
    }
    return hash;
}

static uint64_t history(uint64_t seed)
{
    struct memory_lab lab;
    char value[64];
    memory_lab_open(&lab, seed);
    memory_lab_read(lab.one, BROKER_EARLIEST);
    for (int i = 0; i < 300; i++) {
        if (broker_memory_random(lab.kafka, 4) == 0)
            act(&lab, value);
        else
            broker_memory_step(lab.kafka);
    }
    broker_memory_connect(lab.one->broker);
    broker_memory_continue(lab.one->broker);
    broker_memory_connect(lab.two->broker);
    broker_memory_continue(lab.two->broker);
    memory_lab_settle(&lab);
    uint64_t hash =
        hash_of(check_instance(&lab, lab.one, "one"), check_instance(&lab, lab.two, "two"));
    int64_t low;
    int64_t high;
    broker_memory_bounds(lab.kafka, "events", 0, &low, &high);
    cr_assert_eq(lab.one->records, high);
    memory_lab_close(&lab);
    return hash_of(hash, (uint64_t)high);
}

Test(broker_memory, repeats_random_histories_and_keeps_its_promises)
{
    uint64_t first = seed_first();
    uint64_t cases = seed_cases(HISTORIES);
    for (uint64_t i = 0; i < cases; i++) {
        seed_begin(first + i);
        cr_assert_eq(history(first + i), history(first + i));
        seed_end();
    }
}
