/* SPDX-License-Identifier: Apache-2.0 */
/* The services that console.services names: GET /api/services asks each at its GET /about. */
#ifndef SERVICES_CONSOLE_API_SERVICE_LIST_H
#define SERVICES_CONSOLE_API_SERVICE_LIST_H

#include "platform/clock.h"
#include "platform/config/config.h"
#include "platform/http/server.h"

struct service_list;

/* New. REJECT "Config": an address is neither a base URL, HOST:PORT, one of these after "dns:", an
 * absolute path nor one after "file:", or a credential is malformed; RETRY or FATAL: no HTTP
 * client. */
enum error_class service_list_new(struct loop *loop, const struct clock *clock,
                                  const struct config *config, struct service_list **ret_list,
                                  struct error *ret_error);
/* Answers the outstanding requests with 503. NULL does nothing. */
void service_list_free(struct service_list *list);
/* Answers the exchange once every service has answered, within SERVICE_LIST_LOOKUP_MS and
 * SERVICE_LIST_TIMEOUT_MS. */
void service_list_serve(struct service_list *list, struct http_exchange *exchange);

enum { SERVICE_LIST_LOOKUP_MS = 1000, SERVICE_LIST_TIMEOUT_MS = 2000, SERVICE_LIST_MAX = 256 };

#endif
