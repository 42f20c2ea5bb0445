/* SPDX-License-Identifier: Apache-2.0 */
/* Exchanges that are answered later: each is held with a deadline and answered once, by whatever
 * comes first: what it waits for, its deadline, its client that has gone, or the end of the
 * service. What it waits for may come after the answer: acknowledgements cannot be cancelled. The
 * request is freed once it is answered and nothing is to come.
 *
 * An answer is taken and sent in a callback of the user, which then settles the request as the last
 * thing that it does with it. Loop thread only. */
#ifndef PLATFORM_HTTP_PENDING_H
#define PLATFORM_HTTP_PENDING_H

#include "platform/http/server.h"

/* The first member of the user's request, which is a block of the heap, zeroed before it begins. */
struct http_pending {
    struct http_pending *prev, *next;
    struct http_pendings *set;
    struct http_exchange *exchange; /* NULL: answered */
    struct loop_timer timer;
    uint32_t to_come; /* calls that will name it and cannot be cancelled; the user counts them */
};

/* What the requests of a set have in common. None of its functions settles the request. */
struct http_pending_kind {
    uint32_t max;     /* 503 Busy beyond; 0: no limit */
    bool shared;      /* and beyond a client's share of it, as of those that may wait (waits.c) */
    const char *busy; /* the detail of that answer */
    /* Detail of the 503 ShuttingDown for those that wait when the service ends. NULL: they get the
     * answer of late(), which then has to answer. */
    const char *draining;
    /* The deadline has passed, or the client has gone: answers, or has another deadline set. NULL:
     * there are no deadlines. */
    void (*late)(struct http_pending *pending);
    /* Nothing of what can be cancelled may name the request from now on: it is freed, or the
     * service ends. Not called once the set was drained. NULL: there is nothing to cancel. */
    void (*cancel)(struct http_pending *pending);
    void (*free)(struct http_pending *pending); /* NULL: free() does */
};

struct http_pendings {
    const struct http_pending_kind *kind;
    struct loop *loop;
    void (*settled)(void *ctx);
    void *ctx;
    struct http_pending *list; /* those that are not freed; the oldest first */
    uint32_t count;
    bool closed; /* none is admitted */
    bool drained;
};

/* `settled` (may be NULL) is called each time that the set is closed and empty. */
void http_pendings_init(struct http_pendings *set, const struct http_pending_kind *kind,
                        struct loop *loop, void (*settled)(void *ctx), void *ctx);
/* Whether the set takes one more. False: the exchange was answered. */
bool http_pendings_admit(const struct http_pendings *set, struct http_exchange *exchange);

/* Holds the exchange for `wait_ms`; 0: without a deadline. The set has admitted it. */
void http_pending_begin(struct http_pendings *set, struct http_pending *pending,
                        struct http_exchange *exchange, int64_t wait_ms);
/* The same because the client asked for it: takes a share of those that may wait, and is late() as
 * well once the client has gone. False: it was answered, as its client has no share left, and the
 * request is the caller's. */
bool http_pending_wait(struct http_pendings *set, struct http_pending *pending,
                       struct http_exchange *exchange, int64_t wait_ms);
/* Moves the deadline. 0: late() comes in this turn of the loop or in the next. */
void http_pending_late_in(struct http_pending *pending, int64_t wait_ms);
/* The exchange, which the caller answers now. NULL: it was answered. */
struct http_exchange *http_pending_take(struct http_pending *pending);
/* Answers with a problem if it has no answer yet. */
void http_pending_fail(struct http_pending *pending, int status, enum error_code code,
                       const char *format, ...) __attribute__((format(printf, 4, 5)));
/* Frees it if it is answered and nothing is to come. */
void http_pending_settle(struct http_pending *pending);

/* None is admitted any more; those that are held go on. */
void http_pendings_close(struct http_pendings *set);
/* Closes, answers and cancels all. Those of which something is to come are freed then. */
void http_pendings_drain(struct http_pendings *set);
/* Answers and frees all: nothing is to come any more. */
void http_pendings_deinit(struct http_pendings *set);

#endif
