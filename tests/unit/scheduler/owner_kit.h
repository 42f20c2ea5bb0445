/* SPDX-License-Identifier: Apache-2.0 */
/* Owners over the broker in memory, for unit tests: a cluster with the topics of reeve, a deployed
 * workflow, and processes with real stores. Time passes only in owner_kit_run(). All of it lives as
 * long as the test's process, so the struct is static, and zeroed before its first use. */
#ifndef TESTS_UNIT_SCHEDULER_OWNER_KIT_H
#define TESTS_UNIT_SCHEDULER_OWNER_KIT_H

#include "replica/cluster/cluster.h"
#include "services/scheduler/owner/owner.h"
#include "tests/simulation/broker_memory.h"

enum { OWNER_KIT_PARTITIONS_MAX = 4, OWNER_KIT_PROCESSES_MAX = 4, OWNER_KIT_RETENTION_MS = 60000 };

/* A scheduler process. */
struct owner_kit_process {
    struct owner_kit *kit;
    const char *name;
    const char *folder;        /* its stores are in it */
    struct clock_manual clock; /* of its host: like the brokers' until a test sets it */
    struct service_context service;
    struct broker *broker;
    struct cluster *cluster;
    struct owner_metrics *metrics;
    struct router *router;                          /* NULL: without capacities */
    struct owner *owners[OWNER_KIT_PARTITIONS_MAX]; /* NULL: not open */
};

struct owner_kit {
    int32_t partitions;
    struct clock_manual clock; /* the brokers' */
    struct broker_memory_cluster *kafka;
    struct store_env *stores;
    struct codec *codec;
    struct heap_arena heap;
    struct buffer bytes;
    /* Of owners that are opened from now on. */
    uint32_t batch_max; /* 0: 10 */
    int64_t keep_ms;
    const char *trim_groups[2];
    uint32_t trim_group_count;
    struct owner_kit_process processes[OWNER_KIT_PROCESSES_MAX];
    uint32_t process_count;
};

/* Topics of prefix "p" with that many partitions; version 1 of the workflow "test" is deployed: one
 * step, "A", of the agent "agent". */
void owner_kit_begin(struct owner_kit *kit, int32_t partitions);
/* A host for a whole scheduler, without a cluster: the test opens it on `broker`. `standbys`:
 * scheduler.standby. */
struct owner_kit_process *owner_kit_host(struct owner_kit *kit, const char *name,
                                         const char *standbys);
/* Boots a process; `routed`: its agent may run `calls` steps at once (0: no router). */
struct owner_kit_process *owner_kit_boot(struct owner_kit *kit, const char *name, int64_t calls);
/* It owns the partition from now on, or has a standby for it. */
struct owner *owner_kit_own(struct owner_kit_process *process, int32_t partition);
struct owner *owner_kit_stand_by(struct owner_kit_process *process, int32_t partition);
void owner_kit_release(struct owner_kit_process *process, int32_t partition);
/* As by SIGKILL: what was not flushed is lost. */
void owner_kit_kill(struct owner_kit_process *process, int32_t partition);

/* One thing happens, and takes no time. */
void owner_kit_step(struct owner_kit *kit);
/* Everything that can happen in that time happens. */
void owner_kit_run(struct owner_kit *kit, int64_t ms);
/* The same, until the owner is in that state. Asserts that it gets there. */
void owner_kit_run_until(struct owner_kit *kit, const struct owner *owner, enum owner_state state,
                         int64_t ms_max);

/* A store of a log with a Claim and the Decisions on `orders` submissions, closed; returns the
 * process that has it. */
struct owner_kit_process *owner_kit_begin_log(struct owner_kit *kit, uint32_t orders);

/* Version `version` of the workflow `name`, as JSON. */
void owner_kit_deploy(struct owner_kit *kit, const char *name, uint32_t version,
                      const char *source);
/* SubmitOrder of the workflow "test", with replies to p.replies.app, and the report that the
 * order's first attempt of step A succeeded: to be changed, and sent. */
struct command owner_kit_submission(const char *order_id);
struct command owner_kit_report_of(const char *order_id);
/* To where the order belongs; returns its offset. */
int64_t owner_kit_command(struct owner_kit *kit, const struct command *cmd);
/* Submits an order of the workflow "test" to commands[partition], whatever its id says. */
int64_t owner_kit_submit_to(struct owner_kit *kit, int32_t partition, const char *order_id);
/* To where the order belongs. */
int64_t owner_kit_submit(struct owner_kit *kit, const char *order_id);
/* The agent reports that the order's first attempt of step A succeeded. */
void owner_kit_report(struct owner_kit *kit, const char *order_id);
/* An id that belongs to the partition; static memory per number. */
const char *owner_kit_id(const struct owner_kit *kit, int32_t partition, uint32_t number);
/* Another instance's Claim is in events[partition]. */
void owner_kit_claim(struct owner_kit *kit, int32_t partition, uint8_t claim_id);
/* And its Decision on that command, in events[0]: order "z" does not exist. */
void owner_kit_decide(struct owner_kit *kit, uint8_t claim_id, uint32_t sequence,
                      int64_t command_offset);
/* Framed like our records, with a schema that is not published. */
extern const struct text owner_kit_unknown_schema;
int64_t owner_kit_send(struct owner_kit *kit, const char *topic, int32_t partition, struct text key,
                       enum record_kind kind, const void *record);

/* The next offset. */
int64_t owner_kit_end(const struct owner_kit *kit, const char *topic, int32_t partition);
/* The record at an offset, in the kit's arena; false: there is none, or it does not decode. */
bool owner_kit_read(struct owner_kit *kit, const char *topic, int32_t partition, int64_t offset,
                    struct record *ret_record);
/* Records of that kind in the partition; what does not decode does not count. */
uint32_t owner_kit_count(struct owner_kit *kit, const char *topic, int32_t partition,
                         enum record_kind kind);
uint32_t owner_kit_decisions(struct owner_kit *kit, int32_t partition);
/* The last Decision about the order; asserts that there is one. In the kit's arena. */
const struct decision *owner_kit_decision(struct owner_kit *kit, int32_t partition,
                                          const char *order_id);
/* StepRequests for the order. */
uint32_t owner_kit_requests(struct owner_kit *kit, const char *order_id);
/* Partition alerts with this code on p.alerts. */
uint32_t owner_kit_alerts(struct owner_kit *kit, const char *code, bool raised);
/* What is wrong with the owner, "" = nothing. */
const char *owner_kit_trouble(const struct owner *owner);

#endif
