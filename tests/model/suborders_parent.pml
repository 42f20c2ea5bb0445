/* SPDX-License-Identifier: Apache-2.0 */
/* What the parent of suborders.pml decides, how it takes a report, and what its emitter sends. */

/* ---- the parent decides ---- */

#define LOG_HAS_ROOM (end < EVENTS || (emitted[0] > 0 && emitted[1] > 0))

/* What every target has been sent, and no takeover will send again, leaves; so does what could not
 * be sent for too long. */
inline shift_log()
{
    mask = 0;
    do
    :: mask < EVENTS - 1 ->
        log[mask].kind = log[mask + 1].kind; log[mask].generation = log[mask + 1].generation;
        log[mask].items = log[mask + 1].items;
        log[mask].of_parent = log[mask + 1].of_parent; mask++
    :: else -> break
    od;
    mask = 0;
    log[EVENTS - 1].kind = 0; log[EVENTS - 1].generation = 0; log[EVENTS - 1].items = 0;
    log[EVENTS - 1].of_parent = 0;
    end--;
    lost = (emitted[0] == 0 || emitted[1] == 0 -> 1 : lost);
    emitted[0] = (emitted[0] > 0 -> emitted[0] - 1 : 0);
    emitted[1] = (emitted[1] > 0 -> emitted[1] - 1 : 0)
}

inline append(event_kind, which)
{
    if
    :: end == EVENTS -> todo = which; shift_log(); log[end].items = todo; todo = 0
    :: else -> log[end].items = which
    fi;
    log[end].kind = event_kind; log[end].generation = p.generation;
    log[end].of_parent = p.number;
    end++;
    emitted[1] = (items == 1 -> end : emitted[1]);
    mask = 0
}

inline tally()
{
    clear_scratch();
    do
    :: i < items ->
        if
        :: p.item[i] == FAILED -> failed++
        :: p.item[i] == TO_DO -> todo++
        :: UNANSWERED(i) -> open++
        :: else
        fi;
        i++
    :: else -> break
    od
}

#define MAY_SUBMIT (p.state == WORKING && p.step == RUNS && !p.recalled && !p.stopped)

/* 4.4, Submit: what may go goes. */
inline submit_more()
{
    tally();
    i = 0;
    do
    :: i < items ->
        if
        :: MAY_SUBMIT && p.item[i] == TO_DO && open < together ->
            p.item[i] = SUBMITTED; p.item_generation[i] = p.generation;
            mask = mask | (1 << i); open++
        :: else
        fi;
        i++
    :: else -> break
    od;
    if
    :: mask > 0 -> append(SUBMITTED, mask)
    :: else
    fi;
    clear_scratch()
}

/* 4.4, Recall, in both directions. */
inline recall()
{
    p.recalled = 1;
    tally();
    if
    :: open > 0 -> append(RECALLED, 0)
    :: else
    fi;
    clear_scratch()
}

/* I9: once an order is Compensated, no sub-order of it acts any more. */
inline check_compensated()
{
    i = 0;
    do
    :: i < CHILDREN ->
        assert(!(h[i].started & p.number) || (h[i].hand & p.number) || s[i].whose != p.number ||
               s[i].state == ABSENT || s[i].state == UNDONE || s[i].state == FINAL || p.spoiled);
        i++
    :: else -> break
    od;
    i = 0
}

inline end_step()
{
    if
    :: p.spoiled || (p.state == WORKING && (p.recalled || failed > tolerated)) -> p.step = ERROR
    :: !p.spoiled && p.state == COMPENSATING -> p.state = COMPENSATED; check_compensated()
    :: else -> p.step = DONE
    fi;
    clear_scratch()
}

/* 4.4, after SuborderEnded, and whenever something else has changed. */
inline go_on()
{
    tally();
    if
    :: p.step == RUNS && failed > tolerated && !p.recalled && pivot -> p.stopped = 1
    :: p.step == RUNS && failed > tolerated && !p.recalled && !pivot -> recall()
    :: else
    fi;
    submit_more();
    tally();
    if
    :: (p.step == RUNS || p.step == UNDOING) &&
           (open == 0 || broken == ENDS_BEFORE_ITEMS_HAVE_ANSWERED && p.recalled) &&
           (todo == 0 || !MAY_SUBMIT) ->
        end_step()
    :: else -> clear_scratch()
    fi
}

