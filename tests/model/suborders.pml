/* SPDX-License-Identifier: Apache-2.0 */
/* The protocol between an order and its sub-orders (docs/design/decisions/0018-suborders.md): one
 * parent with one ForEach step of at most two items and two generations, and a sub-order for each
 * item and generation. tests/model/test_suborders.py checks every reachable state, and that each of
 * the broken rules below is noticed. The parent's rules are in suborders_parent.pml, a sub-order's
 * in suborders_child.pml; this file has what they know, what may go wrong, and what must hold.
 *
 * Parent and sub-orders are on different partitions, so each has a log of its own. A decision is
 * one step. Its messages follow later: those of the parent are computed from its newest row when
 * they are emitted, target by target, in the order of its log, and a takeover emits a part of the
 * log again. A sub-order's reports depend on its decision alone, so they are sent with it. A
 * message may be lost, and a zombie may hold a copy of it: what it computed from an older row
 * arrives at any time. Between two orders messages keep their order; a copy does not.
 *
 * Time is not modelled, only what it makes possible: an ended order expires, and a submission grows
 * too old. Deadlines are due once nothing else can happen, because they are hours apart; `early`
 * lets them come sooner. A deadline that changes nothing is counted, and more than three in a row,
 * with no fault in between, are an error: so the search for a bad state also finds what would never
 * converge. */

#define ITEMS 2
#define CHILDREN 4 /* item + 2 * generation */
#define PLACES 3   /* messages on their way to one target */
#define EVENTS 4   /* of the parent's log that may be emitted again */
#define COPIES 2   /* that zombies hold */
#define VAIN 3     /* deadlines in a row that may change nothing */

/* ---- settings, from the environment ---- */

byte items;
byte together;    /* MaxConcurrency */
byte tolerated;   /* ToleratedFailureCount */
byte pivot;       /* 1: the step is the parent's pivot: nothing is recalled */
byte stops;       /* StopWhen is true */
byte finals;      /* sub-orders that have nothing to undo; from here on: how many in all */
byte failures;    /* sub-orders that fail and undo themselves, or are cancelled */
byte errors;      /* sub-orders in Error, from doing or undoing */
byte losses;
byte copies;
byte takeovers;
byte early;       /* deadlines that come while messages are on their way */
byte refusals;    /* of submissions, for a reason that stays */
byte expiries;    /* of sub-orders, and submissions that grow too old */
byte timeouts;    /* of the step */
byte cancels;     /* of the parent, also its compensation after the step is done */
byte resubmits;
byte hands;       /* reeve step fail --item */
byte again;       /* the parent expires, and its id is used again */
byte resets;      /* an operator skips the parent's end */
byte broken;      /* one of the rules below; 0: none */

/* Rules that may be broken. */
#define NEVER_ASKS 1
#define ASKS_WITHOUT_SUBMIT 2
#define ASKS_WITHOUT_SETTLE 3
#define SETTLES_BEFORE_IT_SUBMITS 4
#define SUPPRESSES_THE_SUBMIT_OF_A_RECALLED_ITEM 5
#define RECALLS_ONLY_HELD_ITEMS 6
#define RECALLS_ANY_GENERATION 7
#define REPORTS_COUNT_FOR_ANY_GENERATION 8
#define KEEPS_ANY_GENERATION 9
#define FORGETS_THE_ACCEPTED_OFFSET 10
#define ENDS_BEFORE_ITEMS_HAVE_ANSWERED 11
#define IGNORES_HELD_OF_A_FAILED_ITEM 12
#define KEEPS_ONLY_ONCE 13
#define KEEPS_FOR_ANY_END 14
#define UNKNOWN_ORDER_FAILS_A_SUBMITTED_ITEM 15
#define A_FAILED_UNDO_COUNTS_AS_UNDONE 16
#define UNKNOWN_PARENT_RAISES_NO_ALERT 17
#define HELD_IS_REPORTED_ONCE 18
#define HELD_MAY_BE_CANCELLED 19
#define NOTHING_IS_HELD 20
#define REPEATS_WITHOUT_A_REPORT 21
#define UNDO_OF_AN_ENDED_ORDER_WITHOUT_A_REPORT 22
#define UNDO_OF_AN_UNKNOWN_ORDER_WITHOUT_A_REPORT 23
#define ACCEPTS_AT_ANY_AGE 24
#define CHECKS_THE_AGE_FIRST 25
/* Rules as they were first written; the decision has the story of each. */
#define IGNORES_HELD_OF_AN_ITEM_TO_DO 26
#define UNDO_OF_ANY_UNKNOWN_ORDER_IS_REPORTED 27
#define AN_ID_IN_USE_IS_A_REFUSAL 28
#define REFUSES_FOR_A_REASON_THAT_PASSES 29
#define EMITS_FROM_A_LATER_ORDERS_ROW 30

