/* SPDX-License-Identifier: Apache-2.0 */
/* GET /api/dead-letters: first those that the index holds, the newest first; then, partition by
 * partition and the newest first in each, the older ones, which are read from the topic in ranges
 * of some hundred offsets.
 *
 * The topic is read only for a cursor that is behind the index, so that the first pages are cheap.
 * Whether an older one is open is known once everything behind it was searched for resolutions.
 * After a restart, a request that goes on far back reads that first. Each request reads at most
 * SCAN_MAX records: its answer may have fewer dead letters than `limit`, or none, and a cursor. */
#include "platform/http/json_answer.h"
#include "platform/http/query.h"
#include "schemas/json/json_codec.h"
#include "services/console/dead_letters/internal.h"
#include "services/console/dead_letters/render.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    LIST_LIMIT = 50,
    LISTINGS_MAX = 8,   /* that read the topic */
    RANGE = 500,        /* offsets that are read at once; their entries are in memory */
    BLIND_RANGE = 5000, /* the same, where only resolutions are wanted */
    SCAN_MAX = 20000,
    SCAN_MS = 20000
};

struct listing {
    struct http_pending pending; /* once it reads the topic */
    struct dead_letter_api *letters;
    struct http_exchange *exchange; /* before */
    struct dead_letter_filter filter;
    char topic[2 * TOPIC_NAME_SIZE]; /* what the filter's texts are in */
    char code[DEAD_LETTER_CODE_KEPT + 1];
    uint32_t limit;
    json_t *list;
    bool more;
    struct dead_letter_cursor at; /* where it is */
    bool goes_beyond;             /* the index: an earlier answer ended there */
    int64_t from;                 /* the range that is read */
    int64_t left;                 /* offsets that may still be read */
    struct dead_letter_entry *entries[RANGE];
    uint32_t entry_count;
};

/* ---- parameters ---- */

/* `submissions` is short for `<p>.submissions`. */
static struct text read_topic(const struct cluster *cluster, const char *given,
                              char ret_name[2 * TOPIC_NAME_SIZE])
{
    const char *prefix = cluster->topics.prefix;
    if (given == NULL || given[0] == '\0')
        return (struct text){0};
    size_t size = strlen(prefix);
    bool whole = strncmp(given, prefix, size) == 0 && given[size] == '.';
    snprintf(ret_name, (size_t)2 * TOPIC_NAME_SIZE, "%s%s%.*s", whole ? "" : prefix,
             whole ? "" : ".", TOPIC_NAME_SIZE, given);
    return text_of(ret_name);
}

static bool read_parameters(struct http_exchange *exchange, struct listing *listing)
{
    int64_t all, limit;
    struct dead_letter_filter *filter = &listing->filter;
    const char *cursor = http_query(exchange, "cursor");
    struct text code, topic;
    bool given;
    if (!http_query_time(exchange, "since", &given, &filter->since) ||
        !http_query_time(exchange, "until", &given, &filter->until) ||
        !http_query_int(exchange, "all", 0, 0, 1, &all) ||
        !http_query_int(exchange, "limit", LIST_LIMIT, 1, DEAD_LETTER_PAGE_MAX, &limit) ||
        !http_query_text(exchange, "code", DEAD_LETTER_CODE_KEPT, &code) ||
        !http_query_text(exchange, "topic", TOPIC_NAME_SIZE - 1, &topic))
        return false;
    snprintf(listing->code, sizeof(listing->code), "%.*s", TEXT_ARG(code));
    filter->code = text_of(listing->code);
    filter->topic =
        read_topic(listing->letters->cluster, http_query(exchange, "topic"), listing->topic);
    filter->all = all == 1;
    listing->limit = (uint32_t)limit;
    filter->has_after = cursor != NULL && cursor[0] != '\0';
    if (filter->has_after && !dead_letter_cursor_decode(text_of(cursor), &filter->after)) {
        http_respond_error(exchange, 400, CODE_BAD_REQUEST,
                           "cursor: expected the cursor of an earlier answer");
        return false;
    }
    if (filter->until == 0 || filter->since < filter->until)
        return true;
    http_respond_error(exchange, 400, CODE_BAD_REQUEST, "since: expected a time before until");
    return false;
}

/* ---- answers ---- */

static struct listing *listing_of(struct http_pending *pending)
{
    return (struct listing *)pending; /* its first member */
}

