/* SPDX-License-Identifier: Apache-2.0 */
/* A compiled workflow: what workflow/ makes of a file and engine_decide() reads. Immutable once
 * deployed. */
#ifndef ENGINE_WORKFLOW_H
#define ENGINE_WORKFLOW_H

#include "engine/expression/expression.h"
#include "engine/limits.h"
#include "engine/order.h"

enum jitter { JITTER_FULL, JITTER_NONE, JITTER_COUNT };

/* Reserved error names. ALL matches every error, TaskFailed every one but Timeout. */
#define ERROR_ALL "States.ALL"
#define ERROR_TIMEOUT "States.Timeout"
#define ERROR_TASK_FAILED "States.TaskFailed"
/* Of a step with an Until that was not true of the answer: its agent asks again. */
#define ERROR_NOT_YET "States.NotYet"
/* Of a step with sub-orders; see docs/reference/errors.md. */
#define ERROR_ID_TOO_LONG "Order.IdTooLong"
#define ERROR_TOO_OLD "Order.TooOld"
#define ERROR_REFUSED "Order.Refused"
#define ERROR_UNDO_FAILED "Order.UndoFailed"

struct error_set {
    struct text names[ERRORS_EQUAL_MAX];
    uint32_t count;
};

/* The n-th retry (n from 1) of this retrier waits interval * rate^(n-1), at most max_delay; with
 * full jitter a part of that between 0 and 1, by a hash of order, step, direction and attempt. */
struct retrier {
    struct error_set errors;
    int64_t interval_ms;
    uint32_t backoff_rate_milli; /* 2000 = 2.0; at least 1000 */
    uint32_t max_attempts;       /* retries, not attempts; per retrier, counted in the step */
    int64_t max_delay_ms;        /* 0 = only DURATION_MS_MAX bounds it */
    enum jitter jitter;
};

/* Of a Catch and of OnExhausted. */
enum outcome {
    OUTCOME_COMPENSATE,
    OUTCOME_ERROR,
    OUTCOME_CONTINUE, /* of a Catch alone: the step is Caught, and the order goes on */
    OUTCOME_COUNT
};

struct catcher {
    struct error_set errors;
    enum outcome next;
};

struct retry_policy {
    const struct retrier *retriers;
    uint32_t count;
};

enum step_kind {
#define STEP_KIND(kind, start, due, end, undo, differs, describe) STEP_KIND_##kind,
#include "engine/kinds.def"
    STEP_KIND_COUNT
};

struct workflow_step {
    struct text name;
    enum step_kind kind;
    uint64_t after;                /* bit i: begins only when step i is finished; 0 = at once */
    const struct expression *when; /* begins only if it is true, else it is skipped; NULL: always */
    const struct text *agents; /* of a task: at least 1; any of them can do it. Other kinds: none */
    uint32_t agent_count;
    /* Of a task, what its requests carry; NULL: all. Of Steps, the input of its sub-orders; NULL:
     * the order's, or the item. */
    const struct expression_template *input;
    /* Of a task, what it keeps of the answer; of an Await, of the signal. NULL: all. Done only if
     * `until` is true of it; NULL: always. */
    const struct expression_template *output;
    const struct expression *until;
    const struct expression_template *set; /* of a Set: its output */
    struct {                               /* of a Fail */
        struct text error;
        const struct expression_template *message; /* NULL: none */
    } fail;
    struct { /* of a Wait: one of two, and a part of `spread_ms` by a hash of order and step */
        const struct expression *seconds;
        const struct expression *timestamp;
        int64_t spread_ms;
    } wait;
    struct {                      /* of an Await */
        struct text from;         /* the group whose signals alone count; empty: anyone's */
        struct text_list options; /* one of which its payload chooses; none: it is any JSON */
        const struct expression_template *question; /* NULL: none */
    } await;
    struct {                            /* of Steps: the sub-orders that it starts */
        const struct workflow *body;    /* named NAME/STEP, with the file's version; never NULL */
        bool for_each;                  /* one for each item; else one, without an item */
        const struct expression *items; /* a list; or NULL and */
        const struct expression_template *list; /* the list as the file has it */
        uint32_t max_concurrency;               /* that have not ended at once; 0: no limit */
        uint32_t tolerated_failures;            /* UINT32_MAX: all */
        const struct expression *stop_when;     /* over `result`, an item's output; NULL: never */
        bool has_priority;                      /* else the order's; low beyond 64 items */
        enum priority priority;
    } suborders;
    int64_t timeout_ms;       /* of an Await: from its turn on; 0: as long as the order has. Of
                                 Steps: of the whole step */
    int64_t max_extension_ms; /* how much longer an attempt may last through ExtendStep */
    struct retry_policy retry;
    const struct catcher *catchers;
    uint32_t catcher_count;
    bool has_compensate;
    bool pivot;
    enum outcome on_exhausted;
    struct {
        struct text action;
        int64_t timeout_ms;
        int64_t max_extension_ms;
        struct retry_policy retry;
        const struct expression_template *input; /* instead of the step's; NULL: the step's */
    } compensate;
};

