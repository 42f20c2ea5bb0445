/* SPDX-License-Identifier: Apache-2.0 */
/* The limits that every layer shares: bytes of names, topics and whole records, groups of a user.
 * The engine's own are in engine/limits.h, which proves that its largest records fit. */
#ifndef BASE_LIMITS_H
#define BASE_LIMITS_H

#include <stdint.h>

enum {
    NAME_BYTES_MAX = 64,                /* workflow, step, agent, action, application */
    TOPIC_BYTES_MAX = 249,              /* Kafka's own limit for a topic's name */
    RECORD_BYTES_MAX = 4 * 1024 * 1024, /* the value of any record that reeve writes */
    META_BYTES_MAX = 64 * 1024,         /* key and headers of a record that reeve accepts */
    USER_GROUPS_MAX = 32,               /* groups that one user is in */
};

/* How long <p>.submissions and <p>.commands keep their records. */
#define SUBMISSIONS_KEPT_MS (INT64_C(7) * 86400000)

#endif
