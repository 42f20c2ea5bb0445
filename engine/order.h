/* SPDX-License-Identifier: Apache-2.0 */
/* The order and its steps: the only state there is, a fold of events.
 *
 * Only order_apply_decision() (engine/engine.h) changes one. All texts and arrays live in the
 * order's arena. */
#ifndef ENGINE_ORDER_H
#define ENGINE_ORDER_H

#include "base/enum_names.h"
#include "base/error.h"
#include "engine/limits.h"

enum order_state {
    ORDER_PENDING, /* accepted, no step started yet */
    ORDER_PROCESSING,
    ORDER_PROCESSED, /* end */
    ORDER_COMPENSATING,
    ORDER_COMPENSATED, /* end */
    ORDER_ERROR,       /* waits for an operator, one alert is open */
    ORDER_HELD,        /* a sub-order whose steps are finished: its parent keeps or undoes it */
    ORDER_STATE_COUNT
};

enum step_state {
    STEP_PENDING, /* no attempt runs: step_wait() says what it waits for */
    STEP_PROCESSING,
    STEP_PROCESSED,   /* only then it has an output, which may be null */
    STEP_ERROR,       /* its policy is exhausted */
    STEP_COMPENSATED, /* undone */
    STEP_SKIPPED, /* its When was false, an operator had the order go on without it, or it was never
                         started, or left nothing to undo, when compensation began */
    STEP_CAUGHT,  /* it failed, and a Catch lets the order go on */
    STEP_WAITING, /* of its kind: for a moment or a signal. Nothing of it runs */
    STEP_STATE_COUNT
};

enum direction { DIRECTION_DO, DIRECTION_UNDO, DIRECTION_COUNT };

/* What a step's forward attempts have done at the remote service, as far as the log shows. */
enum effect { EFFECT_NONE, EFFECT_APPLIED, EFFECT_UNKNOWN, EFFECT_COUNT };

enum priority { PRIORITY_HIGH, PRIORITY_NORMAL, PRIORITY_LOW, PRIORITY_COUNT };

struct attribute {
    struct text name;
    struct text value;
};

struct content_hash {
    uint8_t bytes[16];
};

struct goods;

/* Of a sub-order: whose it is. A parent is its id and the offset of its acceptance: another order
 * of the same id is another parent. */
struct order_parent {
    struct text order_id;
    int64_t accepted_offset;
    struct text step;
    int64_t item;        /* from 0; -1: the step has no ForEach */
    uint32_t generation; /* of the step, in which the item was submitted */
    /* Not part of the sub-order's identity. */
    struct text root; /* the order above it that has no parent */
    uint32_t depth;   /* 1: its parent is the root */
    uint32_t quota;   /* how many sub-orders it may have, on all levels */
};

/* As attributes, by which sub-orders are found. No order is submitted with attributes whose names
 * begin as these do. */
#define ORDER_OWN_ATTRIBUTES TEXT("reeve.")
#define ORDER_ROOT_ATTRIBUTE TEXT("reeve.root")
#define ORDER_PARENT_ATTRIBUTE TEXT("reeve.parent")

/* An order as its customer gave it. After it was accepted, operators may change its version and its
 * input. */
struct order_details {
    struct text order_id;
    struct text customer;
    const struct goods *goods; /* opaque to the engine: base/goods.h */
    uint32_t attribute_count;
    struct attribute *attributes; /* sorted by name */
    enum priority priority;
    struct text reply_to; /* topic, or empty: no status updates */
    struct text workflow;
    uint32_t workflow_version; /* 0 in a submission: the newest */
    struct text traceparent;
    struct content_hash content_hash;  /* identity: of the content as submitted, for ever */
    struct text submitted_by;          /* name of a token, or empty */
    int64_t submitted_at;              /* in a submission: its append time, 0 = unknown; not kept */
    struct text input;                 /* canonical JSON, or empty: none */
    const struct order_parent *parent; /* NULL: it is a root */
};

/* What a step waits for of its own; not the steps before it, nor an operator. */
enum wait_kind {
    WAIT_NONE,
    WAIT_RETRY,  /* its next attempt, at `until` */
    WAIT_QUEUE,  /* a healthy agent with capacity, since `since`; asked for again at `until` */
    WAIT_TIME,   /* the moment `until`: the step is WAITING, as its kind is */
    WAIT_SIGNAL, /* a signal, until `until`: likewise; 0: as long as the order has */
    WAIT_KIND_COUNT
};

