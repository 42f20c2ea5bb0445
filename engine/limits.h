/* SPDX-License-Identifier: Apache-2.0 */
/* Every limit of the engine and of its records, checked before memory is taken for what they bound,
 * and asserted against each other below. */
#ifndef ENGINE_LIMITS_H
#define ENGINE_LIMITS_H

#include "base/limits.h"

enum {
    /* texts, in bytes */
    ORDER_ID_BYTES_MAX = 128, /* also the Kafka key; no control characters, no '/' */
    CUSTOMER_BYTES_MAX = 256,
    CURRENCY_BYTES = 3, /* ISO 4217, upper case */
    SKU_BYTES_MAX = 128,
    DESCRIPTION_BYTES_MAX = 512,
    ATTRIBUTE_NAME_BYTES_MAX = 128,
    ATTRIBUTE_VALUE_BYTES_MAX = 4096,
    TRACEPARENT_BYTES_MAX = 64,
    ERROR_NAME_BYTES_MAX = 64,
    MESSAGE_BYTES_MAX = 1024,     /* error messages, reasons of operators */
    WHO_BYTES_MAX = 128,          /* who asked: an operator, an instance */
    STEP_OUTPUT_BYTES_MAX = 8192, /* JSON text */

    /* counts */
    ORDER_LINES_MAX = 2000,
    ORDER_ATTRIBUTES_MAX = 64,
    WORKFLOW_STEPS_MAX = 64, /* a set of steps is one uint64_t */
    STEP_AGENTS_MAX = 8,     /* that one step names */
    WORKFLOW_AGENTS_MAX = WORKFLOW_STEPS_MAX * STEP_AGENTS_MAX,
    RETRIERS_MAX = 8, /* per step and direction */
    CATCHERS_MAX = 8,
    ERRORS_EQUAL_MAX = 8, /* names in one ErrorEquals */
    RETRIES_MAX = 1000,   /* MaxAttempts of one retrier */
    DECISION_EVENTS_MAX = 4 * WORKFLOW_STEPS_MAX + 16,
    DEADLINES_MAX = WORKFLOW_STEPS_MAX + 1,
    COMMAND_HEADERS_MAX = 12, /* kept of a command that is not one */
    COMMAND_TRIES_MAX = 5,    /* Attempts before a command is quarantined */

    /* sizes of whole things, in bytes */
    ORDER_DETAILS_BYTES_MAX = 640 * 1024, /* an order as submitted, encoded */
    INPUT_BYTES_MAX = 1024 * 1024,        /* one record on submissions or commands */
    WORKFLOW_BYTES_MAX = 256 * 1024,      /* a workflow file */
};

#define DURATION_MS_MAX (INT64_C(366) * 24 * 3600 * 1000) /* any timeout, interval or delay */
#define DECIMAL_SCALE 4
#define DECIMAL_UNSCALED_MAX INT64_C(999999999999999999) /* precision 18 */

/* The largest Decision: an accepted order with all its steps started, or an undecodable command.
 * The largest StepRequest: the order with the outputs of all steps. Both fit a record twice
 * over. */
_Static_assert(ORDER_DETAILS_BYTES_MAX + DECISION_EVENTS_MAX * (MESSAGE_BYTES_MAX + 1024) <
                   RECORD_BYTES_MAX,
               "the largest Decision fits a record");
_Static_assert(ORDER_DETAILS_BYTES_MAX + WORKFLOW_STEPS_MAX * (STEP_OUTPUT_BYTES_MAX + 256) <
                   RECORD_BYTES_MAX,
               "the largest StepRequest fits a record");
/* An order with the texts of all its steps: names, output, two of who and what, numbers. */
_Static_assert(ORDER_DETAILS_BYTES_MAX +
                       WORKFLOW_STEPS_MAX * (STEP_OUTPUT_BYTES_MAX + MESSAGE_BYTES_MAX + 1024) +
                       4 * MESSAGE_BYTES_MAX <
                   RECORD_BYTES_MAX,
               "the largest Statement fits a record");
_Static_assert(INPUT_BYTES_MAX + META_BYTES_MAX < RECORD_BYTES_MAX, "the largest dead letter fits");
_Static_assert(WORKFLOW_STEPS_MAX <= 64, "a set of steps fits a uint64_t");

#endif
