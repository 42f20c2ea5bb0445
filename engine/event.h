/* SPDX-License-Identifier: Apache-2.0 */
/* Events: what was decided. Past participles; their numbers never change, and a reader that meets
 * one that it does not know stops the partition. One Decision holds all events of one command. */
#ifndef ENGINE_EVENT_H
#define ENGINE_EVENT_H

#include "engine/command.h"

/* What there is to know of each kind is in its row of engine/events.def. */
enum event_kind {
#define EVENT(number, kind, record, payload, words, answers, status) EVENT_##kind = (number),
#include "engine/events.def"
    EVENT_KIND_COUNT
};

/* What an event of a step says about its attempts. */
enum attempt_change {
    ATTEMPT_STARTS,
    ATTEMPT_WAITS,   /* the next one is to start, once an agent is healthy and has capacity */
    ATTEMPT_GOES_ON, /* the running one has more time */
    ATTEMPT_ENDS,    /* the running one */
    ATTEMPT_IDLE,    /* none runs: what follows from the end of the last one, or undoes that */
    ATTEMPT_BY_HAND, /* none runs: an operator says how the step ended */
    ATTEMPT_CHANGE_COUNT
};

/* What order_apply() needs to make the step's row; the rest stays in the workflow. */
struct step_plan {
    struct text name;
    struct text agent;
    uint32_t retries_used[RETRIERS_MAX]; /* of OrderMigrated: per retrier of the version */
};

struct order_accepted {
    struct order_details details; /* workflow_version pinned */
    struct step_plan *steps;
    uint32_t step_count;
    int64_t complete_by; /* 0 = none */
    int64_t margin_ms;
};

/* event_ref() is the attempt of any event of a step. */
struct step_started {
    struct attempt_ref ref;
    uint32_t generation;
    struct text agent;
    struct text action; /* the step's name, or Compensate.Action */
    struct text locked_by;
    int64_t complete_by;
    int64_t margin_ms;
    struct text routing_reason; /* why this agent; empty where there was nothing to choose */
    int64_t inputs;             /* see below */
};

/* A set of steps: bit i is the order's i-th. `inputs` are those whose outputs the request carries:
 * they precede the step, directly or not, and for an undo it is among them. All are settled when
 * the attempt starts, so the request is the same from any owner, at any time. In old logs: every
 * step that has an output by then. */
#define STEP_INPUTS_ALL INT64_C(-1)

struct step_succeeded {
    struct attempt_ref ref;
    struct text output;
    struct text by; /* agent instance */
};

struct step_failed {
    struct attempt_ref ref;
    struct text error_name;
    struct text error_message;
    enum effect effect; /* of ref.direction after this: unknown and applied stick */
    uint32_t failure_count;
    struct text by;
};

struct step_timed_out {
    struct attempt_ref ref;
    enum effect effect; /* of ref.direction after this */
    uint32_t failure_count;
    int64_t complete_by;
    struct text by; /* supervisor instance that asked */
};

struct step_retry_scheduled {
    struct attempt_ref ref; /* the attempt that ended */
    int64_t retry_at;
    uint32_t retrier; /* index in the policy */
    uint32_t retry;   /* how many of that retrier are used now */
};

/* Of events that change no more than the step's state. */
struct step_marked {
    struct attempt_ref ref;
    struct text reason;
};

struct step_resubmitted {
    struct attempt_ref ref;
    uint32_t generation; /* of ref.direction, from now on */
    struct text by;
    struct text reason;
};

/* The first one turns the step to ref.direction. */
struct step_queued {
    struct attempt_ref ref; /* the latest attempt of the direction, 0 = never started */
    int64_t queued_at;      /* first time; kept when the step is queued again */
    int64_t retry_at;       /* no agent is healthy: ask again then; 0: when there is capacity */
    struct text reason;     /* of each agent */
};

struct step_extended {
    struct attempt_ref ref;
    struct text action;  /* as in StepStarted: the request is made again */
    int64_t complete_by; /* the new one */
    struct text progress;
    struct text by; /* agent instance */
    int64_t inputs; /* as in StepStarted */
};

