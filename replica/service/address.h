/* SPDX-License-Identifier: Apache-2.0 */
/* Where another service's HTTP server is: a URL, or host:port, or the data.dir of a service on this
 * machine, which wrote its URL into it. */
#ifndef REPLICA_SERVICE_ADDRESS_H
#define REPLICA_SERVICE_ADDRESS_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

enum { SERVICE_URL_SIZE = 1024 };

/* The base URL, as it is now, without a slash at its end. Fails, if there is no http.url in that
 * directory. */
enum error_class service_address_url(const char *address, char ret_url[SERVICE_URL_SIZE],
                                     struct error *ret_error);

struct service_url {
    char text[SERVICE_URL_SIZE]; /* without a slash at its end */
    /* Only this user and root can have written it. Elsewhere it may be anyone's server, which must
     * get neither tokens nor commands of this user. */
    bool is_own;
};

/* Of DIRECTORY/http.url. False: there is none, or it holds something else. */
bool service_url_read(const char *directory, struct service_url *ret_url);

#endif
