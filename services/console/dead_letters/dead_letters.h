/* SPDX-License-Identifier: Apache-2.0 */
/* The API of dead letters:
 *
 *     GET  /api/dead-letters                              the newest first, see list.c
 *     GET  /api/dead-letters/{partition}/{offset}         one of them, decoded
 *     POST /api/dead-letters/{partition}/{offset}/replay  {"by", "reason", "value" or "json"}
 *     POST /api/dead-letters/{partition}/{offset}/discard {"by", "reason"}
 *
 * Nothing is deleted: a DeadLetterResolution in the same partition of <p>.dead-letters says who
 * dealt with a dead letter, how and why, and every console reads it there. A replay is appended
 * first and its resolution once that is acknowledged. So a console that crashes in between leaves a
 * dead letter that seems open; replaying it again is harmless, as is an acknowledgement that never
 * came: the readers of those topics drop repeats (docs/operate/recovery.md). */
#ifndef SERVICES_CONSOLE_DEAD_LETTERS_DEAD_LETTERS_H
#define SERVICES_CONSOLE_DEAD_LETTERS_DEAD_LETTERS_H

#include "platform/http/server.h"
#include "replica/cluster/cluster.h"
#include "services/console/model/owners.h"

struct dead_letter_api;

enum {
    DEAD_LETTER_OPERATIONS_MAX = 64, /* outstanding; each may hold a record and a value */
    DEAD_LETTER_WAIT_MS = 30000,
    /* Of a replay: an operator's value of 1 MiB, as JSON. */
    DEAD_LETTER_BODY_MAX = 4 << 20
};

struct dead_letter_api *dead_letter_api_new(struct cluster *cluster, const struct owners *owners);
/* Before cluster_close(): answers what is outstanding. */
void dead_letter_api_drain(struct dead_letter_api *letters);
/* After cluster_close(). */
void dead_letter_api_free(struct dead_letter_api *letters);

void dead_letter_api_serve_list(struct dead_letter_api *letters, struct http_exchange *exchange);
void dead_letter_api_serve_one(struct dead_letter_api *letters, struct http_exchange *exchange);
void dead_letter_api_serve_replay(struct dead_letter_api *letters, struct http_exchange *exchange);
void dead_letter_api_serve_discard(struct dead_letter_api *letters, struct http_exchange *exchange);

#endif
