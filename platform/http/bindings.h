/* SPDX-License-Identifier: Apache-2.0 */
/* The bindings of a token: fields KEY=VALUE of its line in the file of tokens (tokens.h). A token
 * that is not bound may name whatever its role permits.
 *
 *     reply-to=TOPIC      submitter: the only topic that it may have statuses sent to
 *     id-prefix=PREFIX    submitter: what the ids of its orders begin with
 *     agents=NAME,NAME    agent: the agents whose attempts it reports about */
#ifndef PLATFORM_HTTP_BINDINGS_H
#define PLATFORM_HTTP_BINDINGS_H

#include "base/text.h"

#include <stdbool.h>

enum http_binding {
    HTTP_BOUND_REPLY_TO,
    HTTP_BOUND_ID_PREFIX,
    HTTP_BOUND_AGENTS,
    HTTP_BINDING_COUNT
};

enum { HTTP_BINDING_SIZE = 250 }; /* with its NUL */

struct http_bindings {
    char to[HTTP_BINDING_COUNT][HTTP_BINDING_SIZE]; /* "" = not bound */
};

/* "reply-to", "id-prefix", "agents". */
const char *http_binding_key(enum http_binding binding);
/* Binds to the value. NULL, or what is wrong. */
const char *http_binding_set(struct http_bindings *bindings, enum http_binding binding,
                             struct text value);
/* Of a field KEY=VALUE. NULL, or what is wrong. */
const char *http_binding_read(struct http_bindings *bindings, struct text field);
/* Whether a token that is bound like this may name the value; an empty one names nothing. */
bool http_binding_permits(const struct http_bindings *bindings, enum http_binding binding,
                          struct text value);

#endif
