/* SPDX-License-Identifier: Apache-2.0 */
/* Every limit of the engine and of its records, checked before memory is taken for what they bound,
 * and asserted against each other below. */
#ifndef ENGINE_LIMITS_H
#define ENGINE_LIMITS_H

#include "base/limits.h"

/* With REEVE_DOUBLE_LIMITS the build stands for the next version, as tests need one: it writes
 * twice as much of everything that readers have room for. */
#ifdef REEVE_DOUBLE_LIMITS
#define RAISABLE(limit) (2 * (limit))
#else
#define RAISABLE(limit) (limit)
#endif

/* What this version writes, and takes from those who ask it to. */
enum {
    /* texts, in bytes */
    ORDER_ID_BYTES_MAX = 128, /* also the Kafka key; no control characters, no '/' */
    CUSTOMER_BYTES_MAX = RAISABLE(256),
    CURRENCY_BYTES_MAX = 3, /* ISO 4217, upper case, and no shorter */
    SKU_BYTES_MAX = RAISABLE(128),
    DESCRIPTION_BYTES_MAX = RAISABLE(512),
    ATTRIBUTE_NAME_BYTES_MAX = RAISABLE(128),
    ATTRIBUTE_VALUE_BYTES_MAX = RAISABLE(4096),
    TRACEPARENT_BYTES_MAX = RAISABLE(64),
    ERROR_NAME_BYTES_MAX = 64,
    MESSAGE_BYTES_MAX = RAISABLE(1024),           /* error messages, reasons of operators */
    WHO_BYTES_MAX = RAISABLE(128),                /* who asked: an operator, an instance */
    STEP_OUTPUT_BYTES_MAX = RAISABLE(65536),      /* JSON text; an order's Output as well */
    FOR_EACH_OUTPUT_BYTES_MAX = RAISABLE(262144), /* JSON text: of a step with items, whole */
    REPORT_OUTPUT_BYTES_MAX = RAISABLE(262144),   /* JSON text that a report brings to a step */
    STEP_INPUT_BYTES_MAX = RAISABLE(32768),       /* JSON text that a step's Input made */
    SET_BYTES_MAX = 8192,                         /* JSON text that a Set made */
    SIGNAL_BYTES_MAX = STEP_OUTPUT_BYTES_MAX,     /* JSON text of a signal, a step's output */
    SIGNAL_ID_BYTES_MAX = 128,                    /* by which a signal's sender repeats it */
    QUESTION_BYTES_MAX = 1024,                    /* of an Await, filled in */
    TEXT_ITEM_BYTES_MAX = NAME_BYTES_MAX,         /* of a list of texts: an option, a group */

    /* counts */
    ORDER_LINES_MAX = RAISABLE(2000),
    ORDER_ATTRIBUTES_MAX = RAISABLE(64),
    WORKFLOW_STEPS_MAX = 64,       /* a set of steps is one uint64_t */
    WORKFLOW_FILE_STEPS_MAX = 256, /* those of its bodies included */
    STEP_AGENTS_MAX = 8,           /* that one step names */
    WORKFLOW_AGENTS_MAX = WORKFLOW_STEPS_MAX * STEP_AGENTS_MAX,
    WORKFLOW_FILE_AGENTS_MAX = WORKFLOW_FILE_STEPS_MAX * STEP_AGENTS_MAX,
    ORDER_DEPTH_MAX = 4,        /* levels of orders: one, and three of sub-orders */
    BODY_NAME_BYTES_MAX = 181,  /* NAME/STEP/STEP, so that a queue key fits */
    SUBORDERS_MAX = 1000,       /* of one step */
    TREE_SUBORDERS_MAX = 10000, /* of an order that has no parent, on all levels */
    RETRIERS_MAX = 8,           /* per step and direction */
    CATCHERS_MAX = 8,
    ERRORS_EQUAL_MAX = 8, /* names in one ErrorEquals */
    RETRIES_MAX = 1000,   /* MaxAttempts of one retrier */
    STEP_EVENTS_MAX = 5,  /* of one step in a Decision */
    DECISION_EVENTS_MAX = RAISABLE(STEP_EVENTS_MAX * WORKFLOW_STEPS_MAX + 16),
    OPTIONS_MAX = 8,                     /* of an Await */
    SIGNAL_GROUPS_MAX = USER_GROUPS_MAX, /* that a signal's sender belongs to */
    SIGNALS_MAX = 1000,                  /* recorded for a step */
    DEADLINES_MAX = WORKFLOW_STEPS_MAX + 1,
    COMMAND_HEADERS_MAX = 12, /* kept of a command that is not one */
    COMMAND_TRIES_MAX = 5,    /* Attempts before a command is quarantined */
    EXPRESSION_TRIES_MAX = 3, /* of them, Attempts that evaluate expressions */

