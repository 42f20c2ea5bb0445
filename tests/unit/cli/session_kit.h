/* SPDX-License-Identifier: Apache-2.0 */
/* A command's session on the broker in memory. */
#ifndef TESTS_UNIT_CLI_SESSION_KIT_H
#define TESTS_UNIT_CLI_SESSION_KIT_H

#include "cli/session.h"
#include "tests/simulation/broker_memory.h"

/* With the topics of the prefix "t", one partition each; nothing has read them yet. */
struct session_kit {
    struct broker_memory_cluster *kafka;
    struct codec *codec;
    struct cli_session session;
    struct loop_timer timer;
    uint64_t steps;          /* of the broker in a turn: many */
    void (*turn)(void *ctx); /* before each turn of the broker; NULL at first */
    void *turn_ctx;
    struct cli cli; /* prints to `out` and `err` */
    char *out;
    char *err;
    size_t out_size;
    size_t err_size;
};

void session_kit_init(struct session_kit *kit);
void session_kit_deinit(struct session_kit *kit);
/* A record that stands in the topic before the session begins; returns its offset. */
int64_t session_kit_append(struct session_kit *kit, const char *topic, enum record_kind kind,
                           const void *record);
/* Opens the session with flags of cluster_open() and waits until it is ready. */
void session_kit_open(struct session_kit *kit, unsigned flags);
/* What the command printed so far is in `out` and `err` then. */
void session_kit_flush(struct session_kit *kit);

#endif
