/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of a log that its owner trims (docs/design/decisions/0009-trimming-the-log.md): one
 * partition, its owners and zombies, one reader at any position, an archive, an operator.
 * tests/model/test_bounded_log.py checks every reachable state, and that each of the broken rules
 * below is noticed.
 *
 * A position counts from 1; 0 is before the log, and stands for none. The array `t` is the truth:
 * what the log says up to each position, whether or not the records are still there. An owner knows
 * it when it claims; the reader finds out for itself and is compared with it. An owner lives once:
 * one that gives up and claims again is the next owner. What it has sent may arrive at any time,
 * also after its end; an acknowledgement may come late or never. A reader that crashes and comes
 * back with an older store is the same as a slow reader, and one that loses its store is the same
 * as one that begins now. */

#define LAST 9      /* positions of the log */
#define OWNERS 3
#define ORDERS 2
#define PIPELINE 2  /* records of an owner that are sent and not acknowledged */

/* ---- settings, from the environment ---- */

byte owners;       /* claims, at most OWNERS */
byte positions;    /* of the log, at most LAST */
byte orders;
byte decisions;    /* from here on: how many in all */
byte statements;
byte continuations;
byte deletions;
byte expiries;     /* Decisions that end the life of an order */
byte archives;     /* 1: a group in events.trim.groups */
byte flushes;      /* 1: owners' stores are written behind */
byte failovers;    /* a new leader may not know of the last deletion */
byte losses;       /* the last record is lost (unclean election) */
byte resets;       /* an operator skips a part of the log */
byte broken;       /* one of the rules below; 0: none */

/* Rules that may be broken. */
#define DELETES_AFTER_ONE_ACKNOWLEDGEMENT 1
#define TRIMS_PAST_A_STATEMENT 2
#define TRIMS_PAST_EMITTED_THROUGH 3
#define TRIMS_PAST_A_GROUP 4
#define TRIMS_PAST_THE_FLUSH 5
#define TRIMS_TO_ANY_RECORD 6
#define TRIMS_TO_A_ZOMBIES_CONTINUATION 7
#define IGNORES_GAPS 8          /* acknowledgements need not be consecutive */
#define TRUSTS_ANYWHERE 9       /* a continuation in the middle of the log */
#define ANSWERS_INCOMPLETE 10
#define COMPLETE_BY_ANY_TRIM 11 /* Trimmed{X} with X before the reader's beginning */
#define KEEPS_A_STORE_BEHIND 12 /* a store behind the log's start goes on there */
#define STATES_WITHOUT_SEQUENCE 13
#define SKIPS_WHAT_A_TRIM_NEEDS 14
#define DELETES_UNANNOUNCED 15  /* no continuation says Trimmed{X} */
#define TRIMS_TO_THE_FLUSH 16   /* X where the flushed checkpoint goes on */
#define FORGETS_TO_CONTINUE 17  /* a continuation on trust leaves out a part of the bookkeeping */

/* ---- the log ---- */

mtype = {NONE, CLAIM, DECISION, STATEMENT, CONTINUATION, RESET};

typedef record {
    mtype kind;
    byte claim;   /* its number, from 1: the claim_id */
    byte seq;
    byte order;   /* from 0 */
    byte version; /* of the order, after it; 0: it has expired */
    byte command; /* consumed by a Decision; the next one in a Continuation */
    byte emitted; /* emitted_through */
    byte trimmed  /* X of Trimmed{X} */
}
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
record log[LAST + 1];
byte first = 1; /* the log's start */
byte end = 1;   /* the next position */
byte first_before = 1;
byte skip_from;
byte skip_to;

typedef state { /* of the log up to a position */
    bit admitted;
    byte claim;
    byte seq; /* the next */
    byte command;
    byte emitted;
    byte version[ORDERS];
    byte stated[ORDERS] /* position of the last full statement */
}
state t[LAST + 1];
bit sent[LAST + 1]; /* the effects of that Decision */

/* ---- owners ---- */

mtype = {WAITING, CLAIMING, RUNNING, GONE};

