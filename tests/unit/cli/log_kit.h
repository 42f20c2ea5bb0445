/* SPDX-License-Identifier: Apache-2.0 */
/* A log that an owner has written to t.events[0] of a session_kit, and trims. The test is the
 * owner; it may write between two steps of a command. */
#ifndef TESTS_UNIT_CLI_LOG_KIT_H
#define TESTS_UNIT_CLI_LOG_KIT_H

#include "base/heap_arena.h"
#include "replica/fold/admission.h"
#include "tests/unit/cli/session_kit.h"

enum { LOG_KIT_ORDERS = 8 };

struct log_kit {
    struct session_kit *session;
    struct heap_arena heap;
    struct checkpoint folded; /* what the log says up to its end */
    struct order orders[LOG_KIT_ORDERS];
    struct order_parent parents[LOG_KIT_ORDERS]; /* without an order: it is a root */
    uint32_t order_count;
};

/* Begins with a Claim. */
void log_kit_begin(struct log_kit *log, struct session_kit *session);
void log_kit_end(struct log_kit *log);
/* A claim of that first byte. Like the functions below, it returns the record's offset. */
int64_t log_kit_claim(struct log_kit *log, uint8_t claim_id);
/* Order number n is "o-N". */
int64_t log_kit_accept(struct log_kit *log);
/* Accepted and Processed in one Decision. */
int64_t log_kit_pass(struct log_kit *log);
/* A sub-order of order number `parent`, which is a root: "o-PARENT~A". */
int64_t log_kit_accept_under(struct log_kit *log, uint32_t parent);
/* Ends as Processed. */
int64_t log_kit_finish(struct log_kit *log, uint32_t number);
int64_t log_kit_state(struct log_kit *log, uint32_t number);
/* A Continuation; -1: it says nothing about a trim. */
int64_t log_kit_continue(struct log_kit *log, int64_t trimmed);
/* States all orders after a Continuation, and says that the log may begin there: at the offset that
 * it returns. */
int64_t log_kit_state_all(struct log_kit *log);
/* A Decision of that claim, which is no longer the latest. */
int64_t log_kit_zombie(struct log_kit *log, uint8_t claim_id);

#endif
