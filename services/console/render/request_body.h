/* SPDX-License-Identifier: Apache-2.0 */
/* The bodies of requests that change something. */
#ifndef SERVICES_CONSOLE_RENDER_REQUEST_BODY_H
#define SERVICES_CONSOLE_RENDER_REQUEST_BODY_H

#include "base/error.h"
#include "platform/http/server.h"

#include <jansson.h>

/* The request's JSON object. If the server knows who sent it, that is its `by`, whatever the
 * request says. New; REJECT: it is not an object. */
enum error_class request_body_read(const struct http_exchange *exchange, json_t **ret_body,
                                   struct error *ret_error);

#endif
