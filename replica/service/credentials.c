/* SPDX-License-Identifier: Apache-2.0 */
/* See credentials.h. */
#include "replica/service/credentials.h"

#include <assert.h>
#include <stdio.h>

enum { KEY_SIZE = 64 };

static const char *value_of(const struct config *config, const char *prefix, const char *name,
                            char ret_key[KEY_SIZE])
{
    int size = snprintf(ret_key, KEY_SIZE, "%s.%s", prefix, name);
    assert(size > 0 && size < KEY_SIZE);
    return config_string(config, ret_key);
}

static const char *path_of(const struct config *config, const char *prefix, const char *name,
                           char ret_key[KEY_SIZE])
{
    const char *path = value_of(config, prefix, name, ret_key);
    return path[0] != '\0' ? path : NULL;
}

enum error_class service_credentials_read(const struct config *config, const char *prefix,
                                          struct service_credentials *ret_credentials,
                                          struct error *ret_error)
{
    char token[KEY_SIZE], ca[KEY_SIZE], cert[KEY_SIZE], key[KEY_SIZE];
    struct service_credentials credentials = {.token = value_of(config, prefix, "token", token),
                                              .ca_file = path_of(config, prefix, "tls.ca", ca),
                                              .cert_file =
                                                  path_of(config, prefix, "tls.cert", cert),
                                              .key_file = path_of(config, prefix, "tls.key", key)};
    if (!http_token_can_be_sent(credentials.token))
        return error_set(ret_error, CODE_CONFIG,
                         "%s (%s) must be one token, as `reeve token add` prints it", token,
                         config_origin(config, token));
    if ((credentials.cert_file == NULL) != (credentials.key_file == NULL))
        return error_set(ret_error, CODE_CONFIG, "%s and %s belong together: set both", cert, key);
    *ret_credentials = credentials;
    return ERROR_OK;
}

void service_credentials_header(const struct service_credentials *credentials,
                                char ret_header[SERVICE_AUTHORIZATION_SIZE])
{
    ret_header[0] = '\0';
    if (credentials->token[0] != '\0')
        snprintf(ret_header, SERVICE_AUTHORIZATION_SIZE, "Authorization: Bearer %s",
                 credentials->token);
}
