/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of HTTP servers in JSON. Errors are problem details (RFC 9457), of the media type
 * application/problem+json:
 *
 *     {"type": "about:blank", "title": "Not Found", "status": 404, "code": "UnknownOrder",
 *      "detail": "order 17 does not exist"}
 *
 * `code` is for programs, `detail` for people; some errors have more members. */
#ifndef PLATFORM_HTTP_JSON_ANSWER_H
#define PLATFORM_HTTP_JSON_ANSWER_H

#include "platform/http/server.h"

#include <jansson.h>

#define HTTP_PROBLEM_TYPE "application/problem+json"

/* Steals `body`, a tree of platform/json_tree.h. */
void http_respond_json(struct http_exchange *exchange, int status, json_t *body);

/* New. What is not UTF-8 in `detail`, such as a character that was cut in two, becomes '?'. */
json_t *http_problem_new(int status, struct text code, struct text detail);
/* Its status is the problem's. Steals `problem`. */
void http_respond_problem(struct http_exchange *exchange, json_t *problem);
/* A problem with the code and the message of `error`. */
void http_respond_error_of(struct http_exchange *exchange, int status, const struct error *error);

#endif
