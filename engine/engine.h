/* SPDX-License-Identifier: Apache-2.0 */
/* The engine's four pure functions: no I/O, no clock, no randomness, no malloc.
 *
 *     decide    order + command + workflow + now  ->  Decision   (never changes anything)
 *     apply     order + event                     ->  order      (the only mutator; no rules in it)
 *     effects   Decision + current order          ->  requests, status, alert
 *     deadlines order                             ->  what a supervisor must watch
 */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include "base/arena.h"
#include "engine/event.h"
#include "engine/workflow.h"

/* What is known of an agent's live instances together. */
struct agent_capacity {
    struct text agent;
    bool healthy; /* likewise while an operator has paused it: then `free` is 0 */
    int64_t free; /* how many more attempts may be started; may be negative */
    int64_t latency_p95_ms;
    struct text why; /* "4 of 16 free, p95 80 ms", "circuit open", "paused by ann: bank is down" */
};

/* An input like `now`: what was chosen by it, and why, is in the event. */
struct routing {
    const struct agent_capacity *agents;
    uint32_t count;
    int64_t retry_ms_min; /* of a step without a healthy agent; at least 1 */
    int64_t retry_ms_max;
    /* Routing is switched off: a step goes to the first agent that it names, and is queued only
     * where that one is listed and has nothing free. */
    bool first_only;
};

/* Everything that engine_decide() may know besides the order and the command. */
struct decide_input {
    int64_t now;       /* max(owner's clock, newest decided_at of the partition) */
    int64_t margin_ms; /* clock.skew.max.ms */
    struct text instance;
    /* The order's pinned one, or the one that SubmitOrder names; NULL: no such. */
    const struct workflow *workflow;
    /* The version that MigrateOrder names, of the order's workflow; NULL: no such, or another
     * command. */
    const struct workflow *target;
    bool target_retired;
    /* NULL: every agent is healthy and has free capacity, so the first one is chosen. Each attempt
     * that starts uses one of `free`; engine_decide() counts that only within its Decision. */
    const struct routing *routing;
    /* An order that is submitted later than this after its append is refused: it may have been
     * known, and expired. 0 = not checked */
    int64_t submission_age_ms_max;
    /* The command has ended its owners: every evaluation of an expression fails, and so does its
     * step. */
    bool no_expressions;
    int64_t command_offset;
    int64_t command_time;
    /* What is of no use after the call, such as a copy of a thousand items; NULL: `arena`. */
    struct arena *scratch;
};

/* `order` NULL: there is none of this id. The decision's texts borrow from order, command, workflow
 * and input or are new in `arena`. Total: every command gets a Decision of 1 .. DECISION_EVENTS_MAX
 * events. */
void engine_decide(const struct order *order, const struct command *cmd,
                   const struct decide_input *input, struct arena *arena,
                   struct decision *ret_decision);

/* Folds the events of an admitted Decision, whose offset is known. `order` is zeroed before
 * OrderAccepted; a Decision that changes nothing leaves it untouched. Texts are copied into
 * `arena`, which must live as long as the order. Asserts that each transition is legal. */
void order_apply_decision(struct order *order, const struct decision *decision,
                          struct arena *arena);
/* For tests: one event; `version` and `decided_at` are the Decision's. */
void order_apply(struct order *order, const struct event *event, uint64_t version,
                 int64_t decided_at, struct arena *arena);

/* What is wrong with an order that was read from a store, in words; NULL: nothing. The engine's
 * other functions assert what this checks: what holds between any two Decisions. */
const char *order_problem(const struct order *order);
/* What keeps a Decision that was read from a log from being applied to `order` (NULL: there is
 * none), in words; NULL: nothing, and order_problem() finds nothing afterwards. The Decision's own
 * owner need not ask. `arena` is scratch. */
const char *order_apply_problem(const struct order *order, const struct decision *decision,
                                struct arena *arena);

/* ---- effects: what leaves the partition once the Decision is acknowledged ---- */

struct step_output {
    struct text step;
    struct text output; /* JSON */
};

struct step_request {
    struct text order_id;
    struct attempt_ref ref;
    uint32_t generation;
    struct text agent;
    struct text action;
    struct text idempotency_key; /* order/step/direction/generation */
    struct text do_key;          /* the forward direction's key: what an undo undoes */
    int64_t complete_by;
    bool extension;    /* more time for what was asked before: begins no call */
    struct text input; /* that the step's Input made; empty: it has none, or an extension */
    const struct order_details *order; /* with `input` of the request, without goods and input */
    struct step_output *outputs;       /* of the steps that precede it; of an undo also its own */
    uint32_t output_count;
    struct uuid claim_id; /* where it comes from: any reader can prove it against the log */
    int64_t decision_offset;
    uint64_t order_version;
};

