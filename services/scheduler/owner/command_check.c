/* SPDX-License-Identifier: Apache-2.0 */
/* See command_check.h. */
#include "services/scheduler/owner/command_check.h"

#include "base/utf8.h"
#include "schemas/details.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

_Static_assert((int)DEAD_LETTER_HEADERS_MAX == (int)COMMAND_HEADERS_MAX,
               "all headers that a dead letter keeps");

/* ---- records ---- */

static char *copy(char *at, struct text text, struct text *ret_text)
{
    assert(text.size == 0 || text.data != NULL);
    if (text.size > 0) /* the data of an empty text may be NULL */
        memcpy(at, text.data, text.size);
    *ret_text = (struct text){at, text.size};
    return at + text.size;
}

struct pending_command *pending_command_new(const struct broker_record *record)
{
    struct broker_record kept = *record;
    struct dead_letter_cut cut;
    dead_letter_cut(&kept, &cut);
    assert(kept.header_count <= COMMAND_HEADERS_MAX);
    assert(kept.key.size <= record->key.size && kept.value.size <= record->value.size);
    size_t size = (size_t)kept.key.size + kept.value.size;
    for (uint32_t i = 0; i < kept.header_count; i++)
        size += (size_t)kept.headers[i].name.size + kept.headers[i].value.size;
    struct pending_command *pending = malloc(sizeof(*pending) + size);
    assert(pending != NULL);
    *pending = (struct pending_command){.offset = record->offset,
                                        .timestamp = record->timestamp,
                                        .cut = cut,
                                        .unreadable_from = -1,
                                        .header_count = kept.header_count};
    char *at = copy(pending->bytes, kept.key, &pending->key);
    at = copy(at, kept.value, &pending->value);
    if (kept.header_count > 0) { /* reeve's own writers send none */
        pending->headers = calloc(kept.header_count, sizeof(pending->headers[0]));
        assert(pending->headers != NULL);
    }
    for (uint32_t i = 0; i < kept.header_count; i++) {
        at = copy(at, kept.headers[i].name, &pending->headers[i].name);
        at = copy(at, kept.headers[i].value, &pending->headers[i].value);
    }
    assert(at == pending->bytes + size);
    assert(pending_command_size(pending) == size);
    return pending;
}

struct pending_command *pending_command_unreadable(int64_t offset, int64_t next_offset)
{
    char first[24];
    struct broker_record record = {.offset = next_offset - 1, .header_count = 1};
    assert(offset >= 0 && offset < next_offset);
    snprintf(first, sizeof(first), "%" PRId64, offset);
    record.headers[0] = (struct broker_header){TEXT("reeve.errors.first_offset"), text_of(first)};
    struct pending_command *pending = pending_command_new(&record);
    assert(pending->key.size == 0 && pending->value.size == 0 && pending->header_count == 1);
    pending->unreadable_from = offset;
    return pending;
}

void pending_command_free(struct pending_command *pending)
{
    assert((pending->headers != NULL) == (pending->header_count > 0));
    free(pending->headers);
    free(pending);
}

size_t pending_command_size(const struct pending_command *pending)
{
    assert(pending->header_count <= COMMAND_HEADERS_MAX);
    size_t size = (size_t)pending->key.size + pending->value.size;
    for (uint32_t i = 0; i < pending->header_count; i++)
        size += (size_t)pending->headers[i].name.size + pending->headers[i].value.size;
    return size;
}

/* ---- what a command must look like ---- */

/* What the codec has not checked: it knows sizes and UTF-8. */
static enum error_class check_content(const struct topics *topics, struct command *cmd,
                                      struct arena *arena, struct error *ret_error)
{
    command_make_canonical(cmd, arena);
    if (order_id_validate(cmd->order_id, ret_error) != ERROR_OK ||
        (cmd->kind == COMMAND_SUBMIT_ORDER &&
         details_validate(&cmd->submit_order, arena, ret_error) != ERROR_OK) ||
        command_check(cmd, ret_error) != ERROR_OK)
        return ERROR_REJECT;
    struct text reply_to = command_reply_to(cmd);
    if (text_empty(reply_to) || topics_is_reply(topics, reply_to))
        return ERROR_OK;
    return error_set(ret_error, CODE_BAD_REPLY_TOPIC,
                     "reply_to must be empty or %s.replies.APPLICATION", topics->prefix);
}

