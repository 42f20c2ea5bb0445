/* SPDX-License-Identifier: Apache-2.0 */
#include "services/console/live/events.h"

#include "platform/json_tree.h"
#include "schemas/json/json_codec.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#define RELOAD TEXT("event: reload\ndata: {}\n\n")

struct event_stream {
    struct event_stream *prev;
    struct event_stream *next;
    struct events *events;
    struct http_stream *http;
    struct changes_filter filter; /* borrowed from the request, which lives as long */
    uint64_t seen;                /* changes before this number were sent, or are not wanted */
    bool must_reset;
    int64_t sent_ms;
    int64_t read_ms; /* when nothing waited for the client */
};

struct events {
    struct loop *loop;
    struct changes *changes;
    struct event_stream *streams;
    struct loop_timer timer; /* while there are streams */
    struct metrics_counter *slow;
    bool draining;
};

/* ---- writing ---- */

/* "event: NAME", unless it is NULL, the cursor, and the data. False: the client's buffer is full.
 */
static bool write_event(struct event_stream *stream, const char *name, const char *data)
{
    char cursor[CHANGES_CURSOR_SIZE];
    char *text = NULL;
    changes_cursor_write(stream->events->changes, stream->seen, cursor);
    int size = name == NULL
                   ? asprintf(&text, ": %s\nid: %s\n\n", data, cursor)
                   : asprintf(&text, "id: %s\nevent: %s\ndata: %s\n\n", cursor, name, data);
    assert(size > 0);
    bool written = http_stream_write(stream->http, (struct text){text, (uint32_t)size});
    free(text);
    stream->sent_ms = loop_now_ms(stream->events->loop);
    return written;
}

static bool write_changes(struct event_stream *stream, json_t *list)
{
    json_t *body = json_object();
    json_codec_put(body, "changes", list);
    /* No line of JSON ends before the object does. */
    char *text = json_tree_print(body, JSON_COMPACT | JSON_REAL_PRECISION(15));
    assert(text != NULL && strchr(text, '\n') == NULL);
    /* An event that no buffer can hold is not sent; the client reads the orders instead. */
    bool fits = strlen(text) + CHANGES_CURSOR_SIZE + 64 <= HTTP_STREAM_BUFFER_MAX;
    bool written = fits ? write_event(stream, "changes", text) : write_event(stream, "reset", "{}");
    free(text);
    json_decref(body);
    return written;
}

/* One event at most. False: the client's buffer is full. */
static bool write_next(struct event_stream *stream)
{
    struct changes *changes = stream->events->changes;
    uint64_t next = changes_watch(changes);
    json_t *list = stream->must_reset
                       ? NULL
                       : changes_collect(changes, &stream->filter, EVENTS_BYTES_MAX, &stream->seen);
    if (list == NULL) {
        stream->seen = next;
        stream->must_reset = false;
        return write_event(stream, "reset", "{}");
    }
    if (json_array_size(list) > 0)
        return write_changes(stream, list);
    json_decref(list);
    return true;
}

/* ---- streams ---- */

static void forget(void *ctx)
{
    struct event_stream *stream = ctx;
    struct events *events = stream->events;
    DL_DELETE(events->streams, stream);
    if (events->streams == NULL)
        loop_timer_cancel(events->loop, &events->timer);
    free(stream);
}

static void end(struct event_stream *stream, struct text last)
{
    http_stream_end(stream->http, last);
    forget(stream);
}

static void end_slow(struct event_stream *stream)
{
    metrics_add(stream->events->slow, 1);
    end(stream, RELOAD);
}

static void serve_stream(struct event_stream *stream, int64_t now)
{
    if (http_stream_gone(stream->http)) {
        end(stream, TEXT(""));
        return;
    }
    if (http_stream_pending(stream->http) == 0)
        stream->read_ms = now;
    if (now - stream->read_ms >= EVENTS_SLOW_MS || !write_next(stream)) {
        end_slow(stream);
        return;
    }
    if (now - stream->sent_ms >= EVENTS_HEARTBEAT_MS && !write_event(stream, NULL, "heartbeat"))
        end_slow(stream);
}

static void on_tick(void *ctx)
{
    struct events *events = ctx;
    struct event_stream *stream;
    struct event_stream *next;
    int64_t now = loop_now_ms(events->loop);
    loop_timer_after(events->loop, &events->timer, EVENTS_TICK_MS);
    DL_FOREACH_SAFE(events->streams, stream, next)
        serve_stream(stream, now);
}

void events_serve(struct events *events, struct http_exchange *exchange)
{
    struct changes_filter filter;
    const char *cursor = http_header(exchange, "Last-Event-ID");
    if (!changes_filter_read(exchange, &filter))
        return;
    uint64_t next = changes_watch(events->changes);
    if (cursor == NULL)
        cursor = http_query(exchange, "after");
    if (events->draining) {
        http_respond_error(exchange, 503, CODE_SHUTTING_DOWN, HTTP_SHUTTING_DOWN);
        return;
    }
    struct event_stream *stream = calloc(1, sizeof(*stream));
    assert(stream != NULL);
    stream->events = events;
    stream->filter = filter;
    stream->seen = next;
    stream->must_reset =
        cursor != NULL && !changes_cursor_read(events->changes, cursor, &stream->seen);
    stream->http = http_respond_stream(exchange, "text/event-stream", forget, stream);
    if (stream->http == NULL) {
        free(stream);
        return;
    }
    stream->read_ms = loop_now_ms(events->loop);
    DL_APPEND(events->streams, stream);
    if (!loop_timer_armed(&events->timer))
        loop_timer_after(events->loop, &events->timer, EVENTS_TICK_MS);
    write_event(stream, NULL, "reeve"); /* the cursor, and proof that it works */
}

/* ---- life ---- */

struct events *events_new(struct loop *loop, struct metrics *metrics, struct changes *changes)
{
    struct events *events = calloc(1, sizeof(*events));
    assert(events != NULL);
    events->loop = loop;
    events->changes = changes;
    events->slow = metrics_counter(metrics, "reeve_console_slow_streams_total",
                                   "Streams of events that ended because the client did not read.",
                                   METRICS_NO_LABELS);
    loop_timer_init(&events->timer, on_tick, events);
    return events;
}

void events_drain(struct events *events)
{
    struct event_stream *stream;
    struct event_stream *next;
    events->draining = true;
    DL_FOREACH_SAFE(events->streams, stream, next)
        end(stream, TEXT(""));
}

void events_free(struct events *events)
{
    if (events == NULL)
        return;
    events_drain(events);
    free(events);
}