typedef owner_state {
    mtype phase = WAITING;
    byte claimed;  /* position of its claim */
    byte expected; /* position of the next acknowledgement */
    byte next;     /* where its next record must land */
    byte seq;
    byte command;
    byte emitted;
    byte version[ORDERS];
    byte stated[ORDERS];
    byte flushed;  /* the checkpoint on disk: its store goes on there */
    byte trimming; /* X; 0: none */
    byte acknowledged; /* continuations, from the one with Trimmed{X} on */
    byte deletion  /* DeleteRecords on its way: X */
}
owner_state o[OWNERS];
chan flight[OWNERS] = [PIPELINE] of {record};
chan answers[OWNERS] = [PIPELINE] of {byte, mtype, byte}; /* position, kind, trimmed */

/* ---- the reader and the archive ---- */

typedef reader_state {
    bit open;
    bit complete;
    byte start;
    byte at; /* the next position */
    byte claim;
    byte seq;
    byte command;
    byte emitted;
    byte version[ORDERS]
}
reader_state r;
byte archived = 1; /* the group's committed offset */

record draft; /* scratch: always zero between two steps */
byte i, x;
byte followed; /* claims, as bits: one of its continuations is further on */
byte where, announced; /* of an answer, as long as it is taken */
mtype what = NONE;

inline clear_draft()
{
    draft.kind = NONE; draft.claim = 0; draft.seq = 0; draft.order = 0; draft.version = 0;
    draft.command = 0; draft.emitted = 0; draft.trimmed = 0
}

inline copy_record(to, from)
{
    to.kind = from.kind; to.claim = from.claim; to.seq = from.seq; to.order = from.order;
    to.version = from.version; to.command = from.command; to.emitted = from.emitted;
    to.trimmed = from.trimmed
}

/* ---- the truth ---- */

#define SKIPPED(at) ((at) >= skip_from && (at) < skip_to)
#define NEXT_OF(owner_now, next, rec) (rec.claim == owner_now && rec.seq == next)
#define STATES_ORDER(rec) (rec.kind == STATEMENT || (rec.kind == DECISION && rec.version == 1))

/* The truth at a position, from the one before and the record there. */
inline tell_truth(at)
{
    t[at].admitted = 0;
    t[at].claim = t[at - 1].claim; t[at].seq = t[at - 1].seq;
    t[at].command = t[at - 1].command; t[at].emitted = t[at - 1].emitted;
    t[at].version[0] = t[at - 1].version[0]; t[at].version[1] = t[at - 1].version[1];
    t[at].stated[0] = t[at - 1].stated[0]; t[at].stated[1] = t[at - 1].stated[1];
    if
    :: SKIPPED(at) -> skip
    :: else ->
        if
        :: log[at].kind == CLAIM ->
            t[at].admitted = 1; t[at].claim = log[at].claim; t[at].seq = 0
        :: log[at].kind == RESET -> t[at].admitted = 1; t[at].claim = 0; t[at].seq = 0
        :: log[at].kind == DECISION && NEXT_OF(t[at].claim, t[at].seq, log[at]) &&
               log[at].command >= t[at].command ->
            t[at].admitted = 1; t[at].seq++;
            t[at].command = log[at].command + 1;
            t[at].version[log[at].order] = log[at].version;
            if
            :: log[at].emitted > t[at].emitted -> t[at].emitted = log[at].emitted
            :: else
            fi
        :: (log[at].kind == STATEMENT || log[at].kind == CONTINUATION) &&
               NEXT_OF(t[at].claim, t[at].seq, log[at]) ->
            t[at].admitted = 1; t[at].seq++;
            if
            :: log[at].kind == CONTINUATION && log[at].emitted > t[at].emitted ->
                t[at].emitted = log[at].emitted
            :: else
            fi
        :: else
        fi
    fi;
    if
    :: t[at].admitted && STATES_ORDER(log[at]) -> t[at].stated[log[at].order] = at
    :: else
    fi
}

/* What must hold wherever the log begins. */
inline check_start()
{
    if
    :: first > 1 ->
        assert(log[first].kind == CONTINUATION);
        assert(t[first].admitted);
        assert(!SKIPPED(first));
        /* Some Trimmed{X} completes those that begin here. */
        x = 0; i = first;
        do
        :: i < end ->
            if
            :: log[i].kind == CONTINUATION && t[i].admitted && log[i].trimmed >= first -> x = 1
            :: else
            fi;
            i++
        :: else -> break
        od;
        assert(x == 1);
        /* A new owner finds the record from which it emits, and nothing before was not emitted. */
        assert(t[end - 1].emitted >= first);
        i = 1;
        do
        :: i < first ->
            assert(!(log[i].kind == DECISION && t[i].admitted) || sent[i]); i++
        :: else -> break
        od;
        assert(!archives || archived >= first);
        x = 0; i = 0
    :: else
    fi
}