static void drop_entries(struct listing *listing)
{
    while (listing->entry_count > 0)
        dead_letter_entry_free(listing->entries[--listing->entry_count]);
}

static void listing_free(struct http_pending *pending)
{
    struct listing *listing = listing_of(pending);
    drop_entries(listing);
    json_decref(listing->list);
    free(listing);
}

static void stop_reading(struct http_pending *pending)
{
    struct listing *listing = listing_of(pending);
    dead_letter_topic_cancel(listing->letters->topic, listing);
}

static bool is_reading(const struct listing *listing)
{
    return listing->pending.set != NULL;
}

static void settle(struct listing *listing)
{
    if (is_reading(listing))
        http_pending_settle(&listing->pending);
    else
        listing_free(&listing->pending);
}

static struct http_exchange *take_exchange(struct listing *listing)
{
    return is_reading(listing) ? http_pending_take(&listing->pending) : listing->exchange;
}

static void answer(struct listing *listing)
{
    char cursor[DEAD_LETTER_CURSOR_SIZE];
    const struct dead_letter_topic *topic = listing->letters->topic;
    const struct dead_letter_index *index = dead_letter_topic_index(topic);
    json_t *body = json_object();
    json_codec_put(body, "dead_letters", json_incref(listing->list));
    if (listing->more)
        dead_letter_cursor_encode(&listing->at, cursor);
    json_codec_put(body, "next", listing->more ? json_string(cursor) : json_null());
    json_codec_put(body, "open", json_integer(dead_letter_index_open(index)));
    json_codec_put(body, "forgotten", json_integer((json_int_t)dead_letter_index_forgotten(index)));
    dead_letter_topic_put_incomplete(topic, body);
    owners_respond(listing->letters->owners, take_exchange(listing), body);
}

/* The letters found so far are an answer. */
static void on_late(struct http_pending *pending)
{
    struct listing *listing = listing_of(pending);
    listing->more = true;
    answer(listing);
}

const struct http_pending_kind listing_kind = {
    .max = LISTINGS_MAX,
    .shared = true,
    .busy = "too many lists of old dead letters are being read: try again later",
    .draining = HTTP_SHUTTING_DOWN,
    .late = on_late,
    .cancel = stop_reading,
    .free = listing_free};

/* ---- older ones, from the topic ---- */

static void proceed(struct listing *listing);

static void on_letter(void *ctx, const struct broker_record *record,
                      const struct dead_letter_reading *reading)
{
    struct listing *listing = ctx;
    if (listing->entry_count < RANGE)
        listing->entries[listing->entry_count++] = dead_letter_entry_new(record, reading);
}

/* The newest first, until the page is full. */
static void list_range(struct listing *listing, bool is_first)
{
    const struct dead_letter_filter *filter = &listing->filter;
    bool over = is_first || (listing->entry_count > 0 &&
                             listing->entries[listing->entry_count - 1]->at < filter->since);
    listing->at.before = over ? 0 : listing->from;
    for (uint32_t i = listing->entry_count; i > 0; i--) {
        const struct dead_letter_entry *entry = listing->entries[i - 1];
        enum dead_letter_state state =
            dead_letter_topic_state(listing->letters->topic, entry->partition, entry->offset);
        if (!dead_letter_filter_takes(filter, entry, state == DEAD_LETTER_STATE_OPEN))
            continue;
        json_array_append_new(listing->list, render_dead_letter_entry(entry, state));
        if (json_array_size(listing->list) < listing->limit)
            continue;
        listing->at.before = entry->offset;
        break;
    }
    drop_entries(listing);
}

static void go_on(struct listing *listing, const struct error *error)
{
    if (error == NULL)
        proceed(listing);
    else
        http_respond_error_of(take_exchange(listing), 503, error);
    settle(listing);
}

static void on_range(void *ctx, bool is_first, const struct error *error)
{
    struct listing *listing = ctx;
    if (error == NULL)
        list_range(listing, is_first);
    go_on(listing, error);
}

static void on_searched(void *ctx, bool is_first, const struct error *error)
{
    struct listing *listing = ctx;
    (void)is_first;
    go_on(listing, error);
}

