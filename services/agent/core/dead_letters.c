/* SPDX-License-Identifier: Apache-2.0 */
/* See dead_letters.h. */
#include "services/agent/core/dead_letters.h"

#include "platform/logger.h"

#include <assert.h>
#include <stdlib.h>
#include <utlist.h>

enum { LETTER_BYTES = 1024, AGAIN_MS = 1000 };

struct letter {
    struct letter *prev, *next;
    struct agent_letters *letters;
    struct heap_arena memory;
    struct broker_record record;
    struct request_origin origin;
    struct error why;
    bool on_its_way;
};

struct agent_letters {
    struct agent *agent;
    struct letter *dead;
    uint32_t dead_count;
    struct letter *parked;  /* since the schemas were asked for */
    struct letter *waiting; /* parked while they were being read: for the next time */
    bool refreshing;
    struct loop_timer timer;
    void (*delivered)(void *ctx, const struct request_origin *origin);
    void (*schemas)(void *ctx);
    void *ctx;
};

static void on_timer(struct loop *loop, struct loop_timer *timer, void *userdata);

struct agent_letters *letters_new(struct agent *agent,
                                  void (*delivered)(void *ctx, const struct request_origin *origin),
                                  void (*schemas)(void *ctx), void *ctx)
{
    struct agent_letters *letters = calloc(1, sizeof(*letters));
    assert(letters != NULL);
    *letters = (struct agent_letters){
        .agent = agent, .delivered = delivered, .schemas = schemas, .ctx = ctx};
    loop_timer_init(&letters->timer, on_timer, letters);
    return letters;
}

static void free_list(struct letter *list)
{
    struct letter *letter, *next;
    DL_FOREACH_SAFE(list, letter, next)
        letter_free(letter);
}

void letters_free(struct agent_letters *letters)
{
    if (letters == NULL)
        return;
    loop_timer_cancel(letters->agent->service->loop, &letters->timer);
    free_list(letters->dead);
    free_list(letters->parked);
    free_list(letters->waiting);
    free(letters);
}

struct letter *letter_new(struct agent_letters *letters, const struct broker_record *record,
                          const struct request_origin *origin)
{
    struct letter *letter = calloc(1, sizeof(*letter));
    assert(letter != NULL);
    letter->letters = letters;
    heap_arena_init(&letter->memory, LETTER_BYTES);
    struct arena *arena = &letter->memory.arena;
    letter->origin = *origin;
    letter->record = *record;
    letter->record.topic = letters->agent->topic; /* lives longer than the reader's */
    letter->record.key = arena_text(arena, record->key);
    if (record->value.data != NULL) {
        char *value = arena_bytes(arena, record->value.size);
        memcpy(value, record->value.data, record->value.size);
        letter->record.value.data = value;
    }
    for (uint32_t i = 0; i < record->header_count; i++) {
        letter->record.headers[i].name = arena_text(arena, record->headers[i].name);
        letter->record.headers[i].value = arena_text(arena, record->headers[i].value);
    }
    return letter;
}

void letter_free(struct letter *letter)
{
    if (letter == NULL)
        return;
    heap_arena_deinit(&letter->memory);
    free(letter);
}

const struct broker_record *letter_record(const struct letter *letter)
{
    return &letter->record;
}

const struct request_origin *letter_origin(const struct letter *letter)
{
    return &letter->origin;
}

/* ---- dead letters ---- */

static void try_again_later(struct agent_letters *letters)
{
    if (!loop_timer_armed(&letters->timer))
        loop_timer_after(letters->agent->service->loop, &letters->timer, AGAIN_MS);
}

static void on_appended(void *ctx, uint64_t token, int64_t offset, const struct error *error)
{
    struct letter *letter = ctx;
    struct agent_letters *letters = letter->letters;
    (void)token;
    (void)offset;
    letter->on_its_way = false;
    if (error != NULL && error_is(error)) {
        log_error_limited("a dead letter was not delivered", LOG_STR("topic", letter->record.topic),
                          LOG_I64("partition", letter->record.partition),
                          LOG_I64("offset", letter->record.offset), LOG_ERR(error));
        if (error->class != ERROR_REJECT) {
            try_again_later(letters);
            return;
        }
    }
    struct request_origin origin = letter->origin;
    DL_DELETE(letters->dead, letter);
    letters->dead_count--;
    letter_free(letter);
    letters->delivered(letters->ctx, &origin);
}

static void send(struct agent_letters *letters, struct letter *letter)
{
    struct error error;
    if (cluster_dead_letter(letters->agent->cluster, &letter->record, letter->why.code,
                            letter->why.message, on_appended, letter, 0, &error) == ERROR_OK)
        letter->on_its_way = true;
    else
        try_again_later(letters);
}

void letters_send(struct agent_letters *letters, const struct broker_record *record,
                  const struct request_origin *origin, const struct error *why)
{
    struct letter *letter = letter_new(letters, record, origin);
    letter->why = *why;
    DL_APPEND(letters->dead, letter);
    letters->dead_count++;
    send(letters, letter);
}

static void on_timer(struct loop *loop, struct loop_timer *timer, void *userdata)
{
    struct agent_letters *letters = userdata;
    struct letter *letter;
    (void)loop;
    (void)timer;
    DL_FOREACH(letters->dead, letter)
        if (!letter->on_its_way)
            send(letters, letter);
}

uint32_t letters_count(const struct agent_letters *letters)
{
    return letters->dead_count;
}

/* ---- parked requests ---- */

static void on_refreshed(void *ctx, bool fresh);

static void refresh(struct agent_letters *letters)
{
    letters->refreshing = true;
    DL_CONCAT(letters->parked, letters->waiting);
    letters->waiting = NULL;
    cluster_refresh_schemas(letters->agent->cluster, on_refreshed, letters);
}

static void on_refreshed(void *ctx, bool fresh)
{
    struct agent_letters *letters = ctx;
    letters->refreshing = false;
    if (!fresh) {
        /* Nobody answered: that says nothing about the schema. Ask again. */
        refresh(letters);
        return;
    }
    letters->schemas(letters->ctx);
    if (letters->waiting != NULL)
        refresh(letters);
}

void letters_park(struct agent_letters *letters, const struct broker_record *record,
                  const struct request_origin *origin)
{
    struct letter *letter = letter_new(letters, record, origin);
    if (letters->refreshing) {
        DL_APPEND(letters->waiting, letter);
        return;
    }
    DL_APPEND(letters->parked, letter);
    refresh(letters);
}

struct letter *letters_next_parked(struct agent_letters *letters)
{
    struct letter *letter = letters->parked;
    if (letter != NULL)
        DL_DELETE(letters->parked, letter);
    return letter;
}