static enum error_class check_size(const struct pending_command *pending, struct error *ret_error)
{
    assert(pending->cut.value_bytes == 0 || pending->value.size < pending->cut.value_bytes);
    if (pending->cut.value_bytes > 0)
        return error_set(ret_error, CODE_TOO_LONG, "the record is %u bytes; the limit is %d",
                         pending->cut.value_bytes, DEAD_LETTER_WHOLE_MAX);
    if (pending->cut.meta_bytes > 0)
        return error_set(ret_error, CODE_TOO_LONG,
                         "the key and the headers are %u bytes; the limit is %d",
                         pending->cut.meta_bytes, DEAD_LETTER_META_MAX);
    return ERROR_OK;
}

/* The value is refused. With a schema that is known and not ours, it is a newer version's command:
 * RETRY. */
static enum error_class refuse(const struct pending_command *pending, const struct codec *codec,
                               const struct error *why, struct error *ret_error)
{
    uint64_t fingerprint;
    if (codec_peek(pending->value, &fingerprint) && codec_knows(codec, fingerprint) &&
        codec_is_newer(codec, pending->value))
        return error_set(ret_error, CODE_NEWER_VERSION, "%s: %s", error_name_of(why), why->message);
    *ret_error = *why;
    return ERROR_REJECT;
}

enum error_class pending_command_read(const struct pending_command *pending, struct codec *codec,
                                      const struct topics *topics, int32_t partition,
                                      int32_t partition_count, struct arena *arena,
                                      struct command *ret_cmd, struct error *ret_error)
{
    struct record record;
    struct error error;
    assert(partition >= 0 && partition < partition_count);
    if (pending->unreadable_from >= 0)
        return error_set(ret_error, CODE_UNREADABLE,
                         "the records from offset %" PRId64 " to %" PRId64
                         " cannot be read: their compressed batch is broken or too large",
                         pending->unreadable_from, pending->offset);
    enum error_class class = check_size(pending, &error);
    if (class == ERROR_OK)
        class = codec_decode(codec, pending->value, true, arena, &record, &error);
    if (class != ERROR_OK)
        return refuse(pending, codec, &error, ret_error);
    if (!record_kind_is_command(record.kind))
        return error_set(ret_error, CODE_NOT_A_COMMAND, "a %s is not a command",
                         record_kind_name(record.kind));
    if (!text_equal(record.command.order_id, pending->key))
        return error_set(ret_error, CODE_WRONG_KEY, "the key is not the order id of the command");
    if (check_content(topics, &record.command, arena, ret_error) != ERROR_OK)
        return ERROR_REJECT;
    if (broker_partition_of(pending->key, partition_count) != partition)
        return error_set(ret_error, CODE_WRONG_PARTITION,
                         "wrong partition: it must be murmur2(order id) modulo the number of "
                         "partitions");
    assert(record.command.kind != COMMAND_UNDECODABLE);
    *ret_cmd = record.command;
    return ERROR_OK;
}

struct command pending_command_dead(const struct pending_command *pending,
                                    const struct error *error, bool quarantined,
                                    struct arena *arena)
{
    struct text hash = arena_text(arena, text_of(pending->cut.value_xxh128));
    assert(error_is(error));
    assert(pending->header_count == 0 || pending->headers != NULL);
    return (struct command){.kind = COMMAND_UNDECODABLE,
                            .undecodable = {
                                .bytes = pending->value,
                                .key = pending->key,
                                .reason = arena_text(arena, utf8_clean(text_of(error->message),
                                                                       MESSAGE_BYTES_MAX, arena)),
                                .code = arena_text(arena, utf8_clean(text_of(error_name_of(error)),
                                                                     ERROR_NAME_BYTES_MAX, arena)),
                                .quarantined = quarantined,
                                .value_bytes = pending->cut.value_bytes,
                                .value_xxh128 = hash,
                                .meta_bytes = pending->cut.meta_bytes,
                                .headers = pending->headers,
                                .header_count = pending->header_count,
                            }};
}
