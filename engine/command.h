/* SPDX-License-Identifier: Apache-2.0 */
/* Commands: everything that asks the scheduler to decide. Imperatives; their numbers never
 * change. */
#ifndef ENGINE_COMMAND_H
#define ENGINE_COMMAND_H

#include "engine/order.h"

enum command_kind {
    COMMAND_UNDECODABLE = 0, /* a record on the commands topic that is not a valid command */
    COMMAND_SUBMIT_ORDER = 1,
    COMMAND_CANCEL_ORDER = 2,
    COMMAND_REPORT_STEP = 3,
    COMMAND_RECOVER_STEP = 4,
    COMMAND_START_STEP = 5,
    COMMAND_TIME_OUT_ORDER = 6,
    COMMAND_COMPENSATE_ORDER = 7,
    COMMAND_RESUBMIT_STEP = 8,
    COMMAND_EXTEND_STEP = 9,
    COMMAND_COMPLETE_STEP = 10,
    COMMAND_SKIP_STEP = 11,
    COMMAND_FAIL_STEP = 12,
    COMMAND_PAUSE_ORDER = 13,
    COMMAND_RESUME_ORDER = 14,
    COMMAND_MIGRATE_ORDER = 15,
    COMMAND_KIND_COUNT
};

struct cancel_order {
    struct text order_id;
    struct text by;
    struct text reason;
    struct text reply_to; /* for the answer that there is no such order; may be empty */
    /* The token that asks: it cancels only what was submitted with it. Empty: no token, or one that
     * may cancel every order. */
    struct text submitted_by;
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
    int64_t retry_at; /* as it was seen; ignored for a queued step */
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
    bool new_generation; /* the operator knows that nothing was applied: a new key, effect
                             none; not where an attempt was reported as applied */
    int64_t timeout_ms;  /* of the order, from now on; 0: the workflow's */
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

/* An operator has dealt with the step outside: done it, or undone it. */
struct complete_step {
    struct text order_id;
    struct text step;
    struct text output; /* JSON, as an agent's; of a step that is done */
    struct text by;
    struct text reason;
};

/* An operator has the order go on without the step. */
struct skip_step {
    struct text order_id;
    struct text step;
    bool nothing_applied; /* the operator knows it, although it was reported as unknown */
    struct text by;
    struct text reason;
};

/* An operator has the step fail, as if an agent had reported it. */
struct fail_step {
    struct text order_id;
    struct text step;
    struct text error_name;
    struct text by;
    struct text reason; /* the error's message */
};

struct pause_order {
    struct text order_id;
    struct text by;
    struct text reason;
};

struct resume_order {
    struct text order_id;
    struct text by;
    struct text reason;
};

/* An operator moves the order to another version of its workflow. */
struct migrate_order {
    struct text order_id;
    struct text workflow;  /* that the order has, so that no other one is moved; empty: any */
    uint32_t from_version; /* likewise; 0: any */
    uint32_t version;      /* the one that it gets */
    struct text by;
    struct text reason;
};

struct command_header {
    struct text name;
    struct text value;
};

/* A record that is not a command, or not a valid one, cut to what a dead letter keeps of it. */
struct undecodable {
    struct text bytes;        /* the record's value */
    struct text key;          /* its key */
    struct text reason;       /* why, for operators */
    struct text code;         /* empty in old logs */
    bool quarantined;         /* decodable, but it killed its owner COMMAND_TRIES_MAX times */
    uint32_t value_bytes;     /* of the whole value, if `bytes` is only its beginning; else 0 */
    struct text value_xxh128; /* likewise; hex */
    uint32_t meta_bytes;      /* of key and headers, if they are cut; else 0 */
    struct command_header *headers;
    uint32_t header_count;
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
        struct extend_step extend_step;
        struct complete_step complete_step;
        struct skip_step skip_step;
        struct fail_step fail_step;
        struct pause_order pause_order;
        struct resume_order resume_order;
        struct migrate_order migrate_order;
    };
};

/* "SubmitOrder" ... the Avro record's name */
extern const struct enum_names command_kind_names;
const char *command_kind_name(enum command_kind kind);
/* The user or the instance that asks; borrowed. Empty: the command does not say, as SubmitOrder. */
struct text command_asker(const struct command *cmd);

#endif
