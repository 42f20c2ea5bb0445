/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of an order's log, written from the design and not from the engine: a separate model
 * that reads commands and Decisions, derives the result of each command, and follows every event.
 *
 * Numbers in comments (I4, I9 ...) are those of the list of invariants: dense versions, the order
 * of steps, attempts, one outcome each, no late result applied, no early timeout, exact
 * compensation, the threshold of failures. */
#ifndef TESTS_PROPERTY_ENGINE_RULES_H
#define TESTS_PROPERTY_ENGINE_RULES_H

#include "engine/engine.h"
#include "tests/property/engine_mappings.h"

enum way_state {
    WAY_FRESH,
    WAY_RUNNING,
    WAY_FAILED,   /* until the Decision ends, or during compensation until it is undone */
    WAY_WAITING,  /* for its next attempt */
    WAY_TIMED,    /* for its moment, `retry_at` */
    WAY_AWAITING, /* for a signal, until `retry_at`; 0: as long as the order has */
    WAY_EXHAUSTED,
    WAY_RESUBMITTED,
    WAY_DONE
};

/* One direction of a step. */
struct way {
    enum way_state state;
    uint32_t attempt;
    uint32_t starts;   /* since the last resubmission */
    uint32_t failures; /* since the last resubmission */
    uint32_t used[RETRIERS_MAX];
    uint32_t generation;
    enum effect effect;
    int64_t complete_by;
    int64_t first_due; /* complete_by as the attempt started */
    int64_t margin_ms;
    int64_t retry_at;
    int64_t started_at;
    bool queued; /* in addition to its state: no agent is free */
    int64_t queued_at;
    struct text input; /* what Input made for its attempts; empty: nothing yet, or nothing at all */
};

/* What is known of those to an Await. */
struct rules_signals {
    uint32_t count;     /* recorded */
    struct text newest; /* its id; empty: it had none, or there was none */
    struct text early;  /* what the step's output becomes; empty: none came before its turn */
    struct text early_by;
    struct text_list early_groups; /* of its sender */
};

struct rules_step {
    struct way ways[DIRECTION_COUNT];
    struct text agent; /* of the last request */
    bool turned;       /* its undo has begun, or waits to begin */
    bool skipped;      /* by an operator, its When, or when compensation began; or caught */
    bool caught;
    bool by_hand;           /* skipped by an operator, or failed by one */
    bool asked_again;       /* under another key, though its service had succeeded */
    struct text output;     /* what the step keeps; empty: null */
    struct text error_name; /* of its latest failure */
    struct rules_signals signals;
    bool spent; /* the time of its expressions in this Decision */
    uint64_t started_version;
    uint64_t applied_version;
};

/* The phase stays while the order is in Error. */
enum phase { PHASE_NONE, PHASE_FORWARD, PHASE_BACKWARD, PHASE_PROCESSED, PHASE_COMPENSATED };

