/* SPDX-License-Identifier: Apache-2.0 */
/* A model of what a log implies, written from the design and the invariants rather than from the
 * product: which records count, which times and versions they carry, and which StepRequests,
 * StatusUpdates, OperatorAlerts and dead letters they lead to. It shares only the codec. */
#ifndef TESTS_PROPERTY_OWNERSHIP_MODEL_H
#define TESTS_PROPERTY_OWNERSHIP_MODEL_H

#include "tests/property/engine_rules.h"
#include "tests/property/ownership_deployments.h"
#include "tests/property/ownership_world.h"

enum model_alert { MODEL_NO_ALERT, MODEL_RAISED, MODEL_CLOSED, MODEL_QUARANTINE };

/* What one command led to. */
struct model_outcome {
    int64_t decision_offset; /* -1: not decided */
    struct text order_id;
    uint64_t order_version;
    enum order_state order_state;
    int64_t decided_at;
    enum status_kind status; /* STATUS_KIND_COUNT: none */
    enum model_alert alert;
    struct text alert_code;
    bool dead;
    bool purged; /* it was gone before it could be decided, and a Reset skips it */
    bool status_seen;
    bool alert_seen;
    bool dead_seen;
};

struct model_attempt {
    uint32_t order; /* the place of its order in the model */
    struct attempt_ref ref;
    uint32_t generation;
    struct text agent;
    const struct workflow *workflow; /* the order's, when it started */
    int64_t complete_by;             /* of the last extension */
    int64_t margin_ms;
    bool ended;
};

/* A StepRequest that a Decision leads to: an attempt starts, or gets more time. */
struct model_request {
    int64_t decision_offset;
    uint32_t attempt; /* its place in the model */
    int64_t complete_by;
    bool extension;
    bool seen;
};

/* When an order has expired, another one of its id may follow. */
struct model_order {
    struct text id;
    uint64_t version;
    bool ended;
    int64_t ended_at;
    bool expired;
    const struct workflow *workflow; /* of its present version; NULL: never accepted */
    struct step_output outputs[WORKFLOW_STEPS_MAX];
    uint32_t output_count;
    /* Of sub-orders and their parents. */
    int64_t accepted_offset;
    const struct order_parent *parent; /* NULL: none */
    bool held;                         /* it is, or was */
    struct text output;
    struct rules *rules; /* NULL: never accepted, or not followed */
};

struct model_sender;

/* A log walked from its start. Texts are in the world's scratch arena. */
struct model {
    struct world *world;
    int32_t partition;
    /* what the record to come has to be */
    bool claimed;
    struct uuid claim_id;
    int64_t next_sequence;
    int64_t last_command;
    int64_t newest_decided_at;
    int32_t format;                   /* the newest that a Claim has shown */
    int32_t own_format;               /* that of the owner */
    struct deployments_reader reader; /* the owner, as a reader of <p>.workflows */
    uint64_t *rare; /* counters of engine_rules.h; NULL: the rules of orders are not followed */
    /* what the records so far imply */
    struct model_outcome *outcomes; /* by command offset */
    int64_t outcome_count;
    struct model_attempt *attempts;
    uint32_t attempt_count;
    uint32_t attempt_size;
    struct model_request *requests; /* by decision_offset */
    uint32_t request_count;
    uint32_t request_size;
    struct model_order *orders;
    uint32_t order_count;
    uint32_t order_size;
    struct model_sender *senders; /* Decisions from which messages come; see ownership_messages.c */
    uint32_t sender_count;
    uint32_t sender_size;
};

/* Walks events[partition] from its start to its end; NULL, or which rule the log breaks. `rare`
 * (RARE_COUNT counters) may be NULL: then orders are not followed one by one. */
const char *model_walk(struct world *world, int32_t partition, uint64_t *rare,
                       struct model *ret_model);
void model_free(struct model *model);
/* NULL: no Decision leads to it. */
struct model_request *model_find_request(const struct model *model,
                                         const struct step_request *request);
/* NULL: there is none, or it has expired. */
const struct model_order *model_find_order(const struct model *model, struct text order_id);
/* The same, to be changed. */
struct model_order *model_order_of(struct model *model, struct text order_id);
/* What the step put out, or an empty text. */
struct text model_output(const struct model_order *order, struct text step);
/* Room for one more element behind `count`. */
void *model_grow(void *elements, uint32_t count, uint32_t *size, size_t element_size);
/* ownership_messages.c. The Decision counts, and has been taken. */
void model_note_sender(struct model *model, const struct decision *decision, int64_t offset);
/* The same file. What the orders of the partition have told others is what was decided. */
const char *model_check_messages(struct model *model);
/* ownership_rules.c. The Decision counts, and is the one that its command deserves. */
const char *model_follow_rules(struct model *model, const struct decision *decision);

/* ownership_effects.c. At rest: the log keeps its rules, and what is in the other topics is what it
 * implies, no less and nothing else. */
const char *model_check(struct world *world, int32_t partition);
/* ownership_effects.c. An owner that has nothing to do has asked the agent for every attempt that
 * is under way. */
const char *model_check_requests(struct world *world, int32_t partition);

#endif
