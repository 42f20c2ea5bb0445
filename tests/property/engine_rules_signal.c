/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of steps that await signals: what each signal is answered with, in the sequence of
 * docs/use/workflows.md, what becomes of it, and what alone passes such a step. */
#include "tests/property/engine_data.h"
#include "tests/property/engine_rules.h"

#include <stdio.h>

enum { SIGNALS_TOO_MANY = 1000 };

static bool holds(struct text_list list, struct text text)
{
    bool found = false;
    for (uint32_t i = 0; i < list.count && !found; i++)
        found = text_equal(list.items[i], text);
    return found;
}

static const char *refuse(struct rules *rules, const char *code, enum rare rare)
{
    rules->rare[rare]++;
    return code;
}

static bool is_text(struct text json)
{
    return json.size >= 2 && json.data[0] == '"';
}

/* ---- what the step makes of it ---- */

/* {"choice", "comment"}, both texts and the first one an option; the second may be missing. */
static bool read_choice(struct text_list options, struct text payload, struct text *ret_choice,
                        struct text *ret_comment)
{
    struct data_items items;
    uint32_t others = 0;
    if (payload.data[0] != '{')
        return false;
    for (data_items_begin(&items, payload); data_items_next(&items);)
        others +=
            !text_equal(items.name, TEXT("choice")) && !text_equal(items.name, TEXT("comment"));
    *ret_choice = data_member(payload, TEXT("choice"));
    *ret_comment = data_member(payload, TEXT("comment"));
    if (others > 0 || !is_text(*ret_choice) ||
        (!text_empty(*ret_comment) && !is_text(*ret_comment)))
        return false;
    return holds(options, (struct text){ret_choice->data + 1, ret_choice->size - 2});
}

/* {"by", "choice", "comment"} */
static struct text make_answer(const struct rules *rules, struct text by, struct text choice,
                               struct text comment)
{
    enum { FRAME_BYTES = 64 };
    uint32_t size = by.size + choice.size + comment.size + FRAME_BYTES;
    char *text = arena_bytes(rules->arena, size);
    if (text_empty(comment))
        comment = TEXT("\"\"");
    int made = snprintf(text, size, "{\"by\":\"%.*s\",\"choice\":%.*s,\"comment\":%.*s}",
                        TEXT_ARG(by), TEXT_ARG(choice), TEXT_ARG(comment));
    return (struct text){text, (uint32_t)made};
}

static const char *fault_verdict(struct rules *rules, enum fault fault, enum rare rare)
{
    return refuse(rules, fault == FAULT_LIMIT ? "TooLarge" : "BadPayload", rare);
}

/* NULL: rules->signal tells what comes of it. */
static const char *payload_verdict(struct rules *rules, uint32_t index,
                                   const struct signal_order *asked)
{
    const struct workflow_step *plan = &rules->workflow->steps[index];
    const struct mappings *trees = rules_mappings(rules, rules->workflow, index);
    struct text choice, comment;
    struct text result = asked->payload;
    enum fault fault = FAULT_NONE;
    if (result.size > SIGNAL_BYTES_MAX)
        return refuse(rules, "TooLarge", RARE_SIGNAL_TOO_LARGE);
    if (plan->await.options.count > 0) {
        if (!read_choice(plan->await.options, result, &choice, &comment))
            return refuse(rules, "BadPayload", RARE_SIGNAL_NO_OPTION);
        result = make_answer(rules, asked->by, choice, comment);
    }
    if (result.size > SIGNAL_BYTES_MAX)
        return refuse(rules, "TooLarge", RARE_SIGNAL_ANSWER_TOO_LARGE);
    struct term_scope scope = rules_scope(rules, &rules->steps[index].spent, result);
    rules->signal.ready = true;
    rules->signal.result = rules->signal.output = result;
    if (trees->until != NULL && !term_test(&scope, trees->until, &rules->signal.ready, &fault))
        return fault_verdict(rules, fault, RARE_SIGNAL_UNTIL_FAULT);
    if (rules->signal.ready && trees->output != NULL &&
        !term_json(&scope, trees->output, SIGNAL_BYTES_MAX, &rules->signal.output, &fault))
        return fault_verdict(rules, fault, RARE_SIGNAL_OUTPUT_FAULT);
    return NULL;
}