struct step_change {
    struct text step;
    enum direction direction;
    enum step_state state;
    uint32_t attempt;
    struct text error_name;
};

enum status_kind {
    STATUS_RECEIVED, /* OrderAccepted is among the events */
    STATUS_STEP_CHANGED,
    STATUS_PROCESSED,
    STATUS_COMPENSATING,
    STATUS_COMPENSATED,
    STATUS_ERROR,
    STATUS_REJECTED, /* the command; the order, if there is one, is as before */
    STATUS_REPEATED, /* the same submission again: the current state */
    STATUS_RESUMED,
    STATUS_KIND_COUNT
};

struct status_update {
    struct text order_id;
    enum status_kind kind;
    enum order_state order_state;
    uint64_t order_version;
    int64_t decided_at;
    int32_t command_partition; /* with decision_offset, receivers deduplicate by it */
    int64_t command_offset;
    int64_t decision_offset; /* -1: no Decision, as of a refused submission */
    struct text code;
    struct text message;
    struct step_change *steps; /* that changed */
    uint32_t step_count;
    struct text output;   /* of a processed order; JSON, or empty */
    struct text question; /* of a step that began to wait for a signal; the last one's */
    struct text reply_to; /* where it goes; not part of the record */
};

struct operator_alert {
    struct text order_id; /* empty: the alert is about a partition or an instance */
    bool raised;          /* false: closed */
    struct text code;
    struct text message;
    struct text step;
    struct text by; /* who closed it; the instance of a partition's alert */
    uint64_t order_version;
    int32_t partition; /* with decision_offset, receivers deduplicate by it */
    int64_t command_offset;
    int64_t decision_offset; /* -1: no Decision, as of an alert about an instance */
    int64_t decided_at;
    struct text root; /* of a sub-order, that of its tree; empty: it is a root, or there is none */
};

/* What an order tells another one: a record for that one's partition of `commands`. */
struct order_message {
    /* Of a SubmitOrder, the emitter adds the content hash. */
    struct command cmd;
    /* By the event, the step and the item: the same from any owner, at any time. Of two to the same
     * order, the lower one is sent first. */
    uint32_t ordinal;
};

/* The lowest ordinal of a message, and the first one above them. */
enum {
    MESSAGE_ORDINAL_MIN = 1000,
    MESSAGE_ORDINAL_END =
        MESSAGE_ORDINAL_MIN + DECISION_EVENTS_READ_MAX * WORKFLOW_STEPS_MAX * SUBORDERS_MAX * 2
};

struct effects {
    struct step_request *requests;
    uint32_t request_count;
    struct order_message *messages; /* by ordinal */
    uint32_t message_count;
    bool has_status;
    bool has_alert;
    bool has_dead_letter; /* then the event COMMAND_DEAD_LETTERED of the decision tells all */
    struct status_update status;
    struct operator_alert alert;
};

/* `order` is the current state (NULL: none), which may be newer than the decision, even another
 * order of the same id: requests are only made for attempts that are still current; status and
 * alert come from the decision alone. */
void effects_of(const struct decision *decision, int32_t partition, const struct order *order,
                struct arena *arena, struct effects *ret_effects);

/* ---- deadlines ---- */

enum deadline_kind {
    DEADLINE_RECOVER, /* ask RecoverStep at complete_by + margin */
    DEADLINE_START,   /* ask StartStep when its wait is over */
    DEADLINE_ORDER,   /* ask TimeOutOrder at complete_by + margin */
    DEADLINE_KIND_COUNT
};

struct deadline {
    enum deadline_kind kind;
    int64_t due_at;
    uint32_t step; /* index; UINT32_MAX for the order's own */
};

/* At most DEADLINES_MAX; returns their number. None for an order that ended; in Error only running
 * attempts. */
uint32_t deadlines_of(const struct order *order, struct deadline ret_deadlines[DEADLINES_MAX]);
/* The command that asks for it. Texts borrow from the order and `by`. */
void deadline_command(const struct order *order, const struct deadline *deadline, struct text by,
                      struct command *ret_cmd);

extern const struct enum_names status_kind_names;
const char *status_kind_name(enum status_kind kind); /* for tests */
const char *deadline_kind_name(enum deadline_kind kind);

#endif
