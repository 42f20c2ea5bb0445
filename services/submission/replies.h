/* SPDX-License-Identifier: Apache-2.0 */
/* Reply topics that acknowledge nothing: for a while no statuses are sent there. */
#ifndef SERVICES_SUBMISSION_REPLIES_H
#define SERVICES_SUBMISSION_REPLIES_H

#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    REPLIES_SILENT_MS = 10 * 60 * 1000,
    REPLIES_SILENT_MAX = 64 /* topics; the oldest is forgotten */
};

/* Zero-initialized is empty. */
struct replies {
    struct {
        uint64_t topic_hash; /* 0: none */
        int64_t until_ms;
    } silent[REPLIES_SILENT_MAX];
    uint32_t next_silent;
};

/* A status to the topic was not acknowledged for long, while the brokers acknowledged others. */
void replies_silence(struct replies *replies, uint64_t topic_hash, int64_t now_ms);
bool replies_is_silent(const struct replies *replies, uint64_t topic_hash, int64_t now_ms);
/* Never 0. */
uint64_t replies_hash(struct text topic);

#endif