/* ---- owners ---- */

#define ON_THE_WAY (len(flight[0]) + len(flight[1]) + len(flight[2]))
#define ROOM (end + ON_THE_WAY <= positions)
#define MAY_SEND(n) (o[n].phase == RUNNING && len(flight[n]) + len(answers[n]) < PIPELINE && ROOM)

/* An owner has folded the log to its end before it claims: it knows the truth. That a reader can
 * do so from wherever the log begins is what the reader shows. */
inline send_claim(n)
{
    draft.kind = CLAIM; draft.claim = n + 1;
    flight[n]!draft;
    clear_draft();
    o[n].phase = CLAIMING
}

inline begin_running(n, at)
{
    o[n].phase = RUNNING;
    o[n].claimed = at; o[n].expected = at + 1; o[n].next = at + 1; o[n].seq = 0;
    o[n].command = t[at].command; o[n].emitted = t[at].emitted;
    o[n].version[0] = t[at].version[0]; o[n].version[1] = t[at].version[1];
    o[n].stated[0] = t[at].stated[0]; o[n].stated[1] = t[at].stated[1];
    o[n].flushed = (flushes -> 1 : 0)
}

inline send(n)
{
    draft.claim = n + 1; draft.seq = o[n].seq; draft.emitted = o[n].emitted;
    flight[n]!draft;
    o[n].seq++;
    if
    :: STATES_ORDER(draft) -> o[n].stated[draft.order] = o[n].next
    :: else
    fi;
    o[n].next++;
    clear_draft()
}

inline send_decision(n, which, to)
{
    draft.kind = DECISION; draft.order = which; draft.version = to; draft.command = o[n].command;
    o[n].version[which] = to;
    o[n].command++;
    decisions--;
    send(n)
}

inline send_statement(n, which)
{
    draft.kind = STATEMENT; draft.order = which; draft.version = o[n].version[which];
    draft.command = 0;
    statements--;
    send(n)
}

inline send_continuation(n, trim_to)
{
    draft.kind = CONTINUATION; draft.command = o[n].command; draft.trimmed = trim_to;
    continuations--;
    send(n)
}

#define STATED_SINCE(n, which, at) (o[n].version[which] == 0 || o[n].stated[which] >= (at))

/* Whether the owner may trim to that position: by what it knows, at the newest. */
#define IS_CONTINUATION_OF_OURS(n, at) \
    ((log[at].kind == CONTINUATION || broken == TRIMS_TO_ANY_RECORD) && \
     (t[at].admitted || broken == TRIMS_TO_A_ZOMBIES_CONTINUATION))
#define MAY_TRIM(n, at) \
    ((at) > first && (at) < o[n].expected && (at) < end && IS_CONTINUATION_OF_OURS(n, at) && \
     (broken == TRIMS_PAST_A_STATEMENT || (STATED_SINCE(n, 0, at) && STATED_SINCE(n, 1, at))) && \
     (broken == TRIMS_PAST_EMITTED_THROUGH || (at) <= o[n].emitted) && \
     (!archives || broken == TRIMS_PAST_A_GROUP || (at) <= archived) && \
     (!flushes || broken == TRIMS_PAST_THE_FLUSH || (at) < o[n].flushed || \
      (broken == TRIMS_TO_THE_FLUSH && (at) == o[n].flushed)))

inline begin_trim(n, at)
{
    o[n].trimming = at;
    o[n].acknowledged = 0;
    send_continuation(n, (broken == DELETES_UNANNOUNCED -> 0 : at))
}

inline give_up(n)
{
    o[n].phase = GONE;
    o[n].trimming = 0; o[n].acknowledged = 0
}

