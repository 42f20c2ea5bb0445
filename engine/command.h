/* SPDX-License-Identifier: Apache-2.0 */
/* Commands: everything that asks the scheduler to decide. Imperatives; their numbers never
 * change. */
#ifndef ENGINE_COMMAND_H
#define ENGINE_COMMAND_H

#include "engine/order.h"

enum command_kind {
    COMMAND_UNDECODABLE = 0, /* bytes on the commands topic that no reader understands */
    COMMAND_SUBMIT_ORDER = 1,
    COMMAND_CANCEL_ORDER = 2,
    COMMAND_REPORT_STEP = 3,
    COMMAND_RECOVER_STEP = 4,
    COMMAND_START_STEP = 5,
    COMMAND_TIME_OUT_ORDER = 6,
    COMMAND_COMPENSATE_ORDER = 7,
    COMMAND_RESUBMIT_STEP = 8,
    COMMAND_EXPIRE_ORDER = 9,
    COMMAND_EXTEND_STEP = 10,
    COMMAND_KIND_COUNT
};

struct cancel_order {
    struct text order_id;
    struct text by;
    struct text reason;
    struct text reply_to; /* for the answer that there is no such order; may be empty */
};

/* What an agent reports about an attempt. */
struct report_step {
    struct text order_id;
    struct text step;
    enum direction direction;
    uint32_t attempt;
    bool succeeded;
    struct text output;        /* JSON; of a success */
    struct text error_name;    /* of a failure */
    struct text error_message; /* of a failure */
    enum effect effect;        /* of a failure: what the remote service may have applied */
    struct text agent;
    struct text instance; /* the agent's */
};

/* The supervisor's requests name what they saw; the scheduler refuses what is stale or early. */
struct recover_step {
    struct text order_id;
    struct text step;
    enum direction direction;
    uint32_t attempt;
    int64_t complete_by;
    struct text by; /* the supervisor's instance */
};

struct start_step {
    struct text order_id;
    struct text step;
    enum direction direction;
    uint32_t attempt; /* the latest one that was seen; the next one is started */
    int64_t retry_at; /* as it was seen; of no account for a queued step */
    struct text by;   /* the supervisor's instance, or the owner's when capacity appears */
};

struct time_out_order {
    struct text order_id;
    int64_t complete_by;
    struct text by;
};

struct compensate_order {
    struct text order_id;
    struct text by;
    struct text reason;
};

struct resubmit_step {
    struct text order_id;
    struct text step; /* empty: all that are in Error */
    struct text by;
    struct text reason;
    bool new_generation; /* the operator knows that nothing was applied: a new key, effect none */
};

/* What the auditor asks when an order's retention is over: it leaves the stores. */
struct expire_order {
    struct text order_id;
    int64_t ended_at; /* as it was seen */
    struct text by;
};

/* An agent asks for more time for the attempt that it works on. */
struct extend_step {
    struct text order_id;
    struct text step;
    enum direction direction;
    uint32_t attempt;
    int64_t complete_by;  /* the time asked for; the workflow bounds what is granted */
    struct text progress; /* for operators; may be empty */
    struct text agent;
    struct text instance; /* the agent's */
};

struct undecodable {
    struct text bytes;  /* the record's value */
    struct text key;    /* its key */
    struct text reason; /* why, for operators */
    bool quarantined;   /* decodable, but it killed its owner COMMAND_TRIES_MAX times */
};

struct command {
    enum command_kind kind;
    struct text order_id; /* = the record's key; empty when undecodable */
    union {
        struct undecodable undecodable;
        struct order_details submit_order;
        struct cancel_order cancel_order;
        struct report_step report_step;
        struct recover_step recover_step;
        struct start_step start_step;
        struct time_out_order time_out_order;
        struct compensate_order compensate_order;
        struct resubmit_step resubmit_step;
        struct expire_order expire_order;
        struct extend_step extend_step;
    };
};

/* "SubmitOrder" ... the Avro record's name */
extern const struct enum_names command_kind_names;
const char *command_kind_name(enum command_kind kind);

#endif