/* ---- the table ---- */

/* To another token than the order's, there is no order, but for steps of its groups. */
static bool is_hidden(const struct rules *rules, int index, const struct signal_order *asked)
{
    if (text_empty(asked->submitted_by)) /* no order of these tests has a token */
        return false;
    const struct workflow_step *plan = index >= 0 ? &rules->workflow->steps[index] : NULL;
    return plan == NULL || plan->kind != STEP_KIND_AWAIT || !holds(asked->groups, plan->await.from);
}

static bool is_repeated(const struct rules *rules, int index, const struct signal_order *asked)
{
    return index >= 0 && !text_empty(asked->id) &&
           text_equal(asked->id, rules->steps[index].signals.newest);
}

static bool is_over(const struct rules *rules)
{
    return rules->phase == PHASE_PROCESSED || rules->phase == PHASE_COMPENSATED ||
           rules->phase == PHASE_BACKWARD;
}

static const char *order_verdict(struct rules *rules, int index, const struct signal_order *asked)
{
    bool back = rules->phase == PHASE_BACKWARD;
    if (rules->phase == PHASE_NONE)
        return refuse(rules, "UnknownOrder", RARE_SIGNAL_UNKNOWN_ORDER);
    if (is_hidden(rules, index, asked))
        return refuse(rules, "AnotherSubmitter", RARE_SIGNAL_HIDDEN);
    if (is_repeated(rules, index, asked)) {
        rules->rare[RARE_SIGNAL_REPEATED_AFTER_END] += is_over(rules);
        return refuse(rules, "SignalRepeated", RARE_SIGNAL_REPEATED);
    }
    if (is_over(rules))
        return refuse(rules, "AlreadyEnded",
                      back ? RARE_SIGNAL_WHILE_UNDOING : RARE_SIGNAL_AFTER_END);
    if (index < 0 || rules->workflow->steps[index].kind != STEP_KIND_AWAIT)
        return refuse(rules, "UnknownStep", RARE_SIGNAL_UNKNOWN_STEP);
    return NULL;
}

static const char *step_verdict(struct rules *rules, uint32_t index,
                                const struct signal_order *asked)
{
    const struct rules_step *step = &rules->steps[index];
    enum way_state state = step->ways[DIRECTION_DO].state;
    struct text from = rules->workflow->steps[index].await.from;
    if (state == WAY_EXHAUSTED)
        return refuse(rules, "TooLate", RARE_SIGNAL_TO_ERROR);
    if (state == WAY_DONE || step->skipped)
        return refuse(rules, "TooLate", RARE_SIGNAL_TOO_LATE);
    if (text_empty(from) || holds(asked->groups, from))
        return NULL;
    return refuse(rules, "NotAllowed",
                  state == WAY_AWAITING ? RARE_SIGNAL_NOT_ALLOWED : RARE_SIGNAL_NOT_ALLOWED_EARLY);
}

static const char *room_verdict(struct rules *rules, uint32_t index)
{
    const struct rules_signals *signals = &rules->steps[index].signals;
    if (!text_empty(signals->early))
        return refuse(rules, "AlreadySignalled", RARE_SIGNAL_SECOND_EARLY);
    if (signals->count >= SIGNALS_TOO_MANY)
        return refuse(rules, "TooManySignals", RARE_SIGNAL_TOO_MANY);
    return NULL;
}

const char *rules_signal_verdict(struct rules *rules, const struct signal_order *asked)
{
    int index = rules_index(rules, asked->step);
    const char *verdict = order_verdict(rules, index, asked);
    if (verdict == NULL)
        verdict = step_verdict(rules, (uint32_t)index, asked);
    if (verdict == NULL)
        verdict = payload_verdict(rules, (uint32_t)index, asked);
    return verdict != NULL ? verdict : room_verdict(rules, (uint32_t)index);
}

