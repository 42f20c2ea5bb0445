/* SPDX-License-Identifier: Apache-2.0 */
/* See answer_cache.h. The rows are those of answer_row.c. */
#include "services/agent/answers/answer_cache.h"

#include "base/bytes.h"
#include "platform/logger.h"
#include "services/agent/answers/answer_row.h"
#include "statestore/answers.h"
#include "statestore/store.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

struct answer_cache {
    struct service_context *service;
    char *path;
    struct answers_options options;
    struct answers *answers;        /* NULL: broken, until the next write opens a new one */
    char row[ANSWER_ROW_BYTES_MAX]; /* of the answer that is being noted */
    struct metrics_gauge *bytes;
    struct metrics_counter *recalled;
    struct metrics_counter *written;
    struct metrics_counter *lookups;
    struct metrics_counter *dropped_early;
    struct metrics_counter *lost;
    uint64_t lookups_before; /* of stores before this one */
    uint64_t dropped_early_before;
};

/* ---- the store ---- */

static enum error_class open_store(struct answer_cache *cache, struct error *ret_error)
{
    return answers_open(cache->path, &cache->options, clock_wall_ms(cache->service->clock),
                        &cache->answers, ret_error);
}

/* All remembered answers are gone: calls may be repeated, with the same idempotency keys. */
static enum error_class start_over(struct answer_cache *cache, const struct error *why,
                                   struct error *ret_error)
{
    log_error(
        "the remembered answers are not usable and are dropped: calls may be repeated with the "
        "same key",
        LOG_STR("path", cache->path), LOG_ERR(why));
    metrics_add(cache->lost, 1);
    if (cache->answers != NULL) {
        cache->lookups_before += answers_lookups(cache->answers);
        cache->dropped_early_before += answers_dropped_early(cache->answers);
    }
    answers_close(cache->answers);
    cache->answers = NULL;
    enum error_class class = store_drop(cache->path, ret_error);
    return class == ERROR_OK ? open_store(cache, ret_error) : class;
}

static enum error_class open_or_start_over(struct answer_cache *cache, struct error *ret_error)
{
    struct error error = {.class = ERROR_OK};
    enum error_class class = open_store(cache, &error);
    if (class == ERROR_OK)
        return class;
    if (error.code != CODE_STORE_IN_USE)
        return start_over(cache, &error, ret_error);
    *ret_error = error;
    return class;
}

static void refresh(void *ctx)
{
    struct answer_cache *cache = ctx;
    if (cache->answers == NULL)
        return;
    metrics_set(cache->bytes, (double)answers_bytes(cache->answers));
    cache->lookups->value = cache->lookups_before + answers_lookups(cache->answers);
    cache->dropped_early->value =
        cache->dropped_early_before + answers_dropped_early(cache->answers);
}

static void add_metrics(struct answer_cache *cache, const char *agent)
{
    struct metrics *all = cache->service->metrics;
    struct metrics_labels labels = METRICS_LABEL("agent", agent);
    cache->bytes =
        metrics_gauge(all, "reeve_agent_memory_bytes", "Size of the remembered answers.", labels);
    cache->recalled =
        metrics_counter(all, "reeve_agent_memory_recalled_total",
                        "Requests that came again and were answered from memory.", labels);
    cache->written =
        metrics_counter(all, "reeve_agent_memory_written_total", "Answers remembered.", labels);
    cache->lookups = metrics_counter(all, "reeve_agent_memory_lookups_total",
                                     "Requests that were looked for among the remembered answers; "
                                     "newer ones than all that were answered are not.",
                                     labels);
    cache->dropped_early = metrics_counter(all, "reeve_agent_memory_dropped_early_total",
                                           "Slices of answers that were forgotten before "
                                           "agent.memory.ms, because agent.memory.mb was reached.",
                                           labels);
    cache->lost = metrics_counter(all, "reeve_agent_memory_lost_total",
                                  "Times that all answers were dropped because their "
                                  "store was damaged.",
                                  labels);
    metrics_on_render(all, refresh, cache);
}

enum error_class answer_cache_new(struct service_context *service, const char *agent,
                                  struct answer_cache **ret_cache, struct error *ret_error)
{
    const struct config *config = service->config;
    int64_t mb = config_int(config, "agent.memory.mb");
    *ret_cache = NULL;
    if (mb == 0 || service->data_dir == NULL)
        return ERROR_OK;
    struct answer_cache *cache = calloc(1, sizeof(*cache));
    assert(cache != NULL);
    cache->service = service;
    cache->options = (struct answers_options){.keep_ms = config_ms(config, "agent.memory.ms"),
                                              .bytes_max = (uint64_t)mb << 20};
    int size = asprintf(&cache->path, "%s/answers.%s", service->data_dir, agent);
    assert(size > 0);
    add_metrics(cache, agent);
    enum error_class class = open_or_start_over(cache, ret_error);
    if (class != ERROR_OK) {
        answer_cache_free(cache);
        return class;
    }
    *ret_cache = cache;
    return ERROR_OK;
}