/* An acknowledgement: the offset must be the next one. */
inline take_answer(n)
{
    answers[n]?where, what, announced;
    if
    :: o[n].phase == CLAIMING && where < end && t[where].claim == n + 1 -> begin_running(n, where)
    :: o[n].phase == CLAIMING && !(where < end && t[where].claim == n + 1) -> give_up(n)
    :: o[n].phase == RUNNING && (where == o[n].expected || broken == IGNORES_GAPS) ->
        o[n].expected = where + 1;
        if
        :: what == CONTINUATION && o[n].trimming > 0 &&
               (o[n].acknowledged > 0 || announced == o[n].trimming ||
                broken == DELETES_UNANNOUNCED) ->
            o[n].acknowledged++
        :: else
        fi
    :: o[n].phase == RUNNING && where != o[n].expected && broken != IGNORES_GAPS ->
        give_up(n)
    :: else
    fi;
    where = 0; announced = 0; what = NONE
}

#define MAY_DELETE(n) \
    (o[n].phase == RUNNING && o[n].trimming > 0 && \
     o[n].acknowledged >= (broken == DELETES_AFTER_ONE_ACKNOWLEDGEMENT -> 1 : 2))

/* Effects are sent in order; a new owner begins with what follows emitted_through. */
#define HAS_UNSENT(n) (o[n].emitted + 1 < o[n].expected && o[n].emitted + 1 < end)

inline send_effects(n)
{
    i = o[n].emitted + 1;
    do
    :: i < o[n].expected && i < end &&
           !(log[i].kind == DECISION && t[i].admitted &&
             (i < o[n].claimed || log[i].claim == n + 1)) -> i++
    :: else -> break
    od;
    if
    :: i < o[n].expected && i < end -> sent[i] = 1; o[n].emitted = i
    :: else
    fi;
    i = 0
}

/* ---- the broker ---- */

inline append(n)
{
    flight[n]?draft;
    copy_record(log[end], draft);
    clear_draft();
    if
    :: o[n].phase != GONE -> answers[n]!end, log[end].kind, log[end].trimmed
    :: else
    fi;
    tell_truth(end);
    end++
}

inline delete_records(n)
{
    if
    :: o[n].deletion > first && o[n].deletion < end ->
        first_before = first;
        first = o[n].deletion;
        assert(!flushes || o[n].phase != RUNNING || o[n].flushed > first);
        check_start()
    :: else
    fi;
    o[n].deletion = 0;
    if
    :: o[n].phase == GONE -> o[n].flushed = 0
    :: else
    fi
}

/* ---- the reader ---- */

inline reader_begins()
{
    r.open = 1; r.start = first; r.at = first; r.complete = (first == 1);
    r.claim = 0; r.seq = 0; r.command = 0; r.emitted = 0; r.version[0] = 0; r.version[1] = 0
}

inline reader_closes()
{
    r.open = 0; r.start = 0; r.at = 0; r.complete = 0;
    r.claim = 0; r.seq = 0; r.command = 0; r.emitted = 0; r.version[0] = 0; r.version[1] = 0
}

#define ON_TRUST (r.at == r.start && r.start > 1)

inline take_continuation()
{
    r.claim = log[r.at].claim; r.seq = log[r.at].seq + 1;
    r.command = (broken == FORGETS_TO_CONTINUE && ON_TRUST -> 0 : log[r.at].command)
}

inline take_emitted()
{
    if
    :: log[r.at].emitted > r.emitted -> r.emitted = log[r.at].emitted
    :: else
    fi
}

inline fold_decision()
{
    r.seq++;
    r.command = log[r.at].command + 1;
    take_emitted();
    if
    :: log[r.at].version == 1 && r.version[log[r.at].order] == 0 ->
        r.version[log[r.at].order] = 1
    :: log[r.at].version != 1 && r.version[log[r.at].order] == 0 ->
        assert(!r.complete) /* such a change stops the partition */
    :: else ->
        assert(log[r.at].version == 0 || log[r.at].version == r.version[log[r.at].order] + 1);
        r.version[log[r.at].order] = log[r.at].version
    fi
}