struct wait {
    enum wait_kind kind;
    int64_t since; /* 0 unless QUEUE */
    int64_t until; /* from then on a supervisor asks; 0 = it does not */
};

/* As an order's row stores it. The kind follows: one that is stored could contradict the times. */
struct wait_row {
    int64_t retry_at;  /* `until` */
    int64_t queued_at; /* `since` */
};

/* What the log has of the signals to a step. Appliers replace it, they do not change it. */
struct awaiting {
    /* While the step is WAITING; else empty. */
    struct text group;        /* whose signals alone count; empty: anyone's */
    struct text_list options; /* one of which its payload chooses; none: it may be any JSON */
    struct text question;     /* for those who may answer */
    /* While it is PENDING and has an early signal; else empty. */
    struct text payload; /* canonical JSON, what the step's output becomes; never empty */
    struct text by;      /* who sent it */
    /* Until the step can get no more. */
    struct text signal_id; /* of the newest recorded one; empty: it had none */
    uint32_t signals;      /* recorded so far */
};

/* ---- sub-orders of a step ---- */

enum item_state {
    ITEM_TO_DO,
    ITEM_SUBMITTED, /* its sub-order has not answered */
    ITEM_HELD,      /* it is done, and can be undone */
    ITEM_FINAL,     /* it is done, and left nothing to undo, or was kept */
    ITEM_FAILED,    /* it was undone or refused, or its input could not be made */
    ITEM_STATE_COUNT
};

/* What a sub-order reports of itself. */
enum suborder_outcome {
    SUBORDER_HELD,
    SUBORDER_FINAL,
    SUBORDER_FAILED,
    SUBORDER_REFUSED, /* it was not accepted, or is not there */
    SUBORDER_OUTCOME_COUNT
};

/* What a parent has its sub-order do with what it did. */
enum settle {
    SETTLE_NONE, /* nothing is sent */
    SETTLE_KEEP,
    SETTLE_UNDO,
    SETTLE_UNKNOWN, /* there is no such parent */
    SETTLE_COUNT
};

struct suborder_item {
    enum item_state state;
    uint32_t generation;  /* in which it was submitted */
    int64_t submitted_at; /* 0: it was not */
    struct text input;    /* canonical JSON that the step's Input made, while it is submitted */
    struct text output;   /* canonical JSON, once it is held or final, until the step is done */
};

struct suborders {
    struct text workflow; /* of the sub-orders, in the step's workflow_version */
    struct text list;     /* canonical JSON, a list; empty: the step has no ForEach */
    struct suborder_item *items;
    uint32_t item_count; /* without ForEach 1 */
    uint32_t quota;      /* of each sub-order */
    enum priority priority;
    int64_t asked_since;    /* the newest submission or recall */
    int64_t times_out_at;   /* of the step */
    bool recalled;          /* all of them are undone */
    bool stopped;           /* no further item starts */
    bool failed;            /* so does the step, whatever they do, once they have answered */
    bool undo_failed;       /* what an item did remains */
    struct text error_name; /* why, or of the item that failed last */
    struct text error_message;
};