inline begin_parent(which)
{
    p.state = WORKING; p.number = which; p.step = RUNS; p.generation = 0;
    p.item[0] = TO_DO; p.item[1] = TO_DO; p.item_generation[0] = 0; p.item_generation[1] = 0;
    p.recalled = 0; p.stopped = 0; p.spoiled = 0;
    submit_more()
}

inline expire_parent()
{
    p.state = ABSENT; p.step = TO_DO; p.generation = 0;
    p.item[0] = TO_DO; p.item[1] = TO_DO; p.item_generation[0] = 0; p.item_generation[1] = 0;
    p.recalled = 0; p.stopped = 0; p.spoiled = 0;
    i = 0;
    do
    :: i < CHILDREN -> h[i].old = h[i].old | p.number; i++
    :: else -> break
    od;
    i = 0
}

/* 4.4, Release. */
inline process_parent()
{
    p.state = PROCESSED;
    i = 0;
    do
    :: i < items ->
        if
        :: p.item[i] == HELD ->
            h[CHILD(i, p.item_generation[i])].released =
                h[CHILD(i, p.item_generation[i])].released | p.number
        :: else
        fi;
        i++
    :: else -> break
    od;
    i = 0;
    append(PROCESSED, 0)
}

/* 4.4, Undo: the step is done, and its turn has come. */
inline undo_step()
{
    p.state = COMPENSATING; p.step = UNDOING;
    recall();
    go_on()
}

/* A cancel, or the order's time-out, while sub-orders run. */
inline cancel_parent()
{
    p.state = COMPENSATING;
    recall();
    go_on()
}

inline resubmit()
{
    p.generation++; p.recalled = 0; p.stopped = 0; p.step = RUNS;
    i = 0;
    do
    :: i < items ->
        if
        :: p.item[i] == FAILED -> p.item[i] = TO_DO
        :: else
        fi;
        i++
    :: else -> break
    od;
    i = 0;
    go_on()
}

inline skip_the_end()
{
    resets--;
    p.state = WORKING;
    i = 0;
    do
    :: i < CHILDREN -> h[i].released = 0; i++
    :: else -> break
    od;
    i = 0;
    do
    :: i < end && log[i].kind != PROCESSED -> i++
    :: else -> break
    od;
    do
    :: i < end -> log[i].kind = 0; i++ /* the last event: it is replaced by none */
    :: else -> break
    od;
    i = 0
}

/* ---- reports ---- */

/* An answer to a target that takes nothing for too long is lost. */
inline settle(c, how, number)
{
    if
    :: nfull(to_child[c]) -> to_child[c]!how, number, GENERATION(c), 0
    :: full(to_child[c]) -> lost = 1; progress()
    fi
}

inline end_item(c, outcome)
{
    assert(p.number == from); /* it is an item of this parent */
    p.item[ITEM(c)] = outcome;
    progress();
    go_on()
}

#define IS_FROM_OURS(which) \
    (p.state != ABSENT && (p.number == which || broken == FORGETS_THE_ACCEPTED_OFFSET))

/* A held sub-order hears from its parent, or the parent has it down as held. */
inline answer_held(c, how)
{
    if
    :: how == KEEP && broken == KEEPS_ONLY_ONCE -> skip
    :: how == UNKNOWN && broken == UNKNOWN_PARENT_RAISES_NO_ALERT -> skip
    :: else -> settle(c, how, from)
    fi
}

inline take_report_of_item(c)
{
    if
    :: (what == FAILED || what == REFUSED) && p.item[ITEM(c)] == SUBMITTED -> end_item(c, FAILED)
    :: what == UNKNOWN_ORDER && p.item[ITEM(c)] == SUBMITTED &&
           broken == UNKNOWN_ORDER_FAILS_A_SUBMITTED_ITEM ->
        end_item(c, FAILED)
    :: (what == HELD || what == FINAL) && p.item[ITEM(c)] == SUBMITTED -> end_item(c, what)
    :: what == FAILED && p.item[ITEM(c)] == HELD -> end_item(c, FAILED)
    :: what == FINAL && p.item[ITEM(c)] == HELD ->
        p.spoiled = (broken != A_FAILED_UNDO_COUNTS_AS_UNDONE);
        end_item(c, FINAL)
    :: what == UNKNOWN_ORDER && p.item[ITEM(c)] == HELD ->
        /* An alert asks a person to undo it by hand: nothing else may undo it. */
        assert(s[c].state == ABSENT);
        p.spoiled = 1;
        end_item(c, FAILED)
    :: what == HELD && p.item[ITEM(c)] == FAILED && broken != IGNORES_HELD_OF_A_FAILED_ITEM ->
        answer_held(c, UNDO)
    :: what == HELD && p.item[ITEM(c)] == TO_DO && broken != IGNORES_HELD_OF_AN_ITEM_TO_DO ->
        answer_held(c, UNDO)
    :: else
    fi
}