/* Situations that random histories must reach. */
enum rare {
    RARE_LATE_IGNORED,
    RARE_UNDONE_BEFORE_REPORT,
    RARE_EARLY_RECOVERY,
    RARE_TIMEOUT_EXHAUSTS,
    RARE_CANCELLED_WHILE_UNDOING,
    RARE_CANCELLED_IN_ERROR,
    RARE_PAST_PIVOT,
    RARE_PIVOT_TURNED_BACK,
    RARE_SKIPPED_PIVOT_TURNED_BACK,
    RARE_PAST_SKIPPED_PIVOT,
    RARE_UNKNOWN_PIVOT_IN_ERROR,
    RARE_ORDER_TIMED_OUT,
    RARE_ORDER_TIMED_OUT_PAST_PIVOT,
    RARE_UNKNOWN_UNDONE,
    RARE_SUCCESS_WHILE_UNDOING,
    RARE_SUCCESS_IN_ERROR,
    RARE_FAILURE_IN_ERROR,
    RARE_UNDO_FAILED,
    RARE_UNDO_RESUBMITTED,
    RARE_NEW_KEY,
    RARE_OLD_KEY_RESUBMITTED,
    RARE_NO_WAIT,
    RARE_CAUGHT,
    RARE_CONTINUED,
    RARE_QUEUED_FOR_CAPACITY,
    RARE_QUEUED_UNHEALTHY,
    RARE_QUEUED_AGAIN,
    RARE_QUEUED_RETRY,
    RARE_QUEUED_UNDO,
    RARE_QUEUED_SKIPPED,
    RARE_STUCK,
    RARE_ELSEWHERE,
    RARE_LEFT_QUEUE,
    RARE_NO_CAPACITY_YET,
    RARE_EXTENDED,
    RARE_EXTENSION_BOUNDED,
    RARE_EXTENSION_EXHAUSTED,
    RARE_EXTENDED_OVERDUE,
    RARE_VOUCHED,
    RARE_VOUCH_REFUSED,
    RARE_EXPIRED,
    RARE_SUBMITTED_AGAIN,
    RARE_COMPLETED,
    RARE_COMPLETED_UNSTARTED,
    RARE_COMPLETED_LAST_ERROR,
    RARE_UNDO_COMPLETED,
    RARE_SKIPPED_BY_HAND,
    RARE_SKIP_VOUCHED,
    RARE_SKIP_REFUSED,
    RARE_FAILED_BY_HAND,
    RARE_FAILED_BY_HAND_CAUGHT,
    RARE_BY_HAND_RUNNING,
    RARE_BY_HAND_OUT_OF_TURN,
    RARE_PAUSED,
    RARE_PAUSED_UNDO,
    RARE_ENDED_PAUSED,
    RARE_DEADLINE_RENEWED,
    RARE_MIGRATED,
    RARE_MIGRATED_RUNNING,
    RARE_MIGRATED_IN_ERROR,
    RARE_RETRIES_MOVED,
    RARE_MIGRATED_NEW_KEY,
    RARE_MIGRATION_REFUSED,
    RARE_AMENDED,
    RARE_AMENDED_EFFECT,
    RARE_AMENDED_WAITING,
    RARE_AMENDED_DECIDED,
    RARE_AMENDMENT_REFUSED,
    RARE_AMENDMENT_REFUSED_OUTPUT,
    RARE_KIND_DIFFERS,
    RARE_INPUT_DIFFERS,
    RARE_WHEN_FALSE,
    RARE_WHEN_MISSING,
    RARE_WHEN_FAULT,
    RARE_WHEN_AFTER_ATTEMPT,
    RARE_SET,
    RARE_SET_FAULT,
    RARE_SET_AGAIN,
    RARE_FAIL,
    RARE_FAIL_FAULT,
    RARE_INPUT,
    RARE_INPUT_KEPT,
    RARE_INPUT_AGAIN,
    RARE_INPUT_FAULT,
    RARE_UNDO_INPUT,
    RARE_UNDO_INPUT_FAULT,
    RARE_OUTPUT,
    RARE_OUTPUT_FAULT,
    RARE_OUTPUT_FAULT_UNDOING,
    RARE_ORDER_OUTPUT,
    RARE_ORDER_OUTPUT_FAULT,
    RARE_DATA_LIMIT,
    RARE_DEFERRED,
    RARE_NO_EXPRESSIONS,
    RARE_WAITS,
    RARE_WAITS_UNTIL,
    RARE_WAIT_SPREAD,
    RARE_WAIT_OVER,
    RARE_WAIT_FAULT,
    RARE_WAITED,
    RARE_WAITED_PAUSED,
    RARE_WAITED_IN_ERROR,
    RARE_WAIT_EARLY,
    RARE_WAIT_SKIPPED,
    RARE_WAIT_BY_HAND,
    RARE_WAITS_AGAIN,
    RARE_WAIT_MIGRATED,
    RARE_AMENDED_TIMED,
    RARE_NOT_YET,
    RARE_NOT_YET_CERTAIN,
    RARE_NOT_YET_UNDOING,
    RARE_NOT_YET_ENOUGH,
    RARE_UNTIL_TRUE,
    RARE_UNTIL_FAULT,
    RARE_UNTIL_DIFFERS,
    RARE_AWAITS,
    RARE_AWAITS_QUESTION,
    RARE_QUESTION_FAULT,
    RARE_AWAITS_AS_LONG_AS_THE_ORDER,
    RARE_AWAITS_AGAIN,
    RARE_AWAIT_TIMED_OUT,
    RARE_AWAIT_TIMED_OUT_PAUSED,
    RARE_AWAIT_SKIPPED,
    RARE_AWAIT_BY_HAND,
    RARE_NEEDS_SIGNAL,
    RARE_SIGNAL_UNKNOWN_ORDER,
    RARE_SIGNAL_HIDDEN,
    RARE_SIGNAL_REPEATED,
    RARE_SIGNAL_REPEATED_AFTER_END,
    RARE_SIGNAL_AFTER_END,
    RARE_SIGNAL_WHILE_UNDOING,
    RARE_SIGNAL_UNKNOWN_STEP,
    RARE_SIGNAL_TOO_LATE,
    RARE_SIGNAL_TO_ERROR,
    RARE_SIGNAL_NOT_ALLOWED,
    RARE_SIGNAL_NOT_ALLOWED_EARLY,
    RARE_SIGNAL_NO_OPTION,
    RARE_SIGNAL_UNTIL_FAULT,
    RARE_SIGNAL_OUTPUT_FAULT,
    RARE_SIGNAL_TOO_LARGE,
    RARE_SIGNAL_ANSWER_TOO_LARGE,
    RARE_SIGNAL_SECOND_EARLY,
    RARE_SIGNAL_TOO_MANY,
    RARE_SIGNAL_NOT_YET,
    RARE_SIGNAL_NOT_YET_EARLY,
    RARE_SIGNAL_EARLY,
    RARE_SIGNAL_PASSES,
    RARE_SIGNAL_PASSES_GROUP,
    RARE_SIGNAL_PASSES_PAUSED,
    RARE_SIGNAL_PASSES_IN_ERROR,
    RARE_SIGNAL_PASSES_OVERDUE,
    RARE_EARLY_TAKEN,
    RARE_EARLY_TAKEN_GROUP,
    RARE_EARLY_DROPPED,
    RARE_AWAIT_MIGRATED,
    RARE_EARLY_MIGRATED,
    RARE_SIGNALS_FORGOTTEN,
    RARE_AWAIT_DIFFERS,
    RARE_AMENDED_AWAITING,
    RARE_AMENDED_ANSWERED,
    RARE_AMENDED_EARLY,
    RARE_COUNT
};
const char *rare_name(enum rare rare);

