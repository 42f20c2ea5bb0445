/* SPDX-License-Identifier: Apache-2.0 */
/* In place of the HTTP server: the linker puts this in front of what the console calls, so that a
 * request costs no socket. Every request must be answered once; an answer in JSON must be JSON. */
#ifndef TESTS_FUZZ_CONSOLE_HTTP_H
#define TESTS_FUZZ_CONSOLE_HTTP_H

#include "base/text.h"

/* "GET /path?a=b&c=d\nbody": calls the handler of the route, if there is one. */
void console_http_ask(struct text request);
/* Asserts that every request was answered, and forgets the routes. */
void console_http_end(void);

#endif
