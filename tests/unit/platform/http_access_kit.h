/* SPDX-License-Identifier: Apache-2.0 */
/* A server that asks for tokens, with one token for each role and one path for each permission. */
#ifndef TESTS_UNIT_PLATFORM_HTTP_ACCESS_KIT_H
#define TESTS_UNIT_PLATFORM_HTTP_ACCESS_KIT_H

#include "tests/unit/platform/http_server_kit.h"

#include "platform/http/access_internal.h"

enum { ACCESS_KIT_PATH_SIZE = 256, ACCESS_KIT_REQUEST_SIZE = 1024 };

extern char access_kit_path[ACCESS_KIT_PATH_SIZE]; /* of the file of tokens */
extern char access_kit_tokens[HTTP_ROLE_COUNT][HTTP_TOKEN_SIZE];
extern struct http_access *access_kit_access;
extern struct http_stream *access_kit_stream; /* of the latest GET /stream; NULL = closed */
extern bool access_kit_stream_closed;

/* Of a test suite. */
void access_kit_open(void);
void access_kit_close(void);
/* A server with other options takes the place of the present one. */
void access_kit_listen(struct http_access_options options);
/* Adds it to the file, which the server has not read again yet. `expires_ms`: 0 = never. */
void access_kit_add_token(const char *name, enum http_role role, int64_t expires_ms,
                          char ret_token[HTTP_TOKEN_SIZE]);

/* `head`: further lines. Returns the status. */
int access_kit_ask(const char *method, const char *target, const char *head);
int access_kit_ask_as(const char *method, const char *target, const char *token);
/* A GET; the answer is not waited for. */
void access_kit_send_as(int fd, const char *target, const char *token);
/* POST /api/session; see http_kit_answer. */
void access_kit_log_in(const char *token, const char *head);

#endif
