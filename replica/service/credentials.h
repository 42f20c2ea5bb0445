/* SPDX-License-Identifier: Apache-2.0 */
/* By what a program asks another one's HTTP server: the keys PREFIX.token and PREFIX.tls.* of the
 * configuration, such as those of "console.services". */
#ifndef REPLICA_SERVICE_CREDENTIALS_H
#define REPLICA_SERVICE_CREDENTIALS_H

#include "base/error.h"
#include "platform/config/config.h"
#include "platform/http/tokens.h"

/* Borrowed. */
struct service_credentials {
    const char *token;     /* is shown nowhere; "" = none */
    const char *ca_file;   /* PEM; NULL = the system's */
    const char *cert_file; /* PEM, of a client certificate; NULL = none */
    const char *key_file;  /* PEM, of that certificate */
};

/* REJECT "Config". Borrowed until the configuration is freed. */
enum error_class service_credentials_read(const struct config *config, const char *prefix,
                                          struct service_credentials *ret_credentials,
                                          struct error *ret_error);

enum { SERVICE_AUTHORIZATION_SIZE = sizeof("Authorization: Bearer ") + HTTP_BEARER_MAX };
/* The header; "" = there is no token. */
void service_credentials_header(const struct service_credentials *credentials,
                                char ret_header[SERVICE_AUTHORIZATION_SIZE]);

#endif