struct step {
    struct text name;
    struct text agent;
    enum direction direction; /* of attempt, failure_count ... */
    enum step_state state;
    uint32_t attempt;        /* of `direction`; 0 = never started */
    uint32_t failure_count;  /* failures + timeouts in `direction` since the last resubmission */
    struct text locked_by;   /* scheduler instance that started it; empty unless PROCESSING */
    int64_t complete_by;     /* of the running attempt; 0 unless PROCESSING */
    int64_t extension_ms;    /* how much of that it was granted later; 0 unless PROCESSING */
    int64_t margin_ms;       /* clock.skew.max.ms as recorded when it started */
    struct wait_row wait;    /* zeros unless PENDING or WAITING; only step_wait() reads it */
    enum effect effect;      /* of the forward direction; kept while undoing */
    enum effect undo_effect; /* what failed undo attempts may have done: for its generation */
    uint32_t generation[DIRECTION_COUNT]; /* from 0; of the idempotency keys */
    uint32_t retries_used[RETRIERS_MAX];  /* per retrier, as failure_count */
    uint64_t started_version;             /* order version of the latest forward start */
    uint64_t completed_version;           /* order version at which it was known to be applied */
    int64_t started_at;                   /* of the latest attempt */
    struct text input;         /* canonical JSON that its Input made: the attempts' until it is
                                  finished; empty: none */
    int64_t inputs;            /* of the latest attempt: the steps as StepStarted has it */
    uint32_t workflow_version; /* of the latest attempt: the order's when it started */
    int64_t ended_at;          /* of the latest ended attempt, or when it ended without one; 0: then
                                  its expressions, or its Fail, ended it */
    struct text output;        /* canonical JSON of a step that is done; empty: null */
    struct text error_name;    /* latest failure in `direction` */
    struct text error_message;
    const struct awaiting *awaiting; /* NULL: it has had no signal, and waits for none */
    struct suborders *suborders;     /* NULL: it has started none */
};

struct order {
    struct order_details details;
    uint64_t version; /* dense: 1 after OrderAccepted, +1 a Decision that changes it */
    enum order_state state;
    enum order_state error_from; /* PROCESSING or COMPENSATING: what ERROR interrupted */
    int64_t accepted_at;
    int64_t accepted_offset; /* of that Decision in events[p]: tells orders of one id apart */
    int64_t stated_offset;   /* of its last full statement: that Decision, or a Statement */
    int64_t updated_at;
    int64_t complete_by; /* of the whole order; 0 = none (any more) */
    int64_t margin_ms;
    int64_t ended_at;   /* 0 until PROCESSED or COMPENSATED */
    int64_t held_at;    /* 0: it was never HELD */
    struct text output; /* canonical JSON that the workflow's Output made; empty: none, or null */
    struct text output_problem; /* why it could not be made */
    struct step *steps;         /* same index as in the workflow */
    uint32_t step_count;
    bool alert_open;
    bool cancelled;
    struct text reason_code; /* why it is cancelled, compensated or in error */
    struct text reason;
    struct text reason_by; /* who asked; empty if nothing was asked */
    int64_t paused_at;     /* not 0: no attempt starts until an operator resumes the order */
    struct text paused_by;
    struct text pause_reason;
};

extern const struct enum_names order_state_names;
extern const struct enum_names step_state_names;
extern const struct enum_names direction_names;
extern const struct enum_names effect_names;
extern const struct enum_names priority_names; /* "high", "normal", "low" */
extern const struct enum_names item_state_names;
extern const struct enum_names suborder_outcome_names;
extern const struct enum_names settle_names;
const char *order_state_name(enum order_state state);
const char *step_state_name(enum step_state state);
const char *direction_name(enum direction direction); /* "do", "undo" */
const char *effect_name(enum effect effect);          /* "none", "applied", "unknown" */

/* The lifecycle tables: which state may follow which (engine/lifecycle.c). Setters in apply
 * assert. */
bool order_state_may_follow(enum order_state from, enum order_state to);
bool step_state_may_follow(enum step_state from, enum step_state to); /* for tests */

static inline bool order_ended(const struct order *order)
{
    return order->state == ORDER_PROCESSED || order->state == ORDER_COMPENSATED;
}

static inline struct wait step_wait(const struct step *step)
{
    int64_t since = step->wait.queued_at;
    int64_t until = step->wait.retry_at;
    if (step->state == STEP_WAITING)
        return (struct wait){step->awaiting != NULL ? WAIT_SIGNAL : WAIT_TIME, since, until};
    if (since != 0)
        return (struct wait){WAIT_QUEUE, since, until};
    return (struct wait){until != 0 ? WAIT_RETRY : WAIT_NONE, 0, until};
}

/* Whether a signal has come before the step's turn. */
static inline bool step_has_early_signal(const struct step *step)
{
    return step->awaiting != NULL && !text_empty(step->awaiting->payload);
}

/* Whose signals alone pass the step, which waits for one; empty: anyone's, or it does not wait. */
static inline struct text step_awaited_group(const struct step *step)
{
    return step_wait(step).kind == WAIT_SIGNAL ? step->awaiting->group : (struct text){0};
}

