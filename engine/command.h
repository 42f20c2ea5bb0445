/* SPDX-License-Identifier: Apache-2.0 */
/* Commands: everything that asks the scheduler to decide. Imperatives. The kinds are in
 * commands.def, the fields of each here. */
#ifndef ENGINE_COMMAND_H
#define ENGINE_COMMAND_H

#include "base/error.h"
#include "engine/order.h"

enum command_kind {
    COMMAND_UNDECODABLE = 0, /* a record on the commands topic that is not a valid command */
#define COMMAND(number, kind, ...) COMMAND_##kind = (number),
#include "engine/commands.def"
    COMMAND_KIND_COUNT
};

/* Who sends a kind of command. */
enum command_sender {
    COMMAND_FROM_APPLICATION = 1, /* through the submission service */
    COMMAND_FROM_OPERATOR = 2,
    COMMAND_FROM_AGENT = 4,
    COMMAND_FROM_SUPERVISOR = 8, /* or by an owner, for its own partition */
};

/* Names an attempt of a step. */
struct attempt_ref {
    struct text step;
    enum direction direction;
    uint32_t attempt;
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
#define COMMAND(number, kind, record, type, member, ...) struct type member;
#include "engine/commands.def"
    };
};

/* "SubmitOrder" ... the Avro record's name */
extern const struct enum_names command_kind_names;
const char *command_kind_name(enum command_kind kind);
bool command_kind_is_from(enum command_kind kind, enum command_sender sender);
/* The user or the instance that asks; borrowed. Empty: the command does not say, as SubmitOrder. */
struct text command_asker(const struct command *cmd);
/* The topic on which an application expects its answer; borrowed. Empty: none. */
struct text command_reply_to(const struct command *cmd);
/* The attempt that it names; zeroed: none. */
struct attempt_ref command_attempt(const struct command *cmd);
/* What the codec, which knows sizes and UTF-8, and what submissions have to pass leave unchecked.
 * REJECT "InvalidCommand". */
enum error_class command_check(const struct command *cmd, struct error *ret_error);

#endif