/* ---- what comes of it ---- */

static bool awaits_now(const struct rules *rules, uint32_t index)
{
    return rules->steps[index].ways[DIRECTION_DO].state == WAY_AWAITING;
}

enum event_kind rules_signal_event(const struct rules *rules)
{
    int index = rules_index(rules, rules->cmd->signal_order.step);
    bool passes = rules->signal.ready && awaits_now(rules, (uint32_t)index);
    return passes ? EVENT_STEP_PASSED : EVENT_SIGNAL_RECEIVED;
}

/* Only a member of its group passes the step. */
static void check_group(struct rules *rules, uint32_t index, struct text_list groups)
{
    struct text from = rules->workflow->steps[index].await.from;
    RULE(rules, text_empty(from) || holds(groups, from), "step %u passes without a signal of %.*s",
         index, TEXT_ARG(from));
}

void rules_signal_received(struct rules *rules, const struct signal_received *event)
{
    const struct signal_order *asked = &rules->cmd->signal_order;
    bool kept = rules->signal.ready; /* else the step would have passed */
    RULE(rules, rules->cmd->kind == COMMAND_SIGNAL_ORDER && rules->at == 0,
         "a signal is received that was not sent");
    if (rules->cmd->kind != COMMAND_SIGNAL_ORDER)
        return;
    uint32_t index = (uint32_t)rules_index(rules, asked->step);
    struct rules_signals *signals = &rules->steps[index].signals;
    struct text payload = kept ? rules->signal.output : rules->signal.result;
    RULE(rules, text_equal(event->step, asked->step), "a signal is received by another step");
    RULE(rules, event->kept == kept, "step %u %s a signal", index, kept ? "loses" : "keeps");
    RULE(rules, text_equal(event->payload, payload), "step %u receives %.*s, not %.*s", index,
         TEXT_ARG(event->payload), TEXT_ARG(payload));
    RULE(rules, text_equal(event->signal_id, asked->id) && text_equal(event->by, asked->by),
         "step %u receives another signal", index);
    RULE(rules, text_empty(signals->early), "step %u has two early signals", index);
    signals->count++;
    signals->newest = asked->id;
    if (kept) {
        signals->early = payload;
        signals->early_by = asked->by;
        signals->early_groups = asked->groups;
    }
    rules->rare[kept                       ? RARE_SIGNAL_EARLY
                : awaits_now(rules, index) ? RARE_SIGNAL_NOT_YET
                                           : RARE_SIGNAL_NOT_YET_EARLY]++;
}

void rules_signal_passes(struct rules *rules, uint32_t index, const struct step_passed *event)
{
    const struct signal_order *asked = &rules->cmd->signal_order;
    struct rules_step *step = &rules->steps[index];
    int64_t due = step->ways[DIRECTION_DO].retry_at;
    bool signalled = rules->cmd->kind == COMMAND_SIGNAL_ORDER && rules->at == 0 &&
                     rules_index(rules, asked->step) == (int)index;
    RULE(rules, signalled, "step %u passes without a signal", index);
    if (!signalled)
        return;
    check_group(rules, index, asked->groups);
    struct text output = rules_without_null(rules->signal.output);
    RULE(rules, text_equal(event->output, output), "step %u passes with %.*s, not with %.*s", index,
         TEXT_ARG(event->output), TEXT_ARG(output));
    RULE(rules, text_equal(event->signal_id, asked->id) && text_equal(event->by, asked->by),
         "step %u passes with another signal", index);
    step->signals.count++;
    step->signals.newest = asked->id;
    rules->rare[RARE_SIGNAL_PASSES]++;
    rules->rare[RARE_SIGNAL_PASSES_GROUP] += !text_empty(rules->workflow->steps[index].await.from);
    rules->rare[RARE_SIGNAL_PASSES_PAUSED] += rules->paused;
    rules->rare[RARE_SIGNAL_PASSES_IN_ERROR] += rules->error;
    rules->rare[RARE_SIGNAL_PASSES_OVERDUE] += due != 0 && due <= rules->decision->decided_at;
}

