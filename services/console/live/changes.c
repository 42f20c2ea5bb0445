/* SPDX-License-Identifier: Apache-2.0 */
#include "services/console/live/changes.h"

#include "base/numbers.h"
#include "platform/http/pending.h"
#include "platform/http/query.h"
#include "schemas/event_text.h"
#include "schemas/json/json_codec.h"
#include "services/console/render/render.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <utlist.h>

enum { TICK_MS = 500, PAGE_BYTES_MAX = 1 << 20, RENDERED_MORE = 500 /* names, text */ };

/* A Decision as its bytes: it is decoded when a watcher gets it. */
struct change {
    int32_t partition;
    int64_t offset;
    enum order_state state; /* after it */
    bool exists; /* the order; else the Decision refused a command about an unknown order */
    char workflow[BODY_NAME_BYTES_MAX + 1];
    char order_id[ORDER_ID_BYTES_MAX + 1];
    char *value;
    uint32_t value_size;
};

struct watcher {
    struct http_pending pending;
    uint64_t seen;                /* it needs no change before this number */
    struct changes_filter filter; /* borrowed from the exchange */
};

struct changes {
    struct cluster *cluster;
    const struct owners *owners;
    uint64_t epoch; /* distinguishes this process's cursors from those of others */
    struct change *ring;
    uint64_t first; /* number of the oldest one that is kept */
    uint64_t next;  /* number of the next one */
    size_t bytes;
    int64_t watched_ms; /* when a client last watched; 0 = never */
    struct http_pendings watchers;
    struct loop_deferred work;
    struct loop_timer timer;
    struct heap_arena heap;
};

static struct change *change_at(const struct changes *changes, uint64_t number)
{
    assert(number >= changes->first && number < changes->next);
    return &changes->ring[number % CHANGES_MAX];
}

static void forget_first(struct changes *changes)
{
    struct change *change = change_at(changes, changes->first);
    assert(changes->bytes >= change->value_size);
    changes->bytes -= change->value_size;
    changes->first++;
    free(change->value);
    change->value = NULL;
}

static void forget_all(struct changes *changes)
{
    while (changes->first < changes->next)
        forget_first(changes);
}

/* ---- answers ---- */

static bool is_for(const struct changes_filter *filter, const struct change *change)
{
    if (filter->order_id != NULL && strcmp(filter->order_id, change->order_id) != 0)
        return false;
    if (filter->workflow != NULL && strcmp(filter->workflow, change->workflow) != 0)
        return false;
    return !filter->has_state || (change->exists && filter->state == change->state);
}

static json_t *render_change(struct changes *changes, const struct change *change)
{
    struct record record;
    struct error error;
    struct text value = {change->value, change->value_size};
    heap_arena_reset(&changes->heap);
    if (codec_decode(changes->cluster->codec, value, true, &changes->heap.arena, &record, &error) !=
            ERROR_OK ||
        record.kind != RECORD_DECISION)
        return NULL; /* impossible: it was folded */
    json_t *object =
        render_decision(&record.decision, change->partition, change->offset, &changes->heap.arena);
    json_codec_put(object, "workflow", json_codec_text_or_null(text_of(change->workflow)));
    json_codec_put(object, "words",
                   json_codec_text(event_text_of_decision(&record.decision, &changes->heap.arena)));
    return object;
}

void changes_cursor_write(const struct changes *changes, uint64_t number,
                          char ret_text[CHANGES_CURSOR_SIZE])
{
    snprintf(ret_text, CHANGES_CURSOR_SIZE, "%" PRIx64 ".%" PRIx64, changes->epoch, number);
}

static void answer(const struct changes *changes, struct http_exchange *exchange, json_t *list,
                   uint64_t next, bool reset)
{
    char cursor[CHANGES_CURSOR_SIZE];
    json_t *body = json_object();
    changes_cursor_write(changes, next, cursor);
    json_codec_put(body, "changes", list);
    json_codec_put(body, "cursor", json_string(cursor));
    json_codec_put(body, "reset", json_boolean(reset));
    owners_respond(changes->owners, exchange, body);
}

