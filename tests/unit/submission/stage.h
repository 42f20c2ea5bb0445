/* SPDX-License-Identifier: Apache-2.0 */
/* The submission service on the broker in memory, for its tests: one cluster, instances that
 * join and leave, inputs, and what they lead to. Prefix "p". */
#ifndef TESTS_UNIT_SUBMISSION_STAGE_H
#define TESTS_UNIT_SUBMISSION_STAGE_H

#include "services/submission/submission.h"
#include "tests/simulation/broker_memory.h"

enum { STAGE_PARTITIONS = 3, STAGE_COMMAND_PARTITIONS = 4, STAGE_INSTANCES_MAX = 3 };

/* A workflow of one step into a registry. */
void stage_register(struct workflow_registry *registry, const char *name, uint32_t version);

struct stage {
    struct broker_memory_cluster *kafka;
    struct clock_manual clock;
    struct loop *loop;
    struct metrics *metrics;
    struct config *config;
    struct service_context contexts[STAGE_INSTANCES_MAX];
    struct broker *brokers[STAGE_INSTANCES_MAX];
    struct submission *instances[STAGE_INSTANCES_MAX]; /* NULL: not started */
    struct codec *codec;                               /* of the applications that submit */
    struct heap_arena heap;
};

/* Topics p.* and the workflow w:1; no instance. */
void stage_open(struct stage *stage, uint64_t seed);
void stage_close(struct stage *stage);

/* A new instance; it joins in one of the next turns. */
void stage_start(struct stage *stage, size_t index);
/* SIGKILL, or a clean leave. */
void stage_end(struct stage *stage, size_t index, bool crash);
/* Runs a few steps; time advances by `ms`. */
void stage_turn(struct stage *stage, uint32_t steps, int64_t ms);
/* Runs until nothing happens any more and everything is committed. */
void stage_settle(struct stage *stage);
/* All members share the partitions again. */
void stage_rebalance(struct stage *stage);

/* Deploys w:version on the topic. */
void stage_deploy(struct stage *stage, const char *name, uint32_t version);
/* Bytes of an order; workflow w, `reply_to` may be NULL. In the stage's heap. */
struct text stage_order(struct stage *stage, const char *order_id, const char *workflow,
                        const char *reply_to);
struct text stage_cancel(struct stage *stage, const char *order_id);
/* The offset of the new record of submissions. */
int64_t stage_submit(struct stage *stage, int32_t partition, const char *key, struct text value);
/* The same with a header of `size` bytes. */
int64_t stage_submit_header(struct stage *stage, int32_t partition, const char *key,
                            struct text value, uint32_t size);

/* ---- results ---- */

/* How many commands of this kind there are for the order, on all partitions; those on a wrong
 * partition or under a wrong key are an assertion. */
uint32_t stage_commands(struct stage *stage, const char *order_id, enum command_kind kind);
/* The dead letters of a position of submissions. *ret_code (may be NULL) is of the last one; the
 * value must be `value`. */
uint32_t stage_dead_letters(struct stage *stage, int32_t partition, int64_t offset,
                            struct text value, char ret_code[ERROR_CODE_SIZE]);
/* The only dead letter of a position of submissions, borrowed. */
struct broker_record stage_dead_letter(struct stage *stage, int32_t partition, int64_t offset);
/* A header of the record; empty if it has none of the name. */
struct text stage_header(const struct broker_record *record, const char *name);
/* The alerts with this code. */
uint32_t stage_alerts(struct stage *stage, const char *code);
/* The Rejected statuses on p.replies.web for a position of submissions. */
uint32_t stage_rejections(struct stage *stage, int32_t partition, int64_t offset);

#endif