struct step_completed_by_hand {
    struct attempt_ref ref; /* the latest attempt, 0 = never started */
    struct text output;     /* JSON */
    struct text by;
    struct text reason;
};

struct step_skipped_by_hand {
    struct attempt_ref ref;
    struct text by;
    struct text reason;
};

/* No attempt ended, so what is known of their effect stays. */
struct step_failed_by_hand {
    struct attempt_ref ref;
    struct text error_name;
    uint32_t failure_count;
    struct text by;
    struct text reason; /* the error's message */
};

struct order_deadline_set {
    int64_t complete_by;
    int64_t margin_ms;
    struct text by;
    struct text reason;
};

/* Steps that the order has keep their rows, under their names; what waits for its next attempt, or
 * in a queue, is to be started again. No step that was ever started is missing. */
struct order_migrated {
    uint32_t from_version;
    uint32_t workflow_version; /* from now on */
    struct step_plan *steps;   /* of that version, in its order */
    uint32_t step_count;
    bool moves_retries; /* false, in older records: retries_used stay where they were */
    struct text by;
    struct text reason;
};

/* Of most events of the order as a whole. Unused texts are empty. */
struct order_marked {
    struct text code; /* "Cancelled", "PaymentDeclined", "States.Timeout", "Operator" ... */
    struct text reason;
    struct text by;
    struct text step; /* the step at fault, where there is one */
};

struct command_rejected {
    enum command_kind command;
    struct text code; /* "UnknownOrder", "NotYetDue", "Stale", "ContentDiffers", "PastPivot" ... */
    struct text reason;
    struct text by;
    struct attempt_ref ref; /* of a request about an attempt, so that who asked can re-arm */
    int64_t due_at;         /* NotYetDue: when it is */
};

struct report_ignored {
    struct attempt_ref ref;
    bool succeeded;
    struct text code; /* "Superseded", "AlreadyEnded", "UnknownOrder", "UnknownStep" */
    struct text reason;
    struct text by;
};

struct event {
    enum event_kind kind;
    union {
#define PAYLOAD(type, member) struct type member;
#include "engine/events.def"
    };
};

struct uuid {
    uint8_t bytes[16];
};

/* The one record that answers one command. engine_decide() fills all but offset, claim_id,
 * sequence, emitted_through, which are the owner's. */
struct decision {
    int64_t offset; /* where it is in events[p]: its reader's knowledge, not part of the record */
    struct uuid claim_id;
    int64_t sequence;       /* 0, 1, 2 ... after the Claim */
    int64_t command_offset; /* in commands[p] */
    int64_t command_time;   /* that record's timestamp */
    struct text order_id;
    uint64_t order_version;       /* after this Decision; 0 = no such order */
    enum order_state order_state; /* after this Decision; ORDER_PENDING when there is none */
    struct text reply_to;         /* of the order, or of a rejected submission */
    int64_t decided_at;
    int64_t emitted_through; /* offset up to which all effects are acknowledged; -1 = the start */
    struct event *events;
    uint32_t event_count; /* at least 1 */
};

extern const struct enum_names event_kind_names;
const char *event_kind_name(enum event_kind kind); /* "OrderAccepted" ... the Avro record's name */
const char *event_words(enum event_kind kind);     /* what happened, for operators */
/* False for the kinds that leave the order as it is. */
bool event_changes_order(enum event_kind kind);
bool decision_changes_order(const struct decision *decision);
/* The command that the Decision answers. The log does not name it (but for refused ones): it
 * follows from the first event. */
enum command_kind decision_command(const struct decision *decision);

/* Whether the event is about one step; only then the others may be asked. */
bool event_is_of_step(enum event_kind kind);
const struct attempt_ref *event_ref(const struct event *event);
enum attempt_change event_attempt_change(enum event_kind kind);
/* Whether the step's agent gets a request, or the same one again. */
bool event_makes_request(enum event_kind kind);

/* NULL: the event holds something else. */
const struct order_marked *event_marked(const struct event *event);

#endif
