/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the dead letters' API share. */
#ifndef SERVICES_CONSOLE_DEAD_LETTERS_INTERNAL_H
#define SERVICES_CONSOLE_DEAD_LETTERS_INTERNAL_H

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
    OPERATION_ENDED       /* waits for an answer of the broker, which does not matter any more */
};

/* One request about one dead letter. */
struct operation {
    struct operation *prev;
    struct operation *next;
    struct dead_letter_api *letters;
    struct http_exchange *exchange; /* NULL: answered */
    enum operation_kind kind;
    enum operation_state state;
    int32_t partition;
    int64_t offset;
    bool with_bytes;
    uint32_t calls; /* of the broker that are to answer */
    int64_t until;  /* what the follower has to have read */
    int64_t resolution_offset;
    struct dead_letter_resolution resolution; /* texts: in the heap */
    struct text corrected;                    /* in the heap; .data NULL: none */
    struct replay_plan plan;                  /* likewise */
    struct broker_header headers[BROKER_HEADERS_MAX];
    uint32_t header_count;
    struct heap_arena heap;
    struct loop_timer timer;
};

struct dead_letter_api {
    struct cluster *cluster;     /* not to be used after dead_letter_api_drain() */
    const struct owners *owners; /* likewise */
    struct loop *loop;
    struct dead_letter_topic *topic;
    struct operation *operations;
    uint32_t count;
    struct listing *listings; /* lists that read the topic */
    uint32_t listing_count;
    bool draining;
};

/* list.c */
/* Answers the lists that read the topic. */
void listings_drain(struct dead_letter_api *letters);

/* operation.c */
/* NULL: answered with 503, as there are too many. */
struct operation *operation_new(struct dead_letter_api *letters, struct http_exchange *exchange,
                                enum operation_kind kind, int32_t partition, int64_t offset);
void operation_begin(struct operation *operation);
/* Answers the exchange if it has no answer yet; it goes on without one where something may have
 * been appended. */
void operation_fail(struct operation *operation, int status, enum error_code code,
                    const char *format, ...) __attribute__((format(printf, 4, 5)));
void operation_free(struct operation *operation);
/* The follower of the partition got further. */
void operations_moved(struct dead_letter_api *letters, int32_t partition);

#endif
