/* SPDX-License-Identifier: Apache-2.0 */
/* The latest Decisions of all partitions, for clients that watch: GET /api/watch.
 *
 * Kept in memory, within bounds, and only while a client watches: a cursor that is too old gets
 * "reset", and the client reads the orders themselves. */
#ifndef SERVICES_CONSOLE_LIVE_CHANGES_H
#define SERVICES_CONSOLE_LIVE_CHANGES_H

#include "platform/http/server.h"
#include "replica/cluster/cluster.h"
#include "services/console/model/owners.h"

#include <jansson.h>

struct changes;

enum {
    CHANGES_MAX = 8192,           /* kept at most */
    CHANGES_BYTES_MAX = 16 << 20, /* the same, in bytes */
    CHANGES_PAGE_MAX = 500,       /* in one answer */
    CHANGES_WAIT_MS = 25000,      /* then a watcher gets an empty answer */
    CHANGES_IDLE_MS = 60000,      /* no client watched for this long: nothing is kept */
    CHANGES_CURSOR_SIZE = 48
};

/* Texts are borrowed from the exchange. */
struct changes_filter {
    const char *order_id; /* NULL: all */
    const char *workflow; /* NULL: all */
    bool has_state;
    enum order_state state;
};

struct changes *changes_new(struct cluster *cluster, const struct owners *owners);
/* Answers the watchers. */
void changes_free(struct changes *changes);

/* An admitted Decision about an order, just folded. Cheap while no client watches. */
void changes_add(struct changes *changes, int32_t partition, const struct broker_record *record,
                 const struct decision *decision, const struct order *order);

/* Answers from before may be wrong: every client that watches gets "reset". */
void changes_forget(struct changes *changes);

/* Answers the exchange, now or later:
 *
 *     after=CURSOR   of the last answer; left out: begin with the next change
 *     order=ID, state=STATE, workflow=NAME   only these
 *
 *     {"changes": [...], "cursor": "...", "reset": false} */
void changes_serve(struct changes *changes, struct http_exchange *exchange);
/* Answers the watchers; accepts no more. */
void changes_drain(struct changes *changes);
uint32_t changes_watchers(const struct changes *changes);

/* ---- for the streams of events.c; changes are numbered in the order in which they come ---- */

/* The filter that the query gives. False: the exchange was answered with 400. */
bool changes_filter_read(struct http_exchange *exchange, struct changes_filter *ret_filter);

/* The number of the next change. A client watches from now on, for CHANGES_IDLE_MS. */
uint64_t changes_watch(struct changes *changes);
/* The position of a cursor; false: it is not of this process. */
bool changes_cursor_read(const struct changes *changes, const char *text, uint64_t *ret_number);
void changes_cursor_write(const struct changes *changes, uint64_t number,
                          char ret_text[CHANGES_CURSOR_SIZE]);
/* New: the changes from *number on that pass the filter, as far as a page of about `bytes_max`
 * goes; *number becomes the first one that was not looked at. NULL: they are not kept any more. */
json_t *changes_collect(struct changes *changes, const struct changes_filter *filter,
                        size_t bytes_max, uint64_t *number);

#endif
