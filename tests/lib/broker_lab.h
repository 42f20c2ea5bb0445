/* SPDX-License-Identifier: Apache-2.0 */
/* A cluster for tests of the broker: the one that REEVE_BOOTSTRAP names, or an embedded one, or a
 * mock; topics with a prefix of their own; a loop; and notes of everything that the broker
 * reports. */
#ifndef TESTS_LIB_BROKER_LAB_H
#define TESTS_LIB_BROKER_LAB_H

#include "kafka/broker.h"
#include "kafka/client.h"
#include "kafka/embedded/embedded.h"
#include "kafka/topics/topics.h"
#include "tests/lib/mock_cluster.h"

#include <stdbool.h>
#include <stdint.h>

enum { LAB_PARTITIONS = 4, LAB_WAIT_MS = 60000, LAB_VALUE_SIZE = 64 };

struct lab {
    struct embedded *embedded; /* NULL: another cluster */
    struct mock_cluster mock;  /* zeroed: another cluster */
    const char *bootstrap;
    struct topics topics;
    struct loop *loop;
    struct broker *broker;
};

/* Creates the topics and connects. On failure the process exits with a message. */
void lab_open(struct lab *lab);
/* The same with settings; bootstrap_servers is filled in. */
void lab_open_with(struct lab *lab, struct kafka_client_options options);
/* On a mock cluster, with events and commands alone. */
void lab_open_mock(struct lab *lab);
void lab_open_mock_with(struct lab *lab, struct kafka_client_options options);
void lab_close(struct lab *lab);
/* Another connection, on the same loop, to be freed by broker_free. */
struct broker *lab_connect(struct lab *lab, struct kafka_client_options options);

/* Runs the loop until *value >= wanted; false after LAB_WAIT_MS. */
bool lab_wait(struct lab *lab, const uint32_t *value, uint32_t wanted);
bool lab_wait_until(struct lab *lab, bool (*done)(void *ctx), void *ctx);
/* Runs the loop for that long. */
void lab_run(struct lab *lab, int64_t ms);

/* ---- appends ---- */

struct lab_answer {
    uint32_t count;
    int64_t offset;
    int64_t appended_at;
    enum error_class class;
    char code[ERROR_CODE_SIZE];
};

struct lab_appends {
    const struct broker *broker; /* of the last lab_append() */
    struct lab_answer *answers;  /* by token */
    uint32_t sent;
    uint32_t answered;
    uint32_t acked;
    uint32_t without_offset;
    uint32_t fatal;
    uint32_t failed; /* in any way */
};

void lab_appends_init(struct lab_appends *appends, uint32_t max);
void lab_appends_deinit(struct lab_appends *appends);
/* Appends with the next token; runs the loop while the queue is full. */
void lab_append(struct lab *lab, struct lab_appends *appends, enum broker_producer producer,
                const char *topic, int32_t partition, struct text value);
/* The value "N" for token N, to events. */
void lab_append_number(struct lab *lab, struct lab_appends *appends, int32_t partition);
/* `done` for appends that the test makes itself; ctx is a struct lab_appends. */
void lab_appended(void *ctx, uint64_t token, int64_t offset, const struct error *error);

/* ---- readers ---- */

struct lab_reader {
    struct broker_reader *reader;
    uint32_t records;
    uint32_t ends;
    uint32_t fatal;
    uint32_t retry;
    uint32_t disorder; /* records whose offset was not the next one */
    int64_t first_offset;
    int64_t next_offset;
    int64_t end_offset;
    int64_t timestamp;
    uint32_t header_count;
    uint32_t value_size;
    bool tombstone;
    char value[LAB_VALUE_SIZE]; /* the last one, cut */
    char key[LAB_VALUE_SIZE];
    char code[ERROR_CODE_SIZE]; /* of the last error */
    uint32_t close_after;       /* closes itself within the callback of that record; 0 = never */
};

/* Zeroes the notes and reads events[partition] through the lab's broker. */
void lab_read(struct lab *lab, struct lab_reader *reader, int32_t partition, int64_t offset);
void lab_reader_close(struct lab_reader *reader);
extern const struct broker_reader_ops lab_reader_ops;

/* ---- members ---- */

struct lab_member {
    struct broker_group *group;
    uint32_t assigned;
    uint32_t revoked;
    uint32_t lost;
    uint32_t errors;
    uint32_t owned; /* how many partitions */
    uint32_t mask;  /* which */
    uint32_t left;
};

/* Joins the lab's own group, for commands. */
void lab_join(struct lab *lab, struct broker *broker, struct lab_member *member);
void lab_leave(struct lab_member *member);

#endif
