/* SPDX-License-Identifier: Apache-2.0 */
#include "replica/service/address.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_url(const char *text)
{
    size_t scheme = strncmp(text, "http://", 7) == 0 ? 7 : 8;
    if (scheme == 8 && strncmp(text, "https://", 8) != 0)
        return false;
    for (const char *at = text; *at != '\0'; at++) {
        if (*at <= ' ' || *at > '~' || *at == '@' || *at == '?' || *at == '#')
            return false;
    }
    return text[scheme] != '\0' && strchr(text + scheme, '/') == NULL;
}

bool service_url_read(const char *directory, struct service_url *ret_url)
{
    char path[PATH_MAX];
    struct stat info;
    struct service_url url = {.is_own = false};
    int size = snprintf(path, sizeof(path), "%s/http.url", directory);
    FILE *file = size > 0 && size < (int)sizeof(path) ? fopen(path, "re") : NULL;
    if (file == NULL)
        return false;
    url.is_own = fstat(fileno(file), &info) == 0 &&
                 (info.st_uid == geteuid() || info.st_uid == 0) &&
                 (info.st_mode & (S_IWGRP | S_IWOTH)) == 0;
    bool read = fgets(url.text, sizeof(url.text), file) != NULL;
    fclose(file);
    size_t line = strcspn(url.text, "\n");
    if (!read || url.text[line] != '\n')
        return false;
    url.text[line] = '\0';
    if (!is_url(url.text))
        return false;
    *ret_url = url;
    return true;
}

enum error_class service_address_url(const char *address, char ret_url[SERVICE_URL_SIZE],
                                     struct error *ret_error)
{
    struct service_url url;
    size_t size = strlen(address);
    if (address[0] == '/') {
        if (!service_url_read(address, &url))
            return error_set(ret_error, CODE_NO_SERVICE, "there is no URL in %.300s/http.url",
                             address);
        memcpy(ret_url, url.text, sizeof(url.text));
        return ERROR_OK;
    }
    while (size > 0 && address[size - 1] == '/')
        size--;
    snprintf(ret_url, SERVICE_URL_SIZE, "%s%.*s", strstr(address, "://") != NULL ? "" : "http://",
             (int)(size < 900 ? size : 900), address);
    return ERROR_OK;
}