mtype = {
    ABSENT, RUNNING, TROUBLED, HELD, UNDOING, STUCK, KEPT, FINAL, UNDONE, /* a sub-order */
    WORKING, COMPENSATING, PROCESSED, COMPENSATED, /* the parent; also ABSENT */
    RUNS, DONE, ERROR,                             /* its step; also UNDOING */
    TO_DO, SUBMITTED, FAILED,                       /* an item; also HELD, FINAL */
    SUBMIT, KEEP, UNDO, UNKNOWN,                   /* to a sub-order */
    REFUSED, UNKNOWN_ORDER,                        /* to the parent; also HELD, FINAL, FAILED */
    ASKED, RECALLED                                /* events; also SUBMITTED, PROCESSED */
};
c_decl {
    \#include <stdlib.h>
}
c_code {
    static unsigned char setting(const char *name, unsigned char otherwise)
    {
        const char *value = getenv(name);
        return value != NULL ? (unsigned char)atoi(value) : otherwise;
    }
}

/* ---- the parent ---- */

/* Which parent it is: 1 or 2, a bit. It stands for (order id, accepted_offset): the second one has
 * the id of the first. */
typedef parent_row {
    mtype state = ABSENT;
    byte number;
    mtype step = TO_DO;
    byte generation;
    mtype item[ITEMS] = TO_DO;
    byte item_generation[ITEMS]; /* in which it was submitted */
    bit recalled;
    bit stopped; /* no further item starts */
    bit spoiled  /* an undo failed: Error, and an alert */
}
parent_row p;

typedef event {
    mtype kind;
    byte of_parent; /* its number */
    byte generation;
    byte items /* of SUBMITTED, as bits */
}
event log[EVENTS];
byte end;            /* of the log */
byte emitted[ITEMS]; /* each item's target has its own place in the log */

/* ---- sub-orders ---- */

typedef suborder_row {
    mtype state = ABSENT;
    byte whose;   /* its parent's number */
    bit alerted  /* ParentUnknown */
}
suborder_row s[CHILDREN];

/* What an order never knows: for each sub-order, by the parents' numbers. */
typedef history {
    byte arrived;  /* its first Submit */
    byte started;
    byte old;      /* submitted 7 days ago */
    byte refused;  /* for a reason that stays */
    byte released; /* held when the parent was Processed */
    byte hand;     /* failed by an operator */
    mtype was = ABSENT /* before it expired */
}
history h[CHILDREN];

chan to_child[CHILDREN] = [PLACES] of {mtype, byte, byte, bit};
/* parent, generation of the event behind it, and of an undo: the parent knows that it is held */
chan to_parent[CHILDREN] = [PLACES] of {mtype, byte}; /* parent */

typedef copy {
    mtype kind;
    byte child;
    bit up; /* to the parent */
    byte by;
    byte generation;
    bit known
}
copy late[COPIES];

bit lost;    /* a message was */
byte vain;   /* deadlines that changed nothing */
byte i, failed, open, todo, mask; /* scratch: always zero between two steps */
byte from, why;
bit known;
mtype what = ABSENT;

#define ITEM(c) ((c) & 1)
#define GENERATION(c) ((c) >> 1)
#define CHILD(item, generation) ((item) + 2 * (generation))

