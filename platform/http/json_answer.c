/* SPDX-License-Identifier: Apache-2.0 */
/* See json_answer.h. */
#include "platform/http/json_answer.h"

#include "base/heap_arena.h"
#include "base/utf8.h"
#include "platform/json_tree.h"

#include <assert.h>
#include <microhttpd.h>
#include <stdlib.h>

static void respond(struct http_exchange *exchange, int status, const char *content_type,
                    json_t *body)
{
    char *text = json_tree_print(body, JSON_COMPACT | JSON_REAL_PRECISION(15));
    assert(text != NULL);
    json_decref(body);
    http_respond(exchange, status, content_type, text_of(text));
    free(text);
}

void http_respond_json(struct http_exchange *exchange, int status, json_t *body)
{
    respond(exchange, status, "application/json", body);
}

json_t *http_problem_new(int status, struct text code, struct text detail)
{
    struct heap_arena heap;
    heap_arena_init(&heap, 1024);
    struct text clean = utf8_clean(detail, detail.size, &heap.arena);
    json_t *text = json_stringn(clean.size > 0 ? clean.data : "", clean.size);
    heap_arena_deinit(&heap);
    json_t *problem = json_pack("{s:s, s:s, s:i, s:s%, s:o}", "type", "about:blank", "title",
                                MHD_get_reason_phrase_for((unsigned)status), "status", status,
                                "code", code.data, (size_t)code.size, "detail", text);
    assert(problem != NULL);
    return problem;
}

void http_respond_problem(struct http_exchange *exchange, json_t *problem)
{
    int status = (int)json_integer_value(json_object_get(problem, "status"));
    respond(exchange, status, HTTP_PROBLEM_TYPE, problem);
}

void http_respond_error_of(struct http_exchange *exchange, int status, const struct error *error)
{
    http_respond_problem(
        exchange, http_problem_new(status, text_of(error_name_of(error)), text_of(error->message)));
}
