/* SPDX-License-Identifier: Apache-2.0 */
/* See dead_letters.h. */
#include "services/agent/core/dead_letters.h"

#include "platform/logger.h"

#include <assert.h>
#include <stdlib.h>
#include <utlist.h>

enum { RECORD_BYTES = 1024, RETRY_MS = 1000 };

struct kept_record {
    struct kept_record *prev, *next;
    struct dead_letters *letters;
    struct heap_arena memory;
    struct broker_record record;
    struct request_receipt receipt;
    struct error why; /* of a dead letter */
    bool in_flight;   /* appended and not acknowledged */
};

struct dead_letters {
    struct agent *agent;
    struct kept_record *dead;
    uint32_t dead_count;
    struct kept_record *waiting; /* each for the schemas, which are being read to their end */
    struct loop_timer timer;
    const struct dead_letters_ops *ops;
    void *ctx;
};

static void on_timer(void *ctx);

struct dead_letters *dead_letters_new(struct agent *agent, const struct dead_letters_ops *ops,
                                      void *ctx)
{
    struct dead_letters *letters = calloc(1, sizeof(*letters));
    assert(letters != NULL);
    *letters = (struct dead_letters){.agent = agent, .ops = ops, .ctx = ctx};
    loop_timer_init(&letters->timer, on_timer, letters);
    return letters;
}

/* ---- records ---- */

static struct kept_record *keep(struct dead_letters *letters, const struct broker_record *record,
                                const struct request_receipt *receipt)
{
    struct kept_record *kept = calloc(1, sizeof(*kept));
    assert(kept != NULL);
    kept->letters = letters;
    heap_arena_init(&kept->memory, RECORD_BYTES);
    struct arena *arena = &kept->memory.arena;
    kept->receipt = *receipt;
    kept->record = *record;
    kept->record.topic = letters->agent->topic; /* outlives the reader's */
    kept->record.key = arena_text(arena, record->key);
    if (record->value.data != NULL) {
        char *value = arena_bytes(arena, record->value.size);
        memcpy(value, record->value.data, record->value.size);
        kept->record.value.data = value;
    }
    for (uint32_t i = 0; i < record->header_count; i++) {
        kept->record.headers[i].name = arena_text(arena, record->headers[i].name);
        kept->record.headers[i].value = arena_text(arena, record->headers[i].value);
    }
    return kept;
}

static void release(struct kept_record *kept)
{
    heap_arena_deinit(&kept->memory);
    free(kept);
}

void dead_letters_stop_waiting(struct dead_letters *letters)
{
    struct kept_record *kept, *next;
    DL_FOREACH_SAFE(letters->waiting, kept, next) {
        cluster_refresh_cancel(letters->agent->cluster, kept);
        release(kept);
    }
    letters->waiting = NULL;
}

void dead_letters_free(struct dead_letters *letters)
{
    struct kept_record *kept, *next;
    if (letters == NULL)
        return;
    assert(letters->waiting == NULL);
    loop_timer_cancel(letters->agent->service->loop, &letters->timer);
    DL_FOREACH_SAFE(letters->dead, kept, next)
        release(kept);
    free(letters);
}

/* ---- dead letters ---- */

static void retry_later(struct dead_letters *letters)
{
    if (!loop_timer_armed(&letters->timer))
        loop_timer_after(letters->agent->service->loop, &letters->timer, RETRY_MS);
}

static void on_appended(void *ctx, uint64_t token, int64_t offset, const struct error *error)
{
    struct kept_record *kept = ctx;
    struct dead_letters *letters = kept->letters;
    (void)token;
    (void)offset;
    assert(kept->in_flight && letters->dead_count > 0);
    kept->in_flight = false;
    if (error != NULL && error_is(error)) {
        log_error_limited("a dead letter was not delivered", LOG_STR("topic", kept->record.topic),
                          LOG_I64("partition", kept->record.partition),
                          LOG_I64("offset", kept->record.offset), LOG_ERR(error));
        if (error->class != ERROR_REJECT) {
            retry_later(letters);
            return;
        }
    }
    struct request_receipt receipt = kept->receipt;
    DL_DELETE(letters->dead, kept);
    letters->dead_count--;
    release(kept);
    letters->ops->delivered(letters->ctx, &receipt);
}

static void send(struct dead_letters *letters, struct kept_record *kept)
{
    struct error error;
    assert(!kept->in_flight);
    if (cluster_dead_letter(letters->agent->cluster, &kept->record, NULL, error_name_of(&kept->why),
                            kept->why.message, on_appended, kept, 0, &error) == ERROR_OK)
        kept->in_flight = true;
    else
        retry_later(letters);
}

void dead_letters_send(struct dead_letters *letters, const struct broker_record *record,
                       const struct request_receipt *receipt, const struct error *why)
{
    struct kept_record *kept = keep(letters, record, receipt);
    kept->why = *why;
    DL_APPEND(letters->dead, kept);
    letters->dead_count++;
    send(letters, kept);
}

static void on_timer(void *ctx)
{
    struct dead_letters *letters = ctx;
    struct kept_record *kept;
    DL_FOREACH(letters->dead, kept)
        if (!kept->in_flight)
            send(letters, kept);
}

uint32_t dead_letters_count(const struct dead_letters *letters)
{
    return letters->dead_count;
}

/* ---- requests that wait for a schema ---- */

static void on_refreshed(void *ctx)
{
    struct kept_record *kept = ctx;
    struct dead_letters *letters = kept->letters;
    DL_DELETE(letters->waiting, kept);
    letters->ops->schemas_read(letters->ctx, &kept->record, &kept->receipt);
    release(kept);
}

void dead_letters_await_schema(struct dead_letters *letters, const struct broker_record *record,
                               const struct request_receipt *receipt)
{
    struct kept_record *kept = keep(letters, record, receipt);
    DL_APPEND(letters->waiting, kept);
    cluster_refresh_schemas(letters->agent->cluster, on_refreshed, kept);
}