void answer_cache_free(struct answer_cache *cache)
{
    if (cache == NULL)
        return;
    answers_close(cache->answers);
    free(cache->path);
    free(cache);
}

/* ---- rows ---- */

/* The name of a row: direction u8 | attempt BE4 | size of the step's name u8 | step | order id */
struct row_name {
    char memory[ANSWERS_NAME_BYTES_MAX];
};

_Static_assert(1 + 4 + 1 + NAME_BYTES_MAX + ORDER_ID_BYTES_MAX <= ANSWERS_NAME_BYTES_MAX,
               "the longest name fits");
_Static_assert(NAME_BYTES_MAX <= UINT8_MAX && DIRECTION_COUNT < UINT8_MAX, "their sizes");

/* By the Decision that began the attempt: its request names the same one whenever it comes, and
 * from whichever owner of the log. A grant of more time has another one, and begins nothing. Later
 * Decisions of a claim have higher offsets: a request that is newer than all that were answered
 * cannot have been. */
static struct answers_key key_of(const struct step_request *request, struct row_name *name)
{
    const struct attempt_ref *ref = &request->ref;
    char *at = name->memory;
    assert(ref->step.size <= NAME_BYTES_MAX); /* the codec's limits */
    assert(request->order_id.size <= ORDER_ID_BYTES_MAX);
    *at++ = (char)ref->direction;
    at = bytes_put_be(at, ref->attempt, 4);
    *at++ = (char)(uint8_t)ref->step.size;
    at = bytes_put_text(at, ref->step);
    at = bytes_put_text(at, request->order_id);
    return (struct answers_key){.series = request->claim_id,
                                .position = request->decision_offset,
                                .name = {name->memory, (uint32_t)(at - name->memory)}};
}

bool answer_cache_recall(struct answer_cache *cache, const struct step_request *request,
                         struct arena *arena, struct attempt_answer *ret_answer)
{
    struct row_name name;
    struct text row = {NULL, 0};
    struct error error, second;
    bool known = false;
    if (cache == NULL || cache->answers == NULL)
        return false;
    const struct answers_key key = key_of(request, &name);
    enum error_class class = answers_get(cache->answers, &key, &row, &error);
    if (class == ERROR_OK && row.data != NULL &&
        !answer_row_read(row, request, arena, ret_answer, &known)) {
        class = error_set(&error, CODE_STORE_CORRUPT, "an answer is not a row of this version");
        known = false;
    }
    store_row_free(row);
    if (class != ERROR_OK && start_over(cache, &error, &second) != ERROR_OK)
        log_error("answers are not remembered",
                  LOG_ERR(&second)); /* the next write fails the service */
    if (known)
        metrics_add(cache->recalled, 1);
    return known;
}

void answer_cache_note(struct answer_cache *cache, const struct step_request *request,
                       const struct attempt_answer *answer)
{
    struct row_name name;
    if (cache == NULL || cache->answers == NULL)
        return;
    const struct answers_key key = key_of(request, &name);
    answers_put(cache->answers, &key, answer_row_write(request, answer, cache->row));
    metrics_add(cache->written, 1);
}

enum answer_cache_result answer_cache_write(struct answer_cache *cache)
{
    struct error error, second;
    if (cache == NULL)
        return ANSWER_CACHE_WRITTEN;
    bool open = cache->answers != NULL;
    uint64_t early = open ? answers_dropped_early(cache->answers) : 0;
    if (open &&
        answers_write(cache->answers, clock_wall_ms(cache->service->clock), &error) == ERROR_OK) {
        if (early < answers_dropped_early(cache->answers))
            log_warning_limited("answers are forgotten before agent.memory.ms, because "
                                "agent.memory.mb is reached",
                                LOG_STR("path", cache->path));
        return ANSWER_CACHE_WRITTEN;
    }
    enum error_class class =
        open ? start_over(cache, &error, &second) : open_or_start_over(cache, &second);
    if (class == ERROR_OK)
        return ANSWER_CACHE_RENEWED;
    service_fail(cache->service, &second);
    return ANSWER_CACHE_FAILED;
}