json_t *changes_collect(struct changes *changes, const struct changes_filter *filter,
                        size_t bytes_max, uint64_t *number)
{
    size_t bytes = 0;
    if (*number < changes->first)
        return NULL;
    json_t *list = json_array();
    for (; *number < changes->next && json_array_size(list) < CHANGES_PAGE_MAX && bytes < bytes_max;
         ++*number) {
        const struct change *change = change_at(changes, *number);
        json_t *object = is_for(filter, change) ? render_change(changes, change) : NULL;
        if (object == NULL)
            continue;
        json_array_append_new(list, object);
        bytes += change->value_size + RENDERED_MORE;
    }
    return list;
}

static void watcher_answer(struct watcher *watcher, json_t *list, uint64_t next, bool reset)
{
    const struct changes *changes = watcher->pending.set->ctx;
    assert(next <= changes->next);
    answer(changes, http_pending_take(&watcher->pending), list, next, reset);
}

static void on_late(struct http_pending *pending)
{
    struct watcher *watcher = (struct watcher *)pending; /* its first member */
    watcher_answer(watcher, json_array(), watcher->seen, false);
}

static const struct http_pending_kind watcher_kind = {.late = on_late};

/* Answers if there is a change for the watcher. */
static void serve_watcher(struct changes *changes, struct watcher *watcher)
{
    if (watcher->seen < changes->first) {
        watcher_answer(watcher, json_array(), changes->next, true);
        return;
    }
    while (watcher->seen < changes->next &&
           !is_for(&watcher->filter, change_at(changes, watcher->seen)))
        watcher->seen++;
    if (watcher->seen == changes->next)
        return;
    uint64_t next = watcher->seen;
    json_t *list = changes_collect(changes, &watcher->filter, PAGE_BYTES_MAX, &next);
    watcher_answer(watcher, list, next, false);
}

static void serve_watchers(void *ctx)
{
    struct changes *changes = ctx;
    struct http_pending *pending, *next;
    DL_FOREACH_SAFE(changes->watchers.list, pending, next) {
        serve_watcher(changes, (struct watcher *)pending);
        http_pending_settle(pending);
    }
}

static void on_tick(void *ctx)
{
    struct changes *changes = ctx;
    int64_t now = cluster_now_ms(changes->cluster);
    if (changes->watchers.list != NULL)
        changes->watched_ms = now;
    if (now - changes->watched_ms > CHANGES_IDLE_MS)
        forget_all(changes);
    else
        loop_timer_after(cluster_loop(changes->cluster), &changes->timer, TICK_MS);
}

/* ---- changes ---- */

static void keep(char *ret_text, size_t size, struct text text)
{
    assert(text.size < size);
    if (text.size > 0)
        memcpy(ret_text, text.data, text.size);
    ret_text[text.size] = '\0';
}

void changes_add(struct changes *changes, int32_t partition, const struct broker_record *record,
                 const struct decision *decision, const struct order *order)
{
    if (!loop_timer_armed(&changes->timer)) {
        changes->first = ++changes->next; /* a client that returns has missed it */
        return;
    }
    if (changes->next - changes->first == CHANGES_MAX)
        forget_first(changes);
    struct change *change = &changes->ring[changes->next % CHANGES_MAX];
    *change = (struct change){.partition = partition,
                              .offset = record->offset,
                              .state = decision->order_state,
                              .exists = order != NULL,
                              .value = malloc(record->value.size),
                              .value_size = record->value.size};
    assert(change->value != NULL);
    memcpy(change->value, record->value.data, record->value.size);
    keep(change->order_id, sizeof(change->order_id), decision->order_id);
    if (order != NULL)
        keep(change->workflow, sizeof(change->workflow), order->details.workflow);
    changes->next++;
    changes->bytes += change->value_size;
    while (changes->bytes > CHANGES_BYTES_MAX)
        forget_first(changes);
    if (changes->watchers.list != NULL)
        loop_defer(cluster_loop(changes->cluster), &changes->work);
}

void changes_forget(struct changes *changes)
{
    forget_all(changes);
    changes->first = ++changes->next;
    if (changes->watchers.list != NULL)
        loop_defer(cluster_loop(changes->cluster), &changes->work);
}