#define HAS_ENDED(c) (s[c].state == KEPT || s[c].state == FINAL || s[c].state == UNDONE)
#define ENDED(order) (order.state == PROCESSED || order.state == COMPENSATED)
#define IS_CURRENT(c) (p.item_generation[ITEM(c)] == GENERATION(c))
#define UNANSWERED(n) (p.item[n] == SUBMITTED || (p.item[n] == HELD && p.recalled))
#define IS_OPEN (UNANSWERED(0) || UNANSWERED(1))

inline progress()
{
    vain = 0
}

inline clear_scratch()
{
    i = 0; failed = 0; open = 0; todo = 0; mask = 0
}

#include "suborders_parent.pml"
#include "suborders_child.pml"

/* ---- faults ---- */

inline clear_late(n)
{
    late[n].kind = 0; late[n].child = 0; late[n].up = 0;
    late[n].by = 0; late[n].generation = 0; late[n].known = 0
}

#define FREE (late[0].kind == 0 -> 0 : 1)

inline copy_down(c)
{
    copies--;
    i = FREE;
    to_child[c]?<what, from, why, known>;
    late[i].kind = what; late[i].child = c; late[i].up = 0;
    late[i].by = from; late[i].generation = why; late[i].known = known;
    what = ABSENT; from = 0; why = 0; known = 0; i = 0
}

inline copy_up(c)
{
    copies--;
    i = FREE;
    to_parent[c]?<what, from>;
    late[i].kind = what; late[i].child = c; late[i].up = 1; late[i].by = from;
    what = ABSENT; from = 0; i = 0
}

inline lose_down(c)
{
    losses--; lost = 1; progress();
    to_child[c]?what, from, why, known;
    what = ABSENT; from = 0; why = 0; known = 0
}

inline lose_up(c)
{
    losses--; lost = 1; progress();
    to_parent[c]?what, from;
    what = ABSENT; from = 0
}

/* ---- rest ---- */

#define NO_MESSAGE \
    (empty(to_child[0]) && empty(to_child[1]) && empty(to_child[2]) && empty(to_child[3]) && \
     empty(to_parent[0]) && empty(to_parent[1]) && empty(to_parent[2]) && empty(to_parent[3]))
#define IS_RECALLED(c) \
    (p.state != ABSENT && p.number == s[c].whose && IS_CURRENT(c) && UNANSWERED(ITEM(c)) && \
     p.recalled)
#define OUTLIVES_ITS_PARENT(c) \
    (HAS_ENDED(c) && p.state != ABSENT && s[c].whose != p.number)
/* Something else happens to it before a deadline does; in Error a person acts, or a recall. */
#define IS_BUSY(c) \
    (s[c].state == RUNNING || s[c].state == UNDOING || s[c].state == STUCK || s[c].alerted || \
     (s[c].state == TROUBLED && !IS_RECALLED(c)) || OUTLIVES_ITS_PARENT(c))
#define QUIET \
    (NO_MESSAGE && emitted[0] == end && emitted[1] == end && !IS_BUSY(0) && !IS_BUSY(1) && \
     !IS_BUSY(2) && !IS_BUSY(3))
/* The parent has it down as held, and has not ended. */
#define MAY_STAY_HELD(c) \
    (p.state != ABSENT && p.number == s[c].whose && !ENDED(p) && IS_CURRENT(c) && \
     p.item[ITEM(c)] == HELD)
#define WAITS(c) (s[c].state == HELD && !s[c].alerted && !MAY_STAY_HELD(c))
#define NOTHING_COMES_TWICE \
    (takeovers == 0 && copies == 0 && late[0].kind == 0 && late[1].kind == 0)
#define NONE_WAITS (!WAITS(0) && !WAITS(1) && !WAITS(2) && !WAITS(3))
#define AT_REST (QUIET && (ENDED(p) || p.state == ABSENT) && NONE_WAITS)

/* An ask does not count while a sub-order also has a deadline: that one comes as well. */
inline count_deadline(counts)
{
    vain = vain + (counts -> 1 : 0);
    assert(vain <= VAIN) /* it converges */
}

