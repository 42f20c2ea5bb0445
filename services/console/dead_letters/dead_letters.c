/* SPDX-License-Identifier: Apache-2.0 */
/* The requests about one dead letter: their parameters and bodies. See dead_letters.h. */
#include "services/console/dead_letters/dead_letters.h"

#include "base/base64.h"
#include "base/numbers.h"
#include "base/utf8.h"
#include "platform/http/query.h"
#include "platform/logger.h"
#include "services/console/dead_letters/internal.h"
#include "services/console/dead_letters/render.h"
#include "services/console/render/request_body.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- one of them ---- */

static bool read_place(struct http_exchange *exchange, int32_t *ret_partition, int64_t *ret_offset)
{
    int64_t partition;
    if (number_parse(text_of(http_param(exchange, "partition")), 0, INT32_MAX, &partition) &&
        number_parse(text_of(http_param(exchange, "offset")), 0, INT64_MAX - 1, ret_offset)) {
        *ret_partition = (int32_t)partition;
        return true;
    }
    http_respond_error(exchange, 400, CODE_BAD_REQUEST,
                       "expected the partition and the offset of a dead letter");
    return false;
}

void dead_letter_api_serve_one(struct dead_letter_api *letters, struct http_exchange *exchange)
{
    int32_t partition;
    int64_t offset;
    int64_t bytes;
    if (!read_place(exchange, &partition, &offset) ||
        !http_query_int(exchange, "bytes", 0, 0, 1, &bytes))
        return;
    struct operation *operation =
        operation_new(letters, exchange, OPERATION_GET, partition, offset);
    if (operation == NULL)
        return;
    operation->with_bytes = bytes == 1;
    operation_begin(operation);
    http_pending_settle(&operation->pending);
}

/* ---- resolutions ---- */

static bool read_text(struct json_value body, const char *name, uint32_t max, struct arena *arena,
                      struct text *ret_text, struct error *ret_error)
{
    struct text text = request_body_text(body, name, arena);
    if (text.size > 0 && text.size <= max && utf8_printable(text)) {
        *ret_text = arena_text(arena, text);
        return true;
    }
    error_set(
        ret_error, CODE_BAD_FIELD,
        "%s: expected a text of 1 to %u bytes, without control characters; the topic keeps it",
        name, max);
    return false;
}

static bool read_bytes(struct json_value body, struct arena *arena, struct text *ret_value,
                       struct error *ret_error)
{
    uint32_t size;
    struct text text = request_body_text(body, "value", arena);
    char *bytes =
        text.size <= BASE64_SIZE(INPUT_BYTES_MAX) ? arena_bytes(arena, text.size + 1ull) : NULL;
    if (text.size > 0 && bytes != NULL && base64_decode(text, bytes, text.size, &size)) {
        *ret_value = (struct text){bytes, size};
        return true;
    }
    error_set(ret_error, CODE_BAD_FIELD,
              "value: expected at most %d bytes as base64url without padding", INPUT_BYTES_MAX);
    return false;
}

static bool read_json(struct dead_letter_api *letters, struct json_value body, struct arena *arena,
                      struct text *ret_value, struct error *ret_error)
{
    struct buffer buffer = {0};
    struct text name = request_body_text(body, "record", arena);
    bool encoded = replay_encode(name, json_value_member(body, TEXT("json"), NULL),
                                 letters->cluster->codec, arena, &buffer, ret_error) == ERROR_OK;
    if (encoded)
        *ret_value =
            arena_text(arena, (struct text){(const char *)buffer.data, (uint32_t)buffer.size});
    buffer_deinit(&buffer);
    return encoded;
}

static enum json_kind member_kind(struct json_value body, const char *name)
{
    return json_value_kind(json_value_member(body, text_of(name), NULL));
}

/* The operator's value, if there is one. */
static bool read_value(struct dead_letter_api *letters, struct json_value body, struct arena *arena,
                       struct text *ret_value, struct error *ret_error)
{
    enum json_kind value = member_kind(body, "value");
    enum json_kind json = member_kind(body, "json");
    enum json_kind record = member_kind(body, "record");
    if (value != JSON_KIND_NONE && json != JSON_KIND_NONE) {
        error_set(ret_error, CODE_BAD_FIELD, "expected value or json, not both");
        return false;
    }
    if ((json != JSON_KIND_NONE && json != JSON_KIND_MAP) ||
        (record != JSON_KIND_NONE && (record != JSON_KIND_TEXT || json == JSON_KIND_NONE))) {
        error_set(ret_error, CODE_BAD_FIELD,
                  "json: expected an object; record: the name of its type, such as SubmitOrder");
        return false;
    }
    if (json != JSON_KIND_NONE)
        return read_json(letters, body, arena, ret_value, ret_error);
    return value == JSON_KIND_NONE || read_bytes(body, arena, ret_value, ret_error);
}

