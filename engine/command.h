/* SPDX-License-Identifier: Apache-2.0 */
/* Commands: everything that asks the scheduler to decide. Imperatives. The kinds and their fields
 * are in commands.def. */
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
    COMMAND_FROM_SCHEDULER = 16, /* what an order tells another one */
};

/* Names an attempt of a step. */
struct attempt_ref {
    struct text step;
    enum direction direction;
    uint32_t attempt;
};

/* clang-format off */
/* struct cancel_order and so on. */
#define FIELDS(type) struct type { struct text order_id;
#define TEXT_FIELD(type, need, name, limits) struct text name;
#define TEXTS_FIELD(type, name, limits) struct text_list name;
#define BOOL_FIELD(type, need, name) bool name;
#define U32_FIELD(type, need, name) uint32_t name;
#define I64_FIELD(type, need, name) int64_t name;
#define I64_FIELD_OR(type, name, otherwise) int64_t name;
#define TIME_FIELD(type, need, name) int64_t name;
#define ENUM_FIELD(type, need, name, otherwise) enum name name;
#define END_FIELDS(type) };
#include "engine/commands.def"
/* clang-format on */

/* Outcome and end of a sub-order, as its parent knows it. */
struct report_suborder {
    struct text order_id; /* the parent */
    int64_t accepted_offset;
    struct text step;
    int64_t item; /* -1: the step has no ForEach */
    uint32_t generation;
    enum suborder_outcome outcome;
    struct text output;     /* of one that is held or final: JSON, or empty */
    struct text error_name; /* of one that failed or was refused */
    struct text error_message;
};

struct settle_suborder {
    struct text order_id;              /* the sub-order */
    const struct order_parent *parent; /* NULL: an operator settles it */
    enum settle how;                   /* not SETTLE_NONE */
    bool held; /* the parent has it as held: if it is not there, the parent is to know */
    struct text reason;
    struct text by; /* the operator */
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

/* Why it became a dead letter; borrowed. Never empty. */
struct text undecodable_code(const struct undecodable *undecodable);

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
/* Outputs become canonical, or empty where they are not JSON: engine/output.h. So do an order's
 * input and a signal's payload, or what command_check() refuses. Their texts are borrowed or new in
 * `arena`. */
void command_make_canonical(struct command *cmd, struct arena *arena);

#endif