    /* sizes of whole things, in bytes */
    ORDER_DETAILS_BYTES_MAX = 640 * 1024,     /* an order as submitted, encoded */
    ORDER_INPUT_BYTES_MAX = 256 * 1024,       /* its input, JSON text, within that */
    ORDER_OUTPUTS_BYTES_MAX = 1024 * 1024,    /* the outputs of all its steps */
    ORDER_ITEMS_BYTES_MAX = 256 * 1024,       /* the lists of all its ForEach */
    ORDER_ITEM_INPUTS_BYTES_MAX = 256 * 1024, /* the inputs of submitted items; of a Decision */
    /* The inputs of those that have not finished, the lists, and the inputs of items. */
    ORDER_STEP_INPUTS_BYTES_MAX = 1024 * 1024,
    REPORT_BYTES_MAX = 256 * 1024,   /* what an agent takes from a service */
    INPUT_BYTES_MAX = 1024 * 1024,   /* one record on submissions or commands */
    WORKFLOW_BYTES_MAX = 256 * 1024, /* a workflow file */
};

/* What this version reads from a record, keeps and passes on: a newer version may write more,
 * within these limits. More than that is for the version after it, see schemas/COMPATIBILITY.md. A
 * name is part of topics and keys, and some counts are the size of an array: of these, no more can
 * be read than is written. */
enum {
    ORDER_ID_BYTES_READ_MAX = ORDER_ID_BYTES_MAX,
    NAME_BYTES_READ_MAX = NAME_BYTES_MAX,
    TOPIC_BYTES_READ_MAX = TOPIC_BYTES_MAX,
    CURRENCY_BYTES_READ_MAX = CURRENCY_BYTES_MAX,
    ERROR_NAME_BYTES_READ_MAX = ERROR_NAME_BYTES_MAX,
    CUSTOMER_BYTES_READ_MAX = 512,
    SKU_BYTES_READ_MAX = 256,
    DESCRIPTION_BYTES_READ_MAX = 1024,
    ATTRIBUTE_NAME_BYTES_READ_MAX = 256,
    ATTRIBUTE_VALUE_BYTES_READ_MAX = 8192,
    TRACEPARENT_BYTES_READ_MAX = 128,
    MESSAGE_BYTES_READ_MAX = 2048,
    WHO_BYTES_READ_MAX = 256,
    STEP_OUTPUT_BYTES_READ_MAX = 128 * 1024,
    FOR_EACH_OUTPUT_BYTES_READ_MAX = 512 * 1024,
    REPORT_OUTPUT_BYTES_READ_MAX = 512 * 1024,
    STEP_INPUT_BYTES_READ_MAX = 64 * 1024,
    SIGNAL_BYTES_READ_MAX = STEP_OUTPUT_BYTES_READ_MAX,
    SIGNAL_ID_BYTES_READ_MAX = SIGNAL_ID_BYTES_MAX,
    QUESTION_BYTES_READ_MAX = 2048,
    TEXT_ITEM_BYTES_READ_MAX = TEXT_ITEM_BYTES_MAX,
    BODY_NAME_BYTES_READ_MAX = BODY_NAME_BYTES_MAX,

    OPTIONS_READ_MAX = OPTIONS_MAX,
    SUBORDERS_READ_MAX = SUBORDERS_MAX,
    SIGNAL_GROUPS_READ_MAX = SIGNAL_GROUPS_MAX,
    ORDER_LINES_READ_MAX = 4000,
    ORDER_ATTRIBUTES_READ_MAX = 128,
    WORKFLOW_STEPS_READ_MAX = WORKFLOW_STEPS_MAX,
    RETRIERS_READ_MAX = RETRIERS_MAX,
    DECISION_EVENTS_READ_MAX = 2 * (STEP_EVENTS_MAX * WORKFLOW_STEPS_MAX + 16),
    COMMAND_HEADERS_READ_MAX = COMMAND_HEADERS_MAX,

    ORDER_INPUT_BYTES_READ_MAX = 512 * 1024,
    ORDER_ITEMS_BYTES_READ_MAX = ORDER_ITEMS_BYTES_MAX,
    INPUT_BYTES_READ_MAX = INPUT_BYTES_MAX,
    META_BYTES_READ_MAX = META_BYTES_MAX,
    WORKFLOW_BYTES_READ_MAX = 2 * WORKFLOW_BYTES_MAX,
    /* A Decision, Statement or row: what the order in it has come to still fits a record. */
    ORDER_RECORD_BYTES_READ_MAX = 15 * RECORD_BYTES_MAX / 16,
};

#define DURATION_DAYS_MAX 366
#define DURATION_MS_MAX \
    (INT64_C(24) * 3600 * 1000 * DURATION_DAYS_MAX) /* any timeout, interval or delay */

/* What an order carries besides its details and the texts of its steps. */
#define ORDER_DATA_BYTES_MAX \
    (ORDER_OUTPUTS_BYTES_MAX + ORDER_STEP_INPUTS_BYTES_MAX + STEP_OUTPUT_BYTES_MAX)

/* What a step that waits for a signal has of its own, but for the signal. */
#define STEP_AWAITING_BYTES_MAX                                                           \
    (QUESTION_BYTES_MAX + (OPTIONS_MAX + 1) * TEXT_ITEM_BYTES_MAX + SIGNAL_ID_BYTES_MAX + \
     WHO_BYTES_MAX)