inline reader_folds()
{
    if
    :: SKIPPED(r.at) -> assert(!ON_TRUST)
    :: !SKIPPED(r.at) && ON_TRUST ->
        assert(log[r.at].kind == CONTINUATION); /* else the partition stops */
        take_continuation();
        take_emitted()
    :: !SKIPPED(r.at) && !ON_TRUST ->
        if
        :: log[r.at].kind == CLAIM -> r.claim = log[r.at].claim; r.seq = 0
        :: log[r.at].kind == RESET -> r.claim = 0; r.seq = 0
        :: log[r.at].kind == DECISION && NEXT_OF(r.claim, r.seq, log[r.at]) &&
               log[r.at].command >= r.command ->
            fold_decision()
        :: log[r.at].kind == STATEMENT &&
               (NEXT_OF(r.claim, r.seq, log[r.at]) || broken == STATES_WITHOUT_SEQUENCE) ->
            if
            :: NEXT_OF(r.claim, r.seq, log[r.at]) -> r.seq++
            :: else
            fi;
            /* What is stated is what was folded. */
            assert(!r.complete || r.version[log[r.at].order] == log[r.at].version ||
                   broken == STATES_WITHOUT_SEQUENCE);
            r.version[log[r.at].order] = log[r.at].version
        :: log[r.at].kind == CONTINUATION &&
               (NEXT_OF(r.claim, r.seq, log[r.at]) || broken == TRUSTS_ANYWHERE) ->
            assert(r.command == log[r.at].command || broken == TRUSTS_ANYWHERE);
            take_continuation();
            take_emitted()
        :: else
        fi
    fi;
    if
    :: log[r.at].kind == CONTINUATION && !SKIPPED(r.at) && r.claim == log[r.at].claim &&
           r.seq == log[r.at].seq + 1 && log[r.at].trimmed > 0 &&
           (log[r.at].trimmed >= r.start || broken == COMPLETE_BY_ANY_TRIM) ->
        r.complete = 1
    :: else
    fi;
    /* It answers queries with the truth, or not at all. */
    if
    :: r.complete || broken == ANSWERS_INCOMPLETE ->
        assert(r.version[0] == t[r.at].version[0]);
        assert(r.version[1] == t[r.at].version[1])
    :: else
    fi;
    /* The bookkeeping is the truth in any case. */
    assert(r.claim == t[r.at].claim);
    assert(r.seq == t[r.at].seq);
    assert(r.command == t[r.at].command);
    assert(r.emitted == t[r.at].emitted);
    r.at++
}

inline reader_is_out_of_range()
{
    if
    :: broken == KEEPS_A_STORE_BEHIND && r.at > r.start -> r.at = first
    :: else -> reader_closes()
    fi
}

/* ---- faults ---- */

inline tell_nothing(at)
{
    t[at].admitted = 0; t[at].claim = 0; t[at].seq = 0; t[at].command = 0; t[at].emitted = 0;
    t[at].version[0] = 0; t[at].version[1] = 0; t[at].stated[0] = 0; t[at].stated[1] = 0
}

inline lose_the_last_record()
{
    losses--;
    end--;
    copy_record(log[end], log[0]);
    tell_nothing(end);
    sent[end] = 0;
    if
    :: r.open && r.at > end -> reader_closes() /* it notices by the record before its checkpoint */
    :: else
    fi;
    if
    :: archived > end -> archived = end
    :: else
    fi;
    check_start()
}

/* Nothing in [from, to) counts. The operator's tool refuses it where something counts between the
 * range and the end of the log, where the log begins in the range, and where a continuation in or
 * after it says Trimmed, admitted or not, and another one of its claim follows: then the log may be
 * trimmed, and statements that this needs may be in the range. (If none follows, the reset is where
 * the owner expects the next one to be, so it gives up and does not trim.) The reset names the end
 * of the log that the tool has read, so the check and the append are one step. */
#define IS_CONFIRMED(rec) ((followed >> rec.claim) & 1)

inline skip_a_part(from, to)
{
    x = (first >= from);
    i = end;
    do
    :: i > first ->
        i--;
        if
        :: (i >= to && t[i].admitted) ||
               (i >= from && log[i].trimmed > 0 && broken != SKIPS_WHAT_A_TRIM_NEEDS &&
                IS_CONFIRMED(log[i])) ->
            x = 1
        :: else
        fi;
        if
        :: log[i].kind == CONTINUATION -> followed = followed | (1 << log[i].claim)
        :: else
        fi
    :: else -> break
    od;
    followed = 0;
    if
    :: x == 0 ->
        resets--;
        skip_from = from; skip_to = to;
        log[end].kind = RESET;
        end++;
        i = from;
        do
        :: i < end -> tell_truth(i); i++
        :: else -> break
        od;
        reader_closes(); /* it folds again, and knows of the reset */
        check_start()
    :: else
    fi;
    x = 0; i = 0
}

