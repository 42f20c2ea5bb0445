/* SPDX-License-Identifier: Apache-2.0 */
/* An order from its submission to its rest, and its sub-orders, without Kafka: the engine decides,
 * applies and says what they tell each other, agents answer as a case says, and the clock jumps to
 * whatever is due next. Nothing that is sent is lost or late.
 *
 * Nothing is random, and time begins at REHEARSAL_START_MS, so equal cases give equal stories. */
#ifndef REHEARSAL_REHEARSAL_H
#define REHEARSAL_REHEARSAL_H

#include "base/heap_arena.h"
#include "rehearsal/case_file.h"

#define REHEARSAL_START_MS INT64_C(946684800000) /* 2000-01-01T00:00:00Z */

enum {
    REHEARSAL_MARGIN_MS = 1000,       /* the default of clock.skew.max.ms */
    REHEARSAL_DECISIONS_MAX = 500000, /* an order with more counts as endless */
};

/* An event of the history of all of them. */
struct rehearsal_entry {
    const struct rehearsal_entry *next;
    int64_t at;
    struct text order_id;
    enum event_kind kind;
    struct text words; /* the sentence of `orders history` */
};

/* A list that grows. */
struct rehearsal_texts {
    struct text *items;
    uint32_t count;
    uint32_t capacity;
};

/* The order of the case, or what an item of a step had: several sub-orders in turn, if the step was
 * resubmitted. */
struct rehearsal_place {
    struct case_order at;      /* of which each item is named */
    struct text path;          /* before the names of its steps: "Load~3/"; empty: of the case */
    const struct order *order; /* the newest one; NULL: none was accepted */
    uint32_t *attempts;        /* by step, forward */
    /* By step, of its latest request that its Input made; empty: none did. */
    struct text *inputs[DIRECTION_COUNT];
};

struct rehearsal {
    bool endless;                                /* it was stopped at REHEARSAL_DECISIONS_MAX */
    const struct rehearsal_place *const *places; /* the first one is that of the case */
    uint32_t place_count;
    const struct rehearsal_entry *story; /* the first one */
    struct rehearsal_texts path;         /* "STEP", "undo Load~3/STEP": by their first attempts */
    struct rehearsal_texts refused;      /* codes of the commands that were rejected, of those from
                                       applications and operators */
};

/* The order of the case; NULL: it was not accepted. */
static inline const struct order *rehearsal_order(const struct rehearsal *rehearsal)
{
    return rehearsal->places[0]->order;
}

/* Everything lives in `arena`, or is borrowed from the case and the workflow. */
void rehearse(const struct test_case *test, const struct workflow *workflow, struct arena *arena,
              struct rehearsal *ret_rehearsal);

/* ---- what was expected ---- */

struct rehearsal_difference {
    struct text what; /* "State", "Outputs.Price"; within data the place, "Outputs.Price.total" */
    struct text expected;
    struct text actual;
};

/* New in `arena`; *ret_count 0: all is as expected. */
const struct rehearsal_difference *rehearsal_compare(const struct test_case *test,
                                                     const struct rehearsal *rehearsal,
                                                     struct arena *arena, uint32_t *ret_count);

#endif