#define IS_AN_ITEM_OF_ITS_GENERATION(c) \
    (IS_CURRENT(c) || broken == REPORTS_COUNT_FOR_ANY_GENERATION)

/* 4.4: by the state of the item. */
inline take_report(c)
{
    if
    :: !IS_FROM_OURS(from) && what == HELD -> answer_held(c, UNKNOWN)
    :: IS_FROM_OURS(from) && ENDED(p) && what == HELD ->
        if
        :: p.state == PROCESSED && p.item[ITEM(c)] == HELD &&
               (IS_CURRENT(c) || broken == KEEPS_ANY_GENERATION) ->
            answer_held(c, KEEP)
        :: broken == KEEPS_FOR_ANY_END -> answer_held(c, KEEP)
        :: else -> answer_held(c, UNDO)
        fi
    :: IS_FROM_OURS(from) && !ENDED(p) && IS_AN_ITEM_OF_ITS_GENERATION(c) -> take_report_of_item(c)
    :: IS_FROM_OURS(from) && !ENDED(p) && !IS_AN_ITEM_OF_ITS_GENERATION(c) && what == HELD ->
        answer_held(c, UNDO)
    :: else
    fi;
    what = ABSENT; from = 0
}

/* ---- the parent's emitter ---- */

#define IS_RECALLABLE(n) \
    (p.item[n] == HELD || (p.item[n] == SUBMITTED && broken != RECALLS_ONLY_HELD_ITEMS))
#define SUBMITS(n) \
    (p.item[n] == SUBMITTED && p.item_generation[n] == log[emitted[n]].generation && \
     !(p.recalled && broken == SUPPRESSES_THE_SUBMIT_OF_A_RECALLED_ITEM))
#define SETTLES(n) \
    (IS_RECALLABLE(n) && (p.item_generation[n] <= log[emitted[n]].generation || \
                          broken == RECALLS_ANY_GENERATION))

inline emit_submit(n)
{
    to_child[CHILD(n, p.item_generation[n])]!SUBMIT, p.number, log[emitted[n]].generation, 0
}

inline emit_settle(n, how)
{
    to_child[CHILD(n, p.item_generation[n])]!how, p.number, log[emitted[n]].generation,
        (p.item[n] == HELD)
}

inline emit_ask(n)
{
    if
    :: SETTLES(n) && p.recalled && broken == SETTLES_BEFORE_IT_SUBMITS -> emit_settle(n, UNDO)
    :: else
    fi;
    if
    :: SUBMITS(n) && broken != ASKS_WITHOUT_SUBMIT -> emit_submit(n)
    :: else
    fi;
    if
    :: SETTLES(n) && p.recalled && broken != SETTLES_BEFORE_IT_SUBMITS &&
           broken != ASKS_WITHOUT_SETTLE -> emit_settle(n, UNDO)
    :: else
    fi
}

#define ROW_IS_GONE(n) \
    (p.state == ABSENT || (log[emitted[n]].of_parent != p.number && \
                           broken != EMITS_FROM_A_LATER_ORDERS_ROW))
#define EMITS(n, event_kind) (!ROW_IS_GONE(n) && log[emitted[n]].kind == event_kind)

/* 4.5: the messages of an event to one item, from the newest row; a row that is gone sends none. */
inline emit(n)
{
    if
    :: EMITS(n, SUBMITTED) && ((log[emitted[n]].items >> n) & 1) && SUBMITS(n) -> emit_submit(n)
    :: EMITS(n, ASKED) -> emit_ask(n)
    :: EMITS(n, RECALLED) && SETTLES(n) -> emit_settle(n, UNDO)
    :: EMITS(n, PROCESSED) && p.item[n] == HELD -> emit_settle(n, KEEP)
    :: else
    fi;
    emitted[n]++;
    if
    :: takeovers == 0 && emitted[0] > 0 && emitted[1] > 0 -> shift_log()
    :: else
    fi
}
