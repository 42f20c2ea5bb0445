/* SPDX-License-Identifier: Apache-2.0 */
/* Consumer groups of the embedded broker: who is a member, and the rounds in which members agree on
 * who has what (Kafka's "classic" protocol, KIP-62, with static members, KIP-345). A round has two
 * halves: all members join, and the broker names a leader among them; the leader sends what each of
 * them is assigned, and all get theirs ("sync").
 *
 * Members, not the broker, know what an assignment means. Groups are in memory: after a restart
 * their members join again. */
#ifndef KAFKA_EMBEDDED_GROUPS_H
#define KAFKA_EMBEDDED_GROUPS_H

#include "base/buffer.h"
#include "kafka/embedded/peers.h"
#include "kafka/embedded/wire.h"
#include "platform/hash_table.h"

#include <librdkafka/rdkafka.h>

enum {
    GROUPS_MAX = 1000,
    GROUP_MEMBERS_MAX = 500,
    GROUP_SESSION_MS_MIN = 100,
    GROUP_SESSION_MS_MAX = 30 * 60 * 1000,
    GROUP_FIRST_ROUND_MS = 100, /* for which the first member waits for others */
};

enum group_state {
    GROUP_EMPTY,
    GROUP_JOINING, /* a round has begun */
    GROUP_SYNCING, /* the leader has to say who gets what */
    GROUP_STABLE,
    GROUP_STATE_COUNT
};

struct member {
    char *id;
    char *instance; /* of a static member; NULL: it is not one */
    char *client;
    struct buffer protocols; /* an array as on the wire: name, metadata; the preferred one first */
    int32_t session_ms;
    int32_t round_ms;     /* the time that it takes to join */
    struct peer *joining; /* waits for the round's first half; NULL: does not */
    struct peer *syncing; /* for its second half */
    struct buffer assignment;
    struct loop_timer session;
    struct group *group;
    struct member *prev;
    struct member *next;
};

struct group {
    char *name;
    enum group_state state;
    int32_t generation; /* of the last round */
    char *kind;         /* protocol type; NULL: no member yet */
    char *protocol;     /* that all members know; NULL: none yet */
    struct member *leader;
    struct member *members;
    size_t member_count;
    bool first_round;
    struct loop_timer round; /* its end, even if members are missing */
    struct groups *groups;
    UT_hash_handle hh;
};

/* How answers reach those who wait. `member` is borrowed. */
struct groups_ops {
    void (*joined)(struct peer *peer, const struct member *member, const char *leader);
    void (*not_joined)(struct peer *peer, rd_kafka_resp_err_t code);
    void (*synced)(struct peer *peer, rd_kafka_resp_err_t code, struct text assignment);
};

struct join {
    struct text group;
    int32_t session_ms;
    int32_t round_ms;
    struct text member;   /* id; empty: the broker gives it one */
    struct text instance; /* no data: none */
    struct text client;
    struct text kind;
    struct text protocols; /* as in struct member */
};

/* How a member names itself. */
struct identity {
    struct text group;
    struct text member;
    struct text instance; /* no data: none */
    int32_t generation;   /* not read by groups_leave */
};

struct groups *groups_new(struct loop *loop, const struct groups_ops *ops);
void groups_free(struct groups *groups);
/* NULL: there is none. */
struct group *groups_find(const struct groups *groups, struct text name);
/* NULL begins, NULL ends. */
struct group *groups_next(const struct groups *groups, const struct group *after);
/* A group that has, or may have, committed offsets; false: there are too many, or the name has a
 * NUL. */
bool groups_add(struct groups *groups, struct text name);
/* It is empty. */
void groups_remove(struct groups *groups, struct group *group);
const char *group_state_name(enum group_state state);
/* Of a member's protocols; no data: it does not know it. */
struct text member_protocol(const struct member *member, const char *name);

/* NO_ERROR: `peer` is answered by the ops, now or later. Anything else is for the caller to say. */
rd_kafka_resp_err_t groups_join(struct groups *groups, const struct join *join, struct peer *peer);
/* `assignments` as on the wire: an array of member, assignment; from the leader. As above. */
rd_kafka_resp_err_t groups_sync(struct groups *groups, const struct identity *identity,
                                struct wire assignments, struct peer *peer);
/* REBALANCE_IN_PROGRESS: it shall join again. */
rd_kafka_resp_err_t groups_heartbeat(struct groups *groups, const struct identity *identity);
rd_kafka_resp_err_t groups_leave(struct groups *groups, const struct identity *identity);
/* Whether it may commit offsets. */
rd_kafka_resp_err_t groups_check_commit(struct groups *groups, const struct identity *identity);
/* `peer` waits no longer. */
void groups_forget_peer(struct groups *groups, const struct peer *peer);

#endif