static inline bool step_runs_or_waits(const struct step *step)
{
    return step->state == STEP_PROCESSING || step_wait(step).kind != WAIT_NONE;
}

/* What lists of orders show of them: their steps that run, wait, or are in Error. */
static inline bool step_is_active(const struct step *step)
{
    return step->state == STEP_ERROR || step_runs_or_waits(step);
}

/* Whether the step waits in its agents' queue, and its order lets it start: its owner starts it as
 * soon as one of them is healthy and has capacity. */
bool order_step_queued(const struct order *order, const struct step *step);

/* Whether the sub-order has not answered: it was submitted, or is being undone. */
static inline bool suborder_is_unanswered(const struct suborders *suborders, uint32_t item)
{
    enum item_state state = suborders->items[item].state;
    return state == ITEM_SUBMITTED || (state == ITEM_HELD && suborders->recalled);
}

/* How many items are in that state; NULL: none. */
uint32_t suborders_count(const struct suborders *suborders, enum item_state state);
uint32_t suborders_unanswered(const struct suborders *suborders);
/* 1 to ORDER_ID_BYTES_MAX bytes of printable UTF-8 without '/'. REJECT, code "InvalidOrder". */
enum error_class order_id_validate(struct text order_id, struct error *ret_error);
/* Whether an order may be that parent: its id, the offset, the step, and the item. Likewise. */
enum error_class order_parent_validate(const struct order_parent *parent, struct error *ret_error);
/* Whether they name the same item of the same parent. */
bool order_parent_equal(const struct order_parent *a, const struct order_parent *b);

/* Index of the step, or -1. */
int order_find_step(const struct order *order, struct text name);
/* Whether the outputs of all steps, with this one at `index`, keep ORDER_OUTPUTS_BYTES_MAX. Early
 * signals are outputs as well. */
bool order_takes_output(const struct order *order, uint32_t index, struct text output);
/* The same of their inputs and ORDER_STEP_INPUTS_BYTES_MAX. Steps that wait for another attempt, or
 * for an operator, keep theirs; undos run one after the other, so they leave room for one. The
 * lists and inputs of sub-orders count as well. */
bool order_takes_input(const struct order *order, uint32_t index, enum direction direction,
                       struct text input);

/* Whether the outputs keep that bound with one more of an item. */
bool order_takes_item_output(const struct order *order, struct text output);
/* Whether the order can keep the list of one more ForEach; or the input of one more item, besides
 * `more` bytes of others. */
bool order_takes_list(const struct order *order, struct text list);
bool order_takes_item_input(const struct order *order, uint64_t more, struct text input);

/* How large the details are when they are encoded, at most. */
uint64_t order_details_bytes(const struct order_details *details);

struct arena;
/* A deep copy that lives wholly in `arena`. */
void order_details_copy(const struct order_details *details, struct arena *arena,
                        struct order_details *ret_details);
struct text_list text_list_copy(struct text_list list, struct arena *arena);
/* A deep copy that lives wholly in `arena` (what no longer is referenced is left behind). */
void order_copy(const struct order *order, struct arena *arena, struct order *ret_order);

/* Largest "order/step/direction/generation". */
enum {
    IDEMPOTENCY_KEY_BYTES_MAX = ORDER_ID_BYTES_MAX + NAME_BYTES_MAX + 24,
    IDEMPOTENCY_KEY_BYTES_READ_MAX = IDEMPOTENCY_KEY_BYTES_MAX
};
/* "order/step/direction/generation": the same over all attempts, owners and restarts. New in the
 * arena. The generation is the step's current one of `direction`. */
struct text order_idempotency_key(const struct order *order, const struct step *step,
                                  enum direction direction, struct arena *arena);

/* The id of a sub-order: "order~step", with "~item" for one of ForEach, and "~~generation" after a
 * resubmission. No id from outside has a '~'. New in the arena; it may be longer than ids are. */
struct text order_suborder_id(struct text order_id, struct text step, int64_t item,
                              uint32_t generation, struct arena *arena);
/* The root of the tree, by the id of a sub-order; empty: it is the id of a root. Borrowed. */
struct text order_id_root(struct text order_id);

#endif
