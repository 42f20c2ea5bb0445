/* SPDX-License-Identifier: Apache-2.0 */
/* The log of a partition for fuzz targets: records of any bytes, Decisions of any bytes that count
 * as those of the latest claim, and a scheduler that decides with the engine. */
#ifndef TESTS_FUZZ_LOG_WRITER_H
#define TESTS_FUZZ_LOG_WRITER_H

#include "base/heap_arena.h"
#include "schemas/avro/codec.h"
#include "tests/simulation/broker_memory.h"

enum { LOG_WRITER_ORDERS = 4, LOG_WRITER_MARGIN_MS = 1000 };

struct log_writer {
    struct broker_memory_cluster *kafka;
    struct codec *codec;
    const struct clock *clock;
    struct buffer bytes;
    struct heap_arena scratch;
    struct heap_arena heap; /* the workflow and the orders "A" to "D" */
    const struct workflow *workflow;
    struct order orders[LOG_WRITER_ORDERS];
    struct uuid claim_id;
    int64_t next_sequence;
    int64_t next_command; /* commands before it are decided */
    int64_t log_end;      /* behind the latest record of the claim */
};

/* Claims p.events[0], which is empty, like p.commands[0]. All borrowed. */
void log_writer_open(struct log_writer *writer, struct broker_memory_cluster *kafka,
                     struct codec *codec, const struct clock *clock);
void log_writer_close(struct log_writer *writer);
int64_t log_writer_end(const struct log_writer *writer, const char *topic);

/* A record of the key; `kind` 0: the bytes as they are, else behind the frame of that kind. */
int64_t log_writer_put(struct log_writer *writer, const char *topic, struct text key,
                       enum record_kind kind, struct text bytes);
int64_t log_writer_send(struct log_writer *writer, const char *topic, struct text key,
                        enum record_kind kind, const void *record);
/* The rest of a Decision, from its order_id on, about a command of one byte, which is appended. */
void log_writer_put_decision(struct log_writer *writer, struct text rest);
/* The rest of an Expiry that counts, from its decided_at on. */
void log_writer_put_expiry(struct log_writer *writer, struct text rest);
/* The scheduler does something: a submission, a report, what was requested, an operator's command.
 */
void log_writer_schedule(struct log_writer *writer, uint8_t what, uint8_t order);

#endif
