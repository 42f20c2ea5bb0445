/* SPDX-License-Identifier: Apache-2.0 */
/* Where a service of this machine is: the URL that it wrote into its data directory. */
#ifndef CLI_SERVICE_URL_H
#define CLI_SERVICE_URL_H

#include <stdbool.h>
#include <stddef.h>

enum { SERVICE_URL_SIZE = 160 };

struct service_url {
    char text[SERVICE_URL_SIZE]; /* without a slash at its end */
    /* Only this user and root can have written it. Elsewhere it may be anyone's server, which
     * must get neither tokens nor commands. */
    bool is_own;
};

/* Of DIRECTORY/http.url. False: there is none, or it holds something else. */
bool service_url_read(const char *directory, struct service_url *ret_url);

#endif
