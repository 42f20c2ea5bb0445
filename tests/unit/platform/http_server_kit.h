/* SPDX-License-Identifier: Apache-2.0 */
/* A server of one test, and plain sockets to it, so that requests can be malformed in any way. */
#ifndef TESTS_UNIT_PLATFORM_HTTP_SERVER_KIT_H
#define TESTS_UNIT_PLATFORM_HTTP_SERVER_KIT_H

#include "platform/http/server.h"

enum { HTTP_KIT_ANSWER_SIZE = 256 * 1024, HTTP_KIT_WAIT_MS = 20000 };

#define HTTP_KIT_HOST "Host: localhost\r\n"
/* The body of an error. `status` is a number's text. */
#define HTTP_KIT_PROBLEM(title, status, code, detail)                                          \
    "{\"type\":\"about:blank\",\"title\":\"" title "\",\"status\":" status ",\"code\":\"" code \
    "\",\"detail\":\"" detail "\"}"

extern struct loop *http_kit_loop;
extern struct metrics *http_kit_metrics;
extern struct http_server *http_kit_server;
extern char http_kit_answer[HTTP_KIT_ANSWER_SIZE]; /* the latest */
extern bool http_kit_ready;                        /* what /readyz says */
extern struct http_exchange *http_kit_held;        /* the latest GET /hold */

/* Of a test suite. */
void http_kit_open(void);
void http_kit_close(void);
/* A server with other options takes the place of the present one, which owns its metrics; NULL: new
 * ones. */
void http_kit_listen(struct http_server_options options);

struct http_kit_peer {
    int fd;
    size_t size;
    bool closed;
};

/* A connection from 127.0.0.`host`, or from 127.0.0.1. */
int http_kit_dial_from(uint32_t host);
int http_kit_dial(void);
/* Of a struct http_kit_peer: whether a whole answer is there. */
bool http_kit_answered(void *ctx);
void http_kit_expect_answer(int fd);
void http_kit_send(int fd, const char *data, size_t size);
void http_kit_send_text(int fd, const char *text);
/* The answer to one request on a connection of its own. */
const char *http_kit_ask(const char *request);
/* A POST with `size` bytes of body. */
void http_kit_post(const char *path, const char *extra, size_t size);
bool http_kit_is_held(void *ctx);
bool http_kit_starts(const char *text, const char *prefix);
const char *http_kit_body(const char *text);

#endif