struct rules {
    const struct workflow *workflow;
    const struct workflow *target; /* the engine's input for MigrateOrder; NULL: none */
    bool target_retired;           /* likewise */
    struct rules_step steps[WORKFLOW_STEPS_MAX];
    enum phase phase;
    bool error;
    uint64_t version;
    int64_t decided_at;
    int64_t complete_by; /* of the order; 0 = none, or no longer any */
    int64_t margin_ms;
    uint32_t alerts_open;
    bool paused;
    bool expired; /* at least one order of this id has expired */
    struct content_hash content_hash;
    struct text input;   /* of the order */
    bool mapped;         /* the workflow is a struct mapped_workflow */
    struct arena *arena; /* for what is evaluated; NULL: not mapped */
    uint64_t *rare;      /* RARE_COUNT counters, borrowed */

    /* The current Decision. */
    const struct command *cmd;
    const struct decision *decision;
    const struct routing *routing; /* the engine's input; NULL: no table */
    bool routing_unknown;          /* there is one, or not: what depends on it is not checked */
    bool no_expressions;           /* the engine's input */
    uint32_t at;                   /* its event */
    struct {                       /* what comes of an accepted SignalOrder */
        bool ready;                /* Until is true of it */
        struct text result;
        struct text output;
    } signal;
    char wrong[400];
};

void rules_init(struct rules *rules, const struct workflow *workflow, uint64_t *rare);

/* Checks the next Decision, on this input. NULL or the broken rule, until the next call. Before it,
 * the caller sets `target`, `target_retired` and `no_expressions`. */
const char *rules_follow(struct rules *rules, const struct command *cmd,
                         const struct decision *decision, const struct routing *routing);
/* The order is gone; the next Decision starts from nothing. */
void rules_expire(struct rules *rules);

/* ---- shared by the two halves ---- */

/* The step's place in the target, or -1. */
int rules_target_index(const struct rules *rules, struct text step);

/* Only the first broken rule is kept. */
void rules_say(struct rules *rules, const char *format, ...) __attribute__((format(printf, 2, 3)));
#define RULE(rules, condition, ...)          \
    do {                                     \
        if (!(condition))                    \
            rules_say((rules), __VA_ARGS__); \
    } while (0)

