/* SPDX-License-Identifier: Apache-2.0 */
/* GET /api: the routes of the console as a text. */
#ifndef SERVICES_CONSOLE_INDEX_H
#define SERVICES_CONSOLE_INDEX_H

#include "platform/http/server.h"

void console_serve_index(struct http_exchange *exchange);

#endif