#define END_OF(c) (s[c].state == ABSENT -> h[c].was : s[c].state)
#define IS_OURS(c) \
    ((h[c].started & p.number) && (s[c].state == ABSENT || s[c].whose == p.number))
/* An operator has failed the item, or its sub-order may have run and expired (TooOld). */
#define IS_EXCUSED(c) \
    (((h[c].hand & p.number) || (s[c].state == ABSENT && (h[c].old & p.number))) && \
     END_OF(c) == FINAL)

/* I20: the outcome of an item is the end of its sub-order. */
inline check_item(c)
{
    if
    :: IS_OURS(c) && IS_CURRENT(c) && p.item[ITEM(c)] == HELD ->
        assert(p.state == PROCESSED && END_OF(c) == KEPT)
    :: IS_OURS(c) && IS_CURRENT(c) && p.item[ITEM(c)] == FINAL ->
        assert(END_OF(c) == FINAL || (p.spoiled && END_OF(c) == KEPT))
    :: IS_OURS(c) && (!IS_CURRENT(c) || p.item[ITEM(c)] == FAILED || p.item[ITEM(c)] == TO_DO) ->
        assert(END_OF(c) == UNDONE || IS_EXCUSED(c) || s[c].state == TROUBLED || p.spoiled)
    :: !IS_OURS(c) && IS_CURRENT(c) && ITEM(c) < items ->
        assert(p.item[ITEM(c)] == FAILED || p.item[ITEM(c)] == TO_DO)
    :: else
    fi;
    assert(!(p.state == COMPENSATED && IS_OURS(c) && END_OF(c) == KEPT) || p.spoiled)
}

/* I21. */
inline check_rest()
{
    assert(s[0].state != HELD && s[1].state != HELD && s[2].state != HELD && s[3].state != HELD);
    if
    :: p.state != ABSENT ->
        check_item(0); check_item(1); check_item(2); check_item(3)
    :: else
    fi
}

/* ---- everything that may happen ---- */

inline settings()
{
    c_code {
        now.items = setting("items", 1);
        now.together = setting("together", 2);
        now.tolerated = setting("tolerated", 0);
        now.pivot = setting("pivot", 0);
        now.stops = setting("stops", 0);
        now.finals = setting("finals", 0);
        now.failures = setting("failures", 0);
        now.errors = setting("errors", 0);
        now.losses = setting("losses", 0);
        now.copies = setting("copies", 0);
        now.takeovers = setting("takeovers", 0);
        now.early = setting("early", 0);
        now.refusals = setting("refusals", 0);
        now.expiries = setting("expiries", 0);
        now.timeouts = setting("timeouts", 0);
        now.cancels = setting("cancels", 0);
        now.resubmits = setting("resubmits", 0);
        now.hands = setting("hands", 0);
        now.again = setting("again", 0);
        now.resets = setting("resets", 0);
        now.broken = setting("broken", 0);
    }
}

#define STEP_RUNS (p.step == RUNS || p.step == UNDOING)
#define HAS_APPLIED \
    (p.item[0] == HELD || p.item[1] == HELD || p.item[0] == FINAL || p.item[1] == FINAL)