int rules_index(const struct rules *rules, struct text step);
/* The event `ahead` places after the current one, or a zeroed one. */
struct event rules_peek(const struct rules *rules, uint32_t ahead);
bool rules_way_back(const struct rules *rules);
bool rules_any_runs(const struct rules *rules);
/* Whether compensation undoes this step (I9). */
bool rules_to_undo(const struct rules *rules, uint32_t index);
/* The step whose undo has begun and not ended, or -1. */
int rules_open_undo(const struct rules *rules);
/* Whether the steps that precede it are done, or were skipped by an operator. */
bool rules_predecessors_done(const struct rules *rules, uint32_t index);
/* engine_rules_migrate.c */
void rules_migrated(struct rules *rules, const struct order_migrated *event);
/* engine_rules_amend.c */
void rules_amended(struct rules *rules, const struct order_amended *event);
const char *rules_amend_verdict(struct rules *rules, const struct amend_order *asked);
/* The step was finished by what its expressions made of the data, or it waits because of that. */
bool rules_finished_by_data(const struct rules *rules, uint32_t index);
/* engine_rules_step.c */
void rules_step_event(struct rules *rules, const struct event *event);
/* Whether the step may now start after waiting, or enter the queue. */
void rules_check_turn(struct rules *rules, uint32_t index, enum direction direction);
/* After a failure. `again`: a retry may help. */
void rules_check_what_follows(struct rules *rules, uint32_t index, enum direction direction,
                              struct text error, bool again);

/* ---- engine_rules_data.c: what expressions decide ---- */

void rules_check_order_output(struct rules *rules, const struct order_processed *event);
/* Its turn has come, and it does not start. */
void rules_skipped_by_when(struct rules *rules, uint32_t index, const struct step_marked *event);
void rules_passed(struct rules *rules, uint32_t index, const struct step_passed *event);
void rules_waits(struct rules *rules, uint32_t index, const struct step_waiting *event);
void rules_failed_unstarted(struct rules *rules, uint32_t index,
                            const struct step_failed_unstarted *event);
/* It starts, or is queued. */
void rules_check_when(struct rules *rules, uint32_t index, enum direction direction);
void rules_check_input(struct rules *rules, uint32_t index, const struct step_started *event);
/* What it keeps of its service's answer; keeps it. */
void rules_check_output(struct rules *rules, uint32_t index, struct text output);
/* The error with which that fails, States.NotYet if it is not what the step asks for; empty: it
 * does not. */
struct text rules_output_fault(struct rules *rules, uint32_t index);
/* Whether its Inputs give the same, or fail alike, if the order had the other input. */
bool rules_asks_the_same(struct rules *rules, uint32_t index, struct text input);
/* Expressions have left no time: no further step begins in this Decision. */
bool rules_time_is_up(const struct rules *rules);
void rules_deferred(struct rules *rules, uint32_t index, const struct step_queued *event);
const struct mappings *rules_mappings(const struct rules *rules, const struct workflow *workflow,
                                      uint32_t index);

struct term_scope rules_scope(const struct rules *rules, bool *spent, struct text result);
struct text rules_without_null(struct text json);

/* ---- engine_rules_signal.c ---- */

const char *rules_signal_verdict(struct rules *rules, const struct signal_order *asked);
/* The first event of an accepted one. */
enum event_kind rules_signal_event(const struct rules *rules);
void rules_signal_received(struct rules *rules, const struct signal_received *event);
/* The step waits for it, or has an early one. */
void rules_signal_passes(struct rules *rules, uint32_t index, const struct step_passed *event);
void rules_early_taken(struct rules *rules, uint32_t index, const struct step_passed *event);
/* An early one is lost. `all`: the step is finished, and nothing is known of its signals. */
void rules_drop_signals(struct rules *rules, uint32_t index, bool all);
void rules_check_awaits(struct rules *rules, uint32_t index, const struct step_waiting *event);
void rules_await_over(struct rules *rules, uint32_t index,
                      const struct step_failed_unstarted *event);
/* Whether those who were asked, or have answered early, would be asked the same in the target. */
bool rules_awaits_the_same(struct rules *rules, uint32_t index, uint32_t to);

/* ---- engine_rules_route.c ---- */

/* The agent that has to be asked after what the Decision's first `through` events have taken, or
 * an empty text: none is healthy and has capacity. */
struct text rules_choice(const struct rules *rules, uint32_t index, enum direction direction,
                         uint32_t through);
/* Whether any agent that may be asked is healthy. */
bool rules_any_healthy(const struct rules *rules, uint32_t index, enum direction direction);
void rules_check_choice(struct rules *rules, uint32_t index, const struct step_started *event);
void rules_queued(struct rules *rules, uint32_t index, const struct step_queued *event);
/* Whether the step may remain queued at the end of the Decision. */
bool rules_waits_rightly(const struct rules *rules, uint32_t index, enum direction direction);

/* NULL if the command must be accepted, else the expected code ("repeat" for a
 * repeated submission, "dead" for bytes); engine_rules_verdict.c */
const char *rules_verdict(struct rules *rules, const struct command *cmd, int64_t now);

#endif
