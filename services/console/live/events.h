/* SPDX-License-Identifier: Apache-2.0 */
/* Live updates as Server-Sent Events: GET /api/events.
 *
 * A stream is a position among the changes (changes.h) and a bounded buffer. The stream
 * of a client that does not read ends with the word to reload. */
#ifndef SERVICES_CONSOLE_LIVE_EVENTS_H
#define SERVICES_CONSOLE_LIVE_EVENTS_H

#include "services/console/live/changes.h"

struct events;

enum {
    EVENTS_TICK_MS = 250,        /* at most one event in this time: four per second */
    EVENTS_HEARTBEAT_MS = 10000, /* nothing else was sent for this long */
    EVENTS_SLOW_MS = 15000,      /* something waits for the client for this long */
    EVENTS_BYTES_MAX = 96 * 1024 /* of one event, about; its last change may exceed it */
};

/* All borrowed. */
struct events *events_new(struct loop *loop, struct metrics *metrics, struct changes *changes);
/* Ends the streams; accepts no more. Before changes_free() and http_server_free(). */
void events_drain(struct events *events);
void events_free(struct events *events);

/* Begins a stream. Last-Event-ID, or after=CURSOR, is the cursor to go on from; without one the
 * stream begins with the next change.
 *
 *     order=ID, state=STATE, workflow=NAME: as of GET /api/watch
 *
 *     event: changes   data: {"changes": [...]}, as GET /api/watch has them
 *     event: reset     changes were missed: read the orders again
 *     event: reload    the stream ends because the client does not read */
void events_serve(struct events *events, struct http_exchange *exchange);

#endif
