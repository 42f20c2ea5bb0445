/* SPDX-License-Identifier: Apache-2.0 */
/* Who may use a service's HTTP server, by its configuration: http.auth, http.tokens.file,
 * http.groups.file, http.proxy.*, http.read.only and http.tls.*. */
#ifndef REPLICA_SERVICE_ACCESS_H
#define REPLICA_SERVICE_ACCESS_H

#include "platform/config/config.h"
#include "platform/http/server.h"
#include "platform/http/tls.h"

struct service_access {
    struct http_access *access;
    struct http_tls *tls; /* NULL: http.tls.cert is not set */
};

/* REJECT, code Config. The configuration is borrowed until service_access_close(), which may be
 * called in any case. */
enum error_class service_access_open(struct loop *loop, struct metrics *metrics,
                                     const struct config *config, struct service_access *access,
                                     struct error *ret_error);
/* Whether a server that listens already may serve with these settings. Logs what operators should
 * know about them. REJECT, code Config. */
enum error_class service_access_check(const struct service_access *access,
                                      const struct config *config, const struct http_server *server,
                                      struct error *ret_error);
/* Reads the files again. */
void service_access_reload(const struct service_access *access);
/* After the server. */
void service_access_close(struct service_access *access);

#endif