static bool knows_fields(struct json_value body, bool replay, struct error *ret_error)
{
    static const char *const names[] = {"by", "reason", "value", "json", "record"};
    struct json_items items;
    json_items_begin(&items, body);
    while (json_items_next(&items, NULL)) {
        bool known = false;
        for (size_t i = 0; i < (replay ? sizeof(names) / sizeof(names[0]) : 2); i++)
            known = known || json_escaped_equal(items.name, text_of(names[i]));
        if (known)
            continue;
        error_set(ret_error, CODE_UNKNOWN_FIELD, "%.*s: expected %s",
                  TEXT_ARG(utf8_cut(items.name, 60)),
                  replay ? "by, reason, value, json or record" : "by or reason");
        return false;
    }
    return true;
}

static bool read_body(struct operation *operation, struct json_value body, struct error *ret_error)
{
    struct arena *arena = &operation->heap.arena;
    struct dead_letter_resolution *resolution = &operation->resolution;
    bool replay = operation->kind == OPERATION_REPLAY;
    *resolution = (struct dead_letter_resolution){.partition = operation->partition,
                                                  .offset = operation->offset,
                                                  .kind = replay ? DEAD_LETTER_REPLAYED
                                                                 : DEAD_LETTER_DISCARDED,
                                                  .replayed_partition = -1,
                                                  .replayed_offset = -1};
    return knows_fields(body, replay, ret_error) &&
           read_text(body, "by", WHO_BYTES_MAX, arena, &resolution->by, ret_error) &&
           read_text(body, "reason", MESSAGE_BYTES_MAX, arena, &resolution->reason, ret_error) &&
           (!replay ||
            read_value(operation->letters, body, arena, &operation->corrected, ret_error));
}

static void serve_resolution(struct dead_letter_api *letters, struct http_exchange *exchange,
                             enum operation_kind kind)
{
    int32_t partition;
    int64_t offset;
    struct error error;
    struct json_value body;
    if (!read_place(exchange, &partition, &offset))
        return;
    struct operation *operation = operation_new(letters, exchange, kind, partition, offset);
    if (operation == NULL)
        return;
    if (request_body_read(exchange, &operation->heap.arena, &body, &error) == ERROR_OK &&
        read_body(operation, body, &error)) {
        log_info(kind == OPERATION_REPLAY ? "an operator replays a dead letter"
                                          : "an operator discards a dead letter",
                 LOG_I64("partition", partition), LOG_I64("offset", offset),
                 LOG_TEXT("by", operation->resolution.by));
        operation_begin(operation);
    } else {
        http_pending_fail(&operation->pending, 400, CODE_BAD_REQUEST, "%s", error.message);
    }
    http_pending_settle(&operation->pending);
}

void dead_letter_api_serve_replay(struct dead_letter_api *letters, struct http_exchange *exchange)
{
    serve_resolution(letters, exchange, OPERATION_REPLAY);
}

void dead_letter_api_serve_discard(struct dead_letter_api *letters, struct http_exchange *exchange)
{
    serve_resolution(letters, exchange, OPERATION_DISCARD);
}

/* ---- life ---- */

static void on_moved(void *ctx, int32_t partition)
{
    struct dead_letter_api *letters = ctx;
    if (letters->topic != NULL) /* not while it is made */
        operations_moved(letters, partition);
}

struct dead_letter_api *dead_letter_api_new(struct cluster *cluster, const struct owners *owners)
{
    struct dead_letter_api *letters = calloc(1, sizeof(*letters));
    assert(letters != NULL);
    letters->cluster = cluster;
    letters->owners = owners;
    http_pendings_init(&letters->operations, &operation_kind, cluster_loop(cluster), NULL, NULL);
    http_pendings_init(&letters->listings, &listing_kind, cluster_loop(cluster), NULL, NULL);
    letters->topic = dead_letter_topic_new(cluster, DEAD_LETTER_LIST_MAX, on_moved, letters);
    return letters;
}

void dead_letter_api_drain(struct dead_letter_api *letters)
{
    if (letters == NULL)
        return;
    http_pendings_drain(&letters->operations);
    http_pendings_drain(&letters->listings);
    dead_letter_topic_close(letters->topic);
}

void dead_letter_api_free(struct dead_letter_api *letters)
{
    if (letters == NULL)
        return;
    assert(letters->operations.drained && letters->listings.list == NULL);
    http_pendings_deinit(&letters->operations);
    dead_letter_topic_free(letters->topic);
    free(letters);
}
