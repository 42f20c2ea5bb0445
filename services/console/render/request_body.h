/* SPDX-License-Identifier: Apache-2.0 */
/* The bodies of requests that change something. */
#ifndef SERVICES_CONSOLE_RENDER_REQUEST_BODY_H
#define SERVICES_CONSOLE_RENDER_REQUEST_BODY_H

#include "base/json.h"
#include "platform/http/server.h"

/* The request's JSON object. If the server knows who sent it, that is its `by`, whatever the
 * request says. It borrows the request, or is new in `arena`; REJECT: it is not an object. */
enum error_class request_body_read(const struct http_exchange *exchange, struct arena *arena,
                                   struct json_value *ret_body, struct error *ret_error);
/* A member that is a text, unescaped; it borrows the body, or is new in `arena`. Without data: it
 * is not there, or not a text. */
struct text request_body_text(struct json_value body, const char *name, struct arena *arena);
/* The body, canonical, without that member; new in `arena`. */
struct json_value request_body_without(struct json_value body, const char *name,
                                       struct arena *arena);

#endif
