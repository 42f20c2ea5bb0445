/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the dead letters' API share. */
#ifndef SERVICES_CONSOLE_DEAD_LETTERS_INTERNAL_H
#define SERVICES_CONSOLE_DEAD_LETTERS_INTERNAL_H

#include "platform/http/pending.h"
#include "services/console/dead_letters/dead_letters.h"
#include "services/console/dead_letters/replay.h"
#include "services/console/dead_letters/topic.h"

enum operation_kind { OPERATION_GET, OPERATION_REPLAY, OPERATION_DISCARD };

enum operation_state {
    OPERATION_FETCHES,    /* reads the dead letter */
    OPERATION_CATCHES_UP, /* learns what other consoles did */
    OPERATION_APPENDS,    /* the record, where it came from */
    OPERATION_RESOLVES,   /* the resolution */
    OPERATION_CONFIRMS,   /* reads the resolution back */
    OPERATION_ENDED       /* too late: what the broker is still to answer does not matter */
};

/* One request about one dead letter. */
struct operation {
    struct http_pending pending; /* to come: what the broker is to answer */
    struct dead_letter_api *letters;
    enum operation_kind kind;
    enum operation_state state;
    int32_t partition;
    int64_t offset;
    bool with_bytes;
    uint32_t looks;          /* of a get: how often it has been read for its schema */
    struct loop_timer again; /* the next time */
    int64_t until;           /* what the follower has to have read */
    int64_t resolution_offset;
    struct dead_letter_resolution resolution; /* texts: in the heap */
    struct text corrected;                    /* in the heap; .data NULL: none */
    struct replay_plan plan;                  /* likewise */
    struct broker_header headers[BROKER_HEADERS_MAX];
    uint32_t header_count;
    struct heap_arena heap;
};

struct dead_letter_api {
    struct cluster *cluster;     /* not to be used after dead_letter_api_drain() */
    const struct owners *owners; /* likewise */
    struct dead_letter_topic *topic;
    struct http_pendings operations;
    struct http_pendings listings; /* lists that read the topic */
};

/* list.c */
extern const struct http_pending_kind listing_kind;

/* operation.c */
extern const struct http_pending_kind operation_kind;
/* NULL: answered with 503, as there are too many. The caller settles it after its beginning or its
 * failure. */
struct operation *operation_new(struct dead_letter_api *letters, struct http_exchange *exchange,
                                enum operation_kind kind, int32_t partition, int64_t offset);
void operation_begin(struct operation *operation);
/* The follower of the partition got further. */
void operations_moved(struct dead_letter_api *letters, int32_t partition);

#endif
