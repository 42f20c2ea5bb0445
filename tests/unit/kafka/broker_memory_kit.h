/* SPDX-License-Identifier: Apache-2.0 */
/* Two instances on the broker in memory. Each notes what its callbacks were called with. */
#ifndef TESTS_UNIT_KAFKA_BROKER_MEMORY_KIT_H
#define TESTS_UNIT_KAFKA_BROKER_MEMORY_KIT_H

#include "tests/simulation/broker_memory.h"

enum { MEMORY_APPENDS_MAX = 4096, MEMORY_STEPS_MAX = 100000 };

struct memory_answer {
    uint32_t count;
    int64_t offset;
    int64_t appended_at;
    enum error_class class;
    enum error_code code;
};

struct memory_instance {
    struct broker *broker;
    bool batches; /* its appends */
    struct memory_answer answers[MEMORY_APPENDS_MAX];
    uint32_t sent;
    uint32_t answered;

    struct broker_reader *reader;
    int64_t next_offset;
    uint32_t records;
    uint32_t ends;
    char error[ERROR_CODE_SIZE];
    char last_value[64];

    struct broker_group *group;
    uint32_t assigned;
    uint32_t owned;
    uint32_t revoked;
    uint32_t lost;
    uint32_t left;

    int64_t committed;
    char note[32];
    int64_t low;
    int64_t high;
    uint32_t replies;
    enum error_class reply_class;
};

struct memory_lab {
    struct clock_manual clock;
    struct broker_memory_cluster *kafka;
    struct memory_instance *one;
    struct memory_instance *two;
};

/* A topic "events" with two partitions, and both instances connected. */
void memory_lab_open(struct memory_lab *lab, uint64_t seed);
void memory_lab_close(struct memory_lab *lab);
/* Runs until nothing is left to do. */
void memory_lab_settle(struct memory_lab *lab);

/* Another instance of the lab; the caller frees it before the lab. */
struct memory_instance *memory_instance_new(struct memory_lab *lab, const char *name);
void memory_instance_free(struct memory_instance *instance);

/* Returns the place of its answer in `answers`. */
uint32_t memory_lab_append(struct memory_instance *instance, const char *topic, int32_t partition,
                           const char *value);
/* Reads partition 0 of "events". */
void memory_lab_read(struct memory_instance *instance, int64_t offset);

/* Callbacks whose context is an instance. */
extern const struct broker_reader_ops memory_reader_ops;
extern const struct broker_group_ops memory_group_ops;
void memory_on_appended(void *ctx, uint64_t token, int64_t offset, const struct error *error);
void memory_on_left(void *ctx);
void memory_on_position(void *ctx, int32_t partition, int64_t offset, const char *note,
                        const struct error *error);
void memory_on_offsets(void *ctx, int64_t low, int64_t high, const struct error *error);

#endif