static void read_range(struct listing *listing)
{
    struct dead_letter_topic *topic = listing->letters->topic;
    int32_t partition = listing->at.older_partition;
    int64_t before = listing->at.before;
    int64_t known_from = dead_letter_topic_known_from(topic, partition);
    if (known_from > before) {
        int64_t from = known_from - before > BLIND_RANGE ? known_from - BLIND_RANGE : before;
        listing->left -= known_from - from;
        dead_letter_topic_scan(topic, partition, from, known_from, NULL, on_searched, listing);
        return;
    }
    listing->from = before > RANGE ? before - RANGE : 0;
    listing->left -= before - listing->from;
    dead_letter_topic_scan(topic, partition, listing->from, before, on_letter, on_range, listing);
}

/* False: answered, there are too many. */
static bool begin_reading(struct listing *listing)
{
    struct http_pendings *listings = &listing->letters->listings;
    if (is_reading(listing))
        return true;
    if (!http_pendings_admit(listings, listing->exchange))
        return false;
    http_pending_begin(listings, &listing->pending, listing->exchange, SCAN_MS);
    listing->left = SCAN_MAX;
    return true;
}

/* Whether this partition has older ones that the filter may take. */
static bool has_older(const struct listing *listing)
{
    const struct dead_letter_topic *topic = listing->letters->topic;
    int32_t partition = listing->at.older_partition;
    const struct dead_letter_entry *oldest =
        dead_letter_index_oldest(dead_letter_topic_index(topic), partition);
    return listing->at.before > dead_letter_topic_low(topic, partition) &&
           (oldest == NULL || oldest->at >= listing->filter.since);
}

static void proceed(struct listing *listing)
{
    const struct dead_letter_topic *topic = listing->letters->topic;
    int32_t count = dead_letter_topic_partitions(topic);
    while (listing->at.older_partition < count) {
        int64_t end = dead_letter_topic_older_end(topic, listing->at.older_partition);
        if (listing->at.before > end)
            listing->at.before = end;
        if (has_older(listing))
            break;
        listing->at.older_partition++;
        listing->at.before = INT64_MAX;
    }
    bool full = json_array_size(listing->list) >= listing->limit;
    bool enough = is_reading(listing) ? listing->left <= 0 : !listing->goes_beyond;
    listing->more = listing->at.older_partition < count;
    if (!listing->more || full || enough)
        answer(listing);
    else if (begin_reading(listing))
        read_range(listing);
}

/* ---- those of the index ---- */

/* False: there are more of them than the page takes. */
static bool list_index(struct listing *listing)
{
    bool more;
    const struct dead_letter_index *index = dead_letter_topic_index(listing->letters->topic);
    struct dead_letter_filter *filter = &listing->filter;
    const struct dead_letter_entry **entries = calloc(listing->limit, sizeof(entries[0]));
    assert(entries != NULL);
    uint32_t count = dead_letter_index_page(index, filter, listing->limit, entries, &more);
    for (uint32_t i = 0; i < count; i++)
        json_array_append_new(listing->list, render_dead_letter_entry(
                                                 entries[i], dead_letter_entry_state(entries[i])));
    if (count > 0) {
        const struct dead_letter_entry *last = entries[count - 1];
        filter->has_after = true;
        filter->after = (struct dead_letter_cursor){
            .at = last->at, .partition = last->partition, .offset = last->offset};
    }
    free(entries);
    return !more;
}

static void begin(struct listing *listing)
{
    static const struct dead_letter_cursor none = {
        .at = INT64_MAX, .partition = INT32_MAX, .offset = INT64_MAX};
    struct dead_letter_filter *filter = &listing->filter;
    listing->goes_beyond = filter->has_after && filter->after.is_beyond;
    listing->more = !listing->goes_beyond && !list_index(listing);
    listing->at = filter->has_after ? filter->after : none;
    if (listing->more) {
        answer(listing);
        return;
    }
    if (!listing->goes_beyond)
        listing->at.before = INT64_MAX;
    listing->at.is_beyond = true;
    proceed(listing);
}

void dead_letter_api_serve_list(struct dead_letter_api *letters, struct http_exchange *exchange)
{
    struct listing *listing = calloc(1, sizeof(*listing));
    assert(listing != NULL);
    listing->letters = letters;
    listing->exchange = exchange;
    listing->list = json_array();
    if (read_parameters(exchange, listing))
        begin(listing);
    settle(listing);
}