/* The parent's partition: its owner decides, an operator and a supervisor ask. */
proctype parent()
{
    do
    :: d_step { p.state == ABSENT && p.number == 0 -> begin_parent(1) }
    /* Asks and time limits. */
    :: d_step { STEP_RUNS && IS_OPEN && QUIET && LOG_HAS_ROOM && !ENDED(p) &&
                broken != NEVER_ASKS ->
        count_deadline(NONE_WAITS); append(ASKED, 0);
        lost = (NOTHING_COMES_TWICE -> 0 : lost) }
    :: d_step { STEP_RUNS && IS_OPEN && early > 0 && LOG_HAS_ROOM && !ENDED(p) ->
        early--; append(ASKED, 0) }
    :: d_step { timeouts > 0 && p.state == WORKING && p.step == RUNS && !p.recalled && !pivot &&
                LOG_HAS_ROOM ->
        timeouts--; progress(); recall(); go_on() }
    :: d_step { stops > 0 && MAY_SUBMIT && LOG_HAS_ROOM ->
        stops--; p.stopped = 1; progress(); go_on() }
    /* The order goes on, is undone, or an operator takes a step that failed further. */
    :: d_step { p.state == WORKING && p.step == DONE && LOG_HAS_ROOM ->
        progress(); process_parent() }
    :: d_step { cancels > 0 && p.state == WORKING && p.step == DONE && !pivot && LOG_HAS_ROOM ->
        cancels--; progress(); undo_step() }
    :: d_step { cancels > 0 && p.state == WORKING && p.step == RUNS && !pivot && LOG_HAS_ROOM ->
        cancels--; progress(); cancel_parent() }
    :: d_step { p.step == ERROR && p.state == WORKING && !(pivot && HAS_APPLIED) ->
        p.step = DONE; p.state = COMPENSATED; progress(); check_compensated() }
    :: d_step { p.step == ERROR && p.state == COMPENSATING ->
        p.step = DONE; p.state = COMPENSATED; progress() }
    :: d_step { p.step == ERROR && p.state == WORKING && LOG_HAS_ROOM -> /* or caught */
        p.step = DONE; progress() }
    :: d_step { resubmits > 0 && p.step == ERROR && p.state == WORKING && !p.spoiled &&
                p.generation == 0 && LOG_HAS_ROOM ->
        resubmits--; progress(); resubmit() }
    /* Its end is forgotten. */
    :: d_step { again > 0 && ENDED(p) ->
        again--; progress(); expire_parent() }
    :: d_step { p.state == ABSENT && p.number == 1 -> progress(); begin_parent(2) }
    :: d_step { resets > 0 && p.state == PROCESSED -> progress(); skip_the_end() }
    :: d_step { AT_REST -> check_rest() }
    od
}

/* What happens to one item's target. */
proctype target(byte n)
{
    byte to; /* where a takeover begins */
    do
    :: d_step { emitted[n] < end && len(to_child[n]) + 1 < PLACES &&
                len(to_child[n + 2]) + 1 < PLACES -> emit(n) }
    :: d_step { hands > 0 && !ENDED(p) && STEP_RUNS && UNANSWERED(n) && LOG_HAS_ROOM ->
        hands--;
        h[CHILD(n, p.item_generation[n])].hand = h[CHILD(n, p.item_generation[n])].hand | p.number;
        p.item[n] = FAILED; progress(); go_on() }
    :: atomic { takeovers > 0 && emitted[n] > 0 ->
        to = 0;
        do
        :: to + 1 < emitted[n] -> to++
        :: break
        od;
        takeovers--; progress();
        emitted[n] = to;
        emitted[1 - n] = (emitted[1 - n] > to && items > 1 -> to : emitted[1 - n]);
        to = 0 }
    od
}

