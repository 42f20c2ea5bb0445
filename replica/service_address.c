/* SPDX-License-Identifier: Apache-2.0 */
#include "replica/service_address.h"

#include "platform/files.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum error_class service_address_url(const char *address, char ret_url[SERVICE_URL_SIZE],
                                     struct error *ret_error)
{
    char path[PATH_MAX];
    char *port = NULL;
    size_t size = strlen(address);
    while (size > 0 && address[0] != '/' && address[size - 1] == '/')
        size--;
    if (address[0] != '/') {
        snprintf(ret_url, SERVICE_URL_SIZE, "%s%.*s",
                 strstr(address, "://") != NULL ? "" : "http://", (int)(size < 900 ? size : 900),
                 address);
        return ERROR_OK;
    }
    snprintf(path, sizeof(path), "%.900s/http.port", address);
    enum error_class class = files_read(path, sizeof("65535\n"), &port, &size, ret_error);
    if (class == ERROR_OK)
        snprintf(ret_url, SERVICE_URL_SIZE, "http://127.0.0.1:%.*s",
                 (int)strspn(port, "0123456789"), port);
    free(port);
    return class;
}
