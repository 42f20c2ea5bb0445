/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of every order, checked on any log from the admitted Decisions alone, without the state
 * of the engine. */
#ifndef CLI_VERIFY_RULES_H
#define CLI_VERIFY_RULES_H

#include "schemas/records.h"

struct verify_rules;

enum { VERIFY_FINDING_SIZE = 320 };

struct verify_counts {
    uint64_t decisions;
    uint64_t orders;
    uint64_t by_state[ORDER_STATE_COUNT];
    uint64_t findings;
};

/* `found` receives every violation as one line. `partition_count` checks where orders belong. */
struct verify_rules *verify_rules_new(int32_t partition, int32_t partition_count,
                                      void (*found)(void *ctx, const char *finding), void *ctx);
void verify_rules_free(struct verify_rules *rules);
/* Forgets everything: the log is read again from its start. */
void verify_rules_restart(struct verify_rules *rules);
void verify_rules_claim(struct verify_rules *rules, const struct claim *claim);
void verify_rules_reset(struct verify_rules *rules, const struct partition_reset *reset);
/* An admitted Decision at `offset`. `unseen`: the log was trimmed, and what came before this change
 * of its order is not in the rest. */
void verify_rules_decision(struct verify_rules *rules, const struct decision *decision, bool unseen,
                           int64_t offset);
/* An admitted Statement: of an order that is known it says what is known. */
void verify_rules_statement(struct verify_rules *rules, const struct statement *statement,
                            int64_t offset);
/* An admitted Expiry: the orders that have ended by then are forgotten; a later one with such an id
 * is another one. */
void verify_rules_expiry(struct verify_rules *rules, const struct expiry *expiry, int64_t offset);
/* Everything was read: what must hold of orders at rest. */
void verify_rules_end(struct verify_rules *rules, struct verify_counts *ret_counts);

#endif