/* A sub-order, and the messages between it and its parent. */
proctype suborder(byte c)
{
    do
    :: d_step { nempty(to_child[c]) && nfull(to_parent[c]) ->
        to_child[c]?what, from, why, known; take_message(c) }
    :: d_step { nempty(to_parent[c]) ->
        to_parent[c]?what, from; take_report(c) }
    :: d_step { nempty(to_child[c]) && losses > 0 -> lose_down(c) }
    :: d_step { nempty(to_parent[c]) && losses > 0 -> lose_up(c) }
    :: d_step { nempty(to_child[c]) && copies > 0 && late[FREE].kind == 0 -> copy_down(c) }
    :: d_step { nempty(to_parent[c]) && copies > 0 && late[FREE].kind == 0 -> copy_up(c) }
    /* Its own end. */
    :: d_step { s[c].state == RUNNING && nfull(to_parent[c]) ->
        finish(c, (broken == NOTHING_IS_HELD -> KEPT : HELD)) }
    :: d_step { s[c].state == RUNNING && finals > 0 && nfull(to_parent[c]) ->
        finals--; finish(c, FINAL) }
    :: d_step { s[c].state == RUNNING && failures > 0 ->
        failures--; s[c].state = UNDOING; progress() }
    :: d_step { s[c].state == HELD && broken == HELD_MAY_BE_CANCELLED ->
        s[c].state = UNDOING; progress() }
    :: d_step { s[c].state == UNDOING && nfull(to_parent[c]) -> finish(c, UNDONE) }
    /* Error, and the person who repairs it. */
    :: d_step { s[c].state == RUNNING && errors > 0 ->
        errors--; s[c].state = TROUBLED; progress() }
    :: d_step { s[c].state == UNDOING && errors > 0 -> errors--; s[c].state = STUCK; progress() }
    :: d_step { s[c].state == TROUBLED -> s[c].state = RUNNING; progress() }
    :: d_step { s[c].state == STUCK && nfull(to_parent[c]) -> finish(c, UNDONE) }
    :: d_step { s[c].state == HELD && s[c].alerted ->
        s[c].alerted = 0; s[c].state = KEPT; progress() }
    :: d_step { s[c].state == HELD && s[c].alerted ->
        s[c].alerted = 0; s[c].state = UNDOING; progress() }
    /* Its deadline. */
    :: d_step { WAITS(c) && QUIET && broken != HELD_IS_REPORTED_ONCE ->
        count_deadline(1); report(c, HELD, s[c].whose) }
    :: d_step { s[c].state == HELD && early > 0 && nfull(to_parent[c]) ->
        early--; report(c, HELD, s[c].whose) }
    /* Time passes. */
    :: d_step { HAS_ENDED(c) && expiries > 0 -> expiries--; expire(c) }
    :: d_step { OUTLIVES_ITS_PARENT(c) && expiries == 0 -> expire(c) }
    :: d_step { expiries > 0 && p.state != ABSENT && IS_CURRENT(c) &&
                p.item[ITEM(c)] == SUBMITTED && !(h[c].old & p.number) ->
        expiries--; h[c].old = h[c].old | p.number; progress() }
    :: d_step { refusals > 0 && s[c].state == ABSENT && p.state != ABSENT && IS_CURRENT(c) &&
                p.item[ITEM(c)] == SUBMITTED && !(h[c].started & p.number) &&
                !(h[c].refused & p.number) ->
        refusals--; h[c].refused = h[c].refused | p.number; progress() }
    :: d_step { broken == REFUSES_FOR_A_REASON_THAT_PASSES && refusals > 0 &&
                s[c].state == ABSENT && nfull(to_parent[c]) && to_child[c]?[SUBMIT, 1, 0, 0] ->
        refusals--; to_child[c]?what, from, why, known; h[c].arrived = h[c].arrived | from;
        report(c, REFUSED, from);
        what = ABSENT; from = 0; why = 0; known = 0 }
    od
}

/* What a zombie holds arrives. */
proctype zombie(byte n)
{
    byte c;
    do
    :: atomic { late[n].kind != 0 && !late[n].up && nfull(to_parent[late[n].child]) ->
        d_step {
            c = late[n].child; what = late[n].kind; from = late[n].by;
            why = late[n].generation; known = late[n].known;
            clear_late(n); progress();
            take_message(c);
            c = 0
        } }
    :: atomic { late[n].kind != 0 && late[n].up ->
        d_step {
            c = late[n].child; what = late[n].kind; from = late[n].by;
            clear_late(n); progress();
            take_report(c);
            c = 0
        } }
    od
}

init {
    d_step { settings(); assert(items <= ITEMS && items > 0) }
    atomic {
        run parent(); run target(0); run suborder(0);
        if
        :: items > 1 -> run target(1); run suborder(1)
        :: else
        fi;
        if
        :: resubmits > 0 -> run suborder(2)
        :: else
        fi;
        if
        :: resubmits > 0 && items > 1 -> run suborder(3)
        :: else
        fi;
        if
        :: copies > 0 -> run zombie(0)
        :: else
        fi;
        if
        :: copies > 1 -> run zombie(1)
        :: else
        fi
    }
}
