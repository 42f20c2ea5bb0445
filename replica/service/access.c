/* SPDX-License-Identifier: Apache-2.0 */
#include "replica/service/access.h"

#include "platform/logger.h"

#include <string.h>

static bool authenticates(const struct config *config)
{
    return strcmp(config_string(config, "http.auth"), "tokens") == 0;
}

static bool is_set(const struct config *config, const char *key)
{
    return config_string(config, key)[0] != '\0';
}

static enum error_class open_tls(struct loop *loop, const struct config *config,
                                 struct http_tls **ret_tls, struct error *ret_error)
{
    const struct http_tls_options options = {.cert_file = config_string(config, "http.tls.cert"),
                                             .key_file = config_string(config, "http.tls.key"),
                                             .client_ca_file =
                                                 config_string(config, "http.tls.client.ca")};
    if (is_set(config, "http.tls.cert") != is_set(config, "http.tls.key"))
        return error_set(ret_error, CODE_CONFIG,
                         "http.tls.cert and http.tls.key belong together: set both");
    if (is_set(config, "http.tls.cert"))
        return http_tls_new(loop, &options, ret_tls, ret_error);
    if (is_set(config, "http.tls.client.ca"))
        return error_set(ret_error, CODE_CONFIG,
                         "http.tls.client.ca needs http.tls.cert and http.tls.key");
    return ERROR_OK;
}

enum error_class service_access_open(struct loop *loop, struct metrics *metrics,
                                     const struct config *config, struct service_access *access,
                                     struct error *ret_error)
{
    struct http_access_options options = {.authenticates = authenticates(config),
                                          .token_file = config_string(config, "http.tokens.file"),
                                          .group_file = config_string(config, "http.groups.file"),
                                          .read_only = config_bool(config, "http.read.only"),
                                          .user_header =
                                              config_string(config, "http.proxy.user.header")};
    options.proxy_count = config_list(config, "http.proxy.trusted", &options.proxies);
    enum error_class class = http_access_new(loop, metrics, &options, &access->access, ret_error);
    return class == ERROR_OK ? open_tls(loop, config, &access->tls, ret_error) : class;
}

enum error_class service_access_check(const struct service_access *access,
                                      const struct config *config, const struct http_server *server,
                                      struct error *ret_error)
{
    const char *const *proxies = NULL;
    bool loopback = http_server_is_loopback(server);
    bool proxied = config_list(config, "http.proxy.trusted", &proxies) > 0;
    if (!authenticates(config) && !loopback && !proxied)
        return error_set(ret_error, CODE_CONFIG,
                         "http.auth = none with http.host = %s would let everyone in: set "
                         "http.tokens.file, or http.proxy.trusted to the addresses of your proxies",
                         config_string(config, "http.host"));
    if (!authenticates(config) && !proxied && is_set(config, "http.groups.file"))
        log_warning("http.groups.file has no effect: with http.auth = none and without "
                    "http.proxy.trusted, requests have no user");
    if (authenticates(config) && !is_set(config, "http.tokens.file"))
        log_warning("the HTTP server answers only /livez and /readyz: set http.tokens.file, or "
                    "http.auth = none");
    else if (authenticates(config) && !loopback && !proxied && access->tls == NULL)
        log_warning("tokens are sent in clear text: set http.tls.cert and http.tls.key");
    return ERROR_OK;
}

void service_access_reload(const struct service_access *access)
{
    http_access_reload(access->access);
    if (access->tls != NULL)
        http_tls_reload(access->tls);
}

void service_access_close(struct service_access *access)
{
    http_access_free(access->access);
    http_tls_free(access->tls);
    *access = (struct service_access){0};
}
