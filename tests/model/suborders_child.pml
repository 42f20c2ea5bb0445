/* SPDX-License-Identifier: Apache-2.0 */
/* What a sub-order of suborders.pml does with a message. */

/* ---- a sub-order decides ---- */

inline report(c, outcome, number)
{
    to_parent[c]!outcome, number
}

inline report_end(c)
{
    if
    :: s[c].state == HELD -> report(c, HELD, from)
    :: s[c].state == KEPT || s[c].state == FINAL -> report(c, FINAL, from)
    :: s[c].state == UNDONE -> report(c, FAILED, from)
    :: else
    fi
}

inline start(c)
{
    assert(!(h[c].started & from)); /* I19: once in a generation */
    h[c].started = h[c].started | from; h[c].was = ABSENT;
    s[c].state = RUNNING; s[c].whose = from;
    progress()
}

#define IS_TOO_OLD(c) ((h[c].old & from) && broken != ACCEPTS_AT_ANY_AGE)
#define IS_CONTENT_OF(c) (s[c].whose == from || broken == FORGETS_THE_ACCEPTED_OFFSET)

/* 4.3, SubmitOrder. */
inline take_submit(c)
{
    h[c].arrived = h[c].arrived | from;
    if
    :: s[c].state != ABSENT && broken == CHECKS_THE_AGE_FIRST && IS_TOO_OLD(c) ->
        report(c, REFUSED, from)
    :: s[c].state != ABSENT && !IS_CONTENT_OF(c) -> /* ContentDiffers: until that one expires */
        if
        :: broken == AN_ID_IN_USE_IS_A_REFUSAL -> report(c, REFUSED, from)
        :: else
        fi
    :: s[c].state != ABSENT && IS_CONTENT_OF(c) ->
        if
        :: broken != REPEATS_WITHOUT_A_REPORT -> report_end(c)
        :: else
        fi
    :: s[c].state == ABSENT && (IS_TOO_OLD(c) || (h[c].refused & from)) -> report(c, REFUSED, from)
    :: else -> start(c)
    fi
}

inline undo_by_parent(c)
{
    /* I9, 4.4: what the parent keeps is not undone, and what it does not recall neither. */
    assert(!(h[c].released & from));
    assert(p.number != from || p.state == ABSENT || p.recalled || !IS_CURRENT(c) ||
           p.item[ITEM(c)] == FAILED || p.item[ITEM(c)] == TO_DO);
    s[c].state = UNDOING;
    progress()
}

inline take_undo(c)
{
    if
    :: s[c].state == ABSENT ->
        /* Without a loss no Settle arrives before its Submit; an ask sends the Submit again. */
        assert(lost || (h[c].arrived & from));
        if
        :: (known || broken == UNDO_OF_ANY_UNKNOWN_ORDER_IS_REPORTED ||
            broken == UNKNOWN_ORDER_FAILS_A_SUBMITTED_ITEM) &&
               broken != UNDO_OF_AN_UNKNOWN_ORDER_WITHOUT_A_REPORT ->
            report(c, UNKNOWN_ORDER, from)
        :: else
        fi
    :: s[c].state != ABSENT && !IS_CONTENT_OF(c) -> skip /* NotItsParent */
    :: IS_CONTENT_OF(c) &&
           (s[c].state == RUNNING || s[c].state == TROUBLED || s[c].state == HELD) ->
        undo_by_parent(c)
    :: IS_CONTENT_OF(c) && HAS_ENDED(c) && broken != UNDO_OF_AN_ENDED_ORDER_WITHOUT_A_REPORT ->
        report_end(c)
    :: else
    fi
}

/* 4.3, SettleSuborder. */
inline take_settle(c)
{
    /* I26: a generation's Settle reaches no later one. */
    assert(why >= GENERATION(c));
    if
    :: what == UNDO -> take_undo(c)
    :: what == KEEP && s[c].state == HELD && IS_CONTENT_OF(c) -> s[c].state = KEPT; progress()
    :: what == UNKNOWN && s[c].state == HELD && IS_CONTENT_OF(c) -> s[c].alerted = 1; progress()
    :: else
    fi
}

inline take_message(c)
{
    if
    :: what == SUBMIT -> take_submit(c)
    :: else -> take_settle(c)
    fi;
    what = ABSENT; from = 0; why = 0; known = 0
}

inline finish(c, as)
{
    s[c].state = as;
    from = s[c].whose;
    report_end(c);
    from = 0;
    progress()
}

inline expire(c)
{
    h[c].was = s[c].state; h[c].old = h[c].old | s[c].whose;
    s[c].state = ABSENT; s[c].whose = 0; s[c].alerted = 0;
    progress()
}