/* ---- requests ---- */

bool changes_cursor_read(const struct changes *changes, const char *text, uint64_t *ret_number)
{
    char again[CHANGES_CURSOR_SIZE];
    struct text rest = text_of(text);
    uint64_t epoch = 0, after = 0;
    number_take_hex(&rest, &epoch);
    rest = rest.size > 0 ? text_from(rest, 1) : rest;
    number_take_hex(&rest, &after);
    snprintf(again, sizeof(again), "%" PRIx64 ".%" PRIx64, epoch, after);
    if (strcmp(text, again) != 0 || epoch != changes->epoch || after > changes->next)
        return false;
    *ret_number = after;
    return true;
}

uint64_t changes_watch(struct changes *changes)
{
    struct loop *loop = cluster_loop(changes->cluster);
    changes->watched_ms = loop_now_ms(loop);
    if (!loop_timer_armed(&changes->timer) && !changes->watchers.closed)
        loop_timer_after(loop, &changes->timer, TICK_MS);
    return changes->next;
}

bool changes_filter_read(struct http_exchange *exchange, struct changes_filter *ret_filter)
{
    struct changes_filter filter = {.order_id = http_query(exchange, "order"),
                                    .workflow = http_query(exchange, "workflow")};
    struct text text;
    uint32_t state = 0;
    if (!http_query_text(exchange, "order", ORDER_ID_BYTES_MAX, &text) ||
        !http_query_text(exchange, "workflow", BODY_NAME_BYTES_MAX, &text) ||
        !http_query_enum(exchange, "state", &order_state_names, &filter.has_state, &state))
        return false;
    filter.state = (enum order_state)state;
    *ret_filter = filter;
    return true;
}

void changes_serve(struct changes *changes, struct http_exchange *exchange)
{
    struct changes_filter filter;
    const char *cursor = http_query(exchange, "after");
    uint64_t seen = changes->next;
    bool known = cursor == NULL || changes_cursor_read(changes, cursor, &seen);
    if (!changes_filter_read(exchange, &filter) ||
        !http_pendings_admit(&changes->watchers, exchange))
        return;
    changes_watch(changes);
    if (cursor == NULL || !known) {
        answer(changes, exchange, json_array(), changes->next, !known);
        return;
    }
    struct watcher *watcher = calloc(1, sizeof(*watcher));
    assert(watcher != NULL);
    watcher->seen = seen;
    watcher->filter = filter;
    if (!http_pending_wait(&changes->watchers, &watcher->pending, exchange, CHANGES_WAIT_MS)) {
        free(watcher);
        return;
    }
    serve_watcher(changes, watcher);
    http_pending_settle(&watcher->pending);
}

void changes_drain(struct changes *changes)
{
    http_pendings_drain(&changes->watchers);
}

uint32_t changes_watchers(const struct changes *changes)
{
    return changes->watchers.count;
}

/* ---- life ---- */

struct changes *changes_new(struct cluster *cluster, const struct owners *owners)
{
    struct changes *changes = calloc(1, sizeof(*changes));
    assert(changes != NULL);
    changes->cluster = cluster;
    changes->owners = owners;
    changes->epoch = (uint64_t)clock_wall_ms(cluster->service->clock);
    changes->ring = calloc(CHANGES_MAX, sizeof(*changes->ring));
    assert(changes->ring != NULL);
    heap_arena_init(&changes->heap, 16 * 1024);
    http_pendings_init(&changes->watchers, &watcher_kind, cluster_loop(cluster), NULL, changes);
    loop_deferred_init(&changes->work, serve_watchers, changes);
    loop_timer_init(&changes->timer, on_tick, changes);
    return changes;
}

void changes_free(struct changes *changes)
{
    if (changes == NULL)
        return;
    changes_drain(changes);
    loop_defer_cancel(cluster_loop(changes->cluster), &changes->work);
    loop_timer_cancel(cluster_loop(changes->cluster), &changes->timer);
    forget_all(changes);
    heap_arena_deinit(&changes->heap);
    free(changes->ring);
    free(changes);
}
