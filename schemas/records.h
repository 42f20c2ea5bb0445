/* SPDX-License-Identifier: Apache-2.0 */
/* The records of the topics that are not the engine's own: as C structs, one for one with the .avsc
 * files. Commands are `struct command`, Decision is `struct decision`, StepRequest, StatusUpdate
 * and OperatorAlert are in engine/engine.h, the row of a store is `struct order`. */
#ifndef SCHEMAS_RECORDS_H
#define SCHEMAS_RECORDS_H

#include "engine/engine.h"

enum record_kind {
/* commands, with the numbers of enum command_kind */
#define COMMAND(number, kind, ...) RECORD_##kind = (number),
#include "engine/commands.def"
    /* events */
    RECORD_CLAIM,
    RECORD_COMMAND_GUARD,
    RECORD_DECISION,
    RECORD_CONTINUATION,
    RECORD_RESET,
    RECORD_STATEMENT,
    RECORD_EXPIRY,
    /* effects */
    RECORD_STEP_REQUEST,
    RECORD_STATUS_UPDATE,
    RECORD_OPERATOR_ALERT,
    /* side topics */
    RECORD_WORKFLOW_DEFINITION,
    RECORD_WORKFLOW_ACTIVATION,
    RECORD_AGENT_HEALTH,
    RECORD_AGENT_PAUSE,
    RECORD_SCHEDULE,
    RECORD_LEADERSHIP,
    RECORD_DEAD_LETTER_RESOLUTION,
    /* stores */
    RECORD_ORDER_ROW,
    RECORD_KIND_COUNT
};

/* It is a `struct command`. */
bool record_kind_is_command(enum record_kind kind);
/* It is a command that an application sends, to the topic of submissions. */
bool record_kind_is_submission(enum record_kind kind);

/* Who owns a partition from here on (design: the last claim in the log owns it). */
struct claim {
    struct uuid claim_id;
    struct text instance;
    int64_t claimed_at;
    int32_t partition_count;
    int32_t format; /* STATE_FORMAT of the instance; 0: an older one */
    bool has_reset; /* in old logs: what struct partition_reset does now */
    struct {
        int64_t next_command_offset;
        struct text by;
        struct text reason;
    } reset;
};

/* Appended before a command that may have killed its owner is decided. */
struct command_guard {
    struct uuid claim_id;
    int64_t command_offset;
};

/* The owner restates the bookkeeping of its partition: a sequence number of its claim, no command.
 * The fields are those of struct checkpoint, which explains them. */
struct continuation {
    struct uuid claim_id;
    int64_t sequence;
    struct uuid first_claim_id;
    int32_t partition_count;
    int64_t next_command_offset;
    int64_t last_command_offset;
    int64_t last_command_time;
    int64_t newest_decided_at;
    int64_t emitted_through;
    int64_t claim_decisions;
    int64_t previous_claim_decisions;
    int64_t guarded_offset;
    int64_t guards;
    int32_t format;       /* the newest STATE_FORMAT that the log has shown; 0: not stated */
    int64_t written_at;   /* by the owner's clock */
    int64_t trimmed;      /* nothing before this offset is needed; -1: says nothing about it */
    struct text instance; /* of the claim, as is the next; "": not stated */
    int64_t claimed_at;
};

/* Of the state that an order has: rises with each field of OrderRow. What an older owner restates
 * would lose what only newer ones know. */
enum { STATE_FORMAT = 7 };

/* The owner restates an order in full: a sequence number of its claim, no command, no effects. */
struct statement {
    struct uuid claim_id;
    int64_t sequence;
    int32_t format; /* STATE_FORMAT of its owner */
    struct order order;
};

/* Every order that has ended, and whose ended_at and id are at or before these (by ended_at, then
 * by id), leaves the stores: a sequence number of the owner's claim, no command, no effects. */
struct expiry {
    struct uuid claim_id;
    int64_t sequence;
    int64_t decided_at;
    int64_t ended_at;
    struct text order_id;
};