void rules_early_taken(struct rules *rules, uint32_t index, const struct step_passed *event)
{
    struct rules_signals *signals = &rules->steps[index].signals;
    check_group(rules, index, signals->early_groups);
    RULE(rules, !text_empty(signals->early), "step %u takes a signal that it does not have", index);
    RULE(rules,
         text_equal(event->signal_id, signals->newest) && text_equal(event->by, signals->early_by),
         "step %u takes another signal than the one that came early", index);
    rules->rare[RARE_EARLY_TAKEN_GROUP] += !text_empty(rules->workflow->steps[index].await.from);
    signals->early = (struct text){0};
}

void rules_drop_signals(struct rules *rules, uint32_t index, bool all)
{
    struct rules_signals *signals = &rules->steps[index].signals;
    rules->rare[RARE_EARLY_DROPPED] += !text_empty(signals->early);
    signals->early = (struct text){0};
    if (all)
        *signals = (struct rules_signals){0};
}

/* ---- the wait ---- */

void rules_check_awaits(struct rules *rules, uint32_t index, const struct step_waiting *event)
{
    const struct workflow_step *plan = &rules->workflow->steps[index];
    struct text_list options = plan->await.options;
    bool same = event->options.count == options.count;
    for (uint32_t i = 0; i < options.count && same; i++)
        same = text_equal(event->options.items[i], options.items[i]);
    RULE(rules, same, "step %u asks for other options", index);
    RULE(rules, text_equal(event->group, plan->await.from), "step %u asks %.*s", index,
         TEXT_ARG(event->group));
    RULE(rules, text_empty(rules->steps[index].signals.early),
         "step %u waits although it has a signal", index);
    RULE(rules, event->due_at != 0 || rules->complete_by != 0,
         "step %u awaits a signal without a time limit", index);
    rules->rare[RARE_AWAITS_QUESTION] += !text_empty(event->question);
    rules->rare[RARE_AWAITS_AS_LONG_AS_THE_ORDER] += event->due_at == 0;
}

void rules_await_over(struct rules *rules, uint32_t index,
                      const struct step_failed_unstarted *event)
{
    const struct way *way = &rules->steps[index].ways[DIRECTION_DO];
    RULE(rules, !rules->paused && !rules->error && rules->phase == PHASE_FORWARD,
         "the time of step %u is over out of turn", index);
    RULE(rules, way->retry_at != 0 && way->retry_at <= rules->decision->decided_at,
         "the time of step %u is not over", index);
    RULE(rules, text_equal(event->error_name, TEXT("States.Timeout")), "step %u fails with %.*s",
         index, TEXT_ARG(event->error_name));
    RULE(rules, text_empty(event->by), "an operator failed step %u", index);
    rules->rare[RARE_AWAIT_TIMED_OUT]++;
    rules->rare[RARE_AWAIT_TIMED_OUT_PAUSED] += rules->cmd->kind == COMMAND_RESUME_ORDER;
}

bool rules_awaits_the_same(struct rules *rules, uint32_t index, uint32_t to)
{
    const struct workflow_step *plan = &rules->workflow->steps[index];
    const struct workflow_step *target = &rules->target->steps[to];
    const struct mappings *trees = rules_mappings(rules, rules->workflow, index);
    const struct mappings *others = rules_mappings(rules, rules->target, to);
    bool early = !text_empty(rules->steps[index].signals.early);
    bool waits = awaits_now(rules, index);
    if (!early && !waits)
        return true;
    bool same = text_equal(plan->await.from, target->await.from) &&
                plan->await.options.count == target->await.options.count;
    for (uint32_t i = 0; i < plan->await.options.count && same; i++)
        same = text_equal(plan->await.options.items[i], target->await.options.items[i]);
    if (early)
        return same && mappings_same_input(trees->until, others->until, rules->arena) &&
               mappings_same_input(trees->output, others->output, rules->arena);
    return same && (plan->timeout_ms == 0) == (target->timeout_ms == 0);
}