/* The agent that a step names first; empty: a kind without agents. */
static inline struct text workflow_step_agent(const struct workflow_step *step)
{
    return step->agent_count > 0 ? step->agents[0] : (struct text){0};
}

/* Whether the step can be Waiting. */
static inline bool workflow_step_waits(const struct workflow_step *step)
{
    return step->kind == STEP_KIND_WAIT || step->kind == STEP_KIND_AWAIT;
}

struct workflow {
    struct text name;
    uint32_t version;
    int64_t timeout_ms;              /* of the whole order; 0 = none */
    const struct shape *input_shape; /* of the orders' input; NULL: there may be any */
    const struct workflow_step *steps;
    uint32_t step_count;
    int pivot;    /* index, or -1 */
    bool is_body; /* of a step: without a deadline or a shape of its own, and '/' in its name */
    const struct expression_template *output; /* of the order; NULL: none */
};

/* For messages: "ERROR must be " ERROR_NAME_EXPECTED. */
#define ERROR_NAME_EXPECTED \
    "1 to 64 letters, digits, '.', '_' or '-', without \"States.\" or \"Order.\" at its beginning"
/* The name of a step's failure, as agents and operators may report it: the characters of names, and
 * none of the reserved ones: only the scheduler says that a step timed out, or that a sub-order was
 * refused. */
bool error_name_valid(struct text name);

bool error_set_matches(const struct error_set *errors, struct text error_name);

/* Whether they are the same in every respect. */
bool retrier_equal(const struct retrier *a, const struct retrier *b);
/* The first matching retrier with retries left, or -1; used[i] = retries taken of retrier i. */
int retry_policy_match(const struct retry_policy *policy, const uint32_t used[RETRIERS_MAX],
                       struct text error_name);
/* Wait before the retry number `retry` (from 1) of `retrier`. `salt` decides the jitter: equal
 * salt, equal wait. Pure integer arithmetic, saturating. */
int64_t retry_wait_ms(const struct retrier *retrier, uint32_t retry, uint64_t salt);
/* FNV-1a over order, step, direction and attempt. */
uint64_t retry_salt(struct text order_id, struct text step, int direction, uint32_t attempt);
/* A part of `most_ms` between 0 and 1: equal salt, equal part. */
int64_t retry_jitter_ms(int64_t most_ms, uint64_t salt);

/* A workflow file as it was deployed: a record of <p>.workflows. */
struct workflow_definition {
    struct text name;
    uint32_t version;
    struct text text;   /* the file's, as deployed */
    struct text format; /* "yaml" or "json" */
    struct text deployed_by;
    int64_t deployed_at;
};

/* Whether new orders take the version; another record of <p>.workflows. */
struct workflow_activation {
    struct text name;
    uint32_t version;
    bool active; /* false: retired */
    struct text by;
    struct text reason;
    int64_t at;
};

#endif