/* An operator's way out for a stopped partition; void anywhere but at expected_offset. */
struct partition_reset {
    int64_t expected_offset;
    int64_t next_command_offset; /* -1: as it was */
    int64_t newest_decided_at;   /* lowers it; 0: as it was */
    bool has_skip;               /* nothing in [from, to) counts, for any reader */
    struct {
        int64_t from;
        int64_t to;
    } skip;
    struct text by;
    struct text reason;
    int64_t reset_at;
};

struct agent_health {
    struct text agent;
    struct text instance;
    uint32_t capacity;
    uint32_t in_flight;
    uint32_t queued;     /* read, not begun */
    uint32_t partitions; /* of the requests topic, assigned */
    int64_t latency_p50_ms;
    int64_t latency_p95_ms;
    uint32_t errors_permille;
    struct text circuit; /* "closed", "open", "half-open" */
    struct text version;
    struct text last_error;
    int64_t heartbeat_ms; /* said at least so often; gone after three times as long */
    int64_t reported_at;
};

/* On the topic of agents, key "pause:" and the agent. */
struct agent_pause {
    struct text agent;
    bool paused; /* false: an operator has resumed it */
    struct text by;
    struct text reason;
    int64_t at;
};

/* A schedule file: each service that follows schedules holds all of them. */
enum { SCHEDULE_BYTES_MAX = 64 * 1024, SCHEDULE_BYTES_READ_MAX = 2 * SCHEDULE_BYTES_MAX };

/* On the topic of schedules, under its name. */
struct schedule_definition {
    struct text name;
    struct text text;
    struct text format;
    struct text deployed_by;
    int64_t deployed_at;
    bool paused;
    struct text by; /* who has paused or resumed it; empty: it never was */
    struct text reason;
    int64_t at;
};

enum leadership_kind {
    LEADERSHIP_CANDIDATE,
    LEADERSHIP_CLAIM,
    LEADERSHIP_RENEW,
    LEADERSHIP_RELEASE,
    LEADERSHIP_KIND_COUNT
};

/* What a candidate says about a role. A claim's offset is its term. */
struct leadership {
    struct text role;
    enum leadership_kind kind;
    struct text instance;
    struct uuid candidate_id;
    uint32_t rank;
    /* renew, release: the offset of their claim; claim: of the newest record that counts; -1: none
     */
    int64_t term;
    int64_t lease_ms;
    int64_t progress_at; /* 0: none reported */
    int64_t said_at;
    struct text reason;
};

enum dead_letter_resolution_kind {
    DEAD_LETTER_REPLAYED,
    DEAD_LETTER_DISCARDED,
    DEAD_LETTER_RESOLUTION_KIND_COUNT
};

/* An operator dealt with the dead letter at partition and offset; in the same partition of
 * <p>.dead-letters. The first one about a dead letter counts. */
struct dead_letter_resolution {
    int32_t partition;
    int64_t offset;
    enum dead_letter_resolution_kind kind;
    struct text topic;          /* of a replay: where the record went */
    int64_t replayed_partition; /* -1: unknown */
    int64_t replayed_offset;    /* -1: unknown */
    bool corrected;
    struct text by;
    struct text reason;
    int64_t resolved_at;
};

struct record {
    enum record_kind kind;
    union {
        struct command command; /* of each kind of command; order_id is filled in */
        struct claim claim;
        struct command_guard command_guard;
        struct decision decision;
        struct continuation continuation;
        struct partition_reset reset;
        struct statement statement;
        struct expiry expiry;
        struct step_request step_request; /* .order points to details in the arena */
        struct status_update status_update;
        struct operator_alert operator_alert;
        struct workflow_definition workflow_definition;
        struct workflow_activation workflow_activation;
        struct agent_health agent_health;
        struct agent_pause agent_pause;
        struct schedule_definition schedule_definition;
        struct leadership leadership;
        struct dead_letter_resolution dead_letter_resolution;
        struct order order_row;
    };
};

const char *record_kind_name(enum record_kind kind); /* the Avro record's name: "SubmitOrder" */

#endif
