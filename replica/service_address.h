/* SPDX-License-Identifier: Apache-2.0 */
/* Where another service's HTTP server is: a URL, or host:port, or the data.dir of a service on this
 * machine, which wrote its port into it. */
#ifndef REPLICA_SERVICE_ADDRESS_H
#define REPLICA_SERVICE_ADDRESS_H

#include "base/error.h"

#include <stddef.h>

enum { SERVICE_URL_SIZE = 1024 };

/* The base URL, as it is now, without a slash at its end. Fails, if there is no http.port in that
 * directory. */
enum error_class service_address_url(const char *address, char ret_url[SERVICE_URL_SIZE],
                                     struct error *ret_error);

#endif
