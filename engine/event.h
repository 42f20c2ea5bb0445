/* SPDX-License-Identifier: Apache-2.0 */
/* Events: what was decided. Past participles; their numbers never change, and a reader that meets
 * one that it does not know stops the partition. One Decision holds all events of one command. */
#ifndef ENGINE_EVENT_H
#define ENGINE_EVENT_H

#include "engine/command.h"

#include <string.h>

/* What there is to know of each kind is in its row of engine/events.def. */
enum event_kind {
#define EVENT(number, kind, record, payload, words, answers, status) EVENT_##kind = (number),
#include "engine/events.def"
    EVENT_KIND_COUNT
};

/* What an event of a step says about its attempts. */
enum attempt_change {
    ATTEMPT_STARTS,
    ATTEMPT_WAITS,     /* the next one is to start, once an agent is healthy and has capacity; or
                          the step waits for a moment, and has none */
    ATTEMPT_GOES_ON,   /* the running one has more time */
    ATTEMPT_ENDS,      /* the running one */
    ATTEMPT_IDLE,      /* none runs: what follows from the end of the last one, or undoes that */
    ATTEMPT_BY_HAND,   /* none runs: an operator says how the step ended */
    ATTEMPT_UNSTARTED, /* none runs: the step fails instead of its next one */
    ATTEMPT_SPLITS,    /* it starts sub-orders, and no agent is asked */
    ATTEMPT_RUNS,      /* such a one runs: what becomes of its orders */
    ATTEMPT_RECALLS,   /* its orders are undone: of a do, the running one; of an undo, it starts */
    ATTEMPT_CHANGE_COUNT
};

/* What order_apply() needs to make the step's row; the rest stays in the workflow. */
struct step_plan {
    struct text name;
    struct text agent;
    uint32_t retries_used[RETRIERS_MAX]; /* of OrderMigrated: per retrier of the version */
    bool new_key; /* of OrderMigrated: the next attempt is of the next generation */
};

struct order_accepted {
    struct order_details details; /* workflow_version pinned */
    struct step_plan *steps;
    uint32_t step_count;
    int64_t complete_by; /* 0 = none */
    int64_t margin_ms;
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

/* A step that begins again: what was made for it, or by it, of the old data is gone. It is Pending,
 * and waits for nothing of its own. */
struct amended_step {
    struct text name;
    uint32_t generation; /* of the forward direction, from now on */
};

struct order_amended {
    struct text input;          /* canonical JSON, the whole of it; empty: none */
    struct amended_step *steps; /* none has an effect */
    uint32_t step_count;
    struct text by;
    struct text reason;
};

struct command_rejected {
    enum command_kind command;
    struct text code; /* "UnknownOrder", "NotYetDue", "Stale", "ContentDiffers", "PastPivot" ... */
    struct text reason;
    struct text by;
    struct attempt_ref ref; /* of a request about an attempt, so that who asked can re-arm */
    int64_t due_at;         /* NotYetDue: when it is */
    /* Of a sub-order: with SETTLE_NONE its parent gets a report; else the sub-order of this parent
     * gets `settle`. NULL: neither does. */
    const struct order_parent *parent;
    enum settle settle;
};

struct report_ignored {
    struct attempt_ref ref;
    bool succeeded;
    struct text code; /* "Superseded", "AlreadyEnded", "UnknownOrder", "UnknownStep" */
    struct text reason;
    struct text by;
    /* Of a report of a sub-order: whose it is, and what it is sent. NULL: of an agent. */
    const struct order_parent *parent;
    enum settle settle;
};

/* An item whose input could not be made has an error, and is not submitted. */
struct submitted_item {
    int64_t item;      /* -1: the step has no ForEach */
    struct text input; /* that the step's Input made; empty: it has none */
    struct text error_name;
    struct text error_message;
};

struct suborders_submitted {
    struct attempt_ref ref;
    uint32_t generation;
    int64_t complete_by;
    struct submitted_item *items; /* ascending */
    uint32_t item_count;
};

struct suborder_ended {
    struct text step;
    int64_t item;
    uint32_t generation;
    enum suborder_outcome outcome;
    struct text output;
    struct text error_name; /* of one that is held or final: its StopWhen failed */
    struct text error_message;
    bool stop;        /* no further item starts */
    bool undo_failed; /* it was to be undone, and what it did remains */
    struct text by;   /* the operator; empty: it reported */
};

/* Of `inputs`; see StepStarted. */
#define STEP_INPUTS_ALL INT64_C(-1)

/* clang-format off */
/* struct order_marked and so on. */
#define FIELDS(payload) struct payload {
#define ATTEMPT_FIELD(payload) struct attempt_ref ref;
#define TEXT_FIELD(payload, need, field, limits) struct text field;
#define TEXTS_FIELD(payload, field, limits) struct text_list field;
#define BOOL_FIELD(payload, need, field) bool field;
#define U32_FIELD(payload, need, field) uint32_t field;
#define U32_FIELD_BELOW(payload, need, field, limit) uint32_t field;
#define I64_FIELD(payload, need, field) int64_t field;
#define I64_FIELD_OR(payload, field, otherwise) int64_t field;
#define TIME_FIELD(payload, need, field) int64_t field;
#define ENUM_FIELD(payload, need, field, otherwise) enum field field;
#define END_FIELDS(payload) };
#include "engine/events.def"
/* clang-format on */

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

static inline bool uuid_equal(const struct uuid *a, const struct uuid *b)
{
    return memcmp(a->bytes, b->bytes, sizeof(a->bytes)) == 0;
}

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