/* ---- everything that may happen ---- */

inline settings()
{
    c_code {
        now.owners = setting("owners", 2);
        now.positions = setting("positions", 8);
        now.orders = setting("orders", 1);
        now.decisions = setting("decisions", 2);
        now.statements = setting("statements", 1);
        now.continuations = setting("continuations", 3);
        now.deletions = setting("deletions", 1);
        now.expiries = setting("expiries", 0);
        now.archives = setting("archives", 0);
        now.flushes = setting("flushes", 0);
        now.failovers = setting("failovers", 0);
        now.losses = setting("losses", 0);
        now.resets = setting("resets", 0);
        now.broken = setting("broken", 0);
    }
}

#define MAY_CLAIM(n) \
    (n < owners && o[n].phase == WAITING && (n == 0 || o[n - (n > 0)].phase != WAITING) && ROOM)

proctype owner(byte n)
{
    byte at; /* where it may trim to */
endless:
    do
    :: d_step { MAY_CLAIM(n) -> send_claim(n) }
    :: d_step { nempty(flight[n]) && end <= positions -> append(n) }
    :: d_step { nempty(answers[n]) -> take_answer(n) }
    :: d_step { MAY_SEND(n) && decisions > 0 && o[n].version[0] < 3 ->
        send_decision(n, 0, o[n].version[0] + 1) }
    :: d_step { MAY_SEND(n) && decisions > 0 && orders > 1 && o[n].version[1] < 3 ->
        send_decision(n, 1, o[n].version[1] + 1) }
    :: d_step { MAY_SEND(n) && decisions > 0 && expiries > 0 && o[n].version[0] > 0 ->
        expiries--; send_decision(n, 0, 0) }
    :: d_step { MAY_SEND(n) && statements > 0 && o[n].version[0] > 0 -> send_statement(n, 0) }
    :: d_step { MAY_SEND(n) && statements > 0 && o[n].version[1] > 0 -> send_statement(n, 1) }
    :: d_step { MAY_SEND(n) && continuations > 0 -> send_continuation(n, 0) }
    :: atomic { MAY_SEND(n) && continuations > 0 && deletions > 0 && o[n].trimming == 0 ->
        at = 2;
        do
        :: at < LAST -> at++
        :: break
        od;
        if
        :: MAY_TRIM(n, at) -> begin_trim(n, at)
        :: else
        fi;
        at = 0 }
    :: d_step { MAY_DELETE(n) && o[n].deletion == 0 && deletions > 0 ->
        deletions--;
        o[n].deletion = o[n].trimming; o[n].trimming = 0; o[n].acknowledged = 0 }
    :: d_step { o[n].deletion > 0 -> delete_records(n) }
    :: d_step { o[n].phase == RUNNING && HAS_UNSENT(n) -> send_effects(n) }
    :: d_step { flushes && o[n].phase == RUNNING && o[n].flushed < o[n].expected ->
        o[n].flushed = o[n].expected }
    od
}

active proctype reader()
{
endless:
    do
    :: d_step { !r.open && owners > 0 -> reader_begins() }
    :: d_step { r.open && r.at < first -> reader_is_out_of_range() }
    :: d_step { r.open && r.at >= first && r.at < end -> reader_folds() }
    od
}

active proctype others()
{
    byte from, to;
endless:
    do
    :: d_step { archives && archived < end -> archived = end }
    :: d_step { failovers > 0 && first > first_before ->
        failovers--; first = first_before; check_start() }
    :: d_step { losses > 0 && end - 1 > first -> lose_the_last_record() }
    :: atomic { resets > 0 && end > 2 && end + ON_THE_WAY < positions ->
        from = first;
        do
        :: from < end - 1 -> from++
        :: break
        od;
        to = from + 1;
        do
        :: to < end -> to++
        :: break
        od;
        skip_a_part(from, to);
        from = 0; to = 0 }
    od
}

init {
    d_step {
        settings();
        assert(owners <= OWNERS && positions <= LAST && orders <= ORDERS);
        clear_draft();
        i = 0;
        do
        :: i <= LAST -> copy_record(log[i], draft); i++
        :: else -> break
        od;
        i = 0
    }
    atomic { run owner(0); run owner(1); run owner(2) }
}
