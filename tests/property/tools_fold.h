/* SPDX-License-Identifier: Apache-2.0 */
/* A small fold of a log, for what tools say about it. It is written from the design, not from the
 * product, with which it shares the codec alone, and it reads every record that was ever written:
 * the test has a copy that no trim touches. It tells which orders there are, what became of them,
 * and what a reader knows of them that begins somewhere inside the log. */
#ifndef TESTS_PROPERTY_TOOLS_FOLD_H
#define TESTS_PROPERTY_TOOLS_FOLD_H

#include "tests/property/ownership_world.h"

enum { TOOLS_ORDERS_MAX = 256, TOOLS_DECISIONS_MAX = 16384, TOOLS_TRIMS_MAX = 1024 };

/* From its acceptance to its expiry: the next order of that id is another one. Offsets; -1: that
 * has not happened. */
struct tools_order {
    char id[16];
    enum order_state state;
    int64_t accepted_at;
    int64_t known_at; /* to a reader that begins at `from`: accepted or stated */
    int64_t ended_at; /* Processed or Compensated */
    int64_t gone_at;  /* expired */
    int64_t ended_ms; /* the time of the Decision at ended_at */
};

/* One that counts. */
struct tools_decision {
    char order_id[16];
    int64_t offset;
};

/* A Continuation that counts says where the log may begin. */
struct tools_trim {
    int64_t said_at;
    int64_t start;
};

struct tools_fold {
    int64_t from;       /* the reader begins here */
    int64_t stopped_at; /* a record that stops every reader, and that no Reset skips; -1: none */
    /* the owner */
    bool claimed; /* false: a Reset has come since the Claim */
    struct uuid claim_id;
    int64_t sequence;
    int64_t next_command;
    char instance[WHO_BYTES_MAX + 1]; /* of the latest Claim, as is the next */
    int64_t claimed_at;
    /* what it has decided */
    struct tools_order orders[TOOLS_ORDERS_MAX];
    uint32_t order_count;
    struct tools_decision decisions[TOOLS_DECISIONS_MAX];
    uint32_t decision_count;
    struct tools_trim trims[TOOLS_TRIMS_MAX];
    uint32_t trim_count;
    bool newer; /* a newer version has been here */
};

/* Folds [0, end) of events[partition]. NULL, or what is wrong with the log. */
const char *tools_fold(struct world *world, int32_t partition, int64_t from, int64_t end,
                       struct tools_fold *ret_fold);
/* Where a reader without a store begins in a log that begins at `low`; -1: nowhere. */
int64_t tools_fold_beginning(const struct tools_fold *fold, int64_t low);
/* Whether a reader without a store may have begun there: at the beginning, or where an owner has
 * said that the log may begin. */
bool tools_fold_may_begin(const struct tools_fold *fold, int64_t start);
/* Decisions that this reader counts. */
uint64_t tools_fold_decisions(const struct tools_fold *fold);
/* The order that has this id now; NULL: there is none. */
const struct tools_order *tools_fold_order(const struct tools_fold *fold, const char *id);

#endif