/* State, generation and time of an item, and the frame of its texts. */
#define ITEM_BYTES_MAX 16
#define ORDER_ITEM_STATES_BYTES_MAX (TREE_SUBORDERS_MAX * ITEM_BYTES_MAX)

/* The largest Decision: an order with the texts of all its events, which may begin all its steps;
 * or an undecodable command. Steps that begin as the order is accepted have the outputs of Sets; no
 * other Decision has the details. The largest StepRequest: the order with the outputs of all
 * steps. */
#define ACCEPTED_BYTES_MAX (ORDER_DETAILS_BYTES_MAX + WORKFLOW_STEPS_MAX * SET_BYTES_MAX)
#define AMENDED_BYTES_MAX (ORDER_INPUT_BYTES_MAX + ORDER_OUTPUTS_BYTES_MAX)
#define DECISION_TEXTS_BYTES_MAX                                                         \
    (ORDER_STEP_INPUTS_BYTES_MAX + ORDER_ITEM_STATES_BYTES_MAX + STEP_OUTPUT_BYTES_MAX + \
     (STEP_EVENTS_MAX * WORKFLOW_STEPS_MAX + 16) * (MESSAGE_BYTES_MAX + 1024))
_Static_assert(ACCEPTED_BYTES_MAX + DECISION_TEXTS_BYTES_MAX < ORDER_RECORD_BYTES_READ_MAX &&
                   AMENDED_BYTES_MAX + DECISION_TEXTS_BYTES_MAX < ORDER_RECORD_BYTES_READ_MAX,
               "the largest Decision can be read");
_Static_assert(STEP_AWAITING_BYTES_MAX < MESSAGE_BYTES_MAX + 1024,
               "a step that begins to wait for a signal fits what an event may have");
_Static_assert(ORDER_DETAILS_BYTES_MAX + ORDER_OUTPUTS_BYTES_MAX + WORKFLOW_STEPS_MAX * 256 +
                       STEP_INPUT_BYTES_MAX <
                   RECORD_BYTES_MAX,
               "the largest StepRequest fits a record");
/* An order with the texts of all its steps: names, outputs, inputs, who and what, numbers. */
_Static_assert(ORDER_DETAILS_BYTES_MAX + ORDER_DATA_BYTES_MAX + ORDER_ITEM_STATES_BYTES_MAX +
                       WORKFLOW_STEPS_MAX * (MESSAGE_BYTES_MAX + 1024 + STEP_AWAITING_BYTES_MAX) +
                       5 * MESSAGE_BYTES_MAX <
                   ORDER_RECORD_BYTES_READ_MAX,
               "the largest Statement can be read");
/* What a newer version accepted, with all that its steps can still get. */
_Static_assert(2 * ORDER_DETAILS_BYTES_MAX + ORDER_DATA_BYTES_MAX + ORDER_ITEM_STATES_BYTES_MAX +
                       WORKFLOW_STEPS_MAX *
                           (MESSAGE_BYTES_READ_MAX + 1024 + STEP_AWAITING_BYTES_MAX) +
                       5 * MESSAGE_BYTES_READ_MAX <
                   RECORD_BYTES_MAX,
               "an order with twice the details can be stated again");
_Static_assert((int)STEP_OUTPUT_BYTES_READ_MAX <= (int)ORDER_OUTPUTS_BYTES_MAX, "one output fits");
_Static_assert((int)STEP_OUTPUT_BYTES_MAX <= (int)REPORT_OUTPUT_BYTES_MAX &&
                   REPORT_OUTPUT_BYTES_READ_MAX + 64 * 1024 < INPUT_BYTES_MAX,
               "the largest report fits a command");
_Static_assert((int)SET_BYTES_MAX <= (int)STEP_OUTPUT_BYTES_MAX, "what a Set makes is an output");
_Static_assert(2 * INPUT_BYTES_MAX + META_BYTES_MAX < ORDER_RECORD_BYTES_READ_MAX,
               "the largest dead letter of an older version can be read");
_Static_assert(INPUT_BYTES_MAX + META_BYTES_MAX < RECORD_BYTES_MAX, "the largest dead letter fits");
_Static_assert(2 * ORDER_INPUT_BYTES_MAX < ORDER_DETAILS_BYTES_MAX, "there is room besides");
_Static_assert((int)FOR_EACH_OUTPUT_BYTES_READ_MAX <= (int)ORDER_OUTPUTS_BYTES_MAX, "one fits");
_Static_assert(ORDER_ITEMS_BYTES_MAX + ORDER_ITEM_INPUTS_BYTES_MAX < ORDER_STEP_INPUTS_BYTES_MAX,
               "steps have inputs besides those of their items");
_Static_assert((int)BODY_NAME_BYTES_MAX >= (int)NAME_BYTES_MAX, "a name without bodies fits");
_Static_assert(WORKFLOW_STEPS_MAX <= 64, "a set of steps fits a uint64_t");

#endif
