/* SPDX-License-Identifier: Apache-2.0 */
/* The records of the topics that are not the engine's own: as C structs, one for one with the .avsc
 * files. SubmitOrder .. ExtendStep are `struct command`, Decision is `struct decision`,
 * StepRequest, StatusUpdate and OperatorAlert are in engine/engine.h, the row of a store is `struct
 * order`. */
#ifndef SCHEMAS_RECORDS_H
#define SCHEMAS_RECORDS_H

#include "engine/engine.h"

enum record_kind {
    /* commands, also on submissions; same numbers as enum command_kind */
    RECORD_SUBMIT_ORDER = 1,
    RECORD_CANCEL_ORDER,
    RECORD_REPORT_STEP,
    RECORD_RECOVER_STEP,
    RECORD_START_STEP,
    RECORD_TIME_OUT_ORDER,
    RECORD_COMPENSATE_ORDER,
    RECORD_RESUBMIT_STEP,
    RECORD_EXPIRE_ORDER,
    RECORD_EXTEND_STEP,
    /* events */
    RECORD_CLAIM,
    RECORD_COMMAND_GUARD,
    RECORD_DECISION,
    /* effects */
    RECORD_STEP_REQUEST,
    RECORD_STATUS_UPDATE,
    RECORD_OPERATOR_ALERT,
    /* side topics */
    RECORD_WORKFLOW_DEFINITION,
    RECORD_AGENT_HEALTH,
    RECORD_LEADERSHIP,
    /* stores */
    RECORD_ORDER_ROW,
    RECORD_KIND_COUNT
};
_Static_assert((int)RECORD_SUBMIT_ORDER == (int)COMMAND_SUBMIT_ORDER &&
                   (int)RECORD_EXTEND_STEP == (int)COMMAND_EXTEND_STEP &&
                   (int)RECORD_EXTEND_STEP + 1 == (int)COMMAND_KIND_COUNT,
               "the same numbers");

static inline bool record_kind_is_command(enum record_kind kind)
{
    return kind >= RECORD_SUBMIT_ORDER && kind <= RECORD_EXTEND_STEP;
}

/* Who owns a partition from here on (design: the last claim in the log owns it). */
struct claim {
    struct uuid claim_id;
    struct text instance;
    int64_t claimed_at;
    int32_t partition_count;
    bool has_reset; /* an operator's way out: go on at this command */
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

struct record {
    enum record_kind kind;
    union {
        struct command
            command; /* RECORD_SUBMIT_ORDER .. RECORD_EXTEND_STEP; order_id is filled in */
        struct claim claim;
        struct command_guard command_guard;
        struct decision decision;
        struct step_request step_request; /* .order points to details in the arena */
        struct status_update status_update;
        struct operator_alert operator_alert;
        struct workflow_definition workflow_definition;
        struct agent_health agent_health;
        struct leadership leadership;
        struct order order_row;
    };
};

const char *record_kind_name(enum record_kind kind); /* the Avro record's name: "SubmitOrder" */

#endif
