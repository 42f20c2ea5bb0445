/* SPDX-License-Identifier: Apache-2.0 */
/* See found.h. */
#include "services/agent/answers/found.h"

#include "services/agent/answers/answer_cache.h"

#include <assert.h>
#include <stdlib.h>
#include <uthash.h>

struct found_answer {
    UT_hash_handle hh;
    int32_t partition;
    int64_t offset;
    bool succeeded;
    enum effect effect;
    struct text key;
    struct text output;
    struct text error_name;
    struct text error_message;
    size_t size; /* of all of this */
    char bytes[];
};

void found_init(struct found *found, size_t bytes_max)
{
    *found = (struct found){.bytes_max = bytes_max};
}

static void forget(struct found *found, struct found_answer *answer)
{
    HASH_DEL(found->answers, answer);
    assert(found->bytes >= answer->size);
    found->bytes -= answer->size;
    free(answer);
}

void found_deinit(struct found *found)
{
    while (found->answers != NULL)
        forget(found, found->answers);
    assert(found->bytes == 0);
}

static struct text copy_text(char **at, struct text text)
{
    struct text copy = {*at, text.size};
    if (text.size > 0)
        memcpy(*at, text.data, text.size);
    *at += text.size;
    return copy;
}

static struct found_answer *find(const struct found *found, struct text key)
{
    struct found_answer *answer;
    HASH_FIND(hh, found->answers, key.data, key.size, answer);
    return answer;
}

static struct found_answer *answer_new(struct text key, const struct report_step *report)
{
    size_t size = sizeof(struct found_answer) + key.size + report->output.size +
                  report->error_name.size + report->error_message.size;
    struct found_answer *answer = calloc(1, size);
    assert(answer != NULL);
    char *at = answer->bytes;
    answer->succeeded = report->succeeded;
    answer->effect = report->effect;
    answer->key = copy_text(&at, key);
    answer->output = copy_text(&at, report->output);
    answer->error_name = copy_text(&at, report->error_name);
    answer->error_message = copy_text(&at, report->error_message);
    answer->size = size;
    return answer;
}

size_t found_keep(struct found *found, int32_t partition, int64_t offset,
                  const struct report_step *report)
{
    char bytes[ANSWERS_KEY_BYTES_MAX];
    struct attempt_ref ref = {report->step, report->direction, report->attempt};
    struct text key = agent_memory_key(report->order_id, &ref, bytes);
    struct found_answer *answer = find(found, key);
    if (answer != NULL && answer->offset <= offset)
        return 0;
    if (answer != NULL)
        forget(found, answer);
    answer = answer_new(key, report);
    answer->partition = partition;
    answer->offset = offset;
    HASH_ADD_KEYPTR(hh, found->answers, answer->key.data, answer->key.size, answer);
    found->bytes += answer->size;
    size_t size = answer->size;
    while (found->bytes > found->bytes_max) {
        forget(found, found->answers);
        found->forgotten++;
    }
    return size;
}

bool found_take(struct found *found, struct agent_attempt *attempt)
{
    char bytes[ANSWERS_KEY_BYTES_MAX];
    struct arena *arena = &attempt->memory.arena;
    const struct step_request *request = &attempt->request;
    struct found_answer *answer =
        find(found, agent_memory_key(request->order_id, &request->ref, bytes));
    if (answer == NULL)
        return false;
    attempt->succeeded = answer->succeeded;
    attempt->effect = answer->effect;
    attempt->output = arena_text(arena, answer->output);
    attempt->error_name = arena_text(arena, answer->error_name);
    attempt->error_message = arena_text(arena, answer->error_message);
    forget(found, answer);
    return true;
}

void found_forget(struct found *found, int32_t partition)
{
    struct found_answer *answer, *next;
    HASH_ITER(hh, found->answers, answer, next) {
        if (answer->partition == partition)
            forget(found, answer);
    }
}
